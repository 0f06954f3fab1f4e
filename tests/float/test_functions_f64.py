"""The expansion of float64 functions: error against references of higher precision, hardware
against CPU."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from allo.backend.rtl.operators import OperatorLibrary
from allo.dialects._mlir import ir, make_context
from allo.dialects.passes.expand_math import EXPANSIONS, SINGLE_ONLY, expand_math

from .accuracy import measure
from .functions import HostFunction, hardware_function
from .harness import CompiledUnit

WIDE = np.longdouble
BOUND = {
    "math.exp": 0.55,
    "math.exp2": 0.55,
    "math.log": 0.55,
    "math.log2": 0.55,
    "math.log10": 0.55,
    "math.tanh": 1.25,
    "math.erf": 1.5,
    "math.rsqrt": 0.55,
}
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.0, 5e-324, -5e-324, 1e-310, 2.3e-308]
    + [1.7976931348623157e308, 709.782712893384, 709.7827128933841, -745.13, -745.14, -708.4]
    + [1023.999, 1024.0, -1074.0, -1075.0, -1076.0, 19.0, 19.1, 5.9, 6.0, 1e300, -1e300]
)


def _reciprocal_root(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


REFERENCE = {
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.log10": np.log10,
    "math.tanh": np.tanh,
    "math.rsqrt": _reciprocal_root,
}


def operands(count: int, seed: int) -> np.ndarray:
    """Random bits, the range where the functions vary, the neighbourhood of 1, specials."""
    rng = np.random.default_rng(seed)
    part = count // 3
    middle = rng.normal(0, 1, part) * np.exp2(rng.integers(-8, 10, part))
    near = 1 + rng.normal(0, 1, part) * np.exp2(rng.integers(-52, -1, part).astype(float))
    anything = rng.integers(0, 1 << 64, part, dtype=np.uint64).view(np.float64)
    return np.concatenate([anything, middle, near, SPECIAL])


def exact_erf(x: np.ndarray) -> np.ndarray:
    """The error function with 64 bits of precision, by its power series in 320-bit fixed point."""
    return np.array([_erf_series(float(v)) for v in x])


def _erf_series(x: float) -> np.longdouble:
    bits = 320
    numerator, denominator = abs(x).as_integer_ratio()
    term = fixed = (numerator << bits) // denominator
    square = fixed * fixed >> bits
    total, n = 0, 0
    while term:
        total += term // (2 * n + 1) if n % 2 == 0 else -(term // (2 * n + 1))
        n += 1
        term = (term * square >> bits) // n
    pi = 314159265358979323846264338327950288419716939937510582097494459230781640628620899862
    root_pi = isqrt((pi << 2 * bits) // 10**83)
    value = Fraction(2 * total, root_pi)
    high = float(value)
    return np.copysign(WIDE(high) + WIDE(float(value - Fraction(high))), WIDE(x))


@pytest.mark.parametrize("op", REFERENCE)
def test_function_is_within_its_bound(op: str) -> None:
    x = operands(60_000, 1)
    with np.errstate(all="ignore"):
        exact = REFERENCE[op](x.astype(WIDE))
    errors = measure(HostFunction(op, kind="f64")(x), exact, x)
    assert errors.wrong == 0, errors.example
    assert errors.ulp <= BOUND[op], errors


def test_erf_is_within_its_bound() -> None:
    rng = np.random.default_rng(5)
    inside = rng.normal(0, 1, 2500) * np.exp2(rng.integers(-30, 3, 2500).astype(float))
    x = np.concatenate([inside, rng.uniform(0.9, 6.1, 1500)])
    host = HostFunction("math.erf", kind="f64")
    errors = measure(host(x), exact_erf(x), x)
    assert errors.ulp <= BOUND["math.erf"], errors
    ends = np.array([0.0, -0.0, np.inf, -np.inf, 7.0, -1e300])
    expected = np.array([0.0, -0.0, 1.0, -1.0, 1.0, -1.0])
    assert np.array_equal(host(ends).view(np.uint64), expected.view(np.uint64))
    assert np.isnan(host(np.array([np.nan]))[0])


@pytest.mark.parametrize("op", BOUND)
def test_hardware_equals_cpu_bit_for_bit(op: str) -> None:
    x = operands(6_000, 2)
    unit = CompiledUnit(hardware_function(op, OperatorLibrary(), kind="f64").operator)
    expected = HostFunction(op, kind="f64")(x).view(np.uint64)
    assert np.array_equal(unit(x.view(np.uint64)), expected)


def test_functions_without_expansion_stay() -> None:
    assert set(BOUND) == set(EXPANSIONS) - SINGLE_ONLY
    text = "func.func @f(%x: f64) -> f64 { %r = math.sin %x : f64\n return %r : f64 }"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        assert expand_math(module) == 0
        assert "math.sin" in str(module)
