"""The memory space of an array that is a FIFO, or an array of them: ``"stream:4"``, ``"stream:4;SST"``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .._mlir import ir

PREFIX = "stream:"
"""How the memory space of every such array begins, and that of no other."""

_SPACE = re.compile(PREFIX + r"(\d+)(?:;([ST]+))?")


@dataclass(frozen=True, slots=True)
class StreamSpace:
    """How an array is a FIFO.

    Attributes:
        depth: elements each FIFO holds.
        labels: a letter a dimension: ``S`` (spatial) where each index is a FIFO of its own, ``T``
            (temporal) where indices follow one another; empty where the whole array is one FIFO.
    """

    depth: int
    labels: str = ""

    @property
    def spatial(self) -> tuple[int, ...]:
        """The dimensions that say which FIFO."""
        return tuple(d for d, letter in enumerate(self.labels) if letter == "S")

    def split(self, index: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(which FIFO, which element of it) of a subscript."""
        if not self.labels:
            return (), tuple(index)
        pairs = list(zip(self.labels, index, strict=True))
        return tuple(i for d, i in pairs if d == "S"), tuple(i for d, i in pairs if d == "T")

    def attribute(self) -> ir.StringAttr:
        """The memory space."""
        tail = f";{self.labels}" if self.labels else ""
        return ir.StringAttr.get(f"{PREFIX}{self.depth}{tail}")


def stream_space(kind: ir.Type | None) -> StreamSpace | None:
    """How an array of this type is a FIFO; None where it is none."""
    if kind is None or not isinstance(kind, ir.MemRefType):
        return None
    space = kind.memory_space
    return parse_space(space.value) if isinstance(space, ir.StringAttr) else None


@lru_cache(maxsize=256)
def parse_space(text: str) -> StreamSpace | None:
    """The fields of ``stream:5;SST``; None for text that says no layout."""
    match = _SPACE.fullmatch(text)
    return StreamSpace(int(match[1]), match[2] or "") if match else None


def in_space(kind: ir.MemRefType, space: StreamSpace | None) -> ir.MemRefType:
    """The same array type in another memory space."""
    attribute = None if space is None else space.attribute()
    return ir.MemRefType.get(
        kind.shape, kind.element_type, layout=kind.layout, memory_space=attribute
    )
