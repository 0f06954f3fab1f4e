"""Index values are no wider than their ranges ask: in registers, ports and C++ text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from .support import build, kernel


def _verilog(lines: list[str]) -> str:
    return str(kernel(lines).build(target="systemverilog"))


def _widest(text: str) -> int:
    """The widest vector declared in Verilog, in bits."""
    return max((int(high) + 1 for high in re.findall(r"\[(\d+):0\]", text)), default=1)


NARROW = {
    "gemm": [
        "def top(A: int8[8, 8], B: int8[8, 8], C: int16[8, 8]):",
        "    for i in range(8):",
        "        for j in range(8):",
        "            for k in range(8):",
        "                C[i, j] += A[i, k] * B[k, j]",
    ],
    "run_time": [
        "def top(A: int8[64], n: int32):",
        "    for i in range(n):",
        "        for j in range(i, n):",
        "            A[i + j] = 1",
    ],
    "quotients": [
        "def top(A: int8[64], B: int8[64]):",
        "    for i in range(40):",
        "        B[(45 - i) // 3] = A[(i - 1) % 7]",
        "        B[i // 4 + i % 4] = A[(7 - i) // 2 + 17]",
    ],
    "slices": [
        "def top(A: int8[8, 4], B: int8[8]):",
        "    def total(x: int8[4]) -> int8:",
        "        s: int8 = 0",
        "        for j in range(4):",
        "            s += x[j]",
        "        return s",
        "    for i in range(8):",
        "        B[i] = total(A[i])",
    ],
}


@pytest.mark.parametrize("name", NARROW)
def test_known_ranges_are_at_most_33_bits(name: str) -> None:
    assert _widest(_verilog(NARROW[name])) <= 33


def test_an_affine_address_takes_no_multiplier_beyond_constants() -> None:
    assert "*" not in re.sub(r"//.*", "", _verilog(NARROW["run_time"]))


def test_an_unknown_index_has_64_bits() -> None:
    text = _verilog(["def top(A: int8[4], n: index):", "    A[n] = 1"])
    assert re.search(r"input +\[63:0\] n\b", text)


def _cpp(lines: list[str]) -> str:
    return kernel(lines).build(target="vhls").hls_code


def test_iterators_are_int_where_that_fits() -> None:
    code = _cpp(NARROW["run_time"])
    assert "for (int i = 0; i < " in code and "int64_t" not in code
    far = _cpp(
        ["def top(A: int8[4]):", "    for i in range(3000000000, 3000000004):"]
        + ["        A[i - 3000000000] = 1"]
    )
    assert "for (int64_t i = 3000000000LL; i < 3000000004LL; i++)" in far
    wide = _cpp(["def top(A: int8[4], n: UInt(32)):", "    for i in range(n):", "        A[0] = 1"])
    assert "for (int64_t i = 0; i < " in wide


def test_a_stride_that_may_pass_int_counts_in_64_bits() -> None:
    """The counter goes one step beyond its last value, which must not wrap."""
    lines = ["def top(A: int32[1], n: int32):", "    for i in range(0, n, 1073741824):"]
    module = build(kernel([*lines, "        A[0] += 1"]), "csim")
    found = np.zeros(1, np.int32)
    module(found, 2**31 - 1)
    assert found[0] == 2
