"""Float arithmetic and conversions bit for bit against NumPy, ml_dtypes and exact fractions."""

from __future__ import annotations

import ctypes
import platform
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import allo
from allo.backend.cpu import LLVMModule
from allo.dialects.boundary.storage import decode, empty_cells, natural_dtype
from allo.dialects.processes.cpp_compiler import compile_shared, find_compiler
from allo.dialects.types import parse_type
from allo.ir.types import Fixed, Int, UFixed, UInt, float16, float32, float64, int32

from .kernels import elementwise, mlir
from .test_integers import cells, operands

FORMATS = ("f16", "bf16", "f32", "f64")
COUNT = 400


def floats(name: str, seed: int, count: int = COUNT) -> np.ndarray:
    """Values of every kind: random bits, ordinary numbers, specials, subnormals."""
    rng = np.random.default_rng(seed)
    dtype = natural_dtype(parse_type(name))
    bits = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)
    with np.errstate(over="ignore"):
        ordinary = (rng.standard_normal(count) * 2.0 ** rng.integers(-8, 40, count)).astype(dtype)
    tiny = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 1.5, 255, 256], dtype)
    values = np.concatenate([tiny, bits[: count // 3], ordinary])[:count]
    return np.ascontiguousarray(values)


def same(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal bits, where any NaN equals any NaN."""
    raw = f"u{got.dtype.itemsize}"
    equal = got.view(raw) == want.view(raw)
    return bool((equal | (np.isnan(got) & np.isnan(want))).all())


@pytest.mark.parametrize("name", FORMATS)
def test_arithmetic_is_ieee(name: str):
    operations = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}
    outputs = {op: (name, f"%{op} = arith.{op} %a, %b : {name}") for op in operations}
    compares = {"olt": np.less, "oeq": np.equal, "une": np.not_equal, "oge": np.greater_equal}
    outputs |= {p: ("ui1", f"%{p} = arith.cmpf {p}, %a, %b : {name}") for p in compares}
    a, b = floats(name, 1), floats(name, 2)[::-1].copy()
    module = LLVMModule(elementwise({"a": name, "b": name}, outputs, COUNT), "f")
    results = {k: np.zeros(COUNT, natural_dtype(parse_type(v[0]))) for k, v in outputs.items()}
    module(a, b, *results.values())
    with np.errstate(all="ignore"):
        for op, model in operations.items():
            assert same(results[op], model(a, b)), op
        for op, model in compares.items():
            np.testing.assert_array_equal(results[op], model(a, b), err_msg=op)


@pytest.mark.parametrize("name", FORMATS)
def test_minimum_and_maximum_propagate_nan(name: str):
    outputs = {op: (name, f"%{op} = arith.{op} %a, %b : {name}") for op in ("minimumf", "maximumf")}
    a, b = floats(name, 3), floats(name, 4)[::-1].copy()
    module = LLVMModule(elementwise({"a": name, "b": name}, outputs, COUNT), "f")
    low, high = np.zeros_like(a), np.zeros_like(a)
    module(a, b, low, high)
    nan = np.isnan(a) | np.isnan(b)
    with np.errstate(invalid="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(low), nan)
    np.testing.assert_array_equal(low[~nan], np.minimum(wide_a, wide_b)[~nan])
    np.testing.assert_array_equal(high[~nan], np.maximum(wide_a, wide_b)[~nan])


CONVERSIONS = [(a, b) for a in FORMATS for b in FORMATS if parse_type(a).bits != parse_type(b).bits]


@pytest.mark.parametrize(("source", "target"), CONVERSIONS)
def test_float_to_float_rounds_once(source: str, target: str):
    op = "truncf" if parse_type(source).bits > parse_type(target).bits else "extf"
    code = f"%r = arith.{op} %a : {source} to {target}"
    a = floats(source, 5)
    result = np.zeros(COUNT, natural_dtype(parse_type(target)))
    LLVMModule(elementwise({"a": source}, {"r": (target, code)}, COUNT), "f")(a, result)
    want = [rounded(float(v), target) for v in a]
    assert same(result, np.array(want, np.float64).astype(result.dtype))


def rounded(value: float, target: str) -> float:
    """``value`` in the format, to nearest even, by exact arithmetic."""
    if not np.isfinite(value) or value == 0 or target == "f64":
        return value
    dtype = natural_dtype(parse_type(target))
    info = ml_dtypes.finfo(dtype)
    exponent = max(int(np.frexp(value)[1]) - 1, int(info.minexp))
    unit = Fraction(2) ** (exponent - int(info.nmant))
    result = round(Fraction(value) / unit) * unit
    if abs(result) > Fraction(float(info.max)):
        return float(np.copysign(np.inf, value))
    return float(np.copysign(float(result), value))


@pytest.mark.parametrize("bits", (1, 7, 8, 16, 32, 33, 64, 100, 128, 200))
@pytest.mark.parametrize("name", FORMATS)
def test_float_to_integer_saturates(name: str, bits: int):
    outputs = {
        "s": (f"i{bits}", f"%s = arith.fptosi %a : {name} to i{bits}"),
        "u": (f"ui{bits}", f"%u = arith.fptoui %a : {name} to i{bits}"),
    }
    a = floats(name, bits)
    results = [
        decode(empty_cells((COUNT,), parse_type(t)), parse_type(t)) for t, _ in outputs.values()
    ]
    LLVMModule(elementwise({"a": name}, outputs, COUNT), "f")(a, *results)
    for result, declared in zip(results, (f"i{bits}", f"ui{bits}"), strict=True):
        low, high = (
            (0, 2**bits - 1) if declared[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        want = [clamp(float(v), low, high) for v in a]
        np.testing.assert_array_equal(result, cells(want, declared), err_msg=declared)


def clamp(value: float, low: int, high: int) -> int:
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


@pytest.mark.parametrize("bits", (1, 7, 16, 25, 32, 53, 64, 100, 128, 200))
@pytest.mark.parametrize("name", FORMATS)
def test_integer_to_float_rounds_once(name: str, bits: int):
    outputs = {
        "s": (name, f"%s = arith.sitofp %a : {mlir(f'i{bits}')} to {name}"),
        "u": (name, f"%u = arith.uitofp %a : {mlir(f'i{bits}')} to {name}"),
    }
    values, _ = operands(bits, 7)
    count = len(values)
    dtype = natural_dtype(parse_type(name))
    s, u = np.zeros(count, dtype), np.zeros(count, dtype)
    module = LLVMModule(elementwise({"a": f"ui{bits}"}, outputs, count), "f")
    module(cells(values, f"ui{bits}"), s, u)
    want_u = [nearest(v, name) for v in values]
    want_s = [nearest(v - ((v >> (bits - 1)) << bits), name) for v in values]
    assert same(u, np.array(want_u).astype(dtype)), "uitofp"
    assert same(s, np.array(want_s).astype(dtype)), "sitofp"


def nearest(value: int, name: str) -> float:
    """The float nearest to an integer, ties to even, overflow to infinity."""
    info = ml_dtypes.finfo(natural_dtype(parse_type(name)))
    shift = max(abs(value).bit_length() - int(info.nmant) - 1, 0)
    result = round(Fraction(value, 1 << shift)) << shift
    if abs(result) > int(float(info.max)):
        return float("inf") if result > 0 else float("-inf")
    return float(result)


FLUSH = """
#include <xmmintrin.h>
extern "C" void set_csr(unsigned v) { _mm_setcsr(v); }
extern "C" unsigned get_csr() { return _mm_getcsr(); }
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no MXCSR")
@pytest.mark.parametrize("simulated", [False, True])
def test_subnormals_survive_a_process_that_flushes_them(simulated: bool, tmp_path: Path):
    (tmp_path / "csr.cpp").write_text(FLUSH)
    command = [find_compiler("a test"), "-shared", "-fPIC"]
    compile_shared(command, [tmp_path / "csr.cpp"], tmp_path / "csr.so", "a test")
    library = ctypes.CDLL(str(tmp_path / "csr.so"))
    library.get_csr.restype = ctypes.c_uint
    checked = '"allo.assert"(%yes) {message = "yes"} : (i1) -> ()' if simulated else ""
    code = f"%half = arith.constant 0.5 : f32\n%yes = arith.constant true\n{checked}\n"
    module = LLVMModule(
        elementwise({"a": "f32"}, {"b": ("f32", code + "%b = arith.mulf %a, %half : f32")}, 4), "f"
    )
    a = np.array([1e-40, -2e-39, 1.2e-38, 1e-45], np.float32)
    want, b = a * np.float32(0.5), np.zeros(4, np.float32)
    before = library.get_csr()
    library.set_csr(0x9FC0)
    try:
        module(a, b)
        assert library.get_csr() & 0xFFC0 == 0x9FC0
    finally:
        library.set_csr(before)
    assert want[0] != 0
    np.testing.assert_array_equal(b.view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("opt_level", [0, 1, 3])
def test_integers_past_the_last_float_are_infinite(opt_level):
    """LLVM converted to a wider float where it saw few significant bits: x << 22 has eleven."""

    def kernel(a: UInt(24), b: Int(17), c: Int(64), d: UInt(130), out: float64[4]):
        half: float16 = a << 13
        out[0] = half
        half = b << 16
        out[1] = half
        half = c << 55
        out[2] = half
        single: float32 = d << 120
        out[3] = single

    run = allo.customize(kernel).build(opt_level=opt_level)
    for a, b, c, d, want in (
        (9, -1, -5, 512, [np.inf, -np.inf, -np.inf, np.inf]),
        (8, 0, 5, 255, [np.inf, 0.0, np.inf, 255 * 2.0**120]),
        (7, 0, 0, 256, [7 * 2.0**13, 0.0, 0.0, np.inf]),
    ):
        out = np.empty(4)
        run(a, b, c, d, out)
        np.testing.assert_array_equal(out, want)
        expected = np.empty(4)
        allo.interpret(kernel)(a, b, c, d, expected)
        np.testing.assert_array_equal(expected, want)


@pytest.mark.parametrize("opt_level", [0, 1, 3])
def test_wide_integers_are_scaled_before_they_are_rounded(opt_level):
    """LLVM scaled in float16, or float32, where it saw few significant bits: x << 20 is infinite there."""

    def kernel(a: UInt(64), b: Int(40), c: int32, d: UInt(64), out: float64[4]):
        half: float16 = UFixed(24, 20)(a)
        out[0] = half
        half = Fixed(40, 30)(b)
        out[1] = half
        scaled: float32 = c << 24
        scaled = scaled * 0.0009765625
        half = scaled
        out[2] = half
        e: UInt(200) = d
        double: float64 = e << 130
        single: float32 = double * 2.0**-110
        out[3] = single

    run = allo.customize(kernel).build(opt_level=opt_level)
    out, expected = np.empty(4), np.empty(4)
    run(28, -3, 3, 5, out)
    allo.interpret(kernel)(28, -3, 3, 5, expected)
    np.testing.assert_array_equal(expected, [12.0, -3.0, 3 * 2.0**14, 5 * 2.0**20])
    np.testing.assert_array_equal(out, expected)
