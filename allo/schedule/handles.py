"""Handles: how a schedule names loops, bands of loops, and buffers.

Handles hold names, not operations, so they stay valid across structural changes. The aliases at the
end say what the parameters of primitives take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import HandleTypeError, UnknownHandleError

from .bands import bands_of
from .near import suggestion


@dataclass(frozen=True, slots=True)
class LoopWrapper:
    """A loop: its function, its band and its name.

    Attributes:
        func: function name.
        band: band name; ``""`` when only the function is known.
        loop_name: the loop's name in the band.
        module: where :attr:`loop` looks the names up; a handle made by hand has none.
    """

    func: str
    band: str
    loop_name: str
    module: ir.Module | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """``func:band.loop``."""
        return f"{self.func}:{self.band}.{self.loop_name}"

    @property
    def loop(self) -> ir.Operation:
        """The loop's operation as the module holds it now.

        Raises:
            UnknownHandleError: the module has no such loop any more, or the handle has no module.
        """
        symbols = None if self.module is None else ir.SymbolTable(self.module.operation)
        if symbols is not None and self.func in symbols:
            for band in reversed(bands_of(symbols[self.func].operation)):
                found = band.find(self.loop_name) if band.name == self.band else None
                if found is not None:
                    return found
        raise UnknownHandleError(
            f"There is no loop {self.name} now.",
            help="take the handle again from s.get_loops().",
        )

    def __copy__(self) -> LoopWrapper:
        """The handle itself, which nothing changes."""
        return self

    def __deepcopy__(self, memo: object) -> LoopWrapper:
        """The handle itself, which nothing changes."""
        return self

    def __reduce__(self) -> tuple[type[LoopWrapper], tuple[str, str, str]]:
        """Pickled as its names: the module stays in its process."""
        return LoopWrapper, (self.func, self.band, self.loop_name)

    def __repr__(self) -> str:
        return f"LoopWrapper({self.name})"


class LoopBand[Held]:
    """Loops of one nest by name (``LoopBand[LoopWrapper]``), or the bands of a function by name.

    ``band["i"]`` and ``band.i`` are the same; iterating yields ``(name, handle)`` in order.
    Two loops of one name in a band: the last is the one reached.
    """

    def __init__(self, loops: Mapping[str, Held], what: str) -> None:
        self.loops: dict[str, Held] = dict(loops)
        self._what = what

    def __getitem__(self, name: str) -> Held:
        found = self.loops.get(name)
        if found is None:
            raise UnknownHandleError(
                f"No such loop {name!r} in {self._what}.",
                help=suggestion(name, self.loops, "it holds"),
            )
        return found

    def __getattr__(self, name: str) -> Held:
        if name.startswith("__") or "loops" not in self.__dict__:
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[tuple[str, Held]]:
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
        if isinstance(first, LoopWrapper):
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


# What a parameter of a primitive takes. `compose` reads these from the annotations, so that it knows
# which function a string means; see `parameters.py`.

type Axis = str | LoopWrapper
"""A loop: ``"i"`` of the top function, ``"func:i"``, or a handle."""

type Buffer = str | MockBuffer
"""An array: ``"A"`` of the top function, ``"func:A"``, or a handle."""

type BandName = str
"""A nest of loops: ``"band"`` of the top function, or ``"func:band"``."""

type FunctionName = str
"""A function; where the parameter may be None, that is the top function."""

type Consumer = str
"""A band of the array's function, or a function that it calls."""

type Setting[T] = T
"""A value that names nothing of the schedule, such as a text: ``compose`` passes it on as it is."""
