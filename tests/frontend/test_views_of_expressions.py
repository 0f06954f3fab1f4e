"""Views of any expression of array type, in every place an array may stand, against NumPy."""

import numpy as np
import pytest

import allo
from allo.errors import TypeMismatchError
from allo.ir.types import float32, int32

A = np.arange(16, dtype=np.int32).reshape(4, 4)
B = A[::-1] * 3 - 7


def given(x: int32[4, 4]) -> int32[4, 4]:
    r: int32[4, 4] = x
    return r


def kept1[N](x: int32[N]) -> int32[N]:
    r: int32[N] = x
    return r


def kept2[M, N](x: int32[M, N]) -> int32[M, N]:
    r: int32[M, N] = x
    return r


SOURCES = ("given(A)", "allo.matmul(A, B)", "(A | B)")
VIEWS = ("", ".T", "[1:3]", "[2]", "[::2, 1::2]", ".T[1]", ".copy()[1:3].T")
NAMES = {"allo": allo, "int32": int32, "given": given, "kept1": kept1, "kept2": kept2}


def _first_row(value):
    value = value.copy()
    value[0] = 9
    return value


FORMS = {
    "return {e}": lambda v: v,
    "C = {e}\n    return C": lambda v: v,
    "C: int32[{s}] = {e}\n    return C": lambda v: v,
    "C: int32[{s}] = 5\n    C += {e}\n    return C": lambda v: v + 5,
    "C, D = {e}, {e}\n    return C * 2 - D": lambda v: v,
    "C = {e}\n    C[0] = 9\n    return C": _first_row,
    "return kept{r}[{s}]({e})": lambda v: v,
    "return allo.add(1, {e})": lambda v: v + 1,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_view_of_every_expression(form):
    for source in SOURCES:
        for view in VIEWS:
            expression = source + view
            value = eval(expression, {"allo": allo, "given": np.copy, "A": A, "B": B})
            shape = ", ".join(map(str, value.shape))
            body = form.format(e=expression, s=shape, r=value.ndim)
            text = f"def top(A: int32[4, 4], B: int32[4, 4]) -> int32[{shape}]:\n    {body}\n"
            got = allo.customize(text, global_vars=NAMES).build()(A, B)
            np.testing.assert_array_equal(got, FORMS[form](value), text)


def transposed_slice(A: int32[4, 4], B: int32[4, 4]) -> int32[2, 4]:
    C = allo.matmul(A, B).T
    D = C[1:3]
    return D


@pytest.mark.parametrize("options", [{"target": "vhls"}, {"target": "verilog", "simulator": "jit"}])
def test_views_on_the_other_targets(options):
    got = allo.customize(transposed_slice).build(**options)(A, B)
    np.testing.assert_array_equal(got, (A @ B).T[1:3])


@pytest.mark.parametrize("function", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("left", ["A", "3", "[3, 4]", "k"])
@pytest.mark.parametrize("right", ["A", "3", "[3, 4]", "k"])
def test_a_literal_gives_no_element_type(function, left, right):
    if "A" not in (left, right):
        return
    text = (
        "def top(A: float32[2], k: int32) -> float32[2]:\n"
        f"    B = allo.{function}({left}, {right})\n    return B\n"
    )
    given = np.array([1.5, 2.5], np.float32)
    got = allo.customize(text, global_vars={"allo": allo, "int32": int32, "float32": float32})
    names = {"A": given, "k": 3, "[3, 4]": np.array([3, 4], np.float32), "3": 3}
    symbol = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[function]
    want = symbol(names[left], names[right]).astype(np.float32)
    np.testing.assert_array_equal(got.build()(given, 3), want)


def test_the_first_array_gives_the_element_type():
    def top(A: int32[2], B: float32[2]) -> float32[2]:
        C = allo.add(A, B)
        return C

    given = np.array([1, 2], np.int32), np.array([0.75, 0.75], np.float32)
    np.testing.assert_array_equal(allo.customize(top).build()(*given), [1, 2])


def ramp(x: int32[4]):
    for i in range(4):
        x[i] = i


def test_a_row_of_an_expression_loses_its_extents_of_one():
    def top(A: int32[1, 4]) -> int32[4]:
        return kept1[4](A + 1)

    def column(A: int32[4, 1]) -> int32[4]:
        return kept1[4](A.T)

    row = np.array([[4, 3, 2, 1]], np.int32)
    np.testing.assert_array_equal(allo.customize(top).build()(row), [5, 4, 3, 2])
    np.testing.assert_array_equal(allo.customize(column).build()(row.T.copy()), [4, 3, 2, 1])


def test_what_is_written_into_a_transposed_view_is_not_lost():
    def top(A: int32[4, 1]):
        ramp(A.T)

    with pytest.raises(TypeMismatchError) as error:
        allo.customize(top)
    text = str(error.value)
    assert "ramp writes into x, and A.T is a transposed view of A" in text
    assert "pass a local array" in text
