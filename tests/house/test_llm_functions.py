"""Functions of the transformer's designs are short, and take few parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.test_import_rules import ROOT

MOST_LINES, MOST_PARAMETERS = 80, 8
FOLDER = "designs/llm"
LONG = {"wide/block/heads.py:score_block"}
"""One pipeline of a decoder's and an encoder's queries, whose loops share what they count."""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """All functions, inner ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def too_long(function: ast.FunctionDef) -> bool:
    """Whether a function has too many lines, or too many parameters.

    Streams of a kernel or of a stage are wires, and do not count.
    """
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    values = [p for p in parameters if "Stream[" not in ast.unparse(p)]
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    return lines > MOST_LINES or len(values) > MOST_PARAMETERS


def long_functions(folder: Path) -> set[str]:
    """The functions of a folder that are too long, as ``file:name``."""
    return {
        f"{file.relative_to(folder).as_posix()}:{function.name}"
        for file in folder.rglob("*.py")
        for function in functions(ast.parse(file.read_text()))
        if too_long(function)
    }


def test_functions_are_short_and_take_few_parameters() -> None:
    assert long_functions(ROOT / FOLDER) == LONG


def test_a_long_function_and_a_wide_one_are_seen(tmp_path: Path) -> None:
    body = "\n".join(f"    x{k} = {k}" for k in range(80))
    nine = ", ".join(f"a{k}" for k in range(9))
    wires = ", ".join(f"a{k}: 'Stream[int8, 2]'" for k in range(9))
    (tmp_path / "a.py").write_text(
        f"def long():\n{body}\n\ndef wide({nine}):\n    pass\n\ndef wired({wires}):\n    pass\n"
    )
    assert long_functions(tmp_path) == {"a.py:long", "a.py:wide"}
