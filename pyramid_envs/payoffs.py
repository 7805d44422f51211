"""How winners and losers are paid, in every game: zero-sum, shared among the winners."""

from __future__ import annotations

from pyramid_envs.jit import kernel


@kernel
def share(winners, num_players, out, i):
    """Write out[i], float[P]: with w winners (bits of `winners`) of n seats, (n-w)/(w(n-1)) to each, -1/(n-1) to the others."""
    w = 0
    for p in range(num_players):
        w += (winners >> p) & 1
    for p in range(num_players):
        if w == 0:
            out[i, p] = 0.0
        elif (winners >> p) & 1:
            out[i, p] = (num_players - w) / (w * (num_players - 1))
        else:
            out[i, p] = -1.0 / (num_players - 1)
