"""Operators the compiler makes for itself: multiplexers, gates, comparisons of counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from allo.dialects.core.integers import PREDICATES

from ...operators.spec import Operator, Resources

Emit = Callable[[Sequence[str], Callable[[], str]], tuple[list[str], str]]


def _simple(template: str) -> Emit:
    def emit(operands: Sequence[str], fresh: Callable[[], str]) -> tuple[list[str], str]:
        result = fresh()
        return [f"{result} = {template.format(*operands)}"], result

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
        emit=_simple(f"comb.mux {{0}}, {{1}}, {{2}} : i{width}"),
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
        emit=_simple(f"comb.{kind} {{0}}, {{1}} : i{width}"),
    )


@cache
def negative(width: int) -> Operator:
    """A float with its sign turned: one bit, which the logic behind it takes in."""

    def emit(operands: Sequence[str], fresh: Callable[[], str]) -> tuple[list[str], str]:
        top, one, turned, rest, result = (fresh() for _ in range(5))
        return [
            f"{top} = comb.extract {operands[0]} from {width - 1} : (i{width}) -> i1",
            f"{one} = hw.constant 1 : i1",
            f"{turned} = comb.xor {top}, {one} : i1",
            f"{rest} = comb.extract {operands[0]} from 0 : (i{width}) -> i{width - 1}",
            f"{result} = comb.concat {turned}, {rest} : i1, i{width - 1}",
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
        emit=_simple(f"comb.icmp {kind} {{0}}, {{1}} : i{width}"),
    )


@cache
def divide_by_constant(width: int, divisor: int, result_width: int) -> Operator:
    """Unsigned division by a constant: a multiplication by its scaled reciprocal."""
    shift = width + divisor.bit_length()
    factor = (1 << shift) // divisor + 1
    wide = width + factor.bit_length()

    def emit(operands: Sequence[str], fresh: Callable[[], str]) -> tuple[list[str], str]:
        zero, long, constant, product, result = (fresh() for _ in range(5))
        return [
            f"{zero} = hw.constant 0 : i{wide - width}",
            f"{long} = comb.concat {zero}, {operands[0]} : i{wide - width}, i{width}",
            f"{constant} = hw.constant {factor} : i{wide}",
            f"{product} = comb.mul {long}, {constant} : i{wide}",
            f"{result} = comb.extract {product} from {shift} : (i{wide}) -> i{result_width}",
        ], result

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
