"""64 multiplier-adder pairs: time from Verilog text to a finished simulation in Verilator.

scripts/python benchmarks/row_engine_64.py
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import numpy as np

from benchmarks.engine import inputs, operations, row_engine
from benchmarks.harness import Row, command_line, finish

SIZES = (8, 1024, 64)
LANES = 64


def main() -> int:
    """Measure with an empty cache, print, write; 1 when the limit fails or the results differ."""
    target = command_line(__doc__).parse_args().json
    arrays = inputs(SIZES)
    on_cpu = tuple(a.copy() for a in arrays)
    schedule = row_engine(SIZES, LANES)
    schedule.build()(*on_cpu)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ALLO_CACHE_DIR"] = cache
        warm = row_engine((2, 16, 2), 1)
        warm.build(target="verilog").build_model()  # Verilator's runtime, compiled once a machine
        began = time.perf_counter()
        hardware = schedule.build(target="verilog")
        compiled = time.perf_counter()
        hardware.build_model()
        built = time.perf_counter()
        hardware(*arrays)
        ended = time.perf_counter()
    if not np.array_equal(arrays[2], on_cpu[2]):
        raise RuntimeError("RTL and CPU differ")
    busy = operations(SIZES) / (hardware.report.float_units * hardware.cycles)
    rows = [
        Row("build and simulate", ended - compiled, "s", "limit", 5, True),
        Row(
            "of that, building the model",
            built - compiled,
            "s",
            "build and simulate",
            ended - compiled,
        ),
        Row("Python to Verilog", compiled - began, "s", "build and simulate", ended - compiled),
        Row("float-unit utilisation", busy, "", "limit", 0.9, False),
        Row("measured cycles", hardware.cycles, "", "predicted", hardware.report.cycles),
    ]
    return finish("row_engine_64", f"RTL: {LANES} float pairs in Verilator", rows, target)


if __name__ == "__main__":
    sys.exit(main())
