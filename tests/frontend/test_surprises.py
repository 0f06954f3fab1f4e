"""Legal text that surprises: a warning a place, once, of the kinds asked for; numbers out of range."""

import warnings

import numpy as np
import pytest

import allo
from allo.errors import AlloWarning, BoundaryError, OptionError
from allo.ir.types import Fixed, Index, Int, Struct, UInt, int8, int16, int32, uint8, uint32, uint64


def surprising(a: int16, b: uint8, c: int8, n: int32, A: int32[4]) -> int32:
    r: int32 = (a << 10) + c
    r += b & c
    w: uint64 = b[0:5] << 5  # noqa: F841
    n = A[0]  # noqa: F841
    return r


def plain(a: int16, b: uint8, c: int8, n: int32, A: int32[4]) -> int32:
    h: uint32 = 5381
    for i in range(4):
        h = (h << 5) + h + A[i]
        A[i] = n & 1
        n = n >> 1
    wide: int32 = int32(a) << 10
    mixed: int32 = int16(b) & c
    same: int8 = b & c
    low: int32 = (b & 3) << 2
    while n > 0:
        n -= 1
    return wide + mixed + h + same + low


def given(kernel, configs=None):
    schedule = allo.customize(kernel)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            schedule.build(target="systemverilog" if configs else "vhls", configs=configs)
        yield [str(w.message) for w in caught if w.category is AlloWarning]


def test_each_place_is_warned_of_once_with_what_was_meant():
    first, second = given(surprising)
    first_line = surprising.__code__.co_firstlineno
    assert [f":{first_line + k}:" in text for k, text in zip((3, 1, 2, 4), first, strict=True)]
    assert "Int(32)(x) << 10" in first[1] and "Int(32)(x) & Int(32)(y)" in first[2]
    assert "UInt(10)(x) << 5" in first[0] and "return n" in first[3]
    assert second == []


def test_text_that_means_what_it_says_is_silent():
    assert [*given(plain)] == [[], []]


def searching(A: int32[8], B: int32[8]):
    for i in range(8):
        n: int32 = A[i]
        while n > 9:
            n = n - 7
        B[i] = n


def test_copies_of_a_while_loop_are_warned_of_once():
    schedule = allo.customize(searching)
    schedule.unroll("i", 2)
    line = searching.__code__.co_firstlineno + 1
    with pytest.warns(AlloWarning, match="Copies of a loop around a while loop") as caught:
        schedule.build(target="systemverilog")
    assert f"test_surprises.py:{line}:5" in str(caught[0].message)
    assert "help: write a for loop with a bound and a break inside" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.build(target="systemverilog")


def test_kinds_are_selected_by_configs():
    assert len(next(given(surprising, {"warnings": ["bitwise", "argument"]}))) == 2
    assert next(given(surprising, {"warnings": False})) == []
    with pytest.raises(OptionError, match="warnings"):
        allo.customize(plain).build(configs={"warnings": ["shif"]})


@pytest.mark.parametrize(
    ("dtype", "inside", "outside"),
    [
        (int8, [-128, 127, np.int32(5)], [128, -129, np.int64(300)]),
        (uint8, [0, 255], [256, -1]),
        (Int(1), [-1, 0, 1], [2, -2]),
        (UInt(70), [0, 2**70 - 1], [2**70, -1]),
        (Index(), [-(2**63), 2**63 - 1], [2**63]),
        (Fixed(8, 4), [-8, 7.9375], [8, -8.0625, 1e6]),
        (Fixed(8, 4, overflow="saturate"), [8, 1e6], []),
        (Struct({"x": int8, "y": uint8}), [{"x": -1, "y": 1}], [{"x": 1, "y": -1}]),
    ],
)
def test_a_number_out_of_range_is_refused(dtype, inside, outside):
    def kernel(x: dtype, A: int32[1]):
        A[0] = 1

    for run in (allo.customize(kernel).build(), allo.interpret(kernel)):
        for value in inside:
            run(value, np.zeros(1, np.int32))
        for value in outside:
            with pytest.raises(BoundaryError, match="out of") as error:
                run(value, np.zeros(1, np.int32))
            assert error.value.place


def test_a_keyword_of_build_wins_over_configs() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        allo.customize(surprising).build(warnings=False, configs={"warnings": True})
    assert [each for each in caught if each.category is AlloWarning] == []
