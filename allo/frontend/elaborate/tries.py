"""What a kernel asks of a stream without waiting: ``try_put``, ``try_get``, ``empty``, ``full``."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import DataflowError, SourcePlace
from allo.dialects.types import AlloType, Stream
from allo.frontend.elaborate.arrays.lazy import Value
from allo.frontend.elaborate.context import FunctionContext, StreamBinding
from allo.frontend.elaborate.fifos import carried, fifo_of
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Expr, Tried, Try

ENDS = {"try_put": "put", "full": "put", "try_get": "get", "empty": "get"}
"""Which end of the FIFO asks."""


def tried(
    ctx: FunctionContext,
    node: ast.Call,
    stream: StreamBinding,
    items: list[ast.expr],
    value: Expr | None,
) -> list[Value]:
    """The results of one of the operations, in order; ``value`` is what is put, as the element type.

    Raises:
        DataflowError: the stream carries blocks, or the process stands at the other end.
        UnsupportedSyntaxError: arguments that the operation does not take.
    """
    assert isinstance(node.func, ast.Attribute)
    operation, place = node.func.attr, ctx.place(node)
    fifo = fifo_of(ctx, node.func.value, stream, items, ENDS[operation], operation)
    statement = Try(place, operation, fifo, value)
    ctx.emit(statement)
    kinds: list[AlloType] = [ops.BOOL]
    if operation == "try_get":
        kinds = [carried(fifo).dtype, ops.BOOL]
    return [Tried(kind, place, statement, position) for position, kind in enumerate(kinds)]


def check_arguments(ctx: FunctionContext, node: ast.Call, stream: StreamBinding) -> None:
    """Refuse arguments that an operation does not take, and streams of blocks."""
    assert isinstance(node.func, ast.Attribute)
    operation, dtype = node.func.attr, stream.dtype
    wanted = 1 if operation == "try_put" else 0
    if len(node.args) != wanted or node.keywords:
        takes = "takes one argument, the value" if wanted else "takes no arguments"
        raise ctx.unsupported(
            node,
            f"{operation}() {takes}.",
            "write pipe.try_put(x), and value, ok = pipe.try_get().",
        )
    if isinstance(dtype, Stream) and dtype.shape:
        raise DataflowError(
            f"Stream {stream.name} carries blocks, and .{operation} is of streams of scalars.",
            ctx.place(node),
            help="a block passes in several words; use .put and .get, or a stream of its elements.",
            notes=(("the stream", stream.place),),
        )


def wrong_end(
    operation: str, first: tuple[str, SourcePlace], name: str, process: str, place: SourcePlace
) -> DataflowError:
    """The error for a process that asks at one end of a FIFO, and uses the other."""
    asks = operation if operation in ENDS else first[0]
    other = "puts into" if ENDS[asks] == "get" else "gets from"
    who = "gets from" if ENDS[asks] == "get" else "puts into"
    instead = "full" if ENDS[asks] == "get" else "empty"
    return DataflowError(
        f"{process} {other} stream {name}, so it cannot ask {name}.{asks}().",
        place,
        help=f"only the process that {who} a stream asks .{asks}(); the other asks .{instead}().",
        notes=((f".{first[0]}() here", first[1]),),
    )
