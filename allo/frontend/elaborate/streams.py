"""What a kernel does with streams: put, get, gather, scatter; and its own coordinates."""

from __future__ import annotations

import ast
import itertools

from allo.dialects.diagnostics import (
    DataflowError,
    ShapeMismatchError,
    SourcePlace,
    TypeMismatchError,
)
from allo.dialects.types import Stream, Struct
from allo.frontend.affine import constant
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import Along, ArrayValue, At, Value, View
from allo.frontend.elaborate.context import ConstBinding, FunctionContext, StreamBinding, as_int
from allo.frontend.elaborate.expressions.fields import as_words, word_of
from allo.frontend.elaborate.fifos import carried, fifo_of, index_of, stream_of, use_of
from allo.frontend.elaborate.tries import ENDS, check_arguments, tried
from allo.frontend.rules import operations as ops
from allo.frontend.syntax import last_name
from allo.frontend.tree import (
    Declare,
    Expr,
    Get,
    Put,
    Store,
    StreamGet,
    StreamRef,
    Var,
)

OPERATIONS = ("put", "get", *ENDS)


# --- coordinates -----------------------------------------------------------------------------


def is_get_pid(node: ast.expr) -> bool:
    """Whether a node is a call of ``get_pid``."""
    return isinstance(node, ast.Call) and last_name(node) == "get_pid"


def assign_pid(ctx: FunctionContext, node: ast.Assign) -> bool:
    """``i = df.get_pid()``, ``i, j = df.get_pid()``; False for any other assignment."""
    if not is_get_pid(node.value) or len(node.targets) != 1:
        return False
    value = ctx.constant(node.value, "get_pid()")
    pid = value if isinstance(value, tuple) else (value,)
    target = node.targets[0]
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if len(names) != len(pid) or not all(isinstance(n, ast.Name) for n in names):
        raise DataflowError(
            f"get_pid() gives {len(pid)} coordinates here, one for each entry of the mapping.",
            ctx.place(node),
            help="write i, j = df.get_pid() for a mapping of two.",
        )
    for name, coordinate in zip(names, pid, strict=True):
        assert isinstance(name, ast.Name)
        ctx.bind(name.id, ConstBinding(coordinate))
    return True


# --- which FIFO ----------------------------------------------------------------------------------


# --- passed to a function --------------------------------------------------------------------------


# --- put and get ----------------------------------------------------------------------------------


def put_statement(ctx: FunctionContext, node: ast.Call) -> bool:
    """``s.put(v)`` or ``df.scatter(buffer, pipes)``; False for any other call."""
    if last_name(node) == "scatter" and _is_free_function(ctx, node):
        _scatter(ctx, node)
        return True
    found = _operation(ctx, node)
    if found is None or last_name(node) != "put":
        return False
    stream, items = found
    if len(node.args) != 1 or node.keywords:
        raise ctx.unsupported(
            node,
            "Stream can only have one argument: put(value).",
            "write pipe.put(x) with one value.",
        )
    value = _put_value(ctx, node.args[0], stream)
    assert isinstance(node.func, ast.Attribute)
    fifo = fifo_of(ctx, node.func.value, stream, items, "put")
    _put(ctx, fifo, value, node.args[0])
    return True


def _put_value(ctx: FunctionContext, node: ast.expr, stream: StreamBinding) -> Value:
    carried = stream.dtype
    assert isinstance(carried, Stream)
    if isinstance(carried.dtype, Struct) and not carried.shape:
        return word_of(ctx, node, carried.dtype)
    words = as_words(ctx, node, carried.dtype)
    return dispatch.expression(ctx, node) if words is None else words


def method(ctx: FunctionContext, node: ast.Call) -> list[Value] | None:
    """The value of ``s.get()`` or ``df.gather(pipes)``; None for any other call."""
    if is_get_pid(node):
        value = ctx.constant(node, "get_pid()")
        pid = value if isinstance(value, tuple) else (value,)
        return [ops.literal(p, ctx.place(node)) for p in pid]
    if last_name(node) == "gather" and _is_free_function(ctx, node):
        return [_gather(ctx, node)]
    found = _operation(ctx, node)
    if found is None:
        return None
    stream, items = found
    if last_name(node) == "put":
        raise ctx.unsupported(node, "put() gives no value.", "write it on a line of its own.")
    if last_name(node) in ENDS:
        return _tried(ctx, node, stream, items)
    if node.args or node.keywords:
        raise ctx.unsupported(node, "get() takes no arguments.", "write x: int32 = pipe.get().")
    assert isinstance(node.func, ast.Attribute)
    fifo = fifo_of(ctx, node.func.value, stream, items, "get")
    return [_get(ctx, fifo, ctx.place(node))]


