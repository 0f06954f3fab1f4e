"""Which elements of an array the iterations under a loop touch: a box that moves with the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.isl import isl
from allo.dialects.affine.loops import (
    induction_variable,
    is_affine_loop,
    parent_of,
    spec_of,
    walk,
)
from allo.dialects.affine.maps import BoundMap
from allo.dialects.affine.model import Model, Statement
from allo.dialects.core.effects import EffectAnalysis, Key
from allo.schedule.analysis.buffers import linear_map


@dataclass(frozen=True, slots=True)
class Side:
    """The elements of one dimension: ``extent`` of them from ``low`` on."""

    low: BoundMap
    extent: int


@dataclass(frozen=True, slots=True)
class _Box:
    """A side as isl names it: multiples of symbols, a constant, and the extent."""

    terms: tuple[tuple[str, int], ...]
    constant: int
    extent: int


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one iteration of a loop touches of an array.

    Attributes:
        sides: the smallest box found around the elements, by dimension; it may reach out of the array.
        stored: whether some are stored.
        kept: whether an iteration may read, or leave, what was in the box before it.
    """

    sides: tuple[Side, ...]
    stored: bool
    kept: bool

    @property
    def elements(self) -> int:
        """How many the box has."""
        return prod(side.extent for side in self.sides)


def footprint(
    effects: EffectAnalysis, key: Key, loop: ir.Operation, shape: Sequence[int]
) -> Footprint | None:
    """What each iteration of a loop touches of a memory, all of whose subscripts in it are affine.

    None where no iteration touches any element.
    """
    return _Reader(effects, key, loop, shape).read()


