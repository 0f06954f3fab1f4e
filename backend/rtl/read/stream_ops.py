"""Puts and gets of streams as nodes; blocks are words as wide as the block."""

from __future__ import annotations

from itertools import product
from math import prod

from allo.dialects.diagnostics import SourcePlace, UnsupportedOpError
from allo.dialects.types import Stream as StreamType
from allo.dialects.types import parse_type

from ..graph.linear import constant
from ..graph.nodes import Array, Lin, Node, Stream
from .accesses import Memory
from .values.builder import Builder

LARGEST_BLOCK = 4096


def stream_of_type(name: str, declared: str, place: SourcePlace | None) -> Stream:
    """A stream from its textual type, ``stream<4x4xf32, 2>``."""
    kind = parse_type(declared)
    assert isinstance(kind, StreamType)
    return stream_of(name, kind, place)


def stream_of(name: str, kind: StreamType, place: SourcePlace | None) -> Stream:
    """A stream from its name and type."""
    count = prod(kind.shape)
    if count > LARGEST_BLOCK:
        raise UnsupportedOpError(
            f"Stream {name} carries blocks of {count} elements, more than {LARGEST_BLOCK}.",
            place,
            help="stream rows or tiles of the block instead.",
        )
    depth = max(1, kind.depth)
    return Stream(name, kind.element, kind.dtype.bits * count, depth, kind.shape, place=place)


class Streams:
    """Stream operations of the body a builder fills."""

    def __init__(self, builder: Builder, memory: Memory) -> None:
        self._b = builder
        self._memory = memory

    def parameter(
        self, name: str, declared: str, place: SourcePlace | None, groups: list[int]
    ) -> Stream:
        """The stream behind a function argument; ``groups``: those of all of them, [] if unknown."""
        stream = stream_of_type(name, declared, place)
        function = self._b.function
        stream.number = stream.parameter = len(function.streams)
        if groups:
            stream.group = groups[stream.parameter]
        function.streams.append(stream)
        return stream

    def put(self, stream: Stream, value: Node) -> None:
        """Send a word under the current predicate."""
        self._direct(stream, "put")
        predicate = self._predicate()
        operands = [value] if predicate is None else [value, predicate]
        self._b.add_node("put", 0, operands, stream=stream, predicate=predicate, label=stream.name)

    def get(self, stream: Stream) -> Node:
        """Receive a word under the current predicate."""
        self._direct(stream, "get")
        predicate = self._predicate()
        operands = [] if predicate is None else [predicate]
        return self._b.add_node(
            "get", stream.width, operands, stream=stream, predicate=predicate, label=stream.name
        )

    def attempt(self, stream: Stream, operation: str, value: Node | None = None) -> list[Node]:
        """What ``try_put``, ``try_get``, ``empty`` or ``full`` gives, under the current predicate."""
        kind = "put" if operation in ("try_put", "full") else "get"
        self._direct(stream, kind)
        stream.tried = True
        predicate = self._predicate()
        operands = [node for node in (value, predicate) if node is not None]
        width = stream.width + 1 if operation == "try_get" else 1
        node = self._b.add_node(
            kind,
            width,
            operands,
            stream=stream,
            predicate=predicate,
            label=stream.name,
            data=operation,
        )
        if width == 1:
            return [node]
        return [
            self._b.wire("slice", node, stream.width),
            self._b.wire("slice", node, 1, stream.width),
        ]

    def put_block(self, stream: Stream, array: Array) -> None:
        """Send an array as one word, its first element in the lowest bits."""
        saved = self._b.predicate
        self._b.predicate = None
        parts = [self._memory.load(array, index) for index in _indices(array.shape)]
        word = self._join(parts)
        self._b.predicate = saved
        self.put(stream, word)

    def get_block(self, stream: Stream, array: Array) -> None:
        """Receive a word into an array."""
        word = self.get(stream)
        for position, index in enumerate(_indices(array.shape)):
            part = self._b.wire("slice", word, array.width, position * array.width)
            self._memory.store(array, index, part)

    def _join(self, parts: list[Node]) -> Node:
        if len(parts) == 1:
            return parts[0]
        width = sum(part.width for part in parts)
        return self._b.add_node("wire", width, parts, data=("concat", 0))

    def _predicate(self) -> Node | None:
        predicate = self._b.predicate
        if predicate is not None and predicate.kind == "const" and predicate.data:
            return None
        return predicate

    def _direct(self, stream: Stream, direction: str) -> None:
        if stream.direction and stream.direction != direction:
            raise UnsupportedOpError(
                f"Function {self._b.function.name} both puts to and gets from stream {stream.name}.",
                self._b.place,
                help="give each direction a stream of its own.",
            )
        stream.direction = direction


def _indices(shape: tuple[int, ...]) -> list[tuple[Lin, ...]]:
    return [
        tuple(constant(position) for position in index)
        for index in product(*(range(extent) for extent in shape))
    ]
