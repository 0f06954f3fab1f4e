"""Functions that are alike become the first of them, and calls say which they called."""

from __future__ import annotations

import pytest

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute, walk
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import callee_of, functions_of, signature_of
from allo.dialects.passes.merge_instances import INSTANCE, MOST_CONSTANTS, merge_instances

ARRAY = "memref<8xi32>"


def cell(name: str, argument: str = "x", at: int = 2, factor: int = 3, op: str = "muli") -> str:
    says = f'arg_names = ["{argument}"], arg_types = ["i32"], res_types = [], itypes = "s"'
    return f"""
  func.func @{name}(%x: {ARRAY}) attributes {{{says}}} {{
    %v = affine.load %x[{at}] {{from = "{argument}"}} : {ARRAY}
    %k = arith.constant {factor} : i32
    %w = arith.{op} %v, %k : i32
    affine.store %w, %x[7] {{to = "{argument}"}} : {ARRAY}
    return
  }} loc("k.py":5:1)"""


def with_calls(*cells: str) -> ir.Module:
    names = [text.split("@")[1].split("(")[0] for text in cells]
    calls = "\n".join(f'call @{n}(%x) {{name = "r"}} : ({ARRAY}) -> ()' for n in names)
    says = 'arg_names = ["x"], arg_types = ["i32"], res_types = [], itypes = "s"'
    top = f"func.func @top(%x: {ARRAY}) attributes {{{says}}} {{\n{calls}\nreturn\n}}"
    return parse_module("\n".join([*cells, top]))


def calls_of(module: ir.Module) -> list[tuple[str, str | None, int]]:
    """(callee, instance, operands) of every call."""
    found = [op for op in walk(module.operation) if op.name == "func.call"]
    return [(callee_of(op), string_attribute(op, INSTANCE), len(op.operands)) for op in found]


def test_equal_functions_become_the_first() -> None:
    module = with_calls(cell("a"), cell("b"), cell("c", op="addi"), cell("d"))
    merge_instances(module, ["a", "b", "c", "d"], at_least=3)
    assert list(functions_of(module)) == ["a", "c", "top"]
    assert calls_of(module) == [("a", None, 1), ("a", "b", 1), ("c", None, 1), ("a", "d", 1)]


@pytest.mark.parametrize("change", [{"argument": "y"}, {"at": 3}, {"factor": 4}])
def test_functions_that_are_read_stay_where_they_differ(change: dict) -> None:
    module = with_calls(cell("a"), cell("b", **change))
    merge_instances(module, ["a", "b"], at_least=2)
    assert calls_of(module) == [("a", None, 1), ("b", None, 1)]


def test_constants_become_arguments() -> None:
    module = with_calls(cell("a"), cell("b", at=3), cell("c", factor=4, argument="y"))
    merge_instances(module, ["a", "b", "c"], at_least=3, constants=True)
    signature = signature_of(functions_of(module)["a"])
    assert signature.names == ("x", "constant_0", "constant_1")
    assert signature.declared == ("i32", "index", "i32")
    assert calls_of(module) == [("a", None, 3), ("a", "b", 3), ("a", "c", 3)]
    given = [
        op.attributes["value"].value
        for op in walk(functions_of(module)["top"])
        if "constant" in op.name
    ]
    assert given == [2, 3, 3, 3, 2, 4]


def test_too_few_and_too_many_differences() -> None:
    module = with_calls(cell("a"), cell("b"))
    merge_instances(module, ["a", "b"], at_least=3)
    assert calls_of(module) == [("a", None, 1), ("b", None, 1)]

    def long(name: str, first: int) -> str:
        lines = [f"%k{n} = arith.constant {first + n} : i32" for n in range(MOST_CONSTANTS + 1)]
        return f"func.func @{name}(%x: {ARRAY}) {{\n" + "\n".join(lines) + "\nreturn\n}"

    module = with_calls(long("a", 0), long("b", 100))
    merge_instances(module, ["a", "b"], at_least=2, constants=True)
    assert calls_of(module) == [("a", None, 1), ("b", None, 1)]
