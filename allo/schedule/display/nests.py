"""The loop nests of a function as lines: loops with their bounds and marks, and what they access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_affine_loop, is_loop, spec_of, string_attribute
from allo.dialects.core.fifos import GETS, PUTS
from allo.dialects.core.partition import Partition, layout_of
from allo.dialects.core.signature import argument_name, symbol

from ..resolve import buffers_of

_MARKS = ("reduction", "parallel", "dataflow")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: how deep it stands, what it says, and the marks that a schedule has set."""

    level: int
    text: str
    marks: tuple[str, ...] = ()


def lines_of(function: ir.Operation) -> list[Line]:
    """The function's name, its partitioned arrays, and its statements in the order of the program."""
    marks = tuple(name for name in ("dataflow", "inline") if name in function.attributes)
    found = [Line(0, symbol(function), marks)]
    for name, value in buffers_of(function).items():
        banks = _banks(value.type)
        if banks:
            found.append(Line(1, name, (banks,)))
    found += _lines(_operations(function), 1)
    return found


def _banks(kind: ir.Type) -> str:
    """How an array's type spreads it over banks, or "" for one memory."""
    if not isinstance(kind, ir.MemRefType):
        return ""
    dims = [
        f"dimension {number} {'complete' if dim.kind is Partition.Complete else dim.kind.name.lower()}"
        for number, dim in enumerate(layout_of(kind).dims, start=1)
        if dim.kind is not None
    ]
    return f"{layout_of(kind).bank_count} banks: {', '.join(dims)}" if dims else ""


def _operations(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation


def _lines(operations: Iterator[ir.Operation], level: int) -> list[Line]:
    """Loops and conditions with what is inside; the statements between them in one line each."""
    found: list[Line] = []
    plain: list[ir.Operation] = []
    for op in operations:
        head = _head(op)
        if head is None:
            plain.append(op)
            continue
        found += _accesses(plain, level)
        plain = []
        found.append(Line(level, head, _marks_of(op)))
        found += _lines(_operations(op), level + 1)
    return found + _accesses(plain, level)


def _head(op: ir.Operation) -> str | None:
    """What a line says of an operation that holds others or is a call; None for any other."""
    if is_loop(op):
        return f"for {string_attribute(op, 'loop_name') or '_'} in {_range(op)}"
    if op.name == "func.call":
        return f"{ir.FlatSymbolRefAttr(op.attributes['callee']).value}(…)"
    if op.name in ("affine.if", "scf.if"):
        return "if …"
    return "while …" if op.name == "scf.while" else None


def _range(loop: ir.Operation) -> str:
    if not is_affine_loop(loop):
        return "range(…)"
    spec = spec_of(loop)
    bounds = spec.constant_bounds()
    if bounds is None:
        return "range(…)"
    start = "" if bounds[0] == 0 and spec.step == 1 else f"{bounds[0]}, "
    step = "" if spec.step == 1 else f", {spec.step}"
    return f"range({start}{bounds[1]}{step})"


def _marks_of(op: ir.Operation) -> tuple[str, ...]:
    """The band a loop begins, and what primitives have asked of it."""
    if not is_loop(op):
        return ()
    found = [name for name in [string_attribute(op, "op_name")] if name]
    found += [name for name in _MARKS if name in op.attributes]
    if "pipeline_ii" in op.attributes:
        interval = ir.IntegerAttr(op.attributes["pipeline_ii"]).value
        found.append(f"pipeline II={interval}{' rewind' if 'rewind' in op.attributes else ''}")
    if "unroll" in op.attributes:
        factor = ir.IntegerAttr(op.attributes["unroll"]).value
        found.append(f"unroll {factor or 'completely'}")
    return tuple(found)


def _accesses(operations: Sequence[ir.Operation], level: int) -> list[Line]:
    """One line for a run of statements: the arrays and FIFOs they write and read."""
    written = _names(operations, "to", PUTS)
    read = _names(operations, "from", GETS)
    if not written:
        return []
    sources = [name for name in read if name not in written] or read
    return [Line(level, f"{', '.join(written)} ← {', '.join(sources) or '…'}")]


def _names(operations: Sequence[ir.Operation], attribute: str, verbs: frozenset[str]) -> list[str]:
    """What accesses name: the array in an attribute, or the FIFO that is put into or got from."""
    names = [
        _fifo_name(op) if op.name in verbs else string_attribute(op, attribute) for op in operations
    ]
    return list(dict.fromkeys(name for name in names if name))


def _fifo_name(op: ir.Operation) -> str | None:
    """The name of the function's argument that is the FIFO."""
    fifo = op.operands[0]
    if not isinstance(fifo, ir.BlockArgument):
        return None
    return argument_name(fifo)
