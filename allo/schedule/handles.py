"""Handles: how a schedule names loops, bands of loops, and buffers.

Handles hold names, not operations, so they stay valid across structural changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import HandleTypeError, UnknownHandleError

from .near import suggestion


@dataclass(frozen=True, slots=True)
class LoopWrapper:
    """A loop: its function, its band and its name.

    Attributes:
        func: function name.
        band: band name; ``""`` when only the function is known.
        loop_name: the loop's name in the band.
        loop: the loop operation when the handle was made (a snapshot).
    """

    func: str
    band: str
    loop_name: str
    loop: ir.Operation | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """``func:band.loop``."""
        return f"{self.func}:{self.band}.{self.loop_name}"

    def __repr__(self) -> str:
        return f"LoopWrapper({self.name})"


class LoopBand:
    """Loops of one nest by name, or the bands of a function by name.

    ``band["i"]`` and ``band.i`` are the same; iterating yields ``(name, handle)`` in order.
    Two loops of one name in a band: the last is the one reached.
    """

    def __init__(self, loops: dict[str, LoopWrapper] | dict[str, LoopBand], what: str) -> None:
        self.loops: dict[str, LoopWrapper | LoopBand] = dict(loops)
        self._what = what

    def __getitem__(self, name: str) -> LoopWrapper | LoopBand:
        found = self.loops.get(name)
        if found is None:
            raise UnknownHandleError(
                f"No such loop {name!r} in {self._what}.",
                help=suggestion(name, self.loops, "it holds"),
            )
        return found

    def __getattr__(self, name: str) -> LoopWrapper | LoopBand:
        if name.startswith("__") or "loops" not in self.__dict__:
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[tuple[str, LoopWrapper | LoopBand]]:
        return iter(self.loops.items())

    def __len__(self) -> int:
        return len(self.loops)

    def __contains__(self, name: object) -> bool:
        return name in self.loops

    def get_outer_most(self) -> ir.Operation:
        """The operation of the band's outermost loop.

        Raises:
            HandleTypeError: on a collection of bands, which has none.
        """
        first = next(iter(self.loops.values()), None)
        if isinstance(first, LoopWrapper) and first.loop is not None:
            return first.loop
        raise HandleTypeError(
            f"{self._what} is not a single band of loops; take one of its bands.",
            help=f"its bands: {', '.join(self.loops)}.",
        )

    def __repr__(self) -> str:
        return f"LoopBand({list(self.loops)})"


@dataclass(frozen=True, slots=True)
class MockBuffer:
    """A buffer: an argument, local array, call result or constant of a function.

    Attributes:
        func: function name.
        name: the buffer's name in the function.
        idx: position among the results of a call that returns several.
    """

    func: str
    name: str
    idx: int | None = None

    def __repr__(self) -> str:
        return f"MockBuffer({self.func}:{self.name})"


Axis = str | LoopWrapper
Buffer = str | MockBuffer
