"""Functions that differ in names alone are equal, and no others are."""

from __future__ import annotations

import pytest

from allo.dialects.core.fingerprint import Fingerprint, equal_functions
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import functions_of


def add(
    name: str, variable: str = "a", constant: int = 3, line: int = 5, operation: str = "addi"
) -> str:
    return f"""
  func.func @{name}(%x: memref<4xi32>) attributes {{arg_names = ["{variable}"]}} {{
    %k = arith.constant {constant} : i32
    affine.for %i = 0 to 4 {{
      %v = affine.load %x[%i] {{from = "{variable}"}} : memref<4xi32>
      %w = arith.{operation} %v, %k : i32
      affine.store %w, %x[%i] {{to = "{variable}"}} : memref<4xi32>
      "allo.print"(%w) {{before = "", after = "", dtype = "i32"}} : (i32) -> () loc("k.py":{line}:1)
    }} {{loop_name = "{variable}{variable}"}}
    return
  }}"""


def caller(name: str, callee: str) -> str:
    return f"""
  func.func @{name}(%x: memref<4xi32>) {{
    call @{callee}(%x) : (memref<4xi32>) -> ()
    return
  }}"""


CHANGES = [{"variable": "b"}, {"line": 6}, {"constant": 4}, {"operation": "muli"}]


@pytest.mark.parametrize(("change", "equal"), list(zip(CHANGES, [True, True, False, False])))
def test_names_and_places_make_no_difference(change: dict, equal: bool) -> None:
    same = equal_functions(parse_module(add("one") + add("two", **change)))
    assert same == {"one": "one", "two": "one" if equal else "two"}


def test_callers_of_equal_functions_are_equal() -> None:
    text = add("one") + add("two", "b") + add("three", constant=4)
    text += caller("f", "one") + caller("g", "two") + caller("h", "three")
    same = equal_functions(parse_module(text))
    assert {name: same[name] for name in "fgh"} == {"f": "f", "g": "f", "h": "h"}


def test_a_caller_that_stands_in_front() -> None:
    text = caller("f", "one") + caller("g", "two") + add("one") + add("two", "b")
    assert equal_functions(parse_module(text)) == {"f": "f", "g": "f", "one": "one", "two": "one"}


def test_declarations_are_themselves() -> None:
    text = "func.func private @one(memref<4xi32>)\nfunc.func private @two(memref<4xi32>)"
    assert equal_functions(parse_module(text)) == {"one": "one", "two": "two"}


@pytest.mark.parametrize(("change", "equal"), list(zip(CHANGES, [True, False, True, False])))
def test_what_a_key_leaves_open(change: dict, equal: bool) -> None:
    module = parse_module(add("one") + add("two", **change))
    functions = functions_of(module).values()
    one, two = (Fingerprint(f, constants=True, places=True) for f in functions)
    assert (one.key == two.key) is equal
    assert [op.attributes["value"].value for op in two.constants] == [change.get("constant", 3)]
