"""A gemm row engine unrolled by 8 in our Verilog: interval, utilisation, and what limits it unbanked.

scripts/python benchmarks/rtl_gemm.py
"""

from __future__ import annotations

import sys

import numpy as np

from allo.dialects.reports.figures import DesignReport, LoopReport
from benchmarks.engine import inputs, operations, row_engine
from benchmarks.harness import Row, command_line, finish

SIZES = (60, 80, 70)
LANES = 8


def main_loop(report: DesignReport) -> LoopReport:
    """The pipelined loop that takes the most cycles."""
    loops = [loop for function in report.functions for loop in _flat(function.loops)]
    return max((l for l in loops if l.pipelined), key=lambda l: l.cycles or 0)


def _flat(loops: list[LoopReport]) -> list[LoopReport]:
    return [found for loop in loops for found in (loop, *_flat(loop.children))]


def main() -> int:
    """Measure, print, write; 1 when a limit fails or the results differ."""
    target = command_line(__doc__).parse_args().json
    arrays = inputs(SIZES)
    on_cpu = tuple(a.copy() for a in arrays)
    schedule = row_engine(SIZES, LANES)
    schedule.build()(*on_cpu)
    hardware = schedule.build(target="verilog")
    hardware(*arrays)
    if not np.array_equal(arrays[2], on_cpu[2]):
        raise RuntimeError("RTL and CPU differ")
    loop = main_loop(hardware.report)
    units = hardware.report.float_units
    busy = operations(SIZES) / (units * hardware.cycles)
    unbanked = main_loop(row_engine(SIZES, LANES, banked=False).build(target="verilog").report)
    rows = [
        Row("interval of the main loop", loop.ii, "cycles", "limit", 1, True),
        Row(
            "float-unit utilisation",
            busy,
            "",
            "limit",
            0.9,
            False,
            f"{operations(SIZES):,} operations, {units} units, {hardware.cycles:,} cycles",
        ),
        Row(
            "measured cycles",
            hardware.cycles,
            "",
            "predicted",
            hardware.report.cycles,
            figures={
                "gemm.lanes_8.cycles": hardware.cycles,
                "gemm.lanes_8.units": units,
                "gemm.lanes_8.busy.share": round(busy, 4),
            },
        ),
        Row(
            "interval without partition",
            unbanked.ii,
            "cycles",
            "with partition",
            loop.ii,
            note=unbanked.limit,
        ),
    ]
    return finish(
        "rtl_gemm", f"RTL: fp32 gemm {'×'.join(map(str, SIZES))}, {LANES} lanes", rows, target
    )


if __name__ == "__main__":
    sys.exit(main())
