"""What differs between vendors, as tables: type spellings, headers, pragmas."""

from __future__ import annotations

from dataclasses import dataclass

from .ctype import NATIVE_WIDTHS, CType, Kind


@dataclass(frozen=True, slots=True)
class Vendor:
    """The spellings of one vendor's C++.

    Attributes:
        name: platform name as users see it.
        headers: included in this order; ``<…>`` added.
        signed_int, unsigned_int: class templates of arbitrary-width integers.
        stream, vector: class templates of FIFOs and of blocks.
        half: the 16-bit float type.
        math: prefix of math functions.
    """

    name: str
    headers: tuple[str, ...]
    signed_int: str = "ap_int<{bits}>"
    unsigned_int: str = "ap_uint<{bits}>"
    stream: str = "hls::stream< {element} >"
    vector: str = "hls::vector< {element}, {count} >"
    half: str = "half"
    math: str = "hls::"

    def spell(self, ctype: CType) -> str:
        """The C++ name of a scalar type."""
        if ctype.kind is Kind.INDEX:
            return "int"
        if ctype.kind is Kind.BFLOAT:
            return "allo_bfloat16"
        if ctype.kind is Kind.FLOAT:
            return {16: self.half, 32: "float", 64: "double"}[ctype.bits]
        if ctype.bits == 1:
            return "bool"
        if ctype.bits in NATIVE_WIDTHS:
            return f"{'' if ctype.signed else 'u'}int{ctype.bits}_t"
        template = self.signed_int if ctype.signed else self.unsigned_int
        return template.format(bits=ctype.bits)

    def spell_wide(self, bits: int, signed: bool) -> str:
        """The arbitrary-width class of any width, one bit and native widths included."""
        return (self.signed_int if signed else self.unsigned_int).format(bits=bits)


_XILINX_HEADERS = (
    "algorithm",
    "ap_axi_sdata.h",
    "ap_fixed.h",
    "ap_int.h",
    "hls_math.h",
    "hls_stream.h",
    "hls_vector.h",
    "math.h",
    "stdint.h",
)

VIVADO_HLS = Vendor("vivado_hls", _XILINX_HEADERS)
VITIS_HLS = Vendor("vitis_hls", _XILINX_HEADERS)

VENDORS = {"vhls": VIVADO_HLS, "vivado_hls": VIVADO_HLS, "vitis_hls": VITIS_HLS}
