"""What the families of AMD have in common: block RAM, cells, and the commands of Yosys."""

from __future__ import annotations

from .fields.tools import CARRY, FF, LUT, SHIFT, Cost, memory_tables

_RAMB18 = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
_RAMB36 = tuple((words, 2 * bits) for words, bits in _RAMB18)
BLOCKS = ((_RAMB18, 1), (_RAMB36, 2))
"""With one reading and one writing port."""
TRUE_BLOCKS = ((_RAMB18[1:], 1), (((1024, 36), *_RAMB36[1:]), 2))
"""With two ports that do both."""

CELLS: dict[str, Cost] = {
    **dict.fromkeys(("INV", "LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"), LUT),
    **dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), FF),
    **dict.fromkeys(("CARRY4", "CARRY8"), CARRY),
    **dict.fromkeys(("SRL16E", "SRLC16E", "SRLC32E"), SHIFT),
    **dict.fromkeys(("RAM32X1S", "RAM64X1S"), memory_tables(1)),
    **dict.fromkeys(("RAM32X1D", "RAM64X1D", "RAM128X1S"), memory_tables(2)),
    **dict.fromkeys(("RAM32M", "RAM64M", "RAM128X1D", "RAM256X1S"), memory_tables(4)),
    **dict.fromkeys(
        ("RAM32M16", "RAM64M8", "RAM256X1D", "RAM512X1S", "RAM64X8SW"), memory_tables(8)
    ),
    **dict.fromkeys(("DSP48E1", "DSP48E2"), Cost(dsp=1)),
    **dict.fromkeys(("RAMB18E1", "RAMB18E2"), Cost(bram=1)),
    **dict.fromkeys(("RAMB36E1", "RAMB36E2"), Cost(bram=2)),
    "URAM288": Cost(uram=1),
}


def command(family: str) -> str:
    """Synthesis for a family that ``synth_xilinx`` knows."""
    return f"synth_xilinx -flatten -family {family} -noiopad -noclkbuf -top {{top}}"
