"""Calls that do not determine the template arguments: what is missing, and by which arguments."""

import pytest

import allo
from allo.errors import CompileTimeError, FrontendError
from allo.ir.types import float32, int8, int16, int32, uint8


def pair[T, N, D](A: "T[N]", B: "T[N]"):
    for i in range(N):
        B[i] = A[i] + D


def failing(kernel, **customize) -> str:
    with pytest.raises(CompileTimeError) as caught:
        allo.customize(kernel, **customize)
    with pytest.raises(FrontendError) as meant:
        allo.interpret(kernel, instantiate=customize.get("instantiate"))
    first = str(caught.value).splitlines()[0]
    reasons = first.split("this call: ")[-1]
    assert reasons in str(meant.value).splitlines()[0]
    return str(caught.value)


def test_all_that_is_missing_is_listed() -> None:
    def kernel(A: int8[4], B: int8[8]):
        pair(A, B)

    text = failing(kernel)
    assert (
        "The template parameters of pair cannot be inferred from this call: "
        "N is 4 by A and 8 by B; nothing gives D." in text
    )
    assert "help: write them in brackets: pair[T, N, D](...)." in text
    assert "pair(A, B)\n" in text and "note: " in text


def test_element_types_that_differ() -> None:
    def kernel[D, N](A: "int8[N]", B: "int16[N]"):
        pair(A, B)

    assert "from this call: T is i8 by A and i16 by B." in failing(kernel, instantiate=[1, 4])


def test_signedness_alone_is_ambiguous_without_a_name() -> None:
    def kernel[D](A: int8[4], B: uint8[4]):
        pair(A, B)

    assert "from this call: T is i8 by A and ui8 by B." in failing(kernel, instantiate=[1])


def test_scalars_of_two_types() -> None:
    def larger[T](x: T, y: T) -> "T":
        return max(x, y)

    def kernel(a: int16, b: int32) -> int32:
        return larger(a, b)

    assert "from this call: T is i16 by x and i32 by y." in failing(kernel)


def test_an_extent_that_no_argument_gives() -> None:
    def grid_of[N, M](A: "int32[N * M]"):
        for i in range(N * M):
            A[i] = i

    def kernel(A: int32[12]):
        grid_of(A)

    assert "from this call: nothing gives N; nothing gives M." in failing(kernel)


def test_a_captured_number_is_no_argument_of_a_template() -> None:
    """Only names of the kernel itself count: a global of the same name may mean anything."""
    D = 3

    def kernel(A: int8[4], B: int8[4]):
        pair(A, B)

    assert D == 3
    assert "from this call: nothing gives D." in failing(kernel)


def test_some_of_the_values_are_not_enough() -> None:
    def kernel(A: int8[4], B: int8[4]):
        pair[int8](A, B)

    with pytest.raises(CompileTimeError, match="pair has 3 template parameters"):
        allo.customize(kernel)
    with pytest.raises(CompileTimeError, match="pair has 3 template parameters"):
        allo.interpret(kernel)


def test_the_bound_of_a_parameter_is_checked() -> None:
    def only_bytes[T: (int8, uint8), N](A: "T[N]"):
        A[0] = 1

    def kernel(A: float32[4]):
        only_bytes(A)

    with pytest.raises(CompileTimeError, match="Cannot resolve type T with f32"):
        allo.customize(kernel)
    with pytest.raises(CompileTimeError, match="Cannot resolve type T with f32"):
        allo.interpret(kernel)
