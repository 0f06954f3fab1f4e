"""Float operations that are done at compile time: the CPU's bits, and no unit."""

from __future__ import annotations

import random
from struct import pack, unpack

import numpy as np
import pytest

import allo
from allo.backend.rtl.graph.fold import fold_float
from allo.backend.rtl.graph.nodes import Node
from allo.ir.types import float32

SPECIAL = [0.0, -0.0, 1e-40, -1.5, np.inf, -np.inf, np.nan, 3.0, 1e38]


def constant(bits: int) -> Node:
    return Node(0, "const", 32, data=bits)


def bits_of(value: np.float32) -> int:
    return int(unpack("<I", pack("<f", value))[0])


@pytest.mark.parametrize("op", ["math.sqrt", "arith.divf"])
def test_what_is_folded_has_the_bits_of_numpy(op: str) -> None:
    draw, found = random.Random(op), 0
    for _ in range(20_000):
        words = [draw.getrandbits(32) for _ in range(1 + (op == "arith.divf"))]
        values = [np.uint32(word).view(np.float32) for word in words]
        folded = fold_float(op, [constant(word) for word in words], "f32")
        with np.errstate(all="ignore"):
            exact = np.sqrt(values[0]) if op == "math.sqrt" else values[0] / values[1]
        if folded is not None:
            found += 1
            assert folded == bits_of(exact), words
        else:
            normal = [*values, exact]
            assert not all(2.0**-126 <= value < np.inf for value in normal), words
    assert found > 3_000


def test_a_quotient_that_rounds_up_to_a_normal_number_is_not_folded() -> None:
    """(2**24 - 1) / 2**150 is 2**-126 in f32, and a zero where subnormals are flushed."""
    least = [constant(word) for word in (0x00FFFFFF, 0x40000000)]
    assert fold_float("arith.divf", least, "f32") is None
    assert fold_float("arith.divf", [constant(0x01000000), least[1]], "f32") == 0x00800000


def rounds_up(a: float32[4], b: float32[4]):
    for i in range(4):
        b[i] = a[i] * (2.3509885615147286e-38 / allo.sqrt(4.0))


@pytest.mark.parametrize(("subnormals", "word"), [("keep", 0x00800000), ("flush", 0)])
def test_a_folded_quotient_is_that_of_floats_without_subnormals_too(
    subnormals: str, word: int
) -> None:
    s = allo.customize(rounds_up)
    ones, found = np.ones(4, np.float32), []
    for options in ({}, {"target": "verilog", "simulator": "jit"}):
        out = np.zeros(4, np.float32)
        s.build(subnormals=subnormals, **options)(ones, out)
        found.append(out.view(np.uint32).tolist())
    assert found == [[word] * 4] * 2


EVERY = [
    0.0,
    -0.0,
    1e-45,
    -1e-40,
    1.1754942e-38,
    -1.1754944e-38,
    1e-20,
    -1.5,
    2.0,
    3e38,
    np.inf,
    -np.inf,
    np.nan,
]
"""Subnormals and normal numbers beside them, of which products and differences are subnormal."""


def sums_from_nothing(a: float32[169], b: float32[169], c: float32[5, 169]):
    for i in range(169):
        zero: float32 = -0.0
        c[0, i] = zero + a[i] * b[i]
        c[1, i] = zero + (a[i] - b[i])
        c[2, i] = a[i] / b[i] + zero
        c[3, i] = zero + a[i] % b[i]
        c[4, i] = zero + allo.sqrt(a[i])


@pytest.mark.parametrize("subnormals", ["keep", "flush"])
def test_a_result_plus_negative_zero_is_that_result(subnormals: str) -> None:
    """NaN has one pattern in hardware, that of every unit."""
    s = allo.customize(sums_from_nothing)
    a = np.repeat(np.array(EVERY, np.float32), len(EVERY))
    b = np.tile(np.array(EVERY, np.float32), len(EVERY))
    cpu, rtl = np.zeros((5, a.size), np.float32), np.zeros((5, a.size), np.float32)
    s.build(subnormals=subnormals)(a, b, cpu)
    s.build(target="verilog", simulator="jit", subnormals=subnormals)(a, b, rtl)
    nan = np.isnan(cpu)
    assert nan.any()
    assert (rtl.view(np.uint32)[nan] == 0x7FC00000).all()
    assert rtl[~nan].tobytes() == cpu[~nan].tobytes()


def starts_from_nothing(a: float32[9], b: float32[9], c: float32[9]):
    for i in range(9):
        total: float32 = -0.0
        total += a[i] * b[i]
        c[i] = total
    for i in range(9, name="scaled"):
        b[i] = a[i] * (1.0 / allo.sqrt(float(260)))


def starts_from_zero(a: float32[9], b: float32[9], c: float32[9]):
    for i in range(9):
        total: float32 = 0.0
        total += a[i] * b[i]
        c[i] = total


def starts_from_a_word(a: float32[9], b: float32[9], c: float32[9]):
    for i in range(9):
        total: float32 = -0.0
        total += a[i]
        c[i] = total


@pytest.mark.parametrize(
    ("kernel", "units"), [(starts_from_nothing, 1), (starts_from_zero, 2), (starts_from_a_word, 1)]
)
def test_a_sum_from_negative_zero_takes_no_adder(kernel, units: int) -> None:
    """A word of memory may be any NaN, of which an adder makes its own."""
    rng = np.random.default_rng(3)
    first = np.array(SPECIAL, np.float32)
    arrays = [rng.permutation(first), rng.permutation(first), np.zeros(9, np.float32)]
    expected = [a.copy() for a in arrays]
    s = allo.customize(kernel)
    s.build()(*expected)
    module = s.build(target="verilog", simulator="jit")
    module(*arrays)
    for one, other in zip(arrays, expected, strict=True):
        nan = np.isnan(other)
        np.testing.assert_array_equal(np.isnan(one), nan)
        assert one[~nan].tobytes() == other[~nan].tobytes()
    assert module.report.float_units == units
