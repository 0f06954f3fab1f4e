"""Stencils through reuse_at become one pipeline that reads each element once, borders included."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import int8, int32
from allo.schedule import Schedule

D, H, W = 4, 5, 7


def five_points[T](A: T[H, W], B: T[H, W]):
    """Inner elements only."""
    for y in range(1, H - 1):
        for x in range(1, W - 1):
            B[y, x] = A[y - 1, x] + A[y, x - 1] - A[y, x] + A[y, x + 1] + A[y + 1, x]


def to_the_border[T](A: T[H, W], B: T[H, W]):
    """Conditions where a neighbour is missing."""
    for y, x in allo.grid(H, W):
        total: T = A[y, x]
        if y > 0:
            total += A[y - 1, x]
        if y < H - 1:
            total += A[y + 1, x]
        if x > 0:
            total -= A[y, x - 1]
        if x < W - 1:
            total -= A[y, x + 1]
        B[y, x] = total


def two_arrays[T](A: T[H, W], C: T[H, W], B: T[H, W]):
    """Windows of two arrays over the same loops."""
    for y in range(1, H - 1):
        for x in range(1, W - 1):
            B[y, x] = A[y - 1, x - 1] + A[y, x + 1] - C[y, x - 1] + C[y + 1, x + 1]


def upright[T](A: T[H, W], B: T[H, W]):
    """A line buffer alone."""
    for y in range(H - 2):
        for x in range(W):
            B[y, x] = A[y, x] - A[y + 2, x]


def seven_points[T](A: T[D, H, W], B: T[D, H, W]):
    """Planes, rows and a window."""
    for z in range(1, D - 1):
        for y in range(1, H - 1):
            for x in range(1, W - 1):
                sides: T = A[z - 1, y, x] + A[z + 1, y, x] - A[z, y - 1, x] - A[z, y + 1, x]
                B[z, y, x] = sides + A[z, y, x - 1] + A[z, y, x + 1]


def stream(s: Schedule, name: str, axes: str) -> None:
    """A buffer at every axis, each banked over its windows."""
    buffer = getattr(s, name)
    for depth, axis in enumerate(axes):
        buffer = s.reuse_at(buffer, axis)
        for dim in range(1, depth + 2):
            s.partition(buffer, dim=dim)


CASES = [
    (five_points, "A", "yx", H * W),
    (to_the_border, "A", "yx", (H + 2) * (W + 2)),
    (two_arrays, "AC", "yx", (H - 1) * W),
    (upright, "A", "y", H * W),
    (seven_points, "A", "zyx", D * H * W),
]


@pytest.mark.parametrize("element", [int8, int32], ids=str)
@pytest.mark.parametrize(("kernel", "arrays", "axes", "trips"), CASES)
def test_a_stencil_is_one_pipeline(
    kernel: Callable[..., None], arrays: str, axes: str, trips: int, element
):
    s = allo.customize(kernel, instantiate=[element])
    for name in arrays:
        stream(s, name, axes)
    s.pipeline("x")
    plain, cpu = allo.customize(kernel, instantiate=[element]).build(), s.build()
    rtl = s.build(target="verilog", simulator="jit")
    loops = rtl.report.functions[-1].loops
    assert [(loop.ii, loop.trips, loop.children) for loop in loops] == [(1, trips, [])]
    shape = (D, H, W)[-len(axes) :] if kernel is seven_points else (H, W)
    rng = np.random.default_rng(5)
    given = [rng.integers(-50, 50, shape).astype(str(element).replace("i", "int")) for _ in "ABC"]
    runs = [[a.copy() for a in given[: len(arrays) + 1]] for _ in range(3)]
    for build, run in zip((plain, cpu, rtl), runs, strict=True):
        build(*run)
    for expected, *found in zip(*runs, strict=True):
        for array in found:
            np.testing.assert_array_equal(array, expected)


def test_two_arrays_share_one_prologue_in_any_order():
    s = allo.customize(two_arrays, instantiate=[int32])
    stream(s, "A", "yx")
    stream(s, "C", "yx")
    other = allo.customize(two_arrays, instantiate=[int32])
    lines = [other.reuse_at(array, "y") for array in (other.A, other.C)]
    for line in lines:
        other.reuse_at(line, "x")
    for text in (str(s.module), str(other.module)):
        assert re.findall(r"affine.for %\w+ = (1 to \d+)", text) == [f"1 to {H}", f"1 to {W + 1}"]


def test_a_tile_slides_too():
    def tiled(A: int32[18], B: int32[16]):
        for i in range(16):
            B[i] = A[i] + 2 * A[i + 1] + 3 * A[i + 2]

    s = allo.customize(tiled)
    s.split("i", 8)
    s.reuse_at(s.A, "i.inner")
    A = np.arange(18, dtype=np.int32) ** 2
    expected, found = np.zeros((2, 16), np.int32)
    allo.customize(tiled).build()(A, expected)
    s.build()(A, found)
    np.testing.assert_array_equal(found, expected)


def test_an_array_filled_too_late_is_refused():
    def late(A: int32[16], B: int32[16]):
        for i in range(1, 15):
            A[i] = B[i] + 1
            if i > 3:
                B[i] = A[i - 1] + A[i] + A[i + 1]

    s = allo.customize(late)
    with pytest.raises(ScheduleError, match="at loop i: the array is written inside the loop"):
        s.reuse_at(s.A, "i")
