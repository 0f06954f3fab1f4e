"""In which order a function touches its array arguments, counted out element by element."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from .._mlir import ir
from ..core.locations import place_of
from ..core.signature import entry_of, functions_of, signature_of
from ..diagnostics import InterfaceError, SourcePlace
from ..streams.trace import Trace

MOST_STEPS = 1 << 22
"""Accesses that are counted out for an argument that must be in order."""
FEW_STEPS = 1 << 18
"""Accesses that are counted out only to save a copy."""
_INSTEAD = "give it the interface 'm_axi', or copy it in order to or from a local array first."


def check_order(module: ir.Module, function: ir.Operation, position: int) -> None:
    """The elements of an array argument pass once each, in row-major order.

    Raises:
        InterfaceError: they do not; the place is that of the access.
    """
    argument = entry_of(function).arguments[position]
    name = signature_of(function).name(position)
    shape = tuple(ir.MemRefType(argument.type).shape)
    total, first = prod(shape), None
    count = 0
    for access, index, _ in _trace(module, function, {argument: 0}).events():
        place = place_of(access.op)
        first = first or access
        verb = "written" if access.writes else "read"
        if access.whole:
            raise _error(name, f"it is {verb} as a whole", place)
        if not access.is_known or index is None:
            raise _error(name, f"it is {verb} where data decide", place)
        if access.writes != first.writes:
            raise _error(name, "it is both read and written", place)
        if count == MOST_STEPS:
            raise _error(name, f"it has more than {MOST_STEPS} accesses", place)
        expected = _element(count, shape)
        if count >= total or index != expected:
            due = f"{_text(expected)} comes next" if count < total else "every element has passed"
            raise _error(name, f"element {_text(index)} is {verb} where {due}", place)
        count += 1
    if first is None:
        raise _error(name, "nothing reads or writes it", place_of(function))
    if count < total:
        verb = "written" if first.writes else "read"
        missing = _text(_element(count, shape))
        raise _error(name, f"element {missing} is never {verb}", place_of(first.op))


def written_whole(
    module: ir.Module, function: ir.Operation, positions: Collection[int]
) -> frozenset[int]:
    """Those of some array arguments whose every element the function surely writes."""
    arguments = entry_of(function).arguments
    wanted = {arguments[p]: n for n, p in enumerate(positions)}
    seen: list[set[tuple[int, ...]]] = [set() for _ in positions]
    with module.context, ir.Location.unknown():
        for steps, (access, index, _) in enumerate(_trace(module, function, wanted).events()):
            if steps == FEW_STEPS:
                break
            if access.writes and access.is_known and index is not None:
                seen[access.array].add(index)
    sizes = [prod(ir.MemRefType(arguments[p].type).shape) for p in positions]
    return frozenset(
        p for p, found, size in zip(positions, seen, sizes, strict=True) if len(found) == size
    )


def _trace(module: ir.Module, function: ir.Operation, arrays: Mapping[ir.Value, int]) -> Trace:
    operations = [op.operation for op in entry_of(function).operations]
    return Trace(functions_of(module.operation), operations, arrays)


def _element(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The subscripts of an element by its number, row-major."""
    found = []
    for extent in reversed(shape):
        number, rest = divmod(number, extent)
        found.append(rest)
    return tuple(reversed(found))


def _text(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _error(name: str, what: str, place: SourcePlace | None) -> InterfaceError:
    return InterfaceError(
        f"{name} cannot have the interface 'axis': {what}; a stream passes every element once, in "
        "row-major order.",
        place,
        help=_INSTEAD,
    )
