"""Emission of streams: what a region declares, and what kernels do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allo.dialects.types import Stream

from ..rules import operations as ops
from ..tree import Get, MakeStream, Put, Try, Var
from .values import ValueEmitter


def _make_stream(value: ValueEmitter, statement: MakeStream) -> None:
    stream = statement.stream
    dtype = stream.dtype
    assert isinstance(dtype, Stream)
    attributes = {
        "name": value.types.string(stream.name),
        "dtype": value.types.string(dtype.element),
        "depth": value.types.integer(dtype.depth),
    }
    value.values[stream] = value.value_op(
        "allo.stream", value.types.index, [], statement.place, attributes
    )


def _put(value: ValueEmitter, statement: Put) -> None:
    item = statement.value
    operand = value.values[item] if isinstance(item, Var) else value.emit(item)
    stream = value.values[statement.stream]
    value.op("allo.put", [], [stream, operand], statement.place)


def _get(value: ValueEmitter, statement: Get) -> None:
    stream = value.values[statement.stream]
    if statement.into is None:
        dtype = statement.stream.dtype
        assert isinstance(dtype, Stream)
        value.values[statement] = value.value_op(
            "allo.get", value.types.scalar(dtype.dtype), [stream], statement.place
        )
        return
    value.op("allo.get_block", [], [stream, value.values[statement.into]], statement.place)


def _try(value: ValueEmitter, statement: Try) -> None:
    dtype = statement.stream.dtype
    assert isinstance(dtype, Stream)
    operands = [value.values[statement.stream]]
    if statement.value is not None:
        operands.append(value.emit(statement.value))
    results = [value.types.scalar(ops.BOOL)]
    if statement.operation == "try_get":
        results = [value.types.scalar(dtype.dtype), *results]
    op = value.op(f"allo.{statement.operation}", results, operands, statement.place)
    value.values[statement] = op.results


STREAM_EMITTERS: dict[type, Callable[[ValueEmitter, Any], None]] = {
    MakeStream: _make_stream,
    Put: _put,
    Get: _get,
    Try: _try,
}
