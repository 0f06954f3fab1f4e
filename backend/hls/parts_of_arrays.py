"""In which part of a split array an access is, and the same access of that part alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    enclosing_loops,
    is_affine_loop,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import bound_map
from allo.dialects.affine.substitute import simplify
from allo.dialects.core.effects import LOADS, STORES
from allo.dialects.core.locations import place_of
from allo.dialects.core.partition import (
    ArrayLayout,
    DimPartition,
    Partition,
    layout_of,
    make_dim,
    with_layout,
)
from allo.dialects.core.rewrite import replace_operation
from allo.dialects.core.signature import function_around, symbol
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.passes.unroll import fold_conditions, unroll_completely
from allo.dialects.ranges.indices import loop_of
from allo.dialects.ranges.interval import Interval
from allo.dialects.ranges.values import expression_interval, interval_of

from .errors import MemorySplitError, UnknownPartError

_ACCESSES = LOADS | STORES
"""Where an access has its array; the subscripts stand behind it."""


@dataclass(frozen=True, slots=True)
class Split:
    """An array whose first dimension is cut into parts of equal size.

    Attributes:
        name: the user's name of the argument of the top function.
        parts: how many.
        rows: extent of the first dimension of a part.
        kind: type of a part.
        drops: whether a part has no first dimension, because it has one row and other dimensions.
    """

    name: str
    parts: int
    rows: int
    kind: ir.MemRefType
    drops: bool

    @classmethod
    def of(cls, name: str, whole: ir.MemRefType, parts: int) -> Split:
        """The split of an array of this type."""
        rows = whole.shape[0] // parts
        first, *others = layout_of(whole).dims
        drops = rows == 1 and bool(others)
        dims = tuple(others if drops else [_rows_of_part(first, rows), *others])
        plain = ir.MemRefType.get(
            [dim.extent for dim in dims], whole.element_type, memory_space=whole.memory_space
        )
        return cls(name, parts, rows, with_layout(plain, ArrayLayout(dims)), drops)


def _rows_of_part(whole: DimPartition, rows: int) -> DimPartition:
    """How the rows of a part are partitioned: as those of the array are."""
    if whole.kind is None or rows == 1:
        return DimPartition(None, 1, rows)
    factor = -(-rows // whole.depth) if whole.kind is Partition.Block else whole.banks
    return make_dim(whole.kind, rows, factor)


# --- where an access is ----------------------------------------------------------------------------


def part_of(op: ir.Operation, split: Split, calls: Sequence[SourcePlace]) -> int:
    """The number of the part that an operation touches.

    Args:
        calls: the calls through which the operation is reached.

    Raises:
        UnknownPartError: it may be one of several.
        MemorySplitError: the operation touches the whole array, or no row of it.
    """
    if op.name not in _ACCESSES:
        raise used_whole(op, split, calls)
    rows = _rows(op)
    if rows is None or rows[0] // split.rows != rows[1] // split.rows:
        raise UnknownPartError(
            f"The compiler cannot prove in which of the {split.parts} memories of {split.name} this "
            "access is.",
            place_of(op),
            help=f"{_remedy(op)}, or give {split.name} one memory in hbm_mapping.",
            notes=_through(calls),
        )
    number = rows[0] // split.rows
    if not 0 <= number < split.parts:
        raise MemorySplitError(
            f"The first subscript of this access is {rows[0]}, and {split.name} has rows 0 to "
            f"{split.parts * split.rows - 1}.",
            place_of(op),
            help="keep the subscript within the array.",
            notes=_through(calls),
        )
    return number


def used_whole(op: ir.Operation, split: Split, calls: Sequence[SourcePlace]) -> MemorySplitError:
    """The refusal of an operation that takes a split array as one."""
    return MemorySplitError(
        f"The array {split.name} is used whole here, and its rows are in {split.parts} memories.",
        place_of(op),
        help=f"read or write its elements in loops, or give {split.name} one memory in hbm_mapping.",
        notes=_through(calls),
    )


def _through(calls: Sequence[SourcePlace]) -> tuple[tuple[str, SourcePlace], ...]:
    return tuple(("It is reached through this call.", place) for place in reversed(calls))


def _rows(op: ir.Operation) -> Interval | None:
    """The rows that an access cannot leave."""
    if op.name.startswith("affine."):
        bound = bound_map(op)
        return expression_interval(bound.results[0], bound, op)
    return interval_of(op.operands[_ACCESSES[op.name] + 1], op)


def _remedy(op: ir.Operation) -> str:
    loops = [loop for loop in _loops_behind(_subscripts(op)) if not _runs_once(loop)]
    named = [string_attribute(loop, "loop_name") for loop in loops]
    names = [f"{symbol(function_around(op))}:{name}" for name in named if name]
    if not names:
        return "make the first subscript a constant"
    return f"unroll the loop{'s' if names[1:] else ''} {' and '.join(names)} completely"


def _runs_once(loop: ir.Operation) -> bool:
    return is_affine_loop(loop) and spec_of(loop).trip_count() == 1


def _subscripts(op: ir.Operation) -> list[ir.Value]:
    """What the first subscript is made of; for a call its scalars."""
    if op.name == "func.call":
        return [v for v in op.operands if isinstance(v.type, (ir.IndexType, ir.IntegerType))]
    if op.name.startswith("affine."):
        bound = bound_map(op)
        return list(simplify(bound.alone(bound.results[0])).operands)
    return [op.operands[_ACCESSES[op.name] + 1]]


def _loops_behind(values: Iterable[ir.Value]) -> list[ir.Operation]:
    """The loops whose iterators the values are made of."""
    found: list[ir.Operation] = []
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop(0)
        if value in seen:
            continue
        seen.add(value)
        if not isinstance(value, ir.BlockArgument):
            waiting += value.owner.operation.operands
            continue
        loop = loop_of(value)
        if loop is not None and loop not in found:
            found.append(loop)
    return found


# --- loops ---------------------------------------------------------------------------------------


def unroll_for(function: ir.Operation, arrays: Mapping[ir.Value, Split]) -> None:
    """Unroll, in place, the completely unrolled loops on which the parts of accesses depend."""
    while loop := _loop_to_unroll(function, arrays):
        if not unroll_completely(loop):
            break
        fold_conditions(function)


def _loop_to_unroll(
    function: ir.Operation, arrays: Mapping[ir.Value, Split]
) -> ir.Operation | None:
    for op in walk(function):
        split = next((arrays[v] for v in op.operands if v in arrays), None)
        if split is None or not (op.name == "func.call" or op.name in _ACCESSES):
            continue
        rows = _rows(op) if op.name in _ACCESSES else None
        if rows is not None and rows[0] // split.rows == rows[1] // split.rows:
            continue
        for loop in _loops_behind(_subscripts(op)):
            if _is_unrolled(loop):
                return loop
    return None


def _is_unrolled(loop: ir.Operation) -> bool:
    """Whether a loop is hardware for every iteration: by its own mark, or in a pipelined loop."""
    if not is_affine_loop(loop):
        return False
    count = spec_of(loop).trip_count()
    if count is None:
        return False
    if "unroll" in loop.attributes:
        factor = ir.IntegerAttr(loop.attributes["unroll"]).value
        return bool(factor == 0 or factor >= count)
    return any("pipeline_ii" in around.attributes for around in enclosing_loops(loop))


# --- the same access of the part -------------------------------------------------------------------


def move_access(op: ir.Operation, split: Split, number: int, part: ir.Value) -> None:
    """Let an access name a part of its array, in place."""
    at = _ACCESSES[op.name]
    attributes = {n: op.attributes[n] for n in op.attributes}
    lead = [*list(op.operands)[:at], part]
    if not op.name.startswith("affine."):
        replace_operation(op, op.name, [*lead, *_plain(op, split, number)], attributes)
        return
    bound = bound_map(op)
    first, *others = bound.results
    begin = ir.AffineExpr.get_constant(-number * split.rows)
    results = others if split.drops else [ir.AffineExpr.get_add(first, begin), *others]
    made = ir.AffineMap.get(bound.map.n_dims, bound.map.n_symbols, results)
    moved = simplify(type(bound)(made, bound.operands))
    attributes["map"] = ir.AffineMapAttr.get(moved.map)
    replace_operation(op, op.name, [*lead, *moved.operands], attributes)


def _plain(op: ir.Operation, split: Split, number: int) -> list[ir.Value]:
    """The subscripts of an access that is not affine, counted from the first row of the part."""
    first, *others = list(op.operands)[_ACCESSES[op.name] + 1 :]
    if split.drops:
        return others
    if number == 0:
        return [first, *others]
    ip = ir.InsertionPoint(op)
    begin = ir.Operation.create(
        "arith.constant",
        results=[first.type],
        attributes={"value": ir.IntegerAttr.get(first.type, number * split.rows)},
        loc=op.location,
        ip=ip,
    )
    moved = ir.Operation.create(
        "arith.subi",
        results=[first.type],
        operands=[first, begin.result],
        loc=op.location,
        ip=ip,
    )
    return [moved.result, *others]


__all__ = ["Split", "move_access", "part_of", "unroll_for", "used_whole"]
