"""Variables and arrays: declarations, constants, loads, stores, whole-array fill and copy."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir
from allo.dialects.core.dense import dense_values
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import SourcePlace, VerificationError
from allo.dialects.streams.loops.iterations import COPIES, copies_of
from allo.dialects.types import parse_type

from ...text import literals
from ...text.ctype import CType, ctype_of, ctype_of_declared
from ..attributes import has, string
from ..emitter import FunctionEmitter, Handler, loaded, stored
from ..fifo import declare_fifo, fifo_depth, write
from ..pragmas import array_pragmas, deep_buffer_pragmas
from ..values import Buffer, Scalar, StreamRef


def element_ctype(e: FunctionEmitter, op: ir.Operation, memref: ir.MemRefType) -> CType:
    """The element type of a variable, from its ``dtype`` or ``unsigned`` attribute."""
    declared = string(op, "dtype")
    if declared:
        return ctype_of_declared(parse_type(declared))
    try:
        return ctype_of(memref.element_type, not has(op, "unsigned"))
    except TypeError as error:
        raise e.unsupported(op, str(error)) from error


def declare_array(
    e: FunctionEmitter,
    name: str,
    memref: ir.MemRefType,
    ctype: CType,
    place: SourcePlace | None,
) -> Buffer:
    """Declare a local array or variable and print its pragmas."""
    buffer = Buffer(name, tuple(memref.shape), ctype)
    e.out.line(f"{e.spell(ctype)} {buffer.declarator()};", place)
    for pragma in array_pragmas(e.vendor, name, memref):
        e.out.line(pragma)
    return buffer


def _alloc(e: FunctionEmitter, op: ir.Operation) -> None:
    result = op.results[0]
    if result in e.values:
        return
    memref = ir.MemRefType(result.type)
    ctype = element_ctype(e, op, memref)
    name = e.names.of(string(op, "name"))
    depth = fifo_depth(e.vendor, memref)
    if depth is not None:
        e.values[result] = declare_fifo(e, name, ctype, depth, place_of(op))
        return
    e.values[result] = declare_array(e, name, memref, ctype, place_of(op))
    around = op.parent.operation
    if around.name == "affine.for" and COPIES in around.attributes:
        for line in deep_buffer_pragmas(e.vendor, name, copies_of(around)):
            e.out.line(line)


def _get_global(e: FunctionEmitter, op: ir.Operation) -> None:
    """Globals are declared at the head of the function (:func:`declare_globals`)."""
    if op.results[0] not in e.values:
        raise VerificationError("A global array is read before its declaration.", place_of(op))


def declare_globals(e: FunctionEmitter, uses: list[ir.Operation]) -> None:
    """Declare what the ``memref.get_global`` operations of a function name, once each."""
    declared: dict[str, Buffer] = {}
    for use in uses:
        symbol = ir.FlatSymbolRefAttr(use.attributes["name"]).value
        if symbol not in declared:
            declared[symbol] = _declare_global(e, e.context.globals[symbol], use, symbol)
        e.values[use.results[0]] = declared[symbol]


def _declare_global(
    e: FunctionEmitter, definition: ir.Operation, use: ir.Operation, symbol: str
) -> Buffer:
    intel_text = e.vendor.pragmas == "intel" and e.context.simulation is None
    if intel_text and not has(definition, "constant"):
        raise e.unsupported(use, "a kernel for Intel keeps no state between calls")
    memref = ir.MemRefType(use.results[0].type)
    ctype = table_ctype(e, definition, memref)
    shape = tuple(memref.shape)
    shared = e.context.shared_globals.get(symbol)
    if shared is not None:
        return Buffer(shared, shape, ctype)
    name = e.names.of(_global_name(definition, use, symbol))
    buffer = Buffer(name, shape, ctype)
    e.out.line(
        global_text(e, definition, memref, buffer, const=symbol not in e.context.passed_globals),
        place_of(use),
    )
    for pragma in array_pragmas(e.vendor, name, memref):
        e.out.line(pragma)
    return buffer


def table_ctype(e: FunctionEmitter, definition: ir.Operation, memref: ir.MemRefType) -> CType:
    """The type of a table: integers stand for fixed-point numbers that no double holds.

    In csim they do for all, because a compiler takes four times as long for numbers in fixed point.
    """
    ctype = element_ctype(e, definition, memref)
    plain = e.context.simulation is None and ctype.bits <= literals.DOUBLE_BITS
    return ctype if plain else ctype.raw


def _global_name(definition: ir.Operation, use: ir.Operation, symbol: str) -> str:
    """A constant has the user's name; a stateful variable its symbol, which names its instance."""
    return (string(use, "var_name") if has(definition, "constant") else None) or symbol


