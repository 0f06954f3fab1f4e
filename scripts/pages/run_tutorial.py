"""Runs a tutorial and keeps what each cell shows: ``run_tutorial.py TUTORIAL.py [OUT.json]``.

A cell shows what it prints, the value of its last expression (as HTML where the value has
``_repr_html_``) and the figures of matplotlib it leaves open. Errors name the tutorial's own lines.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.pages.percent import Cell, Output, RunCell, cells_of


def run(path: Path) -> Iterator[RunCell]:
    """Run the cells of a tutorial in one namespace, one by one. What a cell raises ends the run."""
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    for cell in cells_of(path.read_text(), str(path)):
        yield _run_cell(cell, names, path)


def _run_cell(cell: Cell, names: dict[str, Any], path: Path) -> RunCell:
    if cell.prose:
        return RunCell(cell)
    printed = io.StringIO()
    tree = ast.parse("\n" * (cell.line - 1) + cell.text, str(path))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(path), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
    said = printed.getvalue().replace(str(path), path.name)
    outputs = [Output("text/plain", said)] if said else []
    return RunCell(cell, outputs + _shown(value) + _figures())


def _shown(value: Any) -> list[Output]:
    if value is None:
        return []
    markup = getattr(value, "_repr_html_", None)
    if markup is not None:
        return [Output("text/html", markup())]
    return [Output("text/plain", f"{value!r}\n")]


def _figures() -> list[Output]:
    """The open figures of matplotlib, if the tutorial uses it, as SVG; they are closed."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    found = []
    for number in plots.get_fignums():
        text = io.StringIO()
        plots.figure(number).savefig(text, format="svg", bbox_inches="tight")
        found.append(Output("image/svg+xml", text.getvalue()))
    plots.close("all")
    return found


def save(cells: list[RunCell], file: Path) -> None:
    """Write what a run showed, for ``load``."""
    file.write_text(json.dumps([dataclasses.asdict(run) for run in cells]))


def load(file: Path) -> list[RunCell]:
    """What ``save`` wrote."""
    return [
        RunCell(Cell(**item["cell"]), [Output(**output) for output in item["outputs"]])
        for item in json.loads(file.read_text())
    ]


def main(tutorial: str, out: str | None = None) -> int:
    os.environ.setdefault("MPLBACKEND", "Agg")
    cells = run(Path(tutorial).resolve())
    if out is not None:
        save(list(cells), Path(out))
        return 0
    for output in (output for cell in cells for output in cell.outputs):
        print(output.text if output.mime == "text/plain" else f"[{output.mime}]", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
