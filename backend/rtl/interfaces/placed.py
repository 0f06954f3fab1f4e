"""Where the schedule places arrays, as the option ``interface`` says it: an AXI4 master a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allo.backend.devices import family
from allo.backend.devices.cards import check_placements
from allo.backend.devices.fields.card import Card
from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import read_signature
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import PlacementError, SourcePlace
from allo.dialects.interfaces.placements import Placement, placements_of
from allo.dialects.types import Stream

from .buses.bundles import bundles_of


def card_of(device: str) -> Card | None:
    """The card that the users of a family are likely to have."""
    part = family(device).part
    return None if part is None else part.card


def part_of(device: str) -> str | None:
    """The part that the users of a family are likely to have, by its title; None where there is none."""
    part = family(device).part
    return None if part is None else part.title


def placed_interface(
    module: ir.Module,
    top: str,
    interface: str | Mapping[str, Any] | None,
    external: Sequence[str],
    device: str,
) -> str | Mapping[str, Any] | None:
    """The option ``interface`` with a master for each channel in which arrays are placed.

    Arrays of ``external`` keep ports of RAM, and with them all others, where no interface is asked for.

    Raises:
        PlacementError: the card lacks a channel, an array lies in several, or another interface is asked for.
    """
    function = functions_of(module.operation).get(top)
    placed = {} if function is None else placements_of(function)
    if not placed:
        return interface
    arguments = read_signature(module, top).arguments
    places = {each.name: each.place for each in arguments}
    check_placements(card_of(device), placed, places, part_of(device))
    if interface is None and (external or not any(where.outside for where in placed.values())):
        return None
    if isinstance(interface, str):
        arrays = [a for a in arguments if a.shape is not None and not isinstance(a.dtype, Stream)]
        interface = dict.fromkeys((a.name for a in arrays if a.name not in placed), interface) | {
            name: interface for name, where in placed.items() if where.outside
        }
    asked = dict(interface or {})
    for name, where in placed.items():
        if found := _asked(name, where, asked.get(name), places.get(name)):
            asked[name] = found
    _check_bundles(placed, asked, places)
    return asked


def _asked(
    name: str, where: Placement, given: Any, place: SourcePlace | None
) -> Mapping[str, Any] | None:
    """What is asked for an array, with the master of its channel."""
    fields = {"kind": given} if isinstance(given, str) else dict(given or {"kind": "m_axi"})
    if not where.outside:
        if given is None or fields.get("kind") == "memory":
            return None
        raise PlacementError(
            f"{name} lies on chip, and is asked to have the interface {fields.get('kind')!r}.",
            place,
            help="place it in a channel, or leave it out of the option interface.",
        )
    if fields.get("kind") != "m_axi":
        raise PlacementError(
            f"{name} lies in {where}, and is asked to have the interface {fields.get('kind')!r}.",
            place,
            help="leave it out of the option interface, or leave out s.place.",
        )
    if where.count & (where.count - 1):
        raise PlacementError(
            f"{name} lies in {where}, {where.count} channels, and a wrapper for boards takes 1, 2, 4, 8 and "
            "so on of them.",
            place,
            help="place it in a power of two of channels: the words of the bus lie on them in turn.",
        )
    return {"bundle": where.bundles if where.count > 1 else where.bundle, **fields}


def _check_bundles(
    placed: Mapping[str, Placement],
    asked: Mapping[str, Any],
    places: Mapping[str, SourcePlace | None],
) -> None:
    """One master is of one channel."""
    seen: dict[str, tuple[str, str]] = {}
    for name, where in placed.items():
        if not where.outside:
            continue
        bundles = bundles_of(asked[name]["bundle"])
        channels = where.bundles if len(bundles) == where.count else (str(where),) * len(bundles)
        for bundle, channel in zip(bundles, channels, strict=True):
            first, other = seen.setdefault(bundle, (name, channel))
            if other != channel:
                raise PlacementError(
                    f"{first} and {name} are in bundle {bundle}, and lie in {placed[first]} and {where}.",
                    places.get(name),
                    help="leave out the bundle: each channel has a master of its own.",
                )
