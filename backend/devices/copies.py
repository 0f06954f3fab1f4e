"""Arrays that would be copied whole, and are larger than the RAM of the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    induction_variable,
    is_affine_loop,
    parent_of,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import bound_map
from allo.dialects.boundary.arguments import Parameter
from allo.dialects.core.signature import entry_of, functions_of
from allo.dialects.diagnostics import CapacityError

_ACCESSES = {"affine.load": 0, "affine.store": 1}
ADVISED = 8
"""A cache is advised that takes this part of the RAM, so that it may have a second buffer, and blocks of two
kinds may hold it."""
Linear = tuple[dict[ir.Value, int], int]
"""Factors of values, and a constant."""
Moves = tuple[frozenset[tuple[int, int]], ...] | None
"""By which counters of loops around, and how far, an access moves in each dimension."""


def refuse_copies(
    module: ir.Module,
    top: str,
    whole: Mapping[int, tuple[Parameter, str]],
    ram: int,
    title: str,
    otherwise: str = "",
) -> None:
    """Refuse arrays that are copied whole, by position with the reason, where the device cannot hold them.

    Args:
        ram: bytes that the device has; ``title``: what it is called.
        otherwise: what else a build does so that nothing is copied, before the advice to cache it.

    Raises:
        CapacityError: one is larger; it names the largest, and the outermost loop with a part that fits.
    """
    sizes = {position: _bytes(each) for position, (each, _) in whole.items()}
    position = max(sizes, key=lambda each: sizes[each], default=0)
    if not sizes or sizes[position] <= ram:
        return
    parameter, why = whole[position]
    name, size = parameter.name, sizes[position]
    help = f"s.cache it at a loop whose iterations use at most {ram:,} bytes of it."
    found = next((each for each in _parts(module, top, position) if each[1] * ADVISED <= ram), None)
    if found is not None:
        loop, part = found
        help = f'cache it at loop {loop}, where it takes {part:,} bytes: s.cache(s.{name}, at="{loop}").'
    raise CapacityError(
        f"{name} is copied whole, as {why}, and takes {size:,} bytes; a {title} holds {ram:,} on "
        "chip.",
        parameter.place,
        help=otherwise + help,
    )


def _bytes(parameter: Parameter) -> int:
    count = prod(extent or 0 for extent in parameter.shape or ())
    return -(-count * parameter.dtype.bits // 8)


def _parts(module: ir.Module, top: str, position: int) -> Iterator[tuple[str, int]]:
    """Loops around accesses of an argument, the outermost first, with bytes that an iteration spans."""
    function = functions_of(module)[top]
    array = entry_of(function).arguments[position]
    kind = ir.MemRefType(array.type)
    element = kind.element_type
    bits = element.width if isinstance(element, ir.IntegerType | ir.FloatType) else 64
    spans: dict[tuple[int, str], int] = {}
    moves: dict[tuple[int, str], set[Moves]] = {}
    for op in walk(function):
        slot = _ACCESSES.get(op.name)
        if slot is None or op.operands[slot] != array:
            continue
        around = _loops(op)
        for depth, loop in enumerate(reversed(around)):
            key = depth, string_attribute(loop, "loop_name") or ""
            found = _span(op, list(kind.shape), around[: len(around) - 1 - depth])
            moves.setdefault(key, set()).add(found[1] if found else None)
            span = found[0] if found else 0
            spans[key] = max(spans.get(key, 0), -(-span * bits // 8))
    for key, size in sorted(spans.items()):
        # Accesses that move apart from one iteration to the next have no part of this size in common.
        if key[1] and len(moves[key]) == 1 and None not in moves[key]:
            yield key[1], size


def _loops(op: ir.Operation) -> list[ir.Operation]:
    found, at = [], parent_of(op)
    while at is not None:
        if is_affine_loop(at):
            found.append(at)
        at = parent_of(at)
    return found


def _span(
    op: ir.Operation, shape: list[int], inside: list[ir.Operation]
) -> tuple[int, Moves] | None:
    """Elements of the box that an access goes through while some loops run; how other counters move it."""
    steps: dict[ir.Value, int] = {}
    for loop in inside:
        trips = spec_of(loop).trip_count()
        if trips is None:
            return None
        steps[induction_variable(loop)] = (trips - 1) * spec_of(loop).step
    bound = bound_map(op)
    total, moves = 1, []
    for extent, expr in zip(shape, bound.results, strict=True):
        linear = bound.fold(expr, lambda v: ({v: 1}, 0), lambda n: ({}, n), _join)
        if linear is None:
            return None
        factors = linear[0]
        grows = sum(abs(f) * steps[v] for v, f in factors.items() if v in steps)
        total *= min(extent, grows + 1)
        moves.append(frozenset((hash(v), f) for v, f in factors.items() if v not in steps and f))
    return total, tuple(moves)


def _join(kind: str, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None:
        return None
    if kind == "+":
        values = {**left[0], **right[0]}
        return {v: left[0].get(v, 0) + right[0].get(v, 0) for v in values}, left[1] + right[1]
    if kind == "*":
        for one, other in ((left, right), (right, left)):
            if not one[0]:
                return {v: one[1] * f for v, f in other[0].items()}, one[1] * other[1]
    return None
