"""Local arrays of Structs that are passed to functions."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ShapeMismatchError, TypeMismatchError
from allo.ir.types import Fixed, Struct, float32, int16, int32, uint8

TARGETS = {
    "cpu": lambda f: allo.customize(f).build(),
    "oracle": allo.interpret,
    "csim": lambda f: allo.customize(f).build("vhls"),
    "vitis": lambda f: allo.customize(f).build("vitis_hls"),
    "rtl": lambda f: allo.customize(f).build("verilog", simulator="jit"),
}
on_every_target = pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
Pair = Struct({"x": int32, "y": int16})
Mixed = Struct({"w": float32, "q": Fixed(12, 4), "n": uint8})
A = np.array([3, -4, 5, 6], np.int32)


def total(a: Pair[4]) -> int32:
    r: int32 = 0
    for i in range(4):
        r += a[i]["x"] * a[i]["y"]
    return r


def swap(a: Pair[4]):
    for i in range(2):
        t: Pair = a[i]
        a[i] = a[3 - i]
        a[3 - i] = t
        a[i]["y"] += 1


def whole(A: int32[4]) -> int32:
    held: Pair[4]
    for i in range(4):
        held[i] = {"x": A[i], "y": i}
    swap(held)
    return total(held)


def middle(a: Pair[3], k: int32) -> Pair:
    for i in range(3):
        a[i]["x"] = k + i
    return a[1]


def rows(A: int32[4]) -> int32:
    held: Pair[2, 3]
    kept: Pair[2, 3]
    r: int32 = 0
    for i in range(2):
        for j in range(3):
            held[i, j] = {"x": 0, "y": A[j]}
        s: Pair = middle(held[i], A[i])
        r += s["x"] * s["y"]
        kept[i, 0] = held[i, 2]
    return r + kept[1, 0]["x"]


def weigh(a: Mixed[4], out: float32[4]):
    for i in range(4):
        q: Fixed(12, 4) = a[i]["q"]
        out[i] = a[i]["w"] * q + a[i]["n"]


def mixed(A: int32[4]) -> float32[4]:
    held: Mixed[4]
    out: float32[4]
    for i in range(4):
        held[i] = {"w": A[i] * 0.5, "q": 1.25, "n": A[i]}
    held[2]["q"] = -2.0
    weigh(out=out, a=held)
    return out


@on_every_target
def test_an_array_that_functions_change_and_read(make):
    x, y = [6, 5, -4, 3], [4, 3, 1, 0]
    assert make(whole)(A) == sum(a * b for a, b in zip(x, y, strict=True))


@on_every_target
def test_rows_and_elements_of_an_array(make):
    assert make(rows)(A) == (3 + 1) * -4 + (-4 + 1) * -4 + (-4 + 2)


@on_every_target
def test_fields_of_several_kinds(make):
    expected = A * 0.5 * np.array([1.25, 1.25, -2.0, 1.25]) + (A & 255)
    np.testing.assert_array_equal(make(mixed)(A), expected.astype(np.float32))


def test_an_array_that_is_not_passed_stays_one_array_a_field():
    def apart(A: int32[4]) -> int32:
        held: Pair[4]
        for i in range(4):
            held[i] = {"x": A[i], "y": i}
        return held[2]["x"] + held[3]["y"]

    text = str(allo.customize(apart).module)
    assert 'name = "held_x"' in text
    assert 'name = "held_y"' in text
    assert 'name = "held"' in str(allo.customize(whole).module)


def test_another_struct_is_refused():
    other = Struct({"x": int32, "z": int16})

    def kernel(A: int32[4]) -> int32:
        held: other[4]
        for i in range(4):
            held[i] = {"x": A[i], "z": i}
        return total(held)

    with pytest.raises(TypeMismatchError, match="total"):
        allo.customize(kernel)


def test_another_length_is_refused():
    def kernel(A: int32[4]) -> int32:
        held: Pair[5]
        for i in range(5):
            held[i] = {"x": 1, "y": i}
        return total(held)

    with pytest.raises(ShapeMismatchError, match="total"):
        allo.customize(kernel)


def test_an_initialiser_is_refused():
    def kernel(A: int32[4]) -> int32:
        held: Pair[4] = 0
        return total(held)

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(kernel)
    assert caught.value.message == "An array of Structs (held) has no initialiser."
