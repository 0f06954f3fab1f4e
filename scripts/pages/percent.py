"""Tutorials as Python files in the percent format: their cells, and what a notebook makes of them.

A line ``# %%`` begins a code cell, a line ``# %% [markdown]`` a cell of prose whose lines are
comments. What stands before the first marker (a copyright, say) belongs to no cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_CODE = "# %%"
_PROSE = "# %% [markdown]"


class PercentError(ValueError):
    """A tutorial that is not in the percent format, with the file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell: prose as Markdown or code as Python, and the line its text begins on."""

    prose: bool
    text: str
    line: int


@dataclass(frozen=True)
class Output:
    """One thing a cell showed, as MIME type and text; ``text/plain`` is what it printed."""

    mime: str
    text: str


@dataclass(frozen=True)
class RunCell:
    """A cell and what it showed, in order."""

    cell: Cell
    outputs: list[Output] = field(default_factory=list)


def cells_of(text: str, name: str = "tutorial") -> list[Cell]:
    """The cells of a percent-format file. Raises ``PercentError`` for prose that is no comment."""
    found: list[Cell] = []
    lines: list[str] = []
    prose, begun, start = False, False, 0

    def close() -> None:
        body = [_uncomment(line, name, start + at) for at, line in enumerate(lines)]
        kept = "\n".join(body if prose else lines)
        if begun and kept.strip():
            blank = len(kept) - len(kept.lstrip("\n"))
            found.append(Cell(prose, kept.strip("\n"), start + blank))

    def _uncomment(line: str, where: str, number: int) -> str:
        if not prose or not line.strip():
            return line
        if not line.startswith("#"):
            raise PercentError(f"{where}:{number}: a line of prose does not begin with '#'.")
        return line[1:].removeprefix(" ")

    for number, line in enumerate(text.splitlines(), start=1):
        if line.rstrip() not in (_CODE, _PROSE):
            lines.append(line)
            continue
        close()
        lines, begun, prose, start = [], True, line.rstrip() == _PROSE, number + 1
    close()
    return found


def title_of(cells: list[Cell]) -> str:
    """The heading a tutorial begins with."""
    first = cells[0].text.splitlines()[0] if cells and cells[0].prose else ""
    if not first.startswith("# "):
        raise PercentError("A tutorial begins with a cell of prose whose first line is '# Title'.")
    return first[2:]


def notebook(cells: list[RunCell]) -> dict[str, Any]:
    """A Jupyter notebook (nbformat 4.5) of the cells, with what they showed."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "cells": [_notebook_cell(run, f"cell-{number}") for number, run in enumerate(cells)],
    }


def _notebook_cell(run: RunCell, identity: str) -> dict[str, Any]:
    source = run.cell.text.splitlines(keepends=True)
    if run.cell.prose:
        return {"cell_type": "markdown", "id": identity, "metadata": {}, "source": source}
    return {
        "cell_type": "code",
        "id": identity,
        "metadata": {},
        "execution_count": None,
        "source": source,
        "outputs": [_notebook_output(output) for output in run.outputs],
    }


def _notebook_output(output: Output) -> dict[str, Any]:
    text = output.text.splitlines(keepends=True)
    if output.mime == "text/plain":
        return {"output_type": "stream", "name": "stdout", "text": text}
    return {"output_type": "display_data", "metadata": {}, "data": {output.mime: text}}


def page(cells: list[RunCell], source: str) -> str:
    """The tutorial as a page of Markdown; ``source`` is the name of the file without its ending."""
    parts = [_page_cell(run) for run in cells]
    links = (
        f"*This page is a program that our tests run. "
        f"Download it as a [notebook]({source}.ipynb) or as [Python]({source}.py.txt).*"
    )
    return "\n\n".join([parts[0], links, *parts[1:]]) + "\n"


def _page_cell(run: RunCell) -> str:
    if run.cell.prose:
        return run.cell.text
    shown = [f"```python\n{run.cell.text}\n```"]
    for output in run.outputs:
        if output.mime == "text/plain":
            shown.append(f"```{{.text .output}}\n{output.text.rstrip()}\n```")
        else:
            shown.append(f'<div class="output">{_one_block(output.text)}</div>')
    return "\n\n".join(shown)


def _one_block(markup: str) -> str:
    """Markup that Markdown takes as one block: without empty lines."""
    inner = markup[markup.find("<svg") :] if "<svg" in markup and "<?xml" in markup else markup
    return "\n".join(line for line in inner.splitlines() if line.strip())
