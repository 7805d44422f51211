"""Counter-based random numbers: every random choice is a function of a key, and nothing remembers a generator's state.

A key is a uint64. ``fold(key, n)`` is the n-th output of the generator splitmix64 (Steele, Lea and Flood 2014) seeded with
``key``: a new key, independent of its neighbours. The keys of a game are made in steps::

    fold(seed, episode)              the game: the episode-th that is dealt from this seed
    fold(game, purpose)              one of the purposes below
    fold(.., ply)                    the number of actions played so far
    fold(.., k)                      the k-th random number that is needed there

so that "the same game" means the same dice for the same actions, whoever steps it and in whatever batch.
"""

from __future__ import annotations

import operator

import numpy as np

from pyramid_envs.jit import hash_kernel, kernel

# Purposes: what a stream of a game decides.
CHANCE = 0  # dice, cards, tiles
SEAT = 1  # which seat the learner takes
OPPONENT = 2  # which of several opponents it meets
MOVE = 3  # what an agent plays: the seed handed to Agent.act

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


@hash_kernel
def fold(key, n):
    """The n-th key (n >= 0) below `key`; both are uint64. Called from Python it gives an int: wrap it in np.uint64 to go on."""
    z = np.uint64(key) + _GOLDEN * (np.uint64(n) + np.uint64(1))
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@kernel
def uniform(key):
    """The float in [0, 1) that belongs to a key (its upper 53 bits)."""
    return float(np.uint64(key) >> _S11) * 1.1102230246251565e-16  # 2**-53


@kernel
def below(key, n):
    """The int in 0..n-1 that belongs to a key."""
    return int(uniform(key) * n)


def seed_key(seed: int) -> np.uint64:
    """Any whole number, NumPy's included, as a seed: its lowest 64 bits."""
    return np.uint64(operator.index(seed) & 0xFFFF_FFFF_FFFF_FFFF)
