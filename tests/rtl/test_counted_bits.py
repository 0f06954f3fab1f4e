"""Sums of single bits and of ternary numbers are columns of bits on wide tables, with the same results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.graph.mapping import counting
from allo.backend.rtl.operators import compressors, library
from allo.backend.rtl.operators.compressors import OF_BITS, OF_GATES
from allo.backend.rtl.operators.families import counts
from allo.backend.rtl.operators.library import OperatorLibrary
from allo.backend.rtl.operators.netlist import evaluate
from allo.errors import UnsupportedOpError
from allo.ir.types import Int, UInt, int32

ROWS, BITS = 8, 40
HEIGHTS = ((1,), (2,), (3,), (7,), (9,), (17,), (64,), (130,), (5, 9), (12, 12), (1, 30), (30, 1))


def _sums(op: str, heights: Sequence[int], constant: int, width: int) -> list[tuple[int, int]]:
    """What the operator gives of zeros, ones and random bits, and what it has to."""
    kinds = (*(f"i{n}" for n in heights), f"i{width}")
    known = {"constants": (*(None for _ in heights), constant)}
    net = OperatorLibrary("xcup").find(op, kinds, f"i{width}", known).netlist
    rng, found = random.Random(width), []
    for draw in range(24):
        words = [(0, (1 << n) - 1)[draw] if draw < 2 else rng.getrandbits(n) for n in heights]
        total = sum(word.bit_count() << k for k, word in enumerate(words)) + constant
        inputs = dict(zip("abcdefgh", (*words, constant), strict=False))
        found.append((evaluate(net, inputs), total & ((1 << width) - 1)))
    return found


@pytest.mark.parametrize("op", [OF_BITS, OF_GATES])
@pytest.mark.parametrize("heights", HEIGHTS)
def test_columns_are_added_up(heights: Sequence[int], op: str) -> None:
    whole = sum(n << k for k, n in enumerate(heights)).bit_length()
    for constant, width in ((0, whole), (5, whole + 1), (0, max(1, whole - 1))):
        for found, wanted in _sums(op, heights, constant & ((1 << width) - 1), width):
            assert found == wanted


def test_a_wrong_carry_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a full adder that forgets a carry."""
    monkeypatch.setattr(
        compressors, "_added", lambda bits: (bits[0] ^ bits[1] ^ bits[-1], bits[0] & bits[1])
    )
    library = OperatorLibrary("xcup", 211.0)  # asked for at no other clock
    net = library.find("math.ctpop", ("i64",), "i64").netlist
    words = [random.Random(k).getrandbits(64) for k in range(8)]
    assert [evaluate(net, {"a": word}) for word in words] != [word.bit_count() for word in words]


def layers(
    x: UInt(BITS)[ROWS],
    w: UInt(BITS)[ROWS],
    t: Int(2)[ROWS, BITS],
    signs: int32[ROWS],
    ternary: int32[ROWS],
    count: int32[ROWS],
):
    for i in range(ROWS):
        same: UInt(BITS) = x[i] ^ w[i]
        agree: int32 = 3
        total: int32 = 0
        for k in range(BITS):
            agree -= same[k]
            if k < 20:
                total += t[i, k]
            else:
                total -= t[i, k]
        signs[i] = agree
        ternary[i] = total
        count[i] = allo.popcount(x[i])


def _built(device: str, simulator: str) -> tuple[Any, Any]:
    s = allo.customize(layers)
    s.partition(s.t, dim=2)
    s.pipeline("i")
    return s.build(target="verilog", simulator=simulator, device=device, clock_mhz=200.0), s


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
def test_layers_of_bits_give_the_cpus_results(device: str) -> None:
    hardware, s = _built(device, "jit")
    rng = np.random.default_rng(5)
    x, w = (rng.integers(0, 1 << BITS, ROWS, dtype=np.uint64) for _ in range(2))
    t = rng.integers(-2, 2, (ROWS, BITS)).astype(np.int8)
    ours, theirs = ([np.zeros(ROWS, np.int32) for _ in range(3)] for _ in range(2))
    hardware(x, w, t, *ours)
    s.build()(x, w, t, *theirs)
    for found, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(found, wanted)
    wholes = [bin(int(word)).count("1") for word in x]
    np.testing.assert_array_equal(theirs[2], wholes)
    assert hardware.cycles == hardware.report.cycles


def test_narrow_tables_keep_adders() -> None:
    assert compressors.saves(6, (64,), 7)
    assert not compressors.saves(4, (64,), 7)
    assert not compressors.saves(6, (2,), 2)


def test_columns_are_no_operation_of_the_language() -> None:
    with pytest.raises(UnsupportedOpError, match=r"no hardware operator for 'sum\.column'"):
        OperatorLibrary("xcup").find("sum.column", ("i8",), "i4")


def test_they_take_fewer_tables_where_these_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [_built(device, "jit")[0].report.resources["lut"] for device in ("xcup", "ecp5")]
    monkeypatch.setattr(counting, "saves", lambda *_: False)
    library._operator.cache_clear()
    monkeypatch.setattr(counts, "saves", lambda *_: False)
    before = [_built(device, "jit")[0].report.resources["lut"] for device in ("xcup", "ecp5")]
    library._operator.cache_clear()
    assert tables[0] < 0.6 * before[0]
    assert tables[1] == before[1]
