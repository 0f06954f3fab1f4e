"""Cells with two products on one multiplier, alone and as the processes of a tile of the user's."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import AlloError
from allo.ir.types import int8, int16, int32
from allo.ir.utils import MockBuffer
from allo.library.systolic import PE_kernel_packed_int4xint8, PE_kernel_packed_int8xint8
from tests.compatibility.runs import TARGETS, check_outputs
from tests.engine import engine


def operands(bits: int, *shape: int) -> np.ndarray:
    """Every second number is the lowest or the highest of so many bits."""
    rng = np.random.default_rng(bits + sum(shape))
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    drawn = rng.integers(low, high + 1, shape)
    return np.where(rng.integers(0, 2, shape) == 1, rng.choice([low, high], shape), drawn)


def pairs(values: np.ndarray, bits: int) -> np.ndarray:
    """Neighbouring columns in one number, the first in the lower bits."""
    mask = (1 << bits) - 1
    words = (values[..., ::2] & mask) | ((values[..., 1::2] & mask) << bits)
    wide = {4: np.int8, 8: np.int16, 16: np.int32}[bits]
    return words.astype({4: np.uint8, 8: np.uint16, 16: np.uint32}[bits]).view(wide)


KINDS = {
    8: (PE_kernel_packed_int8xint8, np.int16),
    4: (PE_kernel_packed_int4xint8, np.int8),
}


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("K", [1, 9, 64])
def test_two_sums_of_one_cell(bits, K):
    kernel, _ = KINDS[bits]
    A, B = operands(8, K).astype(np.int8), operands(bits, K, 2)
    words = np.ascontiguousarray(pairs(B, bits)[:, 0])
    s = allo.customize(kernel, instantiate=[K, 2, 3])
    s.pipeline("k")
    expected = np.zeros((2, 3), np.int32)
    expected[1, 2] = pairs((A.astype(int) @ B)[None, :], 16)[0, 0]
    for target in TARGETS:
        A_out, B_out = np.zeros_like(A), np.zeros_like(words)
        C = np.zeros((2, 3), np.int32)
        s.build(target=target, **engine(target))(A, words, A_out, B_out, C, 1, 2)
        for found, want in ((C, expected), (A_out, A), (B_out, words)):
            np.testing.assert_array_equal(found, want, err_msg=target)


def test_all_products_of_int4_with_int8():
    A = np.repeat(np.arange(-128, 128), 8).astype(np.int8)
    low = np.tile(np.arange(-8, 8, 2), 256)
    high = np.tile(np.arange(7, -9, -2), 256)
    words = pairs(np.stack([low, high], 1), 4)[:, 0]
    module = allo.customize(PE_kernel_packed_int4xint8, instantiate=[1, 1, 1]).build()
    for a, b, x, y in zip(A[::7], words[::7], low[::7], high[::7], strict=True):
        C = np.zeros((1, 1), np.int32)
        one, two = np.zeros(1, np.int8), np.zeros(1, np.int8)
        module(np.array([a]), np.array([b]), one, two, C, 0, 0)
        assert (C.view(np.int16) == [int(a) * x, int(a) * y]).all(), (a, x, y)


M, N, K = 2, 3, 5


def tile8(A: int8[M, K], B: int16[K, N], C: int32[M, N]):
    A_fifo: int8[M, N + 1, K]
    B_fifo: int16[N, M + 1, K]
    A_drain: int8[M]
    B_drain: int16[N]
    for k in range(K, name="data_load"):
        for m in range(M):
            A_fifo[m, 0, k] = A[m, k]
        for n in range(N):
            B_fifo[n, 0, k] = B[k, n]
    for i, j in allo.grid(M, N, name="PE"):
        PE_kernel_packed_int8xint8[K, M, N](
            A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
        )
    for k in range(K, name="data_drain"):
        for m in range(M):
            A_drain[m] = A_fifo[m, N, k]
        for n in range(N):
            B_drain[n] = B_fifo[n, M, k]


def tile4(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    A_fifo: int8[M, N + 1, K]
    B_fifo: int8[N, M + 1, K]
    A_drain: int8[M]
    B_drain: int8[N]
    for k in range(K, name="data_load"):
        for m in range(M):
            A_fifo[m, 0, k] = A[m, k]
        for n in range(N):
            B_fifo[n, 0, k] = B[k, n]
    for i, j in allo.grid(M, N, name="PE"):
        PE_kernel_packed_int4xint8[K, M, N](
            A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
        )
    for k in range(K, name="data_drain"):
        for m in range(M):
            A_drain[m] = A_fifo[m, N, k]
        for n in range(N):
            B_drain[n] = B_fifo[n, M, k]


@pytest.mark.parametrize(("kernel", "bits"), [(tile8, 8), (tile4, 4)])
def test_a_tile_of_packed_cells(kernel, bits):
    s = allo.customize(kernel)
    s.partition(s.C)
    s.pipeline(f"{KINDS[bits][0].__name__}:k")
    cells = s.unfold("PE", [0, 1])
    s.to(MockBuffer(kernel.__name__, "A_fifo"), cells, axis=1, depth=M + 1)
    s.to(MockBuffer(kernel.__name__, "B_fifo"), cells, axis=0, depth=N + 1)
    A, B = operands(8, M, K).astype(np.int8), operands(bits, K, 2 * N)
    expected = pairs(A.astype(int) @ B, 16)
    check_outputs(s, [A, np.ascontiguousarray(pairs(B, bits))], expected)


def test_another_type_of_operand_is_refused():
    def call(A: int32[4], B: int16[4], C: int32[1, 1]):
        X: int8[4]
        Y: int16[4]
        PE_kernel_packed_int8xint8[4, 1, 1](A, B, X, Y, C, 0, 0)

    with pytest.raises(AlloError, match="A_in"):
        allo.customize(call)
