"""Cards with memory beside the device: how many channels of which kind, and how many masters reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allo.dialects.diagnostics import PlacementError, SourcePlace
from allo.dialects.interfaces.placements import Placement

from .fields.card import Card

U280 = Card(title="U280", channels={"hbm": 32, "ddr": 2}, masters=32)
"""UG1314 and UG1120 of AMD: 32 pseudo-channels of HBM2, each with a port of AXI, and two DIMMs."""
U250 = Card(title="U250", channels={"ddr": 4})
U200 = Card(title="U200", channels={"ddr": 4})
CARDS: Mapping[str, Card] = {"u200": U200, "u250": U250, "u280": U280}
"""By the names of HLS targets' option ``device``."""


HBM = "hbm"


def check_placements(
    card: Card | None,
    placed: Mapping[str, Placement],
    places: Mapping[str, SourcePlace | None],
    part: str | None = None,
) -> None:
    """Whether a card has the channels in which arrays lie; one that is not known has them all.

    Args:
        part: the device, where it is known and no card is: DIMMs may lie beside it, but HBM lies in it.

    Raises:
        PlacementError: it lacks one.
    """
    for name, where in placed.items():
        if card is None and part is not None and where.kind == HBM:
            having = ", ".join(each.title for each in CARDS.values() if HBM in each.channels)
            raise PlacementError(
                f"{name} lies in {where}, and the device {part} has no HBM.",
                places.get(name),
                help=f"place it in 'ddr[0]' or 'on_chip', or build for a card with HBM: {having}.",
            )
        if card is None or not where.outside:
            continue
        count = card.channels.get(where.kind, 0)
        if where.end > count:
            has = ", ".join(f"{n} channels of {kind}" for kind, n in card.channels.items())
            raise PlacementError(
                f"{name} lies in {where}, which a {card.title} does not have.",
                places.get(name),
                help=f"it has {has}, counted from 0; place it in these, or build for another card.",
            )


def check_masters(
    card: Card | None, bundles: Sequence[str], top: str, place: SourcePlace | None
) -> None:
    """Whether a card takes so many AXI masters.

    Raises:
        PlacementError: it takes fewer.
    """
    if card is None or card.masters is None or len(bundles) <= card.masters:
        return
    raise PlacementError(
        f"{top} has {len(bundles)} AXI masters, and a {card.title} takes {card.masters}.",
        place,
        help="place several arrays in one channel, or give them one bundle: they then share a master.",
    )
