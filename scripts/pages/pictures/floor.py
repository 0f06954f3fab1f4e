"""What each process of the small transformer takes: areas are lookup tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from allo.designs.llm.build import Design, schedule
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights
from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.network import base_name

from .svg import CHARACTER, COLOURS, box, page, words

WIDE, HIGH, TOP = 720.0, 360.0, 26.0
LANES = 8
type Place = tuple[float, float, float, float]
"""Left and upper edge, width and height."""


@cache
def small() -> DesignReport:
    """The report of the small accelerator, estimated once."""
    config = load_weights(DATA / "char_gpt_w8a8.npz").config
    return schedule(config, Design(lanes=LANES, block=8)).estimate()


def transformer() -> str:
    """The small accelerator with eight multipliers, as its estimate says."""
    report = small()
    areas = tables(report, report.top)
    whole = report.resources["lut"]
    head = f"{whole:,} LUT, {report.resources['ff']:,} FF, {report.resources['dsp']} DSP on {report.device}"
    parts = [words(4, 16, f"the small transformer with {LANES} multipliers: {head} (estimate)")]
    totals = {name: sum(inside.values()) for name, inside in areas.items()}
    totals["FIFOs"] = max(whole - sum(totals.values()), 0)
    for number, (name, place) in enumerate(squares(totals, 0, TOP, WIDE, HIGH).items()):
        fill = COLOURS[number % len(COLOURS)]
        parts += _area(f"{name}: {totals[name]:,} LUT", place, fill)
        inside = areas.get(name, {})
        if len(inside) > 1:
            x, y, wide, high = place
            for part, inner in squares(inside, x + 6, y + 24, wide - 12, high - 30).items():
                parts += _area(f"{part}: {inside[part]:,}", inner, fill)
    return page(WIDE, TOP + HIGH + 4, parts, "The transformer's floor")


def _area(text: str, place: Place, fill: str) -> list[str]:
    """A rectangle with its text, which is a tool tip where there is no room."""
    x, y, wide, high = place
    tip = f"<g><title>{text}</title>{box(x + 1, y + 1, wide - 2, high - 2, fill)}</g>"
    name, _, figure = text.partition(": ")
    if high < 18 or len(name) * CHARACTER > wide - 8:
        return [tip]
    if len(text) * CHARACTER < wide - 12:
        return [tip, words(x + 6, y + 16, text)]
    return [tip, words(x + 6, y + 16, name), words(x + 6, y + 30, figure)][: 3 if high > 34 else 2]


def tables(report: DesignReport, top: str) -> dict[str, dict[str, int]]:
    """Lookup tables of each process of the top: its own, and those of each function that it calls."""
    functions = {function.name: function for function in report.functions}
    found: dict[str, dict[str, int]] = {}
    for process in functions[top].instances:
        function = functions[process]
        own = {"its own loops": function.resources["lut"]}
        called = {n: functions[n].resources["lut"] * c for n, c in function.instances.items()}
        found[base_name(process)] = dict(sorted((own | called).items(), key=lambda item: -item[1]))
    return dict(sorted(found.items(), key=lambda item: -sum(item[1].values())))


def squares(
    areas: Mapping[str, int], x: float, y: float, wide: float, high: float
) -> dict[str, Place]:
    """Rectangles of these areas that fill one: halves of about equal area, cut across the longer side."""
    names = list(areas)
    whole = sum(areas.values())
    if not whole:
        return {}
    if len(names) == 1:
        return {names[0]: (x, y, wide, high)}
    at = min(range(1, len(names)), key=lambda n: abs(2 * sum(areas[k] for k in names[:n]) - whole))
    first = {name: areas[name] for name in names[:at]}
    rest = {name: areas[name] for name in names[at:]}
    share = sum(first.values()) / whole
    if wide >= high:
        return squares(first, x, y, wide * share, high) | squares(
            rest, x + wide * share, y, wide * (1 - share), high
        )
    return squares(first, x, y, wide, high * share) | squares(
        rest, x, y + high * share, wide, high * (1 - share)
    )
