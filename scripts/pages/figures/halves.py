"""The tables of the estimates: 40 designs in two halves, clocks that were asked for, least intervals."""

from __future__ import annotations

from benchmarks import asked_clocks
from benchmarks.estimate_halves import FAMILIES, Row, halves, recorded, summary

from .store import Figures

KINDS = {"lut": "LUT", "ff": "FF", "dsp": "multiplier blocks", "bram": "block RAM", "mhz": "clock"}


def _rows(figures: Figures) -> list[Row]:
    return recorded(figures.find, lambda key: key in figures.numbers)


def estimated_halves(figures: Figures) -> str:
    """Median and worst error of each kind of figure, of both halves."""
    rows = _rows(figures)
    lines = ["| | half | designs | median | worst |", "|---|---|---:|---:|---|"]
    for device in FAMILIES:
        for kind, title in KINDS.items():
            for half in halves():
                found = summary(rows, half, device, kind)
                if found is not None:
                    lines.append(
                        f"| {title}, `{device}` | {half} | {found['designs']} | "
                        f"{100 * found['median']:.1f} % | {100 * found['worst']:+.0f} %, `{found['of']}` |"
                    )
    return "\n".join(lines)


def estimated_designs(figures: Figures) -> str:
    """Each design: the estimates beside what the tools say."""
    rows = {(row.design, row.device, row.kind): row for row in _rows(figures)}
    wanted = [(FAMILIES[0], "lut"), (FAMILIES[0], "ff")]
    wanted += [(FAMILIES[1], kind) for kind in ("lut", "ff", "mhz")]
    heads = [f"`{device}` {'MHz' if kind == 'mhz' else kind.upper()}" for device, kind in wanted]
    lines = [f"| design | half | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    for half, makers in halves().items():
        for name in makers:
            cells = [_cell(rows.get((name, *of))) for of in wanted]
            lines.append(f"| `{name}` | {half} | {' | '.join(cells)} |")
    return "\n".join(lines)


def asked_suites(figures: Figures) -> str:
    """Of each suite and family: in how many designs the estimated clock agrees with the asked one."""
    head = "| suite | device | MHz asked | designs | agree | found over asked: median | least |"
    lines = [head, "|---|---|---:|---:|---:|---:|---|"]
    for group in asked_clocks.groups(figures.find, lambda key: key in figures.numbers):
        clock = asked_clocks.asked(group.suite, group.device)
        lines.append(
            f"| {group.suite} | `{group.device}` | {clock:.0f} | {group.designs} | {group.near} | "
            f"{group.median:.2f} | {group.least:.2f}, `{group.of}` |"
        )
    return "\n".join(lines)


def least_intervals(figures: Figures) -> str:
    """Of each suite and family: the loops that take the least interval that was seen, and the others."""
    suites: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for key, value in figures.numbers.items():
        if key.startswith("least."):
            _, suite, design, device, *rest = key.split(".")
            loops = suites.setdefault((suite, device), {})
            loops.setdefault(".".join([design, *rest[:-2]]), {})[rest[-2]] = value
    head = (
        "| suite | device | designs | loops | of interval 1 | longer, as seen | longer than seen |"
    )
    lines = [head, "|---|---|---:|---:|---:|---:|---|"]
    for (suite, device), loops in sorted(suites.items()):
        ones = [int(found["of_one"]) for found in loops.values() if "of_one" in found]
        waiting = {name: found for name, found in loops.items() if "own" in found}
        careful = [
            f"`{name.split('.')[0]}` {found['own']:,.0f} ({found['least']:,.0f})"
            for name, found in sorted(waiting.items())
            if found["own"] > found["least"]
        ]
        lines.append(
            f"| {suite} | `{device}` | {len(ones)} | {sum(ones) + len(waiting)} | {sum(ones)} | "
            f"{len(waiting) - len(careful)} | {', '.join(careful) or 'none'} |"
        )
    return "\n".join(lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return "–"
    off = "" if row.error is None or abs(row.error) < 0.005 else f" ({100 * row.error:+.0f} %)"
    return f"{row.estimate:,.0f} / {row.measured:,.0f}{off}"
