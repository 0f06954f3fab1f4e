"""Quotients by constants have the bits of the division."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import allo
from allo.backend.rtl.float.constants import reciprocal as reciprocals
from allo.backend.rtl.float.constants.reciprocal import (
    Constant,
    Reciprocal,
    constant_of,
    failures,
    reciprocal,
    reciprocal_of,
)
from allo.backend.rtl.float.formats import FORMATS, FloatFormat
from allo.backend.rtl.operators import Operator, OperatorLibrary
from allo.backend.rtl.operators.families import float_constants
from allo.ir.types import float32

from . import soft
from .flushing import expected as flushed_results
from .harness import CompiledUnit, assert_same
from .vectors import from_host, operand_pairs, specials, to_host

F16, F32, F64 = (FORMATS[name] for name in ("f16", "f32", "f64"))

DIVISORS = {
    "f16": (3.0, 260.0, -10.0, 0.1, 1 / 3, 6e-5, 6e-8, 5.3e-6, 65504.0, 1.999, 2.0, -0.25, 1024.0),
    "f32": (
        *(260.0, 240.0, 10.0, -7.0, 3.0, 6.0, 0.1, 1 / 3, 1.5, math.pi, -1000.0, 1e-30, 6e28, 65535.0),
        # The largest, the next to 1 and 2, the smallest normal and subnormal ones.
        *(3.4028235e38, 1.0000001, 0.99999994, 1.9999999, 1.1754944e-38, 1.1754945e-38),
        *(1e-40, -9.8e-45, 1.4e-45, 1.0, -2.0, 0.5, 2.0**-20, 2.0**23, 2.0**60, 2.0**127),
    ),
    "f64": (260.0, 0.1, -3.0, 1e300, 1e-310, 2.0**-1074, 8.0),
}  # fmt: skip
PAIRS = [(kind, value) for kind, values in DIVISORS.items() for value in values]


def _bits(value: float, kind: FloatFormat) -> int:
    return int(from_host(np.array([value], kind.name.replace("f", "float")), kind)[0])


def _unit(
    value: float, kind: FloatFormat, library: OperatorLibrary, op: str = "arith.divf"
) -> Operator:
    constants = None, _bits(value, kind)
    return library.find(op, (kind.name,) * 2, kind.name, {"constants": constants})


def _operands(divisor: float, kind: FloatFormat, count: int) -> np.ndarray:
    """Random and special operands, those of quotients next to the middle of two numbers, and those that a
    reciprocal with one bit less fails for, each at every exponent and of both signs."""
    rng = np.random.default_rng(count)
    found = constant_of(_bits(divisor, kind), kind)
    assert found is not None
    odd, p = found.odd, kind.precision
    quotients = [int(q) * 2 + 1 for q in rng.integers(1 << p - 1, 1 << p, 40)]
    near = [q * odd >> max(0, (q * odd).bit_length() - p) for q in quotients]
    near = [m + step for m in near for step in (-1, 0, 1, 2)]
    if odd > 1:
        chosen = reciprocal_of(odd, p, ends=found.even_integer)
        shorter = reciprocal(odd, chosen.places - 1, chosen.tail)
        near += itertools.islice(failures(shorter, p), 20)
    near += [odd, odd * 3, (1 << p) - 1]
    fractions = {m << p - m.bit_length() & (1 << kind.fraction) - 1 for m in near if 0 < m < 1 << p}
    fields = range(kind.top_exponent)
    if kind.exponent > 8:
        fields = sorted(
            {0, *rng.integers(0, kind.top_exponent, 60).tolist(), kind.top_exponent - 1}
        )
    grid = [field << kind.fraction | fraction for field in fields for fraction in fractions]
    # Subnormal operands with a few bits, and results at both ends of the range.
    grid += [*range(1, 600), *((1 << kind.fraction) - step for step in range(-300, 300))]
    with np.errstate(all="ignore"):
        for edge in (1 << kind.fraction, kind.largest):
            limit = to_host(np.array([edge], np.uint64), kind)
            middle = int(from_host(limit * limit.dtype.type(divisor), kind)[0])
            grid += [max(0, middle + step) & kind.infinity - 1 for step in range(-300, 300)]
    grid = np.array(grid, np.uint64)
    anything, other = operand_pairs(kind, count, rng)
    signs = rng.integers(0, 2, len(grid)).astype(np.uint64) << np.uint64(kind.width - 1)
    return np.concatenate([specials(kind), grid | signs, anything, other])


def _expected(a: np.ndarray, divisor: float, kind: FloatFormat) -> np.ndarray:
    numbers = to_host(a, kind)
    with np.errstate(all="ignore"):
        return from_host(numbers / numbers.dtype.type(divisor), kind)


def _check(unit: Operator, a: np.ndarray, expected: np.ndarray, text: str = "rtl") -> None:
    b = np.full(len(a), dict(unit.asked[3])["constants"][1], np.uint64)
    assert_same(CompiledUnit(unit, text)(a, b), expected, a)


@pytest.mark.parametrize(("name", "divisor"), PAIRS)
def test_quotients_equal_the_host(name: str, divisor: float) -> None:
    kind = FORMATS[name]
    unit = _unit(divisor, kind, OperatorLibrary("xcup", 300.0))
    assert "_by" in unit.module
    a = np.arange(1 << 16, dtype=np.uint64) if kind is F16 else _operands(divisor, kind, 60_000)
    _check(unit, a, _expected(a, divisor, kind))


@pytest.mark.parametrize("divisor", [260.0, 0.1, 3.0, math.pi, 1e-41, 0.5, 1e30])
def test_other_devices_and_the_native_text_equal_the_host(divisor: float) -> None:
    a = _operands(divisor, F32, 10_000)
    for library in (OperatorLibrary("ecp5", 80.0), OperatorLibrary("xc7", 250.0)):
        unit = _unit(divisor, F32, library)
        _check(unit, a, _expected(a, divisor, F32))
        for impl in ("dsp", "fabric"):
            made = library.variant(unit, impl)
            if math.frexp(divisor)[0] != 0.5:
                assert bool(made.resources.dsp) == (impl == "dsp")
            _check(made, a, _expected(a, divisor, F32))
        _check(unit, a, _expected(a, divisor, F32), "native")


@pytest.mark.parametrize("name", ["f8E4M3", "f8E5M2", "bf16"])
def test_every_divisor_of_a_small_format(name: str) -> None:
    """All divisors of eight bits; of bfloat16, whose numbers are those of float32, a few."""
    kind = FORMATS[name]
    library = OperatorLibrary("xcup", 300.0)
    every = np.arange(1 << kind.width, dtype=np.uint64)
    step = 1 if kind.width == 8 else 2741
    for divisor in range(1, kind.infinity, step):
        request = {"constants": (None, divisor)}
        unit = library.find("arith.divf", (name, name), name, request)
        assert unit.module != library.find("arith.divf", (name, name), name).module
        expected = [soft.divide(int(a), divisor, kind) for a in every]
        _check(unit, every, np.array(expected, np.uint64))


@pytest.mark.parametrize("divisor", [260.0, -10.0, 0.1, 1.5, math.pi, 1e-30, 0.25, 2.0**40, 6e37])
def test_flushed_quotients_follow_the_definition(divisor: float) -> None:
    library = OperatorLibrary("xcup", 300.0, subnormals="flush")
    unit = _unit(divisor, F32, library)
    assert "_by" in unit.module
    a = _operands(divisor, F32, 3000)[::7]
    by = np.full(len(a), _bits(divisor, F32), np.uint64)
    expected = flushed_results(soft.divide, F32, a, by)
    for text in ("rtl", "native"):
        _check(unit, a, expected, text)


def test_other_constants_keep_the_divider() -> None:
    library, flush = OperatorLibrary(), OperatorLibrary(subnormals="flush")
    for divisor in (0.0, -0.0, math.inf, math.nan):
        assert _unit(divisor, F32, library).module == _plain(library)
    assert _unit(1e-41, F32, library).module != _plain(library)
    assert _unit(1e-41, F32, flush).module == _plain(flush)
    assert _unit(2.0, F32, library).module != _unit(4.0, F32, library).module


def _plain(library: OperatorLibrary) -> str:
    return library.find("arith.divf", ("f32", "f32"), "f32").module


@pytest.mark.parametrize("precision", range(3, 9))
def test_reciprocals_are_right_and_the_next_shorter_one_is_not(precision: int) -> None:
    """All significands by all odd numbers, for each digit that rounds and for whether quotients end."""
    for odd, ends in itertools.product(range(3, 1 << precision, 2), (False, True)):
        found = reciprocal_of(odd, precision, ends=ends)
        assert _is_right(found, precision)
        if not ends:
            assert not _is_right(reciprocal(odd, found.places - 1), precision)


def _is_right(found: Reciprocal, precision: int) -> bool:
    odd, length = found.odd, found.odd.bit_length()
    scaled = odd << precision - length
    for m in range(1 << precision):
        # A significand with its first bit set may need a digit more.
        places = length + (1 << precision - 1 <= m < scaled)
        if m * found.factor << places >> found.places != (m << places) // odd:
            return False
        tail = (m * found.factor << length + found.tail >> found.places) % (1 << found.tail)
        if found.tail and (tail != 0) != ((m << length) % odd != 0):
            return False
    return True


@pytest.mark.parametrize("divisor", [3.0, -7.0, 1 / 3, 260.5, math.pi, 1e-30])
def test_a_reciprocal_one_bit_too_short_is_found(
    divisor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operands of these tests show it."""

    def shorter(odd: int, precision: int, *, ends: bool) -> Reciprocal:
        whole = reciprocals.reciprocal_of(odd, precision, ends=ends)
        return reciprocal(odd, whole.places - 1, whole.tail)

    float_constants.kept_reciprocal.cache_clear()
    monkeypatch.setattr(float_constants, "reciprocal_of", shorter)
    library = OperatorLibrary("xcup", 311.0 + divisor / 1e3)
    unit = _unit(divisor, F32, library)
    float_constants.kept_reciprocal.cache_clear()
    a = _operands(divisor, F32, 1000)
    with pytest.raises(AssertionError, match="differ"):
        _check(unit, a, _expected(a, divisor, F32))


