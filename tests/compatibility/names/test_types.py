"""Python's own types as types of a kernel, and the numbers that types have."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import allo
import allo.dataflow as df
import allo.ir.types as T
from allo.errors import CompileTimeError, TypeMismatchError
from allo.ir.types import ConstExpr, Stream, Struct, bfloat16, float16, float32, float64
from tests.engine import engine

TARGETS = {
    "cpu": lambda f, **k: allo.customize(f, **k).build(),
    "oracle": allo.interpret,
    "csim": lambda f, **k: allo.customize(f, **k).build("vhls"),
    "rtl": lambda f, **k: allo.customize(f, **k).build("verilog", simulator="jit"),
}
on_every_target = pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)


def halves(A: float[4], k: int) -> float[4]:
    B: float[4] = 0
    for i in range(4):
        B[i] = A[i] * 0.5 + k
    return B


def flags(A: int[4]) -> bool[4]:
    B: bool[4]
    for i in range(4):
        odd: bool = A[i] % 2 == 1
        B[i] = odd
    return B


def filled(k: float) -> float32[4]:
    B: float32[4] = allo.zeros((4,), dtype=float) + k
    C: int32[4] = allo.ones((4,), dtype=int)
    return B + C


int32 = T.int32
Pair = Struct({"x": int, "y": builtins.bool})


def paired(A: int[4]) -> int:
    total: int = 0
    step: ConstExpr[int] = 3
    for i in range(4):
        p: Pair = {"x": A[i] + 0, "y": i > 1}
        if p["y"]:
            total += p["x"] * step
    return total


@on_every_target
def test_float_and_int_are_types(make):
    a = np.array([1.0, 2.5, -3.0, 0.25], np.float32)
    found = make(halves)(a, 3)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, a / 2 + 3)


@on_every_target
def test_bool_is_one_bit(make):
    found = make(flags)(np.array([1, 2, 3, 4], np.int32))
    np.testing.assert_array_equal(found, [True, False, True, False])


@on_every_target
def test_arrays_filled_with_a_type_of_python(make):
    np.testing.assert_array_equal(make(filled)(0.5), np.full(4, 1.5, np.float32))


@on_every_target
def test_fields_and_constants_of_a_type_of_python(make):
    assert make(paired)(np.array([5, 6, 7, 8], np.int32)) == 45


def count[Ty](x: Ty[4]) -> Ty[4]:
    y: Ty[4]
    n: ConstExpr[T.int32] = Ty.bits
    for i in range(4):
        y[i] = x[i] + n
    return y


@on_every_target
@pytest.mark.parametrize("chosen", [int, float])
def test_a_template_takes_a_type_of_python(make, chosen):
    x = np.arange(4).astype(np.int32 if chosen is int else np.float32)
    np.testing.assert_array_equal(make(count, instantiate=[chosen])(x), x + 32)


@df.region()
def passing(A: int[4], B: int[4]):
    pipe: Stream[int, 2]

    @df.kernel(mapping=[1], args=[A])
    def send(a: int[4]):
        for i in range(4):
            pipe.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def receive(b: int[4]):
        for i in range(4):
            b[i] = pipe.get() * 2


@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog"])
def test_a_stream_of_a_type_of_python(target):
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    df.build(passing, target=target, **engine(target))(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_float_types_have_fraction_and_exponent_bits():
    assert [(t.fracs, t.exponent) for t in (float16, float32, float64, bfloat16)] == [
        (10, 5),
        (23, 8),
        (52, 11),
        (7, 8),
    ]


def widths[Ty]() -> int:
    A: int = Ty.fracs * 100 + Ty.exponent
    return A


@on_every_target
@pytest.mark.parametrize(("dtype", "expected"), [(float16, 1005), (bfloat16, 708), (float, 2308)])
def test_kernels_read_the_widths_of_floats(make, dtype, expected):
    assert make(widths, instantiate=[dtype])() == expected


def printed(x: float16, y: float32, z: T.Fixed(12, 4)) -> float32:
    print(x, y, z)
    return x + y * z


@on_every_target
def test_the_fraction_bits_of_floats_scale_nothing(make):
    assert make(printed)(1.5, 2.5, 0.25) == 2.125


def test_a_type_that_fills_nothing_is_refused():
    def kernel() -> float32[4]:
        return allo.zeros((4,), dtype=str)

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(kernel)
    assert caught.value.message == "Unsupported dtype <class 'str'>."


def test_a_class_that_is_no_type_is_refused():
    def kernel(A: str[4]):
        A[0] = 1

    with pytest.raises(CompileTimeError, match="type 'str' is not subscriptable"):
        allo.customize(kernel)
