"""Tree search guided by a trained network: `mcts:N@CHECKPOINT`.

The tree is that of `pyramid_envs.agents.mcts`: one of information sets, every simulation from a fresh `redeal`. What differs:
where a simulation leaves the tree, the network looks at what the seat to move there sees (and at nothing else), its policy
becomes the priors of the new node's actions, and its value stands for the outcome (Silver et al. 2017). No game is played out.

The network's value is that of the seat to move, for it has learned from no other. With two seats the other's is its negative.
With more, the network plays on, each action drawn by its policy, until every seat but one has been to move, and each is worth
what the network says then; the last is worth what is missing from a sum of 0.

Several simulations of a row are on their way at once, so that the network is called for many positions together; until one
comes back, it counts as lost for those that it came through (a virtual loss), so that the next goes elsewhere. How many they are
depends on N alone: the answer for a row does not depend on the rows beside it.

Letters: B rows, A actions, P seats, M nodes of a tree, D plies of a simulation within the tree, K simulations of a row at once,
S = B·K of all rows at once, G of those.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyramid_envs import jit
from pyramid_envs.agents import Thought, checkpoint, mcts
from pyramid_envs.agents.fixed import Adviser
from pyramid_envs.agents.mcts import NODE, TREE_PLIES, choose, find, information_set, most_tried, payoff_range
from pyramid_envs.agents.networks import inputs, mask_logits
from pyramid_envs.agents.torch_extra import nn, torch
from pyramid_envs.drivers import settle, write_views
from pyramid_envs.errors import AgentError
from pyramid_envs.game import Game, bind_drivers
from pyramid_envs.kernels import TERMINAL, apply, observe, redeal, returns, to_move
from pyramid_envs.rng import fold, uniform
from pyramid_envs.threads import split

EXPLORATION = 1.5  # weight of the policy
UNTRIED = 0.2  # how much worse than its node an action counts that was never tried
VIRTUAL_LOSS = 1.0
PLAY_ON = 24  # plies after which seats that have not been to move share what the others leave
AT_ONCE = 8  # simulations of a row on their way at once, where there are many
MEMORY = 1 << 28  # bytes of trees at once; more rows are searched one lot after another
CHUNK = 8192  # positions that go through the network at once

# One simulation on its way: its random key, how deep it went, the node where it left the tree or -1 if the game was over, and
# bits of the seats whose values are known.
TRIP = np.dtype((np.record, [("key", np.uint64), ("depth", np.int64), ("leaf", np.int64), ("known", np.int64)]))
IDLE = -2  # leaf of a place where there is no simulation


def descend(
    tables, rows, seeds, first, last, lab, observations, counts, nodes, index, tries, totals, priors, trips, paths, outcomes
):
    """Send simulations number `first` to `last` - 1, at most K, through the tree of each row; write what ended games paid.

    lab, record[S]; counts, int64[B]; nodes, NODE[B, M]; index, int64[B, ...]; tries, int32[B, M, A]; totals, float64[B, M, A];
    priors, float32[B, M, A]; trips, TRIP[S]; paths, int64[S, D, 2]; outcomes, float64[S, P]; observations: scratch.
    """
    at_once = lab.shape[0] // rows.shape[0]
    seats = outcomes.shape[1]
    width = payoff_range(seats)
    for b in range(rows.shape[0]):
        root_seat = to_move(rows[b])
        b_nodes, b_index, b_tries, b_totals, b_priors = nodes[b], index[b], tries[b], totals[b], priors[b]
        for k in range(at_once):
            j = b * at_once + k
            trips[j].leaf = IDLE
            trips[j].depth = 0
            trips[j].known = 0
            if first + k >= last:
                continue
            key = fold(seeds[b], first + k)
            trips[j].key = key
            lab[j] = rows[b]
            s = lab[j]
            redeal(tables[0], s, root_seat, fold(key, 0))
            depth = 0
            while True:
                seat = to_move(s)
                if seat == TERMINAL:
                    returns(tables[0], s, outcomes, j)
                    trips[j].leaf = -1
                    break
                observe(tables[0], s, seat, observations, 0)
                at = find(b_nodes, b_index, counts[b], information_set(observations, seat), seat, b_tries, b_totals)
                if at == counts[b]:
                    counts[b] += 1
                    b_priors[at, 0] = np.nan  # until `grow`
                if np.isnan(b_priors[at, 0]) or depth == paths.shape[1]:
                    trips[j].leaf = at
                    break
                action = choose(
                    b_nodes[at],
                    at,
                    b_tries,
                    b_totals,
                    b_priors,
                    EXPLORATION * width / 2,
                    UNTRIED * width / 2,
                    fold(key, 3 + depth),
                )
                paths[j, depth, 0] = at
                paths[j, depth, 1] = action
                # Lost, until `absorb` knows better.
                b_nodes[at].visits += 1
                b_nodes[at].total -= VIRTUAL_LOSS
                b_tries[at, action] += 1
                b_totals[at, action] -= VIRTUAL_LOSS
                depth += 1
                apply(tables[0], s, action)
                settle(tables[0], s, fold(key, 2), 0, depth)
            trips[j].depth = depth


def look(tables, lab, which, masks, observations, seats):
    """Write masks[g], observations[g] and seats[g] of the seat to move in the game lab[which[g]]."""
    for g in range(which.shape[0]):
        write_views(tables[0], lab[which[g]], masks, observations, seats, g)


def grow(at_once, which, trips, policy, masks, priors):
    """The policy, float32[G, A], becomes the priors of the nodes where the simulations which[g] left the tree."""
    for g in range(which.shape[0]):
        b, at = which[g] // at_once, trips[which[g]].leaf
        for a in range(policy.shape[1]):
            priors[b, at, a] = policy[g, a] if masks[g, a] else -1.0


def note(which, trips, seats, values, outcomes, going):
    """Write the value, kept within what can be paid, of the seat to move where it is not known yet; going[g]: whether more must
    be known.

    If one seat's value alone is unknown, it follows from the sum of 0.
    """
    count = outcomes.shape[1]
    lowest = -1.0 / (count - 1)
    for g in range(which.shape[0]):
        j, seat = which[g], seats[g]
        if not trips[j].known >> seat & 1:
            outcomes[j, seat] = min(1.0, max(lowest, float(values[g])))
            trips[j].known |= 1 << seat
        unknown, rest, last = 0, 0.0, 0
        for p in range(count):
            if trips[j].known >> p & 1:
                rest -= outcomes[j, p]
            else:
                unknown += 1
                last = p
        if unknown == 1:
            outcomes[j, last] = min(1.0, max(lowest, rest))
        going[g] = unknown > 1


def play_on(tables, lab, which, trips, policy, masks, ply, payoffs, outcomes, going):
    """Play an action drawn by the policy in each game; where that ends it, the payoffs are the values that are unknown.

    After PLAY_ON plies the seats that have not been to move share what the others leave. `payoffs` is scratch, float64[1, P].
    """
    count = outcomes.shape[1]
    lowest = -1.0 / (count - 1)
    for g in range(which.shape[0]):
        j = which[g]
        key = fold(trips[j].key, 1)
        pick, drawn = uniform(fold(key, 2 * ply)), -1
        for a in range(policy.shape[1]):
            if masks[g, a] and (drawn < 0 or (pick >= 0.0 and policy[g, a] > 0.0)):
                drawn = a
            if masks[g, a]:
                pick -= policy[g, a]
        apply(tables[0], lab[j], drawn)
        settle(tables[0], lab[j], key, 1, 2 * ply + 1)
        over = to_move(lab[j]) == TERMINAL
        going[g] = not over and ply < PLAY_ON
        if going[g]:
            continue
        returns(tables[0], lab[j], payoffs, 0)
        unknown, rest = 0, 0.0
        for p in range(count):
            if trips[j].known >> p & 1:
                rest -= outcomes[j, p]
            else:
                unknown += 1
        for p in range(count):
            if not trips[j].known >> p & 1:
                outcomes[j, p] = payoffs[0, p] if over else min(1.0, max(lowest, rest / unknown))


def absorb(trips, paths, outcomes, nodes, totals):
    """Add what the simulations brought to the nodes they came through, in place of their virtual losses."""
    at_once = trips.shape[0] // nodes.shape[0]
    for j in range(trips.shape[0]):
        if trips[j].leaf == IDLE:
            continue
        b = j // at_once
        b_nodes, b_totals = nodes[b], totals[b]
        for k in range(trips[j].depth):
            at, action = paths[j, k, 0], paths[j, k, 1]
            value = outcomes[j, b_nodes[at].seat] + VIRTUAL_LOSS
            b_nodes[at].total += value
            b_totals[at, action] += value
        if trips[j].leaf >= 0:  # the network's own word counts as a node's first visit
            at = trips[j].leaf
            b_nodes[at].visits += 1
            b_nodes[at].total += outcomes[j, b_nodes[at].seat]


def decide(tries, totals, actions):
    """Write actions[b]: the answer of each tree."""
    for b in range(actions.shape[0]):
        actions[b] = most_tried(tries[b], totals[b])


class GuidedAgent:
    """Searches from all rows side by side, guided by a network that reads observations and masks alone.

    Args:
        network: observations to logits and values, of `pyramid_envs.agents.networks`; it is used, not copied.
        game: the game it plays.
        simulations: N, at least 1, after the one that makes the root.
        name: how it is called in tables.
        device: where the network is.
    """

    def __init__(self, network: nn.Module, game: Game, simulations: int, name: str = "guided", device: str = "cpu") -> None:
        if simulations < 1:
            raise AgentError(f"mcts needs at least 1 simulation, not {simulations}")
        self.network = network
        self.game = game
        self.simulations = simulations
        self.name = name
        self.device = torch.device(device)
        self._adviser = Adviser(game)

    @classmethod
    def load(cls, folder: str | Path, game: Game, simulations: int, device: str = "cpu") -> GuidedAgent:
        """Guided by a checkpoint, or by the latest checkpoint of a training run. Nothing in the folder is unpickled.

        Raises:
            CheckpointError: if the folder holds none, a damaged one, or one for something else than `game`.
        """
        network = checkpoint.load_network(checkpoint.find(folder), game).to(device)
        return cls(network, game, simulations, f"mcts:{simulations}@{folder}", device)

    def act(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """See `pyramid_envs.agents.Agent`."""
        actions = np.empty(len(rows), np.int64)
        nodes = self.simulations + 2
        lot = max(1, MEMORY // (nodes * self.game.num_actions * 16))
        for low in range(0, len(rows), lot):
            part = slice(low, low + lot)
            self._search(rows[part], seeds[part], actions[part])
        return actions

    def think(
        self,
        rows: NDArray[Any],
        observations: NDArray[np.int8],
        masks: NDArray[np.bool_],
        seats: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> Thought:
        """The policy is the share of the simulations that began with an action, value and worth what they brought on average."""
        action = np.empty(1, np.int64)
        tries, totals = self._search(rows, seeds, action)
        worth = np.full(tries.shape[1], np.nan)
        tried = tries[0] > 0
        worth[tried] = totals[0, tried] / tries[0, tried]
        shares = tries[0] / tries[0].sum()
        return Thought(int(action[0]), shares, float(totals[0, tried].sum() / tries[0].sum()), worth)

    def _search(
        self, rows: NDArray[Any], seeds: NDArray[np.uint64], actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Write actions[B]; int32[B, A], float64[B, A]: how often every action was tried, and what that brought together."""
        game, drivers, shared = self.game, _drivers(self.game), _shared()
        at_once = min(AT_ONCE, max(1, self.simulations // 16))
        size, num_rows, num_actions = self.simulations + 2, len(rows), game.num_actions
        num_slots = num_rows * at_once
        lab = np.zeros(num_slots, game.row_dtype)
        counts = np.zeros(num_rows, np.int64)
        nodes = np.empty((num_rows, size), NODE)
        index = np.full((num_rows, 1 << (2 * size - 1).bit_length()), -1, np.int64)
        tries = np.empty((num_rows, size, num_actions), np.int32)
        totals = np.empty((num_rows, size, num_actions), np.float64)
        priors = np.empty((num_rows, size, num_actions), np.float32)
        trips = np.zeros(num_slots, TRIP)
        paths = np.empty((num_slots, TREE_PLIES, 2), np.int64)
        outcomes = np.empty((num_slots, game.num_players), np.float64)

        def slots(part: slice) -> slice:
            return slice(part.start * at_once, part.stop * at_once)

        def send(part: slice) -> None:
            drivers.descend(
                game.tables,
                rows[part],
                seeds[part],
                first,
                last,
                lab[slots(part)],
                np.empty((1, *game.observation_shape), np.int8),
                counts[part],
                nodes[part],
                index[part],
                tries[part],
                totals[part],
                priors[part],
                trips[slots(part)],
                paths[slots(part)],
                outcomes[slots(part)],
            )

        def take_back(part: slice) -> None:
            shared.absorb(trips[slots(part)], paths[slots(part)], outcomes[slots(part)], nodes[part], totals[part])

        # Number 0 makes the root; the others begin there.
        first, last = 0, 1
        while first <= self.simulations:
            split(send, num_rows, least=8)
            which = np.flatnonzero(trips["leaf"] >= 0)
            ply = 0
            while len(which):
                masks = np.empty((len(which), num_actions), np.uint8)
                observations = np.empty((len(which), *game.observation_shape), np.int8)
                seats = np.empty(len(which), np.int64)
                going = np.empty(len(which), np.bool_)
                drivers.look(game.tables, lab, which, masks, observations, seats)
                policy, values = self._ask(lab[which], observations, masks.view(np.bool_))
                if ply == 0:
                    shared.grow(at_once, which, trips, policy, masks, priors)
                shared.note(which, trips, seats, values, outcomes, going)
                which, policy, masks, going = which[going], policy[going], masks[going], going[going]
                payoffs = np.empty((1, game.num_players), np.float64)
                drivers.play_on(game.tables, lab, which, trips, policy, masks, ply, payoffs, outcomes, going)
                which = which[going]
                ply += 1
            split(take_back, num_rows, least=8)
            first, last = last, min(last + at_once, self.simulations + 1)
        shared.decide(tries, totals, actions)
        return tries[:, 0], totals[:, 0]

    def _ask(
        self, rows: NDArray[Any], observations: NDArray[np.int8], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The network's probabilities of the legal actions, float32[G, A], and its values, float32[G]."""
        policy = np.empty(masks.shape, np.float32)
        values = np.empty(len(masks), np.float32)
        seen = inputs(self.network, self._adviser, rows, observations, masks)
        with torch.inference_mode():
            for low in range(0, len(masks), CHUNK):
                part = slice(low, low + CHUNK)
                logits, value = self.network(torch.from_numpy(seen[part]).to(self.device))
                legal = torch.from_numpy(masks[part]).to(self.device)
                policy[part] = torch.softmax(mask_logits(logits, legal), 1).cpu().numpy()
                values[part] = value.cpu().numpy()
        return policy, values


def _drivers(game: Game) -> Any:
    return _bound(game.card.rules)


@cache
def _bound(rules: Any) -> Any:
    inner = (information_set, find, payoff_range, choose)
    return bind_drivers(rules, inner, (descend, look, play_on), [Path(__file__), Path(mcts.__file__)])


@cache
def _shared() -> Any:
    """What is compiled once for all games, for it calls no kernel of theirs."""
    return jit.bind({}, (most_tried,), (grow, note, absorb, decide), jit.digest([Path(__file__), Path(mcts.__file__)]))
