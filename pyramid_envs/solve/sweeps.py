"""Loops over all positions of Treehouse for 2 seats, compiled; what is legal and what it leads to, the game's kernels say.

A position is three arrangements, before the die is rolled: the House h, the trio w of the seat that waits and the trio m of the
seat to move. Nothing else matters. A table of values is float[T, T, T] by [h, w, m]: what the seat to move may expect to be paid.
Where a trio matches the House the game is over, and the table holds the payoff: the seat that waits has moved last.

A result is all that a move changes: r < T, the own trio becomes r (a pass leaves it as it is), or T + g, the House becomes g.
After it the other seat is to move, so that the mover may expect -values[h, r, w] or -values[g, m, w].

Letters: T arrangements, R results in a row, H houses of a call, B rows of a batch, A actions.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from pyramid_envs.games.treehouse.rules import NUM_ACTIONS, matching
from pyramid_envs.games.treehouse.tables import NO_ROLL, arrangements
from pyramid_envs.kernels import apply, chance, greedy, legal, returns

T = len(arrangements())
FACES = 6

# --------------------------------------------------------------------------------------------------------------- inner


def place(s, h, w, m):
    """Set the record to a position; seat 0 is to move."""
    s.trios[0] = m
    s.trios[1] = w
    s.house = h
    s.roll = NO_ROLL
    s.seat = 0
    s.winners = 0


def result(s, h, seat):
    """The result of the move that `seat` just made, from the House h."""
    if s.house != h:
        return T + int(s.house)
    return int(s.trios[seat])


INNER = (place, result)

# --------------------------------------------------------------------------------------------------------------- rules


def list_results(tables, lab, masks, chances, first, odds, results):
    """What can be done: results[first[h, m, f]:first[h, m, f + 1]] are the different results of face f, which odds[h, m, f] tells
    how likely it is to be rolled; none where m matches h.

    What the trio of the waiting seat is plays no part. Returns how many results there are in all; only those that fit into
    `results`, int16[R], are written. first is int32[T, T, 7], odds float64[T, T, 6]; lab (2 rows), masks and chances are scratch.
    """
    seen = np.full(2 * T, -1)
    size = 0
    for h in range(T):
        for m in range(T):
            place(lab[0], h, m, m)
            if h != m:
                chance(tables[0], lab[0], chances)
            for f in range(FACES):
                first[h, m, f] = size
                odds[h, m, f] = chances[f] if h != m else 0.0
                if odds[h, m, f] == 0.0:
                    continue
                lab[0].roll = f
                legal(tables[0], lab[0], masks, 0)
                for a in range(NUM_ACTIONS):
                    if masks[0, a]:
                        lab[1] = lab[0]
                        apply(tables[0], lab[1], a)
                        r = result(lab[1], h, 0)
                        if seen[r] != first[h, m, f]:
                            seen[r] = first[h, m, f]
                            if size < results.shape[0]:
                                results[size] = r
                            size += 1
            first[h, m, FACES] = size
    return size


def fill_ends(tables, lab, payoffs, over, values):
    """Write over, uint8[T, T, T]: whether a trio matches the House; and values: the mover's payoff there, 0 elsewhere."""
    for h in range(T):
        for w in range(T):
            for m in range(T):
                place(lab[0], h, w, m)
                lab[0].winners = matching(tables[0], lab[0], 1)
                over[h, w, m] = lab[0].winners != 0
                returns(tables[0], lab[0], payoffs, 0)
                values[h, w, m] = payoffs[0, 0]


# ---------------------------------------------------------------------------------------------------------- iterations


def improve(first, results, odds, over, mirror, houses, values, new):
    """One sweep of value iteration: write `new` for these houses and their mirror images, by the best moves to `values`.

    Returns the greatest change. mirror is int64[T], an arrangement's mirror image; houses int64[H].
    """
    worst, total = np.empty(T), np.empty(T)
    change = 0.0
    for i in range(houses.shape[0]):
        h = houses[i]
        for m in range(T):
            for w in range(T):
                total[w] = 0.0
            for f in range(FACES):
                if first[h, m, f] == first[h, m, f + 1]:
                    continue
                for w in range(T):
                    worst[w] = 2.0  # above all values: what is best for the mover is worst for the other
                for k in range(first[h, m, f], first[h, m, f + 1]):
                    r = int(results[k])
                    x, y = (h, r) if r < T else (r - T, m)
                    for w in range(T):
                        worst[w] = min(worst[w], values[x, y, w])
                for w in range(T):
                    total[w] -= odds[h, m, f] * worst[w]
            for w in range(T):
                if not over[h, w, m]:
                    change = max(change, abs(total[w] - values[h, w, m]))
                    new[h, w, m] = total[w]
                    new[mirror[h], mirror[w], mirror[m]] = total[w]
    return change


