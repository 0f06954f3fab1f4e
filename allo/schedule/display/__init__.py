"""What a notebook shows of a schedule: the network of a dataflow region, and the loop nests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from itertools import groupby

from allo.dialects._mlir import ir
from allo.dialects.core.signature import functions_of
from allo.dialects.reports.drawing import draw
from allo.dialects.reports.network import base_name, base_names

from .nests import Line, lines_of
from .network import network_of

_MOST_FUNCTIONS = 12
_FRAME = (
    "font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; overflow-x: auto; padding: 4px 0"
)
_MARK = "border: 1px solid; border-radius: 8px; padding: 0 6px; margin-left: 8px; opacity: 0.75"


def schedule_html(module: ir.Module, top: str) -> str:
    """The module of a schedule as HTML that loads nothing: network first, then functions."""
    functions = functions_of(module)
    network = network_of(functions, top)
    order = [top, *(name for name in functions if name != top)]
    parts = [draw(network)] if network else []
    groups: dict[tuple[str, tuple[str, ...], tuple[Line, ...]], list[str]] = {}
    for name in order:
        head, *lines = lines_of(functions[name])
        alike = tuple(replace(line, text=base_names(line.text)) for line in lines)
        groups.setdefault((base_name(name), head.marks, alike), []).append(name)
    shown = list(groups.values())
    parts += [_function(functions[names[0]], names) for names in shown[:_MOST_FUNCTIONS]]
    if len(shown) > _MOST_FUNCTIONS:
        more = sum(len(names) for names in shown[_MOST_FUNCTIONS:])
        parts.append(f"<div>… and {more} more functions</div>")
    return f'<div style="{_FRAME}">{"".join(parts)}</div>'


def _function(function: ir.Operation, names: list[str]) -> str:
    """The lines of a function, which others may equal but for names; a run of calls of one kernel is one."""
    alike = f" and {len(names) - 1} like it" if len(names) > 1 else ""
    head, *lines = lines_of(function)
    rows = []
    for line in (replace(head, text=head.text + alike), *_joined(lines)):
        marks = "".join(f'<span style="{_MARK}">{escape(mark)}</span>' for mark in line.marks)
        weight = "600" if line.level == 0 else "400"
        rows.append(
            f'<div style="padding-left: {2 * line.level}em; font-weight: {weight}; '
            f'white-space: nowrap">{escape(line.text)}{marks}</div>'
        )
    return f'<div style="margin-bottom: 8px">{"".join(rows)}</div>'


def _joined(lines: list[Line]) -> Iterator[Line]:
    """The lines, calls of cells of one kernel behind each other as one."""
    for (call, _, _), run in groupby(lines, lambda line: (_called(line), line.level, line.marks)):
        first, *more = run
        if call and more:
            yield replace(first, text=f"{call}(…) × {1 + len(more)}")
        else:
            yield from (first, *more)


def _called(line: Line) -> str:
    """The kernel that a line calls, "" for any other line."""
    return base_name(line.text.removesuffix("(…)")) if line.text.endswith("(…)") else ""
