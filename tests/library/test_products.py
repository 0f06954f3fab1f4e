"""systolic and gemv."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import CompileTimeError
from allo.ir.types import float32, int8, int16, int32
from allo.library import gemv, nn, systolic
from tests.engine import engine
from tests.library.support import builds, floats, int8s


@pytest.mark.parametrize(
    ("M", "K", "N", "Mt", "Nt"),
    [(8, 8, 8, 4, 4), (7, 5, 6, 4, 4), (3, 9, 2, 8, 8), (1, 1, 1, 1, 1)],
)
def test_systolic_of_any_size(M, K, N, Mt, Nt):
    A, B = int8s(M, K), int8s(K, N)
    for module in builds(systolic.systolic, [int8, int8, int32, M, K, N, Mt, Nt]):
        C = np.zeros((M, N), np.int32)
        module(A, B, C)
        np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int))


def test_systolic_in_float():
    A, B = floats(6, 10), floats(10, 5)
    for module in builds(systolic.systolic, [float32, float32, float32, 6, 10, 5, 2, 5]):
        C = np.zeros((6, 5), np.float32)
        module(A, B, C)
        np.testing.assert_allclose(C, A @ B, rtol=1e-5, atol=1e-5)


def test_schedule_systolic_gives_every_cell_its_register():
    s = systolic.systolic.default_schedule([int8, int8, int32, 8, 8, 8, 4, 4])
    text = str(s.module)
    assert "memref<4x4xi32, #map" in text
    assert text.count("pipeline_ii = 1") == 5 + 4 * 4
    assert 'memref<4x5x8xi8, "stream:5;SST">' in text
    assert all(f"call @PE_kernel_{i}_{j}(" in text for i in range(4) for j in range(4))
    with pytest.raises(ValueError, match="Cannot apply `schedule_systolic` to function: relu2d"):
        systolic.schedule_systolic(allo.customize(nn.relu2d, instantiate=[float32, 2, 2]))
    tile = allo.customize(systolic.systolic_tile, instantiate=[int8, int8, int32, 8, 4, 4])
    with pytest.raises(ValueError, match="schedule_systolic` to function: systolic_tile"):
        systolic.schedule_systolic(tile)


@pytest.mark.parametrize(
    ("kernel", "template", "loops"),
    [
        (systolic.packed_systolic, [int8, int8, int32, 4, 6, 4, 2, 2, 2], 5 + 2 * 1),
        (systolic.packed_systolic, [int8, int8, int32, 4, 6, 4, 2, 3, 2], 8 + 2 * 3),
        (systolic.packed_int8xint8_systolic, [4, 6, 4, 2, 4, 2], 5 + 2 * 2),
    ],
)
def test_schedule_systolic_takes_the_packed_products(kernel, template, loops):
    s = systolic.schedule_systolic(allo.customize(kernel, instantiate=template))
    assert str(s.module).count("pipeline_ii = 1") == loops


def test_a_gemm_is_prepared_for_cells():
    def gemm(A: int8[3, 4], B: int8[4, 2], C: int32[3, 2]):
        for m, n, k in allo.grid(3, 2, 4):
            C[m, n] += A[m, k] * B[k, n]

    s = allo.customize(gemm)
    assert systolic.check_systolic(s)
    (band,) = dict(s.get_loops())
    left, right = systolic.prepare_systolic(s, band)
    cells = s.unfold("PE", [0, 1])
    s.to(left, cells, axis=1, depth=4)
    s.to(right, cells, axis=0, depth=3)
    A, B, C = int8s(3, 4), int8s(4, 2), np.ones((3, 2), np.int32)
    s.build(target="vhls")(A, B, C)
    np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int) + 1)
    assert not systolic.check_systolic(s)
    with pytest.raises(ValueError, match="prepare_systolic needs a module of one function with"):
        systolic.prepare_systolic(s, "PE")


def test_two_composed_instances_have_cells_of_their_own():
    product = systolic.systolic

    def both(A: int8[4, 6], B: int8[6, 4], C: int32[4, 4], D: int32[4, 4], E: int32[4, 4]):
        product[int8, int8, int32, 4, 6, 4, 2, 2, "a"](A, B, C)
        product[int8, int8, int32, 4, 6, 4, 4, 2, "b"](A, B, D)
        product[int8, int8, int32, 4, 6, 4, 4, 2, "c"](A, B, E)

    s = allo.customize(both)
    s.compose(product, id="a", instantiate=[int8, int8, int32, 4, 6, 4, 2, 2])
    s.compose(product, id="b", instantiate=[int8, int8, int32, 4, 6, 4, 4, 2])
    text = str(s.module)
    assert 'memref<2x3x6xi8, "stream:3;SST">' in text
    assert 'memref<4x3x6xi8, "stream:5;SST">' in text
    # "c" has the same template as "b" but no schedule: it keeps the functions without FIFOs.
    assert 'name = "A_fifo"} : memref<4x3x6xi8>\n' in text
    A, B = int8s(4, 6), int8s(6, 4)
    for target in ("llvm", "verilog"):
        results = [np.zeros((4, 4), np.int32) for _ in range(3)]
        s.build(target=target, **engine(target))(A, B, *results)
        for result in results:
            np.testing.assert_array_equal(result, A.astype(int) @ B.astype(int))


def test_pe_kernel_accumulates_and_passes_on():
    A, B = int8s(6), int8s(6, seed=1)
    module = allo.customize(systolic.PE_kernel, instantiate=[int8, int8, int16, 6, 2, 3]).build()
    A_out, B_out = np.zeros(6, np.int8), np.zeros(6, np.int8)
    C = np.zeros((2, 3), np.int16)
    module(A, B, A_out, B_out, C, 1, 2)
    expected = np.zeros((2, 3), np.int16)
    expected[1, 2] = (A.astype(int) @ B.astype(int)).astype(np.int16)
    np.testing.assert_array_equal(C, expected)
    np.testing.assert_array_equal(A_out, A)
    np.testing.assert_array_equal(B_out, B)


@pytest.mark.parametrize("P", [1, 2, 4])
def test_packed_matrix_vector_product(P):
    L, D = 10, 8
    X, y = int8s(D, L), int8s(L, seed=2)
    packed = np.zeros((D // P, L), np.int64)
    for p in range(P):
        packed |= (X[p::P].astype(np.int64) & 0xFF) << (8 * p)
    words = packed.astype({1: np.int8, 2: np.int16, 4: np.int32}[P])
    expected = (X.astype(int) @ y.astype(int)).astype(np.int8)
    for module in builds(gemv.int8xint8_mat_vec, [L, D, P]):
        out = np.zeros(D, np.int8)
        module(words, y, out)
        np.testing.assert_array_equal(out, expected)


def packed(values: np.ndarray, axis: int, P: int, bits: int) -> np.ndarray:
    """``P`` neighbours along an axis in one word, the first lowest."""
    moved = np.moveaxis(values.astype(np.int64), axis, 0)
    words = np.zeros((moved.shape[0] // P, *moved.shape[1:]), np.int64)
    for p in range(P):
        words |= (moved[p::P] & ((1 << bits) - 1)) << (bits * p)
    dtype = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}[bits * P]
    return np.ascontiguousarray(np.moveaxis(words, 0, axis).astype(dtype))


@pytest.mark.parametrize("P", [1, 2])
def test_packed_systolic(P):
    M, K, N = 6, 5, 8
    A, B = int8s(M, K), int8s(K, N)
    expected = A.astype(np.int64) @ B.astype(np.int64)
    for module in builds(systolic.packed_systolic, [int8, int8, int32, M, K, N, 4, 4, P]):
        C = np.zeros((M // P, N), {1: np.int32, 2: np.int64}[P])
        module(packed(A, 0, P, 8), packed(B, 1, P, 8), C)
        np.testing.assert_array_equal(C, packed(expected, 0, P, 32))
    for module in builds(systolic.packed_int8xint8_systolic, [M, K, N, 4, 4, P]):
        C = np.zeros((M // P, N), {1: np.int8, 2: np.int16}[P])
        module(packed(A, 0, P, 8), packed(B, 1, P, 8), C)
        np.testing.assert_array_equal(C, packed(expected.astype(np.int8), 0, P, 8))


@pytest.mark.parametrize(
    ("kernel", "template", "pattern"),
    [
        (systolic.packed_systolic, [int8, int8, int32, 6, 5, 8, 4, 4, 4], "4 does not divide 6"),
        (gemv.int8xint8_mat_vec, [10, 7, 2], "2 does not divide 7"),
        (nn.attention_decode, [float32, 3, 7, 8], "3 does not divide 8"),
        (nn.RoPE, [float32, 2, 5, 6], "4 does not divide 6"),
    ],
)
def test_a_parallelism_that_does_not_divide_is_refused(kernel, template, pattern):
    with pytest.raises(CompileTimeError, match=pattern):
        allo.customize(kernel, instantiate=template)