def _tried(
    ctx: FunctionContext, node: ast.Call, stream: StreamBinding, items: list[ast.expr]
) -> list[Value]:
    check_arguments(ctx, node, stream)
    value = None
    if node.args:
        given = _put_value(ctx, node.args[0], stream)
        value = _converted(ctx, stream, given, node.args[0])
    return tried(ctx, node, stream, items, value)


def _is_free_function(ctx: FunctionContext, node: ast.Call) -> bool:
    """``gather`` and ``scatter`` as functions, not methods of a stream or a user's kernel."""
    if isinstance(node.func, ast.Name):
        return ctx.find(node.func.id) is None and hasattr(
            ctx.captured(node.func.id), "__allo_stream__"
        )
    assert isinstance(node.func, ast.Attribute)
    return stream_of(ctx, node.func.value) is None


def _operation(ctx: FunctionContext, node: ast.Call) -> tuple[StreamBinding, list[ast.expr]] | None:
    if not isinstance(node.func, ast.Attribute):
        return None
    found = stream_of(ctx, node.func.value)
    if found is None:
        return None
    name = node.func.attr
    if name in OPERATIONS:
        return found
    help_text = "streams have .put and .get, and .try_put, .try_get, .empty and .full."
    raise ctx.unsupported(node.func, f"Stream {found[0].name} has no operation .{name}.", help_text)


def _put(ctx: FunctionContext, fifo: StreamRef, value: Value, node: ast.expr) -> None:
    dtype, place = carried(fifo), ctx.place(node)
    if not dtype.shape:
        ctx.emit(Put(place, fifo, _converted(ctx, fifo, value, node)))
        return
    if not isinstance(value, ArrayValue) or value.shape != dtype.shape:
        has = (
            f"an array of shape {arrays.show(value.shape)}"
            if isinstance(value, ArrayValue)
            else "a scalar"
        )
        raise ShapeMismatchError(
            f"Stream {fifo.name} carries blocks of shape {arrays.show(dtype.shape)}, "
            f"but {has} is put.",
            place,
            notes=(("the stream", fifo.place),),
            help="put a block of that shape, or declare the stream with the shape that is put.",
        )
    ctx.emit(Put(place, fifo, _block(ctx, fifo, value, node)))


def _block(ctx: FunctionContext, fifo: StreamRef, value: ArrayValue, node: ast.expr) -> Var:
    """The array put: a variable as it is; a part, an expression or another type as a copy."""
    wanted = carried(fifo).dtype
    if value.dtype == wanted:
        return stores.materialize(ctx, value, "block")
    if isinstance(value.dtype, Struct) or isinstance(wanted, Struct):
        raise _wrong_type(ctx, fifo, value, node)
    return stores.fresh_copy(ctx, value, "block", wanted)


def _converted(
    ctx: FunctionContext, fifo: StreamRef | StreamBinding, value: Value, node: ast.expr
) -> Expr:
    """The value put, cast to the element type as an assignment casts it."""
    stream = fifo.dtype
    assert isinstance(stream, Stream)
    wanted = stream.dtype
    if isinstance(value, ArrayValue):
        raise ShapeMismatchError(
            f"Stream {fifo.name} carries scalars of type {wanted}, but an array of shape "
            f"{arrays.show(value.shape)} is put.",
            ctx.place(node),
            notes=(("the stream", fifo.place),),
            help="put the elements one by one, or declare a stream of blocks: Stream[int32[4], 2].",
        )
    if value.dtype != wanted and (isinstance(value.dtype, Struct) or isinstance(wanted, Struct)):
        raise _wrong_type(ctx, fifo, value, node)
    return ops.cast(value, wanted, ctx.place(node))


def _wrong_type(
    ctx: FunctionContext, fifo: StreamRef | StreamBinding, value: Value, node: ast.expr
) -> TypeMismatchError:
    stream = fifo.dtype
    assert isinstance(stream, Stream)
    wanted = stream.dtype
    return TypeMismatchError(
        f"Stream {fifo.name} carries {wanted}, but a value of type {value.dtype} is put.",
        ctx.place(node),
        help="numbers are cast as an assignment casts them; a Struct is put where its fields are put.",
        notes=(("the stream", fifo.place),),
    )


def _get(ctx: FunctionContext, fifo: StreamRef, place: SourcePlace) -> Value:
    dtype = carried(fifo)
    if not dtype.shape:
        statement = Get(place, fifo)
        ctx.emit(statement)
        return StreamGet(dtype.dtype, place, statement)
    var = Var("", dtype.dtype, dtype.shape, "result", place)
    ctx.emit(Declare(place, var))
    ctx.emit(Get(place, fifo, var))
    ctx.write(var)
    return arrays.whole(var, place)


