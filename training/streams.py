"""Which reward belongs to which decision, when several seats play in one game.

A *stream* is the sequence of decisions of one seat in one game. Whatever that seat is paid from one of its decisions until its
next, through the moves of others too, is the reward of that decision: so the loser of a game that ends on another's move learns
of its loss. A decision is

* *closed* when its seat has decided again, or the rules have ended the game: then it can be learned from, by generalised
  advantage estimation along the stream, with discount 1;
* *open* at the end of a rollout when neither has happened yet: it waits, and is learned from after the next rollout. (To learn
  only from those that happen to be closed would teach that moves at the end of a rollout win more often than they do.) Decisions
  before it lean on its value;
* *cut* when the game was truncated first: what would have followed is unknown, and it is never learned from. Decisions before it
  lean on its value.

Letters: R rows of a rollout in time, N games, P seats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Credit(NamedTuple):
    """What a rollout says of its decisions."""

    advantages: NDArray[np.float32]  # [R, N]; 0 where not closed
    closed: NDArray[np.bool_]  # [R, N]: which decisions can be learned from
    open_rows: NDArray[np.int64]  # [N, P]: the row of each seat's open decision, -1 for none


def credit(
    seats: NDArray[np.int64],
    values: NDArray[np.float32],
    present: NDArray[np.bool_],
    rewards: NDArray[np.float32],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    gae_lambda: float,
) -> Credit:
    """Advantages along every stream.

    Args:
        seats: [R, N], who decides.
        values: [R, N], what that seat was expected to be paid from then on.
        present: [R, N], where there is a decision at all.
        rewards: [R, N, P], what each seat was paid by the decision.
        terminated: [R, N], whether the rules ended the game with it.
        truncated: [R, N], whether the game was cut after it.
        gae_lambda: the decay of generalised advantage estimation.

    Returns:
        The credit; a decision's return is its value plus its advantage.
    """
    num_rows, num_games = seats.shape
    num_seats = rewards.shape[2]
    games = np.arange(num_games)
    advantages = np.zeros((num_rows, num_games), np.float32)
    closed = np.zeros((num_rows, num_games), np.bool_)
    open_rows = np.full((num_games, num_seats), -1, np.int64)

    # What the rows after the present one say of each seat: [N, P].
    paid = np.zeros((num_games, num_seats), np.float32)  # until its next decision
    next_value = np.zeros((num_games, num_seats), np.float32)  # of its next decision; 0 after the end
    next_advantage = np.zeros((num_games, num_seats), np.float32)  # likewise
    known = np.zeros((num_games, num_seats), np.bool_)  # whether it decides again, or the rules end the game
    running_on = np.ones((num_games, num_seats), np.bool_)  # whether neither an end nor a cut comes until the rollout's end

    for t in range(num_rows - 1, -1, -1):
        ends = (terminated[t] | truncated[t])[:, None]
        paid = np.where(ends, 0, paid) + rewards[t]
        next_value = np.where(ends, 0, next_value)
        next_advantage = np.where(ends, 0, next_advantage)
        known = np.where(ends, terminated[t][:, None], known)
        running_on &= ~ends

        here = games[present[t]]
        seat = seats[t, here]
        value = values[t, here]
        is_closed = known[here, seat]
        delta = paid[here, seat] + next_value[here, seat] - value
        advantage = np.where(is_closed, delta + gae_lambda * next_advantage[here, seat], 0).astype(np.float32)
        advantages[t, here] = advantage
        closed[t, here] = is_closed
        waits = ~is_closed & running_on[here, seat]
        open_rows[here[waits], seat[waits]] = t

        paid[here, seat] = 0
        next_value[here, seat] = value
        next_advantage[here, seat] = advantage
        known[here, seat] = True
    return Credit(advantages, closed, open_rows)
