"""``place``: say in which memory an argument lies."""

from __future__ import annotations

from collections.abc import Collection

from allo.dialects._mlir import ir
from allo.dialects.core.alias import AliasClasses
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import entry_of, functions_of, has_body, signature_of
from allo.dialects.diagnostics import AlloError, PlacementError
from allo.dialects.interfaces.placements import note_placements, placements_of, read_placement
from allo.schedule.handles import Buffer, Setting
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, find_buffer, find_function
from allo.schedule.state import ScheduleState


@primitive
def place(s: ScheduleState, target: Buffer, where: Setting[str]) -> None:
    """Say in which channels of external memory an argument of the top function lies, or that it is on chip.

    ::

        s.place(s.A, "hbm[0]")   ──▶   func.func @f(%A: …) attributes {placements = {A = "hbm[0]"}}

    Builds for hardware then reach the array through an AXI4 master of that channel; what is computed stays as
    it is. An argument of a function that the top calls is the array that the call passes.

    Args:
        where: ``"hbm[0]"``, ``"hbm[0:4]"`` for the channels 0 to 3, ``"ddr[1]"``, or ``"on_chip"``.

    Raises:
        PlacementError: ``where`` names no memory; the array is no argument of the top function, is two of
            them, or was placed elsewhere.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "place")
    top = find_function(s.module, s.top_func_name)
    arguments = list(entry_of(top).arguments)
    if buffer.value in arguments and isinstance(buffer.value.type, ir.MemRefType):
        # Another argument may stand in its place in a later call, and still lies where it lies.
        name = signature_of(top).name(arguments.index(buffer.value))
    else:
        name = argument_of(s, top, buffer, "place", PlacementError)
    site = place_of(buffer.value.location) or place_of(top)
    placed = placements_of(top)
    asked = read_placement(where, buffer.name, site)
    if placed.get(name, asked) != asked:
        raise PlacementError(
            f"place: {_called(buffer, name, s.top_func_name)} cannot lie in {asked}: it was placed in "
            f"{placed[name]} before.",
            site,
            help="an array lies in one place; leave one of the calls out.",
        )
    note_placements(top, placed | {name: asked})


def argument_of(
    s: ScheduleState, top: ir.Operation, buffer: FoundBuffer, verb: str, error: type[AlloError]
) -> str:
    """The argument of the top function that a buffer is.

    Args:
        verb: of the primitive that asks.
        error: what it raises.

    Raises:
        AlloError: it is none, or several.
    """
    same = AliasClasses(s.module.operation).members(buffer.value)
    names = signature_of(top)
    found = [n for n, value in enumerate(entry_of(top).arguments) if value in same]
    site = place_of(buffer.value.location) or place_of(buffer.function)
    if not found or not isinstance(buffer.value.type, ir.MemRefType) or not buffer.type.rank:
        raise error(
            f"{verb}: {buffer.name} of {buffer.func} is no array argument of {s.top_func_name}, and other "
            "variables are on chip.",
            site,
            help="name an argument, or make the array one.",
        )
    if len(found) > 1:
        both = " and ".join(names.name(n) for n in found)
        if buffer.value in list(entry_of(top).arguments):
            shared = _takers(s, top, same)
            raise error(
                f"{verb}: {buffer.name} of {s.top_func_name} cannot have an order of its own: "
                f"{' and '.join(shared)} takes {both} in turn, by one parameter.",
                site,
                help=f'call an instance for each array, such as {shared[0]}["{buffer.name}"](…).',
            )
        raise error(
            f"{verb}: {buffer.name} of {buffer.func} is {both} of {s.top_func_name}, which may lie in two "
            "places.",
            site,
            help=f"name the arguments of {s.top_func_name}.",
        )
    return names.name(found[0])


def _takers(s: ScheduleState, top: ir.Operation, same: Collection[ir.Value]) -> list[str]:
    """The functions below the top of which a parameter is one of these arrays."""
    return [
        name
        for name, function in functions_of(s.module).items()
        if function != top
        and has_body(function)
        and any(value in same for value in entry_of(function).arguments)
    ]


def _called(buffer: FoundBuffer, name: str, top: str) -> str:
    return (
        buffer.name
        if buffer.func == top
        else f"{buffer.name} of {buffer.func}, which is {name} of {top},"
    )
