"""Partial results of a reduction: an array of registers that the loop updates in place of its element."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.associative import (
    DIFFERENCES,
    MODULAR,
    Operand,
    combine,
    family_of,
    neutral,
    tree,
)
from allo.dialects.affine.loops import parent_of, string_attribute
from allo.dialects.affine.maps import BoundMap, constant_map
from allo.dialects.core.partition import ArrayLayout, Partition, make_dim, with_layout
from allo.dialects.diagnostics import IllegalTransformError, SourcePlace
from allo.dialects.sums.reductions import Found, Reduction, Update, find_reductions

from .buffers import alloc, declared_attributes, fresh_name, load, point_within, redirect, store


def reductions_of(
    module: ir.Module, loop: ir.Operation, what: str, place: SourcePlace | None
) -> list[Reduction]:
    """The reductions that a loop carries, at least one.

    Raises:
        IllegalTransformError: there is none; the notes say of every store of the loop why.
    """
    found = find_reductions(module, loop)
    if not found.reductions:
        raise no_reduction(found, loop, what, place)
    return found.reductions


def no_reduction(
    found: Found, loop: ir.Operation, what: str, place: SourcePlace | None
) -> IllegalTransformError:
    """The refusal of a loop that carries no reduction."""
    name = string_attribute(loop, "loop_name")
    why = found.obstacles[0].text if found.obstacles else "it stores nothing"
    first = found.obstacles[0].place if found.obstacles else None
    line = f" (line {first.line})" if first else ""
    notes = tuple(
        obstacle.text if obstacle.place is None else (obstacle.text, obstacle.place)
        for obstacle in found.obstacles[1:4]
    )
    return IllegalTransformError(
        f"Cannot {what}: loop {name} carries no reduction; {why}{line}.",
        first or place,
        help="a reduction updates one element in every iteration, as in x = x + y, with +, -, *, min, "
        "max, or of integers &, |, ^; and nothing else in the loop touches x.",
        notes=notes,
    )


class Partials:
    """An array of partial results of one reduction, made and filled in front of a loop."""

    def __init__(
        self,
        function: ir.Operation,
        loop: ir.Operation,
        reduction: Reduction,
        count: int,
        what: str,
    ) -> None:
        self._reduction = reduction
        self._count = count
        self._location = reduction.updates[-1].store.location
        self._attributes = declared_attributes(function, reduction.array)
        self._element = ir.MemRefType(reduction.array.type).element_type
        self.name = fresh_name(function, f"{reduction.name}_{what}")
        layout = ArrayLayout((make_dim(Partition.Complete, count, 0),))
        kind = with_layout(ir.MemRefType.get([count], self._element), layout)
        self._array = alloc(
            kind, self.name, self._attributes, self._location, ir.InsertionPoint(loop)
        )

    def fill(self, elements: Sequence[BoundMap], ip: ir.InsertionPoint) -> None:
        """Set elements to the value that changes no other."""
        start = ir.Operation.create(
            "arith.constant",
            [self._element],
            [],
            attributes={"value": neutral(self._reduction.family, self._element)},
            loc=self._location,
            ip=ip,
        ).result
        for element in elements:
            made = store(start, self._array, element, self.name, self._location, ip)
            self._mark(made)

    def fill_all(self, ip: ir.InsertionPoint) -> None:
        """Set all of them."""
        self.fill([constant_map(position) for position in range(self._count)], ip)

    def take_updates(self, element: BoundMap) -> None:
        """Let the loop's updates change a partial result instead."""
        for update in self._reduction.updates:
            redirect(update.load, self._array, element, self.name)
            redirect(update.store, self._array, element, self.name)

    def set_directly(self, loop: ir.Operation, element: BoundMap) -> bool:
        """Store what each iteration adds, where it always does that, and once; whether that is so."""
        updates = self._reduction.updates
        if len(updates) > 1 or parent_of(updates[0].store) != loop:
            return False
        value = _added(updates[0])
        if value is None:
            return False
        point = ir.InsertionPoint(updates[0].store)
        if value.type != self._element:
            value = ir.Operation.create(
                "arith.trunci", [self._element], [value], loc=self._location, ip=point
            ).result
        made = store(value, self._array, element, self.name, self._location, point)
        self._mark(made)
        updates[0].store.erase()
        _erase_unused(updates[0])
        return True

    def add_up(self, ip: ir.InsertionPoint) -> None:
        """Combine all of them as a tree, and the element with that, where there is one."""
        reduction, location = self._reduction, self._location
        ip = point_within(reduction.array, reduction.element, location, ip)
        parts = [
            Operand(self._load(self._array, constant_map(position), self.name, ip))
            for position in range(self._count)
        ]
        total = tree(reduction.family, parts, location, ip).value
        old = self._load(reduction.array, reduction.element, reduction.name, ip)
        value = combine(reduction.family, old, total, location, ip)
        made = store(value, reduction.array, reduction.element, reduction.name, location, ip)
        self._mark(made)

    def _load(
        self, array: ir.Value, element: BoundMap, name: str, ip: ir.InsertionPoint
    ) -> ir.Value:
        value = load(array, element, name, self._location, ip)
        self._mark(value.owner.operation)
        return value

    def _mark(self, access: ir.Operation) -> None:
        if "unsigned" in self._attributes:
            access.attributes["unsigned"] = ir.UnitAttr.get()


def _added(update: Update) -> ir.Value | None:
    """What an update combines its element with, where that is one value."""
    operations = [op for op in update.path if family_of(op.name) is not None]
    if len(operations) != 1 or operations[0].name in DIFFERENCES:
        return None
    if len(update.path) > 1 and family_of(operations[0].name) not in MODULAR:
        return None
    last = update.path[0] if operations[0] != update.path[0] else update.load
    one, other = operations[0].operands
    return other if one == last.result else one


def _erase_unused(update: Update) -> None:
    for op in reversed(update.path):
        op.erase()
    update.load.erase()
