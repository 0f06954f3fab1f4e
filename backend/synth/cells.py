"""Cells of the vendors' libraries, and what each one takes of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cell takes; ``srl`` and ``lutram`` say that its lookup tables are used as such."""

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0
    uram: int = 0
    srl: int = 0
    lutram: int = 0
    carry: int = 0


_LUT = Cost(lut=1)
_FF = Cost(ff=1)
_CARRY = Cost(carry=1)
_SRL = Cost(lut=1, srl=1)


def _ram(luts: int) -> Cost:
    return Cost(lut=luts, lutram=luts)


XILINX: dict[str, Cost] = {
    **dict.fromkeys(("INV", "LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"), _LUT),
    **dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), _FF),
    **dict.fromkeys(("CARRY4", "CARRY8"), _CARRY),
    **dict.fromkeys(("SRL16E", "SRLC16E", "SRLC32E"), _SRL),
    **dict.fromkeys(("RAM32X1S", "RAM64X1S"), _ram(1)),
    **dict.fromkeys(("RAM32X1D", "RAM64X1D", "RAM128X1S"), _ram(2)),
    **dict.fromkeys(("RAM32M", "RAM64M", "RAM128X1D", "RAM256X1S"), _ram(4)),
    **dict.fromkeys(("RAM32M16", "RAM64M8", "RAM256X1D", "RAM512X1S", "RAM64X8SW"), _ram(8)),
    **dict.fromkeys(("DSP48E1", "DSP48E2"), Cost(dsp=1)),
    **dict.fromkeys(("RAMB18E1", "RAMB18E2"), Cost(bram=1)),
    **dict.fromkeys(("RAMB36E1", "RAMB36E2"), Cost(bram=2)),
    "URAM288": Cost(uram=1),
}
ECP5: dict[str, Cost] = {
    "LUT4": _LUT,
    "TRELLIS_FF": _FF,
    "CCU2C": Cost(lut=2, carry=1),
    "TRELLIS_DPR16X4": _ram(4),
    "MULT18X18D": Cost(dsp=1),
    "DP16KD": Cost(bram=1),
    "PDPW16KD": Cost(bram=1),
}
LIBRARIES = {"xcup": XILINX, "xc7": XILINX, "ecp5": ECP5}


def totals(family: str, cells: Mapping[str, int]) -> dict[str, int]:
    """What the cells of a design take; cells without a line in the library take nothing."""
    library = LIBRARIES[family]
    found = dict.fromkeys(Cost.__dataclass_fields__, 0)
    for kind, count in cells.items():
        cost = library.get(kind)
        for name in found if cost else ():
            found[name] += count * getattr(cost, name)
    return found
