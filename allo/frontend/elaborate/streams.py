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
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.frontend.rules import operations as ops
from allo.frontend.rules.integers import is_integer
from allo.frontend.tree import (
    Const,
    Declare,
    Expr,
    Get,
    IndexValue,
    Put,
    Store,
    StreamGet,
    StreamRef,
    Var,
)

OPERATIONS = ("put", "get")
_MISSING_OPERATIONS = ("try_put", "try_get", "empty", "full", "peek")


# --- coordinates -----------------------------------------------------------------------------


def is_get_pid(node: ast.expr) -> bool:
    """Whether a node is a call of ``get_pid``."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return name == "get_pid"


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


def _stream_of(ctx: FunctionContext, node: ast.expr) -> tuple[StreamBinding, list[ast.expr]] | None:
    """The stream a node names, and the subscripts behind it; None when it names none."""
    items: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        part = node.slice
        items[:0] = part.elts if isinstance(part, ast.Tuple) else [part]
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    found = ctx.find(node.id)
    return (found, items) if isinstance(found, StreamBinding) else None


def _fifo(
    ctx: FunctionContext,
    node: ast.expr,
    stream: StreamBinding,
    items: list[ast.expr],
    end: str,
) -> StreamRef:
    """The one FIFO that a subscript selects."""
    index = _index(ctx, node, stream, items)
    return _use(ctx, node, stream, index, end)


def _index(
    ctx: FunctionContext, node: ast.expr, stream: StreamBinding, items: list[ast.expr]
) -> tuple[int, ...]:
    if len(items) != len(stream.shape):
        raise ShapeMismatchError(
            f"Stream {stream.name} has {len(stream.shape)} dimensions, but {len(items)} "
            f"{'index was' if len(items) == 1 else 'indices were'} given.",
            ctx.place(node),
        )
    what = f"An index of stream {stream.name}"
    index = tuple(ctx.constant_int(item, what) for item in items)
    for item, position, extent in zip(items, index, stream.shape, strict=True):
        if not 0 <= position < extent:
            raise ShapeMismatchError(
                f"Index out of range: {position} for a dimension of extent {extent} of stream "
                f"{stream.name}.",
                ctx.place(item),
            )
    return index


def _use(
    ctx: FunctionContext,
    node: ast.AST,
    stream: StreamBinding,
    index: tuple[int, ...],
    end: str,
) -> StreamRef:
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
    fifo: StreamRef = ctx.kernel.stream((stream, index), end, ctx.place(node))
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


# --- passed to a function --------------------------------------------------------------------------


def argument(
    ctx: FunctionContext, node: ast.expr, wanted: ValueInfo, info: FunctionInfo
) -> StreamRef:
    """The FIFO passed for a stream argument of a function.

    Raises:
        DataflowError: when the node names no stream, or the function leaves it alone.
        TypeMismatchError, ShapeMismatchError: when it carries other words.
    """
    found = _stream_of(ctx, node)
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
    return _fifo(ctx, node, stream, items, end)


# --- put and get ----------------------------------------------------------------------------------


def put_statement(ctx: FunctionContext, node: ast.Call) -> bool:
    """``s.put(v)`` or ``df.scatter(buffer, pipes)``; False for any other call."""
    if _called(node) == "scatter" and _is_free_function(ctx, node):
        _scatter(ctx, node)
        return True
    found = _operation(ctx, node)
    if found is None or _called(node) != "put":
        return False
    stream, items = found
    if len(node.args) != 1 or node.keywords:
        raise ctx.unsupported(node, "Stream can only have one argument: put(value).")
    value = _put_value(ctx, node.args[0], stream)
    assert isinstance(node.func, ast.Attribute)
    fifo = _fifo(ctx, node.func.value, stream, items, "put")
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
    if _called(node) == "gather" and _is_free_function(ctx, node):
        return [_gather(ctx, node)]
    found = _operation(ctx, node)
    if found is None:
        return None
    stream, items = found
    if _called(node) == "put":
        raise ctx.unsupported(node, "put() gives no value.", "write it on a line of its own.")
    if node.args or node.keywords:
        raise ctx.unsupported(node, "get() takes no arguments.")
    assert isinstance(node.func, ast.Attribute)
    fifo = _fifo(ctx, node.func.value, stream, items, "get")
    return [_get(ctx, fifo, ctx.place(node))]


def _called(node: ast.Call) -> str:
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _is_free_function(ctx: FunctionContext, node: ast.Call) -> bool:
    """``gather`` and ``scatter`` as functions, not methods of a stream or a user's kernel."""
    if isinstance(node.func, ast.Name):
        return ctx.find(node.func.id) is None and hasattr(
            ctx.captured(node.func.id), "__allo_stream__"
        )
    assert isinstance(node.func, ast.Attribute)
    return _stream_of(ctx, node.func.value) is None


