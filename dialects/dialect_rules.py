"""What an operation of ``allo`` must keep beyond what its declaration in IRDL can say."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._mlir import ir
from .core.bounds import CHECK, DEPENDENCE_CHECK, site_of
from .core.fifos import MAKE, declared_stream, stream_of_handle
from .core.prints import PRINT, printed_of
from .diagnostics import AlloError
from .streams.space import PREFIX, parse_space
from .types import Stream, parse_type


def dialect_problems(operation: ir.Operation) -> Iterator[str]:
    """Every broken rule of an operation that MLIR accepts, as a sentence."""
    rule = _RULES.get(operation.name)
    if rule is None:
        return
    try:
        yield from rule(operation)
    except AlloError as error:
        yield f"{operation.name}: {error.message}"


def space_problem(kind: ir.Type) -> str | None:
    """What is wrong with the memory space of an array that is to be FIFOs."""
    if not isinstance(kind, ir.MemRefType) or not isinstance(kind.memory_space, ir.StringAttr):
        return None
    text = kind.memory_space.value
    space = parse_space(text)
    if space is not None and space.depth > 0:
        return None
    return (
        f'memory space "{text}" is not "{PREFIX}<depth>" or "{PREFIX}<depth>;<S or T a dimension>".'
    )


def _stream(operation: ir.Operation) -> Iterator[str]:
    declared_stream(operation)
    yield from ()


def _put(operation: ir.Operation) -> Iterator[str]:
    yield from _carries(operation, operation.operands[1].type)


def _get(operation: ir.Operation) -> Iterator[str]:
    yield from _carries(operation, operation.results[0].type)


def _scalars(operation: ir.Operation, element: ir.Type | None = None) -> Iterator[str]:
    """Operations that do not wait are of streams of scalars."""
    stream = stream_of_handle(operation.operands[0])
    if stream is None:
        yield f"the first operand of {operation.name} is the handle of no stream."
    elif stream.shape:
        yield f"{operation.name} is of a stream of blocks, {stream.element}."
    elif element is not None:
        yield from _carries(operation, element)


def _try_put(operation: ir.Operation) -> Iterator[str]:
    yield from _scalars(operation, operation.operands[1].type)


def _try_get(operation: ir.Operation) -> Iterator[str]:
    yield from _scalars(operation, operation.results[0].type)


def _get_block(operation: ir.Operation) -> Iterator[str]:
    yield from _carries(operation, operation.operands[1].type)


def _carries(operation: ir.Operation, element: ir.Type) -> Iterator[str]:
    stream = stream_of_handle(operation.operands[0])
    if stream is None:
        yield f"the first operand of {operation.name} is the handle of no stream."
    elif not _fits(stream, element):
        yield f"{operation.name} passes {element} on a stream of {stream.element}."


def _fits(stream: Stream, element: ir.Type) -> bool:
    if not isinstance(element, ir.MemRefType):
        return not stream.shape and str(element) == stream.dtype.mlir_name
    same = str(element.element_type) == stream.dtype.mlir_name
    return same and bool(stream.shape) and tuple(element.shape) == stream.shape


def _check_bounds(operation: ir.Operation) -> Iterator[str]:
    shape = operation.attributes["shape"]
    if not isinstance(shape, ir.DenseI64ArrayAttr):
        yield f"the shape of {CHECK} is {shape}, not an array of i64."
        return
    extents = list(shape)
    wanted = len(extents) + sum(extent < 0 for extent in extents)
    words = len(operation.operands) - 1
    if words != wanted:
        yield f"{CHECK} has {words} subscripts and extents for a shape that asks for {wanted}."


def _check_dependence(operation: ir.Operation) -> Iterator[str]:
    words, wanted = len(operation.operands) - 1, site_of(operation).words
    if words != wanted:
        yield f"{DEPENDENCE_CHECK} has {words} iterators and subscripts where it tells {wanted}."


def _print(operation: ir.Operation) -> Iterator[str]:
    printed = printed_of(operation)
    if printed.value is None:
        if printed.declared:
            yield f"{PRINT} has dtype {printed.declared!r} and no value."
        return
    kind = printed.value.type
    element = kind.element_type if isinstance(kind, ir.MemRefType) else kind
    if str(element) != parse_type(printed.declared).mlir_name:
        yield f"{PRINT} has dtype {printed.declared!r} for a value of type {element}."


_RULES: dict[str, Callable[[ir.Operation], Iterator[str]]] = {
    MAKE: _stream,
    "allo.put": _put,
    "allo.get": _get,
    "allo.get_block": _get_block,
    "allo.try_put": _try_put,
    "allo.try_get": _try_get,
    "allo.empty": _scalars,
    "allo.full": _scalars,
    CHECK: _check_bounds,
    DEPENDENCE_CHECK: _check_dependence,
    PRINT: _print,
}
