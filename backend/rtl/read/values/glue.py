"""Operators the compiler makes for itself: multiplexers, gates, comparisons of counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from allo.dialects.core.integers import PREDICATES
from allo.dialects.sums.digits import signed_digits

from ...netlist.operations import Compare, Concat, Constant, Extract, Gate, Mux, Operation
from ...operators import netlist
from ...operators.families.compare import compared
from ...operators.request import drawn
from ...operators.spec import Emit, Operator, Resources


def _simple(make: Callable[[str, tuple[str, ...]], Operation]) -> Emit:
    """Emits the one operation that ``make`` makes of the name of its result and its operands."""

    def emit(operands: Sequence[str], fresh: Callable[[], str]) -> tuple[list[Operation], str]:
        result = fresh()
        return [make(result, tuple(operands))], result

    return emit


@cache
def mux(width: int) -> Operator:
    """Condition, then, else."""
    return Operator(
        f"mux_i{width}",
        0,
        0.4,
        Resources(lut=(width + 1) // 2),
        False,
        (1, width, width),
        width,
        emit=_simple(lambda result, operands: Mux(result, operands, width)),
        netlist=drawn(netlist.mux, (1, width, width)),
    )


@cache
def gate(kind: str, width: int = 1) -> Operator:
    """``and``, ``or`` or ``xor`` of two values."""
    return Operator(
        f"{kind}_i{width}",
        0,
        0.3,
        Resources(lut=(width + 1) // 2),
        False,
        (width, width),
        width,
        emit=_simple(lambda result, operands: Gate(f"comb.{kind}", result, operands, width)),
        netlist=drawn(lambda a, b: a.net.make(kind, (a, b), width), (width, width)),
    )


@cache
def negative(width: int) -> Operator:
    """A float with its sign turned: one bit, which the logic behind it takes in."""

    def emit(operands: Sequence[str], fresh: Callable[[], str]) -> tuple[list[Operation], str]:
        top, one, turned, rest, result = (fresh() for _ in range(5))
        return [
            Extract(top, operands[0], width - 1, 1, width),
            Constant(one, 1, 1),
            Gate("comb.xor", turned, (top, one), 1),
            Extract(rest, operands[0], 0, width - 1, width),
            Concat(result, (turned, rest), (1, width - 1)),
        ], result

    return Operator(f"negative_i{width}", 0, 0.0, Resources(), False, (width,), width, emit=emit)


@cache
def compare(predicate: int, width: int) -> Operator:
    """An integer comparison by MLIR's predicate number."""
    kind = PREDICATES[predicate]
    return Operator(
        f"cmp_{kind}_i{width}",
        0,
        0.5 + 0.02 * width,
        Resources(lut=(width + 1) // 2),
        False,
        (width, width),
        1,
        emit=_simple(lambda result, operands: Compare(kind, result, operands, width)),
        netlist=drawn(partial(compared, kind), (width, width)),
    )


MOST_ADDER_BITS = 96
"""Sums of so many bits at most stand for the product in a division; above, a multiplier takes it."""


@cache
def divide_by_constant(width: int, divisor: int, result_width: int) -> Operator:
    """Unsigned division by a constant that is no power of two: a product by its scaled reciprocal.

    The product is a sum of shifted numbers where that is small, as for subscripts.
    """
    factor, shift = reciprocal(width, divisor)
    wide = width + factor.bit_length()
    digits = signed_digits(factor)
    small = (len(digits) - 1) * wide <= MOST_ADDER_BITS

    def emit(operands: Sequence[str], fresh: Callable[[], str]) -> tuple[list[Operation], str]:
        if small:
            made, product = _sum_of_shifted(operands[0], width, wide, digits, fresh)
        else:
            zero, long, constant, product = (fresh() for _ in range(4))
            made = [
                Constant(zero, 0, wide - width),
                Concat(long, (zero, operands[0]), (wide - width, width)),
                Constant(constant, factor, wide),
                Gate("comb.mul", product, (long, constant), wide),
            ]
        result = fresh()
        made.append(Extract(result, product, shift, result_width, wide))
        return made, result

    return Operator(
        f"divide_by_{divisor}_i{width}",
        0,
        2.5 + 0.05 * width,
        Resources(lut=width * 4),
        False,
        (width,),
        result_width,
        emit=emit,
    )


def reciprocal(width: int, divisor: int) -> tuple[int, int]:
    """Factor and shift with ``(n * factor) >> shift == n // divisor`` for all ``n`` of ``width`` bits.

    With ``factor * divisor = 2**shift + e``, the product is too large by ``n * e / (divisor * 2**shift)``,
    which changes no quotient while ``n * e < 2**shift``. Of those, the one with the fewest digits.
    """
    found: list[tuple[int, int, int]] = []
    for shift in range(divisor.bit_length(), width + divisor.bit_length() + 1):
        factor = (1 << shift) // divisor + 1
        if (factor * divisor - (1 << shift)) * ((1 << width) - 1) < 1 << shift:
            found.append((len(signed_digits(factor)), factor, shift))
    _, factor, shift = min(found)
    return factor, shift


def _sum_of_shifted(
    value: str, width: int, wide: int, digits: Sequence[tuple[int, int]], fresh: Callable[[], str]
) -> tuple[list[Operation], str]:
    """Operations that multiply by a number of these digits, the last of which is positive.

    Terms that are others moved by a distance, as 5 n and 80 n in 85 n, are the sum of these twice: one sum
    less, and fewer behind one another than in a text without brackets, which adds term by term.
    """
    made: list[Operation] = []

    def put(op: Operation) -> str:
        made.append(op)
        return op.result

    def shifted(place: int) -> str:
        parts = [(wide - width - place, ""), (width, value), (place, "")]
        used = [(n, v or put(Constant(fresh(), 0, n))) for n, v in parts if n]
        values, widths = tuple(v for _, v in used), tuple(n for n, _ in used)
        return put(Concat(fresh(), values, widths))

    def combined(kind: str, a: str, b: str) -> str:
        return put(Gate(f"comb.{kind}", fresh(), (a, b), wide))

    def raised(total: str, places: int) -> str:
        low = put(Extract(fresh(), total, 0, wide - places, wide))
        zeros = put(Constant(fresh(), 0, places))
        return put(Concat(fresh(), (low, zeros), (wide - places, places)))

    def sum_of(places: list[int]) -> str:
        half = len(places) // 2
        distance = places[half] - places[0] if half > 1 else 0
        if distance and [place + distance for place in places[:half]] == places[half:]:
            inner = sum_of(places[:half])
            return combined("add", inner, raised(inner, distance))
        terms = [shifted(place) for place in places]
        while len(terms) > 1:
            terms = [
                combined("add", *pair) if len(pair) == 2 else pair[0]
                for pair in (terms[k : k + 2] for k in range(0, len(terms), 2))
            ]
        return terms[0] if terms else ""

    plus, minus = (sum_of(sorted(p for p, digit in digits if digit == sign)) for sign in (1, -1))
    return made, combined("sub", plus, minus) if minus else plus
