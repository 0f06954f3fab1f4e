"""Bands: the top-level loop nests of a function, their loops flattened depth first."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_loop, string_attribute


@dataclass(frozen=True, slots=True)
class Band:
    """One nest: its name and its loops in depth-first order.

    Attributes:
        hidden: the nest stands under a top-level ``if`` or ``while``; it is reachable by an
            unambiguous name but not listed.
    """

    name: str
    root: ir.Operation
    loops: tuple[tuple[str, ir.Operation], ...]
    hidden: bool = False

    def find(self, name: str) -> ir.Operation | None:
        """The last loop of this name, or None."""
        return dict(self.loops).get(name)


def bands_of(function: ir.Operation) -> list[Band]:
    """The bands of a function in program order, hidden ones included."""
    found: list[Band] = []
    for block in function.regions[0].blocks:
        for op in block.operations:
            _collect(op.operation, False, found)
    return found


def _collect(op: ir.Operation, hidden: bool, found: list[Band]) -> None:
    if is_loop(op):
        loops: list[tuple[str, ir.Operation]] = []
        _flatten(op, loops)
        name = string_attribute(op, "op_name") or f"band_{len(found)}"
        found.append(Band(name, op, tuple(loops), hidden))
        return
    if op.name not in ("affine.if", "scf.if", "scf.while"):
        return
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _collect(inner.operation, True, found)


def _flatten(op: ir.Operation, loops: list[tuple[str, ir.Operation]]) -> None:
    if is_loop(op):
        loops.append((string_attribute(op, "loop_name") or f"L_{len(loops)}", op))
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                if len(inner.operation.regions):
                    _flatten(inner.operation, loops)
