"""Dependence distances of a loop nest that is flattened into one pipeline.

The nest's iterations run as one sequence, numbered in lexicographic order. A dependence from
operation *a* to operation *b* with distance *d* says: *b* of iteration ``t + d`` touches what *a*
of iteration ``t`` touched, and *d* is the least such number. A scheduler must start *b* late
enough after *a*: ``start(b) + d * II >= start(a) + delay``.

An operation outside the innermost loop of the nest runs in one flattened iteration of each run of
the loops inside: the first when it stands before them, the last when it stands after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

import islpy as isl

from .._mlir import ir
from ..core.effects import EffectAnalysis, Memory
from .enumerate import enumerated_distance
from .loops import (
    LoopSpec,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    parent_of,
    spec_of,
)
from .maps import BoundMap, bound_map, condition_of, linear_form
from .ranges import Unknown, expression_text

_ENUMERATION_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True)
class Dependence:
    """One dependence between two accesses of a flattened nest.

    Attributes:
        src_op_index, dst_op_index: places in the list of accesses.
        kind: ``"RAW"``, ``"WAR"`` or ``"WAW"``.
        distance: least number of flattened iterations between the two, 0 for the same one.
        exact: whether the distance was computed; False where it is a safe lower bound because a
            subscript or a loop bound is not affine.
    """

    src_op_index: int
    dst_op_index: int
    kind: str
    distance: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class AccessPoint:
    """One access: what it touches and when it runs in the flattened nest.

    Attributes:
        index: its place in the caller's list.
        subscripts: the map of the access, None when it is not affine in the nest.
        first, last: numbers of the nest's loops that stand at their first (last) iteration
            whenever it runs, because it stands before (after) them.
        conditions: rows ``(expression map, is equality)`` of the affine conditions around it.
        branches: (``if`` operation, region number) around it, outermost first.
    """

    index: int
    op: ir.Operation
    memory: Memory
    writes: bool
    subscripts: BoundMap | None
    first: tuple[int, ...]
    last: tuple[int, ...]
    conditions: tuple[tuple[BoundMap, bool], ...]
    branches: tuple[tuple[ir.Operation, int], ...]

    def shape_key(self) -> tuple[object, ...]:
        """What two accesses share when they run in the same iterations."""
        rows = tuple((str(b.map), b.operands, e) for b, e in self.conditions)
        return self.first, self.last, rows


def flattened_dependences(
    loops: Sequence[ir.Operation | ir.OpView],
    accesses: Sequence[ir.Operation | ir.OpView],
) -> list[Dependence]:
    """Every dependence between accesses of a nest that becomes one pipeline.

    Args:
        loops: the loops, outermost first, each inside the one before; together one pipeline.
        accesses: the loads and stores inside, in program order.

    Returns:
        For each ordered pair that may touch one element, one of them writing, the dependence of
        least distance; pairs without one are left out. An operation depends on itself where it
        writes one element in several iterations (distance 1 or more). Accesses that are not affine
        get distance 0 (source first in program order) or 1, with ``exact=False``. Storage is
        shared: an array allocated inside the nest is the same memory in every iteration.
    """
    nest = [loop.operation for loop in loops]
    if not accesses or not nest:
        return []
    solver = _Solver(nest)
    effects = EffectAnalysis(_module_of(nest[0]))
    points = [_point(k, op.operation, nest, effects) for k, op in enumerate(accesses)]
    by_memory: dict[object, list[AccessPoint]] = {}
    for point in points:
        by_memory.setdefault(point.memory.key, []).append(point)
    found: list[Dependence] = []
    for group in by_memory.values():
        for a in group:
            for b in group:
                if (a.writes or b.writes) and (dependence := solver.dependence(a, b)):
                    found.append(dependence)
    found.sort(key=lambda d: (d.src_op_index, d.dst_op_index))
    return found


def _module_of(op: ir.Operation) -> ir.Operation:
    while (parent := parent_of(op)) is not None:
        op = parent
    return op


def _point(
    index: int, op: ir.Operation, nest: Sequence[ir.Operation], effects: EffectAnalysis
) -> AccessPoint:
    writes = op.name.endswith(".store")
    memory = effects.memory_of(op.operands[1 if writes else 0])
    around = enclosing_loops(op)
    inside = [loop for loop in nest if loop in around]
    foreign = around[around.index(nest[0]) :] != inside if inside else True
    first: list[int] = []
    last: list[int] = []
    if inside and len(inside) < len(nest):
        following = _child_towards(inside[-1], nest[len(inside)])
        mine = _child_towards(inside[-1], op)
        before = mine.is_before_in_block(following) if mine != following else True
        (first if before else last).extend(range(len(inside), len(nest)))
    affine = op.name in ("affine.load", "affine.store") and memory.exact and not foreign
    conditions, branches = _guards(op, nest[0])
    return AccessPoint(
        index,
        op,
        memory,
        writes,
        bound_map(op) if affine else None,
        tuple(first),
        tuple(last),
        tuple(conditions),
        tuple(branches),
    )


def _child_towards(ancestor: ir.Operation, op: ir.Operation) -> ir.Operation:
    """The operation directly in ``ancestor``'s body that is or holds ``op``."""
    current = op
    while (parent := parent_of(current)) is not None and parent != ancestor:
        current = parent
    return current


