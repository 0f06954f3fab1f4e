"""MachSuite nw: Needleman and Wunsch's alignment of two sequences."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32, uint2

# Lengths of the sequences.
SIZES = {"tiny": (16, 16), "full": (128, 128)}
MATCH = 1
MISMATCH = -1
GAP = -1
DASH = 45
BLANK = 95

DIAGONAL = 0
UP = 1
LEFT = 2


def needwun[A, B](first: int32[A], second: int32[B]) -> int32[2, A + B]:
    """The two sequences, backward, with dashes in the gaps and blanks behind."""
    score: int32[B + 1, A + 1]
    step: uint2[B + 1, A + 1]
    aligned: int32[2, A + B] = BLANK
    for a in range(A + 1):
        score[0, a] = a * GAP
    for b in range(B + 1):
        score[b, 0] = b * GAP
    for j in range(1, B + 1):
        for i in range(1, A + 1):
            gain: int32 = MATCH if first[i - 1] == second[j - 1] else MISMATCH
            diagonal: int32 = score[j - 1, i - 1] + gain
            up: int32 = score[j - 1, i] + GAP
            left: int32 = score[j, i - 1] + GAP
            best: int32 = max(diagonal, max(up, left))
            score[j, i] = best
            if best == left:
                step[j, i] = LEFT
            elif best == up:
                step[j, i] = UP
            else:
                step[j, i] = DIAGONAL
    x: int32 = A
    y: int32 = B
    place: int32 = 0
    while x > 0 or y > 0:
        if x > 0 and (y == 0 or step[y, x] == LEFT):
            aligned[0, place] = first[x - 1]
            aligned[1, place] = DASH
            x -= 1
        elif y > 0 and (x == 0 or step[y, x] == UP):
            aligned[0, place] = DASH
            aligned[1, place] = second[y - 1]
            y -= 1
        else:
            aligned[0, place] = first[x - 1]
            aligned[1, place] = second[y - 1]
            x -= 1
            y -= 1
        place += 1
    return aligned


def schedule(size: tuple[int, ...]) -> Schedule:
    """The table is filled by one pipeline."""
    s = allo.customize(needwun, instantiate=list(size))
    for loop in ("a", "b", "i"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Two random sequences over four letters."""
    return tuple(rng.integers(65, 69, n).astype(np.int32) for n in size)


def moves(first: np.ndarray, second: np.ndarray, x: int, y: int) -> list[tuple[int, int, int]]:
    """Prefix lengths one step before ``(x, y)`` and what the step scores; the preferred one first."""
    steps = []
    if x > 0:
        steps.append((x - 1, y, GAP))
    if y > 0:
        steps.append((x, y - 1, GAP))
    if x > 0 and y > 0:
        steps.append((x - 1, y - 1, MATCH if first[x - 1] == second[y - 1] else MISMATCH))
    return steps


def reference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The best score of every two prefixes, then back along the first move that reaches it."""
    x, y = len(first), len(second)
    score = {(0, 0): 0}
    for ends in np.ndindex(x + 1, y + 1):
        reached = [score[a, b] + gain for a, b, gain in moves(first, second, *ends)]
        score[ends] = max(reached, default=0)
    pairs = []
    while (x, y) != (0, 0):
        steps = moves(first, second, x, y)
        a, b, _ = next(m for m in steps if score[m[0], m[1]] + m[2] == score[x, y])
        pairs.append((first[a] if a < x else DASH, second[b] if b < y else DASH))
        x, y = a, b
    aligned = np.full((2, len(first) + len(second)), BLANK, np.int32)
    aligned[:, : len(pairs)] = np.array(pairs).T
    return aligned
