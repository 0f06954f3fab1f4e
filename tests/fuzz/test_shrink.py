"""Edits of programs, as the shrinker tries them."""

from __future__ import annotations

import ast

from .edits import edited, edits
from .generator.program import Argument, Program

SOURCE = """
def helper(a: int32[4]) -> int32:
    return a[0]

def kernel(A: int32[4]) -> int32:
    x: int32 = helper(A)
    return x
"""
PROGRAM = Program(1, SOURCE, "kernel", [Argument("A", "int32", 32, 0, (4,))])


def test_every_edit_keeps_the_top_and_its_arguments() -> None:
    made = [
        program for group in edits(PROGRAM) for edit in group if (program := edited(PROGRAM, edit))
    ]
    assert made
    for program in made:
        last = ast.parse(program.source).body[-1]
        assert isinstance(last, ast.FunctionDef) and last.name == "kernel", program.source
        assert [a.arg for a in last.args.args] == [a.name for a in program.arguments]