def _guards(
    op: ir.Operation, outermost: ir.Operation
) -> tuple[list[tuple[BoundMap, bool]], list[tuple[ir.Operation, int]]]:
    conditions: list[tuple[BoundMap, bool]] = []
    branches: list[tuple[ir.Operation, int]] = []
    current = op
    while (parent := parent_of(current)) is not None and parent != outermost:
        if parent.name in ("affine.if", "scf.if"):
            region = _region_of(parent, current)
            branches.append((parent, region))
            if parent.name == "affine.if" and region == 0:
                condition = condition_of(parent)
                for expr, equal in zip(condition.exprs.map.results, condition.equal, strict=True):
                    bound = condition.exprs
                    single = ir.AffineMap.get(bound.map.n_dims, bound.map.n_symbols, [expr])
                    conditions.append((BoundMap(single, bound.operands), equal))
        current = parent
    return conditions, branches[::-1]


def _region_of(parent: ir.Operation, child: ir.Operation) -> int:
    block = child.block
    for number, region in enumerate(parent.regions):
        if any(b == block for b in region.blocks):
            return number
    return 0


class _Solver:
    """Distances in one nest; equal questions are answered once."""

    def __init__(self, nest: Sequence[ir.Operation]) -> None:
        self._nest = nest
        self._affine = all(is_affine_loop(op) for op in nest)
        self._specs = [spec_of(op) for op in nest] if self._affine else []
        self._ivs = [induction_variable(op) for op in nest] if self._affine else []
        self._trips = [s.trip_count() for s in self._specs]
        # The outermost loop's extent never enters a flattened number, inner ones must be constant.
        self._regular = (
            self._affine and all(t is not None for t in self._trips[1:]) and self._outer_is_simple()
        )
        self._iterations = (
            prod(t or 0 for t in self._trips) if self._affine and None not in self._trips else None
        )
        self._answers: dict[object, int | None] = {}
        self._known_forms: dict[int, list[tuple[list[int], int]] | None] = {}

    def _outer_is_simple(self) -> bool:
        return len(self._specs[0].lower.map.results) == 1 or self._specs[0].step == 1

    def dependence(self, a: AccessPoint, b: AccessPoint) -> Dependence | None:
        """The least-distance dependence of ``b`` on ``a``, or None."""
        kind = "WAW" if a.writes and b.writes else "RAW" if a.writes else "WAR"
        least = 0 if a.index < b.index and not _exclusive(a, b) else 1
        distance, exact = self._distance(a, b, least)
        if distance is None:
            return None
        return Dependence(a.index, b.index, kind, distance, exact)

    def _distance(self, a: AccessPoint, b: AccessPoint, least: int) -> tuple[int | None, bool]:
        if not self._affine or a.subscripts is None or b.subscripts is None:
            return (None, True) if self._single_iteration() and least else (least, False)
        try:
            if self._regular:
                return self._regular_distance(a, b, least), True
            return self._irregular_distance(a, b, least)
        except Unknown:
            return least, False

    def _single_iteration(self) -> bool:
        return self._iterations is not None and self._iterations <= 1

    # --- rectangular nests -----------------------------------------------------------------

    def _regular_distance(self, a: AccessPoint, b: AccessPoint, least: int) -> int | None:
        forms_a, forms_b = self._forms_of(a), self._forms_of(b)
        if forms_a is None or forms_b is None:
            return self._ask(a, b, least)
        if self._refuted(forms_a, forms_b):
            return None
        same = all(x[0] == y[0] for x, y in zip(forms_a, forms_b, strict=True))
        if not same:
            return self._ask(a, b, least)
        delta = tuple(x[1] - y[1] for x, y in zip(forms_a, forms_b, strict=True))
        shape = tuple(tuple(x[0]) for x in forms_a)
        key = (shape, delta, least, a.shape_key(), b.shape_key())
        if key not in self._answers:
            self._answers[key] = self._ask(a, b, least)
        return self._answers[key]

    def _forms_of(self, point: AccessPoint) -> list[tuple[list[int], int]] | None:
        if point.index not in self._known_forms:
            self._known_forms[point.index] = self._forms(point)
        return self._known_forms[point.index]

    def _forms(self, point: AccessPoint) -> list[tuple[list[int], int]] | None:
        """Each subscript as (coefficient of each loop, constant); None where it has more parts."""
        bound = point.subscripts
        if bound is None or bound.map.n_symbols or any(v not in self._ivs for v in bound.dims):
            return None
        forms = []
        for expr in bound.map.results:
            form = linear_form(expr, bound.map.n_dims)
            if form is None:
                return None
            row = [0] * len(self._ivs)
            for value, coefficient in zip(bound.dims, form[0], strict=True):
                row[self._ivs.index(value)] += coefficient
            forms.append((row, form[1]))
        return forms

    def _refuted(
        self, first: list[tuple[list[int], int]], second: list[tuple[list[int], int]]
    ) -> bool:
        """Whether divisibility alone shows that two accesses never meet."""
        for (row_a, c_a), (row_b, c_b) in zip(first, second, strict=True):
            gap = c_a - c_b
            divisor = 0
            for a, b, spec in zip(row_a, row_b, self._specs, strict=True):
                low = spec.lower.constant()
                if low is None:
                    if a != b:
                        return False
                    low = 0
                gap += (a - b) * low
                divisor = gcd(divisor, a * spec.step, b * spec.step)
            if gap and (not divisor or gap % divisor):
                return True
        return False

    def _ask(self, a: AccessPoint, b: AccessPoint, least: int) -> int | None:
        """The least flattened distance, by integer programming."""
        question = _Question(self._nest, self._specs, self._ivs)
        rows = question.access_rows(a, "x") + question.access_rows(b, "y")
        subscripts_a, subscripts_b = a.subscripts, b.subscripts
        if subscripts_a is None or subscripts_b is None:
            raise Unknown
        for left, right in zip(subscripts_a.map.results, subscripts_b.map.results, strict=True):
            one = question.text(left, subscripts_a, "x")
            other = question.text(right, subscripts_b, "y")
            rows.append(f"{one} = {other}")
        rows.append(f"d = {self._flattened_gap()}")
        rows.append(f"d >= {least}")
        names = ", ".join([*question.variables("x"), *question.variables("y"), *question.outer()])
        text = f"{{ [d] : exists {names} : {' and '.join(rows)} }}"
        solutions = isl.Set(text)
        return None if solutions.is_empty() else solutions.dim_min_val(0).to_python()

    def _flattened_gap(self) -> str:
        weight, terms = 1, []
        for number in range(len(self._specs) - 1, -1, -1):
            terms.append(f"{weight} * (n_y{number} - n_x{number})")
            weight *= self._trips[number] or 1
        return " + ".join(terms)

    # --- nests whose inner bounds depend on outer iterations -----------------------------------

    def _irregular_distance(
        self, a: AccessPoint, b: AccessPoint, least: int
    ) -> tuple[int | None, bool]:
        found = enumerated_distance(
            self._specs, self._ivs, a, b, least=least, limit=_ENUMERATION_LIMIT
        )
        return (least, False) if found is NotImplemented else (found, True)


