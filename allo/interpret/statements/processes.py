"""Regions, kernels and streams: put, get, gather, scatter and the processes they join."""

from __future__ import annotations

import ast
from itertools import product
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    DataflowError,
    ShapeMismatchError,
    SourcePlace,
    TypeMismatchError,
)
from allo.dialects.types import AlloType, Float, Stream, Struct

from ..body import Body
from ..expressions.meaning import cast
from ..expressions.structs import struct_value
from ..expressions.tensors import broadcast
from ..expressions.values import Value
from ..instance import Parameter
from ..known import Declared, Known
from ..rules import UINT1
from .streams import OneFifo, StreamSymbol

# --- declarations --------------------------------------------------------------------------------


def declare_stream(body: Body, name: str, said: Declared, node: ast.AST) -> None:
    """``s: Stream[T, depth]`` in a region."""
    if not body.is_region:
        raise DataflowError("A stream is declared in a region.", body.place(node))
    symbol = _symbol(body, name, said, body.place(node))
    body.bind(name, symbol)
    for indices in symbol.all_indices():
        fifo = OneFifo(symbol, indices)
        body.emit(f"{fifo.python} = Fifo({fifo.name!r}, {symbol.depth})")


def _symbol(body: Body, name: str, said: Declared, place: SourcePlace) -> StreamSymbol:
    stream = said.dtype
    shape = said.shape or ()
    known = tuple(extent for extent in shape if extent is not None)
    if not isinstance(stream, Stream) or len(known) != len(shape):
        raise CompileTimeError("The shape of an array of streams must be known.", place)
    if stream.depth <= 0:
        raise DataflowError(f"The depth of the stream {name!r} must be positive.", place)
    python = f"{name}_{body.program.fresh()}"
    return StreamSymbol(name, stream.dtype, stream.shape or None, stream.depth, known, python)


def bind_port(body: Body, parameter: Parameter) -> None:
    """A stream that is an argument of a region: its kernels use it by name, and one end is outside."""
    if parameter.said.shape is not None:
        raise DataflowError("An argument of a region is one FIFO.", parameter.place)
    parameter.symbol = _symbol(body, parameter.name, parameter.said, parameter.place)
    body.bind(parameter.name, parameter.symbol)


def bind_stream(body: Body, name: str, said: Declared, place: SourcePlace) -> StreamSymbol:
    """A parameter that stands for one FIFO."""
    if said.shape is not None:
        raise DataflowError("A function takes one FIFO for a parameter.", place)
    symbol = _symbol(body, name, said, place)
    symbol.is_parameter = True
    body.bind(name, symbol)
    body.is_generator = True
    return symbol


# --- put and get ---------------------------------------------------------------------------------


def stream_of(body: Body, node: ast.expr) -> StreamSymbol | OneFifo | None:
    """The stream, or the FIFO of an array, that an expression names; None for anything else."""
    if isinstance(node, ast.Name):
        entry = body.visible(node.id)
        if not isinstance(entry, StreamSymbol):
            return None
        return entry if entry.shape else OneFifo(entry, ())
    if not isinstance(node, ast.Subscript):
        return None
    inner = stream_of(body, node.value)
    if not isinstance(inner, StreamSymbol):
        return None
    chosen = chosen_fifos(body, inner, node)
    if len(chosen) != 1 or _has_slice(node):
        raise DataflowError("One FIFO is needed here.", body.place(node))
    return chosen[0]


def _has_slice(node: ast.Subscript) -> bool:
    return any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))


def chosen_fifos(body: Body, stream: StreamSymbol, node: ast.Subscript) -> list[OneFifo]:
    """The FIFOs that known subscripts and slices choose, row by row."""
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(items) != len(stream.shape):
        raise DataflowError(
            f"{stream.name!r} has {len(stream.shape)} dimensions, not {len(items)}.",
            body.place(node),
        )
    axes: list[list[int]] = []
    for item, extent in zip(items, stream.shape, strict=True):
        if isinstance(item, ast.Slice):
            bounds = [
                None if part is None else int(body.evaluate(part, "The slice of streams"))
                for part in (item.lower, item.upper, item.step)
            ]
            axes.append(list(range(extent))[slice(*bounds)])
            continue
        position = int(body.evaluate(item, "The index of a stream"))
        if not -extent <= position < extent:
            raise ShapeMismatchError(
                f"Index out of range: {position} of {stream.name}, which has {extent} FIFOs there.",
                body.place(item),
            )
        axes.append([position % extent])
    return [OneFifo(stream, indices) for indices in product(*axes)]


