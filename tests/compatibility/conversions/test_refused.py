"""What no conversion joins is refused with both types, the place and the way out."""

from __future__ import annotations

import re

import pytest

import allo
import allo.dataflow as df
from allo.errors import FrontendError, ShapeMismatchError, TypeMismatchError
from allo.ir.types import Fixed, Stream, Struct, float32, int8, int16, int32, uint8

Pair = Struct({"x": int8, "y": int8})
Other = Struct({"x": int8, "z": int8})


def bytes_(m: int8[4]):
    for i in range(4):
        m[i] = m[i] + 1


@pytest.mark.parametrize("dtype", [int32, int16, float32, Fixed(8, 3)], ids=str)
def test_narrowing_an_array_is_no_reinterpretation(dtype) -> None:
    def kernel(A: dtype[4]):
        bytes_(A)

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(kernel)
    text = str(caught.value)
    assert f"Argument 1 of bytes_ (m) is {dtype}[4], but bytes_ wants i8[4]." in text
    assert (
        "help: arrays are passed by reference, so that only integers of one width are read as"
        in text
    )
    with pytest.raises(FrontendError, match=re.escape(f"is i8[4], not {dtype}[4]")):
        allo.interpret(kernel)


def test_a_struct_is_no_number_of_a_stream() -> None:
    @df.region()
    def top(A: int16[4]):
        pipe: Stream[int16, 2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: int16[4]):
            for i in range(4):
                p: Pair = a[i]
                pipe.put(p)

    with pytest.raises(FrontendError) as caught:
        df.customize(top)
    assert "Stream pipe carries i16, but a value of type struct<x: i8, y: i8> is put." in str(
        caught.value
    )
    with pytest.raises(FrontendError, match="struct<x: i8, y: i8> to i16"):
        allo.interpret(top)


def test_structs_of_other_fields_do_not_join() -> None:
    @df.region()
    def top(A: int16[4]):
        pipe: Stream[Other, 2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: int16[4]):
            for i in range(4):
                p: Pair = a[i]
                pipe.put(p)

    with pytest.raises(TypeMismatchError) as caught:
        df.customize(top)
    wanted = "A struct<x: i8, y: i8> cannot become a struct<x: i8, z: i8>."
    assert wanted in str(caught.value) and "help: copy field by field." in str(caught.value)
    with pytest.raises(TypeMismatchError):
        allo.interpret(top)


def test_a_block_keeps_its_shape() -> None:
    @df.region()
    def top(A: uint8[4]):
        pipe: Stream[int8[2, 2], 2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: uint8[4]):
            pipe.put(a)

    with pytest.raises(
        ShapeMismatchError, match=r"blocks of shape \[2, 2\], but an array of shape"
    ):
        df.customize(top)
    with pytest.raises(ShapeMismatchError):
        allo.interpret(top)
