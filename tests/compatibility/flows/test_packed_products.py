"""Packed products of int8 and int4: two columns a cell on one multiplier, whole words at the ports."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.errors import AlloError
from allo.ir.types import Int, int4, int8, int16, int32, uint8
from allo.library.systolic import packed_int8xint8_systolic, packed_systolic, schedule_systolic
from tests.compatibility.runs import TARGETS
from tests.engine import engine

WORDS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def extremes(bits: int, *shape: int) -> np.ndarray:
    """Every second number is the lowest or the highest of so many bits."""
    rng = np.random.default_rng(bits + sum(shape))
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    drawn = rng.integers(low, high + 1, shape)
    return np.where(rng.integers(0, 2, shape) == 1, rng.choice([low, high], shape), drawn)


def packed(values: np.ndarray, axis: int, P: int, bits: int) -> np.ndarray:
    """``P`` neighbours along an axis in one word, the first lowest."""
    moved = np.moveaxis(values.astype(np.int64), axis, 0)
    words = np.zeros((moved.shape[0] // P, *moved.shape[1:]), np.int64)
    for p in range(P):
        words |= (moved[p::P] & ((1 << bits) - 1)) << (bits * p)
    return np.ascontiguousarray(np.moveaxis(words, 0, axis).astype(WORDS[bits * P]))


def check(s, A, B, P, bits, total, rows=8):
    """Every element of the packed product, on every target; gives the Verilog module."""
    expected = packed(A @ B, 0, P, total)
    args = packed(A, 0, P, rows), packed(B, 1, P, bits)
    for target in TARGETS:
        module = s.build(target=target, **engine(target))
        C = np.ones_like(expected)
        module(*args, C)
        np.testing.assert_array_equal(C, expected, err_msg=target)
    return module


def cells(s) -> list[str]:
    """The functions of the cells, as they are called."""
    return re.findall(r"call @(PE_kernel\w*)\(", str(s.module))


CELLS = {
    (8, 16): "PE_kernel_packed_int8xint8",
    (4, 16): "PE_kernel_packed_int4xint8",
    (8, 32): "PE_kernel_packed_int8xint8_int32",
    (4, 32): "PE_kernel_packed_int4xint8_int32",
}


@pytest.mark.parametrize(
    ("bits", "total", "sizes"),
    [
        (8, 16, (8, 6, 8, 4, 4, 2)),
        (8, 32, (6, 70, 8, 4, 4, 2)),
        (4, 16, (8, 5, 12, 4, 8, 4)),
        (4, 32, (2, 3, 6, 4, 4, 2)),
    ],
)
def test_a_product_on_packed_cells(bits, total, sizes):
    M, K, N, Mt, Nt, P = sizes
    template = [int8, Int(bits), Int(total), *sizes]
    s = packed_systolic.default_schedule(template)
    meant = allo.interpret(packed_systolic, instantiate=template)
    A, B = extremes(8, M, K), extremes(bits, K, N)
    C = np.zeros((M // P, N), WORDS[total * P])
    meant(packed(A, 0, P, 8), packed(B, 1, P, bits), C)
    np.testing.assert_array_equal(C, packed(A @ B, 0, P, total))
    assert cells(s) == [f"{CELLS[bits, total]}_{i}_{j}" for i in range(Mt) for j in range(Nt // 2)]
    rtl = check(s, A, B, P, bits, total)
    if P == 4:
        other = s.build(target="verilog", simulator="verilator")
        C = np.zeros_like(C)
        other(packed(A, 0, P, 8), packed(B, 1, P, bits), C)
        np.testing.assert_array_equal(C, packed(A @ B, 0, P, total))
        assert other.cycles == rtl.cycles
    assert rtl.report.resources["dsp"] == Mt * Nt // 2


@pytest.mark.parametrize("sizes", [(4, 9, 6, 2, 4, 2), (8, 4, 4, 8, 4, 4)])
def test_int8_in_and_out(sizes):
    s = packed_int8xint8_systolic.default_schedule(sizes)
    assert cells(s)[0] == "PE_kernel_packed_int8xint8_0_0"
    check(s, extremes(8, *sizes[:2]), extremes(8, *sizes[1:3]), sizes[5], 8, 8)


def test_a_product_composed_into_a_design():
    def scaled(A: int16[2, 5], B: int16[5, 2], C: int32[2, 4]):
        D: int32[2, 4]
        packed_systolic[int8, int8, int16, 4, 5, 4, 2, 4, 2, "up"](A, B, D)
        for i, j in allo.grid(2, 4):
            word: int32 = D[i, j]
            low: int16 = word[0:16]
            high: int16 = word[16:32]
            word[0:16] = low - high
            C[i, j] = word

    s = allo.customize(scaled)
    s.compose(packed_systolic, id="up", instantiate=[int8, int8, int16, 4, 5, 4, 2, 4, 2])
    A, B = extremes(8, 4, 5), extremes(8, 5, 4)
    product = (A @ B).astype(np.int16)
    rows = np.empty_like(product)
    rows[::2], rows[1::2] = product[::2] - product[1::2], product[1::2]
    for target in TARGETS:
        C = np.zeros((2, 4), np.int32)
        s.build(target=target, **engine(target))(packed(A, 0, 2, 8), packed(B, 1, 2, 8), C)
        np.testing.assert_array_equal(C, packed(rows, 0, 2, 16), err_msg=target)


@pytest.mark.parametrize("sizes", [(3, 4, 3, 2, 2, 1), (6, 4, 6, 3, 4, 2)])
def test_tiles_that_are_no_whole_words_have_plain_cells(sizes):
    s = packed_systolic.default_schedule([int8, int8, int16, *sizes])
    assert cells(s)[0] == "PE_kernel_0_0"
    check(s, extremes(8, *sizes[:2]), extremes(8, *sizes[1:3]), sizes[5], 8, 16)


def test_types_without_a_packed_cell_have_plain_ones():
    s = packed_systolic.default_schedule([int16, int8, int32, 4, 3, 4, 2, 2, 2])
    assert cells(s)[0] == "PE_kernel_0_0"
    A, B = extremes(16, 4, 3), extremes(8, 3, 4)
    check(s, A, B, 2, 8, 32, rows=16)
    with pytest.raises(AlloError, match="Cannot resolve type TyB with ui8: the parameter must be"):
        allo.customize(packed_systolic, instantiate=[int8, uint8, int32, 4, 3, 4, 2, 2, 2])


def test_a_schedule_of_another_function_is_refused():
    tile = packed_systolic.default_schedule([int8, int4, int16, 4, 3, 4, 2, 4, 2])
    assert "systolic_tile_packed" in tile.func_args

    def packed_nothing(A: int8[4]):
        A[0] = 1

    with pytest.raises(ValueError, match="Cannot apply `schedule_systolic` to function: packed_no"):
        schedule_systolic(allo.customize(packed_nothing))
    with pytest.raises(AlloError, match="4 does not divide 6"):
        allo.customize(packed_systolic, instantiate=[int8, int4, int16, 6, 3, 4, 4, 4, 4])