def _used(body: Body, fifo: OneFifo, action: str, node: ast.AST, *, tries: bool = False) -> str:
    """Note that the function uses a FIFO; its Python name."""
    body.is_generator = True
    place = body.place(node)
    stream = fifo.stream
    owner = "" if stream.is_parameter else body.process
    stream.end(fifo.indices).use(action, owner, place, fifo.name, tries=tries)
    if not stream.is_parameter:
        body.uses[fifo.python] = fifo
    return fifo.python


def method(
    body: Body, stream: StreamSymbol | OneFifo, func: ast.Attribute, node: ast.Call
) -> Value:
    """``s.put(v)`` or ``s.get()``, and what does not wait."""
    if isinstance(stream, StreamSymbol):
        raise DataflowError(f"{stream.name!r} is an array of FIFOs.", body.place(node))
    if func.attr in TRIES:
        return _tried(body, stream, func.attr, node)
    place = body.place_code(node)
    count = {"put": 1, "get": 0}.get(func.attr)
    if count is None or len(node.args) != count or node.keywords:
        raise DataflowError(
            "A stream has put(value), get(), try_put(value), try_get(), empty() and full().",
            body.place(node),
            help="use one of these.",
        )
    if func.attr == "get":
        python = _used(body, stream, "get", node)
        return Value(
            stream.stream.dtype, f"(yield from {python}.get({place}))", shape=stream.stream.block
        )
    code = _element(body, stream.stream, node.args[0])
    python = _used(body, stream, "put", node)
    return Value(UINT1, f"yield from {python}.put({code}, {place})", parts=(None,))


TRIES = {"try_put": "put", "full": "put", "try_get": "get", "empty": "get"}
"""What does not wait, and the end of the FIFO where it is asked."""


def _tried(body: Body, fifo: OneFifo, operation: str, node: ast.Call) -> Value:
    """``s.try_put(v)``, ``s.try_get()``, ``s.empty()`` or ``s.full()``."""
    stream, place = fifo.stream, body.place_code(node)
    if len(node.args) != int(operation == "try_put") or node.keywords:
        raise DataflowError(f"{operation}() has other arguments.", body.place(node))
    if stream.block is not None:
        raise DataflowError(
            f"{fifo.name!r} carries blocks, and {operation} is of streams of scalars.",
            body.place(node),
        )
    if operation == "try_put":
        code = _element(body, stream, node.args[0])
        python = _used(body, fifo, "put", node, tries=True)
        return Value(UINT1, f"(yield from {python}.try_put({code}, {place}))")
    python = _used(body, fifo, TRIES[operation], node, tries=True)
    if operation != "try_get":
        return Value(UINT1, f"(yield from {python}.{operation}({place}))")
    code = f"(yield from {python}.try_get({place}, {_zero(stream.dtype)}))"
    return Value(stream.dtype, code, parts=(Value(stream.dtype), Value(UINT1)))


def _zero(dtype: AlloType) -> str:
    """Text of the element that ``try_get`` gives where there is none."""
    if isinstance(dtype, Struct):
        return "(" + "".join(f"{_zero(part)}, " for part in dtype.fields.values()) + ")"
    return "0.0" if isinstance(dtype, Float) else "0"


def _element(body: Body, stream: StreamSymbol, node: ast.expr) -> str:
    """Text of a value that is put."""
    if isinstance(node, ast.Dict):
        return struct_value(body, node, stream.dtype)
    value = body.expression(node)
    shape = stream.block
    if value.shape != shape or value.parts:
        raise ShapeMismatchError(
            f"An element of {stream.name!r} has shape {list(shape or ())}.", body.place(node)
        )
    if shape is None:
        return cast(body, value, stream.dtype, node)
    return f"{_block(body, value, stream, node)}.copy()"


def _block(body: Body, value: Value, stream: StreamSymbol, node: ast.AST) -> str:
    """Text of an array of the stream's type: each element cast, as an assignment does."""
    wanted = stream.dtype
    if value.dtype.name == wanted.name:
        return value.array_code()
    given = broadcast(body, lambda v: Value(wanted, cast(body, v, wanted, node)), node, value)
    return given.array_code()


