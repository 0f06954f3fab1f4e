"""Which FIFO of a region an expression names, and which end of it is used."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import DataflowError, ShapeMismatchError, TypeMismatchError
from allo.dialects.types import Stream
from allo.frontend.elaborate.context import FunctionContext, StreamBinding
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.frontend.syntax import flatten
from allo.frontend.tree import StreamRef


def stream_of(ctx: FunctionContext, node: ast.expr) -> tuple[StreamBinding, list[ast.expr]] | None:
    """The stream a node names, and the subscripts behind it; None when it names none."""
    base, items = flatten(node)
    found = ctx.find(base.id) if isinstance(base, ast.Name) else None
    return (found, items) if isinstance(found, StreamBinding) else None


def fifo_of(
    ctx: FunctionContext,
    node: ast.expr,
    stream: StreamBinding,
    items: list[ast.expr],
    end: str,
    operation: str = "",
) -> StreamRef:
    """The one FIFO that a subscript selects."""
    index = index_of(ctx, node, stream, items)
    return use_of(ctx, node, stream, index, end, operation)


def index_of(
    ctx: FunctionContext, node: ast.expr, stream: StreamBinding, items: list[ast.expr]
) -> tuple[int, ...]:
    """Which FIFO of an array of streams the subscripts select.

    Raises:
        ShapeMismatchError: for a wrong number of them, or one out of range.
    """
    if len(items) != len(stream.shape):
        raise ShapeMismatchError(
            f"Stream {stream.name} has {len(stream.shape)} dimensions, but {len(items)} "
            f"{'index was' if len(items) == 1 else 'indices were'} given.",
            ctx.place(node),
            help="give one index for each dimension of the array of streams.",
        )
    what = f"An index of stream {stream.name}"
    index = tuple(ctx.constant_int(item, what) for item in items)
    for item, position, extent in zip(items, index, stream.shape, strict=True):
        if not 0 <= position < extent:
            raise ShapeMismatchError(
                f"Index out of range: {position} for a dimension of extent {extent} of stream "
                f"{stream.name}.",
                ctx.place(item),
                help="indices count from 0 to one less than the extent.",
            )
    return index


def use_of(
    ctx: FunctionContext,
    node: ast.AST,
    stream: StreamBinding,
    index: tuple[int, ...],
    end: str,
    operation: str = "",
) -> StreamRef:
    """A FIFO at which the present kernel stands, at ``end``, for an operation that may have its name.

    Raises:
        DataflowError: outside a kernel, or at both ends of it.
    """
    if stream.parameter is not None:
        _note_end(ctx, node, stream, end)
        return stream.parameter
    if ctx.kernel is None:
        raise DataflowError(
            f"Stream {stream.name} is used outside a df.kernel.",
            ctx.place(node),
            help="a function that a df.kernel calls takes the stream as an argument: "
            f"def f({stream.name}: {stream.dtype}).",
        )
    fifo: StreamRef = ctx.kernel.stream((stream, index), end, ctx.place(node), operation or end)
    return fifo


def _note_end(ctx: FunctionContext, node: ast.AST, stream: StreamBinding, end: str) -> None:
    """A function is at one end of a stream that it is given."""
    if ctx.info.ends.setdefault(stream.name, end) != end:
        raise DataflowError(
            f"{ctx.info.origin} both puts into and gets from its stream {stream.name}.",
            ctx.place(node),
            help="a FIFO has one end in a kernel; use two streams.",
            notes=(("the argument", stream.place),),
        )


def argument(
    ctx: FunctionContext, node: ast.expr, wanted: ValueInfo, info: FunctionInfo
) -> StreamRef:
    """The FIFO passed for a stream argument of a function.

    Raises:
        DataflowError: when the node names no stream, or the function leaves it alone.
        TypeMismatchError, ShapeMismatchError: when it carries other words.
    """
    found = stream_of(ctx, node)
    if found is None:
        raise DataflowError(
            f"Argument {wanted.name} of {info.origin} is a stream, but {ast.unparse(node)} is none.",
            ctx.place(node),
            help="pass a stream of the region by its name.",
        )
    stream, items = found
    end = info.ends.get(wanted.name)
    if end is None:
        raise DataflowError(
            f"{info.origin} neither puts into nor gets from its stream {wanted.name}.",
            ctx.place(node),
            help="leave the argument out.",
        )
    given, declared = stream.dtype, wanted.dtype
    assert isinstance(given, Stream) and isinstance(declared, Stream)
    if (given.dtype, given.shape) != (declared.dtype, declared.shape):
        kind = ShapeMismatchError if given.dtype == declared.dtype else TypeMismatchError
        raise kind(
            f"Argument {wanted.name} of {info.origin} is a {declared}, but {stream.name} is a "
            f"{given}.",
            ctx.place(node),
            help="both carry the same words; the depth may differ.",
            notes=(("the stream", stream.place),),
        )
    return fifo_of(ctx, node, stream, items, end)


def carried(fifo: StreamRef) -> Stream:
    """The type of a FIFO."""
    assert isinstance(fifo.dtype, Stream)
    return fifo.dtype
