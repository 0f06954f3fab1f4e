"""One function of the core IR as C++: its head, its ports and their pragmas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.interfaces.placements import placements_of
from allo.dialects.streams.endless import ENDLESS

from ..process_copies import instantiated
from ..spread.layout import spread_positions
from ..text.writer import Writer
from ..vendors.tables import Vendor
from .emitter import FunctionEmitter, ModuleContext, value_of
from .fifo import fifo_depth, stream_type
from .flat_arguments import returned_local, terminator
from .operations.memory import declare_globals
from .operations.stream import note_port, stream_parameter
from .pragmas import array_pragmas, function_heads, function_pragmas, instance_pragmas
from .signature import Param, Signature
from .values import Buffer, Scalar, StreamRef


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """How the top function looks.

    Attributes:
        flat_top: its arrays are pointers with linear subscripts.
        interfaces: which interface pragmas to print: ``m_axi``, ``s_axilite``, or none.
        extern_c: wrap the top function in ``extern "C"``.
        simulate: print for csim: regions run their kernels side by side.
        flush: say that subnormal floats are zeros.
    """

    flat_top: bool = False
    interfaces: str = ""
    extern_c: bool = False
    simulate: bool = False
    flush: bool = False


def emit_function(
    context: ModuleContext,
    out: Writer,
    signature: Signature,
    options: EmitOptions,
    *,
    is_top: bool,
) -> tuple[str, ...]:
    """Print one function; the C++ names of its parameters."""
    op = signature.op
    entry = op.regions[0].blocks[0]
    emitter = FunctionEmitter(context, out, signature)
    declared: list[str] = []
    names: list[str] = []
    pragmas: list[str] = []
    for param, argument in zip(signature.arguments, entry.arguments, strict=True):
        name = emitter.names.of(param.name)
        names.append(name)
        declared.append(_parameter(emitter, param, name, argument))
        if is_top and param.is_stream and context.simulation is not None:
            note_port(emitter, param, argument)
        if not signature.flat:
            pragmas += _port_pragmas(context.vendor, name, param)
    for position, param in enumerate(signature.results):
        name = emitter.names.of(_result_name(op, position))
        names.append(name)
        declared.append(_result(emitter, param, name, position))
        if not signature.flat:
            pragmas += _port_pragmas(context.vendor, name, param)
    if is_top:
        out.line("/// This is top function.")
    for line in function_heads(context.vendor, op, is_top):
        out.line(line)
    out.line(f"void {signature.name}(")
    with out.indented():
        for position, text in enumerate(declared, start=1):
            out.line(text + ("," if position < len(declared) else ""))
    with out.block(")", place_of(op)):
        if is_top and options.interfaces:
            for line in interface_pragmas(signature, names, options.interfaces):
                out.line(line)
        pragmas += instance_pragmas(context.vendor, [names[n] for n in instantiated(op)])
        for line in [*function_pragmas(context.vendor, op), *pragmas]:
            out.line(line)
        uses = [inner for inner in walk(op) if inner.name == "memref.get_global"]
        declare_globals(emitter, uses)
        concurrent = context.simulation is not None or context.vendor.tasks
        if concurrent and "region" in op.attributes:
            emitter.region = []
        emitter.block(entry)
    out.line()
    return tuple(names)


_BURSTS = " max_read_burst_length=64 max_write_burst_length=64"
"""Of ports of 512 bits: 64 words are the 4,096 bytes that a burst may have."""


def interface_pragmas(signature: Signature, names: list[str], kinds: str) -> list[str]:
    """One AXI master bundle for each array of the top function, or channel; an AXI stream for each stream.

    The rest has registers if that is asked. A region without an end has no start either.
    """
    lines, bundle = [], 0
    spread = spread_positions(signature.op)
    placed = placements_of(signature.op) if kinds == "m_axi" else {}
    for position, (param, name) in enumerate(zip(signature.params, names, strict=True)):
        if param.is_stream:
            lines.append(f"#pragma HLS interface axis port={name}")
            continue
        if param.is_array or (param.role == "result" and not param.is_stream):
            where = placed.get(param.name)
            group = where.bundle if where and where.outside else f"gmem{bundle}"
            line = f"#pragma HLS interface m_axi port={name} offset=slave bundle={group}"
            lines.append(line + (_BURSTS if position in spread else ""))
            bundle += 1
        if "s_axilite" in kinds:
            lines.append(f"#pragma HLS interface s_axilite port={name} bundle=control")
    if ENDLESS in signature.op.attributes:
        lines.append("#pragma HLS interface ap_ctrl_none port=return")
    elif "s_axilite" in kinds:
        lines.append("#pragma HLS interface s_axilite port=return bundle=control")
    return lines


def _parameter(e: FunctionEmitter, param: Param, name: str, argument: ir.Value) -> str:
    if param.is_stream:
        block = param.declared.shape  # type: ignore[attr-defined]
        e.values[argument] = StreamRef(name, param.ctype, tuple(block))
        return f"{stream_parameter(e, param.ctype, tuple(block), argument)} {name}"
    if fifo_depth(e.vendor, param.memref) is not None:
        e.values[argument] = StreamRef(name, param.ctype)
        return f"{stream_type(e, param.ctype, ())}& {name}"
    if param.shape is None:
        value = value_of(e, name, param.ctype)
        e.values[argument] = replace(value, low=param.bounds[0], high=param.bounds[1])
        return f"{e.spell(param.ctype)} {name}"
    flat = e.signature.flat or param.flat or param.is_dynamic
    buffer = Buffer(name, param.shape, param.ctype, flat=flat, boxed=True)
    e.values[argument] = buffer
    return _array_port(e, param, buffer)


def _array_port(e: FunctionEmitter, param: Param, buffer: Buffer) -> str:
    if e.signature.flat or param.flat:
        count = prod(buffer.shape)
        element = e.spell(param.ctype)
        return e.vendor.flat_port.format(element=element, name=buffer.name, count=count)
    return f"{e.spell(param.ctype)} {buffer.declarator()}"


def _result(e: FunctionEmitter, param: Param, name: str, position: int) -> str:
    if param.shape is None:
        e.results.append(Scalar(name, param.ctype))
        if e.signature.flat and not e.vendor.reference_results:
            return e.vendor.flat_port.format(element=e.spell(param.ctype), name=name)
        return f"{e.spell(param.ctype)} {_result_sign(e)}{name}"
    returned = returned_local(e.signature.op, position)
    if fifo_depth(e.vendor, param.memref) is not None:
        fifo = StreamRef(name, param.ctype)
        e.results.append(fifo)
        if returned is not None:
            e.values[returned] = fifo
        return f"{stream_type(e, param.ctype, ())}& {name}"
    flat = e.signature.flat or param.flat
    buffer = Buffer(name, param.shape, param.ctype, flat=flat, boxed=True)
    e.results.append(buffer)
    if returned is not None:
        e.values[returned] = buffer
    return _array_port(e, param, buffer)


def _result_sign(e: FunctionEmitter) -> str:
    return "&" if e.vendor.reference_results else "*"


def _result_name(op: ir.Operation, position: int) -> str | None:
    value = list(terminator(op).operands)[position]
    if not isinstance(value.type, ir.MemRefType) or not isinstance(value, ir.OpResult):
        return None
    attributes = value.owner.attributes
    if value.owner.name not in ("memref.alloc", "func.call") or "name" not in attributes:
        return None
    found: str | None = attributes["name"].value
    return found


def _port_pragmas(vendor: Vendor, name: str, param: Param) -> list[str]:
    """Partition and storage of an array parameter; a FIFO and a flat array have neither."""
    if param.memref is None or param.flat or fifo_depth(vendor, param.memref) is not None:
        return []
    return array_pragmas(vendor, name, param.memref)


def declare_function(context: ModuleContext, out: Writer, signature: Signature) -> None:
    """A forward declaration, for a function called before its text."""
    emitter = FunctionEmitter(context, Writer(), signature)
    out.line(f"void {signature.name}({', '.join(parameter_types(emitter, signature))});")
    out.line()


def parameter_types(e: FunctionEmitter, signature: Signature) -> list[str]:
    """The types of a declaration's parameters."""
    texts = []
    blocks = signature.op.regions[0].blocks
    arguments = list(blocks[0].arguments) if len(blocks) else []
    for position, param in enumerate(signature.params):
        kind = e.spell(param.ctype)
        if param.is_stream:
            argument = arguments[position] if position < len(arguments) else None
            shape = param.declared.shape  # type: ignore[attr-defined]
            texts.append(stream_parameter(e, param.ctype, shape, argument))
        elif fifo_depth(e.vendor, param.memref) is not None:
            texts.append(f"{stream_type(e, param.ctype, ())}&")
        elif param.shape is None and param.role == "in":
            texts.append(kind)
        elif (signature.flat or param.flat) and not (
            param.shape is None and e.vendor.reference_results
        ):
            count = prod(param.shape or (1,))
            port = e.vendor.flat_port.format(element=kind, name="", count=count)
            texts.append(port.strip())
        elif param.shape is None:
            texts.append(f"{kind} {_result_sign(e)}")
        elif param.is_dynamic:
            texts.append(f"{kind} *")
        else:
            texts.append(kind + " " + "".join(f"[{n}]" for n in param.shape or (1,)))
    return texts
