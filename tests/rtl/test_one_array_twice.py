"""One array passed for several parameters of a function, or given twice by Python."""

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import BoundaryError, IllegalTransformError
from allo.ir.types import int32
from tests.engine import engine

TARGETS = ({}, {"target": "vhls"}, {"target": "verilog", "simulator": "jit"})


def _everywhere(kernel, arrays, want, schedule=None):
    """Every array after a call, on every target, against what plain Python made of them."""
    for options in TARGETS:
        s = allo.customize(kernel)
        if schedule is not None:
            schedule(s)
        got = [a.copy() for a in arrays]
        s.build(**options)(*got)
        for position, (one, other) in enumerate(zip(got, want, strict=True)):
            np.testing.assert_array_equal(one, other, f"{options} argument {position}")


def dot(A: int32[4, 2], B: int32[4, 2], o: int32[2, 2]):
    for i, j in allo.grid(2, 2):
        s: int32 = 0
        for k in range(4):
            s += A[k, i] * B[k, j]
        o[i, j] = s


def two_calls(X: int32[4, 2], Y: int32[4, 2], oxx: int32[2, 2], oxy: int32[2, 2]):
    dot(X, X, oxx)
    dot(X, Y, oxy)


def one_call(X: int32[4, 2], o: int32[2, 2]):
    dot(X, X, o)


def between(X: int32[4, 2], Y: int32[4, 2], o: int32[2, 2]):
    dot(X, Y, o)


def two_levels(X: int32[4, 2], o: int32[2, 2]):
    between(X, X, o)


X = np.arange(8, dtype=np.int32).reshape(4, 2)
Y = X[::-1].copy() * 3
ZERO = np.zeros((2, 2), np.int32)


def test_reads_at_two_places():
    _everywhere(two_calls, [X, Y, ZERO, ZERO], [X, Y, X.T @ X, X.T @ Y])


@pytest.mark.parametrize("kernel", [one_call, two_levels])
def test_the_only_call(kernel):
    _everywhere(kernel, [X, ZERO], [X, X.T @ X])


def test_verilator_agrees():
    a, b = ZERO.copy(), ZERO.copy()
    allo.customize(two_calls).build(target="verilog")(X, Y, a, b)
    np.testing.assert_array_equal(a, X.T @ X)
    np.testing.assert_array_equal(b, X.T @ Y)


def running(src: int32[16], dst: int32[16]):
    for i in range(15):
        dst[i + 1] = src[i] + dst[i + 1]


def prefix(A: int32[16]):
    running(A, A)


def prefix_and_plain(A: int32[16], B: int32[16], C: int32[16]):
    running(A, A)
    running(B, C)


def test_written_through_one_name_and_read_through_the_other():
    a = np.arange(1, 17, dtype=np.int32)
    _everywhere(prefix, [a], [np.cumsum(a)])
    want = a * 5
    want[1:] += (a * 2)[:-1]
    _everywhere(prefix_and_plain, [a, a * 2, a * 5], [np.cumsum(a), a * 2, want])


def test_pipelined_loops_keep_the_order():
    a = np.arange(1, 17, dtype=np.int32)
    _everywhere(prefix, [a], [np.cumsum(a)], lambda s: s.pipeline("running:i"))


def three(A: int32[8], B: int32[8], C: int32[8], o: int32[8]):
    for i in range(8):
        o[i] = A[i] * 100 + B[7 - i] * 10 + C[(i + 3) % 8]


def thrice(A: int32[8], o: int32[8]):
    three(A, A, A, o)


def some(A: int32[8], B: int32[8], o: int32[8], p: int32[8]):
    three(A, B, A, o)
    three(B, B, A, p)


def _three(a, b, c):
    return a * 100 + b[::-1] * 10 + np.roll(c, -3)


def test_three_parameters():
    a = np.arange(8, dtype=np.int32)
    b, zero = a * a, np.zeros(8, np.int32)
    _everywhere(thrice, [a, zero], [a, _three(a, a, a)])
    _everywhere(some, [a, b, zero, zero], [a, b, _three(a, b, a), _three(b, b, a)])


