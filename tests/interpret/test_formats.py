"""Rounding and float operations against NumPy, and against exact fractions."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from allo.interpret.running import formats
from allo.interpret.running.formats import FORMATS, INF, NAN, ROUND, decode, encode, round_fraction

NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
INTEGERS = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def same(a: float, b: float) -> bool:
    """Equal with the sign of zero; any NaN equals any NaN."""
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def rounded_exactly(exact: Fraction, name: str) -> float:
    return round_fraction(exact.numerator, exact.denominator, FORMATS[name])


def samples(name: str, count: int, seed: int) -> list[float]:
    """Random bits, and values near the ends, halves and the smallest numbers."""
    form = FORMATS[name]
    rng = random.Random(seed)
    found = [decode(rng.getrandbits(form.bits), form) for _ in range(count)]
    edges = [form.largest, math.ldexp(1, form.emin), math.ldexp(1, form.quantum), 1.0, 3.0, 0.0]
    edges += [math.nextafter(1.0, 2.0) if name == "f64" else 1 + math.ldexp(1, 1 - form.precision)]
    return found + [s * e for e in edges for s in (1, -1)] + [INF, -INF, NAN]


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_pattern_of_16_bits(name: str) -> None:
    form = FORMATS[name]
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        values = bits.view(NUMPY[name]).astype(np.float64).tolist()
    for pattern, value in enumerate(values):
        assert same(decode(pattern, form), value)
        if value == value:
            assert encode(value, form) == pattern
    assert encode(NAN, form) == {"f16": 0x7E00, "bf16": 0x7FC0}[name]


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_patterns_of_wide_formats(name: str) -> None:
    form = FORMATS[name]
    code = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}[name]
    for value in samples(name, 5000, 1):
        if value != value:
            continue
        (pattern,) = struct.unpack(code[1], struct.pack(code[0], value))
        assert encode(value, form) == pattern
        assert same(decode(pattern, form), value)


def test_every_half_rounds_as_numpy_rounds() -> None:
    """Each float16, the middle above it, and both neighbours of the middle, from binary64."""
    bits = np.arange(0x7C00, dtype=np.uint16)
    low = bits.view(np.float16).astype(np.float64)
    high = np.append(low[1:], 65536.0)
    middle = (low + high) / 2
    for source in (low, middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)):
        with np.errstate(over="ignore"):
            wanted = source.astype(np.float16).astype(np.float64)
        found = [ROUND["f16"](x) for x in source.tolist()]
        assert np.array_equal(found, wanted)
        assert [ROUND["f16"](-x) for x in source.tolist()] == [-x for x in found]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
def test_rounding_agrees_with_fractions(name: str) -> None:
    for value in samples("f64", 4000, 2) + samples("f32", 4000, 3):
        if math.isfinite(value):
            wanted = rounded_exactly(Fraction(value), name)
            found = ROUND[name](value)
            assert found == wanted or value == 0
            assert math.copysign(1, found) == math.copysign(1, value)


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
def test_operations_round_once(name: str) -> None:
    """+ - * / of binary64, rounded again, are the exact results rounded once."""
    rng = random.Random(4)
    values = [v for v in samples(name, 3000, 5) if math.isfinite(v)]
    near = [v for v in values if 1e-3 < abs(v) < 1e3] or values
    for _ in range(12000):
        pool = near if rng.random() < 0.5 else values
        a, b = rng.choice(pool), rng.choice(pool)
        x, y = Fraction(a), Fraction(b)
        exact = {"+": x + y, "-": x - y, "*": x * y}
        found = {"+": a + b, "-": a - b, "*": a * b}
        if b:
            exact["/"], found["/"] = x / y, formats.divide(a, b)
        for symbol, value in exact.items():
            assert ROUND[name](found[symbol]) == rounded_exactly(value, name), (a, symbol, b)


def test_binary64_is_the_host() -> None:
    values = [v for v in samples("f64", 2000, 6) if math.isfinite(v)]
    for a, b in zip(values, values[::-1], strict=True):
        for symbol, value in (("+", Fraction(a) + Fraction(b)), ("*", Fraction(a) * Fraction(b))):
            found = a + b if symbol == "+" else a * b
            assert found == rounded_exactly(value, "f64")


@pytest.mark.parametrize("operation", ["divide", "remainder", "smallest", "largest"])
def test_special_values_as_numpy(operation: str) -> None:
    numpy = {
        "divide": np.divide,
        "remainder": np.fmod,
        "smallest": np.minimum,
        "largest": np.maximum,
    }[operation]
    values = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN, 5e-324, -1e308]
    for a, b in product(values, values):
        if operation in ("smallest", "largest") and a == b == 0:
            continue
        with np.errstate(all="ignore"):
            wanted = float(numpy(np.float64(a), np.float64(b)))
        assert same(getattr(formats, operation)(a, b), wanted), (a, b)


def test_zeros_have_an_order() -> None:
    assert same(formats.smallest(0.0, -0.0), -0.0) and same(formats.smallest(-0.0, 0.0), -0.0)
    assert same(formats.largest(0.0, -0.0), 0.0) and same(formats.largest(-0.0, 0.0), 0.0)


def test_a_wrong_rounding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROUND, "f16", lambda x: float(np.trunc(x * 1024) / 1024))
    with pytest.raises(AssertionError):
        test_every_half_rounds_as_numpy_rounds()
