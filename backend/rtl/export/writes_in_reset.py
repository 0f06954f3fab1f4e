"""FIFOs of few words that write during a reset, too (:mod:`..netlist.passes.early_writes`).

What CIRCT exports of a memory is written only while there is no reset, so the signal that empties all FIFOs
of an array would go through a table to every enable.
"""

from __future__ import annotations

import re

from allo.backend.devices import family

_MODULE = re.compile(r"^module (?:fifo|elastic)_\d+x\d+\(.*?^endmodule", re.MULTILINE | re.DOTALL)
_GUARDED = re.compile(
    r"^    if \(rst\) begin\n    end\n    else begin\n"
    r"  (    if \(.*\)\n)  (      stored\[tail\] <= in_data;\n)    end\n",
    re.MULTILINE,
)


def writes_in_reset(verilog: str, device: str) -> str:
    """Exported Verilog whose FIFOs of few words write during a reset, too; where they write early."""
    if not family(device).netlist.early_writes:
        return verilog
    return _MODULE.sub(lambda module: _GUARDED.sub(r"\1\2", module[0]), verilog)
