"""Schedules that are found beside those made by hand: 13 kernels of PolyBench at three budgets of DSPs.

scripts/python benchmarks/autoschedule.py [--kernel NAME ...] [--budget DSPS ...] [--seconds S] [--simulate]

The kernels, sizes, clock and subnormals are those of ``rtl_polybench.py``, whose recorded cycles of the
hand-made schedules stand beside those found. A search gets the plain kernel, the budget of DSPs, and 60
seconds. Cycles are those of the report, which counts static designs exactly; with ``--simulate`` each design
is also run in the in-process simulator and compared with the CPU build of the same schedule, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from math import prod
from pathlib import Path

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.polybench.budgets import NAMES, Budgeted, load
from allo.errors import CapacityWarning
from allo.explore import FoundSchedule
from benchmarks.harness import Row, finish

BUDGETS = (220, 2560, 9024)
SIZE = "medium"
CLOCK = 300.0
PAIRS = 64
"""With which a hand-made schedule is made, of which nothing but the kernel is used."""
WITHIN = 1.03
"""Cycles of a found schedule, at most this many times those of the one by hand."""
SECONDS = 60.0
FIGURES = Path(__file__).parent / "figures" / "polybench.json"


def by_hand(name: str, budget: int) -> int:
    """The recorded cycles of the schedule made by hand."""
    return int(json.loads(FIGURES.read_text())["figures"][f"{name}.dsp_{budget}.cycles"])


def search(name: str, budget: int, seconds: float) -> tuple[FoundSchedule, float]:
    """A schedule of the plain kernel on a budget, and the seconds that it took."""
    kernel = load(name)
    plain = kernel.schedule(kernel.SIZES[SIZE], PAIRS)
    began = time.monotonic()
    found = allo.autoschedule(
        plain.kernel.source,  # type: ignore[attr-defined]
        instantiate=list(plain.inst_list),
        device="u280",
        max_dsp=budget,
        clock_mhz=CLOCK,
        seconds=seconds,
        reassociate=True,
        subnormals="flush",
        cache=False,
    )
    return found, time.monotonic() - began


def simulated(kernel: Budgeted, found: FoundSchedule) -> None:
    """Run a design beside the CPU build of its schedule.

    Raises:
        RuntimeError: results or cycles differ.
    """
    hardware = found.build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK,
        subnormals="flush",
        device=DEFAULT_DEVICE,
    )
    results = []
    for function in (hardware, found.build(subnormals="flush")):
        arrays = kernel.inputs(np.random.default_rng(12), kernel.SIZES[SIZE])
        result = function(*arrays)
        results.append([*arrays, *([] if result is None else [np.asarray(result)])])
    if any(a.tobytes() != b.tobytes() for a, b in zip(*results, strict=True)):
        raise RuntimeError(f"{found.top_func_name}: RTL and CPU differ.")
    if hardware.cycles != found.trace.cycles:
        raise RuntimeError(f"{found.top_func_name}: not the cycles of the report.")


def row_of(name: str, budget: int, seconds: float, *, simulate: bool) -> Row:
    """One search beside the hand-made schedule."""
    found, took = search(name, budget, seconds)
    if simulate:
        simulated(load(name), found)
    trace = found.trace
    best = next(t for t in trace.tried if t.cycles == trace.cycles)
    lines = len(found.script().splitlines())
    note = (
        f"{took:.0f} s, {len(trace.tried)} reports ({trace.ended}); gap "
        f"{'?' if trace.gap is None else f'{trace.gap:.1%}'}; {best.resources.get('dsp', 0):,} DSP, "
        f"{best.resources.get('lut', 0) / 1000:,.0f} thousand LUT; script of {lines} lines"
        f"{'; simulated' if simulate else ''}"
    )
    hand, cycles = by_hand(name, budget), trace.cycles or 0
    return Row(
        f"{name}, {budget:,} DSP", cycles, "cycles", "by hand", hand, cycles <= WITHIN * hand, note=note,
        figures={f"autoschedule.{name}.dsp_{budget}.cycles": cycles},
    )  # fmt: skip


def main() -> int:
    """Search, compare, print, write; 1 when a schedule is not within the limit."""
    parser = argparse.ArgumentParser(description="found schedules", add_help=False)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--budget", nargs="+", type=int, choices=BUDGETS, default=[*BUDGETS])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--simulate", action="store_true")
    given, rest = parser.parse_known_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows: list[Row] = []
    for budget in given.budget:
        for name in given.kernel:
            rows.append(row_of(name, budget, given.seconds, simulate=given.simulate))
            print(
                f"{rows[-1].what}: {rows[-1].value:,} ({rows[-1].reference:,}); {rows[-1].note}",
                flush=True,
            )
    ratios = [row.value / row.reference for row in rows]
    mean = prod(ratios) ** (1 / len(ratios))
    rows.append(
        Row("found to hand-made cycles, geometric mean", round(mean, 3), "", "limit", WITHIN)
    )
    rows.append(
        Row("rows within the limit", sum(r <= WITHIN for r in ratios), "", "rows", len(ratios))
    )
    return finish("autoschedule", "Schedules found and made by hand", rows, rest)


if __name__ == "__main__":
    sys.exit(main())
