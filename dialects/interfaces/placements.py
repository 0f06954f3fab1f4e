"""Where arrays lie: in channels of the memory of a card, or on chip.

``s.place(s.A, "hbm[0:4]")`` notes it at the top function: ``placements = {A = "hbm[0:4]"}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .._mlir import ir
from ..diagnostics import PlacementError, SourcePlace
from ..text.near import did_you_mean
from ..text.shown import shown

ATTRIBUTE = "placements"
ON_CHIP = "on_chip"
KINDS = {"hbm": "hbm2", "ddr": "ddr4_2400"}
"""Of the memories of cards, and which model of a channel stands for one."""
_FORM = re.compile(r"(\w+)\[\s*(\d+)\s*(?::\s*(\d+)\s*)?\]", re.ASCII)
_HELP = "it is a channel or a range of them, 'hbm[0]', 'hbm[0:4]' or 'ddr[1]', or 'on_chip'."


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one array lies.

    Attributes:
        kind: ``"hbm"`` or ``"ddr"``; ``"on_chip"`` has no channels.
        first, end: the first channel, and the one behind the last.
    """

    kind: str
    first: int = 0
    end: int = 0

    @property
    def outside(self) -> bool:
        """Whether it is in the memory of the card."""
        return self.kind != ON_CHIP

    @property
    def count(self) -> int:
        """How many channels."""
        return self.end - self.first

    @property
    def bundle(self) -> str:
        """The name of the AXI master that reaches it: ``hbm0``, ``hbm0_3``."""
        last = f"_{self.end - 1}" if self.count > 1 else ""
        return f"{self.kind}{self.first}{last}"

    @property
    def bundles(self) -> tuple[str, ...]:
        """The names of the AXI masters of its channels, one each: ``hbm0``, ``hbm1``."""
        return tuple(f"{self.kind}{n}" for n in range(self.first, self.end))

    @property
    def banks(self) -> tuple[str, ...]:
        """Its channels as the linker of a card spells them: ``HBM[0]``, ``HBM[1]``."""
        return tuple(f"{self.kind.upper()}[{n}]" for n in range(self.first, self.end))

    def __str__(self) -> str:
        if not self.outside:
            return self.kind
        last = f":{self.end}" if self.count > 1 else ""
        return f"{self.kind}[{self.first}{last}]"


def read_placement(text: object, name: str, place: SourcePlace | None = None) -> Placement:
    """What ``"hbm[0:4]"`` says of the array ``name``.

    Raises:
        PlacementError: it says nothing.
    """

    def refused(why: str, near: str = "") -> PlacementError:
        return PlacementError(
            f"place: {name} cannot lie in {shown(text)}: {why}.", place, help=near + _HELP
        )

    if text == ON_CHIP:
        return Placement(ON_CHIP)
    found = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        near = (
            did_you_mean(text, [ON_CHIP, *(f"{kind}[0]" for kind in KINDS)])
            if isinstance(text, str)
            else ""
        )
        raise refused("that is no place", near)
    kind, first = found[1], int(found[2])
    end = first + 1 if found[3] is None else int(found[3])
    if kind not in KINDS:
        raise refused(f"there is no kind of memory {kind!r}", did_you_mean(kind, KINDS))
    if end <= first:
        raise refused("that range holds no channel")
    return Placement(kind, first, end)


def placements_of(function: ir.Operation) -> dict[str, Placement]:
    """Where the arguments of a top function lie, by name; those that were not placed are absent."""
    if ATTRIBUTE not in function.attributes:
        return {}
    noted = ir.DictAttr(function.attributes[ATTRIBUTE])
    return {each.name: read_placement(ir.StringAttr(each.attr).value, each.name) for each in noted}


def note_placements(function: ir.Operation, placed: Mapping[str, Placement]) -> None:
    """Write what :func:`placements_of` reads."""
    function.attributes[ATTRIBUTE] = ir.DictAttr.get(
        {name: ir.StringAttr.get(str(where)) for name, where in placed.items()}
    )
