"""A module of core IR as one C++ file and its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.arguments import settle_index_arguments
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import BuildError
from allo.dialects.passes.arg_access import analyze_arg_load_store
from allo.dialects.text.quoting import include

from ..csim.simulation import Simulation
from ..external import External, functions_of
from ..text.ctype import ctype_of
from ..text.writer import Writer
from ..vendors.tables import Vendor
from . import control as emit_control
from . import float as emit_float
from . import index as emit_index
from . import integer as emit_integer
from . import memory as emit_memory
from . import stream as emit_stream
from .emitter import FunctionEmitter, Handler, ModuleContext, value_of
from .fifo import fifo_depth, stream_type
from .memory import declare_globals, element_ctype, global_text
from .pragmas import array_pragmas, function_heads, function_pragmas
from .signature import Param, Signature, read_signature
from .stream import stream_parameter
from .values import Buffer, Scalar, StreamRef

HANDLERS: dict[str, Handler] = {
    **emit_integer.HANDLERS,
    **emit_float.HANDLERS,
    **emit_index.HANDLERS,
    **emit_memory.HANDLERS,
    **emit_control.HANDLERS,
    **emit_stream.HANDLERS,
}


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """How the top function looks.

    Attributes:
        flat_top: its arrays are pointers with linear subscripts.
        interfaces: which interface pragmas to print: ``m_axi``, ``s_axilite``, or none.
        extern_c: wrap the top function in ``extern "C"``.
        simulate: print for csim: regions run their kernels side by side.
    """

    flat_top: bool = False
    interfaces: str = ""
    extern_c: bool = False
    simulate: bool = False


@dataclass(frozen=True, slots=True)
class HlsCode:
    """What was emitted.

    Attributes:
        kernel: text of ``kernel.cpp``.
        header: text of ``kernel.h``, declaring the top function.
        top: the C++ signature of the top function.
        parameters: the C++ names of its parameters, in order.
        simulation: what a run for csim may report; None in a vendor's text.
        stack_bytes: upper bound of the bytes of local arrays of one call of the top function.
    """

    kernel: str
    header: str
    top: Signature
    parameters: tuple[str, ...]
    stack_bytes: int
    simulation: Simulation | None = None


def emit_module(
    module: ir.Module,
    top: str,
    vendor: Vendor,
    options: EmitOptions | None = None,
    externals: Sequence[External] = (),
) -> HlsCode:
    """Print a module of core IR as C++.

    Raises:
        BuildError: the module has no function ``top``, or an external function no file.
        UnsupportedOpError: an operation has no C++; it names the source line.
    """
    options = options or EmitOptions()
    functions = _functions(module)
    if top not in functions:
        raise BuildError(
            f"The module has no function named {top}.",
            help=f"its functions: {', '.join(functions) or 'none'}.",
        )
    flat = _flat_functions(functions, top, vendor) if options.flat_top else set()
    settle_index_arguments(module)
    signatures = {name: read_signature(op, flat=name in flat) for name, op in functions.items()}
    for name, cpp_name in functions_of(externals, functions).items():
        signatures[name] = replace(signatures[name], name=cpp_name)
    context = ModuleContext(
        vendor,
        HANDLERS,
        signatures,
        _globals(module),
        access=analyze_arg_load_store(module),
        simulation=Simulation(top, place_of(functions[top])) if options.simulate else None,
    )
    _classify_globals(context, functions)
    body = Writer()
    parameters = _definitions(context, body, functions, top, options)
    if vendor.pragmas == "intel" and not options.simulate:
        _launcher(context, body, signatures[top], parameters)
    kernel = _file(context, body, externals)
    return HlsCode(
        kernel,
        _header(context, signatures[top], options),
        signatures[top],
        parameters,
        sum(_array_bytes(op) for op in functions.values()),
        context.simulation,
    )


def _definitions(
    context: ModuleContext,
    body: Writer,
    functions: Mapping[str, ir.Operation],
    top: str,
    options: EmitOptions,
) -> tuple[str, ...]:
    """Define every function that is not external; the parameters of the top."""
    signatures = context.signatures
    parameters: tuple[str, ...] = ()
    defined = {name for name, signature in signatures.items() if signature.is_external}
    for name, op in functions.items():
        if signatures[name].is_external:
            continue
        for callee in sorted(_callees(op) - defined - {name}):
            _declare(context, body, signatures[callee])
        wrapped = options.extern_c and name == top
        if wrapped:
            body.line('extern "C" {')
            body.line()
        names = _function(context, body, signatures[name], options, is_top=name == top)
        if wrapped:
            body.line('} // extern "C"')
            body.line()
        defined.add(name)
        parameters = names if name == top else parameters
    return parameters


def _functions(module: ir.Module) -> dict[str, ir.Operation]:
    return {
        op.operation.attributes["sym_name"].value: op.operation  # type: ignore[attr-defined]
        for op in module.body.operations
        if op.operation.name == "func.func"
    }


def _globals(module: ir.Module) -> dict[str, ir.Operation]:
    return {
        op.operation.attributes["sym_name"].value: op.operation  # type: ignore[attr-defined]
        for op in module.body.operations
        if op.operation.name == "memref.global"
    }


def _callees(op: ir.Operation) -> set[str]:
    return {
        ir.FlatSymbolRefAttr(inner.attributes["callee"]).value
        for inner in walk(op)
        if inner.name == "func.call"
    }


def _flat_functions(functions: dict[str, ir.Operation], top: str, vendor: Vendor) -> set[str]:
    """The top function, and where regions are task graphs what takes its ports from regions."""
    flat, waiting = set(), [top]
    while waiting:
        name = waiting.pop()
        if name in flat or not len(functions[name].regions[0].blocks):
            continue
        flat.add(name)
        if vendor.tasks and "region" in functions[name].attributes:
            waiting += sorted(_callees(functions[name]))
    return flat


def _classify_globals(context: ModuleContext, functions: dict[str, ir.Operation]) -> None:
    """Which constants are passed to functions, which variables several functions share."""
    users: dict[str, set[str]] = {}
    for function, op in functions.items():
        for inner in walk(op):
            if inner.name != "memref.get_global":
                continue
            symbol = ir.FlatSymbolRefAttr(inner.attributes["name"]).value
            users.setdefault(symbol, set()).add(function)
            if any(use.owner.name == "func.call" for use in inner.results[0].uses):
                context.passed_globals.add(symbol)
    for symbol, names in users.items():
        if len(names) > 1 and "constant" not in context.globals[symbol].attributes:
            context.shared_globals[symbol] = f"shared_{symbol.lstrip('_')}"


# --- one function -----------------------------------------------------------------


def _function(
    context: ModuleContext,
    out: Writer,
    signature: Signature,
    options: EmitOptions,
    *,
    is_top: bool,
) -> tuple[str, ...]:
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


def interface_pragmas(signature: Signature, names: list[str], kinds: str) -> list[str]:
    """One AXI master bundle for each array of the top function; registers for the rest if asked."""
    lines, bundle = [], 0
    for param, name in zip(signature.params, names, strict=True):
        if param.is_array or (param.role == "result" and not param.is_stream):
            lines.append(
                f"#pragma HLS interface m_axi port={name} offset=slave bundle=gmem{bundle}"
            )
            bundle += 1
        if "s_axilite" in kinds:
            lines.append(f"#pragma HLS interface s_axilite port={name} bundle=control")
    if "s_axilite" in kinds:
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
    flat = e.signature.flat or param.is_dynamic
    buffer = Buffer(name, param.shape, param.ctype, flat=flat, boxed=True)
    e.values[argument] = buffer
    return _array_port(e, param, buffer)


def _array_port(e: FunctionEmitter, param: Param, buffer: Buffer) -> str:
    if e.signature.flat:
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
    returned = _returned_local(e.signature.op, position)
    if fifo_depth(e.vendor, param.memref) is not None:
        fifo = StreamRef(name, param.ctype)
        e.results.append(fifo)
        if returned is not None:
            e.values[returned] = fifo
        return f"{stream_type(e, param.ctype, ())}& {name}"
    buffer = Buffer(name, param.shape, param.ctype, flat=e.signature.flat, boxed=True)
    e.results.append(buffer)
    if returned is not None:
        e.values[returned] = buffer
    return _array_port(e, param, buffer)


def _result_sign(e: FunctionEmitter) -> str:
    return "&" if e.vendor.reference_results else "*"


def _terminator(op: ir.Operation) -> ir.Operation:
    return list(op.regions[0].blocks[0].operations)[-1].operation


def _returned_local(op: ir.Operation, position: int) -> ir.Value | None:
    """The array that can live in the result parameter: made here, at top level, returned once."""
    operands = list(_terminator(op).operands)
    value = operands[position]
    if value in operands[:position] or not isinstance(value, ir.OpResult):
        return None
    owner = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    if owner.name not in ("memref.alloc", "func.call") or owner.parent != op:
        return None
    return value


def _result_name(op: ir.Operation, position: int) -> str | None:
    value = list(_terminator(op).operands)[position]
    if not isinstance(value.type, ir.MemRefType) or not isinstance(value, ir.OpResult):
        return None
    attributes = value.owner.attributes
    if value.owner.name not in ("memref.alloc", "func.call") or "name" not in attributes:
        return None
    return attributes["name"].value  # type: ignore[attr-defined]


def _port_pragmas(vendor: Vendor, name: str, param: Param) -> list[str]:
    """Partition and storage of an array parameter; a FIFO has neither."""
    if param.memref is None or fifo_depth(vendor, param.memref) is not None:
        return []
    return array_pragmas(vendor, name, param.memref)


def _declare(context: ModuleContext, out: Writer, signature: Signature) -> None:
    """A forward declaration, for a function called before its text."""
    emitter = FunctionEmitter(context, Writer(), signature)
    out.line(f"void {signature.name}({', '.join(_types(emitter, signature))});")
    out.line()


def _types(e: FunctionEmitter, signature: Signature) -> list[str]:
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
        elif signature.flat and not (param.shape is None and e.vendor.reference_results):
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


def _launcher(context: ModuleContext, out: Writer, top: Signature, names: tuple[str, ...]) -> None:
    """The SYCL side: one task that calls the top function on device pointers."""
    emitter = FunctionEmitter(context, Writer(), top)
    declared, arguments = ["sycl::queue &queue"], []
    for param, name in zip(top.params, names, strict=True):
        kind, by_value = emitter.spell(param.ctype), param.shape is None and param.role == "in"
        declared.append(f"{kind} {name}" if by_value else f"{kind} *{name}")
        dims = "".join(f"[{extent}]" for extent in (param.shape or ())[1:])
        arguments.append(f"({kind} (*){dims}){name}" if dims else name)
    out.line("class Top;")
    out.line()
    with (
        out.block(f"void launch_{top.name}({', '.join(declared)})"),
        out.block("queue.submit([&](sycl::handler &h)", tail="}).wait();"),
        out.block("h.single_task<Top>([=]() [[intel::kernel_args_restrict]]", tail="});"),
    ):
        out.line(f"{top.name}({', '.join(arguments)});")
    out.line()


# --- the file ---------------------------------------------------------------------

_BANNER = (
    "//===----------------------------------------------------------------------===//",
    "// Copyright Allo authors. All Rights Reserved.",
    "// SPDX-License-Identifier: Apache-2.0",
    "// Generated by Allo. Comments behind statements name their Python line.",
    "//===----------------------------------------------------------------------===//",
)


def _file(context: ModuleContext, body: Writer, externals: Sequence[External]) -> str:
    out = Writer()
    for line in _BANNER:
        out.line(line)
    for header in context.vendor.headers:
        out.line(f"#include <{header}>")
    for external in externals:
        here = context.simulation is None
        out.line(f"#include {include(external.name if here else external.path)}")
    if context.vendor.namespace_std:
        out.line("using namespace std;")
    out.line()
    text = out.text()
    if context.helpers:
        text += context.helpers.text(context.vendor) + "\n"
    text += _shared(context)
    return text + body.text().rstrip("\n") + "\n"


def _shared(context: ModuleContext) -> str:
    out = Writer()
    for symbol, name in context.shared_globals.items():
        definition = context.globals[symbol]
        memref = ir.MemRefType(definition.attributes["type"].value)  # type: ignore[attr-defined]
        emitter = FunctionEmitter(context, out, next(iter(context.signatures.values())))
        ctype = element_ctype(emitter, definition, memref)
        buffer = Buffer(name, tuple(memref.shape), ctype)
        out.line(global_text(emitter, definition, memref, buffer, const=False))
    return out.text() if context.shared_globals else ""


def _header(context: ModuleContext, top: Signature, options: EmitOptions) -> str:
    emitter = FunctionEmitter(context, Writer(), top)
    out = Writer()
    for line in _BANNER:
        out.line(line)
    out.line("#ifndef KERNEL_H")
    out.line("#define KERNEL_H")
    out.line()
    for header in context.vendor.headers:
        out.line(f"#include <{header}>")
    out.line()
    if options.extern_c:
        out.line('extern "C" {')
    out.line(f"void {top.name}({', '.join(_types(emitter, top))});")
    if options.extern_c:
        out.line("}")
    out.line()
    out.line("#endif // KERNEL_H")
    return out.text()


def _array_bytes(op: ir.Operation) -> int:
    """``sizeof`` of the local arrays of a function, results of calls included."""
    total = 0
    for inner in walk(op):
        if inner.name not in ("memref.alloc", "memref.alloca", "memref.subview", "func.call"):
            continue
        for result in inner.results:
            if isinstance(result.type, ir.MemRefType):
                memref = ir.MemRefType(result.type)
                total += prod(memref.shape) * _element_bytes(memref.element_type)
    return total


def _element_bytes(element: ir.Type) -> int:
    width = ctype_of(element).bits
    return -(-width // 64) * 8 if width > 32 else 4
