"""``allo.popcount`` on every target, against Python's own count, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.errors import TypeMismatchError
from allo.ir.types import Fixed, Int, UInt, float32, int8, int16, int32, uint8, uint32, uint64

WIDTHS = (1, 2, 3, 7, 8, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129, 130)
COUNT = len(WIDTHS)
TARGETS: dict[str, Callable[[Any], Any]] = {
    "cpu": lambda k: allo.customize(k).build(),
    "csim": lambda k: allo.customize(k).build(target="vhls", mode="csim"),
    "catapult": lambda k: allo.customize(k).build(target="catapult", mode="csim"),
    "xls": lambda k: allo.customize(k).build(target="xls", mode="sw_emu"),
    "jit": lambda k: allo.customize(k).build(target="verilog", simulator="jit"),
    "verilator": lambda k: allo.customize(k).build(target="verilog"),
    "oracle": allo.interpret,
}


def counted(words: uint64[12, 3], found: uint32[12, 32]):
    for i in range(12):
        whole: UInt(130) = words[i, 2]
        whole = (whole << 64) | words[i, 1]
        whole = (whole << 64) | words[i, 0]
        with allo.meta_for(COUNT) as k:
            plain: UInt(WIDTHS[k]) = whole
            signed: Int(WIDTHS[k]) = whole
            found[i, 2 * k] = allo.popcount(plain)
            found[i, 2 * k + 1] = allo.popcount(signed)


def words_and_counts() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    words = rng.integers(0, 1 << 64, (12, 3), dtype=np.uint64)
    words[0], words[1], words[2, :2] = 0, (1 << 64) - 1, 0
    wholes = [sum(int(word) << 64 * k for k, word in enumerate(row)) for row in words]
    counts = [
        [(whole & (1 << width) - 1).bit_count() for width in WIDTHS for _ in "us"]
        for whole in wholes
    ]
    return words, np.array(counts, np.uint32)


@pytest.mark.parametrize("target", TARGETS)
def test_every_width_counts_as_python_does(target: str) -> None:
    words, expected = words_and_counts()
    found = np.zeros_like(expected)
    TARGETS[target](counted)(words, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("kind", "narrow"), [(int32, 6), (uint8, 4), (Int(1), 1), (UInt(63), 6), (Int(64), 7)]
)
def test_the_result_is_just_wide_enough(kind: Any, narrow: int) -> None:
    def k(x: kind) -> uint32:
        n = allo.popcount(x)
        return n

    declared = f'memref.alloc() {{name = "n", unsigned}} : memref<i{narrow}>'
    assert declared in str(allo.customize(k).module)


def whole_arrays(x: int16[6], histogram: int32[17], total: int32[2]):
    counts: uint8[6] = allo.popcount(x)
    for i in range(6):
        histogram[counts[i]] += 1
        histogram[allo.popcount(x[i])] += 10
        total[0] += allo.popcount(i) + allo.popcount(-1 * i)
    total[1] = allo.popcount(255)


@pytest.mark.parametrize("target", ["cpu", "csim", "jit", "oracle"])
def test_arrays_indices_and_literals_are_counted(target: str) -> None:
    x = np.array([-1, 0, 1, -(1 << 15), 0x5555, 7], np.int16)
    histogram, total = np.zeros(17, np.int32), np.zeros(2, np.int32)
    TARGETS[target](whole_arrays)(x, histogram, total)
    expected = np.zeros(17, np.int32)
    for value in x:
        expected[(int(value) & 0xFFFF).bit_count()] += 11
    np.testing.assert_array_equal(histogram, expected)
    assert total[1] == 8
    again = np.zeros(2, np.int32)
    allo.customize(whole_arrays).build()(x, np.zeros(17, np.int32), again)
    np.testing.assert_array_equal(total, again)


def test_python_counts_two_s_complement() -> None:
    assert allo.popcount(5) == 2
    assert allo.popcount(1 << 100) == 1
    assert allo.popcount(np.int32(-1)) == 32
    np.testing.assert_array_equal(allo.popcount(np.array([-1, 3, 0], np.int8)), [8, 2, 0])


def by_count(x: int8) -> uint8:
    return allo.popcount(x)


def by_count_of_a_copy(x: int8) -> uint8:
    same: int8 = x
    return allo.popcount(same)


def by_another_count(x: int8) -> uint8:
    return allo.popcount(x >> 1)


def test_verify_knows_the_count() -> None:
    own, another = allo.customize(by_count), allo.customize(by_another_count)
    assert allo.verify(own, allo.customize(by_count_of_a_copy))
    assert not allo.verify(own, another)


def of_floats(x: float32) -> uint8:
    return allo.popcount(x)


def of_fixed(x: Fixed(8, 3)) -> uint8:
    return allo.popcount(x)


@pytest.mark.parametrize(("kernel", "kind"), [(of_floats, "f32"), (of_fixed, "fixed(8, 3)")])
def test_only_integers_have_bits_to_count(kernel: Any, kind: str) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(kernel)
    text = str(caught.value)
    assert f"allo.popcount counts the bits of an integer, not of {kind}." in text
    assert "help: x.bitcast() is the integer behind a value." in text
    with pytest.raises(TypeMismatchError, match=r"popcount takes an integer, not "):
        allo.interpret(kernel)


def of_two(x: int32) -> uint8:
    return allo.popcount(x, x)


def test_a_count_takes_one_value() -> None:
    with pytest.raises(TypeMismatchError, match=r"test_popcount\.py:\d+:\d+.*popcount"):
        allo.customize(of_two)


def test_a_negative_python_integer_has_no_width() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        allo.popcount(-1)
    assert str(caught.value) == (
        "allo.popcount counts the bits of an integer of known width, not of -1.\n"
        "help: give a NumPy integer: np.int32(-1) has 32 bits."
    )
