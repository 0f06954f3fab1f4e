"""Loops that copy runs of whole lines between an array on several channels and a buffer.

``s.cache`` makes such loops. A run must begin with a line of the first channel in every iteration of the
loops around, and end with one of the last, so that each step takes one line of each channel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    is_affine_loop,
    parent_of,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap, bound_map

from .layout import Spread
from .movers import Subscripts


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of values with factors, and of a constant."""

    factors: dict[ir.Value, int]
    constant: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum with another one, taken so many times."""
        values = {**self.factors, **other.factors}
        factors = {v: self.factors.get(v, 0) + times * other.factors.get(v, 0) for v in values}
        return Linear(factors, self.constant + times * other.constant)


@dataclass(frozen=True, slots=True)
class Row:
    """A loop, with those that it holds, that copies a run of an array.

    Attributes:
        loop: the outermost of them.
        load: whether the array is read.
        buffer: what the elements are copied to or from.
        count: elements of a run.
        base: which line of the first channel it begins with.
        subscripts: of the buffer, by the number of an element in the run.
        operands: the values in these, ``%o0`` and so on.
    """

    loop: ir.Operation
    load: bool
    buffer: ir.Value
    count: int
    base: BoundMap
    subscripts: Subscripts
    operands: tuple[ir.Value, ...]


def linear(access: ir.Operation, shape: list[int]) -> Linear | None:
    """The number of the element that an access takes, where it is linear in the values around."""
    bound = bound_map(access)
    total = Linear({})
    for dim, expr in enumerate(bound.results):
        part = bound.fold(expr, lambda v: Linear({v: 1}), lambda n: Linear({}, n), _join)
        if part is None:
            return None
        total = total.plus(part, prod(shape[dim + 1 :]))
    return total


def _join(kind: str, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None:
        return None
    if kind == "+":
        return left.plus(right)
    if kind == "*":
        for one, other in ((left, right), (right, left)):
            if not one.factors:
                return Linear({}).plus(other, one.constant)
    return None


def row_of(access: ir.Operation, spread: Spread) -> Row | None:
    """The loop that copies a run of lines by this access, if there is one."""
    inner = parent_of(access)
    if inner is None or not is_affine_loop(inner):
        return None
    inside = body_operations(inner)
    load = access.name == "affine.load"
    if [op.name for op in inside[:2]] != ["affine.load", "affine.store"] or len(inside) > 3:
        return None
    other = inside[1] if load else inside[0]
    if access not in inside[:2] or inside[1].operands[0] != inside[0].results[0]:
        return None
    found = linear(access, list(spread.kind.shape))
    chain = [] if found is None else _chain(inner, found)
    if found is None or not chain:
        return None
    count = prod(trips for _, trips in chain)
    ivs = [induction_variable(loop) for loop, _ in chain]
    rest = {v: factor for v, factor in found.factors.items() if v not in ivs and factor}
    cell, group = spread.cell, spread.group
    if any(number * cell % group for number in (count, found.constant, *rest.values())):
        return None
    target = bound_map(other)
    operands = tuple(dict.fromkeys(v for v in target.operands if v not in ivs))
    return Row(
        chain[-1][0],
        load,
        other.operands[1 if load else 0],
        count,
        _base(
            {value: factor * cell // group for value, factor in rest.items()},
            found.constant * cell // group,
        ),
        _subscripts(target, dict(zip(ivs, (trips for _, trips in chain), strict=True)), operands),
        operands,
    )


def _chain(inner: ir.Operation, found: Linear) -> list[tuple[ir.Operation, int]]:
    """The loops around an access, from inside, that together go through elements one after the other."""
    chain: list[tuple[ir.Operation, int]] = []
    step, loop = 1, inner
    while is_affine_loop(loop) and "dataflow" not in loop.attributes:
        trips, bounds = spec_of(loop).trip_count(), spec_of(loop).constant_bounds()
        counted = bounds is not None and bounds[0] == 0 and spec_of(loop).step == 1
        alone = loop == inner or len(body_operations(loop)) <= 2
        if (
            not trips
            or not counted
            or not alone
            or found.factors.get(induction_variable(loop), 0) != step
        ):
            break
        chain.append((loop, trips))
        step *= trips
        around = parent_of(loop)
        if around is None:
            break
        loop = around
    return chain


def _base(factors: Mapping[ir.Value, int], constant: int) -> BoundMap:
    expr = ir.AffineExpr.get_constant(constant)
    for k, factor in enumerate(factors.values()):
        term = ir.AffineExpr.get_mul(ir.AffineExpr.get_dim(k), factor)
        expr = ir.AffineExpr.get_add(expr, term)
    return BoundMap(ir.AffineMap.get(len(factors), 0, [expr]), tuple(factors))


def _subscripts(
    target: BoundMap, trips: Mapping[ir.Value, int], operands: tuple[ir.Value, ...]
) -> Subscripts:
    def of(number: str) -> str:
        texts: dict[ir.Value, str] = {v: f"%o{k}" for k, v in enumerate(operands)}
        inner = 1
        for position, (value, count) in enumerate(trips.items()):
            text = f"(({number}) floordiv {inner})" if inner > 1 else f"({number})"
            texts[value] = text if position == len(trips) - 1 else f"({text} mod {count})"
            inner *= count
        values = {f"d{k}": texts[v] for k, v in enumerate(target.dims)}
        values |= {f"s{k}": texts[v] for k, v in enumerate(target.symbols)}
        shown = [
            re.sub(r"\b[ds]\d+\b", lambda found: values[found[0]], str(expr))
            for expr in target.results
        ]
        return ", ".join(shown)

    return of
