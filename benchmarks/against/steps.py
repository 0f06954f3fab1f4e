"""What `compile_against` times in one process: prints the tree that was imported, then milliseconds as JSON.

It is run by path, with one tree or the other on PYTHONPATH, and uses nothing that the older one lacks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

BEGAN = time.perf_counter()
import allo  # noqa: E402

IMPORTED = time.perf_counter() - BEGAN

import numpy as np  # noqa: E402

from allo.ir.types import UInt, float32, int8, int32  # noqa: E402

T = TypeVar("T")
LANES, DEPTH, ROWS = 32, 64, 8
TURNS = 9
SIMULATED = 20
"""Calls of the model that are timed: some 11,000 cycles each."""


def square_gemm(A: float32[32, 32], B: float32[32, 32]) -> float32[32, 32]:
    """The product that is customised and built for the CPU."""
    C: float32[32, 32] = 0
    for i, j, k in allo.grid(32, 32, 32):
        C[i, j] += A[i, k] * B[k, j]
    return C


def linear(x: int8[DEPTH], w: UInt(8 * LANES)[ROWS * DEPTH], o: UInt(32 * LANES)[ROWS]):
    """The linear engine of a transformer: wide hardware."""
    acc: int32[LANES] = 0
    for t in range(ROWS):
        for mac in range(DEPTH):
            word: UInt(8 * LANES) = w[t * DEPTH + mac]
            xv: int8 = x[mac]
            out: UInt(32 * LANES) = 0
            for p in range(LANES):
                weight: int8 = word[8 * p : 8 * p + 8]
                before: int32 = 0 if mac == 0 else acc[p]
                after: int32 = before + xv * weight
                acc[p] = after
                out[32 * p : 32 * p + 32] = after
            if mac == DEPTH - 1:
                o[t] = out


def small_gemm(A: int32[16, 16], B: int32[16, 16], C: int32[16, 16]):
    """The product whose model is run: 4,096 iterations."""
    for i, j, k in allo.grid(16, 16, 16):
        C[i, j] += A[i, k] * B[k, j]


def timed(step: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds of a step, and its result."""
    began = time.perf_counter()
    result = step()
    return (time.perf_counter() - began) * 1e3, result


def wide():
    """The schedule of the linear engine."""
    s = allo.customize(linear)
    s.partition(s.acc)
    s.unroll("p")
    s.pipeline("mac")
    return s


def piped():
    """The schedule of the product that is run."""
    s = allo.customize(small_gemm)
    s.pipeline("k")
    return s


def main() -> None:
    """Time every step once, from an empty cache."""
    steps = {"import allo": IMPORTED * 1e3}
    steps["customize gemm 32³, first"], s = timed(lambda: allo.customize(square_gemm))
    steps["customize gemm 32³, warm"] = min(
        timed(lambda: allo.customize(square_gemm))[0] for _ in range(TURNS)
    )
    steps["gemm 32³ to the CPU"], _ = timed(s.build)
    steps["gemm 32³ to HLS text"], _ = timed(lambda: str(s.build(target="vhls")))
    steps[f"{LANES} int8 lanes to Verilog"], _ = timed(
        lambda: str(wide().build(target="verilog", simulator="jit"))
    )
    steps["gemm 16³ to a model in process"], mod = timed(
        lambda: _built(piped().build(target="verilog", simulator="jit"))
    )
    a, b = (np.arange(256, dtype=np.int32).reshape(16, 16) % k for k in (7, 11))
    c = np.zeros((16, 16), np.int32)
    mod(a, b, c)
    if not (c == a @ b).all():
        raise RuntimeError("the model's product is wrong")
    spent, _ = timed(lambda: [mod(a, b, c) for _ in range(SIMULATED)])
    steps["100,000 simulated cycles"] = spent / (mod.cycles * SIMULATED) * 1e5
    print(allo.__file__)
    print(json.dumps(steps))


def _built(mod):
    mod.build_model()
    return mod


if __name__ == "__main__":
    main()
