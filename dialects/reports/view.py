"""Show a design report: text tables with ``rich``, and one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

from .drawing import draw
from .network import base_name
from .parts import DesignFigures, FunctionReport, LoopReport, PathPart
from .region_view import FIFO_HEADS, FIFO_LEGEND, fifo_rows, sentences, shown
from .regions import RegionReport

WIDTH = 120
_CYCLES = (
    "cycles: of one entry of the loop; total: cycles times entries, in one run of the function."
)


def count_text(value: int | None) -> str:
    """A count with thousands marked; ``?`` for one not known before running."""
    return "?" if value is None else f"{value:,}"


def short_place(place: str) -> str:
    """``file:line`` of a place, without folders and column."""
    parts = place.rsplit("/", 1)[-1].split(":")
    return ":".join(parts[:2])


def summary_rows(report: DesignFigures) -> list[tuple[str, str]]:
    """The figures of the whole design, as (label, value)."""
    rows = [
        ("clock", f"{report.clock_mhz:g} MHz"),
        ("predicted cycles", count_text(report.cycles)),
    ]
    if report.measured_cycles is not None:
        rows.append(("measured cycles", count_text(report.measured_cycles)))
    cycles = report.measured_cycles or report.cycles
    if cycles and report.clock_mhz > 0:
        rows.append(("time", _time_text(cycles / (report.clock_mhz * 1e6))))
    if report.float_units:
        rows.append(("float units", count_text(report.float_units)))
    if report.utilisation is not None:
        rows.append(("unit utilisation", f"{report.utilisation:.1%}"))
    rows += [(name.upper(), count_text(value)) for name, value in report.resources.items()]
    return rows


def clock_text(report: DesignFigures) -> str:
    """The clock that a design can be expected to reach, and what its longest path passes."""
    text = f"about {report.fmax_mhz:.0f} MHz; the longest path in ns: {_path_text(report.critical_path)}."
    reached = report.registered_mhz
    if reached is None or report.fmax_mhz is None or reached >= report.fmax_mhz:
        return text
    ways = [
        f"from {path.start or 'a register'} to {path.end or 'a register'} {_path_text(path.parts)}"
        for path in report.port_paths
    ]
    return (
        f"{text} With a register outside of each port about {reached:.0f} MHz; the longest paths of ports "
        f"in ns: {'; '.join(ways)}."
    )


def _path_text(parts: Sequence[PathPart]) -> str:
    found = []
    for part in parts:
        place = f" ({short_place(part.place)})" if part.place else ""
        found.append(f"{part.what} {part.delay_ns:.1f}{place}")
    return ", ".join(found)


def _time_text(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop of a function as the tables show it.

    Attributes:
        level: how many loops are around it.
        entries: how often it is begun in one run of the function; None where that depends on data.
    """

    loop: LoopReport
    level: int
    entries: int | None

    @property
    def total(self) -> int | None:
        """Cycles spent in it in one run of the function."""
        if self.entries is None or self.loop.cycles is None:
            return None
        return self.entries * self.loop.cycles


def loop_rows(
    loops: list[LoopReport], level: int = 0, entries: int | None = 1
) -> Iterator[LoopRow]:
    """Every loop, outermost first."""
    for loop in loops:
        yield LoopRow(loop, level, entries)
        known = entries is not None and loop.trips is not None
        inside = entries * loop.trips if known else None  # type: ignore[operator]
        yield from loop_rows(loop.children, level + 1, inside)


def alike(functions: list[FunctionReport]) -> dict[str, list[FunctionReport]]:
    """The functions to show, by name: those of one kernel with the same figures are one."""
    found: dict[str, list[FunctionReport]] = {}
    for function in functions:
        figures = replace(function, name=base_name(function.name), loops=_unnamed(function.loops))
        found.setdefault(repr(figures), []).append(function)
    return {_names(group): group for group in found.values()}


