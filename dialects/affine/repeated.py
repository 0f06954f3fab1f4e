"""Processes that do the same in every iteration of one loop: two iterations stand for all.

A process is *repeated* where all its accesses are in one loop, and its iterations differ in one
subscript of each array only, which is the loop's index. Where all processes of a network are, with
equal bounds, each iteration passes its own elements, as many in as out of each FIFO. So the order
is right in all iterations where it is in one, and the processes come to an end where those of one
iteration do: run iteration by iteration, each leaves the FIFOs empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

STANDING = 2
"""Iterations that are counted out: two show which subscript moves."""


class DiffersError(Exception):
    """The iterations of a loop differ in more than a subscript."""


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """``factor * index + constant``, where the index of the repeated loop is not known."""

    factor: int
    constant: int

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Moving):
            return _moving(self.factor + other.factor, self.constant + other.constant)
        return Moving(self.factor, self.constant + other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Moving):
            raise DiffersError
        return _moving(self.factor * other, self.constant * other)

    __radd__ = __add__
    __rmul__ = __mul__

    def _differs(self, *_: Any) -> NoReturn:
        raise DiffersError

    __neg__ = __mod__ = __floordiv__ = __rmod__ = __rfloordiv__ = _differs
    __lt__ = __le__ = __gt__ = __ge__ = __index__ = _differs

    def __eq__(self, other: object) -> bool:
        raise DiffersError

    @property
    def is_index(self) -> bool:
        """Whether it is the index itself."""
        return self.factor == 1 and self.constant == 0


def _moving(factor: int, constant: int) -> Moving | int:
    return Moving(factor, constant) if factor else constant


INDEX = Moving(1, 0)


@dataclass(frozen=True, slots=True)
class Repeated:
    """What a process does again and again.

    Attributes:
        bounds: lower, upper and step of the loop.
        dims: of each array it touches, by number, the dimension whose subscript is the index.
    """

    bounds: tuple[int, int, int]
    dims: Mapping[int, int]


def moving_dim(index: Sequence[Any]) -> int | None:
    """The dimension whose subscript is the index; None where another moves, or several do."""
    moving = [d for d, i in enumerate(index) if isinstance(i, Moving)]
    return moving[0] if len(moving) == 1 and index[moving[0]].is_index else None


def all_repeated(found: Iterable[Repeated | None], fixed: Sequence[Collection[int]]) -> bool:
    """Whether processes are repeated with equal bounds and agree in the dimensions that move.

    Args:
        found: for each process that touches an array.
        fixed: for each array the dimensions that may not move, as they say which FIFO.
    """
    bounds: set[tuple[int, int, int]] = set()
    dims: dict[int, int] = {}
    for each in found:
        if each is None:
            return False
        bounds.add(each.bounds)
        if any(dims.setdefault(array, dim) != dim for array, dim in each.dims.items()):
            return False
    return len(bounds) == 1 and all(dim not in fixed[array] for array, dim in dims.items())