class _Reader:
    def __init__(
        self, effects: EffectAnalysis, key: Key, loop: ir.Operation, shape: Sequence[int]
    ) -> None:
        root = loop
        while (parent := parent_of(root)) is not None and parent.name != "func.func":
            root = parent
        self._loop = loop
        self._shape = shape
        self._model = Model([root], effects)
        label = self._label = self._model.memory_label(key) or ""
        inside = set(walk(loop))
        self._users = [
            (s, a)
            for s in self._model.statements
            if s.op in inside
            for a in s.accesses
            if a.memory == label
        ]
        first = self._users[0][0]
        self._depth = next(n for n, v in enumerate(first.loops) if v.op == loop)
        self._around = first.loops[: self._depth + 1]

    def read(self) -> Footprint | None:
        """The box, and what is to be read into it before an iteration."""
        touched = self._union([s for s, _ in self._users])
        if touched.is_empty():
            return None
        boxes = [self._box_of(touched, k) for k in range(len(self._shape))]
        stores = [s for s, a in self._users if a.writes]
        loads = [s for s, a in self._users if not a.writes]
        sure = [s for s in stores if self._is_certain(s.op)]
        runs = touched.domain()
        if any(
            self._is_guarded(s.op) for s in sure
        ):  # the box is written back in other iterations, too
            runs = self._iterations()
        kept = bool(stores) and not (sure and self._elements(boxes, runs) <= self._union(sure))
        for each in loads:
            before = [s for s in sure if self._place(s) < self._place(each)]
            kept = kept or not before or not self._union([each]) <= self._union(before)
        return Footprint(tuple(self._side(b) for b in boxes), bool(stores), kept)

    def _place(self, statement: Statement) -> int:
        """Where a statement stands among the parts of the loop's body."""
        return statement.positions[self._depth + 1]

    def _union(self, statements: Sequence[Statement]) -> isl.Map:
        """The iterations of the loop, and those around it, to the elements that statements touch."""
        prefix = f"[{', '.join(v.symbol for v in self._around)}]"
        rows = [f"{s.tuple_text} -> {prefix}" for s in statements]
        touched = self._model.accesses(self._label, True, statements)
        touched = touched.union(self._model.accesses(self._label, False, statements))
        touched = touched.apply_domain(self._model.relation(rows))
        if touched.is_empty():  # a union without elements has no space
            names = ", ".join(f"e{k}" for k in range(len(self._shape)))
            return isl.Map(f"{{ {prefix} -> [{names}] : false }}")
        found = isl.Map.from_union_map(touched)
        private = found.dim(isl.dim_type.out) - len(self._shape)
        found = found.project_out(isl.dim_type.out, 0, private)
        for k, extent in enumerate(self._shape):
            found = found.lower_bound_val(isl.dim_type.out, k, isl.Val(0))
            found = found.upper_bound_val(isl.dim_type.out, k, isl.Val(extent - 1))
        return found

    def _box_of(self, touched: isl.Map, dim: int) -> _Box:
        """The shortest side whose low end is linear in the counters, or fixed."""
        out = isl.dim_type.out
        one = touched.project_out(out, dim + 1, len(self._shape) - dim - 1)
        one = one.project_out(out, 0, dim)
        low, high = one.dim_min(0), one.dim_max(0)
        best = _Box((), 0, self._shape[dim])
        fixed = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(one.domain().get_space()))
        for base in (fixed, *(aff for _, aff in low.get_pieces())):
            terms = self._terms(base)
            if terms is None:
                continue
            least = _values(low, base).dim_min_val(0)
            most = _values(high, base).dim_max_val(0)
            if not (least.is_int() and most.is_int()):
                continue
            extent = most.to_python() - least.to_python() + 1
            if extent < best.extent:
                constant = base.get_constant_val().to_python() + least.to_python()
                best = _Box(terms, constant, extent)
        return best

    def _terms(self, base: isl.Aff) -> tuple[tuple[str, int], ...] | None:
        """Symbols with their factors; None where it divides, or takes a counter that no subscript may."""
        if base.dim(isl.dim_type.div) or not base.get_denominator_val().is_one():
            return None
        found = []
        for kind, names in (
            (isl.dim_type.in_, [v.symbol for v in self._around]),
            (isl.dim_type.param, list(self._model.parameters)),
        ):
            for position in range(base.dim(kind)):
                name = (
                    names[position]
                    if kind == isl.dim_type.in_
                    else base.get_dim_name(kind, position)
                )
                factor = base.get_coefficient_val(kind, position).to_python()
                if factor:
                    found.append((name, factor))
        return tuple(found)

    def _iterations(self) -> isl.Set:
        """Those of the loop, and of the loops around it."""
        prefix = ", ".join(v.symbol for v in self._around)
        rows = " and ".join(self._model.bounds_of(self._around))
        return isl.Map.from_union_map(self._model.relation([f"[{prefix}] -> [] : {rows}"])).domain()

    def _elements(self, boxes: Sequence[_Box], runs: isl.Set) -> isl.Map:
        """The elements of the box that the array has, in some iterations."""
        names = [f"e{k}" for k in range(len(boxes))]
        rows = []
        for name, box, extent in zip(names, boxes, self._shape, strict=True):
            low = " + ".join([*(f"{c}*{s}" for s, c in box.terms), str(box.constant)])
            rows.append(f"{low} <= {name} < {low} + {box.extent} and 0 <= {name} < {extent}")
        prefix = ", ".join(v.symbol for v in self._around)
        row = f"[{prefix}] -> [{', '.join(names)}] : {' and '.join(rows)}"
        made = isl.Map.from_union_map(self._model.relation([row]))
        return made.intersect_domain(runs)

    def _side(self, box: _Box) -> Side:
        values = {v.symbol: induction_variable(v.op) for v in self._around if is_affine_loop(v.op)}
        values |= self._model.parameters
        return Side(linear_map([(values[s], c) for s, c in box.terms], box.constant), box.extent)

    def _is_certain(self, op: ir.Operation) -> bool:
        """Whether an operation runs in each iteration of the loop, as often as the model says.

        Under a condition on counters, that is where the condition holds.
        """
        inside, around = op, parent_of(op)
        while around is not None and around != self._loop:
            if around.name == "affine.if":
                if not (self._model.knows(around) and _is_first(inside, around)):
                    return False
            else:
                bounds = spec_of(around).constant_bounds() if is_affine_loop(around) else None
                if bounds is None or bounds[0] >= bounds[1] or spec_of(around).step != 1:
                    return False
            inside, around = around, parent_of(around)
        return True

    def _is_guarded(self, op: ir.Operation) -> bool:
        around = parent_of(op)
        while around is not None and around != self._loop:
            if around.name == "affine.if":
                return True
            around = parent_of(around)
        return False


def _is_first(inside: ir.Operation, condition: ir.Operation) -> bool:
    """Whether an operation stands where a condition holds, not where it does not."""
    return any(op.operation == inside for op in condition.regions[0].blocks[0].operations)


def _values(end: isl.PwAff, base: isl.Aff) -> isl.Set:
    """How far an end lies from where a side may begin.

    A set of whole numbers has a least one where an expression with a quotient has none that isl finds.
    """
    return isl.Map.from_pw_aff(end.sub(isl.PwAff.from_aff(base))).range()
