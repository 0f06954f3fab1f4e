"""Ranges of linear index expressions over the loops around them, asked of islpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from .._mlir import ir
from ..affine.loops import LoopSpec, is_affine_loop, parent_of, spec_of
from ..affine.maps import BoundMap, condition_of
from ..core.expressions import linear_form
from .interval import Interval, linear
from .points import span_over

Term = tuple[ir.Value, int]


class Unknown(Exception):
    """An index that has no affine name here; the caller over-approximates."""


class Names(Protocol):
    """Index values to isl text; raises :class:`Unknown` (or KeyError) for values without one."""

    def __getitem__(self, value: ir.Value, /) -> str: ...


def value_range(terms: Sequence[Term]) -> tuple[int, int] | None:
    """(least, greatest) value of ``sum(coefficient * index)`` over the loops that define the indices.

    None when the loops have no constant bounds to derive it from.
    """
    simple = _interval(terms, {})
    return simple if simple is not None else _exact(terms)


def value_range_at(op: ir.Operation, terms: Sequence[Term]) -> tuple[int, int] | None:
    """The same over the iterations that reach ``op``, as far as conditions on single indices tell."""
    simple = _interval(terms, index_bounds(op))
    return simple if simple is not None else value_range(terms)


def map_range(bound: BoundMap, at: ir.Operation | None = None) -> tuple[int, int] | None:
    """(least, greatest) value of a one-result map, where ``at`` runs; None where loops do not tell."""
    constant = bound.constant()
    if constant is not None:
        return constant, constant
    form = None if bound.map.n_symbols else linear_form(bound.map.results[0], bound.map.n_dims)
    if form is None:
        return None
    terms = list(zip(bound.operands, form[0], strict=True))
    around = value_range(terms) if at is None else value_range_at(at, terms)
    return None if around is None else (around[0] + form[1], around[1] + form[1])


def index_bounds(op: ir.Operation) -> dict[ir.Value, tuple[int | None, int | None]]:
    """(least, greatest) value of each index that the conditions around an operation bound."""
    bounds: dict[ir.Value, tuple[int | None, int | None]] = {}
    child, parent = op, parent_of(op)
    while parent is not None:
        if parent.name == "affine.if" and child.block == parent.regions[0].blocks[0]:
            for value, low, high in _tests(parent):
                lows, highs = bounds.get(value, (None, None))
                bounds[value] = (_latest(max, low, lows), _latest(min, high, highs))
        child, parent = parent, parent_of(parent)
    return bounds


def _latest(choose: Callable[..., int], *values: int | None) -> int | None:
    known = [v for v in values if v is not None]
    return choose(known) if known else None


def _tests(guard: ir.Operation) -> Iterator[tuple[ir.Value, int | None, int | None]]:
    """(index, least, greatest) of every test of one index alone."""
    condition = condition_of(guard)
    bound = condition.exprs
    if bound.map.n_symbols:
        return
    for expr, equal in zip(bound.map.results, condition.equal, strict=True):
        form = linear_form(expr, bound.map.n_dims)
        if form is None:
            continue
        terms = [(v, c) for v, c in zip(bound.operands, form[0], strict=True) if c]
        if len(terms) != 1:
            continue
        value, coefficient = terms[0]
        # coefficient * value + constant >= 0
        low = -(form[1] // coefficient) if coefficient > 0 else None
        high = form[1] // -coefficient if coefficient < 0 else None
        if equal and abs(coefficient) == 1:
            low = high = -form[1] * coefficient
        yield value, low, high


def _interval(
    terms: Sequence[Term], known: Mapping[ir.Value, tuple[int | None, int | None]]
) -> tuple[int, int] | None:
    parts: list[tuple[Interval, int]] = []
    for value, coefficient in terms:
        loop = loop_of(value)
        if loop is None or not is_affine_loop(loop):
            return None
        spec = spec_of(loop)
        bounds, count = spec.constant_bounds(), spec.trip_count()
        if bounds is None or not count:
            return None
        least, greatest = known.get(value, (None, None))
        first = _latest(max, bounds[0], least)
        last = _latest(min, bounds[0] + (count - 1) * spec.step, greatest)
        if first is None or last is None or first > last:
            return None
        parts.append(((first, last), coefficient))
    return linear(0, parts)


def loop_of(value: ir.Value) -> ir.Operation | None:
    """The loop an index value iterates, or None."""
    if not isinstance(value, ir.BlockArgument) or value.owner.owner is None:
        return None
    op = value.owner.owner.operation
    return op if op.name in ("affine.for", "scf.for") else None


def _exact(terms: Sequence[Term]) -> tuple[int, int] | None:
    names: dict[ir.Value, str] = {}
    specs: dict[ir.Value, LoopSpec] = {}
    rows: list[str] = []
    pending = [value for value, _ in terms]
    while pending:
        value = pending.pop()
        if value in names:
            continue
        names[value] = f"v{len(names)}"
        loop = loop_of(value)
        if loop is None or not is_affine_loop(loop):
            return None
        specs[value] = spec = spec_of(loop)
        pending += [v for b in (spec.lower, spec.upper) for v in b.operands]
    for value, name in names.items():
        spec = specs[value]
        rows += [f"{name} >= {t}" for t in _texts(spec.lower, names)]
        rows += [f"{name} < {t}" for t in _texts(spec.upper, names)]
        if spec.step > 1 and (low := spec.lower.constant()) is not None:
            rows.append(f"({name} - {low}) mod {spec.step} = 0")
    total = " + ".join(f"{c} * {names[v]}" for v, c in terms) or "0"
    return span_over(list(names.values()), rows, total)


def _texts(bound: BoundMap, names: dict[ir.Value, str]) -> list[str]:
    return [expression_text(e, bound, names) for e in bound.map.results]


def expression_text(expr: ir.AffineExpr, bound: BoundMap, names: Names) -> str:
    """The isl text of an affine expression whose operands have the given names.

    Raises:
        Unknown: a product with, or a division by, something that is not a constant.
    """
    text, _ = bound.fold(expr, lambda v: (names[v], None), lambda c: (str(c), c), _joined_texts)
    return text


type _Text = tuple[str, int | None]
"""The text of an expression, and its value where it is a constant."""


def _joined_texts(operator: str, left: _Text, right: _Text) -> _Text:
    a, (b, constant) = left[0], right
    if operator == "+":
        return f"({a} + {b})", None
    if constant is None:
        raise Unknown
    if operator == "*":
        return f"({constant} * {a})", None
    if operator == "mod":
        return f"({a} mod {constant})", None
    if operator == "floordiv":
        return f"floor({a}/{constant})", None
    return f"(-floor((-{a})/{constant}))", None
