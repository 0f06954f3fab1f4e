"""PolyBench adi, float32: heat in two dimensions by alternating-direction implicit steps."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from .steps import steps_of

SIZES = {"tiny": (2, 6), "mini": (4, 5), "small": (40, 60), "medium": (100, 200)}


def coefficients(steps: int, n: int) -> tuple[float, float, float, float]:
    """a, b, d, e of the tridiagonal systems (c equals a, f equals d)."""
    mul1 = 2.0 * (1.0 / steps) / ((1.0 / n) * (1.0 / n))
    mul2 = 1.0 * (1.0 / steps) / ((1.0 / n) * (1.0 / n))
    return -mul1 / 2.0, 1.0 + mul1, -mul2 / 2.0, 1.0 + mul2


def schedule(size: tuple[int, ...]) -> Schedule:
    """The eliminations and substitutions are pipelines."""
    steps, n = size
    a, b, d, e = coefficients(steps, n)
    c, f = a, d

    def adi[T, S, N](u: T[N, N], v: T[N, N], p: T[N, N], q: T[N, N]):
        for t in range(1, S + 1):
            for i in range(1, N - 1, name="columns"):
                v[0, i] = 1.0
                p[i, 0] = 0.0
                q[i, 0] = v[0, i]
                for j in range(1, N - 1):
                    p[i, j] = -c / (a * p[i, j - 1] + b)
                    q[i, j] = (
                        -d * u[j, i - 1]
                        + (1.0 + 2.0 * d) * u[j, i]
                        - f * u[j, i + 1]
                        - a * q[i, j - 1]
                    ) / (a * p[i, j - 1] + b)
                v[N - 1, i] = 1.0
                for k in range(N - 2, 0, -1):
                    v[k, i] = p[i, k] * v[k + 1, i] + q[i, k]
            for i in range(1, N - 1, name="rows"):
                u[i, 0] = 1.0
                p[i, 0] = 0.0
                q[i, 0] = u[i, 0]
                for j in range(1, N - 1):
                    p[i, j] = -f / (d * p[i, j - 1] + e)
                    q[i, j] = (
                        -a * v[i - 1, j]
                        + (1.0 + 2.0 * a) * v[i, j]
                        - c * v[i + 1, j]
                        - d * q[i, j - 1]
                    ) / (d * p[i, j - 1] + e)
                u[i, N - 1] = 1.0
                for k in range(N - 2, 0, -1):
                    u[i, k] = p[i, k] * u[i, k + 1] + q[i, k]

    s = allo.customize(adi, instantiate=[float32, steps, n])
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random u; v, p and q are scratch."""
    n = size[-1]
    return tuple(rng.standard_normal((n, n), np.float32) for _ in range(4))


def reference(u: np.ndarray, v: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """The kernel in NumPy, all lines of a sweep side by side."""
    n = len(u)
    steps = steps_of(SIZES, n)
    a, b, d, e = coefficients(steps, n)
    for _ in range(steps):
        _sweep(u.T, v.T, p, q, (a, b, d))
        _sweep(v, u, p, q, (d, e, a))


def _sweep(
    source: np.ndarray,
    target: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    factors: tuple[float, float, float],
) -> None:
    """Solve for the inner rows of ``target``; ``source`` is read across them."""
    n = len(source)
    a, b = (np.float32(x) for x in factors[:2])
    d, middle = np.float32(factors[2]), np.float32(1.0 + 2.0 * factors[2])
    target[1:-1, 0] = 1
    p[1:-1, 0] = 0
    q[1:-1, 0] = 1
    for j in range(1, n - 1):
        below = a * p[1:-1, j - 1] + b
        p[1:-1, j] = -a / below
        across = -d * source[:-2, j] + middle * source[1:-1, j] - d * source[2:, j]
        q[1:-1, j] = (across - a * q[1:-1, j - 1]) / below
    target[1:-1, n - 1] = 1
    for j in range(n - 2, 0, -1):
        target[1:-1, j] = p[1:-1, j] * target[1:-1, j + 1] + q[1:-1, j]
