"""Every operator on pairs of types, against exact fractions, on every target."""

import numpy as np
import pytest

import allo
from allo.dialects.diagnostics import DTypeWarning, TypeMismatchError
from allo.dialects.types import Fixed, Index, Int, UFixed, UInt
from allo.frontend.rules.typing import DEFAULT

from . import model
from .targets import build

PAIRS = [
    (Fixed(8, 3), UFixed(10, 4)),
    (Fixed(12, 4), Fixed(7, 7)),
    (UFixed(9, 9), UFixed(6, 2)),
    (Fixed(40, 20), Fixed(33, 8)),
    (Fixed(64, 30), UFixed(64, 64)),
    (Fixed(8, 12), Fixed(16, 3)),
    (Int(8), Fixed(12, 4)),
    (UFixed(8, 5), Int(6)),
    (Fixed(16, 8), UInt(7)),
    (UInt(5), UFixed(9, 3)),
    (Int(3), Fixed(10, 6)),
    (Fixed(1, 0), UFixed(1, 1)),
    (Fixed(3, 3), Fixed(1, 2)),
    (Fixed(8, 7), Int(1)),
    (Int(1), UFixed(3, 5)),
    (Int(1), Fixed(1, 0)),
]
RUNS = [("cpu", pair) for pair in PAIRS]
RUNS += [("csim", PAIRS[k]) for k in (0, 1, 3, 14)]
RUNS += [("jit", PAIRS[k]) for k in (0, 1, 2, 3, 7, 8, 13)]
RUNS += [("verilator", PAIRS[0])]


def operand(rng, dtype):
    values = model.samples(rng, dtype)
    if not dtype.fracs:
        low = -(1 << dtype.bits - 1) if isinstance(dtype, Int) else 0
        return rng.integers(low, low + (1 << dtype.bits), model.N).astype(np.float64)
    return values


@pytest.mark.parametrize(("target", "pair"), RUNS, ids=lambda v: str(v).replace(" ", ""))
@pytest.mark.filterwarnings("ignore::allo.dialects.diagnostics.DTypeWarning")
def test_every_operator_is_exact(target, pair, tmp_path):
    schedule, expect = model.arithmetic(*pair)
    module = build(schedule, target, tmp_path)
    rng = np.random.default_rng(pair[0].bits)
    for zeros in (False, False, True):
        first, second = operand(rng, pair[0]), operand(rng, pair[1])
        second = model.without_zero(second, pair[1])
        if zeros:
            second[::3] = 0
        results = model.blank()
        module(first, second, *results)
        for name, got, want in zip(model.OUTPUTS, results, expect(first, second), strict=True):
            keep = np.ones(model.N, bool) if name not in ("quotient", "floored") else second != 0
            np.testing.assert_array_equal(got[keep], want[keep], err_msg=name)


@pytest.mark.parametrize("target", ["cpu", "jit"])
@pytest.mark.parametrize(
    ("left", "right"),
    [(UInt(5), UFixed(9, 3)), (UFixed(9, 4), UFixed(6, 2)), (Int(8), Fixed(12, 4))],
    ids=str,
)
def test_divided_by_zero_all_bits_are_one(target, left, right, tmp_path):
    """Of ``/`` every bit, of ``//`` every whole bit."""
    out = DEFAULT.result("/", left, right)

    def kernel(x: left, y: right, z: UInt(out.bits)[2]):
        quotient: out = x / y
        floored: out = x // y
        z[0] = quotient.bitcast()
        z[1] = floored.bitcast()

    z = np.zeros(2, np.int64)
    with pytest.warns(DTypeWarning):
        build(allo.customize(kernel), target, tmp_path)(2, 0, z)
    ones = (1 << out.bits) - 1
    assert z.tolist() == [ones, ones >> out.fracs << out.fracs]


def test_a_quotient_without_a_type_is_refused():
    def ratio(x: Fixed(200, 100), y: Fixed(200, 20)) -> Fixed(200, 100):
        return x / y

    said = (
        r"Cannot divide fixed\(200, 100\) and fixed\(200, 20\): there is no type for the result\. "
        r"The fraction width must lie in 0 … 255, not 280\."
    )
    with pytest.raises(TypeMismatchError, match=said) as caught:
        allo.customize(ratio)
    assert "return x / y" in str(caught.value)


def test_remainder_with_an_index_sees_all_of_the_index():
    def kernel(
        x: Fixed(8, 2), y: UFixed(3, 3), i: Index(), left: Fixed(40, 3)[1], right: Fixed(40, 2)[1]
    ):
        left[0] = i % y
        right[0] = x % i

    left, right = np.zeros(1), np.zeros(1)
    allo.customize(kernel).build()(27.75, 0.875, (1 << 33) + 5, left, right)
    np.testing.assert_array_equal(left, [float(((1 << 33) + 5) * 8 % 7 / 8)])
    np.testing.assert_array_equal(right, [27.75])
    allo.customize(kernel).build()(-3.25, 0.875, -1, left, right)
    np.testing.assert_array_equal(left, [2.0**32 - 0.125])  # wrapped in the rule's UFixed(35, 3)
    np.testing.assert_array_equal(right, [-0.25])
