"""A design knows a unit by the name of its module, so units that differ have different names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.operators import OperatorLibrary, supported_operations
from allo.backend.rtl.operators.families import multiply
from allo.backend.rtl.operators.request import Drawing
from allo.dialects.diagnostics import InternalError
from allo.ir.types import UInt

SHORT = ("add", "sub", "mul", "and", "or", "xor", "div", "rem", "shr", "floordiv", "ceildiv")
BINARY = sorted(
    name
    for name in supported_operations()
    if name.startswith(tuple(f"arith.{n}" for n in SHORT)) or name == "arith.shli"
    if not name.endswith("f")
)
WIDTHS = (8, 33)
CONSTANTS = (None, 1, 6)


def squares_times_six(A: UInt(8)[7]):
    for i in range(7):
        A[i] = (A[6 - i] * A[i]) * 6


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("clock", [200, 500])
def test_a_constant_on_either_side(simulator: str, clock: int) -> None:
    """``rebalance`` writes ``A[j] * 6`` and trees write ``6 * A[j]``: above 450 MHz both are units."""
    s = allo.customize(squares_times_six)
    s.rebalance("i")
    s.unroll("i")
    module = s.build(target="verilog", simulator=simulator, clock_mhz=clock)
    given = np.random.default_rng(1).integers(0, 256, 7).astype(np.uint8)
    expected = given.copy()
    for i in range(7):
        expected[i] = int(expected[6 - i]) * int(expected[i]) * 6 % 256
    module(given)
    np.testing.assert_array_equal(given, expected)


def requests(width: int) -> Iterator[tuple[str, tuple[str, str], str, dict[str, Any]]]:
    """Every operation on integers of a width, with constants and extensions on either side."""
    kind = f"i{width}"
    for name, a, b in itertools.product(BINARY, CONSTANTS, CONSTANTS):
        constants: dict[str, Any] = {} if a is b is None else {"constants": (a, b)}
        yield name, (kind, kind), kind, constants
        if name == "arith.muli":
            for extended in ((("s", 3), None), (None, ("s", 3)), (("u", 3), ("s", 4))):
                for impl in ({}, {"impl": "fabric"}, {"impl": "dsp"}):
                    yield name, (kind, kind), kind, {**constants, "extended": extended, **impl}


@pytest.mark.parametrize(
    ("device", "clock"),
    [("xcup", 250), ("xcup", 600), ("xc7", 450), ("ecp5", 300), ("generic", 600)],
)
def test_no_two_units_of_one_name(device: str, clock: float) -> None:
    library = OperatorLibrary(device, clock)
    found = 0
    for width in WIDTHS:
        for name, operands, result, attributes in requests(width):
            found += bool(library.find(name, operands, result, attributes).module)
    assert found


def test_one_name_for_two_units_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = multiply._by_digits

    def unnamed(*given: Any) -> Drawing:
        made = drawn(*given)
        return Drawing("mul_by", made.draw, made.native, made.shareable)

    monkeypatch.setattr(multiply, "_by_digits", unnamed)
    find = partial(OperatorLibrary("xcup", 587).find, "arith.muli", ("i8", "i8"), "i8")
    assert find({"constants": (None, 6)}).module == "mul_by_l2"
    with pytest.raises(InternalError, match="are called mul_by_l2"):
        find({"constants": (6, None)})