def gather_or_scatter(body: Body, name: str, node: ast.Call) -> Value:
    """``df.gather(streams)`` and ``df.scatter(array, streams)``."""
    count = 1 if name == "gather" else 2
    if len(node.args) != count or node.keywords:
        raise DataflowError(f"Invalid `{name}`: it takes {count} arguments.", body.place(node))
    fifos = _listed(body, node.args[-1])
    first = fifos[0].stream
    place = body.place_code(node)
    shape = (len(fifos), *(first.block or ()))
    if name == "gather":
        parts = [f"(yield from {_used(body, f, 'get', node)}.get({place}))" for f in fifos]
        return Value(first.dtype, f"stacked([{', '.join(parts)}], {shape})", shape=shape)
    value = body.expression(node.args[0])
    if value.shape != shape:
        raise ShapeMismatchError(
            f"The array to scatter is {first.dtype}{list(shape)}.", body.place(node.args[0])
        )
    kept = body.keep(f"{_block(body, value, first, node)}.copy()")
    size = 1
    for extent in first.block or ():
        size *= extent
    for position, fifo in enumerate(fifos):
        part = f"{kept}.data[{position}]"
        if first.block is not None:
            low = position * size
            part = f"Array({kept}.data[{low}:{low + size}], {first.block})"
        body.emit(f"yield from {_used(body, fifo, 'put', node)}.put({part}, {place})")
    return Value(UINT1, "", parts=(None,))


def _listed(body: Body, node: ast.expr) -> list[OneFifo]:
    if isinstance(node, (ast.List, ast.Tuple)):
        found = []
        for part in node.elts:
            fifo = stream_of(body, part)
            if not isinstance(fifo, OneFifo):
                raise DataflowError("A list of FIFOs is needed here.", body.place(part))
            found.append(fifo)
        return found
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        stream = body.visible(node.value.id)
        if isinstance(stream, StreamSymbol):
            return chosen_fifos(body, stream, node)
    if isinstance(node, ast.Name):
        stream = body.visible(node.id)
        if isinstance(stream, StreamSymbol) and stream.shape:
            return [OneFifo(stream, indices) for indices in stream.all_indices()]
    raise DataflowError("A list of FIFOs is needed here.", body.place(node))


def stream_argument(body: Body, said: Declared, given: ast.expr, symbol: StreamSymbol) -> str:
    """Text of a FIFO that is given to a function; what the function does with it is noted."""
    fifo = stream_of(body, given)
    if not isinstance(fifo, OneFifo):
        raise DataflowError("One FIFO is needed here.", body.place(given))
    stream = said.dtype
    same = isinstance(stream, Stream) and fifo.stream.dtype.name == stream.dtype.name
    if not same or (fifo.stream.block or ()) != (
        stream.shape if isinstance(stream, Stream) else ()
    ):
        raise TypeMismatchError(
            f"The stream {fifo.name!r} has elements of another type.", body.place(given)
        )
    users = symbol.end(()).users
    if len(users) != 1:
        what = "both puts into and gets from" if users else "neither puts into nor gets from"
        raise DataflowError(
            f"The function {what} its stream {symbol.name}.",
            body.place(given),
            help="a function puts into a stream, or gets from it.",
        )
    for action in users:
        _used(body, fifo, action, given)
    return fifo.python


# --- coordinates -------------------------------------------------------------------------------------


def bind_pid(body: Body, node: ast.Assign) -> bool:
    """``i, j = df.get_pid()``, which binds names to known numbers; whether this was it."""
    if not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        return False
    if last_name(node.value) != "get_pid" or body.pid is None:
        return False
    target = node.targets[0]
    names = list(target.elts) if isinstance(target, ast.Tuple) else [target]
    if len(names) != len(body.pid):
        raise CompileTimeError(
            f"get_pid() gives {len(body.pid)} coordinates here, not {len(names)}.",
            body.place(node),
        )
    for one, value in zip(names, body.pid, strict=True):
        if not isinstance(one, ast.Name):
            raise CompileTimeError("get_pid() is bound to names.", body.place(node))
        if one.id != "_":
            body.bind(one.id, Known(value))
    return True


def is_region(function: Any, node: ast.FunctionDef) -> bool:
    """Whether a function is a dataflow region."""
    return bool(getattr(function, "__allo_region__", False)) or any(
        last_name(d) == "region" for d in node.decorator_list
    )


def last_name(node: ast.expr) -> str | None:
    """The last part of the name that a node is or calls."""
    func = node.func if isinstance(node, ast.Call) else node
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", None)