def global_text(
    e: FunctionEmitter,
    definition: ir.Operation,
    memref: ir.MemRefType,
    buffer: Buffer,
    *,
    const: bool,
) -> str:
    """``static const T name[4] = {…};``"""
    count = 1
    for extent in buffer.shape:
        count *= extent
    qualifier = "static const" if const and has(definition, "constant") else "static"
    kind = e.spell(buffer.ctype)
    head = f"{qualifier} {kind} {buffer.declarator()}"
    initial = definition.attributes["initial_value"] if has(definition, "initial_value") else None
    if initial is None or isinstance(initial, ir.UnitAttr):
        return f"{head};"
    values = dense_values(initial, memref.element_type, count)
    braces = literals.initialiser(
        values, buffer.shape, lambda v: literals.scalar(v, buffer.ctype, e.vendor)
    )
    return f"{head} = {braces};"


# --- views --------------------------------------------------------------------------


def _subview(e: FunctionEmitter, op: ir.Operation) -> None:
    """An alias: offsets and steps are applied where an element is used."""
    base = e.buffer(op.operands[0])
    dynamic = ir.ShapedType.get_dynamic_size()
    operands = iter(list(op.operands)[1:])
    offsets = [
        e.text(e.scalar(next(operands))) if offset == dynamic else str(offset)
        for offset in op.attributes["static_offsets"]
    ]
    sizes = list(op.attributes["static_sizes"])
    steps = list(op.attributes["static_strides"])
    if dynamic in sizes or dynamic in steps:
        raise e.unsupported(op, "its extents or steps are not constant")
    shape = tuple(ir.MemRefType(op.results[0].type).shape)
    kept = _kept_dimensions(sizes, shape)
    selectors = tuple(zip(offsets, steps, kept, strict=True))
    e.values[op.results[0]] = Buffer(base.name, shape, base.ctype, base=base, selectors=selectors)


def _kept_dimensions(sizes: list[int], shape: tuple[int, ...]) -> list[bool]:
    """Which dimensions of a subview remain in its type; those dropped have extent 1."""
    surplus = len(sizes) - len(shape)
    kept = []
    for size in sizes:
        drop = size == 1 and surplus > 0
        surplus -= drop
        kept.append(not drop)
    return kept


def _alias(e: FunctionEmitter, op: ir.Operation) -> None:
    e.values[op.results[0]] = e.buffer(op.operands[0])


# --- element access ---------------------------------------------------------------


def _affine_subscripts(e: FunctionEmitter, op: ir.Operation, operands: list[ir.Value]) -> list[str]:
    affine_map = op.attributes["map"].value
    return [t.text for t in e.affine.subscripts(affine_map, e.index_operands(operands))]


def _plain_subscripts(e: FunctionEmitter, operands: list[ir.Value]) -> list[str]:
    return [e.text(v) for v in e.index_operands(operands)]


