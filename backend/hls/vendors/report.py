"""Reports of HLS tools; users import these names from ``allo.backend.report``.

The figures are a :class:`allo.dialects.reports.figures.DesignReport`, as every target gives them; a
:class:`Displayer` shows them by loop nest.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import BuildError
from allo.dialects.reports.figures import DesignReport, LoopReport

from .csynth import find_report, parse_csynth

_COLUMNS = ("Trip Count", "Latency", "Iteration Latency", "Pipeline II", "Pipeline Depth")


class Displayer:
    """Loops of a design as rows: trip count, latency, iteration latency, II, pipeline depth.

    Args:
        report: the design's figures.
    """

    def __init__(self, report: DesignReport) -> None:
        self.report = report
        self._rows: list[tuple[int, str, dict[str, int | None]]] = []
        self.init_table(report)

    def init_table(self, obj: DesignReport) -> None:
        """Forget all rows and read those of ``obj``."""
        self.report = obj
        self._rows = []
        self.collect_data(obj)

    def collect_data(self, obj: DesignReport) -> None:
        """Add the loops of every function of ``obj``."""
        for function in obj.functions:
            for loop in function.loops:
                self._rows += _rows(loop, 0)

    def get_max(self, col: str) -> tuple[str, int] | None:
        """The loop with the largest value in a column and that value; None when no loop has one.

        Raises:
            BuildError: no such column.
        """
        known = [(n, r[_column(col)]) for _, n, r in self._rows]
        found = [(name, value) for name, value in known if value is not None]
        return max(found, key=lambda pair: pair[1]) if found else None

    def display(
        self,
        loops: Sequence[str] | str | None = None,
        level: int | None = None,
        cols: Sequence[str] | None = None,
    ) -> str:
        """A text table of the rows asked for.

        Args:
            loops: names to show; None for all.
            level: deepest nesting to show, 0 for outermost loops only; None for all.
            cols: columns to show; None for all.
        """
        names = [loops] if isinstance(loops, str) else loops
        columns = [_column(c) for c in cols or _COLUMNS]
        table = [["Loop", *columns]]
        for depth, name, row in self._rows:
            if (names is None or name in names) and (level is None or depth <= level):
                cells = ["-" if row[c] is None else str(row[c]) for c in columns]
                table.append(["  " * depth + name, *cells])
        return _aligned(table)

    def __str__(self) -> str:
        return self.display()


def _rows(loop: LoopReport, depth: int) -> Iterator[tuple[int, str, dict[str, int | None]]]:
    values = (
        loop.trips,
        loop.cycles,
        loop.depth or None,
        loop.ii if loop.pipelined else None,
        loop.depth if loop.pipelined else None,
    )
    yield depth, loop.name, dict(zip(_COLUMNS, values, strict=True))
    for child in loop.children:
        yield from _rows(child, depth + 1)


def _column(name: str) -> str:
    for column in _COLUMNS:
        if column.lower() == name.lower():
            return column
    raise BuildError(f"A report has no column {name!r}.", help=f"columns: {', '.join(_COLUMNS)}.")


def _aligned(table: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    lines = [
        "  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in table)
    ]
    return "\n".join(line.rstrip() for line in lines)


def parse_xml(
    path: str | os.PathLike[str], prod_name: str, top: str = "top", print_flag: bool = False
) -> Displayer:
    """Read the C synthesis report of a project folder and write ``report.json`` into it.

    Args:
        path: the project's folder.
        prod_name: the tool's name, for example ``"Vivado HLS"``.
        top: the top function.
        print_flag: print the summary.

    Raises:
        ToolFailedError: no report in the folder, or one that cannot be read.
    """
    folder = Path(path)
    report = parse_csynth(find_report(folder, top), prod_name, top)
    (folder / "report.json").write_text(json.dumps(report.to_json(), indent=2) + "\n")
    if print_flag:
        sys.stdout.write(report.table() + "\n")
    return Displayer(report)


def report_stats(target: str, folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The figures of the report in a project folder as plain data."""
    return parse_xml(folder, target).report.to_json()