def _unnamed(loops: list[LoopReport]) -> list[LoopReport]:
    """Loops without the names of their parts of the hardware's text."""
    return [replace(loop, section="", children=_unnamed(loop.children)) for loop in loops]


def _names(group: list[FunctionReport]) -> str:
    more = f" and {len(group) - 1} like it" if len(group) > 1 else ""
    return f"{group[0].name}{more}"


# --- text ---------------------------------------------------------------------------


def render_table(report: DesignFigures) -> str:
    """The report as plain text tables, at most 120 columns wide."""
    buffer = StringIO()
    console = Console(
        file=buffer, width=WIDTH, color_system=None, markup=False, emoji=False, highlight=False
    )
    summary = Table(box=box.SIMPLE, title=f"{report.top} · {report.tool}", title_justify="left")
    for label, _ in (rows := summary_rows(report)):
        summary.add_column(label, justify="right")
    summary.add_row(*(value for _, value in rows))
    console.print(summary)
    for name, group in alike(report.functions).items():
        _print_function(console, name, group[0])
    for region in shown(report.regions):
        _print_region(console, region)
    if report.fmax_mhz is not None:
        console.print(f"clock: {clock_text(report)}")
    for note in report.notes:
        console.print(f"note: {note}")
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n") + "\n"


def _table(subject: str, figures: tuple[str, ...], last: str) -> Table:
    table = Table(box=box.SIMPLE)
    table.add_column(subject)
    table.add_column("line")
    for label in figures:
        table.add_column(label, justify="right")
    table.add_column(last, overflow="fold")
    return table


def _print_function(console: Console, name: str, function: FunctionReport) -> None:
    place = f" ({short_place(function.place)})" if function.place else ""
    head = f"{name}{place}: {count_text(function.cycles)} cycles"
    console.print(head)
    if function.loops:
        table = _table("loop", ("trips", "II", "depth", "cycles", "entries", "total"), "limited by")
        for row in loop_rows(function.loops):
            loop = row.loop
            table.add_row(
                "  " * row.level + loop.name,
                short_place(loop.place),
                count_text(loop.trips),
                str(loop.ii) if loop.pipelined else "–",
                count_text(loop.depth),
                count_text(loop.cycles),
                count_text(row.entries),
                count_text(row.total),
                loop.limit,
            )
        console.print(table)
        console.print(f"  {_CYCLES}")
    if function.memories:
        table = _table("memory", ("banks", "words", "bits", "ports"), "storage")
        for memory in function.memories:
            counts = (memory.banks, memory.words, memory.width, memory.ports)
            place = short_place(memory.place)
            table.add_row(memory.name, place, *map(count_text, counts), memory.storage)
        console.print(table)
    for label, used in (("operators", function.operators), ("instances", function.instances)):
        if used:
            text = ", ".join(f"{name} × {count}" for name, count in sorted(used.items()))
            console.print(f"  {label}: {text}")


def _print_region(console: Console, region: RegionReport) -> None:
    for sentence in sentences(region):
        console.print(sentence)
    rows = fifo_rows(region)
    if rows:
        table = Table(box=box.SIMPLE)
        for position, head in enumerate(FIFO_HEADS):
            table.add_column(head, justify="right" if position else "left")
        for row in rows:
            table.add_row(*row.cells())
        console.print(table)
        console.print(f"  {FIFO_LEGEND}")


# --- HTML ---------------------------------------------------------------------------