# --- gather and scatter ------------------------------------------------------------------------------


def _fifos(ctx: FunctionContext, node: ast.expr, end: str, what: str) -> list[StreamRef]:
    """The FIFOs a list or a slice selects, row-major."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [f for part in node.elts for f in _fifos(ctx, part, end, what)]
    found = stream_of(ctx, node)
    if found is None:
        raise ctx.unsupported(
            node,
            f"Invalid `{what}`: it takes a list of streams or a slice of an array of streams.",
            "name the streams: [a, b], or pipes[0:4].",
        )
    stream, items = found
    if len(items) > len(stream.shape):
        index_of(ctx, node, stream, items)
    ranges = [
        _positions(ctx, stream, item, extent)
        for item, extent in itertools.zip_longest(items, stream.shape)
    ]
    return [use_of(ctx, node, stream, index, end) for index in itertools.product(*ranges)]


def _positions(
    ctx: FunctionContext, stream: StreamBinding, item: ast.expr | None, extent: int
) -> list[int]:
    if item is None:
        return list(range(extent))
    value = ctx.constant(item, f"An index of stream {stream.name}")
    if isinstance(value, slice):
        parts = [p for p in (value.start, value.stop) if p is not None]
        if any(not 0 <= p <= extent for p in parts) or (value.step or 1) <= 0:
            raise ShapeMismatchError(
                f"Invalid index or step: {ast.unparse(item)} for extent {extent} of stream "
                f"{stream.name}.",
                ctx.place(item),
                help="constant indices and slices within the extent choose streams.",
            )
        return list(range(extent))[value]
    number = as_int(value)
    if number is None or not 0 <= number < extent:
        raise ShapeMismatchError(
            f"Invalid index or step: {ast.unparse(item)} for extent {extent} of stream "
            f"{stream.name}.",
            ctx.place(item),
            help="constant indices and slices within the extent choose streams.",
        )
    return [number]


def _gather(ctx: FunctionContext, node: ast.Call) -> Value:
    """One element of each FIFO, stacked on a new leading axis."""
    if len(node.args) != 1 or node.keywords:
        raise ctx.unsupported(
            node,
            "Invalid `gather`: it takes the streams, and nothing else.",
            "write allo.dataflow.gather(pipes[0:4]).",
        )
    fifos = _fifos(ctx, node.args[0], "get", "gather")
    place = ctx.place(node)
    first = carried(fifos[0])
    var = Var("", first.dtype, (len(fifos), *first.shape), "result", place)
    ctx.emit(Declare(place, var))
    for position, fifo in enumerate(fifos):
        if first.shape:
            block = _get(ctx, fifo, place)
            stores.store(ctx, _part(var, position, place), block, place)
            continue
        statement = Get(place, fifo)
        ctx.emit(statement)
        value = StreamGet(first.dtype, place, statement)
        ctx.emit(Store(place, var, (constant(position),), value))
    ctx.write(var)
    return arrays.whole(var, place)


def _part(var: Var, position: int, place: SourcePlace) -> View:
    """``var[position]``."""
    rest = var.shape[1:]
    selectors: tuple[At | Along, ...] = (
        At(constant(position)),
        *(Along(constant(0), 1, axis) for axis in range(len(rest))),
    )
    return View(var, selectors, tuple(d or 0 for d in rest), place)


def _scatter(ctx: FunctionContext, node: ast.Call) -> None:
    """The leading axis of an array, one part to each FIFO."""
    if len(node.args) != 2 or node.keywords:
        raise ctx.unsupported(
            node,
            "Invalid `scatter`: it takes an array and the streams.",
            "write allo.dataflow.scatter(block, pipes[0:4]).",
        )
    value = dispatch.expression(ctx, node.args[0])
    fifos = _fifos(ctx, node.args[1], "put", "scatter")
    wanted = (len(fifos), *carried(fifos[0]).shape)
    if not isinstance(value, ArrayValue) or value.shape != wanted:
        raise ShapeMismatchError(
            f"Invalid `scatter`: an array of shape {arrays.show(wanted)} is needed for "
            f"{len(fifos)} streams.",
            ctx.place(node.args[0]),
            help="one row of the array goes to each stream.",
        )
    source = _block(ctx, fifos[0], value, node.args[0])
    place = ctx.place(node)
    for position, fifo in enumerate(fifos):
        if wanted[1:]:
            ctx.emit(Put(place, fifo, _block(ctx, fifo, _part(source, position, place), node)))
            continue
        element = arrays.whole(source, place).element((constant(position),))
        ctx.emit(Put(place, fifo, element))
