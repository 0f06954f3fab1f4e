"""Where the cells of a routed design lie on the device, as a drawing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

_PLACE = re.compile(r"X(\d+)/?Y(\d+)")
_CORE = re.compile(r"core[._](?!reset)")
_SIDE = 8
_FULL = 8
"""Cells of a tile that is drawn in full colour."""
_COLOURS = {
    "design": "#2563a8",
    "shell": "#9aa5b1",
    "memory": "#3a8f4c",
    "multiplier": "#c2571a",
    "pin": "#444444",
}
_KINDS = (("memory", ("RAM", "DP16KD", "BSRAM")), ("multiplier", ("DSP", "MULT", "ALU54")),
          ("pin", ("_IO", "IOB", "IBUF", "OBUF")))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Floorplan:
    """The tiles in use, by what lies there.

    Attributes:
        tiles: of each column and row, how many cells of each kind: ``"design"`` and ``"shell"`` of lookup
            tables and flip-flops, ``"memory"``, ``"multiplier"``, ``"pin"``.
    """

    tiles: Mapping[tuple[int, int], Mapping[str, int]]

    def count(self, kind: str) -> int:
        """Cells of one kind."""
        return sum(tile.get(kind, 0) for tile in self.tiles.values())

    def svg(self) -> str:
        """The drawing."""
        columns = max(x for x, _ in self.tiles) + 1
        rows = max(y for _, y in self.tiles) + 1
        width, height = max(columns * _SIDE, 46 * _SIDE), (rows + 4) * _SIDE
        shapes = [
            f'<rect x="{x * _SIDE}" y="{(rows - 1 - y) * _SIDE}" width="{_SIDE - 1}" height="{_SIDE - 1}" '
            f'fill="{_COLOURS[kind]}" fill-opacity="{min(1.0, 0.25 + 0.75 * count / _FULL):.2f}"/>'
            for (x, y), tile in sorted(self.tiles.items())
            for kind, count in [max(tile.items(), key=lambda each: each[1])]
        ]
        kinds = [kind for kind in _COLOURS if self.count(kind)]
        for place, kind in enumerate(kinds):
            x, y = place * 9 * _SIDE, (rows + 2) * _SIDE
            shapes.append(
                f'<rect x="{x}" y="{y}" width="{_SIDE - 1}" height="{_SIDE - 1}" fill="{_COLOURS[kind]}"/>'
                f'<text x="{x + 10}" y="{y + 7}" font-size="9" font-family="sans-serif">{escape(kind)}</text>'
            )
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(shapes)}</svg>'

    def _repr_html_(self) -> str:
        return self.svg()


def floorplan_of(netlist: Mapping[str, Any]) -> Floorplan:
    """The floorplan of what nextpnr wrote."""
    tiles: defaultdict[tuple[int, int], defaultdict[str, int]] = defaultdict(
        lambda: defaultdict(int)
    )
    for module in netlist["modules"].values():
        for name, cell in module.get("cells", {}).items():
            place = _PLACE.search(cell.get("attributes", {}).get("NEXTPNR_BEL", ""))
            if place is not None:
                tiles[int(place[1]), int(place[2])][_kind(name, cell["type"])] += 1
    return Floorplan({place: dict(tile) for place, tile in tiles.items()})


def _kind(name: str, cell: str) -> str:
    found = next((kind for kind, parts in _KINDS if any(part in cell for part in parts)), None)
    return found or ("design" if _CORE.match(name) else "shell")
