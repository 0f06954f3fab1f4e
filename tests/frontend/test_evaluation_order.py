"""Values are computed in Python's order, also beside calls that write what they read.

The kernels are plain Python: what they give on NumPy arrays, run as they stand, is what is right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.ir.types import Struct, UInt, int32

P = Struct({"x": int32, "y": UInt(7)})


def changes(a: int32[4]) -> int32:
    a[0] = 2
    a[1] = 3
    return 4


def grown(a: int32[4]) -> int32[4]:
    a[0] = 100
    return a.copy()


def pair(a: int32[4]) -> (int32, int32):
    return a[0], changes(a)


def tens(v: int32, s: int32) -> int32:
    return v * 10 + s


def of_row(a: int32[4], v: int32 = 5) -> int32:
    return a[0] + v


def element_added_to(A: int32[4], B: int32[4, 4]):
    A[0] += changes(A)


def place_of_the_element_added_to(A: int32[4], B: int32[4, 4]):
    A[A[1]] += changes(A)


def place_behind_a_branch(A: int32[4], B: int32[4, 4]):
    A[A[1] if A[1] < 3 else 1] -= changes(A)


def place_of_the_row_added_to(A: int32[4], B: int32[4, 4]):
    B[A[1]] += changes(A)


def part_added_to(A: int32[4], B: int32[4, 4]):
    A[0:2] += changes(A)


def whole_added_to(A: int32[4], B: int32[4, 4]):
    A[:] += grown(A)


def whole_beside_a_call(A: int32[4], B: int32[4, 4]):
    B[0] = A + grown(A)
    B[1] = grown(A) + A


def computed_array_beside_a_call(A: int32[4], B: int32[4, 4]):
    B[0] = A * A[0] + changes(A)


def place_assigned_to(A: int32[4], B: int32[4, 4]):
    A[A[1]] = A[A[1]] + changes(A)


def bounds_of_a_loop(A: int32[4], B: int32[4, 4]):
    for i in range(A[0], changes(A), A[3] - 3):
        A[3] += 10 * i


def bounds_of_a_loop_down(A: int32[4], B: int32[4, 4]):
    for i in range(changes(A), A[0], -1):
        A[3] += 10 * i


def results(A: int32[4], B: int32[4, 4]):
    x, y = pair(A)
    A[2] = x
    A[3] = y


def values_of_a_tuple(A: int32[4], B: int32[4, 4]):
    A[2], A[3] = A[0], changes(A)


def keywords_as_written(A: int32[4], B: int32[4, 4]):
    B[0, 0] = tens(s=changes(A), v=A[0])


def keywords_in_order(A: int32[4], B: int32[4, 4]):
    B[0, 0] = tens(v=A[0], s=changes(A))


def row_passed_before_a_call(A: int32[4], B: int32[4, 4]):
    A[2] = of_row(B[A[1]], changes(A))


def row_passed_behind_a_call(A: int32[4], B: int32[4, 4]):
    A[2] = of_row(v=changes(A), a=B[A[1]]) + of_row(a=B[1])


def operands_and_comparisons(A: int32[4], B: int32[4, 4]):
    A[2] = 1 if A[0] < changes(A) < A[0] + 4 else 0
    A[3] = min(A[0], changes(A), A[1]) + (A[0] << changes(A))


KERNELS = [
    element_added_to,
    place_of_the_element_added_to,
    place_behind_a_branch,
    place_of_the_row_added_to,
    part_added_to,
    whole_added_to,
    whole_beside_a_call,
    computed_array_beside_a_call,
    place_assigned_to,
    bounds_of_a_loop,
    bounds_of_a_loop_down,
    results,
    values_of_a_tuple,
    keywords_as_written,
    keywords_in_order,
    row_passed_before_a_call,
    row_passed_behind_a_call,
    operands_and_comparisons,
]
BUILDS = {
    "cpu": {},
    "jit": {"target": "verilog", "simulator": "jit"},
    "csim": {"target": "vhls", "mode": "csim"},
}


def _arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.array([1, 2, 3, 4], np.int32), np.arange(16, dtype=np.int32).reshape(4, 4)


@pytest.mark.parametrize("how", ["oracle", *BUILDS])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_as_python_does(kernel: Callable[..., None], how: str) -> None:
    expected, given = _arrays(), _arrays()
    kernel(*expected)
    run = allo.interpret(kernel) if how == "oracle" else allo.customize(kernel).build(**BUILDS[how])
    run(*given)
    for got, want in zip(given, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_arrays_that_no_call_changes_are_not_copied() -> None:
    def kernel(A: int32[4, 4], B: int32[4, 4], C: int32[4, 4]):
        C[:] = A * 2 + allo.matmul(A, B)

    assert "left" not in str(allo.customize(kernel).module)


# --- fields and bits ------------------------------------------------------------------------------


def changes_fields(a: P[4]) -> int32:
    a[0]["x"] = 2
    a[1]["x"] = 3
    return 4


def field_added_to(A: P[4]):
    A[A[0]["x"]]["x"] += changes_fields(A)


def field_beside_one_that_changes(A: P[4]):
    A[A[0]["x"]]["y"] -= changes_fields(A)


def field_assigned(A: P[4]):
    A[0]["y"] = changes_fields(A)


@pytest.mark.parametrize("how", ["oracle", *BUILDS])
@pytest.mark.parametrize(
    "kernel",
    [field_added_to, field_beside_one_that_changes, field_assigned],
    ids=lambda k: k.__name__,
)
def test_fields_as_python_does(kernel: Callable[..., None], how: str) -> None:
    given = np.zeros(4, dtype=[("x", np.int32), ("y", np.uint8)])
    given["x"], given["y"] = [1, 2, 3, 4], [5, 6, 7, 8]
    expected = given.copy()
    kernel(expected)
    run = allo.interpret(kernel) if how == "oracle" else allo.customize(kernel).build(**BUILDS[how])
    run(given)
    np.testing.assert_array_equal(given, expected)


def sets_other_bits(a: int32[4]) -> int32:
    a[0] = 2 + 1024
    a[1] = 3 + 2048
    return 4


def bits_assigned(A: int32[4]):
    A[0][4:8] = sets_other_bits(A)


def bits_added_to(A: int32[4]):
    A[A[0]][4:8] += sets_other_bits(A)


@pytest.mark.parametrize("how", ["oracle", *BUILDS])
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [(bits_assigned, [1026 + 64, 2051, 3, 4]), (bits_added_to, [1026, 2051 + 64, 3, 4])],
    ids=["assigned", "added_to"],
)
def test_bits_are_set_in_the_word_that_the_call_leaves(kernel, expected, how: str) -> None:
    given = np.array([1, 2, 3, 4], np.int32)
    run = allo.interpret(kernel) if how == "oracle" else allo.customize(kernel).build(**BUILDS[how])
    run(given)
    np.testing.assert_array_equal(given, expected)
