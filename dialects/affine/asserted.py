"""Dependences that the user asserts: what a loop says of the accesses in it that are marked.

A loop has the assertions about it in ``dependences``, a text each. The loads and stores of the array that
stood in the loop then have the numbers of the assertions in ``asserted``. An access without the mark, such
as one that a pass adds, is not covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._mlir import ir
from .loops import walk

LOOP_MARK = "dependences"
ACCESS_MARK = "asserted"
KINDS = {
    "RAW": (True, False),
    "WAR": (False, True),
    "WAW": (True, True),
}
"""Whether the earlier access and the later one write."""


@dataclass(frozen=True, slots=True)
class Asserted:
    """Of two iterations of a loop within one iteration of the loops around it.

    Attributes:
        number: unique in the function.
        kind: ``"RAW"``, ``"WAR"``, ``"WAW"`` or ``"all"``.
        distance: iterations between two accesses of one element at least; 0 where there are none.
    """

    number: int
    array: str
    kind: str
    distance: int

    def __str__(self) -> str:
        return f"{self.number} {self.array} {self.kind} {self.distance}"

    @classmethod
    def read(cls, text: str) -> Asserted:
        """The assertion that a loop's mark spells."""
        number, array, kind, distance = text.split(" ")
        return cls(int(number), array, kind, int(distance))

    def covers(self, kind: str) -> bool:
        """Whether it says something of dependences of a kind."""
        return self.kind in (kind, "all")

    def least(self, copies: int = 1) -> int:
        """The least distance in steps of ``copies`` iterations; 0 where there is none."""
        return max(1, -(-(self.distance - copies + 1) // copies)) if self.distance else 0


def assertions_of(marks: Iterable[str]) -> tuple[Asserted, ...]:
    """The assertions of a loop's mark."""
    return tuple(map(Asserted.read, marks))


def marks_of(loop: ir.Operation) -> list[str]:
    """The mark of a loop, [] where it has none."""
    if LOOP_MARK not in loop.attributes:
        return []
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(loop.attributes[LOOP_MARK])]


def numbers_of(access: ir.Operation) -> list[int]:
    """The assertions that cover an access."""
    if ACCESS_MARK not in access.attributes:
        return []
    return list(ir.DenseI64ArrayAttr(access.attributes[ACCESS_MARK]))


def loops_asserted(root: Any) -> list[ir.Operation]:
    """The loops below an operation that have assertions."""
    return [op for op in walk(root) if LOOP_MARK in op.attributes]


def mark(
    function: ir.Operation,
    loop: ir.Operation,
    accesses: Sequence[ir.Operation],
    array: str,
    kind: str,
    distance: int,
) -> None:
    """Note an assertion on a loop and on the accesses that it covers."""
    taken = [a.number for op in loops_asserted(function) for a in assertions_of(marks_of(op))]
    made = Asserted(max(taken, default=-1) + 1, array, kind, distance)
    texts = [*marks_of(loop), str(made)]
    loop.attributes[LOOP_MARK] = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])
    for access in accesses:
        numbers = [*numbers_of(access), made.number]
        access.attributes[ACCESS_MARK] = ir.DenseI64ArrayAttr.get(numbers)