# Each rule is for what stands inside `allo-report`, so that a report can stand in a notebook, too.
_STYLE = """
.allo-report { --ink: #1d2433; --soft: #667085; --line: #e3e7ee; --page: #f6f7fa; --card: #fff;
        --mark: #2f6feb; --wash: #e8f0fe; --warn: #b54708; color: var(--ink);
        font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
@media (prefers-color-scheme: dark) {
  .allo-report { --ink: #e6e9ef; --soft: #98a2b3; --line: #2c3444; --page: #12161f;
          --card: #1a202c; --mark: #6ea1ff; --wash: #1f2c47; --warn: #f5b26b } }
.allo-report * { box-sizing: border-box }
body.allo-report { margin: 0; background: var(--page) }
.allo-report main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px }
.allo-report h1 { font-size: 26px; margin: 0 } .allo-report h2 { font-size: 18px; margin: 0 0 4px }
.allo-report h3 { font-size: 13px; margin: 20px 0 6px; color: var(--soft); letter-spacing: .06em;
     text-transform: uppercase }
.allo-report .soft { color: var(--soft) } .allo-report .warn { color: var(--warn) }
.allo-report .figures { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0 28px }
.allo-report .figure { background: var(--card); border: 1px solid var(--line); min-width: 120px;
          border-radius: 10px; padding: 10px 16px }
.allo-report .figure b { display: block; font-size: 20px; font-variant-numeric: tabular-nums }
.allo-report .figure span { color: var(--soft); font-size: 12px }
.allo-report section { background: var(--card); border: 1px solid var(--line); overflow-x: auto;
          border-radius: 12px; padding: 20px 24px; margin-bottom: 20px }
.allo-report table { border-collapse: collapse; width: 100%; font-size: 14px }
.allo-report th { text-align: left; color: var(--soft); font-weight: 500 }
.allo-report th, .allo-report td { padding: 6px 10px 6px 0; vertical-align: top;
          border-bottom: 1px solid var(--line) }
.allo-report tbody tr:last-child td { border-bottom: 0 }
.allo-report .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.allo-report code { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, monospace }
.allo-report .bar { height: 6px; border-radius: 3px; background: var(--mark); min-width: 1px }
.allo-report .share { width: 120px; padding-top: 8px }
.allo-report .chip { display: inline-block; background: var(--wash); border-radius: 999px;
        padding: 2px 12px; margin: 0 6px 6px 0; font-size: 13px }
"""


def render_html(report: DesignFigures) -> str:
    """The report as one HTML page that loads nothing else."""
    page = _Page()
    page.line("<!doctype html>")
    page.line('<html lang="en"><head><meta charset="utf-8">')
    page.line('<meta name="viewport" content="width=device-width, initial-scale=1">')
    page.line(f"<title>{escape(report.top)} · {escape(report.tool)}</title>")
    page.line(f'<style>{_STYLE}</style></head><body class="allo-report"><main>')
    _content(page, report)
    page.line("</main></body></html>")
    return page.text()


def render_fragment(report: DesignFigures) -> str:
    """The report as HTML for a notebook: what the page holds, without being a page."""
    page = _Page()
    page.line(f'<div class="allo-report"><style>{_STYLE}</style>')
    _content(page, report)
    page.line("</div>")
    return page.text()


def _content(page: _Page, report: DesignFigures) -> None:
    """What a report says: its design, its figures, its functions and notes."""
    page.line(f"<h1>{escape(report.top)}</h1>")
    page.line(f'<div class="soft">{escape(report.tool)}, target {escape(report.target)}</div>')
    page.line('<div class="figures">')
    for label, value in summary_rows(report):
        page.line(f'<div class="figure"><b>{escape(value)}</b><span>{escape(label)}</span></div>')
    page.line("</div>")
    for name, group in alike(report.functions).items():
        _function_section(page, name, group, report.cycles)
    for region in shown(report.regions):
        _region_section(page, region)
    if report.fmax_mhz is not None:
        page.line(f"<section><h2>Clock</h2><p>{escape(clock_text(report))}</p></section>")
    if report.notes:
        page.line("<section><h2>Notes</h2><ul>")
        for note in report.notes:
            page.line(f"<li>{escape(note)}</li>")
        page.line("</ul></section>")


