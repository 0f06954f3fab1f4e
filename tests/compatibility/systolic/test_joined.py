"""Products of the library joined: a FIFO from one to the next, and tiles that follow each other."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import float32, int8, int32
from allo.library.systolic import systolic, systolic_tile
from tests.compatibility.runs import check_outputs, check_results


def small(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).integers(-8, 8, shape).astype(np.int8)


def layers(M, K, N, P, first, second):
    def ffn(X: int8[M, K], W1: int8[K, N], W2: int8[N, P]) -> int32[M, P]:
        Z: int8[M, N]
        Y: int32[M, P]
        systolic[int8, int8, int8, M, K, N, first[0], first[1], "first_call"](X, W1, Z)
        systolic[int8, int8, int32, M, N, P, second[0], second[1], "second_call"](Z, W2, Y)
        return Y

    return ffn


def expected(X, W1, W2):
    return (X.astype(int) @ W1).astype(np.int8).astype(int) @ W2


@pytest.mark.parametrize(
    ("sizes", "first", "second", "depth"),
    [
        ((4, 4, 8, 4), (2, 2), (2, 2), -1),
        ((5, 3, 7, 4), (2, 2), (2, 3), 4),
        ((4, 3, 4, 5), (4, 4), (4, 1), 1),
    ],
)
def test_two_products_joined_by_a_fifo(sizes, first, second, depth):
    M, K, N, P = sizes
    s = allo.customize(layers(M, K, N, P, first, second))
    s.compose(systolic, id="first_call", instantiate=[int8, int8, int8, M, K, N, *first])
    s.compose(systolic, id="second_call", instantiate=[int8, int8, int32, M, N, P, *second])
    s.to(s.Z, "second_call", depth=depth)
    held = M * N if depth == -1 else depth
    assert f'memref<{M}x{N}xi8, "stream:{held}">' in str(s.module)
    X, W1, W2 = small(M, K), small(K, N), small(N, P)
    check_results(s, [X, W1, W2], expected(X, W1, W2))


def test_the_fifo_without_a_schedule_and_by_the_name_of_the_function():
    for name in ("second_call", "systolic_second_call"):
        s = allo.customize(layers(4, 4, 4, 4, (2, 2), (2, 2)))
        s.to(s.Z, name)
        text = str(s.build(target="vhls"))
        assert "#pragma HLS stream variable=Z depth=16" in text
        X, W1, W2 = small(4, 4), small(4, 4, seed=1), small(4, 4, seed=2)
        check_results(s, [X, W1, W2], expected(X, W1, W2))


def test_three_products_in_a_chain_of_fifos():
    def chain(
        A: float32[4, 4], B: float32[4, 4], C: float32[4, 4], D: float32[4, 4]
    ) -> float32[4, 4]:
        X: float32[4, 4]
        Y: float32[4, 4]
        Z: float32[4, 4]
        systolic[float32, float32, float32, 4, 4, 4, 2, 2, "a"](A, B, X)
        systolic[float32, float32, float32, 4, 4, 4, 2, 2, "b"](X, C, Y)
        systolic[float32, float32, float32, 4, 4, 4, 2, 2, "c"](Y, D, Z)
        return Z

    s = allo.customize(chain)
    for id in ("a", "b", "c"):
        s.compose(systolic, id=id)
    s.to(s.X, "b")
    s.to(s.Y, "c")
    arrays = [small(4, 4, seed=n).astype(np.float32) for n in range(4)]
    check_results(s, arrays, arrays[0] @ arrays[1] @ arrays[2] @ arrays[3])


def test_rows_of_tiles_of_another_height_are_refused():
    s = allo.customize(layers(4, 4, 8, 4, (4, 2), (2, 2)))
    before = str(s.module)
    with pytest.raises(IllegalTransformError, match="reads its elements in another order"):
        s.to(s.Z, "second_call")
    assert str(s.module) == before


def test_an_unknown_consumer_is_refused():
    s = allo.customize(layers(4, 4, 8, 4, (2, 2), (2, 2)))
    with pytest.raises(ScheduleError, match="'third_call' is no band or callee of ffn") as raised:
        s.to(s.Z, "third_call")
    assert "did you mean" in str(raised.value)
    with pytest.raises(ScheduleError, match="first_call does not read the array"):
        s.to(s.Z, "first_call")


def test_the_result_of_a_tile_is_the_operand_of_the_next():
    def two(A: int32[4, 4], B: int32[4, 4], D: int32[4, 4], C: int32[4, 4]):
        T: int32[4, 4]
        systolic_tile[int32, int32, int32, 4, 4, 4](A, B, T)
        systolic_tile[int32, int32, int32, 4, 4, 4](T, D, C)

    A, B, D = (small(4, 4, seed=n).astype(np.int32) for n in range(3))
    check_outputs(allo.customize(two), [A, B, D], A @ B @ D)


def test_tiles_of_other_shapes_and_of_both_operands():
    def three(A: int8[2, 3], B: int8[3, 4], D: int8[4, 2], C: int32[2, 2]):
        T: int8[2, 4]
        U: int8[2, 2]
        systolic_tile[int8, int8, int8, 3, 2, 4](A, B, T)
        systolic_tile[int8, int8, int8, 4, 2, 2](T, D, U)
        systolic_tile[int8, int8, int32, 2, 2, 2](U, U, C)

    A, B, D = small(2, 3), small(3, 4), small(4, 2)
    U = ((A.astype(int) @ B).astype(np.int8).astype(int) @ D).astype(np.int8).astype(int)
    check_outputs(allo.customize(three), [A, B, D], (U @ U).astype(np.int32))


def test_a_tile_called_in_a_loop_on_its_own_result():
    def powers(A: int32[3, 3], C: int32[3, 3]):
        T: int32[3, 3]
        for i, j in allo.grid(3, 3):
            C[i, j] = A[i, j]
        for _ in range(2):
            systolic_tile[int32, int32, int32, 3, 3, 3](C, A, T)
            for i, j in allo.grid(3, 3):
                C[i, j] = T[i, j]

    A = small(3, 3).astype(np.int32)
    check_outputs(allo.customize(powers), [A], A @ A @ A)
