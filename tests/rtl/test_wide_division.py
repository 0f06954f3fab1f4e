"""Division and remainder of any width on the in-process engine, against Python by the documented rules."""

import random

import numpy as np
import pytest

import allo
from allo.backend.rtl.operators import OperatorLibrary
from allo.dialects.core.integers import as_signed
from allo.ir.types import Int, UInt

N = 24


def quotients[T](x: "T[24]", y: "T[24]", q: "T[24]", f: "T[24]", r: "T[24]"):
    for i in range(24):
        q[i] = x[i] / y[i]
        f[i] = x[i] // y[i]
        r[i] = x[i] % y[i]


def _operands(dtype, rng):
    bits = dtype.bits
    low = -(1 << (bits - 1)) if isinstance(dtype, Int) else 0
    high = low + (1 << bits) - 1
    some = [low, high, 0, 1, -1 if low else high, low + 1, high // 3]
    pairs = [(a, b) for a in (low, high, 0, high // 3) for b in some][: N - 8]
    for _ in range(N - len(pairs)):
        size = rng.randrange(1, bits + 1)
        pairs.append((rng.randint(low, high), rng.randint(low, high) >> (bits - size)))
    return [a for a, _ in pairs], [b for _, b in pairs]


def _wanted(a, b, bits, signed):
    """Quotient toward zero, quotient rounded down, remainder with the dividend's sign."""
    ones = -1 if signed else (1 << bits) - 1
    if b == 0:
        return ones, ones, a
    toward_zero = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    values = toward_zero, a // b, a - b * toward_zero
    return tuple(as_signed(v & ((1 << bits) - 1), bits) if signed else v for v in values)


def _array(values, bits, signed):
    if bits > 64:
        return np.array(values, object)
    size = max(8, 1 << (bits - 1).bit_length())
    return np.array(values, f"{'i' if signed else 'u'}{size // 8}")


@pytest.mark.parametrize("dtype", [Int, UInt])
@pytest.mark.parametrize("bits", [5, 33, 64, 65, 100, 128, 129, 200])
def test_every_width(bits, dtype):
    kind, signed = dtype(bits), dtype is Int
    x, y = _operands(kind, random.Random(bits))
    s = allo.customize(quotients, instantiate=[kind])
    s.pipeline("i")
    given = [_array(v, bits, signed) for v in (x, y)]
    results = [_array([0] * N, bits, signed) for _ in range(3)]
    s.build(target="verilog", simulator="jit")(*given, *results)
    for k in range(N):
        got = tuple(int(r[k]) & ((1 << bits) - 1) for r in results)
        want = tuple(v & ((1 << bits) - 1) for v in _wanted(x[k], y[k], bits, signed))
        assert got == want, (x[k], y[k])


def test_512_bits_in_turn():
    def one(x: Int(512), y: Int(512)) -> Int(512):
        return x // y

    mod = allo.customize(one).build(target="verilog", simulator="jit")
    for a, b in ((10**150, 7), (-(10**150), 10**70 + 1), (3, 0), (-(1 << 511), -1)):
        assert mod(a, b) == _wanted(a, b, 512, True)[1]


def test_a_wide_divider_is_written_in_a_line_a_stage():
    operator = OperatorLibrary("xcup", 200).find("arith.divsi", ["i256", "i256"], "i256")
    assert len(operator.unit_module("rtl").operations) < 20 * 256
    assert len(operator.unit_module("native").operations) < 60
