"""What a nest computes: sums of words times constants, subscripts, and what both are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import BoundMap
from allo.dialects.core.expressions import OPERATORS, fold, leaves
from allo.dialects.ranges.interval import Interval, differences, linear, products, summed

type Subscript = tuple[tuple[tuple[int, int], ...], int]
"""A linear expression of index values from outside of the nest, by their numbers, and a constant."""


@dataclass(frozen=True, slots=True)
class Value:
    """An integer as a sum of words times constants; a float, or another integer, is a word itself.

    Attributes:
        terms: factors of words, by the number of the word.
        constant: what is added to them.
        width: bits of its type; 0 for a float.
        valid: how many of its low bits the sum says.
        span: where the sum lies.
    """

    terms: Mapping[int, int]
    constant: int
    width: int
    valid: int
    span: Interval

    @property
    def is_constant(self) -> bool:
        """Whether no word is in it."""
        return not self.terms

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal values."""
        return tuple(sorted(self.terms.items())), self.constant, self.width


@dataclass(slots=True)
class Word:
    """What a sum is made of: a load, a value from outside, or an operation that is no sum.

    Attributes:
        values: where it lies, read in two's complement.
        width: bits of its type; 0 for a float.
        level: the operations on data that come before it, in a chain.
        op: a load or another operation to be made again; None for a value from outside.
        value: the value from outside.
        operands: of an operation.
        subscripts: of a load; of an index, what it is.
    """

    values: Interval
    width: int
    level: int
    op: ir.Operation | None = None
    value: ir.Value | None = None
    operands: tuple[Value, ...] = ()
    subscripts: tuple[Subscript, ...] = ()


def number(value: int, width: int) -> Value:
    """A constant."""
    return Value({}, value, width, width, (value, value))


def added(a: Value, b: Value, sign: int, width: int, words: Sequence[Word]) -> Value:
    """The sum, or the difference, of two values in so many bits."""
    terms = dict(a.terms)
    shared = False
    for word, factor in b.terms.items():
        before = terms.get(word, 0)
        shared = shared or before != 0
        total = before + sign * factor
        if total:
            terms[word] = total
        else:
            terms.pop(word, None)
    constant, valid = a.constant + sign * b.constant, min(a.valid, b.valid, width)
    if shared:
        span = linear(constant, ((words[w].values, f) for w, f in terms.items()))
    else:
        span = summed(a.span, b.span) if sign > 0 else differences(a.span, b.span)
    return Value(terms, constant, width, valid, span)


def scaled(a: Value, factor: int, width: int) -> Value:
    """A value times a constant in so many bits."""
    terms = {word: f * factor for word, f in a.terms.items()} if factor else {}
    span = products(a.span, (factor, factor))
    return Value(terms, a.constant * factor, width, min(a.valid, width), span)


@dataclass(slots=True)
class Step:
    """An operation of the nest, read once.

    Attributes:
        kind: the type of its only result; None where it has none.
        width: bits of that; 0 for a float.
        formulas: the affine expressions of its subscripts or bounds, once they have been read.
    """

    op: ir.Operation
    name: str
    operands: list[ir.Value]
    result: ir.Value | None
    kind: ir.Type | None
    width: int
    formulas: list[Formula] | None = None


def read_step(operation: ir.Operation) -> Step:
    """Read an operation."""
    results = list(operation.results)
    result = results[0] if len(results) == 1 else None
    kind = None if result is None else result.type
    width = 0 if kind is None else width_of(kind)
    return Step(operation, operation.name, list(operation.operands), result, kind, width)


def width_of(kind: ir.Type) -> int:
    """The bits of an integer or index; 0 for a float."""
    if isinstance(kind, ir.IndexType):
        return 64
    return int(kind.width) if isinstance(kind, ir.IntegerType) else 0


@dataclass(frozen=True, slots=True)
class Formula:
    """An affine expression, read once.

    Attributes:
        terms: the operands with their factors where it is linear.
        compute: the number from those of the operands, where it is not.
    """

    terms: tuple[tuple[ir.Value, int], ...]
    constant: int
    compute: Callable[[Callable[[ir.Value], int]], int] | None


type _Part = tuple[dict[ir.Value, int], int] | None


def formula_of(bound: BoundMap, expr: ir.AffineExpr) -> Formula:
    """Read one expression of a map."""
    dims, symbols = bound.dims, bound.symbols

    def operand(value: ir.Value) -> _Part:
        return {value: 1}, 0

    def number(value: int) -> _Part:
        return {}, value

    leaf = leaves(lambda k: operand(dims[k]), lambda k: operand(symbols[k]), number)
    found = fold(expr, leaf, _join)
    if found is not None:
        return Formula(tuple(found[0].items()), found[1], None)

    def compute(read: Callable[[ir.Value], int]) -> int:
        at = leaves(lambda k: read(dims[k]), lambda k: read(symbols[k]), lambda value: value)
        return fold(expr, at, lambda name, a, b: OPERATORS[name](a, b))

    return Formula((), 0, compute)


def _join(operator: str, a: _Part, b: _Part) -> _Part:
    if a is None or b is None:
        return None
    if operator == "+":
        terms = dict(a[0])
        for value, factor in b[0].items():
            terms[value] = terms.get(value, 0) + factor
        return terms, a[1] + b[1]
    if operator != "*":
        return None
    if b[0]:
        a, b = b, a
    if b[0]:
        return None
    return {value: factor * b[1] for value, factor in a[0].items()}, a[1] * b[1]
