"""feed: operands of a product pass from cell to cell, whatever the function is called."""

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import int8, int32
from tests.schedule.support import count, refused

M, N, K = 3, 2, 4


def product(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    for i, j, k in allo.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]


def transposed(A: int8[K, M], B: int8[N, K], C: int32[M, N]):
    for i, j in allo.grid(M, N):
        for k in range(K):
            C[i, j] = C[i, j] + A[k, i] * B[j, k] + A[k, i]


def twice(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    product(A, B, C)
    for i, j in allo.grid(M, N):
        C[i, j] = C[i, j] * 2


def doubled(X: int32[K, K], Y: int32[K, K], Z: int32[K, K]):
    for i, j, k in allo.grid(K, K, K):
        Z[i, j] += X[i, k] * Y[k, j]


def square(X: int32[K, K], Y: int32[K, K]):
    doubled(X, Y, X)


def blur(A: int32[6, 7], T: int32[4, 7]):
    for i, j in allo.grid(4, 7):
        v: int32 = 0
        for q in allo.reduction(3):
            v += A[i + q, j]
        T[i, j] = v


def arrays(kernel) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    kinds = [k for k in kernel.__annotations__.values() if k is not None]
    return [
        rng.integers(-99, 99, k.shape).astype(np.int8 if k is not kinds[-1] else np.int32)
        for k in kinds
    ]


def same_as_unscheduled(kernel, s) -> None:
    want, got = arrays(kernel), arrays(kernel)
    allo.customize(kernel).build()(*want)
    s.build()(*got)
    np.testing.assert_array_equal(got[-1], want[-1])


@pytest.mark.parametrize("kernel", [product, transposed])
def test_fed_products_compute_the_same(kernel):
    s = allo.customize(kernel)
    assert s.systolic
    left, right = s.feed(s.A, "j"), s.feed(s.B, "i")
    assert (left, right) == (s.A_fifo, s.B_fifo)
    assert list(dict(s.get_loops())) == ["load_A", "load_B", "PE", "drain_B", "drain_A"]
    same_as_unscheduled(kernel, s)
    cells = s.unfold("PE", [0, 1])
    s.to(left, cells, axis=1, depth=M + 1)
    s.to(right, cells, axis=0, depth=N + 1)
    same_as_unscheduled(kernel, s)
    assert count(s, "stream:4;SST") and count(s, "stream:3;SST")


def test_the_published_spelling_feeds_an_operand_of_any_function():
    s, published = allo.customize(product), allo.customize(product)
    s.feed(s.A, "j")
    assert published.buffer_at(published.A, "j") == published.A_fifo
    assert str(published.module) == str(s.module)


def test_the_result_of_a_product_is_still_buffered():
    def gemm(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
        for i, k, j in allo.grid(M, K, N):
            C[i, j] += A[i, k] * B[k, j]

    s = allo.customize(gemm)
    row = s.buffer_at(s.C, "i")
    assert row.name == "C_row"
    same_as_unscheduled(gemm, s)


def test_compose_feeds_the_operand_of_the_callee():
    inner, s = allo.customize(product), allo.customize(twice)
    inner.feed("A", "j")
    s.compose(inner)
    assert "A_fifo" in [
        line.split('"')[1] for line in str(s.module).splitlines() if "alloc" in line
    ]
    same_as_unscheduled(twice, s)


def test_an_operand_that_is_written_by_another_name_is_refused():
    s = allo.customize(square)
    refused(
        s,
        ScheduleError,
        r"feed: cannot let X flow along loop j: its nest writes it by another name: a call passes "
        r"the array twice\..*help: give the function one parameter for it\.",
        lambda: s.feed("doubled:X", "doubled:j"),
    )


def test_what_is_no_operand_is_refused():
    s = allo.customize(blur)
    refused(
        s,
        ScheduleError,
        r"feed: cannot let A flow along loop j: it is no operand of a product in this nest\..*"
        r"help: three loops, one inside the other, add up products of arrays that each have two of "
        r"their indices as subscripts\.",
        lambda: s.feed(s.A, "j"),
    )
    assert not s.systolic
    refused(
        s, ScheduleError, "use reuse_at for arrays that are read", lambda: s.buffer_at(s.A, "j")
    )


def test_the_result_of_a_product_cannot_be_fed():
    s = allo.customize(product)
    refused(s, ScheduleError, "it is no operand of a product", lambda: s.feed(s.C, "j"))
