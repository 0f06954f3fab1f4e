"""bf16 values that live across basic blocks keep their bits: subnormals, infinities, NaN."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import allo
from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.ir.types import Int, Stateful, bfloat16, float16, float64, int32

BITS = (0x0001, 0x8001, 0x0042, 0x007F, 0x0080, 0x3F80, 0xFF80, 0x7FC0)


def bf16(bits: int) -> ml_dtypes.bfloat16:
    return np.array([bits], np.uint16).view(ml_dtypes.bfloat16)[0]


def beside_a_wide_conversion(A: Int(129)[2], n: bfloat16, h: float16[2], y: float64[2]):
    # A conversion of a wide integer is branches in machine code: n lives across them.
    h[1] = A[0]
    y[1] = n


def kept(n: bfloat16, A: Int(129)[2], h: float16[2], y: bfloat16[2]) -> bfloat16:
    state: bfloat16 @ Stateful = 0.25
    table: bfloat16[2] = [1.5, 2.5]
    before: bfloat16 = y[0]
    h[0] = A[0]
    y[1] = before
    state += table[0]
    y[0] = n if A[1] > 3 else state
    return n


@pytest.mark.parametrize("bits", BITS, ids=hex)
def test_a_value_beside_branches_is_widened_exactly(bits: int):
    module = allo.customize(beside_a_wide_conversion).build()
    half, wide = np.zeros(2, np.float16), np.zeros(2, np.float64)
    module(np.array([3, 4], object), bf16(bits), half, wide)
    np.testing.assert_array_equal(half, np.array([0, 3], np.float16))
    np.testing.assert_array_equal(wide, [0, np.float64(bf16(bits))])


@pytest.mark.parametrize("bits", BITS, ids=hex)
def test_values_carried_through_a_kernel_keep_every_bit(bits: int):
    module = allo.customize(kept).build()
    array = np.array([bf16(bits), 0], ml_dtypes.bfloat16)
    half = np.zeros(2, np.float16)
    result = module(bf16(bits), np.array([3, 4], object), half, array)
    assert array.view(np.uint16).tolist() == [bits, bits]
    assert np.array([result], ml_dtypes.bfloat16).view(np.uint16)[0] == bits
    module(bf16(bits), np.array([3, 1], object), half, array)
    assert array.tolist()[0] == 0.25 + 2 * 1.5
    assert half.tolist() == [3, 0]


def pair(n: bfloat16, m: int32) -> (bfloat16, int32):
    return n * 2, m


def test_llvm_sees_no_value_of_type_bf16():
    for kernel in (beside_a_wide_conversion, kept, pair):
        module = allo.customize(kernel).build().module
        for op in walk(module.operation):
            values = [*op.results, *op.operands]
            assert not any("bf16" in str(value.type) for value in values), str(op)
            if op.name == "llvm.func":
                assert "bf16" not in str(op.attributes["function_type"]), str(op)
    assert isinstance(module, ir.Module)
