"""What a loop reads and writes, and whether its iterations are independent of each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import body_of, induction_variable, is_affine_loop
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.core.effects import EffectAnalysis, Key
from allo.dialects.types import parse_type

_ACCESSES = {"affine.load": 0, "affine.store": 1}
_PURE = ("arith.", "math.")
MOST_OPERATIONS = 400
"""A loop of more is not looked at: it has been unrolled."""

Row = Mapping[ir.Value | None, int]
"""A subscript as a sum: what each index value is multiplied with, the constant under None."""


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store.

    Attributes:
        key: the memory, as :class:`EffectAnalysis` names it.
        exact: the rows are subscripts of that memory itself, not of a view.
        rows: the subscripts; None where one is no sum.
        shape: the extents of the array; negative where one is not constant.
        element_bytes: from one element to the next.
    """

    key: Key
    exact: bool
    writes: bool
    rows: tuple[Row | None, ...]
    shape: tuple[int, ...]
    element_bytes: int

    def stride(self, index: ir.Value) -> int | None:
        """Elements from one iteration of a loop to the next; None where that is not constant."""
        total, step = 0, 1
        for row, extent in zip(reversed(self.rows), reversed(self.shape), strict=True):
            if row is None:
                return None
            factor = row.get(index, 0)
            if factor and step <= 0:
                return None
            total += factor * step
            step = step * extent if extent > 0 else 0
        return total

    def is_strided(self, index: ir.Value) -> bool:
        """Whether successive iterations touch elements that neither are one nor lie side by side."""
        return self.stride(index) not in (0, 1, -1)


@dataclass(frozen=True, slots=True)
class Body:
    """A loop whose operations are all known.

    Attributes:
        accesses: of the loop and the loops in it.
        inside: the values made in the loop, the iterators of inner loops among them.
        innermost: the loops in it that hold no loops, each with the accesses it makes.
        loops: all loops in it.
    """

    loop: ir.Operation
    accesses: tuple[Access, ...]
    inside: frozenset[ir.Value]
    innermost: tuple[tuple[ir.Operation, tuple[Access, ...]], ...]
    loops: tuple[ir.Operation, ...]

    @property
    def index(self) -> ir.Value:
        """The loop's iterator."""
        return induction_variable(self.loop)

    def is_independent(self, also_fixed_in: Iterable[ir.Value] = ()) -> bool:
        """Whether no two iterations touch an element that one of them writes.

        So it is where each array that is written has a dimension in which all of its accesses have
        one subscript, which moves with the iterator and with nothing else inside the loop.

        Args:
            also_fixed_in: further index values with which that subscript may not move.
        """
        moving = self.inside | set(also_fixed_in)
        written = {access.key for access in self.accesses if access.writes}
        return all(self._is_divided(key, moving) for key in written)

    def _is_divided(self, key: Key, moving: frozenset[ir.Value]) -> bool:
        accesses = [access for access in self.accesses if access.key == key]
        first = accesses[0]
        if not all(a.exact and a.shape == first.shape for a in accesses):
            return False
        return any(
            row is not None
            and row.get(self.index, 0) != 0
            and moving.isdisjoint(row)
            and all(a.rows[dim] == row for a in accesses)
            for dim, row in enumerate(first.rows)
        )


def read_body(loop: ir.Operation, memory: EffectAnalysis) -> Body | None:
    """What a loop does; None where that is much, or more than arithmetic on elements of arrays."""
    reader = _Reader(memory)
    if not reader.visit(loop):
        return None
    return Body(
        loop,
        tuple(reader.accesses),
        frozenset(reader.inside),
        tuple(reader.innermost),
        tuple(reader.loops),
    )


class _Reader:
    """Collects what the loops of a nest hold."""

    def __init__(self, memory: EffectAnalysis) -> None:
        self._memory = memory
        self._operations = count()
        self.accesses: list[Access] = []
        self.inside: set[ir.Value] = set()
        self.innermost: list[tuple[ir.Operation, tuple[Access, ...]]] = []
        self.loops: list[ir.Operation] = []

    def visit(self, outer: ir.Operation) -> bool:
        """Whether all operations of a loop, and of those in it, are known."""
        own: list[Access] = []
        has_loops = False
        for view in body_of(outer).operations:
            op = view.operation
            if next(self._operations) > MOST_OPERATIONS:
                return False
            if is_affine_loop(op):
                if len(op.results) or not self.visit(op):
                    return False
                self.inside.add(induction_variable(op))
                self.loops.append(op)
                has_loops = True
            elif op.name in _ACCESSES:
                own.append(access_of(op, self._memory))
                self.inside.update(op.results)
            elif op.name.startswith(_PURE) and not len(op.regions):
                self.inside.update(op.results)
            elif op.name != "affine.yield":
                return False
        self.accesses.extend(own)
        if not has_loops:
            self.innermost.append((outer, tuple(own)))
        return True


def uses_index(operands: Sequence[ir.Value], index: ir.Value) -> bool:
    """Whether a bound of a loop moves with an iterator."""
    return any(operand == index for operand in operands)


def access_of(op: ir.Operation, memory: EffectAnalysis) -> Access:
    """A load or a store as an access."""
    array = op.operands[_ACCESSES[op.name]]
    place = memory.memory_of(array)
    bound = bound_map(op)
    rows = tuple(_row(bound, expr) for expr in bound.results)
    size = cell_bytes(parse_type(str(array.type.element_type)))
    writes = op.name == "affine.store"
    return Access(place.key, place.exact, writes, rows, tuple(array.type.shape), size)


def _row(bound: BoundMap, expr: ir.AffineExpr) -> Row | None:
    return bound.fold(expr, lambda value: {value: 1}, lambda n: {None: n} if n else {}, _joined)


def _joined(operator: str, left: Row | None, right: Row | None) -> Row | None:
    if left is None or right is None:
        return None
    if operator == "+":
        total = dict(left)
        for value, factor in right.items():
            total[value] = total.get(value, 0) + factor
        return {value: factor for value, factor in total.items() if factor}
    if operator == "*" and set(right) <= {None}:
        scale = right.get(None, 0)
        return {value: factor * scale for value, factor in left.items() if factor * scale}
    return None
