"""The polyhedral model of a region: what each of its processes does to memory, calls in them included."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .._mlir import ir
from ..core.effects import VIEWS, Effect, EffectAnalysis, Key, Memory
from ..core.signature import callee_of, functions_of
from .loops import is_affine_loop, spec_of
from .maps import bound_map, condition_of
from .model import Access, Context, LoopVariable, Model, NotAffine

_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


class RegionModel(Model):
    """The statements of a function that is called stand for the call, the call's operands for arguments.

    Args:
        module: where the functions are.
        calls: the processes; ``Statement.positions[0]`` is the number of one.

    Attributes:
        loose: statements whose iterations or subscripts are over-approximated, by name.
    """

    def __init__(
        self, module: ir.Operation, calls: Sequence[ir.Operation], effects: EffectAnalysis
    ) -> None:
        self.loose: set[str] = set()
        self._functions = functions_of(module)
        self._given: dict[ir.Value, ir.Value] = {}
        self._unknown = 0
        super().__init__(calls, effects)

    # --- collecting ---------------------------------------------------------------------

    def _visit(self, op: ir.Operation, context: Context, places: Iterator[int]) -> None:
        unknown = int(self._is_unknown(op))
        self._unknown += unknown
        super()._visit(op, context, places)
        self._unknown -= unknown

    def _is_unknown(self, op: ir.Operation) -> bool:
        """Whether more than affine conditions decide which of its iterations or parts run."""
        if op.name == "affine.if":
            blocks = [b for part in list(op.regions)[1:] for b in part.blocks]
            rows = condition_of(op).exprs.map.results
            return bool(blocks) or len(self._condition_constraints(op)) < len(rows)
        if is_affine_loop(op):
            bounds = (spec_of(op).lower, spec_of(op).upper)
            return any(len(self._try_texts(b)) < len(b.map.results) for b in bounds)
        return op.name in ("scf.if", "scf.for", "scf.while")

    def _visit_leaf(self, op: ir.Operation, context: Context, places: Iterator[int]) -> None:
        callee = self._functions.get(callee_of(op)) if op.name == "func.call" else None
        if callee is None or not callee.regions[0].blocks:
            self._add(op, context, places)
            return
        block = callee.regions[0].blocks[0]
        inner, outer = context.at(next(places)), self._given
        given = {a: self._outer(v) for a, v in zip(block.arguments, op.operands, strict=True)}
        self._given = {**outer, **given}
        self._inside.append(callee)
        within = itertools.count()
        for child in block.operations:
            self._visit(child.operation, inner, within)
        self._inside.pop()
        self._given = outer

    def _add(self, op: ir.Operation, context: Context, places: Iterator[int]) -> None:
        before = len(self.statements)
        super()._visit_leaf(op, context, places)
        for made in self.statements[before:]:
            if self._unknown or any(a.subscripts is None for a in made.accesses):
                self.loose.add(made.name)

    def _outer(self, value: ir.Value) -> ir.Value:
        return self._given.get(value, value)

    # --- expressions ----------------------------------------------------------------------

    def __getitem__(self, value: ir.Value) -> str:
        value = self._outer(value)
        while not isinstance(value, ir.BlockArgument) and value.owner.operation.name in _CASTS:
            value = self._outer(value.owner.operation.operands[0])
        return super().__getitem__(value)

    def _access(self, op: ir.Operation, effect: Effect, loops: tuple[LoopVariable, ...]) -> Access:
        if effect.value is None:
            return super()._access(op, effect, loops)
        array, views = self._array(effect.value)
        memory = Memory(array, exact=not views)
        value = effect.value if isinstance(array, str) else array
        found = super()._access(op, Effect(memory, effect.writes, value), loops)
        if not views or op.name not in ("affine.load", "affine.store"):
            return found
        subscripts = self._subscripts(bound_map(op))
        for view in views:
            subscripts = self._seen_through(view, subscripts)
        return replace(found, subscripts=subscripts)

    def _array(self, value: ir.Value) -> tuple[Key, list[ir.Operation]]:
        """The array behind a value, and the views between them, the innermost first."""
        views = []
        while True:
            value = self._outer(value)
            op = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            if op is not None and op.name in VIEWS:
                if op.name != "memref.cast":
                    views.append(op)
                value = op.operands[0]
                continue
            key = self.effects.memory_of(value).key if op is not None else value
            if isinstance(key, str) or key == value or self._outer(key) == value:
                return key, views
            value = key

    def _seen_through(
        self, view: ir.Operation, subscripts: tuple[str, ...] | None
    ) -> tuple[str, ...] | None:
        """Subscripts of a view as those of what it is a view of."""
        if subscripts is None or view.name != "memref.subview":
            return None
        dynamic = iter(list(view.operands)[1:])
        try:
            starts = [
                self[next(dynamic)] if n == ir.ShapedType.get_dynamic_stride_or_offset() else str(n)
                for n in ir.DenseI64ArrayAttr(view.attributes["static_offsets"])
            ]
        except NotAffine:
            return None
        sizes = list(ir.DenseI64ArrayAttr(view.attributes["static_sizes"]))
        strides = list(ir.DenseI64ArrayAttr(view.attributes["static_strides"]))
        if any(n < 0 for n in (*sizes, *strides)):
            return None
        gone, left, out = len(sizes) - len(subscripts), iter(subscripts), []
        for start, size, stride in zip(starts, sizes, strides, strict=True):
            if gone and size == 1:
                gone -= 1
                out.append(start)
            else:
                out.append(f"{start} + {stride} * ({next(left)})")
        return tuple(out)


__all__ = ["RegionModel"]
