"""Dataflow: streams, regions, and what only simulation shows.

In the text for a vendor a region is a function with ``#pragma HLS dataflow`` whose calls are its
processes. For csim (:attr:`ModuleContext.simulation`) the same calls are handed to a scheduler that
runs them side by side, and every put and get notes its place for reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.core.bounds import CHECK, DEPENDENCE_CHECK, site_of
from allo.dialects.core.fifos import PUTS, declared_stream
from allo.dialects.core.locations import place_of
from allo.dialects.core.prints import PRINT, printed_of
from allo.dialects.core.signature import callee_of
from allo.dialects.diagnostics import SourcePlace, UnsupportedOpError
from allo.dialects.text.quoting import c_string
from allo.dialects.types import AlloType, Fixed, Stream, UFixed, parse_type

from ...csim.simulation import StreamSite
from ...text.ctype import BOOL, CType, Kind, ctype_of_declared
from ..emitter import FunctionEmitter, Handler
from ..fifo import element_text, stream_type, write
from ..free_running import storage_of_stream
from ..pragmas import lane_pragma, stream_pragmas
from ..signature import Param
from ..values import Buffer, Scalar, StreamRef
from .float import as_double
from .memory import moved, nest


def stream_parameter(
    e: FunctionEmitter, ctype: CType, block: tuple[int, ...], argument: ir.Value | None
) -> str:
    """The type of a parameter that is a FIFO: with its direction where the vendor asks for it."""
    if not e.vendor.tasks or argument is None:
        return f"{stream_type(e, ctype, block)}&"
    way = "ostream" if writes_stream(e, argument) else "istream"
    return f"tapa::{way}< {element_text(e, ctype, block)} >&"


def note_port(e: FunctionEmitter, param: Param, argument: ir.Value) -> None:
    """Number a stream argument of the top for csim."""
    stream = param.declared
    assert isinstance(stream, Stream) and e.context.simulation is not None
    place, fills = place_of(e.signature.op), writes_stream(e, argument)
    site = StreamSite(param.name, stream.depth, prod(stream.shape[:-1]), place, fills)
    e.context.simulation.add_stream(argument, site)


def writes_stream(e: FunctionEmitter, argument: ir.Value) -> bool:
    """Whether a function, or one it hands the FIFO to, puts into it."""
    for use in argument.uses:
        owner = use.owner.operation
        if owner.name in PUTS:
            return True
        if owner.name == "func.call":
            blocks = e.context.signatures[callee_of(owner)].op.regions[0].blocks
            if len(blocks) and writes_stream(e, blocks[0].arguments[use.operand_number]):
                return True
    return False


def _stream(e: FunctionEmitter, op: ir.Operation) -> None:
    made = declared_stream(op)
    user_name, declared = made.name, made.kind
    ctype = ctype_of_declared(declared.dtype)
    name = e.names.of(user_name)
    block = tuple(declared.shape)
    depth = declared.depth * prod(block[:-1])
    kind = stream_type(e, ctype, block)
    simulation = e.context.simulation
    if simulation is None and e.vendor.pragmas == "intel":
        raise e.unsupported(op, "the text for Intel is one task, without FIFOs between kernels")
    if simulation is None and e.vendor.tasks:
        element = element_text(e, ctype, block)
        e.out.line(f'tapa::stream< {element}, {depth} > {name}("{name}");', place_of(op))
    elif simulation is None:
        e.out.line(f"{storage_of_stream(e, op)}{kind} {name};", place_of(op))
        for pragma in stream_pragmas(e.vendor, name, depth):
            e.out.line(pragma)
    else:
        site = StreamSite(user_name or name, declared.depth, prod(block[:-1]), place_of(op))
        number = simulation.add_stream(op.results[0], site)
        make = f"allo_csim::Pool::here().make<{kind} >({number}, {depth})"
        e.out.line(f"{kind}& {name} = {make};", place_of(op))
    e.values[op.results[0]] = StreamRef(name, ctype, block)


def _mark(e: FunctionEmitter, op: ir.Operation) -> None:
    if e.context.simulation is not None:
        e.out.line(f"allo_csim::at({e.context.simulation.add_site(place_of(op))});")


def _put(e: FunctionEmitter, op: ir.Operation) -> None:
    stream = e.stream(op.operands[0])
    value = e.values[op.operands[1]]
    _mark(e, op)
    if isinstance(value, Scalar):
        write(e, stream, value, place_of(op))
        return
    assert isinstance(value, Buffer)
    _put_block(e, op, stream, value)


def _put_block(e: FunctionEmitter, op: ir.Operation, stream: StreamRef, block: Buffer) -> None:
    place = place_of(op)
    vector = _vector(e, stream)

    def row(outer: list[str]) -> None:
        name = e.names.fresh()
        e.out.line(f"{vector} {name};", place)
        with _each_lane(e, stream, place) as lane:
            target, element = f"{name}[{lane}]", block.element([*outer, lane])
            e.out.line(moved(e, target, stream.ctype, element, block.ctype), place)
        e.out.line(f"{stream.name}.write({name});", place)

    nest(e, stream.block[:-1], row, place)


@contextmanager
def _each_lane(e: FunctionEmitter, stream: StreamRef, place: SourcePlace | None) -> Iterator[str]:
    """A loop over the lanes of a word of the stream; its iterator."""
    lane = e.names.of("lane")
    head = f"for (int {lane} = 0; {lane} < {stream.block[-1]}; {lane}++)"
    with e.out.block(head, place):
        e.out.line(lane_pragma(e.vendor))
        yield lane


def _get(e: FunctionEmitter, op: ir.Operation) -> None:
    stream = e.stream(op.operands[0])
    _mark(e, op)
    e.define(op, f"{stream.name}.read()", stream.ctype)


def _try_put(e: FunctionEmitter, op: ir.Operation) -> None:
    """``T v3 = …; bool v4 = s.write_nb(v3);``"""
    stream, value = e.stream(op.operands[0]), e.scalar(op.operands[1])
    _mark(e, op)
    if stream.ctype.is_fixed:
        name = e.fixed_point(value, stream.ctype, place_of(op))
    else:
        name = e.names.fresh()
        text = e.typed(value, stream.ctype)
        e.out.line(f"{e.spell(stream.ctype)} {name} = {text};", place_of(op))
    e.define(op, e.vendor.try_put.format(name=stream.name, value=name), BOOL)


def _try_get(e: FunctionEmitter, op: ir.Operation) -> None:
    """``T v3 = 0; bool v4 = s.read_nb(v3);``: the value is 0 where there is none."""
    stream, place = e.stream(op.operands[0]), place_of(op)
    _mark(e, op)
    name, done = e.names.fresh(), e.names.fresh()
    zero = e.text(Scalar("", stream.ctype, 0))
    e.out.line(f"{e.spell(stream.ctype)} {name} = {zero};", place)
    tried = e.vendor.try_get.format(name=stream.name, value=name)
    e.out.line(f"bool {done} = {tried};", place)
    e.define(op, name, stream.ctype)
    e.values[op.results[1]] = Scalar(done, BOOL, None, 2)


def _empty(e: FunctionEmitter, op: ir.Operation) -> None:
    _mark(e, op)
    e.define(op, e.vendor.empty.format(name=e.stream(op.operands[0]).name), BOOL)


def _full(e: FunctionEmitter, op: ir.Operation) -> None:
    _mark(e, op)
    e.define(op, e.vendor.full.format(name=e.stream(op.operands[0]).name), BOOL)


def _get_block(e: FunctionEmitter, op: ir.Operation) -> None:
    stream, block = e.stream(op.operands[0]), e.buffer(op.operands[1])
    place = place_of(op)
    vector = _vector(e, stream)
    _mark(e, op)

    def row(outer: list[str]) -> None:
        name = e.names.fresh()
        e.out.line(f"{vector} {name} = {stream.name}.read();", place)
        with _each_lane(e, stream, place) as lane:
            target, element = block.element([*outer, lane]), f"{name}[{lane}]"
            e.out.line(moved(e, target, block.ctype, element, stream.ctype), place)

    nest(e, stream.block[:-1], row, place)


def _vector(e: FunctionEmitter, stream: StreamRef) -> str:
    return e.vendor.vector.format(element=e.spell(stream.ctype), count=stream.block[-1])


def _assert(e: FunctionEmitter, op: ir.Operation) -> None:
    condition = e.text(e.scalar(op.operands[0]))
    message = ir.StringAttr(op.attributes["message"]).value
    if e.context.simulation is None:
        e.out.line("#ifndef __SYNTHESIS__")
        e.out.line(f"assert({condition} && {c_string(message)});", place_of(op))
        e.out.line("#endif")
        return
    site = e.context.simulation.add_site(place_of(op), message)
    e.out.line(f"if (!({condition})) throw allo_csim::Assertion{{{site}}};", place_of(op))


def _check(e: FunctionEmitter, op: ir.Operation) -> None:
    """In csim a failing check ends the run; in text for a tool it is an ``assert``."""
    condition = e.text(e.scalar(op.operands[0]))
    if e.context.simulation is None:
        message = site_of(op).what
        e.out.line("#ifndef __SYNTHESIS__")
        e.out.line(f"assert({condition} && {c_string(message)});", place_of(op))
        e.out.line("#endif")
        return
    number = e.context.simulation.add_check(site_of(op))
    words = ", ".join(f"(long long){e.text(e.scalar(v))}" for v in list(op.operands)[1:])
    e.out.line(
        f"if (!({condition})) throw allo_csim::OutOfBounds{{{number}, {{{words}}}}};", place_of(op)
    )


def _dim(e: FunctionEmitter, op: ir.Operation) -> None:
    """The extent of an array of any length, which only checks ask for: C++ has a pointer."""
    raise UnsupportedOpError(
        "check_bounds needs the length of an array, and C++ is given a pointer to one of any "
        "length.",
        place_of(op),
        help="check the kernel with target='llvm', or give the array its extents.",
    )


def _print(e: FunctionEmitter, op: ir.Operation) -> None:
    """``printf`` of the texts and the value between them; of an array the texts alone."""
    printed = printed_of(op)
    value = None if printed.value is None else e.values[printed.value]
    # A string of C ends at its first zero, so a zero of the text is an argument of its own.
    texts = (printed.before, printed.after)
    before, after = (text.replace("%", "%%").replace("\0", "%c") for text in texts)
    zeros = [["0"] * text.count("\0") for text in texts]
    arguments = [c_string(before + after), *zeros[0], *zeros[1]]
    if isinstance(value, Scalar):
        specifier, text = _printed(e, value, parse_type(printed.declared))
        arguments = [c_string(before + specifier + after), *zeros[0], text, *zeros[1]]
    e.out.line("#ifndef __SYNTHESIS__")
    e.out.line(f"printf({', '.join(arguments)});", place_of(op))
    e.out.line("#endif")


def _printed(e: FunctionEmitter, value: Scalar, declared: AlloType) -> tuple[str, str]:
    if isinstance(declared, (Fixed, UFixed)):
        signed = e.vendor.spell_wide(declared.bits, isinstance(declared, Fixed))
        return "%.17g", f"(({signed}){e.text(value)}).to_double() * {2.0**-declared.fracs!r}"
    if value.ctype.kind in (Kind.FLOAT, Kind.BFLOAT):
        return "%.17g", as_double(e, value)
    if declared.bits > 64:
        wide = e.vendor.spell_wide(declared.bits, value.ctype.signed)
        radix = "AC_DEC" if wide.startswith("ac_int") else "10"
        return "%s", f"(({wide}){e.text(value)}).to_string({radix}).c_str()"
    if value.ctype.signed:
        return "%lld", f"(long long){e.text(value)}"
    return "%llu", f"(unsigned long long){e.text(value)}"


HANDLERS: dict[str, Handler] = {
    "allo.stream": _stream,
    "allo.put": _put,
    "allo.get": _get,
    "allo.get_block": _get_block,
    "allo.try_put": _try_put,
    "allo.try_get": _try_get,
    "allo.empty": _empty,
    "allo.full": _full,
    "allo.assert": _assert,
    CHECK: _check,
    DEPENDENCE_CHECK: _check,
    "memref.dim": _dim,
    PRINT: _print,
}
