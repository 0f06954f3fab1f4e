"""How the world outside treats the streams of a design, and what passed over them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamModel:
    """The outside of one stream port."""

    stall: float = 0.0


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """What passed over one stream."""

    words: int
