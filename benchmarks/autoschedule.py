"""Schedules that are found beside those made by hand: 13 kernels of PolyBench at three budgets of DSPs.

scripts/python benchmarks/autoschedule.py [--kernel NAME ...] [--budget DSPS ...] [--seconds S]
    [--simulate | --report] [--scripts FOLDER]

The kernels, sizes and subnormals are those of ``rtl_polybench.py``, whose schedules made by hand stand beside
those found, at the same clock. A search gets the plain kernel, the budget of DSPs, and 60
seconds of processor time, as other programs may share the machine. Cycles are those of the report, which
counts static designs exactly. The designs of the smallest budget, and with ``--simulate`` all, are also run
in the in-process simulator: the cycles must be the same, and every element that of the CPU build of the same
schedule, bit for bit. DSPs and lookup tables are estimates of the design.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.kernel import Kernel
from allo.designs.polybench.budgets import CLOCK_MHZ, NAMES, found, load
from allo.errors import CapacityWarning
from allo.explore import FoundSchedule
from benchmarks.harness import Row, command_line, finish
from tests.designs.by_hand import load as load_by_hand
from tests.designs.by_hand import most_pairs

BUDGETS = (220, 2560, 9024)
SIZE = "medium"
WITHIN = 1.03
"""Cycles of a found schedule, at most this many times those of the one by hand."""
SECONDS = 60.0
SEED = 12
TOLERANCE = 1e-4
"""Of the largest element, against NumPy, which adds in another order."""
FIGURES = Path(__file__).parent / "figures" / "polybench.json"


def by_hand(name: str, budget: int) -> int:
    """Cycles of the schedule made by hand at the clock of the search, by its report.

    It gets as many multiplier-adder pairs as in ``rtl_polybench.py``, where designs have a faster clock and
    longer units. Where these pairs are not found again its recorded cycles, at that clock, are taken.
    """
    recorded = json.loads(FIGURES.read_text())["figures"]
    units = int(recorded[f"{name}.dsp_{budget}.units"])
    kernel = load_by_hand(name)
    for pairs in ((units + 1) // 2, most_pairs(name, budget), units):
        schedule = kernel.schedule(kernel.SIZES[SIZE], pairs)
        report = schedule.estimate(
            clock_mhz=CLOCK_MHZ, subnormals="flush", device=DEFAULT_DEVICE, warnings=False
        )
        if report.float_units == units and report.cycles:
            return report.cycles
    return int(recorded[f"{name}.dsp_{budget}.cycles"])


def search(name: str, budget: int, seconds: float) -> tuple[FoundSchedule, float]:
    """A schedule of the plain kernel on a budget, and the seconds of a processor that it took."""
    began = time.process_time()
    made = found(name, budget, SIZE, seconds=seconds, cache=False, timer=time.process_time)
    return made, time.process_time() - began


def simulated(kernel: Kernel, made: FoundSchedule) -> None:
    """Run a design beside the CPU build of its schedule, and NumPy.

    Raises:
        RuntimeError: results or cycles differ.
    """
    hardware = made.build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK_MHZ,
        subnormals="flush",
        device=DEFAULT_DEVICE,
    )
    # LLVM takes minutes to optimise thousands of copies of a body, and the bits are the same without
    cpu = made.build(subnormals="flush", opt_level=0)
    ours, wanted, reference = (_run(kernel, each) for each in (hardware, cpu, kernel.reference))
    if any(a.tobytes() != b.tobytes() for a, b in zip(ours, wanted, strict=True)):
        raise RuntimeError(f"{made.top_func_name}: RTL and CPU differ.")
    if hardware.cycles != made.trace.cycles:
        raise RuntimeError(f"{made.top_func_name}: not the cycles of the report.")
    for a, b in zip(ours, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * np.abs(b).max())


def _run(kernel: Kernel, function: Callable[..., Any]) -> list[np.ndarray]:
    """All arguments after a run on the random arguments of the benchmark, and the result."""
    arrays = kernel.inputs(np.random.default_rng(SEED), kernel.SIZES[SIZE])
    result = function(*arrays)
    return [*arrays, *([] if result is None else [np.asarray(result)])]


def row_of(name: str, budget: int, asked: argparse.Namespace) -> Row:
    """One search beside the hand-made schedule."""
    made, took = search(name, budget, asked.seconds)
    if asked.scripts is not None:
        (asked.scripts / f"{name}_{budget}.py").write_text(made.script())
    run = not asked.report and (asked.simulate or budget == min(BUDGETS))
    if run:
        simulated(load(name), made)
    trace = made.trace
    best = next(t for t in trace.tried if t.cycles == trace.cycles and not t.note).resources
    lines = len(made.script().splitlines())
    note = (
        f"{took:.0f} s of a processor, {len(trace.tried)} reports ({trace.ended}); gap "
        f"{'?' if trace.gap is None else f'{trace.gap:.1%}'}; {best.get('dsp', 0):,} DSP, "
        f"{best.get('lut', 0) / 1000:,.0f} thousand LUT; script of {lines} lines"
        f"{'; simulated, bits of the CPU' if run else ''}"
    )
    hand, cycles = by_hand(name, budget), trace.cycles or 0
    key = f"autoschedule.budgets.{name}.dsp_{budget}"
    figures = {
        f"{key}.cycles": cycles,
        f"{key}.dsp": best.get("dsp", 0),
        f"{key}.lut": best.get("lut", 0),
        f"{key}.hand_cycles": hand,
        f"{key}.search_ms": round(1000 * took),
    }
    return Row(
        f"{name}, {budget:,} DSP", cycles, "cycles", f"{WITHIN} x by hand", WITHIN * hand, True, note=note,
        figures=figures,
    )  # fmt: skip


def main() -> int:
    """Search, compare, print, write; 1 when a schedule is not within the limit."""
    parser = command_line(__doc__)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--budget", nargs="+", type=int, choices=BUDGETS, default=[*BUDGETS])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument(
        "--simulate", action="store_true", help="all rows, which takes minutes each"
    )
    parser.add_argument("--report", action="store_true", help="simulate nothing")
    parser.add_argument("--scripts", type=Path, help="folder for the scripts of what is found")
    given = parser.parse_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows: list[Row] = []
    for budget in given.budget:
        for name in given.kernel:
            rows.append(row_of(name, budget, given))
            what, value, hand = rows[-1].what, rows[-1].value, rows[-1].reference / WITHIN
            print(f"{what}: {value:,} ({hand:,.0f} by hand); {rows[-1].note}", flush=True)
    ratios = [WITHIN * row.ratio for row in rows]
    mean = prod(ratios) ** (1 / len(ratios))
    rows.append(
        Row("found to hand-made cycles, geometric mean", round(mean, 3), "", "limit", WITHIN)
    )
    rows.append(
        Row("rows within the limit", sum(r <= WITHIN for r in ratios), "", "rows", len(ratios))
    )
    return finish("autoschedule", "Schedules found and made by hand", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
