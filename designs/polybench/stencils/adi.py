"""PolyBench adi, float32: heat in two dimensions by alternating-direction implicit steps."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import ConstExpr, float32

from ..steps import steps_of

SIZES = {"tiny": (2, 6), "mini": (4, 5), "small": (40, 60), "medium": (100, 200)}


def across(steps: int, n: int, diffusion: float) -> float:
    """What an element of a line takes from each neighbour; with minus twice that added to 1, itself."""
    return -diffusion * (1.0 / steps) / ((1.0 / n) * (1.0 / n)) / 2.0


def columns[T, S, N](u: T[N, N], v: T[N, N], p: T[N, N], q: T[N, N]):
    """Solve for every column of v."""
    a: ConstExpr[T] = across(S, N, 2.0)
    d: ConstExpr[T] = across(S, N, 1.0)
    for i in range(1, N - 1, name="begin"):
        v[0, i] = 1.0
        p[i, 0] = 0.0
        q[i, 0] = v[0, i]
        v[N - 1, i] = 1.0
    for i in range(1, N - 1, name="eliminate"):
        for j in range(1, N - 1):
            below: T = a * p[i, j - 1] + (1.0 - 2.0 * a)
            p[i, j] = -a / below
            known = -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - d * u[j, i + 1]
            q[i, j] = (known - a * q[i, j - 1]) / below
    for i in range(1, N - 1, name="substitute"):
        for j in range(N - 2, 0, -1):
            v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]


def rows[T, S, N](u: T[N, N], v: T[N, N], p: T[N, N], q: T[N, N]):
    """Solve for every row of u."""
    a: ConstExpr[T] = across(S, N, 2.0)
    d: ConstExpr[T] = across(S, N, 1.0)
    for i in range(1, N - 1, name="begin"):
        u[i, 0] = 1.0
        p[i, 0] = 0.0
        q[i, 0] = u[i, 0]
        u[i, N - 1] = 1.0
    for i in range(1, N - 1, name="eliminate"):
        for j in range(1, N - 1):
            below: T = d * p[i, j - 1] + (1.0 - 2.0 * d)
            p[i, j] = -d / below
            known = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - a * v[i + 1, j]
            q[i, j] = (known - d * q[i, j - 1]) / below
    for i in range(1, N - 1, name="substitute"):
        for j in range(N - 2, 0, -1):
            u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def adi[T, S, N](u: T[N, N], v: T[N, N], p: T[N, N], q: T[N, N]):
    """``S`` steps, each half along the columns and half along the rows."""
    for _ in range(S):
        columns[T, S, N](u, v, p, q)
        rows[T, S, N](u, v, p, q)


def schedule(size: tuple[int, ...]) -> Schedule:
    """All lines advance together: a recurrence of one line waits while the others pass."""
    s = allo.customize(adi, instantiate=[float32, *size])
    for kernel, source in ((columns, "u"), (rows, "v")):
        half = allo.customize(kernel, instantiate=[float32, *size])
        loops = half.get_loops()
        half.pipeline(loops["begin"]["i"])
        for band in ("eliminate", "substitute"):
            half.reorder(loops[band]["j"], loops[band]["i"])
            half.pipeline(loops[band]["i"])
        window = half.reuse_at(getattr(half, source), loops["eliminate"]["i"])
        half.partition(window)
        s.compose(half)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random u; v, p and q are scratch."""
    n = size[-1]
    return tuple(rng.standard_normal((n, n), np.float32) for _ in range(4))


def reference(u: np.ndarray, v: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """The kernel in NumPy, all lines of a sweep side by side."""
    n = len(u)
    steps = steps_of(SIZES, n)
    a, d = (np.float32(across(steps, n, diffusion)) for diffusion in (2.0, 1.0))
    for _ in range(steps):
        _sweep(u.T, v.T, p, q, a, d)
        _sweep(v, u, p, q, d, a)


def _sweep(
    source: np.ndarray,
    target: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    a: np.float32,
    d: np.float32,
) -> None:
    """Solve for the inner rows of ``target``; ``source`` is read across them."""
    n = len(source)
    one, two = np.float32(1), np.float32(2)
    target[1:-1, 0] = 1
    p[1:-1, 0] = 0
    q[1:-1, 0] = 1
    for j in range(1, n - 1):
        below = a * p[1:-1, j - 1] + (one - two * a)
        p[1:-1, j] = -a / below
        known = -d * source[:-2, j] + (one + two * d) * source[1:-1, j] - d * source[2:, j]
        q[1:-1, j] = (known - a * q[1:-1, j - 1]) / below
    target[1:-1, n - 1] = 1
    for j in range(n - 2, 0, -1):
        target[1:-1, j] = p[1:-1, j] * target[1:-1, j + 1] + q[1:-1, j]
