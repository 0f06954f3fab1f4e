"""Kernels for the tests of interfaces, and how they are run beside the CPU build."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
from allo.dialects.boundary.storage import natural_dtype

SEEDS = (1, 2, 3)


def values(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Random values of a type, extremes included, as a user passes them."""
    natural = natural_dtype(dtype)
    if natural.names:
        found = np.zeros(shape, natural)
        flat = found.reshape(-1)
        for k in range(flat.size):
            raw = int.from_bytes(rng.bytes(40), "little") & ((1 << dtype.bits) - 1)
            flat[k] = np.frombuffer(raw.to_bytes(natural.itemsize, "little"), natural)[0]
        return found
    if natural.kind == "f":
        scale = 2.0 ** -getattr(dtype, "fracs", 0)
        return (
            rng.integers(-100, 100, shape) * (scale if hasattr(dtype, "fracs") else 1.5)
        ).astype(natural)
    if natural.kind == "b":
        return rng.integers(0, 2, shape).astype(natural)
    low, high = (0, (1 << dtype.bits) - 1)
    if natural.kind == "i":
        low, high = -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1
    return rng.integers(low, high, shape, natural, endpoint=True)


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same, bit for bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return bool(a == b)


def agree(schedule: Any, module: Any, draw: Any, seeds: tuple[int, ...] = SEEDS) -> list[int]:
    """Runs of a wrapped module against the CPU build on all elements; gives their cycles.

    ``draw`` makes the arguments from a random generator.
    """
    cpu = schedule.build()
    cycles = []
    for seed in seeds:
        given = draw(np.random.default_rng(seed))
        mine, theirs = ([np.copy(v) if np.ndim(v) else v for v in given] for _ in range(2))
        result, expected = module(*mine, stall_seed=seed), cpu(*theirs)
        for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert same(a, b), f"argument {number} with seed {seed}:\n{a}\n{b}"
        if isinstance(expected, list):
            assert all(same(a, b) for a, b in zip(result, expected, strict=True))
        elif expected is not None:
            assert same(result, expected), f"result with seed {seed}:\n{result}\n{expected}"
        cycles.append(module.cycles)
    return cycles


def build(schedule: Any, interface: Any, simulator: str = "jit", stalls: float = 0.3) -> Any:
    """A module with interfaces."""
    return schedule.build(
        target="verilog", simulator=simulator, stalls=stalls, configs={"interface": interface}
    )


def doubled(dtype: Any, extent: int) -> Any:
    """The schedule of a kernel that reads A and changes a part of B."""
    T, N, M = dtype, extent, max(1, extent // 2)

    def double(A: T[N], B: T[N]):
        for i in range(M):
            B[i] = A[N - 1 - i]

    return allo.customize(double)