def expect(h, first, sizes, results, weights, over, values, new):
    """One sweep of policy evaluation, for the House h: write new[h] by a policy's moves to `values`, the other seat's.

    results[k] is played with the probability weights[k], for k from first[m, w] on, sizes[m, w] of them. Returns the greatest
    change.
    """
    total = np.empty(T)
    change = 0.0
    for m in range(T):
        # A list that most waiting trios have in common is worked off for all of them at once, which is far faster.
        start, size = first[m, T // 2], sizes[m, T // 2]
        shared = 0
        for w in range(T):
            shared += first[m, w] == start and sizes[m, w] == size
            total[w] = 0.0
        common = shared > T // 4
        if common:
            for k in range(start, start + size):
                r, weight = int(results[k]), float(weights[k])
                x, y = (h, r) if r < T else (r - T, m)
                for w in range(T):
                    total[w] -= weight * values[x, y, w]
        for w in range(T):
            if over[h, w, m]:
                continue
            if not (common and first[m, w] == start and sizes[m, w] == size):
                expected = 0.0
                for k in range(first[m, w], first[m, w] + sizes[m, w]):
                    r = int(results[k])
                    x, y = (h, r) if r < T else (r - T, m)
                    expected -= weights[k] * values[x, y, w]
                total[w] = expected
            change = max(change, abs(total[w] - new[h, w, m]))
            new[h, w, m] = total[w]
    return change


def expect_table(h, starts, results, weights, over, values, new):
    """As `expect`, for a policy that mixes everywhere: results[k] is played with the probability weights[k, w], for k from
    starts[m] to starts[m + 1].
    """
    total = np.empty(T)
    change = 0.0
    for m in range(T):
        for w in range(T):
            total[w] = 0.0
        for k in range(starts[m], starts[m + 1]):
            r = int(results[k])
            x, y = (h, r) if r < T else (r - T, m)
            for w in range(T):
                total[w] -= weights[k, w] * values[x, y, w]
        for w in range(T):
            if not over[h, w, m]:
                change = max(change, abs(total[w] - new[h, w, m]))
                new[h, w, m] = total[w]
    return change


def spread(h, first, sizes, results, weights, over, now, then):
    """Add to `then`, float64[T, T, T], how often each position comes next, where those of the House h come as often as `now`
    says and the policy moves; `first` to `weights` as for `expect`.
    """
    often = np.empty(T)
    for m in range(T):
        # As in `expect`, what most waiting trios have in common is worked off for all of them at once.
        start, size = first[m, T // 2], sizes[m, T // 2]
        shared, total = 0, 0.0
        for w in range(T):
            alike = first[m, w] == start and sizes[m, w] == size
            shared += alike
            often[w] = now[h, w, m] if alike and not over[h, w, m] else 0.0
            total += often[w]
        common = shared > T // 4
        if common and total > 0.0:
            for k in range(start, start + size):
                r, weight = int(results[k]), float(weights[k])
                x, y = (h, r) if r < T else (r - T, m)
                for w in range(T):
                    then[x, y, w] += weight * often[w]
        for w in range(T):
            if over[h, w, m] or now[h, w, m] == 0.0 or (common and first[m, w] == start and sizes[m, w] == size):
                continue
            for k in range(first[m, w], first[m, w] + sizes[m, w]):
                r = int(results[k])
                x, y = (h, r) if r < T else (r - T, m)
                then[x, y, w] += weights[k] * now[h, w, m]


def spread_table(h, starts, results, weights, over, now, then):
    """As `spread`, for a policy as `expect_table` takes it."""
    often = np.empty(T)
    for m in range(T):
        total = 0.0
        for w in range(T):
            often[w] = 0.0 if over[h, w, m] else now[h, w, m]
            total += often[w]
        if total == 0.0:
            continue
        for k in range(starts[m], starts[m + 1]):
            r = int(results[k])
            x, y = (h, r) if r < T else (r - T, m)
            for w in range(T):
                then[x, y, w] += weights[k, w] * often[w]


# ------------------------------------------------------------------------------------------------------------ policies


def list_places(tables, h, lab, masks, chances, places, starts, results):
    """Write results, int16[R], from starts[m] on, to starts[m + 1]: what can be done with the own trio m before the House h,
    whatever is rolled; and places, int32[T, A]: which of these an action leads to, -1 where it is never legal.

    starts is int32[T + 1]; lab (2 rows), masks and chances are scratch. Returns how many results there are; R must suffice.
    """
    at = np.empty(2 * T, np.int64)
    size = 0
    for m in range(T):
        starts[m] = size
        for r in range(2 * T):
            at[r] = -1
        for a in range(NUM_ACTIONS):
            places[m, a] = -1
        if m == h:
            continue
        place(lab[0], h, m, m)
        chance(tables[0], lab[0], chances)
        for f in range(FACES):
            if chances[f] == 0.0:
                continue
            lab[0].roll = f
            legal(tables[0], lab[0], masks, 0)
            for a in range(NUM_ACTIONS):
                if masks[0, a] and places[m, a] < 0:
                    lab[1] = lab[0]
                    apply(tables[0], lab[1], a)
                    r = result(lab[1], h, 0)
                    if at[r] < 0:
                        at[r] = size
                        results[size] = r
                        size += 1
                    places[m, a] = at[r]
    starts[T] = size
    return size


def fill_table(rows, odds, likings, places, weights):
    """Add a policy's moves in these rows (of `list_rows`) to weights, float32[R, T]; likings as for `list_weights`."""
    for b in range(rows.shape[0]):
        w, m = int(rows[b].trios[1]), int(rows[b].trios[0])
        whole = 0.0
        for a in range(NUM_ACTIONS):
            whole += likings[b, a]
        share = odds[b] / whole
        for a in range(NUM_ACTIONS):
            if likings[b, a] > 0.0:
                weights[places[m, a], w] += share * likings[b, a]


def list_rows(tables, over, h, low, high, chances, rows, odds, masks):
    """Every roll in every position of the House h with own trios low..high-1: rows, by own trio, waiting trio, face; odds,
    float64[B], how likely the roll is; masks, uint8[B, A]. Returns how many; the arrays must have the room.
    """
    b = 0
    for m in range(low, high):
        for w in range(T):
            if over[h, w, m]:
                continue
            place(rows[b], h, w, m)
            chance(tables[0], rows[b], chances)
            for f in range(FACES):
                if chances[f] > 0.0:
                    place(rows[b], h, w, m)
                    rows[b].roll = f
                    odds[b] = chances[f]
                    legal(tables[0], rows[b], masks, b)
                    b += 1
    return b


def list_weights(tables, rows, odds, likings, lab, first, sizes, results, weights, size):
    """Append to results and weights, from `size` on, a policy's moves in these rows (of `list_rows`), and their probabilities.

    likings[b, a] >= 0 is how likely the policy plays action a in rows[b], up to a factor. A waiting trio whose list is that of
    the first or the last one before it, for the same own trio, shares it. Returns the new size.
    """
    amount = np.zeros(2 * T)
    found = np.empty(2 * T, np.int64)
    liked = np.empty(NUM_ACTIONS, np.int64)
    b = 0
    before = -1  # the own trio of the row before
    base = last = base_count = last_count = 0
    while b < rows.shape[0]:
        h, w, m = int(rows[b].house), int(rows[b].trios[1]), int(rows[b].trios[0])
        n = 0
        while b < rows.shape[0] and rows[b].trios[1] == w and rows[b].trios[0] == m:
            choices, whole = 0, 0.0
            for a in range(NUM_ACTIONS):
                if likings[b, a] > 0.0:
                    liked[choices] = a
                    choices += 1
                    whole += likings[b, a]
            for choice in range(choices):
                a = liked[choice]
                lab[0] = rows[b]
                apply(tables[0], lab[0], a)
                r = result(lab[0], h, 0)
                if amount[r] == 0.0:
                    found[n] = r
                    n += 1
                amount[r] += odds[b] * likings[b, a] / whole
            b += 1
        for k in range(n):
            results[size + k] = found[k]
            weights[size + k] = amount[found[k]]
            amount[found[k]] = 0.0
        as_base = m == before and base_count == n
        as_last = m == before and last_count == n
        for k in range(n):
            as_base = as_base and results[base + k] == results[size + k] and weights[base + k] == weights[size + k]
            as_last = as_last and results[last + k] == results[size + k] and weights[last + k] == weights[size + k]
        if m != before:
            before, base, base_count = m, size, n
        if as_base:
            last = base
        elif not as_last:
            last = size
            size += n
        last_count = n
        first[m, w], sizes[m, w] = last, n
    return size


def like_greedy(tables, rows, masks, lab, scores, likings):
    """Write likings, float32[B, A]: 1 for the legal actions that score highest, else 0. `scores` is scratch, float64[1, A]."""
    for b in range(rows.shape[0]):
        greedy(tables[0], rows[b], lab, scores, 0)
        best, found = 0.0, False
        for a in range(NUM_ACTIONS):
            if masks[b, a] and (not found or scores[0, a] > best):
                best, found = scores[0, a], True
        for a in range(NUM_ACTIONS):
            likings[b, a] = 1.0 if masks[b, a] and scores[0, a] == best else 0.0


def best_actions(tables, rows, masks, lab, values, actions, worth):
    """Write actions[b]: the first of the legal actions after which the other seat may expect least; -1 where none is legal.

    worth[b] is what the mover may then expect; values is float32[T, T, T], lab scratch.
    """
    for b in range(rows.shape[0]):
        seat = int(rows[b].seat)
        other = seat + 1 if seat + 1 < tables[0].num_players else 0
        actions[b], worth[b] = -1, 0.0
        for a in range(NUM_ACTIONS):
            if masks[b, a]:
                lab[0] = rows[b]
                apply(tables[0], lab[0], a)
                expected = -values[lab[0].house, lab[0].trios[seat], lab[0].trios[other]]
                if actions[b] < 0 or expected > worth[b]:
                    actions[b], worth[b] = a, expected


OUTER = (
    list_results,
    fill_ends,
    improve,
    expect,
    expect_table,
    spread,
    spread_table,
    list_places,
    fill_table,
    list_rows,
    list_weights,
    like_greedy,
    best_actions,
)