def _load(e: FunctionEmitter, op: ir.Operation) -> None:
    operands = list(op.operands)
    fifo = e.values[operands[0]]
    if isinstance(fifo, StreamRef):
        e.define(op, f"{fifo.name}.read()", fifo.ctype)
        return
    buffer = e.buffer(operands[0])
    affine = op.name == "affine.load"
    subscripts = (
        _affine_subscripts(e, op, operands[1:]) if affine else _plain_subscripts(e, operands[1:])
    )
    e.define(op, buffer.element(subscripts), buffer.ctype)


def _store(e: FunctionEmitter, op: ir.Operation) -> None:
    operands = list(op.operands)
    fifo = e.values[operands[1]]
    if isinstance(fifo, StreamRef):
        write(e, fifo, e.scalar(operands[0]), place_of(op))
        return
    value, buffer = e.scalar(operands[0]), e.buffer(operands[1])
    affine = op.name == "affine.store"
    subscripts = (
        _affine_subscripts(e, op, operands[2:]) if affine else _plain_subscripts(e, operands[2:])
    )
    assign(e, buffer.element(subscripts), value, buffer.ctype, place_of(op))


def assign(
    e: FunctionEmitter, target: str, value: Scalar, ctype: CType, place: SourcePlace | None
) -> None:
    """``target = value;`` with the value's bits kept."""
    if (
        e.vendor.fixed_constants
        and ctype.is_fixed
        and value.const is not None
        and ctype.bits <= literals.DOUBLE_BITS
    ):
        e.out.line(f"{target} = {literals.fixed_point(int(value.const), ctype)};", place)
        return
    e.out.line(f"{stored(e, target, ctype)} = {e.typed_bits(value, ctype)};", place)


def moved(
    e: FunctionEmitter, target: str, target_type: CType, source: str, source_type: CType
) -> str:
    """``target = source;`` of two variables that hold the same bits."""
    if target_type != source_type:
        target, source = stored(e, target, target_type), loaded(e, source, source_type)
    return f"{target} = {source};"


# --- whole arrays -----------------------------------------------------------------


def nest(
    e: FunctionEmitter,
    shape: tuple[int, ...],
    body: Callable[[list[str]], None],
    place: SourcePlace | None,
) -> None:
    """A loop nest over ``shape``; ``body`` is called with the subscripts, inside it."""

    def level(dim: int, subscripts: list[str]) -> None:
        if dim == len(shape):
            body(subscripts)
            return
        iv = e.names.of(f"i{dim}")
        head = f"l_{iv}: for (int {iv} = 0; {iv} < {shape[dim]}; {iv}++)"
        with e.out.block(head, place):
            level(dim + 1, [*subscripts, iv])

    level(0, [])


def copy_array(
    e: FunctionEmitter, source: Buffer, target: Buffer, place: SourcePlace | None
) -> None:
    """Copy all elements of an array of the same shape."""

    def body(subscripts: list[str]) -> None:
        to, of = target.element(subscripts), source.element(subscripts)
        e.out.line(moved(e, to, target.ctype, of, source.ctype), place)

    nest(e, source.shape, body, place)


def _fill(e: FunctionEmitter, op: ir.Operation) -> None:
    value, target = e.scalar(op.operands[0]), e.buffer(op.operands[1])
    place = place_of(op)

    def body(subscripts: list[str]) -> None:
        assign(e, target.element(subscripts), value, target.ctype, place)

    nest(e, target.shape, body, place)


def _copy(e: FunctionEmitter, op: ir.Operation) -> None:
    copy_array(e, e.buffer(op.operands[0]), e.buffer(op.operands[1]), place_of(op))


def _nothing(e: FunctionEmitter, op: ir.Operation) -> None:
    """No C++ for this operation."""


HANDLERS: dict[str, Handler] = {
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.dealloc": _nothing,
    "memref.get_global": _get_global,
    "memref.subview": _subview,
    "memref.cast": _alias,
    "memref.load": _load,
    "memref.store": _store,
    "affine.load": _load,
    "affine.store": _store,
    "linalg.fill": _fill,
    "memref.copy": _copy,
}