def add_rows(a: int32[8], b: int32[8], k: int32, o: int32[8]):
    for i in range(8):
        o[i] = a[i] + b[7 - i] * k


def rows(A: int32[4, 8]):
    for h in range(3):
        add_rows(A[h], A[h + 1], h + 2, A[h + 1])


def test_rows_of_one_array():
    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    want = a.copy()
    for h in range(3):
        for i in range(8):
            want[h + 1, i] = want[h, i] + want[h + 1, 7 - i] * (h + 2)
    _everywhere(rows, [a], [want])


def scale(A: int32[8], k: int32, B: int32[8]):
    for i in range(8):
        B[i] = A[i] * k


def scale_rows(A: int32[4, 8], k: int32, B: int32[4, 8]):
    for h in range(4):
        scale(A[h], k, B[h])


def test_a_row_beside_a_scalar():
    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    for options in TARGETS:
        b = np.zeros_like(a)
        allo.customize(scale_rows).build(**options)(a, 3, b)
        np.testing.assert_array_equal(b, a * 3, str(options))


TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.int32)


def constants(o: int32[8]):
    t: int32[8] = TABLE
    three(t, t, t, o)


def test_a_constant_passed_twice():
    _everywhere(constants, [np.zeros(8, np.int32)], [_three(TABLE, TABLE, TABLE)])


@df.region()
def region(A: int32[8], o: int32[8], p: int32[8]):
    @df.kernel(mapping=[1], args=[A, A, o])
    def both(a: int32[8], b: int32[8], c: int32[8]):
        for i in range(8):
            c[i] = a[i] + b[7 - i] * 10

    @df.kernel(mapping=[1], args=[A, p])
    def one(a: int32[8], c: int32[8]):
        for i in range(8):
            c[i] = a[i] * 3


def test_kernels_of_a_region():
    a = np.arange(8, dtype=np.int32)
    for target in ("simulator", "vhls", "verilog"):
        o, p = np.zeros(8, np.int32), np.zeros(8, np.int32)
        df.build(region, target=target, **engine(target))(a, o, p)
        np.testing.assert_array_equal(o, a + a[::-1] * 10, target)
        np.testing.assert_array_equal(p, a * 3, target)


def shifted(A: int32[9, 9], B: int32[9, 9]):
    for i, j in allo.grid(8, 8):
        B[i + 1, j] = A[i, j + 1] + 1


def in_place(A: int32[9, 9]):
    shifted(A, A)


def apart(A: int32[9, 9], B: int32[9, 9]):
    shifted(A, B)


def test_legality_knows_that_the_arrays_are_one():
    s = allo.customize(in_place)
    with pytest.raises(IllegalTransformError) as error:
        s.reorder("shifted:j", "shifted:i")
    text = str(error.value)
    assert "B" in text and "test_one_array_twice.py" in text
    allo.customize(apart).reorder("shifted:j", "shifted:i")
    inner = allo.customize(shifted)
    inner.reorder("j", "i")
    with pytest.raises(IllegalTransformError):
        allo.customize(in_place).compose(inner)
    allo.customize(apart).compose(inner)


def relu(A: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = A[i] if A[i] > 0 else 0


def total(A: int32[8], B: int32[8]) -> int32:
    s: int32 = 0
    for i in range(8):
        s += A[i] * B[7 - i]
    return s


@pytest.mark.parametrize("options", TARGETS, ids=str)
def test_python_gives_one_array_twice(options):
    a = np.arange(8, dtype=np.int32)
    assert allo.customize(total).build(**options)(a, a) == int(a @ a[::-1])
    mod = allo.customize(relu).build(**options)
    memory = np.arange(20, dtype=np.int32)
    for one, other in ((a, a), (memory[0:8], memory[4:12]), (memory[7:15], memory[0:8])):
        with pytest.raises(BoundaryError) as error:
            mod(one, other)
        text = str(error.value)
        assert "argument A" in text and "the kernel writes B" in text and "pass a copy" in text
    mod(memory[0:8], memory[8:16])
    np.testing.assert_array_equal(memory[8:16], np.arange(8))
