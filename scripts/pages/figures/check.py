"""What is wrong with the recorded figures and the places they stand in: offline, in seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.pages import gallery
from scripts.pages.blocks import without_outputs

from .marks import Tables, filled, pages, unmarked
from .store import AUTHOR, ROOT, FigureError, Figures, files_of_tests, last_word

LEAST = 1000
"""Cycles below this, and round ones, are too common to be sought outside of marked places."""
ALLOWED = "figure elsewhere"
"""A line with this comment may have a number that is also a recorded figure."""
_HELD = re.compile(r"""\b(?:hold|recorded)\(\s*"(?P<key>[^"{}]+)\"""")


def faults(figures: Figures, tables: Tables, root: Path = ROOT) -> list[str]:
    """Every fault in a sentence: files, pages, literals outside of marks, keys that are not recorded."""
    return [
        *figures.faults(),
        *_pages(figures, tables, root),
        *_literals(figures, root),
        *_held(figures, root),
    ]


def _pages(figures: Figures, tables: Tables, root: Path) -> Iterator[str]:
    for path in pages(root):
        text = path.read_text()
        try:
            expected = filled(path, text, figures, tables)
        except FigureError as error:
            yield str(error)
            continue
        if expected != text:
            place = _place(path, text, expected, root)
            yield f"{place} is not as recorded: scripts/figures --pages writes it."
    if "gallery" not in figures.families:
        return
    for path, expected in gallery.pages(figures.families["gallery"]).items():
        if path.is_relative_to(root) and path.read_text() != expected:
            place = _place(path, path.read_text(), expected, root)
            yield f"{place} is not as recorded: scripts/gallery --pages writes it."


def _place(path: Path, text: str, expected: str, root: Path) -> str:
    """The file, and the first line in which two texts differ."""
    pairs = zip(text.splitlines(), expected.splitlines(), strict=False)
    line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), 1)
    return f"{path.relative_to(root)}:{line}"


def _literals(figures: Figures, root: Path) -> Iterator[str]:
    """Numbers of pages and tests that are recorded cycles, where no mark is around them."""
    known: dict[int, str] = {}
    for key, value in figures.numbers.items():
        counted = isinstance(value, int) and last_word(key) == "cycles"
        if counted and value >= LEAST and value % 100 and value & (value - 1):
            known.setdefault(int(value), key)
    if not known:
        return
    in_pages = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?!,?\d)")
    in_tests = re.compile(r"(?<![\w.])\d{1,3}(?:_\d{3})+(?!\w)|(?<![\w.])\d{4,}(?![\w.])")
    made = root / "docs" / "gallery"
    for path in pages(root):
        if path.suffix == ".md" and path.parent != made:
            text = unmarked(without_outputs(path.read_text()))
            yield from _seen(path, text, in_pages, known, root)
    for path in files_of_tests(root):
        yield from _seen(path, path.read_text(), in_tests, known, root)


def _seen(
    path: Path, text: str, number: re.Pattern[str], known: dict[int, str], root: Path
) -> Iterator[str]:
    for position, line in enumerate(text.splitlines(), 1):
        if ALLOWED in line:
            continue
        for found in number.findall(line):
            key = known.get(int(re.sub("[,_]", "", found)))
            if key is not None:
                yield (
                    f"{path.relative_to(root)}:{position}: {found} is the figure {key}, which stands in "
                    f"its file alone: mark it, or hold it; where it is another number, write "
                    f"'{ALLOWED}' in a comment of the line."
                )


def _held(figures: Figures, root: Path) -> Iterator[str]:
    """Keys that tests hold by a whole name and that are not recorded."""
    for path in files_of_tests(root):
        text = path.read_text()
        if "figures" not in text:
            continue
        for found in _HELD.finditer(text):
            if found["key"] not in figures.numbers and "." in found["key"]:
                line = text.count("\n", 0, found.start()) + 1
                yield (
                    f"{path.relative_to(root)}:{line}: no figure {found['key']!r} is recorded; "
                    f"{AUTHOR} --only {found['key'].partition('.')[0]} measures it."
                )
