"""What builds check when they run: subscripts and asserted dependences, and the errors of failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._mlir import ir
from ..diagnostics import BoundsError, DependenceError, SourcePlace
from .locations import place_of

CHECK = "allo.check_bounds"
DEPENDENCE_CHECK = "allo.check_dependence"
CHECKS = (CHECK, DEPENDENCE_CHECK)


@dataclass(frozen=True, slots=True)
class BoundsSite:
    """One check of the subscripts of one access.

    Attributes:
        array: the name of the array.
        shape: its extents; None for one that only the run knows.
    """

    array: str
    shape: tuple[int | None, ...]
    place: SourcePlace | None

    @property
    def what(self) -> str:
        """The failure in a few words."""
        return f"a subscript of {self.array} is out of range"

    @property
    def words(self) -> int:
        """How many numbers tell of a failure: a subscript a dimension, then the open extents."""
        return len(self.shape) + self.shape.count(None)

    def error(self, words: Sequence[int]) -> BoundsError:
        """The exception for a failure that these numbers tell of, as signed integers."""
        rank = len(self.shape)
        index = tuple(words[:rank])
        opened = iter(words[rank:])
        shape = tuple(next(opened) if extent is None else extent for extent in self.shape)
        wrong = [
            f"dimension {d} takes 0 to {extent - 1}"
            for d, (i, extent) in enumerate(zip(index, shape, strict=True))
            if not 0 <= i < extent
        ]
        return BoundsError(
            f"Index out of range: {self.array}[{', '.join(map(str, index))}] of an array of shape "
            f"[{', '.join(map(str, shape))}]; {' and '.join(wrong)}.",
            self.place,
            array=self.array,
            index=index,
            shape=shape,
            help="guard the access with an if, or make the array larger.",
        )


@dataclass(frozen=True, slots=True)
class DependenceSite:
    """One check of a dependence that the user asserts, before the later access of a pair.

    Attributes:
        kind: ``"RAW"``, ``"WAR"`` or ``"WAW"``.
        distance: iterations that the two are apart at least; 0 where there are no two.
        rank: dimensions of the array.
    """

    array: str
    loop: str
    kind: str
    distance: int
    rank: int
    place: SourcePlace | None

    @property
    def words(self) -> int:
        """How many numbers tell of a failure: the iterator at both accesses, and the subscripts."""
        return 2 + self.rank

    @property
    def what(self) -> str:
        """The failure in a few words."""
        return f"the dependence asserted on {self.array} does not hold"

    def error(self, words: Sequence[int]) -> DependenceError:
        """The exception for a failure that these numbers tell of, as signed integers."""
        earlier, later, *index = words
        element = f"{self.array}[{', '.join(map(str, index))}]"
        first, second = _VERBS[self.kind]
        said = (
            f"that touch one element are at least {self.distance} apart"
            if self.distance
            else "touch no element in common"
        )
        return DependenceError(
            f"The dependence asserted on {self.array} does not hold: iteration {self.loop}={later} "
            f"{second} {element}, which iteration {self.loop}={earlier} has {first}; two iterations of "
            f"{self.loop} {said} ({self.kind}).",
            self.place,
            array=self.array,
            loop=self.loop,
            iterations=(earlier, later),
            index=tuple(index),
            help="assert what holds for all inputs, or leave the dependence to the scheduler.",
        )


_VERBS = {"RAW": ("stored", "loads"), "WAR": ("loaded", "stores"), "WAW": ("stored", "stores")}

type Site = BoundsSite | DependenceSite


def site_of(op: ir.Operation) -> Site:
    """What a check says of itself."""
    attributes = {name: op.attributes[name] for name in op.attributes}
    values = {name: list(a) if name == "shape" else a.value for name, a in attributes.items()}
    return site_from(op.name, values, place_of(op))


def site_from(name: str, attributes: Mapping[str, Any], place: SourcePlace | None) -> Site:
    """The same of an operation given by its name and the values of its attributes."""
    array = attributes["array"]
    if name == CHECK:
        shape = tuple(None if extent < 0 else extent for extent in attributes["shape"])
        return BoundsSite(array, shape, place)
    loop, kind = attributes["loop"], attributes["kind"]
    return DependenceSite(array, loop, kind, attributes["distance"], attributes["rank"], place)


def as_signed_words(words: Sequence[int]) -> list[int]:
    """64-bit words as signed integers."""
    return [(word ^ (1 << 63)) - (1 << 63) for word in words]
