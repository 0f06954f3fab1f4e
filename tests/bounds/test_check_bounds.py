"""``build(check_bounds=True)``: the first subscript out of range is an error, on every target."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import allo
from allo.errors import BoundsError
from allo.ir.types import int8, int16, int32, uint8

from .checked import TARGETS

FAST = ["cpu", "csim", "jit"]


def scatter(x: int32[8], k: uint8[8], y: int32[8]):
    for i in range(8):
        y[k[i]] = x[i] + 1  # fails


def gather(x: int32[8], k: int8[8], y: int32[8]):
    for i in range(8):
        y[i] = x[k[i]] * 2  # fails


def shifted(x: int32[10], n: int32, y: int32[10]):
    for i in range(10):
        y[i] = x[i]
    for i in range(10):
        y[i + n] = x[9 - i]  # fails


def two_dimensions(x: int16[4, 6], r: int32, c: int32):
    for i in range(4):
        for j in range(6):
            x[i, j] += 1
    for i in range(4):
        for j in range(6):
            x[i + r, j + c] = x[i, j] + 9  # fails


def element(a: int32[8], i: int32) -> int32:
    return a[i]  # fails


def in_a_function(x: int32[8], n: int32, y: int32[8]):
    for i in range(8):
        y[i] = element(x, i + n)


def in_a_while(x: int32[8], n: int32, y: int32[1]):
    i: int32 = 0
    while x[i] != n:  # fails
        i += 1
        y[0] = i


def in_a_branch(x: int32[8], n: int32, y: int32[8]):
    for i in range(8):
        if x[i] > 4:
            y[x[i] + n] = i  # fails
        else:
            y[i] = -i


def twice(row: int32[6], c: int32, out: int32[8]):
    out[c] = row[c]  # fails


def a_row(x: int32[4, 6], r: int32, out: int32[8]):
    twice(x[r], 3, out)
    twice(x[1], r, out)


def vectors(kernel):
    """Arguments that are in range, and some that are not."""
    rng = np.random.default_rng(len(kernel.__name__))
    x = rng.integers(0, 8, 8).astype(np.int32)
    y = np.zeros(8, np.int32)
    match kernel.__name__:
        case "scatter" | "gather":
            ok = rng.permutation(8)
            bad = ok.copy()
            bad[5] = 8
            far = ok.copy()
            far[2], far[4] = 100, 120
            kind = np.uint8 if kernel is scatter else np.int8
            sets = [ok, bad, far]
            if kernel is gather:
                sets.append(np.where(ok == 3, -1, ok))
            return [(x, k.astype(kind), y) for k in sets]
        case "shifted":
            z = np.arange(10, dtype=np.int32)
            return [(z, n, np.zeros(10, np.int32)) for n in (0, 1, 9, -1, 10**6)]
        case "two_dimensions":
            z = np.arange(24, dtype=np.int16).reshape(4, 6)
            return [(z, r, c) for r, c in ((0, 0), (1, 0), (0, 1), (-1, -1), (0, 6), (4, 9))]
        case "in_a_while":
            z = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
            return [(z, n, np.zeros(1, np.int32)) for n in (3, 9, 6, 7)]
        case "in_a_branch":
            return [(x, n, y) for n in (-5, 0, 1, 3)]
        case "a_row":
            z = np.arange(24, dtype=np.int32).reshape(4, 6)
            return [(z, r, y) for r in (0, 3, 4, -1)]
    return [(x, n, y) for n in (0, 1, 5, -2)]


KERNELS = [
    scatter,
    gather,
    shifted,
    two_dimensions,
    in_a_function,
    in_a_while,
    in_a_branch,
]


def failing_line(kernel) -> int:
    """The line of the kernel, or of what it calls, that is marked."""
    called = {"in_a_function": element, "a_row": twice}.get(kernel.__name__, kernel)
    lines, first = inspect.getsourcelines(called)
    return first + next(n for n, line in enumerate(lines) if "# fails" in line)


def python_failure(kernel, args):
    """The subscript that fails in plain Python, or None, and the arrays it leaves."""
    from .checked import Checked

    given = [Checked(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        kernel(*given)
    except IndexError as error:
        return tuple(error.args[0]), [g.values for g in given if isinstance(g, Checked)]
    return None, [g.values for g in given if isinstance(g, Checked)]


def check(kernel, module, args):
    """A call agrees with Python: arrays, and the subscript, array and line of a failure."""
    index, want = python_failure(kernel, args)
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    if index is None:
        module(*given)
    else:
        with pytest.raises(BoundsError) as caught:
            module(*given)
        error = caught.value
        assert error.index == index
        assert error.place is not None and error.place.line == failing_line(kernel)
        assert f"[{', '.join(map(str, index))}] of an array of shape" in str(error)
        assert "# fails" in str(error) and "^" in str(error)
    got = [g for g in given if isinstance(g, np.ndarray)]
    for mine, right in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, right)
    return index is not None


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_first_subscript_out_of_range_ends_the_run(kernel, target):
    module = allo.customize(kernel).build(check_bounds=True, **TARGETS[target])
    failed = [check(kernel, module, args) for args in vectors(kernel)]
    assert any(failed) and not all(failed)
