"""The CPU build changes the order of loops: where that pays, and never what an element goes through."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.errors import BoundaryError
from allo.ir.types import float32, index, int32

M, N, K = 9, 11, 14


def product(A: float32[M, K], B: float32[K, N], C: float32[M, N]):
    for i in range(M):
        for j in range(N):
            C[i, j] = 0.5
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]
            C[i, j] *= 3.0


def triangle(A: float32[N, N], B: float32[N, M]):
    for i in range(N):
        for j in range(M):
            for k in range(i + 1, N):
                B[i, j] += A[k, i] * B[k, j]


def columns(A: float32[K, N], total: float32[N], last: int32[N]):
    for j in range(N):
        for i in range(K):
            total[j] += A[i, j]
            last[j] = i


def transposed(A: float32[N, N]):
    for i in range(N):
        for j in range(N):
            A[i, j] += A[j, i]


def shifted(A: float32[N, N], B: float32[N, N]):
    for j in range(1, N):
        for k in range(N):
            A[k, j] += A[k, j - 1] * B[k, j]


def scalar(A: float32[N, K], B: float32[N], out: float32[1]):
    for j in range(K):
        for k in range(N):
            out[0] = out[0] * 0.5 + A[k, j] * B[k]


def crossing(A: float32[K, N], B: float32[N], C: float32[N]):
    for j in range(N):
        b: float32 = B[j]
        for k in range(K):
            C[j] += A[k, j] * b
        C[j] += b


def short(A: float32[K, N], C: float32[N]):
    for j in range(3):
        for k in range(K):
            C[j] += A[k, j]


def long_enough(A: float32[K, 8], C: float32[8]):
    for j in range(8):
        for k in range(K):
            C[j] += A[k, j]


def not_long_enough(A: float32[K, 7], C: float32[7]):
    for j in range(7):
        for k in range(K):
            C[j] += A[k, j]


def add_across(A: float32[N, N], B: float32[N, N]):
    for j in range(1, N):
        for k in range(N):
            A[k, j] += B[k, j - 1] * 0.25


def passes_one_array_twice(A: float32[N, N]):
    add_across(A, A)


def passes_two_arrays(A: float32[N, N], B: float32[N, N]):
    add_across(A, B)


def rows_by_position(A: float32[K, N], C: float32[N], first: index):
    for k in range(K):
        for j in range(N):
            C[j] += A[k, j] * (k + j)


def long_rows(A: float32[M, 40], B: float32[M, 40]):
    for i in range(M):
        for j in range(1, 39):
            B[i, j] = A[i, j - 1] + A[i, j] + A[i, j + 1]


def recurrence(A: float32[7, K], B: float32[7, K]):
    for i in range(7):
        for j in range(1, K):
            below: float32 = B[i, j - 1] * 0.5 + A[i, j]
            below = below * below + 1.0
            B[i, j] = A[i, j - 1] / below


def sums(A: float32[7, K], B: float32[K], out: float32[7]):
    for i in range(7):
        for j in range(K):
            out[i] += A[i, j] * B[j]


def carried(A: float32[7, K], B: float32[7, K]):
    last: float32 = 0.0
    for i in range(7):
        for j in range(K):
            B[i, j] = A[i, j] + last * 0.5
            last = A[i, j] - B[i, j]


def wavefront(A: float32[8, K], B: float32[8, K]):
    for i in range(1, 8):
        for j in range(1, K):
            A[i, j] = A[i - 1, j] * 0.5 + A[i, j - 1] + B[i, j]


def diagonal(A: float32[2, K], V: float32[28]):
    for k in range(K):
        for j in range(K):
            V[j + k] = V[j + k] * 0.5 + A[0, j]
            A[1, j] += V[j + k]


MOVED = {
    "product": (product, ["i", "j", "k", "j", "k", "j", "j"]),
    "triangle": (triangle, ["i", "k", "j", "k", "j"]),
    "columns": (columns, ["i", "j", "i", "j"]),
    "passes_two_arrays": (passes_two_arrays, ["k", "j"]),
    "recurrence": (recurrence, ["i", "j", "i", "j"]),
    "sums": (sums, ["i", "j", "i", "j"]),
    "long_enough": (long_enough, ["k", "j", "k", "j"]),
    "long_rows": (long_rows, ["i", "j", "j"]),
}
LEFT = {
    "transposed": (transposed, ["i", "j"]),
    "shifted": (shifted, ["j", "k"]),
    "scalar": (scalar, ["j", "k"]),
    "crossing": (crossing, ["j", "k"]),
    "rows_by_position": (rows_by_position, ["k", "j"]),
    "carried": (carried, ["i", "j"]),
    "diagonal": (diagonal, ["k", "j"]),
    "wavefront": (wavefront, ["i", "j"]),
    "not_long_enough": (not_long_enough, ["j", "k", "j", "k"]),
    "short": (short, ["j", "k"]),
    "passes_one_array_twice": (passes_one_array_twice, ["j", "k"]),
}
ALL = MOVED | LEFT


def loops(module: allo.LLVMModule) -> list[str]:
    return re.findall(r'loop_name = "(\w+)"', _outside_in(str(module.intermediate_module)))


def _outside_in(text: str) -> str:
    """The text with the attributes of each loop, printed behind its body, before it."""
    lines: list[str] = []
    opened: list[int] = []
    for line in text.splitlines():
        if "affine.for %" in line:
            opened.append(len(lines))
            lines.append("")
        elif line.lstrip().startswith("}") and "loop_name" in line:
            lines[opened.pop()] = line
    return "\n".join(lines)


def arguments(kernel, seed: int) -> list:
    rng = np.random.default_rng(seed)
    signature = allo.customize(kernel).build().signature
    made: list = []
    for parameter in signature.arguments:
        if parameter.shape is None:
            made.append(2)
        elif parameter.dtype.name == "i32":
            made.append(rng.integers(-9, 9, parameter.shape, np.int32))
        else:
            made.append(rng.standard_normal(parameter.shape, np.float32))
    return made


@pytest.mark.parametrize("name", ALL)
def test_loops_stand_in_the_order_that_is_legal_and_pays(name: str) -> None:
    kernel, order = ALL[name]
    assert loops(allo.customize(kernel).build()) == order


@pytest.mark.parametrize("name", ALL)
def test_every_element_is_what_python_computes(name: str) -> None:
    kernel, _ = ALL[name]
    module = allo.customize(kernel).build()
    for seed in range(3):
        found, expected = arguments(kernel, seed), arguments(kernel, seed)
        module(*found)
        allo.interpret(kernel)(*expected)
        for a, b in zip(found, expected, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("count", [3, 4, 5, 7, 8])
def test_any_number_of_steps_is_made(count: int) -> None:
    def sums[C](A: int32[C, 12], out: int32[12]):
        for k in range(C):
            for j in range(12):
                out[j] = out[j] * 3 + A[k, j]

    A = np.arange(count * 12, dtype=np.int32).reshape(count, 12)
    out, expected = np.ones(12, np.int32), np.ones(12, np.int32)
    allo.customize(sums, instantiate=[count]).build()(A, out)
    for row in A:
        expected = expected * 3 + row
    assert np.array_equal(out, expected)


def test_arrays_as_declared_take_the_short_way_and_others_the_long_one() -> None:
    def double(A: int32[8], B: int32[8]):
        for i in range(8):
            B[i] = A[i] * 2

    module = allo.customize(double).build()
    memory = np.arange(24, dtype=np.int32)
    A, B = memory[:8], memory[8:16]
    frame = module._direct.pack([A, B])
    assert {A.ctypes.data, B.ctypes.data} < set(frame.words)
    module(A, B)
    assert B.tolist() == [2 * n for n in range(8)]
    for others in ([A, memory[4:12]], [A, B[::-1]], [A.astype(np.int64), B], [A], [A, [0] * 8]):
        assert module._direct.pack(others) is None
    message = "Argument B of double, declared i32.8.: the array shares memory with argument A"
    with pytest.raises(BoundaryError, match=message):
        module(A, memory[4:12])
    B.flags.writeable = False
    with pytest.raises(BoundaryError, match="writes this array, but it is read-only"):
        module(A, B)
