"""Schedules that are found beside those made by hand: 13 kernels of PolyBench at three budgets of DSPs.

scripts/python benchmarks/autoschedule.py [--kernel NAME ...] [--budget DSPS ...] [--seconds S]
    [--simulate | --report] [--scripts FOLDER]

The kernels, sizes, clock and subnormals are those of ``rtl_polybench.py``, whose recorded cycles of the
hand-made schedules stand beside those found. A search gets the plain kernel, the budget of DSPs, and 60
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
SEED = 12
FIGURES = Path(__file__).parent / "figures" / "polybench.json"


def by_hand(name: str, budget: int) -> int:
    """The recorded cycles of the schedule made by hand."""
    return int(json.loads(FIGURES.read_text())["figures"][f"{name}.dsp_{budget}.cycles"])


def search(name: str, budget: int, seconds: float) -> tuple[FoundSchedule, float]:
    """A schedule of the plain kernel on a budget, and the seconds of a processor that it took."""
    kernel = load(name)
    plain = kernel.schedule(kernel.SIZES[SIZE], PAIRS)
    began = time.process_time()
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
        timer=time.process_time,
    )
    return found, time.process_time() - began


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
    # LLVM takes minutes to optimise thousands of copies of a body, and the bits are the same without
    results = []
    for function in (hardware, found.build(subnormals="flush", opt_level=0)):
        arrays = kernel.inputs(np.random.default_rng(SEED), kernel.SIZES[SIZE])
        result = function(*arrays)
        results.append([*arrays, *([] if result is None else [np.asarray(result)])])
    if any(a.tobytes() != b.tobytes() for a, b in zip(*results, strict=True)):
        raise RuntimeError(f"{found.top_func_name}: RTL and CPU differ.")
    if hardware.cycles != found.trace.cycles:
        raise RuntimeError(f"{found.top_func_name}: not the cycles of the report.")


def row_of(name: str, budget: int, asked: argparse.Namespace) -> Row:
    """One search beside the hand-made schedule."""
    found, took = search(name, budget, asked.seconds)
    if asked.scripts is not None:
        (asked.scripts / f"{name}_{budget}.py").write_text(found.script())
    run = not asked.report and (asked.simulate or budget == min(BUDGETS))
    if run:
        simulated(load(name), found)
    trace = found.trace
    best = next(t for t in trace.tried if t.cycles == trace.cycles).resources
    lines = len(found.script().splitlines())
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
        f"{key}.search_ms": round(1000 * took),
    }
    return Row(
        f"{name}, {budget:,} DSP", cycles, "cycles", f"{WITHIN} x by hand", WITHIN * hand, True, note=note,
        figures=figures,
    )  # fmt: skip


def main() -> int:
    """Search, compare, print, write; 1 when a schedule is not within the limit."""
    parser = argparse.ArgumentParser(description="found schedules", add_help=False)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--budget", nargs="+", type=int, choices=BUDGETS, default=[*BUDGETS])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument(
        "--simulate", action="store_true", help="all rows, which takes minutes each"
    )
    parser.add_argument("--report", action="store_true", help="simulate nothing")
    parser.add_argument("--scripts", type=Path, help="folder for the scripts of what is found")
    given, rest = parser.parse_known_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows: list[Row] = []
    for budget in given.budget:
        for name in given.kernel:
            rows.append(row_of(name, budget, given))
            what, value, hand = rows[-1].what, rows[-1].value, by_hand(name, budget)
            print(f"{what}: {value:,} ({hand:,} by hand); {rows[-1].note}", flush=True)
    ratios = [WITHIN * row.ratio for row in rows]
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
