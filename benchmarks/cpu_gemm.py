"""The CPU build of a plain gemm against NumPy's BLAS and against the same loops in C++.

scripts/python benchmarks/cpu_gemm.py
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import allo
from allo.ir.types import float32
from benchmarks.harness import Row, command_line, finish, seconds

SIZE = 256
COMPILE_LIMIT_S = 60

NAIVE = f"""
extern "C" void gemm(const float *a, const float *b, float *c) {{
    for (int i = 0; i < {SIZE}; i++)
        for (int j = 0; j < {SIZE}; j++) c[i * {SIZE} + j] = 0;
    for (int i = 0; i < {SIZE}; i++)
        for (int k = 0; k < {SIZE}; k++)
            for (int j = 0; j < {SIZE}; j++)
                c[i * {SIZE} + j] += a[i * {SIZE} + k] * b[k * {SIZE} + j];
}}
"""


def gemm(A: float32[SIZE, SIZE], B: float32[SIZE, SIZE]) -> float32[SIZE, SIZE]:
    """``A @ B``, k outside j."""
    C: float32[SIZE, SIZE] = 0
    for i in range(SIZE):
        for k in range(SIZE):
            for j in range(SIZE):
                C[i, j] += A[i, k] * B[k, j]
    return C


def naive(folder: Path) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The same loops, compiled by g++ -O3 without fast-math."""
    source, library = folder / "gemm.cpp", folder / "gemm.so"
    source.write_text(NAIVE)
    subprocess.run(
        ["g++", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
        + [str(source), "-o", str(library)],
        check=True,
        timeout=COMPILE_LIMIT_S,
    )
    function = ctypes.CDLL(str(library)).gemm
    function.argtypes = [ctypes.c_void_p] * 3

    def call(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        c = np.empty((SIZE, SIZE), np.float32)
        function(a.ctypes.data, b.ctypes.data, c.ctypes.data)
        return c

    return call


def main() -> int:
    """Measure, print, write."""
    target = command_line(__doc__).parse_args().json
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE), np.float32) for _ in range(2))
    kernel = allo.customize(gemm).build()
    with tempfile.TemporaryDirectory() as folder:
        loops = naive(Path(folder))
        if not np.array_equal(kernel(a, b), loops(a, b)):
            raise RuntimeError("the CPU build and the C++ loops differ")
        ours = seconds(lambda: kernel(a, b)) * 1e3
        rows = [
            Row(f"CPU gemm {SIZE}³", ours, "ms", "g++ -O3", seconds(lambda: loops(a, b)) * 1e3),
            Row(f"CPU gemm {SIZE}³", ours, "ms", "NumPy", seconds(lambda: a @ b) * 1e3),
        ]
    return finish("cpu_gemm", f"CPU: fp32 gemm {SIZE}³", rows, target)


if __name__ == "__main__":
    sys.exit(main())
