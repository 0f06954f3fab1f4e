"""Marked places of pages: a figure between two comments, a table that is made, a value of a TOML file.

    GPT-2 takes <!-- figure: llm.gpt2.cycles -->206,565<!-- /figure --> cycles.

    <!-- table: polybench cycles -->
    | kernel | ... |
    <!-- /table -->

    cycles = 206565 # figure: llm.gpt2.cycles

A word behind the key says how it is written: ``%`` is a share in percent, ``.0f`` and its like are Python's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from .store import ROOT, FigureError, Figures, Number

END, END_OF_TABLE = "<!-- /figure -->", "<!-- /table -->"
_ONE = re.compile(
    r"(<!-- figure: (?P<key>[^ ]+)(?: (?P<form>[^ ]+))? -->)(?P<text>.*?)<!-- /figure -->"
)
_BEGIN = re.compile(r"<!-- (?:figure|table): ")
_TABLE = re.compile(
    r"(<!-- table: (?P<name>[^>]+?) -->\n)(?P<text>.*?)(?=<!-- /table -->)", re.DOTALL
)
_OTHERS = re.compile(r"<!-- (figures|systems): .*?<!-- end of \1 -->", re.DOTALL)
_VALUE = re.compile(
    r"^(?P<before>\w+ = )(?P<text>[^#\n]*?)(?P<after> *# figure: (?P<key>[^ \n]+))$", re.MULTILINE
)

Tables = Mapping[str, Callable[[Figures], str]]


def written(value: Number, form: str = "") -> str:
    """A figure as it stands in a page.

    Raises:
        FigureError: the form is unknown.
    """
    if form == "%":
        return f"{100 * value:.1f}".removesuffix(".0")
    try:
        return format(value, form or ",")
    except ValueError as error:
        raise FigureError(
            f"The form {form!r} of a figure is neither % nor a format of Python."
        ) from error


def pages(root: Path = ROOT) -> list[Path]:
    """The pages and data files that may have marked places."""
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    found += [*sorted((root / "docs").rglob("*.py")), root / "designs/llm/data/systems.toml"]
    return [path for path in found if path.is_file()]


def filled(path: Path, text: str, figures: Figures, tables: Tables) -> str:
    """The text of a page with its figures and tables as recorded.

    Raises:
        FigureError: a mark names a figure or a table that there is not, or has no end.
    """
    where = path.name

    def one(found: re.Match[str]) -> str:
        if found["key"] in tables:
            return f"{found[1]}{tables[found['key']](figures)}{END}"
        value = _found(figures, found["key"], where)
        return f"{found[1]}{written(value, found['form'] or '')}{END}"

    def table(found: re.Match[str]) -> str:
        if found["name"] not in tables:
            known = ", ".join(sorted(tables))
            raise FigureError(f"{where} has the table {found['name']!r}; there are {known}.")
        return f"{found[1]}{tables[found['name']](figures)}\n"

    def value(found: re.Match[str]) -> str:
        return f"{found['before']}{_found(figures, found['key'], where)}{found['after']}"

    if path.suffix == ".toml":
        return _VALUE.sub(value, text)
    if len(_BEGIN.findall(text)) != len(_ONE.findall(text)) + len(_TABLE.findall(text)):
        raise FigureError(
            f"{where} has a mark of a figure without its end, {END} or {END_OF_TABLE}."
        )
    return _ONE.sub(one, _TABLE.sub(table, text))


def _found(figures: Figures, key: str, where: str) -> Number:
    try:
        return figures.find(key)
    except FigureError as error:
        raise FigureError(f"{where}: {error}") from error


def unmarked(text: str) -> str:
    """What stands outside of marked places; each line stays at its place."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found.group().count("\n")

    return _VALUE.sub("", _ONE.sub("", _TABLE.sub(blank, _OTHERS.sub(blank, text))))


def keys_of(text: str) -> set[str]:
    """The figures that a page or a data file names one by one."""
    return {found["key"] for pattern in (_ONE, _VALUE) for found in pattern.finditer(text)}
