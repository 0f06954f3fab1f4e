"""What a program's text shows: subscripts that surely leave their array, reads of what nobody wrote."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import allo
from allo.errors import ShapeMismatchError, UninitializedWarning
from allo.ir.types import int32, uint8


def triangle(x: int32[8], y: int32[8]):
    for i in range(8):
        for j in range(i, 8):
            y[i] += x[i + j]


def cut(x: int32[8], y: int32[8]):
    for i in range(8):
        if i > 2:
            y[i - 3] = x[i + 3]


def otherwise(x: int32[8], y: int32[8]):
    for i in range(8):
        if i < 6:
            y[i] = x[i + 2]
        else:
            y[i] = x[i - 7]


def backwards(x: int32[8], y: int32[8]):
    for i in range(7, -1, -1):
        for j in range(i):
            y[j] = x[i - j - 2]


def strided(x: int32[8], y: int32[8]):
    for i in range(0, 8, 3):
        y[i] = x[i + 1] + x[i + 2]


def remainder(x: int32[8], y: int32[8]):
    for i in range(20):
        y[i % 9] = x[i // 3]


def chosen(x: int32[8], y: int32[8]):
    for i in range(8):
        y[i] = x[i + 2] if i < 7 else 0


def double(x: int32) -> int32:
    return 2 * x


def passed(x: int32[8], y: int32[8]):
    for i in range(8):
        if i > 2:
            y[i] = double(x[i + 3])


def total(part: int32[4]) -> int32:
    r: int32 = 0
    for i in range(4):
        r += part[i]
    return r


def windows(x: int32[8], y: int32[8]):
    for i in range(8):
        for j in range(i):
            y[i] += total(x[j : j + 4])


REFUSED = [
    (triangle, "subscript 0 reaches 8 .* extent 8 of x", "takes 0 to 14, and is 8 at i = 1, j = 7"),
    (cut, "subscript 0 reaches 8 .* extent 8 of x", "takes 6 to 10, and is 8 at i = 5"),
    (passed, "subscript 0 reaches 8 .* extent 8 of x", "takes 6 to 10, and is 8 at i = 5"),
    (otherwise, "subscript 0 reaches -1 .* extent 8 of x", "takes -1 to 0, and is -1 at i = 6"),
    (backwards, "subscript 0 reaches -1 .* extent 8 of x", "takes -1 to 5, .* at i = 7, j = 6"),
    (strided, r"i \+ 2 reaches 8 .* extent 8 of x", "takes 2 to 8, and is 8 at i = 6"),
    (remainder, "subscript 0 reaches 8 .* extent 8 of y", "takes 0 to 8, and is 8 at i = 8"),
    (chosen, "subscript 0 reaches 8 .* extent 8 of x", "takes 2 to 8, and is 8 at i = 6"),
    (windows, "subscript 0 reaches 8 .* extent 8 of x", "takes 0 to 9, and is 8 at i = 6, j = 5"),
]


@pytest.mark.parametrize(
    ("kernel", "message", "note"), REFUSED, ids=lambda c: str(getattr(c, "__name__", c))[:24]
)
def test_a_subscript_that_surely_leaves_its_array_is_refused(kernel, message, note):
    with pytest.raises(ShapeMismatchError) as caught:
        allo.customize(kernel)
    assert caught.match(f"Index out of range: {message}")
    assert caught.match(note)
    assert caught.match(r"\n +\| +\^+\n")


def excluded(x: int32[8], y: int32[8], n: int32):
    for i in range(8):
        for j in range(8 - i):
            y[i] += x[i + j]
        if i < 7 and n >= 0:
            y[i] += x[i + 1]
        if 0 < i:
            y[i] -= x[i - 1]
        else:
            y[i] -= x[i + 7]
        y[i] += x[i + 3] if i <= 4 else x[i - 5]
        if n > i and i + n < 8:
            y[i] += x[i + n]
        if n > 100:
            y[i] += x[i + 50]
        if i % 2 == 0:
            continue
        y[i] += x[i - 1]
    k: int32 = 0
    while k < n:
        for i in range(n):
            y[i] += x[i + 1 - 1]
        k += 1


def test_what_conditions_exclude_is_not_refused():
    module = allo.customize(excluded).build()
    x = np.arange(1, 9, dtype=np.int32)
    for n in (-1, 0, 2, 3):
        want, got = np.zeros(8, np.int64), np.zeros(8, np.int32)
        excluded(x.tolist(), want, n)
        module(x, got, n)
        np.testing.assert_array_equal(got, want)


# --- never written -------------------------------------------------------------------------------


def unset(x: int32) -> int32:
    y: int32
    return x + y


def accumulated(x: int32[8]) -> int32:
    s: int32
    for i in range(8):
        s += x[i]
    return s


def unset_under_a_condition(x: int32) -> int32:
    y: int32
    r: int32 = 0
    if x > 0:
        r = y
    y = 3
    return r + y


def never_stored(x: int32[8]) -> int32:
    t: int32[8]
    r: int32 = 0
    for i in range(8):
        r += t[i] * x[i]
    return r


def passed_on(x: int32[8]) -> int32:
    t: int32[4]
    return total(t) + x[0]


WARNED = [
    (unset, "variable y", r"return x \+ y"),
    (accumulated, "variable s", r"s \+= x\[i\]"),
    (unset_under_a_condition, "variable y", "r = y"),
    (never_stored, "array t", r"r \+= t\[i\]"),
    (passed_on, "array t", r"return total\(t\)"),
]


@pytest.mark.parametrize(
    ("kernel", "what", "line"), WARNED, ids=lambda c: str(getattr(c, "__name__", c))[:24]
)
def test_a_read_of_what_nothing_has_stored_warns(kernel, what, line):
    with pytest.warns(UninitializedWarning) as caught:
        allo.customize(kernel)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert f"The {what} is read, and nothing has been stored in it." in text
    lines = text.splitlines()
    assert re.search(line, lines[1])
    assert lines[2].strip(" |").startswith("^")
    assert lines[3].startswith("help: give it a value where it is declared")


def previous(x: int32[8], n: int32) -> int32:
    last: int32
    r: int32 = 0
    for i in range(8):
        if i > 0:
            r += last
        for _ in range(i):
            r += last
        last = x[i]
    return r + last


def on_some_way(x: int32) -> int32:
    y: int32
    if x > 0:
        y = 1
    return y


def by_bits(x: uint8) -> uint8:
    y: uint8
    y[0:4] = x[4:8]
    y[4:8] = x[0:4]
    return y


def by_a_callee(x: int32[8], n: int32) -> int32:
    t: int32[8]
    fill(t, n)
    return t[0] + x[0]


def fill(t: int32[8], n: int32):
    for i in range(8):
        t[i] = n


def until(x: int32[8]) -> int32:
    found: int32
    i: int32 = 0
    while i < 8:
        if x[i] == 3:
            found = i
            break
        i += 1
    return found


def shifting(x: int32[8], y: int32[8]):
    window: int32[3]
    for i in range(8):
        for k in range(2):
            window[k] = window[k + 1]
        window[2] = x[i]
        y[i] = window[0] if i > 1 else 0


@pytest.mark.parametrize(
    "kernel", [previous, on_some_way, by_bits, by_a_callee, until, shifting, excluded]
)
def test_ordinary_code_does_not_warn(kernel):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UninitializedWarning)
        allo.customize(kernel)
    assert [str(w.message) for w in caught] == []
