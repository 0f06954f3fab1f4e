"""A card: the memory beside a device, and how many masters reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Facts):
    """A card.

    Attributes:
        title: as messages name it.
        channels: how many it has, by kind of memory as ``s.place`` names them.
        masters: AXI masters that its shell takes from the kernels; None where that is not known.
    """

    title: str
    channels: Mapping[str, int]
    masters: int | None = None
