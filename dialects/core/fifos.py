"""Streams of the core IR: what ``allo.stream`` declares and what a handle carries, read in one place."""

from __future__ import annotations

from dataclasses import dataclass

from .._mlir import ir
from ..diagnostics import BuildError
from ..types import Stream, parse_stream, parse_type
from .locations import place_of
from .signature import signature_of

MAKE = "allo.stream"
PUTS = frozenset(("allo.put", "allo.try_put", "allo.full"))
"""What the producer of a FIFO does with it."""
GETS = frozenset(("allo.get", "allo.get_block", "allo.try_get", "allo.empty"))
"""What the consumer of a FIFO does with it."""
TRIES = frozenset(("allo.try_put", "allo.try_get", "allo.empty", "allo.full"))
"""What does not wait: what it tells depends on when it happens."""
STREAM_OPS = PUTS | GETS


@dataclass(frozen=True, slots=True)
class DeclaredStream:
    """One ``allo.stream``: the name of the FIFO, and its element and depth."""

    name: str
    kind: Stream


def declared_stream(op: ir.Operation) -> DeclaredStream:
    """What an ``allo.stream`` declares.

    Raises:
        BuildError: its depth is below 1.
        DTypeError: its ``dtype`` names no element.
    """
    attributes = op.attributes
    name, element = (ir.StringAttr(attributes[key]).value for key in ("name", "dtype"))
    depth = ir.IntegerAttr(attributes["depth"]).value
    if depth < 1:
        raise BuildError(f"FIFO {name} has depth {depth}; it needs at least 1.", place_of(op))
    return DeclaredStream(name, parse_stream(element, depth))


def stream_of_handle(handle: ir.Value) -> Stream | None:
    """The stream behind a handle; None for a value that is no handle.

    A handle is the result of ``allo.stream``, or an argument of a function whose declared type is
    a stream.

    Raises:
        BuildError: the depth of the ``allo.stream`` is below 1.
        DTypeError: the declared type is no type.
    """
    if not isinstance(handle, ir.BlockArgument):
        maker = handle.owner.operation
        return declared_stream(maker).kind if maker.name == MAKE else None
    function = handle.owner.owner.operation
    if function.name != "func.func":
        return None
    declared = signature_of(function).declared[handle.arg_number]
    kind = parse_type(declared) if declared else None
    return kind if isinstance(kind, Stream) else None
