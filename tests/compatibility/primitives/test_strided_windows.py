"""``reuse_at`` where the window slides by several elements, and where it has gaps."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import int32
from tests.compatibility.runs import check_results, numbers


def line(stride: int, size: int, dilation: int):
    count = (24 - (size - 1) * dilation - 1) // stride + 1

    def sums(A: int32[24]) -> int32[count]:
        B: int32[count]
        for y in range(count):
            v: int32 = 0
            for r in allo.reduction(size):
                v += A[stride * y + dilation * r] * (r + 1)
            B[y] = v
        return B

    return sums


@pytest.mark.parametrize(
    ("stride", "size", "dilation"),
    [(2, 3, 1), (2, 4, 1), (3, 5, 1), (1, 3, 2), (2, 3, 2), (3, 2, 4)],
)
def test_a_window_of_a_line(stride, size, dilation):
    kernel = line(stride, size, dilation)
    s = allo.customize(kernel)
    s.reuse_at(s.A, "y")
    A = numbers(24)
    count = (24 - (size - 1) * dilation - 1) // stride + 1
    want = [sum(A[stride * y + dilation * r] * (r + 1) for r in range(size)) for y in range(count)]
    check_results(s, [A], np.array(want))
    reads = [x for x in str(s.module).splitlines() if "affine.load %arg0" in x]
    assert len(reads) == stride, "each iteration reads as many new elements as it slides by"


def image(stride: int, dilation: int):
    count = (11 - 2 * dilation - 1) // stride + 1

    def conv(A: int32[11, 11], F: int32[3, 3]) -> int32[count, count]:
        B: int32[count, count]
        for y, x in allo.grid(count, count):
            v: int32 = 0
            for r, c in allo.reduction(3, 3):
                v += A[stride * y + dilation * r, stride * x + dilation * c] * F[r, c]
            B[y, x] = v
        return B

    return conv


def convolved(A: np.ndarray, F: np.ndarray, stride: int, dilation: int) -> np.ndarray:
    count = (A.shape[-1] - 2 * dilation - 1) // stride + 1
    want = np.zeros((count, count), np.int64)
    for y, x in np.ndindex(count, count):
        rows = slice(stride * y, stride * y + 2 * dilation + 1, dilation)
        columns = slice(stride * x, stride * x + 2 * dilation + 1, dilation)
        want[y, x] = (A[..., rows, columns] * F).sum()
    return want


@pytest.mark.parametrize(("stride", "dilation"), [(2, 1), (1, 2), (2, 2)])
def test_a_line_buffer_and_a_window_of_an_image(stride, dilation):
    s = allo.customize(image(stride, dilation))
    lines = s.reuse_at(s.A, "y")
    window = s.reuse_at(lines, "x")
    s.partition(lines, dim=1)
    s.partition(window)
    A, F = numbers(11, 11), numbers(3, 3)
    check_results(s, [A, F], convolved(A, F, stride, dilation))


def test_channels():
    def conv(A: int32[2, 9, 9], F: int32[2, 3, 3]) -> int32[4, 4]:
        B: int32[4, 4]
        for y, x in allo.grid(4, 4):
            v: int32 = 0
            for c, r, q in allo.reduction(2, 3, 3):
                v += A[c, 2 * y + r, 2 * x + q] * F[c, r, q]
            B[y, x] = v
        return B

    s = allo.customize(conv)
    lines = s.reuse_at(s.A, "y")
    s.reuse_at(lines, "x")
    A, F = numbers(2, 9, 9), numbers(2, 3, 3)
    check_results(s, [A, F], convolved(A, F, 2, 1))


def test_pooling_with_a_border():
    def pool(A: int32[8, 8]) -> int32[4, 4]:
        B: int32[4, 4]
        for y, x in allo.grid(4, 4):
            v: int32 = 0
            for r, c in allo.reduction(3, 3):
                if 2 * y + r - 1 >= 0 and 2 * x + c - 1 >= 0:
                    v += A[2 * y + r - 1, 2 * x + c - 1]
            B[y, x] = v
        return B

    s = allo.customize(pool)
    s.reuse_at(s.A, "y")
    A = numbers(8, 8)
    padded = np.pad(A, ((1, 0), (1, 0)))
    check_results(s, [A], convolved(padded, np.ones((3, 3), int), 2, 1))


@pytest.mark.parametrize(
    ("stride", "size", "pattern"),
    [
        (3, 3, "no element is read by two iterations"),
        (4, 2, r"reuse needs a window larger than the stride of 4, such as A\[4 \* y \+ r\]"),
    ],
)
def test_windows_that_do_not_overlap_are_refused(stride, size, pattern):
    s = allo.customize(line(stride, size, 1))
    before = str(s.module)
    with pytest.raises(ScheduleError, match=pattern):
        s.reuse_at(s.A, "y")
    assert str(s.module) == before


def test_a_window_that_slides_backwards_is_refused():
    def back(A: int32[12]) -> int32[8]:
        B: int32[8]
        for y in range(8):
            B[y] = A[10 - y] + A[11 - y]
        return B

    s = allo.customize(back)
    with pytest.raises(
        ScheduleError, match="one positive number of elements an iteration, but by -1"
    ):
        s.reuse_at(s.A, "y")
