"""What a FIFO takes of a device."""

from __future__ import annotations

from functools import lru_cache

from ..emit.deep_fifo import fifo_of
from ..netlist.locations import Locations
from ..netlist.modules import Netlist
from ..resources.design import module_resources, whole


@lru_cache(maxsize=4096)
def _costs(width: int, depth: int, device: str) -> tuple[tuple[str, int], ...]:
    module = fifo_of(width, depth, bypass=False).module(private=False, native=False)
    found = whole(
        module_resources(Netlist([module], Locations()), device, timed=False), module.name
    )
    return tuple((kind, count) for kind, count in found.items() if count)


def fifo_costs(width: int, depth: int, device: str) -> dict[str, int]:
    """Resources of a FIFO by itself, estimated from its netlist; in a design it may take a little less."""
    return dict(_costs(width, depth, device)) if device else {}
