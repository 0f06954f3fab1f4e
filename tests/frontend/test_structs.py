"""Struct variables: fields, copies, arrays, from integers."""

import numpy as np
import pytest

import allo
from allo.errors import FrontendError
from allo.frontend import build_module
from allo.ir.types import Int, Stateful, Struct, UInt, float32, int8, int16, int32

S = Struct({"x": int32, "y": float32})
BITS = Struct({"low": UInt(4), "mid": Int(4), "high": int8})


def test_fields_and_copies():
    def kernel(a: int32, b: float32) -> float32:
        p: S = {"x": a, "y": b}
        q: S = p
        r = q
        p["x"] = 100
        q["y"] += 1.0
        r = {"y": q["y"] * 2.0, "x": q["x"]}
        p = r
        return p["y"] + p["x"]

    assert allo.customize(kernel).build()(3, 1.5) == 8.0


def test_arrays_of_structs():
    def kernel(A: int32[4]) -> int32:
        P: S[4]
        total: int32 = 0
        for i in range(4):
            P[i] = {"x": A[i], "y": 0.5}
            P[i]["x"] += 1
        last = P[3]
        for i in range(4):
            total += P[i]["x"]
        return total * 1000 + last["x"] + int(P[0]["y"] * 2.0)

    a = np.array([1, 2, 3, 4], np.int32)
    assert allo.customize(kernel).build()(a) == 14 * 1000 + 5 + 1


@pytest.mark.parametrize("value", [0x7FA5, 0x1234, -1, 0])
def test_an_integer_unpacks_low_bits_first(value):
    def kernel(word: int16) -> int32:
        p: BITS = word
        return p["low"] * 1000000 + p["mid"] * 1000 + p["high"] + p["low"][0] * 10000000

    def signed(bits, width):
        return bits - (1 << width) if bits >> (width - 1) else bits

    raw = value & 0xFFFF
    low, mid, high = raw & 15, signed(raw >> 4 & 15, 4), signed(raw >> 8, 8)
    expected = low * 1000000 + mid * 1000 + high + (low & 1) * 10000000
    assert allo.customize(kernel).build()(value) == expected


def missing(a: int32):
    p: S = {"x": a}  # noqa: F841


def unknown_field(a: int32) -> int32:
    p: S = {"x": a, "y": 1.0}
    return p["z"]


def computed_field(a: int32) -> int32:
    p: S = {"x": a, "y": 1.0}
    return p[a]


def as_a_value(a: int32) -> int32:
    p: S = {"x": a, "y": 1.0}
    return p + 1


def too_narrow(a: int8):
    p: BITS = a  # noqa: F841


REFUSALS = [
    (missing, "The fields ['x'] are not those of struct<x: i32, y: f32>."),
    (unknown_field, "Field z not found in struct type struct<x: i32, y: f32>."),
    (computed_field, "Struct field access must use string literal."),
    (as_a_value, "p is a Struct; it has no value as a whole here."),
    (
        too_narrow,
        "An integer of 8 bits cannot become struct<low: ui4, mid: i4, high: i8> of 16 bits.",
    ),
]


@pytest.mark.parametrize(("kernel", "message"), REFUSALS, ids=[k.__name__ for k, _ in REFUSALS])
def test_refusals(kernel, message):
    with pytest.raises(FrontendError) as caught:
        build_module(kernel)
    assert caught.value.message == message


def test_a_struct_beside_state():
    def kernel(a: int32) -> int32:
        count: int32 @ Stateful = 0
        p: S = {"x": a, "y": 0.0}
        count += p["x"]
        return count

    module = allo.customize(kernel).build()
    assert [module(2), module(3)] == [2, 5]
