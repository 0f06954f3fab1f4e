"""Loops, branches, calls and returns."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.asserted import assertions_of, marks_of, numbers_of
from allo.dialects.affine.loops import walk
from allo.dialects.core.effects import STORES
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.streams.endless import ENDLESS, is_endless, surely_waits

from ...text import literals
from ...text.ctype import Bounds, CType, ctype_of, index_ctype
from ...text.index import IndexText, alike, index_of
from ..attributes import has, integer, string
from ..emitter import FunctionEmitter, Handler, Started, value_of
from ..fifo import declare_fifo, fifo_depth
from ..free_running import declare_task, is_free_running
from ..pragmas import array_pragmas, dependence_pragmas, loop_heads, loop_pragmas
from ..signature import Param, Signature
from ..values import Buffer, Scalar, StreamRef
from .memory import assign, copy_array

_FEW_ITERATIONS = 1 << 16


def _nested(name: str, terms: list[IndexText]) -> str:
    """``min(a, min(b, c))``."""
    text = terms[-1].text
    for term in reversed(terms[:-1]):
        text = f"{name}({term.text}, {text})"
    return text


def _affine_for(e: FunctionEmitter, op: ir.Operation) -> None:
    sizes = list(op.attributes["operandSegmentSizes"])
    operands = [e.scalar(v) for v in op.operands]
    lower_map = op.attributes["lowerBoundMap"].value
    upper_map = op.attributes["upperBoundMap"].value
    lower = e.affine.results(lower_map, operands[: sizes[0]])
    upper = e.affine.results(upper_map, operands[sizes[0] : sizes[0] + sizes[1]])
    step = integer(op, "step") or 1
    lows = [t.low for t in lower if t.low is not None]
    highs = [t.high for t in upper if t.high is not None]
    low = max(lows) if lows else None
    high = min(highs) - 1 if highs else None
    iterations = (_nested("max", alike(lower)), _nested("min", alike(upper)), literals.index(step))
    _loop(e, op, iterations, (low, high), step)


def _scf_for(e: FunctionEmitter, op: ir.Operation) -> None:
    lower, upper, step = (index_of(e.scalar(v)) for v in list(op.operands)[:3])
    high = None if upper.high is None else upper.high - 1
    forward = "" if step.low is not None and step.low > 0 else f"{step.text} > 0 && "
    _loop(e, op, (lower.text, upper.text, step.text), (lower.low, high), step.high, forward)


def _loop(
    e: FunctionEmitter,
    op: ir.Operation,
    iterations: tuple[str, str, str],
    bounds: Bounds,
    stride: int | None,
    forward: str = "",
) -> None:
    if op.results:
        raise e.unsupported(op, "the loop carries values")
    lower, upper, step = iterations
    iv = e.names.of(string(op, "loop_name") or "i")
    band = string(op, "op_name")
    label = e.names.of(f"l_{band}_{iv}" if band else f"l_{iv}")
    increment = f"{iv}++" if step == "1" else f"{iv} += {step}"
    labelled = "" if e.vendor.pragmas == "intel" else f"{label}: "  # attributes stand at the loop
    # The iterator goes one step past its last value.
    low, high = bounds
    end = None if high is None or stride is None else high + stride
    ctype = index_ctype((low, end))
    head = f"{labelled}for ({e.spell(ctype)} {iv} = {lower}; {forward}{iv} < {upper}; {increment})"
    body = op.regions[0].blocks[0]
    for line in loop_heads(e.vendor, op):
        e.out.line(line)
    with e.out.block(head, place_of(op)):
        for pragma in (*loop_pragmas(e.vendor, op), *_dependence_pragmas(e, op)):
            e.out.outdented(pragma)
        e.values[body.arguments[0]] = Scalar(iv, ctype, None, ctype.bits, *bounds)
        if not _is_short(body, *bounds):
            _poll(e)
        e.block(body)


def _dependence_pragmas(e: FunctionEmitter, op: ir.Operation) -> list[str]:
    """The dependences that the user asserts of a loop."""
    lines: list[str] = []
    for asserted in assertions_of(marks_of(op)):
        access = next((o for o in walk(op) if asserted.number in numbers_of(o)), None)
        if access is not None:
            buffer = e.values[access.operands[STORES.get(access.name, 0)]]
            if not isinstance(buffer, Buffer):
                raise TypeError("a load or store has an array")
            lines += dependence_pragmas(e.vendor, buffer.name, asserted)
    return lines


def _is_short(body: ir.Block, low: int | None, high: int | None) -> bool:
    """Whether a loop ends in no time: an innermost one of few iterations."""
    inner = any(op.operation.regions or op.operation.name == "func.call" for op in body.operations)
    return not inner and low is not None and high is not None and high - low < _FEW_ITERATIONS


def _poll(e: FunctionEmitter) -> None:
    """For csim: end here when the caller wants the run to end."""
    if e.context.simulation is not None:
        e.out.line("allo_csim::poll();")


def _while(e: FunctionEmitter, op: ir.Operation) -> None:
    if op.results or op.operands:
        raise e.unsupported(op, "the loop carries values")
    name = string(op, "loop_name")
    label = f"{e.names.of(f'l_{name}')}: " if name else ""
    for line in loop_heads(e.vendor, op):
        e.out.line(line)
    with e.out.block(f"{label}while (true)", place_of(op)):
        for pragma in loop_pragmas(e.vendor, op):
            e.out.outdented(pragma)
        _poll(e)
        if not is_endless(op):
            e.block(op.regions[0].blocks[0])
        elif e.context.simulation is not None and not surely_waits(op):
            e.out.line("allo_csim::turn();")
        e.block(op.regions[1].blocks[0])


def _condition(e: FunctionEmitter, op: ir.Operation) -> None:
    e.out.line(f"if (!({e.text(e.scalar(op.operands[0]))})) break;", place_of(op))


def _affine_if(e: FunctionEmitter, op: ir.Operation) -> None:
    operands = [e.scalar(v) for v in op.operands]
    _branch(e, op, e.affine.condition(op.attributes["condition"], operands))


def _scf_if(e: FunctionEmitter, op: ir.Operation) -> None:
    _branch(e, op, e.text(e.scalar(op.operands[0])))


def _branch(e: FunctionEmitter, op: ir.Operation, condition: str) -> None:
    results = []
    for result in op.results:
        ctype = _result_ctype(e, op, result)
        name = e.names.fresh()
        e.out.line(f"{e.spell(ctype)} {name};", place_of(op))
        results.append(Scalar(name, ctype))
    with e.out.block(f"if ({condition})", place_of(op)):
        _branch_body(e, op.regions[0].blocks[0], results)
    if len(op.regions[1].blocks) and _has_body(op.regions[1].blocks[0]):
        with e.out.block("else", place_of(op)):
            _branch_body(e, op.regions[1].blocks[0], results)
    for result, scalar in zip(op.results, results, strict=True):
        e.values[result] = scalar


def _result_ctype(e: FunctionEmitter, op: ir.Operation, result: ir.Value) -> CType:
    try:
        return ctype_of(result.type)
    except TypeError as error:
        raise e.unsupported(op, str(error)) from error


def _has_body(block: ir.Block) -> bool:
    operations = list(block.operations)
    return len(operations) > 1 or bool(operations and operations[0].operation.operands)


def _branch_body(e: FunctionEmitter, block: ir.Block, results: list[Scalar]) -> None:
    operations = [op.operation for op in block.operations]
    for op in operations[:-1]:
        e.operation(op)
    if not operations:
        return
    for target, value in zip(results, operations[-1].operands, strict=True):
        assign(e, target.text, e.scalar(value), target.ctype, place_of(operations[-1]))


def _yield(e: FunctionEmitter, op: ir.Operation) -> None:
    if op.operands:
        raise e.unsupported(op, "it carries values")


# --- calls ------------------------------------------------------------------------


def _call(e: FunctionEmitter, op: ir.Operation) -> None:
    callee = callee_of(op)
    signature = e.context.signatures[callee]
    place = place_of(op)
    access = e.context.access.get(callee, [])
    copies: list[tuple[Buffer, Buffer]] = []
    arguments = [
        _argument(e, op, value, param, access[position] if access else "both", copies)
        for position, (value, param) in enumerate(
            zip(op.operands, signature.arguments, strict=True)
        )
    ]
    later: list[tuple[ir.Value, Scalar]] = []
    for result, param in zip(op.results, signature.results, strict=True):
        if param.is_array:
            arguments.append(_result_array(e, op, result, param))
            continue
        name = e.names.fresh()
        e.out.line(f"{e.spell(param.ctype)} {name};", place)
        arguments.append(name if e.vendor.reference_results else f"&{name}")
        later.append((result, value_of(e, name, param.ctype)))
    call = f"{signature.name}({', '.join(arguments)});"
    if e.region is not None and has(signature.op, "io"):
        finish_region(e)
    if e.region is not None and not has(signature.op, "io"):
        _process(e, op, signature, call)
    elif is_free_running(e, signature):
        declare_task(e, op, signature, call)
    else:
        e.out.line(call, place)
    for source, target in copies:
        copy_array(e, source, target, place)
    e.values.update(later)


def _process(e: FunctionEmitter, op: ir.Operation, signature: Signature, call: str) -> None:
    """Keep a kernel call for the scheduler of csim, or for a chain of task invocations."""
    simulation = e.context.simulation
    if e.region is None:
        return
    number = 0 if simulation is None else simulation.add_call(op, signature.op, place_of(op))
    endless = "region" in e.signature.op.attributes and has(signature.op, ENDLESS)
    e.region.append(Started(number, call, place_of(op), endless))


def finish_region(e: FunctionEmitter) -> None:
    """Print the kernel calls kept so far as processes that run to their end side by side."""
    if not e.region:
        return
    if e.vendor.tasks:
        _invoke_tasks(e, e.region)
        e.region = []
        return
    first = e.region[0].number
    head = f"allo_csim::run_region({first}, {len(e.region)}, [&](int kernel)"
    endless = [str(started.number) for started in e.region if started.endless]
    tail = f"}}, {{{', '.join(endless)}}});" if endless else "});"
    with e.out.block(head, tail=tail), e.out.block("switch (kernel)"):
        for started in e.region:
            e.out.line(f"case {started.number}: {started.call} break;", started.place)
    e.region = []


def _invoke_tasks(e: FunctionEmitter, calls: list[Started]) -> None:
    """``tapa::task().invoke(kernel, A, pipe)…;``: the calls run side by side."""
    e.out.line("tapa::task()")
    with e.out.indented():
        for position, started in enumerate(calls, start=1):
            name, arguments = started.call.removesuffix(");").split("(", 1)
            end = ";" if position == len(calls) else ""
            invoke = "invoke<tapa::detach>" if started.endless else "invoke"
            given = ", ".join(filter(None, (name, arguments)))
            e.out.line(f".{invoke}({given}){end}", started.place)


def _argument(
    e: FunctionEmitter,
    op: ir.Operation,
    value: ir.Value,
    param: Param,
    access: str,
    copies: list[tuple[Buffer, Buffer]],
) -> str:
    bound = e.values[value]
    if isinstance(bound, StreamRef):
        return bound.name
    if isinstance(bound, Scalar):
        if param.ctype.is_fixed:
            return e.fixed_point(bound, param.ctype, place_of(op))
        return e.text(bound, param.ctype)
    taken = param.flat or e.context.is_flat(op)
    if bound.flat and len(bound.shape) > 1 and not taken:
        raise _flat_argument(op, bound)
    pointer = bound.pointer()
    if pointer is None:
        bound = _gathered(e, op, bound, access, copies)
        pointer = bound.name
    if bound.ctype == param.ctype:
        return pointer
    dims = "".join(f"[{extent}]" for extent in bound.shape[1:])
    cast = f"(*){dims}" if dims else "*"
    return f"({e.spell(param.ctype)} {cast}){pointer}"


def _gathered(
    e: FunctionEmitter,
    op: ir.Operation,
    view: Buffer,
    access: str,
    copies: list[tuple[Buffer, Buffer]],
) -> Buffer:
    """A dense copy of a strided view for one call, copied back when the callee writes it."""
    local = Buffer(e.names.of(f"{view.name}_view"), view.shape, view.ctype)
    e.out.line(f"{e.spell(view.ctype)} {local.declarator()};", place_of(op))
    copy_array(e, view, local, place_of(op))
    if access != "in":
        copies.append((local, view))
    return local


def _flat_argument(op: ir.Operation, buffer: Buffer) -> UnsupportedOpError:
    return UnsupportedOpError(
        f"Failed to emit HLS code: the array {buffer.name} of {len(buffer.shape)} dimensions is a "
        "flat pointer in the top function and cannot be passed to another function.",
        place_of(op),
        help="build with wrap_io=True, which copies the arguments into local arrays.",
    )


def _result_array(e: FunctionEmitter, op: ir.Operation, result: ir.Value, param: Param) -> str:
    bound = e.values.get(result)
    if isinstance(bound, (Buffer, StreamRef)):
        return bound.name
    memref = ir.MemRefType(result.type)
    name = e.names.of(string(op, "name"))
    depth = fifo_depth(e.vendor, memref)
    if depth is not None:
        e.values[result] = declare_fifo(e, name, param.ctype, depth, place_of(op))
        return name
    buffer = Buffer(name, tuple(memref.shape), param.ctype)
    e.out.line(f"{e.spell(param.ctype)} {buffer.declarator()};", place_of(op))
    for pragma in array_pragmas(e.vendor, name, memref):
        e.out.line(pragma)
    e.values[result] = buffer
    return name if buffer.shape else f"&{name}"


def _return(e: FunctionEmitter, op: ir.Operation) -> None:
    finish_region(e)
    for position, value in enumerate(op.operands):
        target, bound = e.results[position], e.values[value]
        if isinstance(target, Scalar):
            pointed = f"(*{target.text})" if target.ctype.is_fixed else f"*{target.text}"
            pointed = target.text if e.vendor.reference_results else pointed
            assign(e, pointed, e.scalar(value), target.ctype, place_of(op))
        elif isinstance(bound, Buffer) and isinstance(target, Buffer) and bound.name != target.name:
            copy_array(e, bound, target, place_of(op))


HANDLERS: dict[str, Handler] = {
    "affine.for": _affine_for,
    "scf.for": _scf_for,
    "scf.while": _while,
    "scf.condition": _condition,
    "affine.if": _affine_if,
    "scf.if": _scf_if,
    "affine.yield": _yield,
    "scf.yield": _yield,
    "func.call": _call,
    "func.return": _return,
}
