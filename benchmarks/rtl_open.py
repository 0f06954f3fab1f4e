"""Cycles of small int32 kernels against the published figures of open flows and of Vivado HLS.

scripts/python benchmarks/rtl_open.py [--kernel NAME …] [--engine E] [--clock MHZ] [--pipeline-only]

The source is plain (`designs/polybench/open`). Two schedules: `pipeline` alone, on every loop that holds no
other loop, and the best one that is known. Cycles are counted in simulation, and all elements are compared
with the CPU build of the source without a schedule. The published figures were made for a clock of 7 ns
(calyxir/calyx, fud/synth/hls.tcl), and so are these by default: 142.8 MHz on UltraScale+.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from allo.customize import Schedule
from allo.designs.polybench.open.cases import CASES, NAMES, Case
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish

CLOCK_MHZ = 1000 / 7
FACTOR = 10
"""Calyx's cycles over those of ``pipeline`` alone, as a geometric mean."""
SYSTOLIC = 26
SEED = 7


@dataclass(frozen=True, slots=True)
class Figures:
    """One case: cycles of both schedules, and the operators of the best one."""

    case: Case
    pipelined: int | None
    best: int | None
    multipliers: int


def run(case: Case, schedule: Schedule, engine: str, clock: float) -> tuple[int, int]:
    """Cycles of one run in simulation, and the multipliers of the design.

    Raises:
        RuntimeError: when an element differs from what the CPU build of the plain source gives.
    """
    arguments = case.arguments(np.random.default_rng(SEED))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    wanted = case.plain().build()(*expected)
    hardware = schedule.build(target="verilog", simulator=engine, clock_mhz=clock)
    got = hardware(*arguments)
    for position, (a, b) in enumerate(zip(arguments, expected, strict=True)):
        if not np.array_equal(a, b):
            raise RuntimeError(f"{case.name}: RTL and CPU differ in argument {position}")
    if wanted is not None and wanted != got:
        raise RuntimeError(f"{case.name}: RTL gives {got}, the CPU {wanted}")
    if hardware.report.cycles not in (None, hardware.cycles):
        raise RuntimeError(f"{case.name}: {hardware.cycles} cycles, not as predicted")
    operators = [function.operators for function in hardware.report.functions]
    count = sum(n for names in operators for name, n in names.items() if name.startswith("mul"))
    return hardware.cycles, count


def measure(case: Case, engine: str, clock: float, *, best: bool) -> Figures:
    """The figures of one case; without ``best`` those of ``pipeline`` alone."""
    alone = case.pipelined()
    pipelined = None if alone is None else run(case, alone, engine, clock)[0]
    found = run(case, case.scheduled(), engine, clock) if best or alone is None else (None, 0)
    return Figures(case, pipelined, found[0], found[1])


def rows_of(figures: Figures) -> list[Row]:
    """A row for each schedule and published figure."""
    case, rows = figures.case, []
    schedules = (("pipeline alone", figures.pipelined), ("best", figures.best))
    for label, cycles in schedules:
        for flow, published in case.published.items():
            if cycles is None:
                continue
            at_most = True if flow == "Vivado HLS" or case.kernel is None else None
            limit = SYSTOLIC if case.kernel is None else published
            against = "limit" if case.kernel is None else flow
            note = case.note if flow in ("Calyx", "Dynamatic", "R-HLS") else ""
            if label == "best" and figures.multipliers:
                note = f"{figures.multipliers} multipliers"
            rows.append(
                Row(f"{case.name}: {label}", cycles, "cycles", against, limit, at_most, note)
            )
            if case.kernel is None:
                return rows
    return rows


def table(found: list[Figures]) -> Table:
    """A line for each kernel: our cycles beside the published ones."""
    shown = Table(title="Cycles", title_justify="left")
    for name in ("kernel", "pipeline alone", "best", "Calyx", "Vivado HLS", "other", "Calyx over"):
        shown.add_column(name, justify="left" if name == "kernel" else "right")
    for figures in found:
        published = dict(figures.case.published)
        known = [published.pop(flow, None) for flow in ("Calyx", "Vivado HLS")]
        other = ", ".join(f"{flow} {cycles:,}" for flow, cycles in published.items())
        calyx, ours = known[0], figures.pipelined
        ratio = f"{calyx / ours:.1f}" if calyx and ours else ""
        cells = [f"{n:,}" if n is not None else "" for n in (ours, figures.best, *known)]
        shown.add_row(figures.case.name, *cells, other, ratio)
    return shown


def means(found: list[Figures]) -> list[Row]:
    """Geometric means of the published cycles over ours."""
    rows = []
    for flow in ("Calyx", "Vivado HLS"):
        for label in ("pipeline alone", "best"):
            ratios = [
                math.log(f.case.published[flow] / cycles)
                for f in found
                if flow in f.case.published and f.case.kernel is not None
                for cycles in [f.pipelined if label == "pipeline alone" else f.best]
                if cycles
            ]
            if not ratios:
                continue
            mean = math.exp(sum(ratios) / len(ratios))
            goal = FACTOR if flow == "Calyx" else 1
            what = f"geometric mean of {len(ratios)}: {flow} over {label}"
            rows.append(Row(what, mean, "times", "goal", goal, False))
    return rows


def main() -> int:
    """Measure, print, write; 1 when a limit fails or the results differ."""
    parser = command_line(__doc__)
    parser.add_argument("--kernel", nargs="*", choices=NAMES, default=NAMES, help="only these")
    parser.add_argument("--engine", choices=("jit", "verilator"), default="jit")
    parser.add_argument("--clock", type=float, default=CLOCK_MHZ, help="in MHz")
    parser.add_argument("--pipeline-only", action="store_true", help="without best schedules")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    found = [
        measure(case, given.engine, given.clock, best=not given.pipeline_only)
        for case in CASES
        if case.name in given.kernel
    ]
    Console().print(table(found))
    rows = [row for figures in found for row in rows_of(figures)]
    title = f"int32 kernels at {given.clock:.0f} MHz against published open flows"
    return finish("rtl_open", title, [*rows, *means(found)], given.json)


if __name__ == "__main__":
    sys.exit(main())
