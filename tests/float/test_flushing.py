"""Builds to which subnormal floats are zeros: units, the CPU, both simulators and csim against one oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.hls.vendors.steps import _own_verilog
from allo.backend.rtl.float.compare import PREDICATES
from allo.backend.rtl.float.formats import FORMATS, FloatFormat
from allo.backend.rtl.operators import OperatorLibrary
from allo.dialects.diagnostics import OptionError, UnsupportedOpError
from allo.ir.types import bfloat16, float32, float64, int32

from . import soft
from .flushing import encode, expected, flushed, tiny_pairs
from .harness import CompiledUnit, assert_same
from .vectors import from_host, specials, to_host

LIBRARY = OperatorLibrary("xcup", 200.0, "flush")
SINGLE, DOUBLE = FORMATS["f32"], FORMATS["f64"]
BYTES = np.arange(256, dtype=np.uint64)
PAIRS = tuple(x.ravel() for x in np.meshgrid(BYTES, BYTES, indexing="ij"))
SUMS, PRODUCTS = ["arith.addf", "arith.subf"], ["arith.mulf", "arith.divf"]
SMALL = [
    FORMATS["f8E4M3"],
    pytest.param(FORMATS["f8E5M2"], marks=pytest.mark.slow),
]


# --- the oracle ------------------------------------------------------------------------


def test_oracle_by_hand() -> None:
    half, quarter = 1 << 22, 1 << 21
    smallest = 1 << 23
    assert flushed(half, SINGLE) == 0
    assert flushed(1 << 31 | half, SINGLE) == 1 << 31
    assert flushed(smallest, SINGLE) == smallest
    value = soft.decode(smallest, SINGLE)
    assert encode(value * soft.Fraction(quarter, 1 << 23), SINGLE) == 0
    below = value - soft.decode(1, SINGLE) * soft.Fraction(1, 2)
    assert soft.encode(below, SINGLE) == smallest, "IEEE 754 rounds it up"
    assert encode(below, SINGLE) == 0, "to 24 bits it is less"
    assert encode(-below, SINGLE) == 1 << 31
    nearer = value - soft.decode(1, SINGLE) * soft.Fraction(1, 4)
    assert encode(nearer, SINGLE) == smallest


# --- units -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
@pytest.mark.parametrize(
    "op",
    [
        "arith.addf",
        "arith.mulf",
        *(pytest.param(f"arith.{op}", marks=pytest.mark.slow) for op in ("subf", "divf", "remf")),
    ],
)
def test_small_formats_on_all_pairs(op: str, kind: FloatFormat) -> None:
    unit = CompiledUnit(LIBRARY.find(op, (kind.name,) * 2, kind.name))
    assert_same(unit(*PAIRS), expected(soft.ARITHMETIC[op], kind, *PAIRS), *PAIRS)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["arith.addf", "arith.mulf"])
@pytest.mark.parametrize("device,clock", [("xcup", 100.0), ("ecp5", 60.0), ("xc7", 200.0)])
def test_other_clocks_on_all_pairs(op: str, device: str, clock: float) -> None:
    kind = FORMATS["f8E4M3"]
    for impl in ("", "fabric" if op == "arith.mulf" else "dsp"):
        attributes = {"impl": impl} if impl else {}
        library = OperatorLibrary(device, clock, "flush")
        unit = CompiledUnit(library.find(op, (kind.name,) * 2, kind.name, attributes))
        assert_same(unit(*PAIRS), expected(soft.ARITHMETIC[op], kind, *PAIRS), *PAIRS)


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
def test_small_formats_on_all_values(kind: FloatFormat) -> None:
    def found(op: str, *operands: np.ndarray, result: str = kind.name, **more: str) -> np.ndarray:
        return CompiledUnit(LIBRARY.find(op, (kind.name,) * len(operands), result, more))(*operands)

    def extremum(name: str) -> Callable[..., int]:
        return lambda a, b, k: soft.extremum(name, a, b, k)

    assert_same(found("math.sqrt", BYTES), expected(soft.square_root, kind, BYTES), BYTES)
    for mode in ("ceil", "round"):
        wanted = expected(lambda a, k, m=mode: soft.round_to_integral(m, a, k), kind, BYTES)
        assert_same(found(f"math.{mode}", BYTES), wanted, BYTES)
    some = tuple(x[::5] for x in PAIRS)
    for name in ("minimumf",):
        assert_same(found(f"arith.{name}", *some), expected(extremum(name), kind, *some), *some)
    for predicate in PREDICATES[1::5]:
        wanted = expected(lambda a, b, k, p=predicate: soft.compare(p, a, b, k), kind, *some)
        bits = found("arith.cmpf", *some, result="i1", predicate=predicate)
        assert_same(bits, wanted, *some)
    assert_same(found("arith.negf", BYTES), BYTES ^ np.uint64(0x80), BYTES)


@pytest.mark.parametrize(
    "source,target", [("f8E4M3", "f8E5M2"), ("f8E5M2", "f8E4M3"), ("f16", "f8E4M3")]
)
def test_conversions_of_all_values(source: str, target: str) -> None:
    one, other = FORMATS[source], FORMATS[target]
    op = "arith.extf" if other.width > one.width else "arith.truncf"
    values = np.arange(0, 1 << one.width, 1 if one.width == 8 else 7, dtype=np.uint64)
    wanted = expected(lambda a, k: soft.convert(a, k, other), one, values)
    assert_same(CompiledUnit(LIBRARY.find(op, (source,), target))(values), wanted, values)


NEAR = [
    *((op, SINGLE, text) for op in SUMS + PRODUCTS for text in ("rtl", "native")),
    *(
        pytest.param(op, DOUBLE, text, marks=pytest.mark.slow)
        for op, text in [*((op, "rtl") for op in SUMS + PRODUCTS), *((op, "native") for op in SUMS)]
    ),
]
"""The native text of products and quotients of float64 is the netlist, which ``"rtl"`` tests."""


@pytest.mark.parametrize(("op", "kind", "text"), NEAR)
def test_wide_formats_near_the_smallest_number(op: str, kind: FloatFormat, text: str) -> None:
    unit = CompiledUnit(LIBRARY.find(op, (kind.name,) * 2, kind.name), text)
    a, b = tiny_pairs(kind, 500, 3)
    assert_same(unit(a, b), expected(soft.ARITHMETIC[op], kind, a, b), a, b)


@pytest.mark.parametrize("text", ["rtl", "native"])
def test_conversions_between_float32_and_float64(text: str) -> None:
    widen = CompiledUnit(LIBRARY.find("arith.extf", ("f32",), "f64"), text)
    narrow = CompiledUnit(LIBRARY.find("arith.truncf", ("f64",), "f32"), text)
    single, _ = tiny_pairs(SINGLE, 1000, 4)
    wanted = expected(lambda a, k: soft.convert(a, k, DOUBLE), SINGLE, single)
    assert_same(widen(single), wanted, single)
    double = np.concatenate([edge_of_float32(), tiny_pairs(DOUBLE, 300, 5)[0]])
    wanted = expected(lambda a, k: soft.convert(a, k, SINGLE), DOUBLE, double)
    assert_same(narrow(double), wanted, double)


def edge_of_float32() -> np.ndarray:
    """Numbers of float64 from below the smallest normal one of float32 to above."""
    middle = (DOUBLE.bias - SINGLE.bias + 1) << DOUBLE.fraction
    steps = [int(2**power) for power in range(34)]
    near = [
        middle + sign * step + more for step in steps for sign in (1, -1) for more in (-1, 0, 1)
    ]
    return np.array(near + [n | 1 << 63 for n in near], dtype=np.uint64)


# --- designs ---------------------------------------------------------------------------

COUNT = 700


def arithmetic(A: float32[COUNT], B: float32[COUNT], R: float32[6, COUNT]):
    for i in range(COUNT):
        R[0, i] = A[i] + B[i]
        R[1, i] = A[i] * B[i]
        R[2, i] = A[i] / B[i]
        R[3, i] = A[i] if A[i] < B[i] else B[i]
        R[4, i] = -A[i]
        R[5, i] = A[i] * 1.0


def select_less(a: int, b: int, kind: FloatFormat) -> int:
    """Which operand ``a if a < b else b`` takes: 1 for the first."""
    return soft.compare("olt", a, b, kind)


def operands() -> tuple[np.ndarray, np.ndarray]:
    """The bits of the operands: pairs of specials, then others."""
    a, b = tiny_pairs(SINGLE, COUNT, 6)
    rng = np.random.default_rng(7)
    chosen = rng.permutation(len(a))[:COUNT]
    return a[chosen], b[chosen]


def wanted_of_arithmetic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The bits of all rows; what a select or a negation gives has the bits it was given."""
    first = expected(select_less, SINGLE, a, b).astype(bool)
    one = np.full(len(a), SINGLE.bias << SINGLE.fraction, dtype=np.uint64)
    rows = [expected(soft.ARITHMETIC[f"arith.{op}f"], SINGLE, a, b) for op in ("add", "mul", "div")]
    rows += [np.where(first, a, b), a ^ np.uint64(1 << 31)]
    rows.append(expected(soft.multiply, SINGLE, a, one))
    return np.stack([from_host(to_host(row, SINGLE), SINGLE) for row in rows])


