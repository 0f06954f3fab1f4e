"""``T[...]``: arrays of any length are pointers in HLS text; hardware refuses them by name."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import UnsupportedOpError
from allo.ir.types import float32, index, int32


def add_two(A: float32[...], n: index):
    for i in range(n):
        A[i] += 2.0


def top(A: float32[...], B: float32[...], C: float32[5], size: int32):
    for i in range(size):
        B[i] = A[i] + 1.0
    add_two(C, 5)


def test_arrays_of_any_length_are_pointers():
    s = allo.customize(top)
    text = s.build(target="vhls").hls_code
    assert "void add_two(\n  float *A,\n  int n\n)" in text
    assert "void top(\n  float *A,\n  float *B,\n  float C[5],\n  int32_t size\n)" in text
    rng = np.random.default_rng(3)
    for size in (1, 9):
        a, c = rng.random(size, np.float32), rng.random(5, np.float32)
        b, c_out = np.zeros_like(a), c.copy()
        s.build(target="vhls", mode="csim")(a, b, c_out, size)
        np.testing.assert_array_equal(b, a + 1)
        np.testing.assert_array_equal(c_out, c + 2)


def test_vitis_does_not_buffer_them():
    text = allo.customize(top).build(target="vitis_hls").hls_code
    assert "load_buf2" in text and "load_buf0" not in text
    assert "B[i] = " in text


def test_hardware_needs_the_size():
    message = r"test_open_arrays.py:\d+:\d+: Argument A is an array of any length"
    with pytest.raises(UnsupportedOpError, match=message):
        allo.customize(add_two).build(target="verilog")
