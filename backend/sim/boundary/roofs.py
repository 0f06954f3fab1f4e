"""The roofline of a built design: operations of its loops beside the bytes that pass there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from allo.backend.rtl.design import HardwareDesign
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.reports.parts import DesignFigures
from allo.dialects.reports.roofline import Point, Roofline

from .foretold import Foretold, Passing, board_of, busiest, foretell, rate_of
from .traffic import Outside

FLOATS, INTEGERS = "float operations", "integer products"


def roofline_of(
    design: HardwareDesign, outside: Outside, place: SourcePlace | None = None
) -> Roofline:
    """The roofline of a run, foretold.

    Raises:
        PredictionError: nothing is foretold of it.
    """
    told, board = foretell(design, outside, place), board_of(design)
    report = design.report
    runs = _runs(report, told)
    points = list(_points(report, runs, told, outside))
    points.append(_whole(points, told, outside, report.float_ops or None))
    masters = {master.bundle: master for master in board.masters}
    channels: dict[str, float] = {}
    for array in board.arrays:
        route = outside.memory.get(array.name, ())
        for number, bundle in enumerate(array.bundles):
            one = (route[number % len(route)],) if route else ()
            channels[one[0].name if one else bundle] = rate_of(masters[bundle], one, 1)
    floats = report.float_units > 0
    units = report.float_units if floats else _busiest_loops(report)
    mhz = report.fmax_mhz or report.clock_mhz
    return Roofline(report.top, FLOATS if floats else INTEGERS, mhz, units, channels, tuple(points))


def _points(
    report: DesignFigures, runs: dict[str, int], told: Foretold, outside: Outside
) -> Iterator[Point]:
    """Loops that compute or pass words, in the order of the report, and copies."""
    passing: dict[str, list[Passing]] = defaultdict(list)
    for each in told.passing:
        passing[each.loop].append(each)
    seen = set()
    for function in report.functions:
        for loop, entries in function.innermost():
            mine = passing.get(loop.name, []) if loop.name not in seen else []
            if not (loop.operations or mine):
                continue
            seen.add(loop.name)
            times = runs.get(function.name, 1)
            alone = (loop.cycles or 0) * entries * times
            yield _point(
                loop.name, (loop.operations or 0) * times, alone, busiest(mine, outside), mine
            )
    rest = [p for name, some in passing.items() if name not in seen for p in some]
    if rest:
        yield _point("copies", 0, 0, busiest(rest, outside), rest)


def _point(
    name: str, operations: int, alone: float, memory: float, passing: Sequence[Passing]
) -> Point:
    moved, needed = sum(p.moved for p in passing), sum(p.needed for p in passing)
    return Point(name, operations, moved, needed, max(alone, memory), memory)


def _whole(points: list[Point], told: Foretold, outside: Outside, total: int | None) -> Point:
    operations = sum(p.operations for p in points) if total is None else total
    return _point("run", operations, told.cycles, busiest(told.passing, outside), told.passing)


def _runs(report: DesignFigures, told: Foretold) -> dict[str, int]:
    """How often each function runs: as often as its words ask for, or as it is called; else once."""
    found: dict[str, int] = defaultdict(int)
    inner = {callee for function in report.functions for callee in function.calls}
    for function in reversed(report.functions):
        if function.name not in inner:
            found[function.name] = 1
        for callee, calls in function.calls.items():
            found[callee] += found[function.name] * (1 if calls is None else calls)
    alone = {each.loop: each.core for each in told.passing}
    for function in report.functions:
        for loop, entries in function.innermost():
            once = (loop.cycles or 0) * entries
            if once and loop.name in alone:
                found[function.name] = max(found[function.name], alone[loop.name] // once)
    return found


def _busiest_loops(report: DesignFigures) -> int:
    """Products that the busiest loop of each function begins in a cycle."""
    total = 0
    for function in report.functions:
        each = [
            -(-(loop.operations or 0) // max(1, entries * (loop.trips or 1) * loop.ii))
            for loop, entries in function.innermost()
        ]
        total += max(each, default=0)
    return total


__all__ = ["roofline_of"]
