"""Stratified float32 operands, and reference values of the functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5]
    + [
        1e38,
        -1e38,
        1e-40,
        -1e-40,
        1.4e-45,
        -1.4e-45,
        1.1754944e-38,
        3.4028235e38,
        88.72283,
        88.7229,
    ]
    + [-87.33655, -103.97208, -104.0, 127.99999, 128.0, -149.0, -150.5, 8388609.0, -8388609.0]
    + [16777216.0, 16777215.0, 9.010913, 3.925, 0.25, 0.24999999, 1e10, -1e10],
    dtype=np.float32,
)


def operands(count: int, rng: np.random.Generator) -> np.ndarray:
    """About ``count`` values: the specials, every exponent in equal shares, the range where the
    functions vary, and the neighbourhood of 1 and of multiples of pi/2."""
    part = max(1, count // 4)
    exponents = np.arange(part, dtype=np.uint32) % 255 << 23
    spread = exponents | rng.integers(0, 1 << 23, part, dtype=np.uint32)
    spread |= rng.integers(0, 2, part, dtype=np.uint32) << 31
    middle = rng.normal(0, 1, part) * np.exp2(rng.integers(-6, 7, part))
    one = (0x3F800000 + rng.integers(-1 << 20, 1 << 20, part)).astype(np.uint32)
    turns = rng.integers(-100_000, 100_000, part) * (math.pi / 2)
    jitter = 1 + rng.normal(0, 1, part) * 2.0**-23
    parts = [spread.view(np.float32), middle, one.view(np.float32), turns * jitter, SPECIAL]
    return np.concatenate([p.astype(np.float32) for p in parts])


def operand_pairs(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Bases and exponents: anything, results in range, bases near 1, integers, all specials."""
    part = max(1, count // 4)
    any_bits = [rng.integers(0, 1 << 32, part, dtype=np.uint32).view(np.float32) for _ in range(2)]
    near = 1 + rng.normal(0, 1, part) * np.exp2(rng.integers(-24, 0, part).astype(float))
    far = rng.normal(0, 1, part) * np.exp2(rng.integers(0, 31, part).astype(float))
    base = np.exp(rng.normal(0, 3, part))
    whole = [rng.integers(-20, 20, part), rng.integers(-40, 40, part)]
    grid = np.meshgrid(SPECIAL, SPECIAL)
    left = [any_bits[0], near, base, whole[0], grid[0].ravel()]
    right = [any_bits[1], far, rng.normal(0, 10, part), whole[1], grid[1].ravel()]
    return tuple(np.concatenate([p.astype(np.float32) for p in side]) for side in (left, right))


def _wide(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def call(*x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return function(*(v.astype(np.float64) for v in x))

    return call


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.tolist()])


def _reciprocal_root(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


REFERENCE = {
    "math.exp": _wide(np.exp),
    "math.exp2": _wide(np.exp2),
    "math.log": _wide(np.log),
    "math.log2": _wide(np.log2),
    "math.log10": _wide(np.log10),
    "math.tanh": _wide(np.tanh),
    "math.erf": _wide(_erf),
    "math.rsqrt": _wide(_reciprocal_root),
    "math.sin": _wide(np.sin),
    "math.cos": _wide(np.cos),
    "math.tan": _wide(np.tan),
}
"""Functions of one operand in float64, good to a unit of its last place or so."""


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x ** y with 64 bits of precision."""
    with np.errstate(all="ignore"):
        return np.power(x.astype(np.longdouble), y.astype(np.longdouble))
