"""Which operations of a function are its processes.

The part of a function from the first to the last operation that touches a FIFO is its *section*.
Every nest and every call there is a process; the operations of one iteration that ``unfold`` made
(attribute ``unfolded = "PE:0,1"``) are one process together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from .._mlir import ir
from ..affine.loops import is_loop, string_attribute, walk
from ..core.locations import place_of
from ..core.signature import callee_of
from ..diagnostics import SourcePlace

UNFOLDED = "unfolded"
SHARE_ABOVE = 16
"""More processes than this that are alike are one function, unless told otherwise."""

_PURE = (
    "arith.",
    "math.",
    "affine.apply",
    "affine.min",
    "affine.max",
    "memref.get_global",
    "memref.subview",
    "memref.cast",
)


@dataclass(slots=True)
class Process:
    """Operations that run in order, beside the other processes.

    Attributes:
        name: of the band, the callee, or the instance (``PE_0_1``).
        ops: its operations with effects, in order.
        band, coordinates: of an iteration that ``unfold`` made.
    """

    name: str
    ops: list[ir.Operation]
    band: str = ""
    coordinates: tuple[int, ...] = ()

    @property
    def place(self) -> SourcePlace | None:
        """Where the first loop of the process is, or else its first operation."""
        return place_of(next((op for op in self.ops if is_loop(op)), self.ops[0]))

    @property
    def call(self) -> ir.Operation | None:
        """The call that the process is; None where it is more, or a nest."""
        only = self.ops[0] if len(self.ops) == 1 else None
        return only if only is not None and only.name == "func.call" else None


@dataclass(slots=True)
class Section:
    """The processes of a function and what stands around them.

    Attributes:
        outside: operations with effects before and behind.
    """

    processes: list[Process] = field(default_factory=list)
    outside: list[ir.Operation] = field(default_factory=list)


def is_pure(op: ir.Operation) -> bool:
    """Whether an operation may be computed again where it is wanted."""
    return bool(op.name.startswith(_PURE))


def section_of(function: ir.Operation, arrays: Collection[ir.Value]) -> Section:
    """The section of ``function`` that touches ``arrays``, by processes."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    active = [op for op in operations if not is_pure(op) and op.name != "memref.alloc"]
    touching = [n for n, op in enumerate(active) if _touches(op, arrays)]
    section = Section()
    if not touching:
        return section
    first, last = touching[0], touching[-1]
    tags = {tag for op in active[first : last + 1] if (tag := string_attribute(op, UNFOLDED))}
    members: dict[str, Process] = {}
    for number, op in enumerate(active):
        tag = string_attribute(op, UNFOLDED)
        if not (first <= number <= last or tag in tags):
            section.outside.append(op)
        elif tag in members:
            members[tag].ops.append(op)
        else:
            process = _process(op, tag)
            section.processes.append(process)
            if tag is not None:
                members[tag] = process
    return section


def _touches(op: ir.Operation, arrays: Collection[ir.Value]) -> bool:
    return any(v in arrays for each in _self_and_inside(op) for v in each.operands)


def _self_and_inside(op: ir.Operation) -> Iterable[ir.Operation]:
    yield op
    yield from walk(op)


def _process(op: ir.Operation, tag: str | None) -> Process:
    if tag is not None:
        band, _, numbers = tag.partition(":")
        coordinates = tuple(int(n) for n in numbers.split(","))
        return Process("_".join([band, *map(str, coordinates)]), [op], band, coordinates)
    if op.name == "func.call":
        return Process(callee_of(op), [op])
    name = string_attribute(op, "op_name") or op.name.replace(".", "_")
    return Process(name, [op])
