"""Models of the channels in which the schedule places arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from allo.backend.devices.cards import check_placements
from allo.backend.devices.fields.card import Card
from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import entry_of, signature_of
from allo.dialects.diagnostics import OptionError, PlacementError
from allo.dialects.interfaces.placements import KINDS, Placement, placements_of

from .traffic import DRAM, IDEAL, MemoryChannel, external_memory

TIMINGS = (IDEAL, DRAM)


def placed_memory(
    function: ir.Operation,
    memory: Mapping[str, Any] | str | None,
    clock_mhz: float,
    card: Card | None,
    part: str | None,
) -> dict[str, Any] | None:
    """The option ``memory`` with the channels of arrays that the schedule places.

    ``"ideal"`` and ``"dram"`` are the timing of all of these. What a dict gives takes precedence, also for
    other arrays on a channel that it names; and where it has channels with banks, the others have banks too.

    Raises:
        OptionError: a timing alone, and nothing is placed.
        PlacementError: a kind of memory has fewer channels, or an array that lies on chip is given some.
    """
    placed = placements_of(function)
    signature = signature_of(function)
    values = entry_of(function).arguments
    places = {signature.name(n): place_of(value.location) for n, value in enumerate(values)}
    check_placements(card, placed, places, part)
    outside = {name: where for name, where in placed.items() if where.outside}
    if isinstance(memory, str) and not outside:
        raise OptionError(
            f"Option memory is {memory!r}, and no array is placed in external memory.",
            help='s.place(s.A, "hbm[0]") places one; or give memory= a dict from arrays to channels.',
        )
    given = {} if memory is None or isinstance(memory, str) else dict(memory)
    for name in given:
        if name in placed and not placed[name].outside:
            raise PlacementError(
                f"{name} lies on chip, and memory= gives it channels of external memory.",
                places[name],
                help="leave it out of memory=, or place it in a channel.",
            )
    known = {channel.name: channel for channel in _of_a_dict(given)}
    banked = any(channel.timing == DRAM for channel in known.values())
    timing = memory if isinstance(memory, str) else DRAM if banked else IDEAL
    found = {
        name: _channels(name, where, timing, clock_mhz, known)
        for name, where in outside.items()
        if name not in given
    }
    return found | given or None


def _of_a_dict(given: Mapping[str, Any]) -> Iterator[MemoryChannel]:
    """The channels in a dict of the option, as far as they are some."""
    for value in given.values():
        for channel in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(channel, MemoryChannel):
                yield channel


def _channels(
    name: str,
    where: Placement,
    timing: str,
    clock_mhz: float,
    known: Mapping[str, MemoryChannel],
) -> Any:
    every = external_memory(KINDS[where.kind], clock_mhz, timing=timing)
    if where.end > len(every):
        raise PlacementError(
            f"{name} lies in {where}, and {where.kind} has {len(every)} channels.",
            help="channels count from 0.",
        )
    taken = tuple(known.get(each.name, each) for each in every[where.first : where.end])
    return taken[0] if where.count == 1 else taken
