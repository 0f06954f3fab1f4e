"""FIFOs that write into their free place in every cycle, whether a word comes or not.

Whether one comes is known late: in an array of processes it takes three tables from the flags of other FIFOs,
and one more to the enables of all bits of the place. Whether a place is free is a register. What is written
there without a word is never read, for the next word is written over it. On ECP5, where FIFOs of few words
are flip-flops and wires are long, these were among the longest paths of an array.

Nor may a reset keep them from it: :mod:`allo.backend.rtl.export.writes_in_reset` sees to that.
"""

from __future__ import annotations

import re

from allo.backend.devices import DeviceRecord

from ..memories import Write
from ..modules import Module, Netlist

_FIFO = re.compile(r"(?:fifo|elastic)_\d+x\d+")
_WORD = ("%stored", "%tail", "%in_data")


def early_writes(netlist: Netlist, _: DeviceRecord) -> Netlist:
    """A design whose FIFOs of few words write while there is room."""
    return netlist.with_modules([_rewritten(module) for module in netlist.modules])


def _rewritten(module: Module) -> Module:
    write = _write_of(module)
    if write is None:
        return module
    room = module.ports.outputs[0][2]
    always = write.renamed("", (*_WORD, room))
    return module.with_body([always if op is write else op for op in module.operations])


def _write_of(module: Module) -> Write | None:
    """What puts the words of a FIFO of few words away."""
    if not _FIFO.fullmatch(module.name):
        return None
    writes = (op for op in module.operations if isinstance(op, Write))
    return next((op for op in writes if op.operands[:3] == _WORD), None)
