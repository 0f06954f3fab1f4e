"""Errors about a user's text say what to write: each that the frontend and the schedule raise has a help."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("allo/frontend/elaborate", "allo/frontend/emit", "allo/frontend/rules", "allo/schedule")
FILES = ("allo/frontend/source.py", "dialects/boundary/storage.py")
INSIDE = ("NotConstantError", "InternalError", "NotImplementedError", "AttributeError", "TypeError")
"""What another error is made of, Python's own, or no fault of the user's."""


def without_help(text: str) -> Iterator[int]:
    """Lines of the errors of a text that are raised without advice."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "unsupported":
            if len(node.args) < 3 and not node.keywords:
                yield node.lineno
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
            continue
        made = node.exc
        if not (isinstance(made.func, ast.Name) and made.func.id.endswith("Error")):
            continue
        given = len(made.args) >= 3 or any(keyword.arg == "help" for keyword in made.keywords)
        if not given and made.func.id not in INSIDE:
            yield node.lineno


def test_every_error_says_what_to_write() -> None:
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    paths += [ROOT / name for name in FILES]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        for line in without_help(path.read_text())
    ]
    assert len(paths) > 100
    assert found == []


def test_an_error_without_advice_is_seen() -> None:
    text = "raise AError('x', place)\nraise BError('x', help='y')\nraise CError('x', p, 'y')\nraise D()\n"
    text += "raise ctx.unsupported(node, 'x')\nraise ctx.unsupported(node, 'x', 'y')\n"
    assert list(without_help(text)) == [1, 5]
