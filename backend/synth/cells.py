"""What the cells of a netlist take of a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from allo.backend.devices import Cost, SizedCost


def totals(
    library: Mapping[str, Cost],
    cells: Mapping[str, int],
    sized: Mapping[str, SizedCost] | None = None,
) -> dict[str, int]:
    """What the cells of a design take; cells without a line in the library take nothing.

    Args:
        library: what each kind of cell takes.
        cells: how many there are of each kind; kinds of ``sized`` as :func:`with_sizes` names them.
        sized: the kinds whose parameters tell what they take.
    """
    found = dict.fromkeys(Cost.__dataclass_fields__, 0)
    for kind, count in cells.items():
        cost = library.get(kind) or _sized(kind, sized or {})
        for name in found if cost else ():
            found[name] += count * getattr(cost, name)
    return found


def _sized(kind: str, sized: Mapping[str, SizedCost]) -> Cost | None:
    name, _, widths = kind.partition(" ")
    if name not in sized or not widths:
        return None
    a, b = map(int, widths.split("x"))
    return Cost(lut=sized[name].lut(a, b))


def with_sizes(
    kinds: Mapping[str, int], netlist: Mapping[str, Any], sized: Mapping[str, SizedCost]
) -> dict[str, int]:
    """The cells of a design by kind, with those of ``sized`` parted by their widths: ``"CC_MULT 16x8"``.

    Args:
        kinds: what Yosys counts.
        netlist: its netlist as JSON.
        sized: the kinds whose parameters tell what they take.
    """
    parted = Counter(
        f"{cell['type']} {'x'.join(_width(cell['parameters'][p]) for p in sized[cell['type']].parameters)}"
        for cell in _cells(netlist)
        if cell["type"] in sized
    )
    return {kind: count for kind, count in kinds.items() if kind not in sized} | dict(
        sorted(parted.items())
    )


def _cells(netlist: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return (cell for module in netlist["modules"].values() for cell in module["cells"].values())


def _width(text: str | int) -> str:
    """A parameter of Yosys's JSON, which writes integers as bits."""
    return str(int(text, 2) if isinstance(text, str) else text)