def _exclusive(a: AccessPoint, b: AccessPoint) -> bool:
    """Whether the two stand in different branches of one ``if``."""
    mine = dict(a.branches)
    return any(op in mine and mine[op] != region for op, region in b.branches)


class _Question:
    """Names and rows of one integer program over two iterations of a nest."""

    def __init__(
        self, nest: Sequence[ir.Operation], specs: Sequence[LoopSpec], ivs: Sequence[ir.Value]
    ) -> None:
        self._nest = nest
        self._specs = specs
        self._ivs = ivs
        self._outer: dict[ir.Value, str] = {}

    def variables(self, side: str) -> list[str]:
        count = len(self._ivs)
        return [f"{side}{k}" for k in range(count)] + [f"n_{side}{k}" for k in range(count)]

    def outer(self) -> list[str]:
        return list(self._outer.values())

    def text(self, expr: ir.AffineExpr, bound: BoundMap, side: str) -> str:
        names = _Names(self._ivs, side, self._outer, self._nest[0])
        return expression_text(expr, bound, names)

    def access_rows(self, point: AccessPoint, side: str) -> list[str]:
        rows: list[str] = []
        for number, spec in enumerate(self._specs):
            iv, count = f"{side}{number}", f"n_{side}{number}"
            lowers = [self.text(e, spec.lower, side) for e in spec.lower.map.results]
            uppers = [self.text(e, spec.upper, side) for e in spec.upper.map.results]
            rows += [f"{iv} >= {low}" for low in lowers]
            rows += [f"{iv} < {high}" for high in uppers]
            # With several lower bounds only the difference of two numbers is meaningful.
            origin = lowers[0] if len(lowers) == 1 else "0"
            rows.append(f"{iv} = {origin} + {spec.step} * {count}")
            trips = spec.trip_count()
            if number in point.first:
                rows.append(f"{count} = 0")
            if number in point.last:
                if trips is None:
                    raise Unknown
                rows.append(f"{count} = {trips - 1}")
        for bound, equal in point.conditions:
            text = self.text(bound.map.results[0], bound, side)
            rows.append(f"{text} {'=' if equal else '>='} 0")
        return rows


class _Names:
    """Maps values to isl names: the nest's own per side, values from outside shared."""

    def __init__(
        self,
        ivs: Sequence[ir.Value],
        side: str,
        outer: dict[ir.Value, str],
        outermost: ir.Operation,
    ) -> None:
        self._ivs = ivs
        self._side = side
        self._outer = outer
        self._outermost = outermost

    def __getitem__(self, value: ir.Value) -> str:
        if value in self._ivs:
            return f"{self._side}{self._ivs.index(value)}"
        if not isinstance(value, ir.BlockArgument):
            op = value.owner.operation
            if op.name == "affine.apply":
                bound = bound_map(op)
                return expression_text(bound.map.results[0], bound, self)
            if op.name == "arith.constant":
                return str(ir.IntegerAttr(op.attributes["value"]).value)
        if _inside(value, self._outermost):
            raise Unknown
        return self._outer.setdefault(value, f"p{len(self._outer)}")


def _inside(value: ir.Value, op: ir.Operation) -> bool:
    owner = value.owner
    current: ir.Operation | None = (
        owner.owner.operation if isinstance(owner, ir.Block) else parent_of(owner)
    )
    while current is not None:
        if current == op:
            return True
        current = parent_of(current)
    return False
