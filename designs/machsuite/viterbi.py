"""MachSuite viterbi, float64: the likeliest states of a hidden Markov model, in negative log space."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64, int32, uint8

# Observations, states, tokens.
SIZES = {"tiny": (20, 8, 8), "full": (140, 64, 64)}


def viterbi[O, S, T](
    obs: uint8[O],
    init: float64[S],
    transition: float64[S, S],
    emission: float64[S, T],
    path: uint8[O],
) -> int32:
    """Costs forward in time, then the path backward; returns the last state."""
    llike: float64[O, S]
    for s in range(S):
        llike[0, s] = init[s] + emission[s, obs[0]]
    for t in range(1, O):
        for curr in range(S):
            least: float64 = llike[t - 1, 0] + transition[0, curr] + emission[curr, obs[t]]
            for prev in range(1, S):
                p: float64 = llike[t - 1, prev] + transition[prev, curr] + emission[curr, obs[t]]
                if p < least:
                    least = p
            llike[t, curr] = least
    best: int32 = 0
    final: float64 = llike[O - 1, 0]
    for e in range(1, S):
        if llike[O - 1, e] < final:
            final = llike[O - 1, e]
            best = e
    path[O - 1] = best
    for b in range(O - 2, -1, -1):
        after: uint8 = path[b + 1]
        state: uint8 = 0
        cost: float64 = llike[b, 0] + transition[0, after]
        for r in range(1, S):
            through: float64 = llike[b, r] + transition[r, after]
            if through < cost:
                cost = through
                state = r
        path[b] = state
    return best


def schedule(size: tuple[int, ...]) -> Schedule:
    """The innermost loops are pipelines."""
    s = allo.customize(viterbi, instantiate=list(size))
    for loop in ("s", "prev", "e", "r"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random probabilities as costs, and observations."""
    length, states, tokens = size
    obs = rng.integers(0, tokens, length, np.uint8)
    shapes = (states, (states, states), (states, tokens))
    costs = [-np.log(rng.uniform(0.01, 1, shape)) for shape in shapes]
    return obs, *costs, np.zeros(length, np.uint8)


def reference(
    obs: np.ndarray,
    init: np.ndarray,
    transition: np.ndarray,
    emission: np.ndarray,
    path: np.ndarray,
) -> int:
    """A row of costs at a time."""
    rows = [init + emission[:, obs[0]]]
    for token in obs[1:]:
        rows.append((rows[-1][:, None] + transition + emission[:, token]).min(axis=0))
    path[-1] = rows[-1].argmin()
    for t in range(len(obs) - 2, -1, -1):
        path[t] = (rows[t] + transition[:, path[t + 1]]).argmin()
    return int(path[-1])
