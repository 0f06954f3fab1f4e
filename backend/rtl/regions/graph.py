"""A dataflow region as its compiler knows it: which instances it has, and what joins them."""

from __future__ import annotations

from dataclasses import dataclass

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
class PortUser:
    """A member that uses a port of a memory which others may ask for in the same cycle.

    Attributes:
        member: its number.
        place: its array parameter, and the bank and the port of it that are joined to the port.
        waits: whether one in front of it may be served in its place.
    """

    member: int
    place: tuple[int, int, int]
    waits: bool


@dataclass(frozen=True, slots=True)
class SharedPort:
    """A port of a memory in a region, with the members that use it; those in front are served first.

    ``place``: the region's own array parameter, bank and port that it is, None for a memory inside.
    """

    users: tuple[PortUser, ...]
    place: tuple[int, int, int] | None = None

    @property
    def crowded(self) -> bool:
        """Whether some members may ask for it in the same cycle."""
        return any(user.waits for user in self.users)


@dataclass(frozen=True, slots=True)
class RegionGraph:
    """A region.

    Attributes:
        streams: its own and those of its parameters, by number.
        turns: values of the iterator of a region that is a loop, None for any other.
        needs: of such a region (first, second, distance): how many iterations the second member may be ahead
            of the end of the first's.
        ports: ports that some may ask for in the same cycle, and all ports of its array parameters.
        external: whether arrays outside of the design make members wait.
    """

    members: tuple[Member, ...]
    streams: tuple[Stream, ...]
    turns: range | None = None
    needs: tuple[tuple[int, int, int], ...] = ()
    ports: tuple[SharedPort, ...] = ()
    external: bool = False