class _Page:
    """Lines of HTML."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def line(self, text: str) -> None:
        """Append a line of HTML."""
        self._lines.append(text)

    def table(self, heads: list[tuple[str, bool]], rows: list[list[str]]) -> None:
        """A table; ``heads`` are (label, is a number), cells are HTML."""
        labels = "".join(
            f"<th{' class=n' if number else ''}>{escape(label)}</th>" for label, number in heads
        )
        self.line(f"<table><thead><tr>{labels}</tr></thead><tbody>")
        for row in rows:
            cells = "".join(
                f"<td{' class=n' if number else ''}>{cell}</td>"
                for cell, (_, number) in zip(row, heads, strict=True)
            )
            self.line(f"<tr>{cells}</tr>")
        self.line("</tbody></table>")

    def text(self) -> str:
        """The page as one text."""
        return "\n".join(self._lines) + "\n"


def _function_section(
    page: _Page, name: str, group: list[FunctionReport], total: int | None
) -> None:
    function = group[0]
    page.line(f"<section><h2><code>{escape(name)}</code></h2>")
    if len(group) > 1:
        names = ", ".join(escape(member.name) for member in group)
        page.line(f"<details><summary>{len(group)} functions</summary>{names}</details>")
    page.line(
        f'<div class="soft">{escape(short_place(function.place))} · '
        f"{count_text(function.cycles)} cycles</div>"
    )
    if function.loops:
        page.line("<h3>Loops</h3>")
        heads = [("loop", False), ("line", False), ("trips", True), ("II", True)]
        heads += [("depth", True), ("cycles", True), ("entries", True), ("total", True)]
        heads += [("share", False), ("limited by", False)]
        whole = function.cycles or total
        page.table(heads, [_loop_row(row, whole) for row in loop_rows(function.loops)])
        page.line(f'<div class="soft">{_CYCLES}</div>')
    if function.memories:
        page.line("<h3>Memories</h3>")
        heads = [("memory", False), ("line", False), ("banks", True), ("words", True)]
        heads += [("bits", True), ("ports", True), ("storage", False)]
        rows = [
            [
                f"<code>{escape(memory.name)}</code>",
                escape(short_place(memory.place)),
                count_text(memory.banks),
                count_text(memory.words),
                count_text(memory.width),
                count_text(memory.ports),
                escape(memory.storage),
            ]
            for memory in function.memories
        ]
        page.table(heads, rows)
    if function.network is not None:
        page.line(f"<h3>Network</h3><div>{draw(function.network)}</div>")
    _chips(page, "Operators", function.operators)
    _chips(page, "Instances", function.instances)
    page.line("</section>")


def _region_section(page: _Page, region: RegionReport) -> None:
    head, *more = sentences(region)
    page.line(f"<section><h2>{escape(head)}</h2>")
    for sentence in more:
        page.line(f'<div class="soft">{escape(sentence)}</div>')
    rows = fifo_rows(region)
    if rows:
        heads = [(head, position > 0) for position, head in enumerate(FIFO_HEADS)]
        page.table(heads, [[escape(cell) for cell in row.cells()] for row in rows])
        page.line(f'<div class="soft">{escape(FIFO_LEGEND)}</div>')
    page.line("</section>")


def _loop_row(row: LoopRow, whole: int | None) -> list[str]:
    loop, total = row.loop, row.total
    share = min(1.0, total / whole) if total and whole else 0.0
    bar = f'<div class="share"><div class="bar" style="width:{share:.0%}"></div></div>'
    indent = f'style="padding-left:{20 * row.level}px"'
    return [
        f"<span {indent}><code>{escape(loop.name)}</code></span>",
        escape(short_place(loop.place)),
        count_text(loop.trips),
        str(loop.ii) if loop.pipelined else "–",
        count_text(loop.depth),
        count_text(loop.cycles),
        count_text(row.entries),
        count_text(total),
        bar if total else "",
        f'<span class="warn">{escape(loop.limit)}</span>' if loop.limit else "",
    ]


def _chips(page: _Page, title: str, counts: dict[str, int]) -> None:
    if not counts:
        return
    page.line(f"<h3>{escape(title)}</h3>")
    for name, count in sorted(counts.items()):
        page.line(f'<span class="chip">{escape(name)} × {count_text(count)}</span>')
