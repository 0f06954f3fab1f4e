"""Streams as the translator knows them: a FIFO, or an array of FIFOs, of a region."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from allo.dialects.diagnostics import DataflowError, SourcePlace
from allo.dialects.types import AlloType


@dataclass
class Ends:
    """Who uses one FIFO: for ``put`` and ``get``, the process and the place of its first use."""

    users: dict[str, tuple[str, SourcePlace]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    def use(
        self, action: str, process: str, place: SourcePlace, name: str, *, tries: bool = False
    ) -> None:
        """Note a use; ``tries`` where it does not wait.

        Raises:
            DataflowError: when another process does the same at this end, or this one asks at one end
                and uses the other.
        """
        opposite = self.users.get("get" if action == "put" else "put")
        if tries:
            self.tried.add(process)
        if opposite is not None and opposite[0] == process and process in self.tried:
            raise DataflowError(
                f"{process or 'A function'} asks the FIFO {name} at one end without waiting, and "
                "uses the other end.",
                place,
                notes=(("the other end is used here", opposite[1]),),
                help="ask .empty() where the FIFO is got from, and .full() where it is put into.",
            )
        other = self.users.setdefault(action, (process, place))
        if other[0] != process:
            role = "producer" if action == "put" else "consumer"
            raise DataflowError(
                f"The FIFO {name} has a second {role}: {process}.",
                place,
                notes=((f"{other[0]} is the first", other[1]),),
                help="give each pair of processes a FIFO of its own.",
            )


@dataclass
class StreamSymbol:
    """A stream of a region, or a parameter that stands for one FIFO.

    Attributes:
        name: the user's name.
        dtype: the type of an element.
        block: the shape of a block; None where elements are scalars.
        depth: how many elements it holds.
        shape: the extents of an array of FIFOs; () for one FIFO.
        python: the name in the translated text.
        ends: who uses each FIFO, by its indices.
        is_parameter: it stands for a FIFO that a caller gives.
    """

    name: str
    dtype: AlloType
    block: tuple[int, ...] | None
    depth: int
    shape: tuple[int, ...]
    python: str
    is_parameter: bool = False
    ends: dict[tuple[int, ...], Ends] = field(default_factory=dict)

    def all_indices(self) -> list[tuple[int, ...]]:
        """The indices of all FIFOs, row by row."""
        return list(product(*map(range, self.shape)))

    @property
    def is_filled(self) -> bool:
        """Whether a stream that is an argument of a region is put into."""
        return "put" in self.end(()).users

    def end(self, indices: tuple[int, ...]) -> Ends:
        """Who uses the FIFO at these indices."""
        return self.ends.setdefault(indices, Ends())


@dataclass(frozen=True)
class OneFifo:
    """One FIFO, chosen by known indices."""

    stream: StreamSymbol
    indices: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "_".join([self.stream.name, *map(str, self.indices)])

    @property
    def python(self) -> str:
        """Its name in the text."""
        return "_".join([self.stream.python, *map(str, self.indices)])
