"""Intervals of loops that wait for themselves, and the least ones that the estimate of time would allow.

    scripts/python benchmarks/least_intervals.py [--suite NAME …] [--only NAME …] [--device NAME]
        [--json FILE]

Each design of the suites is built at the clock that its suite asks for, and again at slower ones. A
slower clock gives the scheduler more of each cycle, so its intervals are shorter. The least interval of a
loop is the shortest of a build whose *estimated* clock is still the one asked for first. Arrays of arguments
lie in memories outside, and the time to their ports and words counts. A loop whose own interval is longer
is scheduled too carefully. Other paths of the design count in the estimated clock, so a least interval is
one that was seen to be possible, and a shorter one may be. Nothing is simulated or routed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from allo.backend.devices import family
from allo.errors import AlloError, AlloWarning
from benchmarks.asked_clocks import FAMILIES, Maker, asked, suites
from benchmarks.exact_schedules import polybench
from benchmarks.harness import Row, command_line, finish
from benchmarks.recurrences import loops_of

SLOWER = (0.8, 0.65, 0.5, 0.4)
"""Parts of the asked clock at which a design is built again."""
POLYBENCH = "polybench"
OUTWARDS = ("_addr", "_en", "_we", "_wdata")
"""What ports to a memory end with."""


def intervals(report: Any) -> dict[str, int]:
    """The interval of each pipelined loop, by function and loop."""
    found = {}
    for function in report.functions:
        for loop in loops_of(SimpleNamespace(functions=[function])):
            if loop.ii:
                found[f"{function.name}.{loop.name}"] = loop.ii
    return found


def reached_with_arrays(report: Any, device: str) -> float:
    """The estimated clock of a design with the memories of its arguments."""
    delays = family(device).operators
    longest = 1000.0 / report.fmax_mhz if report.fmax_mhz else 0.0
    for path in report.port_paths:
        before = delays.memory_out_ns if path.start.endswith("_rdata") else 0.0
        after = delays.memory_in_ns if path.end.endswith(OUTWARDS) else 0.0
        longest = max(longest, before + path.delay_ns + after)
    return 1000.0 / longest if longest else 0.0


def least(
    build: Callable[[float], Any], clock: float, reached: Callable[[Any], float]
) -> dict[str, tuple[int, int]]:
    """Of each pipelined loop its interval, and the least one of a build that is estimated to reach the clock.

    Args:
        build: the report of a build that asks for so many megahertz.
        reached: the estimated clock of a report.
    """
    own = intervals(build(clock))
    best = dict(own)
    if all(ii == 1 for ii in own.values()):
        return {name: (ii, ii) for name, ii in own.items()}
    for part in SLOWER:
        report = build(part * clock)
        found = intervals(report)
        shorter = {name for name in own if found.get(name, own[name]) < best[name]}
        if shorter and reached(report) >= clock:
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
        found = least(build, clock, lambda report: reached_with_arrays(report, device))
    except AlloError as error:
        return [Row(f"{name}, {device}", 0, "II", "estimated least", 0, None, error.message)]
    key = f"least.{suite}.{name}.{device}"
    ones = sum(ii == 1 for ii, _ in found.values())
    title, figures = f"{name}, {device}: loops of interval 1", {f"{key}.of_one.loops": ones}
    rows = [Row(title, ones, "loops", "pipelined loops", len(found), None, figures=figures)]
    for loop, (ii, fewest) in found.items():
        if ii == 1:
            continue
        figures = {f"{key}.{loop}.own.ii": ii, f"{key}.{loop}.least.ii": fewest}
        row = Row(
            f"{loop}, {device}", ii, "II", "estimated least", fewest, None, figures=figures
        )  # fmt: skip
        rows.append(row)
    return rows


def main() -> int:
    """Print the table, and write JSON if asked to."""
    parser = command_line(__doc__)
    names = [*suites(), POLYBENCH]
    parser.add_argument("--suite", nargs="+", choices=names, default=names)
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument("--device", choices=FAMILIES, help="one family only")
    options = parser.parse_args()
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
    waiting = [row for row in rows if row.unit == "II"]
    careful = [row for row in waiting if row.value > row.reference]
    print(
        f"{len(waiting) - len(careful)} of {len(waiting)} loops take the least interval that was seen"
    )
    return finish("least_intervals", "Intervals, and the least by the estimate", rows, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
