"""Fixed-point numbers as exact fractions, and kernels that do everything with a pair of types."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

import allo
from allo.dialects.types import AlloType, Fixed, Int, UInt
from allo.frontend.rules.typing import DEFAULT

N = 24
ORDER = ("==", "!=", "<", "<=", ">", ">=")


def wrapped(raw: int, dtype: AlloType) -> int:
    """An integer in two's complement of the type's bits; of Int(1), which is 0 or 1, its bit."""
    raw &= (1 << dtype.bits) - 1
    signed = isinstance(dtype, Fixed) or (isinstance(dtype, Int) and dtype.bits > 1)
    return raw - (1 << dtype.bits) if signed and raw >> (dtype.bits - 1) else raw


def in_type(value: Fraction, dtype: AlloType, cut: Callable[[Fraction], int]) -> Fraction:
    """A number as the type holds it; ``cut`` is ``math.trunc`` or ``math.floor``."""
    scale = 1 << dtype.fracs
    return Fraction(wrapped(cut(value * scale), dtype), scale)


def from_python(values: np.ndarray, dtype: AlloType) -> list[Fraction]:
    """What a kernel sees of an array given to it: toward zero, wrapped."""
    return [in_type(Fraction(v), dtype, math.trunc) for v in values.ravel().tolist()]


def to_python(values: list[Fraction]) -> np.ndarray:
    return np.array([float(v) for v in values])


def divided(a: Fraction, b: Fraction, dtype: AlloType) -> Fraction:
    """``a / b`` in the rule's type; 0 where b is 0, which nothing compares."""
    return in_type(a / b, dtype, math.trunc) if b else b


def remainder(a: Fraction, b: Fraction) -> Fraction:
    """C's: the sign of the dividend."""
    return a - b * math.trunc(a / b) if b else a


def samples(rng: np.random.Generator, dtype: AlloType, count: int = N) -> np.ndarray:
    """Floats around the type's range, its edges and values beyond it; never a result of 0."""
    high = 2.0 ** (dtype.bits - dtype.fracs)
    step = 2.0**-dtype.fracs
    values = rng.uniform(-high, high, count)
    values[: count // 3] = rng.uniform(-1, 1, count // 3) * min(high, 4)
    edges = [high / 2, -high / 2, high - step, step, -step, 1.25 * high, -1.75 * high]
    values[-len(edges) :] = edges
    return values


def without_zero(values: np.ndarray, dtype: AlloType) -> np.ndarray:
    zero = np.array([v == 0 for v in from_python(values, dtype)]).reshape(values.shape)
    return np.where(zero, 2.0**-dtype.fracs, values)


def arithmetic(left: AlloType, right: AlloType):
    """The schedule of a kernel of every operator on two types, results in the rules' types, and a model."""
    TA, TB = left, right
    TADD, TMUL, TDIV, TMOD = (DEFAULT.result(op, left, right) for op in "+*/%")

    def everything(
        A: TA[N],
        B: TB[N],
        added: TADD[N],
        subtracted: TADD[N],
        product: TMUL[N],
        quotient: TDIV[N],
        floored: TDIV[N],
        rest: TMOD[N],
        least: TMOD[N],
        most: TMOD[N],
        chosen: TMOD[N],
        order: UInt(6)[N],
        negative: TA[N],
        magnitude: TA[N],
    ):
        for i in range(N):
            added[i] = A[i] + B[i]
            subtracted[i] = A[i] - B[i]
            product[i] = A[i] * B[i]
            quotient[i] = A[i] / B[i]
            floored[i] = A[i] // B[i]
            rest[i] = A[i] % B[i]
            least[i] = min(A[i], B[i])
            most[i] = max(A[i], B[i])
            chosen[i] = A[i] if A[i] < B[i] else -B[i]
            bits: UInt(6) = 0
            bits[0] = A[i] == B[i]
            bits[1] = A[i] != B[i]
            bits[2] = A[i] < B[i]
            bits[3] = A[i] <= B[i]
            bits[4] = A[i] > B[i]
            bits[5] = A[i] >= B[i]
            order[i] = bits
            negative[i] = -A[i]
            magnitude[i] = abs(A[i])

    def model(first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
        pairs = list(zip(from_python(first, left), from_python(second, right), strict=True))
        cut = math.trunc
        negated = Int(right.bits) if isinstance(right, UInt) else right
        python_bit = -1 if left == Int(1) else 1

        def chosen(a: Fraction, b: Fraction) -> Fraction:
            return a if a < b else in_type(in_type(-b, negated, cut), TMOD, cut)

        def floored(a: Fraction, b: Fraction) -> Fraction:
            return in_type(Fraction(a // b), TDIV, cut) if b else b

        def order(a: Fraction, b: Fraction) -> Fraction:
            found = (a == b, a != b, a < b, a <= b, a > b, a >= b)
            return Fraction(sum(bit << k for k, bit in enumerate(found)))

        columns: list[Callable[[Fraction, Fraction], Fraction]] = [
            lambda a, b: in_type(a + b, TADD, cut),
            lambda a, b: in_type(a - b, TADD, cut),
            lambda a, b: in_type(a * b, TMUL, cut),
            lambda a, b: divided(a, b, TDIV),
            floored,
            lambda a, b: in_type(remainder(a, b), TMOD, cut),
            lambda a, b: min(in_type(a, TMOD, cut), in_type(b, TMOD, cut)),
            lambda a, b: max(in_type(a, TMOD, cut), in_type(b, TMOD, cut)),
            chosen,
            order,
            lambda a, b: python_bit * in_type(-a, left, cut),
            lambda a, b: python_bit * in_type(abs(a), left, cut),
        ]
        return [to_python([column(a, b) for a, b in pairs]) for column in columns]

    return allo.customize(everything), model


OUTPUTS = (
    "added subtracted product quotient floored rest least most chosen order negative magnitude"
).split()


def blank() -> list[np.ndarray]:
    """Float64 arrays for the outputs of an arithmetic kernel."""
    return [np.full(N, -7.0) for _ in OUTPUTS]
