"""Intervals of loops that wait for themselves, and the least ones that the estimate of time would allow.

    scripts/python benchmarks/least_intervals.py [--suite NAME …] [--only NAME …] [--device NAME]
        [--json FILE]

Each design of the suites is built at the clock that its suite asks for, and again at slower ones. A
slower clock gives the scheduler more of each cycle, so its intervals are shorter. The least interval of a
loop is the shortest of a build whose *estimated* clock is still the one asked for first, less what the
invariant allows: scheduler and estimate agree within 15 %. A loop whose own interval is longer is
scheduled too carefully. Other paths of the design count in the estimated clock, so a least interval is
one that was seen to be possible, and a shorter one may be. Nothing is simulated or routed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from allo.backend.devices import family
from allo.errors import AlloError, AlloWarning
from benchmarks.asked_clocks import FAMILIES, Maker, agrees, asked, suites
from benchmarks.exact_schedules import polybench
from benchmarks.harness import Row, finish
from benchmarks.recurrences import loops_of

SLOWER = (0.8, 0.65, 0.5, 0.4)
"""Parts of the asked clock at which a design is built again."""
POLYBENCH = "polybench"


def intervals(report: Any) -> dict[str, int]:
    """The interval of each pipelined loop, by function and loop."""
    found = {}
    for function in report.functions:
        for loop in loops_of(SimpleNamespace(functions=[function])):
            if loop.ii:
                found[f"{function.name}.{loop.name}"] = loop.ii
    return found


def least(build: Callable[[float], Any], clock: float) -> dict[str, tuple[int, int]]:
    """Of each pipelined loop its interval, and the least one of a build that is estimated to reach the clock.

    Args:
        build: the report of a build that asks for so many megahertz.
    """
    own = intervals(build(clock))
    best = dict(own)
    if all(ii == 1 for ii in own.values()):
        return {name: (ii, ii) for name, ii in own.items()}
    for part in SLOWER:
        report = build(part * clock)
        found = intervals(report)
        shorter = {name for name in own if found.get(name, own[name]) < best[name]}
        if shorter and agrees(report.fmax_mhz, clock):
            best |= {name: found[name] for name in shorter}
    return {name: (ii, best[name]) for name, ii in own.items()}


def all_suites() -> dict[str, dict[str, Maker]]:
    """The makers of the schedules by suite and name, PolyBench among them."""
    made = {name: lambda schedule=schedule: schedule for name, schedule in polybench()}
    return {**suites(), POLYBENCH: made}


def asked_of(suite: str, device: str) -> float:
    """The clock that a suite is built for."""
    return family(device).usual_mhz if suite == POLYBENCH else asked(suite, device)


def rows_of(suite: str, name: str, make: Maker, device: str) -> list[Row]:
    """The loops of one design that start an iteration later than each cycle."""
    clock = asked_of(suite, device)

    def build(mhz: float) -> Any:
        return make().build(target="verilog", device=device, clock_mhz=mhz).report

    try:
        found = least(build, clock)
    except AlloError as error:
        return [Row(f"{name}, {device}", 0, "II", "estimated least", 0, None, error.message)]
    rows = []
    for loop, (ii, fewest) in found.items():
        if ii == 1:
            continue
        key = f"least.{suite}.{name}.{device}.{loop}"
        figures = {f"{key}.ii": ii, f"{key}.least": fewest}
        row = Row(
            f"{loop}, {device}", ii, "II", "estimated least", fewest, None, figures=figures
        )  # fmt: skip
        rows.append(row)
    return rows


def main() -> int:
    """Print the table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    names = [*suites(), POLYBENCH]
    parser.add_argument("--suite", nargs="+", choices=names, default=names)
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument("--device", choices=FAMILIES, help="one family only")
    options, rest = parser.parse_known_args()
    warnings.simplefilter("ignore", AlloWarning)
    known = all_suites() if POLYBENCH in options.suite else suites()
    rows = [
        row
        for suite in options.suite
        for name, make in known[suite].items()
        if not options.only or name in options.only
        for device in ([options.device] if options.device else FAMILIES)
        for row in rows_of(suite, name, make, device)
    ]
    careful = [row for row in rows if row.value > row.reference]
    print(f"{len(rows) - len(careful)} of {len(rows)} loops take the least interval that was seen")
    return finish("least_intervals", "Intervals, and the least by the estimate", rows, rest)


if __name__ == "__main__":
    raise SystemExit(main())
