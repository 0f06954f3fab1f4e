"""How long Allo keeps one waiting: import, customize, and Python to Verilog.

scripts/python benchmarks/compile_time.py
"""

from __future__ import annotations

import subprocess
import sys
import time

import allo
from allo.designs.polybench.blas import gemm
from allo.ir.types import float32, int8, int32
from allo.library.systolic import schedule_systolic, systolic
from benchmarks.engine import row_engine
from benchmarks.harness import Row, command_line, finish, seconds

IMPORTS = 7


def import_seconds(module: str) -> float:
    """Best wall time of importing a module in a fresh interpreter, less the interpreter's own."""
    program = (
        f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    )
    times = []
    for _ in range(IMPORTS):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        times.append(float(done.stdout))
    return min(times)


def square_gemm(A: float32[32, 32], B: float32[32, 32]) -> float32[32, 32]:
    """``A @ B``."""
    C: float32[32, 32] = 0
    for i, j, k in allo.grid(32, 32, 32):
        C[i, j] += A[i, k] * B[k, j]
    return C


def to_verilog() -> float:
    """Seconds from the Python of PolyBench gemm to its Verilog text, schedule included."""
    began = time.perf_counter()
    text = str(gemm.schedule().build(target="verilog"))
    taken = time.perf_counter() - began
    if "module gemm" not in text:
        raise RuntimeError("the Verilog holds no module gemm")
    return taken


def lanes_to_verilog(lanes: int) -> float:
    """Seconds to the Verilog of a row engine with so many lanes, 16 iterations a row."""
    schedule = row_engine((4, lanes * 16, 4), lanes)
    return seconds(lambda: str(schedule.build(target="verilog")), 1)


def systolic_seconds(M: int, K: int, N: int) -> tuple[float, float]:
    """Processor seconds to schedule the library's product on 16 × 16 cells, and to its HLS text."""
    began = time.process_time()
    schedule = allo.customize(systolic, instantiate=[int8, int8, int32, M, K, N, 16, 16])
    schedule_systolic(schedule)
    scheduled = time.process_time()
    text = str(schedule.build(target="vhls"))
    if text.count("  PE_kernel_0_0(C, ") != 16 * 16:
        raise RuntimeError("the text does not call every cell")
    return scheduled - began, time.process_time() - scheduled


def systolic_rows(M: int, K: int, N: int) -> list[Row]:
    """The two rows of one product, each the best of three runs."""
    runs = [systolic_seconds(M, K, N) for _ in range(3)]
    schedule, text = (min(times) for times in zip(*runs, strict=True))
    name = f"systolic 16×16, {M}×{K}×{N}"
    return [
        Row(f"{name}: schedule", schedule, "CPU s", "limit", 1, True),
        Row(f"{name}: HLS text", text, "CPU s", "limit", 2, True),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    target = command_line(__doc__).parse_args().json
    first = to_verilog()
    rows = [
        Row("import allo", import_seconds("allo"), "s", "limit", 0.5, True),
        Row("import allo", import_seconds("allo"), "s", "import numpy", import_seconds("numpy")),
        Row(
            "customize gemm 32³, warm",
            seconds(lambda: allo.customize(square_gemm), 21) * 1e3,
            "ms",
            "limit",
            20,
            True,
        ),
        Row(
            "schedule gemm 32³: customize and five primitives",
            seconds(lambda: row_engine((32, 32, 32), 8), 5) * 1e3,
            "ms",
            "limit",
            100,
            True,
        ),
        Row("gemm 60×70×80 to Verilog, first", first, "s", "limit", 2, True),
        Row(
            "gemm 60×70×80 to Verilog, again",
            min(to_verilog() for _ in range(3)),
            "s",
            "limit",
            2,
            True,
        ),
        Row(
            "128 lanes to Verilog",
            lanes_to_verilog(128),
            "s",
            "12 times that of 32 lanes",
            12 * lanes_to_verilog(32),
            True,
        ),
        *systolic_rows(16, 16, 16),
        *systolic_rows(512, 768, 768),
    ]
    return finish("compile_time", "Compile time", rows, target)


if __name__ == "__main__":
    sys.exit(main())
