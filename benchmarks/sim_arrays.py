"""Systolic arrays in the in-process engine against Verilator: cycles in a second of CPU time.

scripts/bench sim_arrays

The arrays of ``allo.library.systolic_array``, int32, a cell a process. Both engines run the same design on
the same arrays, in turns; cycles and results are compared. The best of the runs counts, models being built
beforehand.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np

import allo
from allo.ir.types import int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from benchmarks.harness import Row, command_line, finish

SIZES = {8: 20_000, 16: 4_000}
"""Cells on a side, and the length of the products."""
RUNS, LIMIT = 5, 5


def _seconds(call: partial[object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def measure(size: int, length: int, runs: int = RUNS) -> Row:
    """Cycles a second of both engines.

    Raises:
        RuntimeError: the engines differ.
    """
    parameters = [int32, int32, int32, size, length, size]
    s = schedule_systolic_array(allo.customize(systolic_array, instantiate=parameters))
    module = s.build(target="verilog")
    rng = np.random.default_rng(7)
    a = rng.integers(-99, 99, (size, length)).astype(np.int32)
    b = rng.integers(-99, 99, (length, size)).astype(np.int32)
    wanted = a @ b
    models = {engine: module.variant(simulator=engine) for engine in ("jit", "verilator")}
    best = dict.fromkeys(models, float("inf"))
    cycles = {}
    for turn in range(1 + runs):
        for engine, simulated in models.items():
            c = np.zeros((size, size), np.int32)
            seconds = _seconds(partial(simulated, a, b, c))
            cycles[engine] = simulated.cycles
            if not np.array_equal(c, wanted):
                raise RuntimeError(f"{engine}: the array and NumPy differ")
            if turn:
                best[engine] = min(best[engine], seconds)
    if cycles["jit"] != cycles["verilator"]:
        raise RuntimeError(f"the engines differ in cycles: {cycles}")
    ours, theirs = (cycles[engine] / best[engine] for engine in models)
    return Row(
        f"{size}×{size} array, {cycles['jit']:,} cycles",
        ours,
        "cycles/s",
        f"{LIMIT} × Verilator",
        LIMIT * theirs,
        False,
        f"Verilator runs {theirs:,.0f} cycles/s; in process {ours / theirs:.1f} times as many.",
    )


def main() -> int:
    """Measure, print, write."""
    target = command_line(__doc__).parse_args().json
    rows = [measure(size, length) for size, length in SIZES.items()]
    return finish("sim_arrays", "Systolic arrays in process and in Verilator", rows, target)


if __name__ == "__main__":
    sys.exit(main())
