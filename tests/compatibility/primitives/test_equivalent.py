"""``get_equivalent_variables``: by name and by position, arrays and scalars, across calls."""

from __future__ import annotations

import pytest

import allo
from allo.errors import HandleTypeError, UnknownHandleError
from allo.ir.types import float32, int32


def scale(X: int32[8], k: int32) -> int32[8]:
    Y: int32[8]
    for i in range(8):
        Y[i] = X[i] * k
    return Y


def total(V: int32[8], k: int32) -> int32:
    t: int32 = 0
    for i in range(8):
        t += V[i]
    r: int32 = t
    return r


def top(A: int32[8], n: int32, other: int32) -> int32:
    B: int32[8] = scale(A, n)
    s: int32 = total(B, other)
    return s


def same(*names: str) -> set[str]:
    return set(names)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("top:A", same("top:A", "scale:X")),
        ("top:0", same("top:A", "scale:X")),
        ("scale:0", same("top:A", "scale:X")),
        ("top:1", same("top:n", "scale:k")),
        ("top:n", same("top:n", "scale:k")),
        ("scale:1", same("top:n", "scale:k")),
        ("top:2", same("top:other", "total:k")),
        ("total:k", same("top:other", "total:k")),
        ("B", same("top:B", "scale:Y", "total:V")),
        ("total:0", same("top:B", "scale:Y", "total:V")),
        ("top:s", same("top:s", "total:r")),
        ("total:t", same("total:t")),
    ],
)
def test_arrays_and_scalars(asked, found):
    assert allo.customize(top).get_equivalent_variables(asked) == found


@pytest.mark.parametrize(
    ("asked", "found", "other"),
    [
        ("top:A", same("top:0", "scale:0"), same("top:0", "scale:1")),
        ("top:0", same("top:0", "scale:X"), same("top:0")),
        ("scale:1", same("top:1", "scale:k"), same("top:1", "scale:1", "total:1")),
        ("B", same("top:B", "scale:Y", "total:0"), same("top:B", "scale:0", "total:0")),
        ("total:t", same("total:t"), same("total:0")),
    ],
)
def test_arguments_by_position_in_the_answer(asked, found, other):
    names = allo.customize(top).get_equivalent_variables(asked)
    assert names == found and found == names and names >= found and names <= found
    assert all(name in names for name in found)
    assert names != other and other != names and not (names >= other and names <= other)
    assert "top:7" not in names and names != "top:A"


def test_through_scalars_that_are_assigned_once():
    def use(v: float32, w: float32) -> float32:
        return v * w

    def middle(a: float32) -> float32:
        b: float32 = a
        c: float32 = b
        d: float32 = a
        d += 1.0
        return use(c, d)

    def outer(x: float32) -> float32:
        return middle(x)

    s = allo.customize(outer)
    assert s.get_equivalent_variables("x") == same(
        "outer:x", "middle:a", "middle:b", "middle:c", "use:v"
    )
    assert s.get_equivalent_variables("use:1") == same("use:w")
    assert s.get_equivalent_variables("middle:d") == same("middle:d")


def test_an_argument_that_is_assigned_is_a_variable_of_its_own():
    def count(n: int32) -> int32:
        n = n + 1
        return n

    def outer(m: int32) -> int32:
        return count(m)

    s = allo.customize(outer)
    assert s.get_equivalent_variables("outer:0") >= same("outer:m", "count:n")


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        ("top:3", "Target 3 not found in function top"),
        ("scale:Z", "Target Z not found in function scale"),
        ("nothing:0", "Function nothing not found"),
    ],
)
def test_unknown_names_are_refused(asked, pattern):
    with pytest.raises(UnknownHandleError, match=pattern):
        allo.customize(top).get_equivalent_variables(asked)


def test_a_handle_is_a_name_and_a_number_is_none():
    s = allo.customize(top)
    (first, *_) = s.func_args["top"]
    handle = getattr(s, first.name)
    assert s.get_equivalent_variables(handle) == s.get_equivalent_variables("top:0")
    with pytest.raises(HandleTypeError, match="takes the name of a variable, not 3") as caught:
        s.get_equivalent_variables(3)
    assert caught.value.help.startswith('write "func:A", "func:0" for the first argument')
