"""What a game must define, as signatures: its kernels.

A game's ``rules.py`` defines functions of these names under ``@kernel``. Those of the first part are required; those of the
second part have the defaults below. Letters: P seats, A actions, F first axis of an observation, N rows of an output array.

``tables``  a NamedTuple of arrays and numbers that the rules look up and never change, built from the game's options.
``s``       one game: a record of the game's row dtype. Only `reset`, `apply` and `redeal` write to it.
``i``       the row of the output array to write to; a kernel writes that row whole and no other.

Kernels allocate nothing and draw no random numbers: chance comes in as an outcome, or as a key from `pyramid_envs.rng`.
Small integers read from a record are converted by ``int()`` before arithmetic: without the compiler they would wrap at 8 bits.
"""

from __future__ import annotations

from pyramid_envs.jit import kernel

CHANCE = -1  # to_move: a die, a card or a tile comes next
TERMINAL = -2  # to_move: the game is over
GRADES = 16  # of advice: the highest, for what is best or less than a grade worse; 0: not advised at all

# ------------------------------------------------------------------------------------------------------------ required


def reset(tables, s):
    """Set the all-zero record `s` to the start of a game, before its first chance event."""


def to_move(s):
    """The seat that decides, or CHANCE, or TERMINAL."""


def legal(tables, s, masks, i):
    """Write masks[i], uint8[A]: 1 for what the seat to move may do, else 0; all 0 at a chance event and at the end."""


def apply(tables, s, action):
    """Play a legal action, or at a chance event a possible outcome."""


def returns(tables, s, out, i):
    """Write out[i], float[P]: the payoffs of a game that is over (of any other game: zeros)."""


def observe(tables, s, seat, obs, i):
    """Write obs[i], int8[F, ...]: what `seat` sees, from its own point of view; at any time."""


# ---------------------------------------------------------------------------------- required of games with chance events


@kernel
def chance(tables, s, probs):
    """Write probs, float64[outcomes]: the probability of every outcome at a chance event."""


@kernel
def sample_chance(tables, s, u):
    """The outcome that the number u in [0, 1) draws, with the probabilities of `chance`."""
    return 0


# ------------------------------------------------------------------------------- required of games with hidden information


@kernel
def redeal(tables, s, seat, key):
    """Replace what `seat` cannot know by a random draw, with the right weights, from what it may take for possible."""


# ----------------------------------------------------------------------------------------------- the fixed agents' estimates


@kernel
def evaluate(tables, s, out, i):
    """Write out[i], float[P]: how likely each seat is to win a game that goes on, as weights of any scale, none negative.

    Search looks at this where it cannot look on. It sees the whole position: search hides from itself, by `redeal`, what its
    seat does not know. By default all seats are as likely.
    """
    for p in range(out.shape[1]):
        out[i, p] = 1.0


@kernel
def greedy(tables, s, lab, scores, i):
    """Write scores[i, a] for every legal action a of the seat to move: the higher, the better.

    ``lab`` is a record array of at least 8 rows that may be overwritten, to try actions on. What the seat cannot know must not
    matter. By default every action scores the same.
    """
    for a in range(scores.shape[1]):
        scores[i, a] = 0.0


def advise(tables, s, lab, scores, i):
    """Write scores[i, a] as `greedy` does, by more thought than that agent is to have, for networks that are advised; in grades:
    an action that scores GRADES less than the best is not advised. Without this kernel what greedy might play is advised.
    """
