"""Designs for boards of vendors: types of all kinds that drivers take, in arrays and registers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import allo
from allo.ir.types import Fixed, Int, UInt, float32, int16, int32
from tests.interfaces.kernels import values

SHAPES = (
    (int16, (4, 5)),
    (Fixed(13, 5), (7,)),
    (Int(33), (4, 5)),
    (float32, (6,)),
    (UInt(1), (3,)),
)


def summed(
    k: Int(7),
    A: int16[4, 5],
    F: Fixed(13, 5)[7],
    B: Int(33)[4, 5],
    X: float32[6],
    U: UInt(1)[3],
    y: float32,
) -> int32:
    total: int32 = 0
    for i, j in allo.grid(4, 5):
        B[i, j] = B[i, j] + A[i, j] * k
        total += A[i, j]
    for i in range(6):
        X[i] = X[i] * y
        F[i] = F[i + 1]
    U[0] = U[2]
    return total


def gathered(
    k: Int(7),
    A: int16[4, 5],
    F: Fixed(13, 5)[7],
    B: Int(33)[4, 5],
    X: float32[6],
    U: UInt(1)[3],
    y: float32,
) -> int32[5]:
    C: int32[5] = 0
    for i, j in allo.grid(4, 5):
        B[i, j] = B[i, j] + A[i, j] * k
        C[j] += A[i, j]
    for i in range(6):
        X[i] = X[i] * y
        F[i] = F[i + 1]
    U[0] = U[2]
    return C


@functools.cache
def built(name: str, board: str) -> tuple[Any, Any]:
    """A design for a board with AXI, and its CPU build; of ``spread`` ones arrays lie on several masters."""
    schedule = allo.customize(gathered if "gathered" in name else summed)
    arrays = dict.fromkeys("AFBXU", "m_axi") | ({"C": "m_axi"} if "gathered" in name else {})
    if "spread" in name:
        for array, numbers, width in (
            ("A", (0, 1, 2, 3), 32),
            ("B", (2, 3), 64),
            ("F", (4, 5), 128),
        ):
            bundles = [f"hbm{n}" if width == 32 else f"{array}{n}" for n in numbers]
            arrays[array] = {"kind": "m_axi", "bundle": bundles, "width": width}
    module = schedule.build(
        target="verilog", board=board, simulator="jit", configs={"interface": arrays}
    )
    return module, schedule.build()


def drawn(seed: int) -> list[Any]:
    """Arguments of either design."""
    rng = np.random.default_rng(seed)
    arrays = [values(rng, dtype, shape) for dtype, shape in SHAPES]
    return [int(rng.integers(-64, 64)), *arrays, float(np.float32(rng.normal()))]
