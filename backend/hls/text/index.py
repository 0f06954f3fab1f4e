"""Affine maps and sets as C++ index expressions.

``floordiv``, ``ceildiv`` and ``mod`` round towards minus infinity, C++ towards zero: where the
range of the operand shows that it is not negative the plain operator is printed,
otherwise a helper function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import rows_of
from allo.dialects.core.expressions import OPERATORS, fold, leaves
from allo.dialects.ranges.interval import Interval, combined

from ..emit.values import Scalar
from . import literals
from .ctype import Bounds, fits_int

_SUM, _PRODUCT, _ATOM = 1, 2, 3


@dataclass(frozen=True, slots=True)
class IndexText:
    """An index expression: its text, how tightly it binds, and its inclusive range.

    Attributes:
        wide: whether it has 64 bits in C++; ``int`` otherwise, which then holds its value.
    """

    text: str
    level: int
    low: int | None
    high: int | None
    wide: bool = False

    @property
    def bounds(self) -> Bounds:
        """The inclusive range, None where a bound is unknown."""
        return self.low, self.high

    @property
    def interval(self) -> Interval | None:
        """The same where both bounds are known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def widened(self) -> IndexText:
        """The same with 64 bits."""
        if self.wide:
            return self
        return IndexText(f"(int64_t){self.atom}", _PRODUCT, self.low, self.high, True)

    @property
    def atom(self) -> str:
        """The text as an operand of any operator, in parentheses if needed."""
        return self.text if self.level == _ATOM else f"({self.text})"

    @property
    def factor(self) -> str:
        """The text as a factor of a product, in parentheses if needed."""
        return self.text if self.level >= _PRODUCT else f"({self.text})"


def constant_index(value: int) -> IndexText:
    """A constant as an index expression."""
    level = _ATOM if value >= 0 else _SUM
    return IndexText(literals.index(value), level, value, value, not fits_int((value, value)))


def index_of(value: Scalar) -> IndexText:
    """A scalar of index type as an index expression."""
    if value.const is not None:
        return constant_index(int(value.const))
    return IndexText(value.text, _ATOM, value.low, value.high, value.ctype.bits > 32)


def alike(terms: Sequence[IndexText]) -> list[IndexText]:
    """The terms with one C++ type: functions such as ``min`` take no two."""
    return [t.widened for t in terms] if any(t.wide for t in terms) else list(terms)


class AffinePrinter:
    """Prints affine expressions over given operands.

    Args:
        helper: called with a helper's name when it is needed; returns its C++ name.
    """

    def __init__(self, helper: Callable[[str], str]) -> None:
        self._helper = helper

    def results(self, affine_map: ir.AffineMap, operands: Sequence[Scalar]) -> list[IndexText]:
        """The results of a map whose dimensions, then symbols, are ``operands``."""
        return [self._print(e, affine_map, operands) for e in affine_map.results]

    def subscripts(self, affine_map: ir.AffineMap, operands: Sequence[Scalar]) -> list[IndexText]:
        """The same for an element of an array, whose place is an ``int``: sums of such need no more."""
        wide = any(index_of(v).wide for v in operands)
        return [
            self._print(e, affine_map, operands, widen=wide or not _is_sum(e))
            for e in affine_map.results
        ]

    def condition(self, integer_set: ir.Attribute, operands: Sequence[Scalar]) -> str:
        """The C++ condition of an integer set."""
        exprs, equal = rows_of(integer_set)
        rows = zip(self.results(exprs, operands), equal, strict=True)
        return " && ".join(f"{row.text} {'==' if zero else '>='} 0" for row, zero in rows)

    def _print(
        self,
        expr: ir.AffineExpr,
        affine_map: ir.AffineMap,
        operands: Sequence[Scalar],
        *,
        widen: bool = True,
    ) -> IndexText:
        def join(operator: str, left: IndexText, right: IndexText) -> IndexText:
            if operator == "+":
                return _add(left, right, widen=widen)
            if operator == "*":
                return _multiply(left, right, widen=widen)
            return self._divide(operator, left, right)

        terms = [index_of(v) for v in operands]
        leaf = leaves(terms.__getitem__, terms[affine_map.n_dims :].__getitem__, constant_index)
        return fold(expr, leaf, join)

    def _divide(self, operator: str, left: IndexText, right: IndexText) -> IndexText:
        plain = left.low is not None and left.low >= 0 and right.low is not None and right.low > 0
        low = high = None
        if operator == "mod":
            if right.high is not None:
                low, high = 0, right.high - 1
            if plain and left.high is not None and high is not None and left.high <= high:
                return left
        else:
            low, high = _quotients(left, right, OPERATORS[operator])
        symbol = {"mod": "%", "floordiv": "/"}.get(operator)
        wide = left.wide or right.wide
        if plain and symbol:
            return IndexText(f"{left.factor} {symbol} {right.atom}", _PRODUCT, low, high, wide)
        if plain:
            raised = _add(left, _add(right, constant_index(-1)))
            if right.low == right.high and right.high is not None:
                raised = _add(left, constant_index(right.high - 1))
            text = f"{raised.atom} / {right.atom}"
            return IndexText(text, _PRODUCT, low, high, raised.wide or right.wide)
        call = self._helper(f"{operator}64" if wide else operator)
        return IndexText(f"{call}({left.text}, {right.text})", _ATOM, low, high, wide)


def _is_sum(expr: ir.AffineExpr) -> bool:
    """Whether an expression is made of sums and multiples by numbers that ``int`` holds."""

    def join(operator: str, left: bool, right: bool) -> bool:
        return operator in ("+", "*") and left and right

    leaf = leaves(lambda _: True, lambda _: True, lambda value: fits_int((value, value)))
    return fold(expr, leaf, join)


def _add(left: IndexText, right: IndexText, *, widen: bool = True) -> IndexText:
    low = None if left.low is None or right.low is None else left.low + right.low
    high = None if left.high is None or right.high is None else left.high + right.high
    if right.text == "0":
        return left
    wide = left.wide or right.wide or (widen and not fits_int((low, high)))
    if wide and not (left.wide or right.wide):
        left = left.widened
    if right.text.startswith("-"):
        text = f"{left.text} - {right.text[1:]}"
    else:
        text = f"{left.text} + {right.text}"
    return IndexText(text, _SUM, low, high, wide)


def _multiply(left: IndexText, right: IndexText, *, widen: bool = True) -> IndexText:
    low, high = combined("*", left.interval, right.interval) or (None, None)
    wide = left.wide or right.wide or (widen and not fits_int((low, high)))
    if wide and not (left.wide or right.wide):
        left = left.widened
    if right.text == "-1" and left.level >= _PRODUCT:
        return IndexText(f"-{left.text}", _SUM, low, high, wide)
    return IndexText(f"{left.factor} * {right.atom}", _PRODUCT, low, high, wide)


def _quotients(
    left: IndexText, right: IndexText, divide: Callable[[int, int], int]
) -> tuple[int | None, int | None]:
    if right.low is None or right.low != right.high or right.low <= 0:
        return None, None
    low = None if left.low is None else divide(left.low, right.low)
    high = None if left.high is None else divide(left.high, right.low)
    return low, high
