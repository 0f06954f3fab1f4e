"""The typing rules, pair by pair, against the worked tables of the language reference."""

import itertools
import pathlib

import numpy as np
import pytest

import allo
from allo.dialects.diagnostics import DTypeWarning
from allo.dialects.types import Fixed, Float, Index, Int, UFixed, UInt, bfloat16, parse_type
from allo.frontend.rules.typing import CPP_STYLE, DEFAULT

A, B, C, D, E = Int(8), UInt(16), Index(), Fixed(12, 4), UFixed(10, 3)
OPERANDS = (A, B, C, D, E)

TABLES = {
    "+ -": """
        i9 i18 i34 fixed(13,4) fixed(12,3)
        i18 ui17 ui33 fixed(22,4) ufixed(20,3)
        i34 ui33 index fixed(38,4) ufixed(36,3)
        fixed(13,4) fixed(22,4) fixed(38,4) fixed(13,4) fixed(13,4)
        fixed(12,3) ufixed(20,3) ufixed(36,3) fixed(13,4) ufixed(11,3)""",
    "*": """
        i16 i24 i40 fixed(20,4) fixed(18,3)
        i24 ui32 ui48 fixed(28,4) ufixed(26,3)
        i40 ui48 index fixed(44,4) ufixed(42,3)
        fixed(20,4) fixed(28,4) fixed(44,4) fixed(24,8) fixed(22,7)
        fixed(18,3) ufixed(26,3) ufixed(42,3) fixed(22,7) ufixed(20,6)""",
    "/ //": """
        i8 i8 i8 fixed(20,4) fixed(19,5)
        i16 ui16 ui16 fixed(28,12) ufixed(26,13)
        i32 index index fixed(44,28) ufixed(42,29)
        fixed(20,12) fixed(29,20) fixed(45,36) fixed(24,12) fixed(23,11)
        fixed(19,11) ufixed(26,19) ufixed(42,35) fixed(22,11) ufixed(20,10)""",
    "% == != < <= > >= select min max": """
        i8 i17 i33 fixed(12,4) fixed(11,3)
        i17 ui16 ui32 fixed(21,4) ufixed(19,3)
        i33 ui32 index fixed(37,4) ufixed(35,3)
        fixed(12,4) fixed(21,4) fixed(37,4) fixed(12,4) fixed(12,4)
        fixed(11,3) ufixed(19,3) ufixed(35,3) fixed(12,4) ufixed(10,3)""",
}


def cases():
    for operators, table in TABLES.items():
        rows = [line.split() for line in table.strip().splitlines()]
        for operator in operators.split():
            for (r, left), (c, right) in itertools.product(
                enumerate(OPERANDS), enumerate(OPERANDS)
            ):
                yield operator, left, right, rows[r][c]


@pytest.mark.parametrize(("operator", "left", "right", "expected"), list(cases()))
def test_worked_tables(operator, left, right, expected):
    assert DEFAULT.result(operator, left, right) == parse_type(expected)


@pytest.mark.parametrize("left", OPERANDS)
@pytest.mark.parametrize("operator", ["<<", ">>"])
def test_a_shift_keeps_the_left_type(operator, left):
    for amount in (A, B, C):
        assert DEFAULT.result(operator, left, amount) == left
    assert DEFAULT.result(operator, left, D) is None
    assert DEFAULT.result(operator, Float(32), A) is None


@pytest.mark.parametrize("operator", "&|^")
def test_bitwise_operators_take_the_wider_integer(operator):
    assert DEFAULT.result(operator, Int(8), Int(5)) == Int(8)
    assert DEFAULT.result(operator, Int(8), UInt(16)) == Int(16)
    assert DEFAULT.result(operator, UInt(16), Int(8)) == Int(16)
    assert DEFAULT.result(operator, UInt(16), Index()) == UInt(32)
    assert DEFAULT.result(operator, Index(), Index()) == Index()
    assert DEFAULT.result(operator, Float(32), Int(8)) is None
    assert DEFAULT.result(operator, D, A) is None


def test_a_float_wins_and_the_wider_of_two():
    for operator in ("+", "-", "*", "/", "//", "%", "==", "<", "select", "min"):
        for other in OPERANDS:
            assert DEFAULT.result(operator, Float(32), other) == Float(32)
            assert DEFAULT.result(operator, other, Float(16)) == Float(16)
        assert DEFAULT.result(operator, Float(32), Float(64)) == Float(64)
        assert DEFAULT.result(operator, bfloat16, Float(16)) == bfloat16
        assert DEFAULT.result(operator, Float(16), bfloat16) == Float(16)


def test_power_is_a_float():
    assert DEFAULT.result("**", Int(8), Int(8)) == Float(32)
    assert DEFAULT.result("**", Int(33), Int(8)) == Float(64)
    assert DEFAULT.result("**", Float(16), Float(64)) == Float(64)


def test_unary_operators():
    assert DEFAULT.unary(UInt(7)) == Int(7)
    assert DEFAULT.unary(Int(7)) == Int(7)
    assert DEFAULT.unary(Float(32)) == Float(32)


def test_every_pair_of_a_symmetric_table_has_the_same_width_either_way():
    for left, right in itertools.product(OPERANDS, OPERANDS):
        for operator in ("+", "*", "select", "min", "max", "=="):
            one = DEFAULT.result(operator, left, right)
            two = DEFAULT.result(operator, right, left)
            assert one == two, (operator, left, right)


def test_cpp_style_takes_the_wider_and_lacks_shifts():
    assert CPP_STYLE.result("+", Int(8), Int(32)) == Int(32)
    assert CPP_STYLE.result("*", UInt(8), UInt(16)) == UInt(16)
    assert CPP_STYLE.result("+", Int(8), UInt(8)) == UInt(8)
    assert CPP_STYLE.result("+", UInt(8), Int(16)) == Int(16)
    assert CPP_STYLE.result("+", Int(8), Index()) == Int(32)
    assert CPP_STYLE.result("+", UInt(8), Index()) == Index()
    for operator in ("<<", ">>", "&", "|", "^", "**", "select", "min", "max"):
        assert CPP_STYLE.result(operator, Int(8), Int(8)) is None


def test_a_table_prints_as_documentation():
    text = DEFAULT.document("*")
    assert text.splitlines()[0] == "| left \\ right | Int | UInt | Index | Fixed | UFixed | Float |"
    assert "| Int | Int(b1 + b2) | Int(b1 + b2) |" in text


def test_the_documentation_shows_the_tables():
    text = (pathlib.Path(__file__).parents[2] / "docs" / "language.md").read_text()
    for operator in ("+", "*", "/", "%", "<<", "&", "**"):
        assert DEFAULT.document(operator) in text


def test_types_past_512_bits_work_and_warn_at_the_line_of_the_user():
    said = (
        "i700 is wider than 512 bits: it runs on every target, but its products and quotients take "
        "long to compile and much hardware."
    )
    with pytest.warns(DTypeWarning) as caught:
        wide = Int(700)
    assert [str(w.message) for w in caught] == [said]
    assert caught[0].filename == __file__

    def kernel(a: Int(350), b: wide, c: wide[3]):
        c[0] = a * a
        c[1] = b // a
        c[2] = b - a

    with pytest.warns(DTypeWarning) as caught:
        module = allo.customize(kernel).build()
    assert {w.filename for w in caught} == {__file__}
    a, b, c = -(1 << 345) - 7, (1 << 698) + 12345, np.zeros(3, object)
    module(a, b, c)
    assert c.tolist() == [a * a, b // a, b - a]