def run_arithmetic(target: str, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """What a build computes, and what it must."""
    a, b = operands()
    found = np.zeros((6, COUNT), np.float32)
    module = allo.customize(arithmetic).build(target=target, subnormals="flush", **options)
    module(to_host(a, SINGLE), to_host(b, SINGLE), found)
    return from_host(found, SINGLE), wanted_of_arithmetic(a, b)


@pytest.mark.parametrize(
    "target,options",
    [
        ("llvm", {}),
        ("llvm", {"opt_level": 0}),
        ("verilog", {"simulator": "jit"}),
        pytest.param("verilog", {"simulator": "verilator"}, marks=pytest.mark.slow),
        ("vhls", {}),
    ],
)
def test_targets_give_the_bits_of_the_oracle(target: str, options: dict[str, Any]) -> None:
    found, wanted = run_arithmetic(target, **options)
    for name, one, other in zip(
        ("add", "mul", "div", "min", "neg", "x1"), found, wanted, strict=True
    ):
        bad = np.flatnonzero(one != other)
        assert not len(bad), (
            target,
            name,
            len(bad),
            [hex(x) for x in (one[bad[0]], other[bad[0]])],
        )


def test_constants_are_zeros_too() -> None:
    def constants(A: float32[4], R: float32[4]):
        R[0] = A[0] + 1.0e-40
        R[1] = 1.0e-30 * A[1]
        R[2] = A[2] / 1.0e-40
        R[3] = -0.0 - A[3]

    a = np.array([0.0, 1e-9, 1.0, 1e-40], np.float32)
    wanted = np.array([0, 0, SINGLE.infinity, 1 << 31], dtype=np.uint64)
    schedule = allo.customize(constants)
    for target, options in (("llvm", {}), ("vhls", {})):
        found = np.ones(4, np.float32)
        schedule.build(target=target, configs={"subnormals": "flush"}, **options)(a, found)
        assert_same(from_host(found, SINGLE), wanted, from_host(a, SINGLE))


def test_functions_of_subnormals_are_those_of_zero() -> None:
    def functions(A: float32[8], R: float32[4, 8], W: float64[8]):
        for i in range(8):
            R[0, i] = allo.log(A[i])
            R[1, i] = allo.exp(A[i])
            R[2, i] = allo.tanh(A[i])
            R[3, i] = allo.sqrt(A[i])
            W[i] = A[i]

    a = np.array([1e-40, -1e-40, 0.0, -0.0, 1.2e-38, 1.0, -88.0, np.inf], np.float32)
    schedule = allo.customize(functions)
    results = []
    for target, options in (("llvm", {}), ("verilog", {"simulator": "jit"}), ("vhls", {})):
        found, wide = np.ones((4, 8), np.float32), np.ones(8)
        schedule.build(target=target, subnormals="flush", **options)(a, found, wide)
        assert np.array_equal(found[:, 0], found[:, 2])
        assert not wide[:4].any()
        assert found[1, 6] == 0, "exp(-88) is subnormal"
        results.append(np.concatenate([from_host(found, SINGLE).ravel(), from_host(wide, DOUBLE)]))
    assert_same(results[1], results[0])
    assert_same(results[2], results[0])


def test_default_keeps_them() -> None:
    a, b = operands()
    found = np.zeros((6, COUNT), np.float32)
    allo.customize(arithmetic).build(subnormals="keep")(
        to_host(a, SINGLE), to_host(b, SINGLE), found
    )
    with np.errstate(all="ignore"):
        wanted = from_host(to_host(a, SINGLE) * to_host(b, SINGLE), SINGLE)
    assert_same(from_host(found[1], SINGLE), wanted, a, b)


# --- what is reported, and refused -------------------------------------------------------


def test_estimate_is_of_the_smaller_units() -> None:
    schedule = allo.customize(arithmetic)
    keep, flush = (schedule.estimate(subnormals=value) for value in ("keep", "flush"))
    assert flush.resources["lut"] < keep.resources["lut"]
    assert flush.cycles <= keep.cycles


def test_vendor_text_says_so_and_does_no_more() -> None:
    schedule = allo.customize(arithmetic)
    keep, flush = (
        schedule.build(target="vitis_hls", subnormals=value).hls_code for value in ("keep", "flush")
    )
    lines = [line for line in flush.splitlines() if "subnormal" in line or "float cores" in line]
    assert len(lines) == 2
    assert [line for line in flush.splitlines() if line not in lines] == keep.splitlines()


def test_own_verilog_in_place_of_a_tool_flushes_too() -> None:
    module = allo.customize(arithmetic).build(target="vhls", subnormals="flush")
    assert "fmul_f32_ftz" in _own_verilog(module, "cosim").design.verilog


@pytest.mark.parametrize("target", ["llvm", "verilog", "vitis_hls"])
def test_wrong_values_are_refused(target: str) -> None:
    schedule = allo.customize(arithmetic)
    with pytest.raises(OptionError) as caught:
        schedule.build(target=target, subnormals="zero")
    assert "takes 'keep' or 'flush', not 'zero'" in str(caught.value)
    with pytest.raises(OptionError, match="takes 'keep' or 'flush', not True"):
        schedule.build(target=target, configs={"subnormals": True})
    with pytest.raises(OptionError, match="takes 'keep' or 'flush'"):
        schedule.estimate(subnormals=None)


def test_targets_that_cannot_say_so() -> None:
    with pytest.raises(OptionError, match="Target catapult has no option 'subnormals'"):
        allo.customize(arithmetic).build(target="catapult", subnormals="flush")


@pytest.mark.parametrize("target", ["llvm", "verilog", "vhls"])
def test_bfloat16_is_refused(target: str) -> None:
    def narrow(A: bfloat16[4], R: bfloat16[4], N: int32):
        for i in range(4):
            R[i] = A[i] * A[i]

    with pytest.raises(UnsupportedOpError) as caught:
        allo.customize(narrow).build(target=target, subnormals="flush")
    text = str(caught.value)
    assert 'subnormals="flush" is for float32 and float64, and this computes with bfloat16.' in text
    assert "leave the option out, or compute in float32" in text
    assert "test_flushing.py" in text


def test_specials_are_in_the_vectors() -> None:
    a, b = tiny_pairs(SINGLE, 10, 1)
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    every = specials(SINGLE).tolist()
    assert all((x, y) in pairs for x in every for y in every)
