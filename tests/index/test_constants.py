"""A value folded while compiling is the value the same operation has when it runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import allo
from allo.dialects.diagnostics import CompileTimeError

from .support import ENGINES, TARGETS, build, kernel

TO_INTEGERS = [
    ("int8", 300.0, 127),
    ("int8", -300.5, -128),
    ("int8", 127.9, 127),
    ("uint8", -1.0, 0),
    ("uint8", 255.99, 255),
    ("uint8", 1e30, 255),
    ("uint1", 3.0, 1),
    ("int32", 1e10, 2**31 - 1),
    ("Int(64)", -1e30, -(2**63)),
    ("index", 1e30, 2**63 - 1),
    ("Int(7)", -64.5, -64),
    ("int16", math.nan, 0),
    ("int16", math.inf, 32767),
    ("UInt(33)", -math.inf, 0),
]
INTEGERS = [
    ("int8", "200", -56),
    ("uint8", "-1", 255),
    ("Int(4)", "2 ** 3 + 9", 7),  # a power is a float
    ("int64", "int8(100) << 3", 32),
    ("int64", "int8(100) << 300", 0),
    ("int64", "int8(-100) >> 300", -1),
    ("int64", "int8(100) << -1", 0),
    ("int64", "1 << 40", 2**40),
    ("int64", "uint8(200) << 1", 144),
    ("int64", "7 // 0", -1),
    ("int64", "7 % 0", 7),
    ("int64", "-7 // 2", -4),
    ("int64", "-7 / 2", -3),
    ("int64", "-7 % 4", -3),
    ("int64", "uint8(7) // uint8(0)", 255),
    ("int64", "uint8(7) % uint8(0)", 7),
    ("int64", "int8(-128) // int8(-1)", -128),
    ("int64", "int1(1) + 1", 2),
    ("int64", "int1(1) < 0", 0),
    ("int64", "min(uint8(255), int8(-1))", -1),
    ("int64", "int8(300)", 44),
    ("int64", "uint64(18446744073709551615) > -1", 1),
    ("int64", "float32(16777217) == 16777216.0", 1),
    ("int64", "int(float32(16777217))", 2**24),
    ("int64", "int(float16(70000.0) - 1)", 2**31 - 1),
]


def _wide(kind: str) -> str:
    return "Int(64)" if kind != "index" else "index"


@pytest.mark.parametrize("target", ENGINES)
def test_float_constants_out_of_range(target: str) -> None:
    """The nearest value of the type, NaN as 0; an argument of the same value gives the same."""
    floats = [value for _, value, _ in TO_INTEGERS]
    lines = [f"def top(A: Int(64)[2, {len(floats)}], x: float64[{len(floats)}]):"]
    for number, (kind, _, _) in enumerate(TO_INTEGERS):
        lines += [
            f"    a{number}: {kind} = c{number}",
            f"    b{number}: {kind} = x[{number}]",
            f"    A[0, {number}] = a{number}",
            f"    A[1, {number}] = b{number}",
        ]
    captured = {f"c{number}": value for number, value in enumerate(floats)}
    found = np.zeros((2, len(floats)), np.int64)
    build(kernel(lines, **captured), target)(found, np.array(floats))
    want = [expected for _, _, expected in TO_INTEGERS]
    assert found[0].tolist() == want
    assert found[1].tolist() == want


@pytest.mark.parametrize("target", TARGETS)
def test_integer_constants(target: str) -> None:
    lines = [f"def top(A: Int(64)[{len(INTEGERS)}]):"]
    for number, (kind, text, _) in enumerate(INTEGERS):
        lines += [f"    a{number}: {kind} = {text}", f"    A[{number}] = a{number}"]
    found = np.zeros(len(INTEGERS), np.int64)
    build(kernel(lines), target)(found)
    for number, (kind, text, want) in enumerate(INTEGERS):
        assert found[number] == want, (kind, text)


@pytest.mark.parametrize("target", TARGETS)
def test_constant_arrays_take_the_nearest_value(target: str) -> None:
    table = np.array([300.0, -300.0, math.nan, 5.9])
    wide = np.array([2**60 + 2**36 + 1, 1], np.int64)
    lines = [
        "def top(A: int32[4], B: float32[2]):",
        "    t: int8[4] = table",
        "    w: float32[2] = wide",
        "    for i in range(4):",
        "        A[i] = t[i]",
        "    for i in range(2):",
        "        B[i] = w[i]",
    ]
    found, floats = np.zeros(4, np.int32), np.zeros(2, np.float32)
    build(kernel(lines, table=table, wide=wide), target)(found, floats)
    assert found.tolist() == [127, -128, 0, 5]
    # Rounded once: through float64 it would be the tie below.
    assert floats.tolist() == [2.0**60 + 2.0**37, 1.0]


def test_a_literal_shifted_beyond_use_is_refused() -> None:
    with pytest.raises(CompileTimeError, match="A literal shifted by 1000000000 has more than"):
        kernel(["def top(A: int32[1]):", "    A[0] = 1 << 1000000000"])


def test_the_oracle_sees_a_wrong_constant() -> None:
    """The comparison above is of values: another constant gives another."""
    module = allo.customize(
        "def top() -> int8:\n    x: int8 = 126.0\n    return x\n",
        global_vars={"int8": allo.ir.types.int8},
    ).build()
    assert module() == 126
