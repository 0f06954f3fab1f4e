"""A dataflow region as its compiler knows it: which instances it has, and what joins them."""

from __future__ import annotations

from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace

from ..graph.nodes import Stream


@dataclass(frozen=True, slots=True)
class Turn:
    """A scalar that is the iterator of the region's loop."""


@dataclass(frozen=True, slots=True)
class Given:
    """A scalar that is an argument of the region, by its position among the scalars."""

    position: int
    width: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Member:
    """An instance of a region.

    Attributes:
        label, callee: its name, and the function's.
        module: the module of it.
        streams, arrays: numbers of the region's that its parameters are joined to.
        scalars: its scalar arguments.
        after: members that are done before it starts.
        endless: whether it is stopped when the others have ended.
        early: whether registers bring its end to the region's (:class:`..emit.network.instances.Progress`).
        shares: whether it may have to wait for a port of a memory.
    """

    label: str
    callee: str
    module: str
    streams: tuple[int, ...]
    arrays: tuple[int, ...]
    scalars: tuple[int | Turn | Given, ...]
    place: SourcePlace | None
    after: tuple[int, ...] = ()
    endless: bool = False
    early: bool = False
    shares: bool = False


@dataclass(frozen=True, slots=True)
class RegionGraph:
    """A region.

    Attributes:
        streams: its own and those of its parameters, by number.
        turns: values of the iterator of a region that is a loop, None for any other.
        needs: of such a region (first, second, distance): how many iterations the second member may be ahead
            of the end of the first's.
    """

    members: tuple[Member, ...]
    streams: tuple[Stream, ...]
    turns: range | None = None
    needs: tuple[tuple[int, int, int], ...] = field(default=())
