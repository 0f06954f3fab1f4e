"""What the cells of a netlist take of a device."""

from __future__ import annotations

from collections.abc import Mapping

from allo.backend.devices import Cost


def totals(library: Mapping[str, Cost], cells: Mapping[str, int]) -> dict[str, int]:
    """What the cells of a design take; cells without a line in the library take nothing."""
    found = dict.fromkeys(Cost.__dataclass_fields__, 0)
    for kind, count in cells.items():
        cost = library.get(kind)
        for name in found if cost else ():
            found[name] += count * getattr(cost, name)
    return found