def _operation(ctx: FunctionContext, node: ast.Call) -> tuple[StreamBinding, list[ast.expr]] | None:
    if not isinstance(node.func, ast.Attribute):
        return None
    found = _stream_of(ctx, node.func.value)
    if found is None:
        return None
    name = node.func.attr
    if name in OPERATIONS:
        return found
    help_text = "streams have .put(value) and .get()."
    if name in _MISSING_OPERATIONS:
        help_text = f"streams block; there is no {name}. " + help_text
    raise ctx.unsupported(node.func, f"Stream {found[0].name} has no operation .{name}.", help_text)


def _element(fifo: StreamRef) -> Stream:
    assert isinstance(fifo.dtype, Stream)
    return fifo.dtype


def _put(ctx: FunctionContext, fifo: StreamRef, value: Value, node: ast.expr) -> None:
    dtype, place = _element(fifo), ctx.place(node)
    if not dtype.shape:
        ctx.emit(Put(place, fifo, _exact(ctx, fifo, value, node)))
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
        )
    if value.dtype != dtype.dtype:
        raise _wrong_type(ctx, fifo, value, node)
    ctx.emit(Put(place, fifo, _block(ctx, value)))


def _block(ctx: FunctionContext, value: ArrayValue) -> Var:
    """The array put: a variable as it is, a part or an expression as a copy."""
    return stores.materialize(ctx, value, "block")


def _exact(ctx: FunctionContext, fifo: StreamRef, value: Value, node: ast.expr) -> Expr:
    """The value put, which must already have the element type; numbers adapt."""
    wanted = _element(fifo).dtype
    if isinstance(value, ArrayValue):
        raise ShapeMismatchError(
            f"Stream {fifo.name} carries scalars of type {wanted}, but an array of shape "
            f"{arrays.show(value.shape)} is put.",
            ctx.place(node),
            notes=(("the stream", fifo.place),),
        )
    adapts = isinstance(value, Const) and (is_integer(value.dtype) or not is_integer(wanted))
    is_iterator = isinstance(value, IndexValue) and is_integer(wanted)
    if value.dtype == wanted or adapts or is_iterator:
        return ops.cast(value, wanted)
    raise _wrong_type(ctx, fifo, value, node)


def _wrong_type(
    ctx: FunctionContext, fifo: StreamRef, value: Value, node: ast.expr
) -> TypeMismatchError:
    wanted = _element(fifo).dtype
    return TypeMismatchError(
        f"Stream {fifo.name} carries {wanted}, but a value of type {value.dtype} is put.",
        ctx.place(node),
        help=f"no cast is inserted: assign the value to a variable declared as {wanted} first.",
        notes=(("the stream", fifo.place),),
    )


def _get(ctx: FunctionContext, fifo: StreamRef, place: SourcePlace) -> Value:
    dtype = _element(fifo)
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
    found = _stream_of(ctx, node)
    if found is None:
        raise ctx.unsupported(
            node, f"Invalid `{what}`: it takes a list of streams or a slice of an array of streams."
        )
    stream, items = found
    if len(items) > len(stream.shape):
        _index(ctx, node, stream, items)
    ranges = [
        _positions(ctx, stream, item, extent)
        for item, extent in itertools.zip_longest(items, stream.shape)
    ]
    return [_use(ctx, node, stream, index, end) for index in itertools.product(*ranges)]


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
            )
        return list(range(extent))[value]
    number = as_int(value)
    if number is None or not 0 <= number < extent:
        raise ShapeMismatchError(
            f"Invalid index or step: {ast.unparse(item)} for extent {extent} of stream "
            f"{stream.name}.",
            ctx.place(item),
        )
    return [number]


def _gather(ctx: FunctionContext, node: ast.Call) -> Value:
    """One element of each FIFO, stacked on a new leading axis."""
    if len(node.args) != 1 or node.keywords:
        raise ctx.unsupported(node, "Invalid `gather`: it takes the streams, and nothing else.")
    fifos = _fifos(ctx, node.args[0], "get", "gather")
    place = ctx.place(node)
    first = _element(fifos[0])
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
        raise ctx.unsupported(node, "Invalid `scatter`: it takes an array and the streams.")
    value = dispatch.expression(ctx, node.args[0])
    fifos = _fifos(ctx, node.args[1], "put", "scatter")
    wanted = (len(fifos), *_element(fifos[0]).shape)
    if not isinstance(value, ArrayValue) or value.shape != wanted:
        raise ShapeMismatchError(
            f"Invalid `scatter`: an array of shape {arrays.show(wanted)} is needed for "
            f"{len(fifos)} streams.",
            ctx.place(node.args[0]),
        )
    if value.dtype != _element(fifos[0]).dtype:
        raise _wrong_type(ctx, fifos[0], value, node.args[0])
    source = stores.materialize(ctx, value, "block")
    place = ctx.place(node)
    for position, fifo in enumerate(fifos):
        if wanted[1:]:
            ctx.emit(Put(place, fifo, _block(ctx, _part(source, position, place))))
            continue
        element = arrays.whole(source, place).element((constant(position),))
        ctx.emit(Put(place, fifo, element))