def means(x: float32[32], y: float32[32], z: float32[32]):
    for i in range(32):
        y[i] = x[i] / 260.0
    for i in range(32):
        z[i] = y[i] / 260.0
    for i in range(32):
        z[i] = z[i] / x[i]


def thirds(x: float32[32], y: float32[32]):
    for i in range(32):
        y[i] = x[i] / 3.0


def _numbers() -> np.ndarray:
    bits = np.random.default_rng(5).integers(0, 1 << 32, 32, dtype=np.uint32)
    return np.concatenate([bits[:20], np.arange(12, dtype=np.uint32) << np.uint32(21)]).view(
        np.float32
    )


def test_divisions_by_one_constant_share_a_unit_and_leave_the_divider_alone() -> None:
    hardware = allo.customize(means).build(target="verilog", simulator="jit")
    assert "fdiv_f32 × 1, fdiv_f32_by260 × 1" in str(hardware.report)
    x = _numbers()
    y, z = np.zeros((2, 32), np.float32)
    hardware(x, y, z)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, x / np.float32(260))
        np.testing.assert_array_equal(z, x / np.float32(260) / np.float32(260) / x)


@pytest.mark.parametrize("most", [2, 0])
def test_a_limit_on_multiplier_blocks_makes_a_quotient_of_tables(most: int) -> None:
    hardware = allo.customize(thirds).build(target="verilog", simulator="jit", max_dsp=most)
    assert hardware.report.resources.get("dsp", 0) == most
    x, y = _numbers(), np.zeros(32, np.float32)
    hardware(x, y)
    np.testing.assert_array_equal(y, x / np.float32(3))


def test_constants_are_read_from_their_bits() -> None:
    assert constant_of(_bits(-260.0, F32), F32) == Constant(True, 65, 8)
    assert constant_of(1, F32) == Constant(False, 1, -149)
    assert constant_of(_bits(0.75, F64), F64) == Constant(False, 3, -1)
