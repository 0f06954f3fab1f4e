"""Passes over a netlist, between the emitters and CIRCT; each is a file, and an entry of :data:`PASSES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from allo.backend.devices import DeviceRecord, family

from ..modules import Netlist
from ..verify import verify
from .block_products import block_products
from .early_writes import early_writes
from .offset_comparisons import offset_comparisons
from .running_bits import running_bits
from .shifted_products import shifted_products


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass, and which device families' designs take it."""

    run: Callable[[Netlist, DeviceRecord], Netlist]
    wanted: Callable[[DeviceRecord], bool]


PASSES = (
    Pass(offset_comparisons, lambda record: record.netlist.offset_comparisons),
    Pass(shifted_products, lambda _: True),
    Pass(early_writes, lambda record: record.netlist.early_writes),
    Pass(running_bits, lambda record: record.netlist.running_bits),
    Pass(block_products, lambda record: record.cells.registered is not None),
)
"""All passes, in the order in which they run."""


def run_passes(netlist: Netlist, device: str) -> Netlist:
    """A netlist as the designs of a device family have it: what CIRCT is given, and the estimate reads."""
    record = family(device)
    for each in PASSES:
        if each.wanted(record):
            netlist = verify(each.run(netlist, record), each.run.__name__)
    return netlist
