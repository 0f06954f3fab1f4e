"""A module of core IR as one C++ file and its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.arguments import settle_index_arguments
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of, symbol
from allo.dialects.diagnostics import BuildError
from allo.dialects.passes.arg_access import analyze_arg_load_store
from allo.dialects.text.quoting import include

from ..csim.simulation import Simulation
from ..external import External, external_functions
from ..split_arguments import split_counts
from ..spread.layout import Spread, spreads_of
from ..text.ctype import ctype_of
from ..text.writer import Writer
from ..vendors.tables import Vendor
from ..vendors.widths import width_define
from .emitter import FunctionEmitter, ModuleContext
from .flat_arguments import flat_positions, mark_flat_arguments
from .free_running import TASK_HEADER, start_first, uses_tasks
from .function import EmitOptions, declare_function, emit_function, parameter_types
from .operations import HANDLERS
from .operations.memory import global_text, table_ctype
from .signature import Param, Signature, read_param, read_signature
from .values import Buffer


@dataclass(frozen=True, slots=True)
class Whole:
    """One parameter of the top function as its caller has it.

    Attributes:
        param: the C++ parameter, or the first of those that share its elements.
        names: the C++ names of these parameters, in the order of the elements.
        first: the position of the first of them.
        spread: how its lines lie on several channels, one of these parameters each; else None.
    """

    param: Param
    names: tuple[str, ...]
    first: int
    spread: Spread | None = None

    @property
    def part_count(self) -> int:
        """Elements in each of the C++ parameters."""
        return prod(self.param.shape or (1,))

    @property
    def count(self) -> int:
        """Elements of the array as its caller has it."""
        return self.part_count if self.spread else self.part_count * len(self.names)


@dataclass(frozen=True, slots=True)
class HlsCode:
    """What was emitted.

    Attributes:
        kernel: text of ``kernel.cpp``.
        header: text of ``kernel.h``, declaring the top function.
        top: the C++ signature of the top function.
        wholes: its parameters as a caller has them: an array in several memories is one.
        simulation: what a run for csim may report; None in a vendor's text.
        stack_bytes: upper bound of the bytes of local arrays of one call of the top function.
    """

    kernel: str
    header: str
    top: Signature
    wholes: tuple[Whole, ...]
    stack_bytes: int
    simulation: Simulation | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The C++ names of the parameters of the top function, in order."""
        return tuple(name for whole in self.wholes for name in whole.names)


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
    nested = options.flat_top and not vendor.tasks
    if nested:
        mark_flat_arguments(module, top)
    functions = functions_of(module)
    if top not in functions:
        raise BuildError(
            f"The module has no function named {top}.",
            help=f"its functions: {', '.join(functions) or 'none'}.",
        )
    flat = _flat_functions(functions, top, vendor) if options.flat_top else set()
    settle_index_arguments(module)
    if not options.simulate:
        start_first(vendor, functions)
    signatures = {
        name: read_signature(op, flat=name in flat, below=flat_positions(op) if nested else ())
        for name, op in functions.items()
    }
    for name, cpp_name in external_functions(externals, functions).items():
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
    define = "" if options.simulate else width_define(module, vendor)
    headers = vendor.headers
    if not options.simulate and uses_tasks(vendor, functions):
        headers = (*headers, TASK_HEADER)
    kernel = _file(
        context, body, externals, headers, [*(_FLUSHES if options.flush else ()), define]
    )
    return HlsCode(
        kernel,
        _header(context, signatures[top], options, define),
        signatures[top],
        _wholes(signatures[top], parameters),
        sum(_array_bytes(op) for op in functions.values()),
        context.simulation,
    )


def _wholes(top: Signature, names: Sequence[str]) -> tuple[Whole, ...]:
    counts = split_counts(top.op, len(top.arguments))
    spreads = spreads_of(top.op)
    found, first = [], 0
    for position, count in enumerate((*counts, *(1 for _ in top.results))):
        spread, param = spreads.get(position), top.params[first]
        if spread is not None:
            letter = "s" if spread.is_signed else "u"
            param = read_param(top.op, spread.name, spread.kind, spread.declared, letter)
        found.append(Whole(param, tuple(names[first : first + count]), first, spread))
        first += count
    return tuple(found)


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
            declare_function(context, body, signatures[callee])
        wrapped = options.extern_c and name == top
        if wrapped:
            body.line('extern "C" {')
            body.line()
        names = emit_function(context, body, signatures[name], options, is_top=name == top)
        if wrapped:
            body.line('} // extern "C"')
            body.line()
        defined.add(name)
        parameters = names if name == top else parameters
    return parameters


def _globals(module: ir.Module) -> dict[str, ir.Operation]:
    return {
        symbol(op): op.operation
        for op in module.body.operations
        if op.operation.name == "memref.global"
    }


def _callees(op: ir.Operation) -> set[str]:
    return {callee_of(inner) for inner in walk(op) if inner.name == "func.call"}


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
            if _is_passed(inner.results[0]):
                context.passed_globals.add(symbol)
    for symbol, names in users.items():
        if len(names) > 1 and "constant" not in context.globals[symbol].attributes:
            context.shared_globals[symbol] = f"shared_{symbol.lstrip('_')}"


def _is_passed(value: ir.Value) -> bool:
    """Whether an array, or a part of it, is an argument of a call."""
    users = [use.owner for use in value.uses]
    views = [user for user in users if user.name in ("memref.subview", "memref.cast")]
    return any(user.name == "func.call" for user in users) or any(
        _is_passed(view.results[0]) for view in views
    )


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


_FLUSHES = (
    '// Built with subnormals="flush": a subnormal float operand or result counts as a zero of its sign,',
    "// as in the vendor's float cores. Only the text of Allo's own csim writes that out.",
)


def _file(
    context: ModuleContext,
    body: Writer,
    externals: Sequence[External],
    headers: Sequence[str],
    lines: Sequence[str],
) -> str:
    out = Writer()
    for line in (*_BANNER, *filter(None, lines)):
        out.line(line)
    for header in headers:
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
    for global_name, name in context.shared_globals.items():
        definition = context.globals[global_name]
        memref = ir.MemRefType(definition.attributes["type"].value)
        emitter = FunctionEmitter(context, out, next(iter(context.signatures.values())))
        ctype = table_ctype(emitter, definition, memref)
        buffer = Buffer(name, tuple(memref.shape), ctype)
        out.line(global_text(emitter, definition, memref, buffer, const=False))
    return out.text() if context.shared_globals else ""


def _header(context: ModuleContext, top: Signature, options: EmitOptions, define: str) -> str:
    emitter = FunctionEmitter(context, Writer(), top)
    out = Writer()
    for line in _BANNER:
        out.line(line)
    out.line("#ifndef KERNEL_H")
    out.line("#define KERNEL_H")
    out.line()
    if define:
        out.line(define)
    for header in context.vendor.headers:
        out.line(f"#include <{header}>")
    out.line()
    if options.extern_c:
        out.line('extern "C" {')
    out.line(f"void {top.name}({', '.join(parameter_types(emitter, top))});")
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
