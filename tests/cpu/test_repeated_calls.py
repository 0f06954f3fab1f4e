"""Calls with arrays seen before: what was changed in them between two calls is noticed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.dialects.boundary.addresses import HEADER, header_at, headers_are_known
from allo.dialects.diagnostics import BoundaryError, DTypeWarning

from .kernels import attributes

DECLARED = r"user\.py:7:1\d: Argument b of f, declared i32\[2, 3\]: "


def doubling() -> LLVMModule:
    """``b[i, j] = 2 * a[i, j]``, both 2 by 3."""
    text = f"""func.func @f(%a: memref<2x3xi32> loc("user.py":7:11),
        %b: memref<2x3xi32> loc("user.py":7:12))
        attributes {{{attributes(["a", "b"], ["i32", "i32"], [])}}} {{
      affine.for %i = 0 to 2 {{ affine.for %j = 0 to 3 {{
        %x = affine.load %a[%i, %j] : memref<2x3xi32>
        %y = arith.addi %x, %x : i32
        affine.store %y, %b[%i, %j] : memref<2x3xi32>
      }} }}
      return
    }}"""
    return LLVMModule(text, "f")


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros((2, 3), np.int32)


def test_arrays_in_turns_are_each_their_own():
    module = doubling()
    sets = [arrays() for _ in range(3)]
    for turn in range(9):
        a, b = sets[turn % 3]
        a += turn
        module(a, b)
        module(a, b)
        np.testing.assert_array_equal(b, 2 * a)
        module(b, a)
        np.testing.assert_array_equal(a, 2 * b)


def test_memory_given_anew_is_found():
    module = doubling()
    a, b = arrays()
    module(a, b)
    old = b.copy()
    b.resize((200, 300), refcheck=False)
    b.resize((2, 3), refcheck=False)
    a += 5
    module(a, b)
    np.testing.assert_array_equal(b, 2 * a)
    assert not np.array_equal(b, old)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_element_type_changed_in_place_is_noticed():
    module = doubling()
    a, b = arrays()
    module(a, b)
    a.dtype = np.float32
    a[:] = 3.0
    with pytest.warns(DTypeWarning, match="float32"):
        module(a, b)
    np.testing.assert_array_equal(b, np.full((2, 3), 6))


def transpose(array: np.ndarray) -> None:
    array.shape = (3, 2)


def close(array: np.ndarray) -> None:
    array.setflags(write=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (transpose, DECLARED + r"got an array of shape \(3, 2\)\."),
        (close, DECLARED + "the kernel writes this array, but it is read-only"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_array_changed_in_place_is_refused(change: Callable[[np.ndarray], None], message: str):
    module = doubling()
    a, b = arrays()
    module(a, b)
    change(b)
    with pytest.raises(BoundaryError, match=message):
        module(a, b)


def test_one_array_twice_is_refused_after_a_good_call():
    module = doubling()
    a, b = arrays()
    module(a, b)
    with pytest.raises(BoundaryError, match=DECLARED + "the array shares memory with argument a"):
        module(b, b)


def test_the_fields_of_an_array_can_be_read():
    a, _ = arrays()
    assert headers_are_known
    before = header_at(id(a) + HEADER).raw
    assert header_at(id(a) + HEADER).raw == before
    a.setflags(write=False)
    assert header_at(id(a) + HEADER).raw != before
