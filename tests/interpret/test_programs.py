"""Whole kernels, with results worked out here in plain Python or by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.ir.types import (
    ConstExpr,
    Int,
    Stateful,
    Struct,
    UInt,
    bfloat16,
    float32,
    index,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

N = 6
TABLE = np.array([3, 1, 4, 1, 5, 9], np.int32)


def test_loops_of_every_shape() -> None:
    def kernel(n: int32, out: int32[N]):
        for i in range(N - 1, -1, -1):
            out[i] = 0
            for j in range(i):
                out[i] += j
            for j in range(max(i, 2), min(n, N), 2):
                out[i] += 10 * j

    out = np.full(N, 7, np.int32)
    assert allo.interpret(kernel)(5, out) is None
    wanted = [sum(range(i)) + sum(10 * j for j in range(max(i, 2), 5, 2)) for i in range(N)]
    assert out.tolist() == wanted


def test_break_continue_while_and_return() -> None:
    def kernel(x: int32) -> int32:
        total: int32 = 0
        for i, j in allo.grid(4, 4):
            if j == 2:
                continue
            if i == 2:
                break
            total += 1
        while x > 0:
            x -= 3
            if x == 1:
                return -total
        return total

    run = allo.interpret(kernel)
    assert [run(x) for x in (0, 3, 4, 7, 8)] == [6, 6, -6, -6, 6]


def test_short_circuits_read_what_python_reads() -> None:
    def kernel(i: int32, x: int32[4]) -> int32:
        a: int32 = 0
        if i < 4 and x[i] > 0:
            a += 1
        if i >= 4 or x[i] > 0:
            a += 2
        a += x[i] if i < 4 else 40
        if 3 < i < x[i]:
            a += 100
        return a

    x = np.array([5, -5, 0, 7], np.int32)
    run = allo.interpret(kernel)
    assert [run(i, x) for i in (0, 1, 3)] == [8, -5, 10]
    with pytest.raises(allo.errors.BoundsError, match="subscript 9 of x.*bound is 4"):
        run(9, x)


def test_a_difference_of_index_and_its_width() -> None:
    """Index counts 32 bits for the width of a result, and keeps its 64-bit value until then."""

    def kernel(n: int64) -> (int64, int64, int32):
        total: index = n
        wide = total + total
        narrow = total + n[0:1]
        less: int32 = total < 0
        return wide, narrow, less

    assert allo.interpret(kernel)(-(2**40)) == [-(2**41), 0, 1]


def test_bits_are_written() -> None:
    def kernel(x: UInt(8), y: int8, a: UInt(8)[2]) -> UInt(16):
        x[0] = 1
        x[4:8] = y
        for k in range(2):
            a[k][k] = 1
            a[k][2:5] += 3
        both: UInt(16) = 0
        both[0:8] = x
        both[8:16] = a[1]
        return both

    a = np.array([0, 0b11100], np.uint8)
    assert allo.interpret(kernel)(0x2A, -2, a) == 0x0A << 8 | 0xEB
    assert a.tolist() == [0b01101, 0b01010]


def test_slices_views_and_broadcasting() -> None:
    def row_sum(row: int32[4]) -> int32:
        total: int32 = 0
        for i in range(4):
            total += row[i]
            row[i] = total
        return total

    def kernel(A: int32[4, 4], B: int32[4, 4]) -> int32[4]:
        sums: int32[4]
        A[:, 1] = 7
        A[1:4] = A[0:3]
        for i in range(4):
            sums[i] = row_sum(B[i])
        C = A + sums
        B[0, ::2] = C[3, 1:3]
        return C[0]

    A, B = np.arange(16, dtype=np.int32).reshape(4, 4), np.ones((4, 4), np.int32)
    result = allo.interpret(kernel)(A, B)
    assert A.tolist() == [[0, 7, 2, 3], [0, 7, 2, 3], [4, 7, 6, 7], [8, 7, 10, 11]]
    assert result.tolist() == [4, 11, 6, 7]
    assert B.tolist() == [[11, 2, 14, 4], *[[1, 2, 3, 4]] * 3]


def test_an_element_sees_stores_through_another_name() -> None:
    def add(a: int32[2], b: int32[2]):
        a[0] += 1
        b[0] += a[0]

    def kernel(x: int32[3]):
        add(x[0:2], x[0:2])
        add(x[0:2], x[1:3])

    x = np.array([1, 10, 100], np.int32)
    allo.interpret(kernel)(x)
    assert x.tolist() == [5, 15, 100]
    pair = np.zeros(2, np.int32)
    with pytest.raises(allo.errors.BoundaryError, match="'b' of add overlaps the array of 'a'"):
        allo.interpret(add)(pair, pair)


def scale[T, K: int32](x: T[K], by: int32 = 3) -> T[K]:
    y: T[K]
    for i in range(K):
        y[i] = x[i] * by
    return y


def test_templates_defaults_and_results() -> None:
    def both(a: int32[3]) -> (int32[3], int32):
        return a, a[0] + a[1]

    def kernel(x: int32[3], z: int16[2]) -> (int32[3], int32, int16):
        a = scale[int32, 3](x, by=2)
        b = scale[int16, 2](z)
        c, d = both(scale[int32, 3](a, -1))
        return c, d, b[1]

    x, z = np.array([1, 2, 3], np.int32), np.array([20000, 20000], np.int16)
    c, d, e = allo.interpret(kernel)(x, z)
    assert (c.tolist(), d, e) == ([-2, -4, -6], -6, 60000 - 65536)
    assert allo.interpret(scale, instantiate=[float32, 2])(
        np.array([0.5, 2], np.float32), 3
    ).tolist() == [1.5, 6.0]


def test_compile_time() -> None:
    def twice(n):
        return 2 * n

    def kernel[T]() -> int32:
        k: ConstExpr[index] = twice(N) - 2
        total: int32 = 0
        with allo.meta_for(1, k, 4) as i:
            with allo.meta_if(i == 5):
                total += TABLE[i]
            with allo.meta_elif(T.bits == 16):
                total += 100
            with allo.meta_else():
                total += 1000
        return total + k

    assert allo.interpret(kernel, [int16])() == 100 + 9 + 100 + 10
    assert allo.interpret(kernel, [int32])() == 1000 + 9 + 1000 + 10


def test_state_stays_between_calls() -> None:
    def count(by: int32) -> int32:
        total: int32 @ Stateful = 5
        total += by
        return total

    def kernel(x: int32) -> int32:
        last: int32[2] @ Stateful = [1, 2]
        last[1] = last[0]
        last[0] = count(x) + count(x)
        return last[1]

    run = allo.interpret(kernel)
    assert [run(1), run(1), run(1)] == [1, 6 + 7, 8 + 9]
    run.reset()
    assert run(0) == 1


def test_structs() -> None:
    pair = Struct({"x": Int(8), "y": UInt(8)})

    def kernel(bits: UInt(16)[2], p: pair) -> pair:
        local: pair[2]
        for i in range(2):
            q: pair = bits[i]
            local[i] = q
            local[i]["y"] = q["x"]
        r: pair = {"x": local[1]["y"] + p["x"], "y": 300}
        r["x"] += local[0]["x"]
        return r

    found = allo.interpret(kernel)(np.array([0x01FF, 0x0203], np.uint16), {"x": 100, "y": 0})
    assert found == {"x": 102, "y": 44}


def test_constants_and_copies() -> None:
    def kernel(i: index) -> int32[4]:
        A: int32[2, 2] = [[1, 2], [3, 4]]
        B: int32[2, 2] = A
        B[0, 0] = 50
        C: int32[4] = 0
        C[0:2] = B[0]
        C[2] = A[0, 0] + TABLE[i]
        C[3] = len(C)
        a, b = C[0], C[1]
        a, b = b, a
        C[0] = a
        return C

    assert allo.interpret(kernel)(5).tolist() == [2, 2, 10, 4]


def test_functions_round_correctly() -> None:
    def kernel(x: float32[4]) -> bfloat16[4]:
        y: bfloat16[4]
        for i in range(4):
            y[i] = allo.exp(x[i]) + allo.sqrt(x[i])
        return y

    x = np.array([0.0, 1.0, 2.5, 30.0], np.float32)
    run = allo.interpret(kernel)
    wanted = (np.exp(x.astype(np.float64)).astype(np.float32) + np.sqrt(x)).astype(np.float32)
    assert run(x).astype(np.float32).tolist() == wanted.astype(run(x).dtype).tolist()
    assert run.inexact


MISTAKES = [
    ("x = y_undefined", "UnknownNameError", "'y_undefined' is not defined"),
    ("v: int32\n    A[0] = v", "UndefinedReadError", "v is read before"),
    ("L: int32[3]\n    A[0] = L[1]", "UndefinedReadError", "An element of L is read before"),
    ("A[n] = 1", "BoundsError", "The subscript 7 of A is out of range: its bound is 4"),
    ("A[5] = 1", "ShapeMismatchError", "Index out of range: 5 of A"),
    ("while n > 0:\n        n += 0", "StepsExceededError", "more than 1000 steps"),
    ("assert n < 3, 'small'", "SimulationError", "The assertion failed: small"),
    (
        "for i in range(0, 4, n - 7):\n        A[i] = 0",
        "SimulationError",
        "The step of the loop is 0",
    ),
    ("for n in range(3):\n        A[n] = 0", "UnknownNameError", "choose a different name"),
    ("A[0] = A", "ShapeMismatchError", "An array is assigned to one value"),
    ("n = lambda: 3", "UnsupportedSyntaxError", "Lambda has no meaning in a kernel"),
    (
        "if n > 0:\n        w: int32 = 1\n    A[0] = w",
        "UnknownNameError",
        "'w' ended with its block",
    ),
]


@pytest.mark.parametrize(("line", "error", "message"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_mistakes_are_named(line: str, error: str, message: str) -> None:
    text = f"def f(A: int32[4], n: int32):\n    {line}\n"
    with pytest.raises(getattr(allo.errors, error), match=message) as caught:
        allo.interpret(text, global_vars={"int32": int32}, max_steps=1000)(np.zeros(4, np.int32), 7)
    assert re.match(r"<interpreted [0-9a-f]{8}>:\d+:\d+: ", str(caught.value))
    assert any(part.strip() in str(caught.value) for part in line.splitlines())


def test_arguments_that_do_not_fit() -> None:
    def kernel(A: uint8[2]):
        A[0] = 1

    run = allo.interpret(kernel)
    with pytest.raises(allo.errors.BoundaryError, match="has shape .2., not .3."):
        run(np.zeros(3, np.uint8))
    with pytest.raises(allo.errors.ArgumentCountError, match="got 0 but expected 1"):
        run()


def test_an_index_stays_one_in_subscripts_and_bounds() -> None:
    """Typed by the table, i + 2**40 - 2**40 would be cut to the 34 bits of Index + Int(32)."""

    def kernel(A: int32[4], j: index) -> int32:
        total: int32 = 0
        for i in range(j * 4 - 8, j * 4 - 4):
            total = total * 10 + A[i * 3 - i * 2 - j * 4 + 8]
        return total

    A = np.array([1, 2, 3, 4], np.int32)
    run = allo.interpret(kernel)
    assert run(A, 0) == run(A, 2**50) == 1234


def test_an_affine_subscript_goes_round() -> None:
    def kernel(A: int32[5], n: int32, out: int32[4]):
        for i in range(5):
            out[0] = out[0] * 10 + A[(i - 1) % 5]
            out[1] = out[1] * 10 + A[(n - 2 * i) % 5]
        step = 0 - n
        out[2] = (n - 8) % 5
        out[3] = A[(step + n) % 5]

    A, out = np.arange(5, dtype=np.int32), np.zeros(4, np.int32)
    allo.interpret(kernel)(A, 1, out)
    assert out.tolist() == [40123, 14203, -2, 0]


def test_a_computed_subscript_goes_round_as_a_whole() -> None:
    def kernel(A: int32[5], n: int32) -> int32:
        step = 0 - n
        return A[step % 5]

    def part(A: int32[5], n: int32) -> int32:
        step = 0 - n
        return A[step % 5 + 1]

    A = np.arange(5, dtype=np.int32)
    assert allo.interpret(kernel)(A, -7) == allo.customize(kernel).build()(A, -7) == 2
    assert allo.interpret(kernel)(A, 7) == allo.customize(kernel).build()(A, 7) == 3
    with pytest.raises(allo.errors.BoundsError, match="The subscript -1 of A is out of range"):
        allo.interpret(part)(A, 7)


def test_a_cpp_function_is_run(tmp_path: Path) -> None:
    path = tmp_path / "vadd.cpp"
    path.write_text(
        "void vadd(const int a[4], int *c, int n) { for (int i = 0; i < 4; i++) c[i] += a[i] * n; }"
    )
    vadd = allo.IPModule(top="vadd", impl=str(path), link_hls=False)

    def kernel(A: int32[2, 4]) -> int32[4]:
        C: int32[4] = 1
        vadd(A[1], C, 3)
        vadd(A[0], A[1], 1)
        return C

    A = np.arange(8, dtype=np.int32).reshape(2, 4)
    assert allo.interpret(kernel)(A).tolist() == [13, 16, 19, 22]
    assert A.tolist() == [[0, 1, 2, 3], [4, 6, 8, 10]]
