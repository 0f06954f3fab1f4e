"""FIFOs that write into their free place in every cycle, whether a word comes or not.

Whether one comes is known late: in an array of processes it takes three tables from the flags of other FIFOs,
and one more to the enables of all bits of the place. Whether a place is free is a register. What is written
there without a word is never read, for the next word is written over it. On ECP5, where FIFOs of few words
are flip-flops and wires are long, these were among the longest paths of an array.

Nor does a reset keep them from it: what CIRCT exports of a memory is written only while there is none, so the
signal that empties all FIFOs of an array would go through a table to every enable.
"""

from __future__ import annotations

import re

from allo.backend.devices import family

_FIFO = re.compile(r"^hw\.module (?:private )?@(?:fifo|elastic)_\d+x\d+\(")
_WRITE = re.compile(r"^(  seq\.write %stored\[%tail\] %in_data wren )%[\w$.#-]+( .*)$")
_MODULE = re.compile(r"^module (?:fifo|elastic)_\d+x\d+\(.*?^endmodule", re.MULTILINE | re.DOTALL)
_GUARDED = re.compile(
    r"^    if \(rst\) begin\n    end\n    else begin\n"
    r"  (    if \(.*\)\n)  (      stored\[tail\] <= in_data;\n)    end\n",
    re.MULTILINE,
)
_OUTPUT = re.compile(r"^  hw\.output (%[\w$.#-]+),")


def early_writes(text: str, device: str) -> str:
    """A design whose FIFOs of few words write while there is room; the text as it is for other families."""
    if not family(device).netlist.early_writes or " seq.write %stored[%tail] %in_data " not in text:
        return text
    lines = text.split("\n")
    fifo, written = False, -1
    for number, line in enumerate(lines):
        if line.startswith("hw.module"):
            fifo, written = _FIFO.match(line) is not None, -1
        elif fifo and _WRITE.match(line):
            written = number
        elif written >= 0 and (room := _OUTPUT.match(line)):
            lines[written] = _WRITE.sub(rf"\g<1>{room[1]}\g<2>", lines[written])
            written = -1
    return "\n".join(lines)


def writes_in_reset(verilog: str, device: str) -> str:
    """Exported Verilog whose FIFOs of few words write during a reset, too, where they write early."""
    if not family(device).netlist.early_writes:
        return verilog
    return _MODULE.sub(lambda module: _GUARDED.sub(r"\1\2", module[0]), verilog)
