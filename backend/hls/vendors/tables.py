"""What differs between vendors, as tables: type spellings, headers, pragmas."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..text.ctype import NATIVE_WIDTHS, CType, Kind


@dataclass(frozen=True, slots=True)
class Vendor:
    """The spellings of one vendor's C++.

    Attributes:
        name: platform name as users see it.
        headers: included in this order; ``<…>`` added.
        signed_int, unsigned_int: class templates of arbitrary-width integers.
        signed_fixed, unsigned_fixed: of fixed point, by all and by whole bits.
        try_put, try_get, empty, full: what does not wait, of the FIFO and a variable of its element.
        stream, vector: class templates of FIFOs and of blocks.
        half: the 16-bit float type.
        half_class: whether its values are objects, with conversions to and from float alone.
        math: prefix of math functions.
        fixed_bits: how the integer behind a fixed-point variable is read and written.
        family: whose open headers csim compiles with, see ``prelude.py``.
        pragmas: family of pragma spellings, see ``pragmas.py``.
        flat_top: whether the top function's arrays are flat ports with linear subscripts.
        flat_port: how such a port is declared.
        extern_c: whether the top function stands in ``extern "C"``.
        interfaces: pragma lines of the ports: ``""``, ``m_axi``, or ``m_axi s_axilite``.
        tasks: whether regions print as task invocations and streams have directions (TAPA).
        most_bits: bits of the widest integer the vendor's tool takes, or None for no known limit.
        word_literals: whether literals beyond 64 bits are put together from words.
        reference_results: whether scalar results are references rather than pointers.
        fixed_constants: whether fixed-point variables take decimal literals.
        namespace_std: whether the text opens namespace std.
        simulation: spellings that csim compiles instead, or None for the vendor's own.
    """

    name: str
    headers: tuple[str, ...]
    signed_int: str = "ap_int<{bits}>"
    unsigned_int: str = "ap_uint<{bits}>"
    signed_fixed: str = "ap_fixed<{bits}, {whole}>"
    unsigned_fixed: str = "ap_ufixed<{bits}, {whole}>"
    stream: str = "hls::stream< {element} >"
    try_put: str = "{name}.write_nb({value})"
    try_get: str = "{name}.read_nb({value})"
    empty: str = "{name}.empty()"
    full: str = "{name}.full()"
    vector: str = "hls::vector< {element}, {count} >"
    half: str = "half"
    half_class: bool = False
    math: str = "hls::"
    fixed_bits: str = "{name}.range()"
    family: str = "xilinx"
    pragmas: str = "xilinx"
    flat_top: bool = False
    flat_port: str = "{element} *{name}"
    extern_c: bool = False
    interfaces: str = ""
    tasks: bool = False
    most_bits: int | None = 4096
    word_literals: bool = False
    reference_results: bool = False
    fixed_constants: bool = True
    namespace_std: bool = True
    simulation: Vendor | None = None

    @property
    def for_csim(self) -> Vendor:
        """The vendor whose spellings csim compiles."""
        return self.simulation or self

    def spell(self, ctype: CType) -> str:
        """The C++ name of a scalar type."""
        if ctype.kind is Kind.INDEX:
            return "int" if ctype.bits == 32 else "int64_t"
        if ctype.kind is Kind.BFLOAT:
            return "allo_bfloat16"
        if ctype.kind is Kind.FLOAT:
            return {16: self.half, 32: "float", 64: "double"}[ctype.bits]
        if ctype.fracs is not None:
            template = self.signed_fixed if ctype.signed else self.unsigned_fixed
            return template.format(bits=ctype.bits, whole=ctype.bits - ctype.fracs)
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
VITIS_HLS = Vendor("vitis_hls", _XILINX_HEADERS, flat_top=True, extern_c=True, interfaces="m_axi")
PYNQ = replace(VITIS_HLS, name="pynq", interfaces="m_axi s_axilite")
TAPA = Vendor(
    "tapa",
    ("algorithm", "ap_fixed.h", "ap_int.h", "hls_math.h", "math.h", "stdint.h", "tapa.h"),
    stream="tapa::stream< {element} >",
    try_put="{name}.try_write({value})",
    try_get="{name}.try_read({value})",
    vector="tapa::vec_t< {element}, {count} >",
    flat_top=True,
    flat_port="tapa::mmap< {element} > {name}",
    tasks=True,
    simulation=replace(VITIS_HLS, name="tapa", interfaces="", flat_top=False),
)
_CATAPULT_CSIM = Vendor(
    "catapult",
    ("algorithm", "ac_channel.h", "ac_fixed.h", "ac_int.h", "math.h", "stdint.h"),
    signed_int="ac_int<{bits}, true>",
    unsigned_int="ac_int<{bits}, false>",
    signed_fixed="ac_fixed<{bits}, {whole}, true>",
    unsigned_fixed="ac_fixed<{bits}, {whole}, false>",
    stream="ac_channel< {element} >",
    try_put="{name}.nb_write({value})",
    try_get="{name}.nb_read({value})",
    full="!{name}.num_free()",
    vector="allo_vector< {element}, {count} >",
    fixed_bits="allo_bits({name})",
    family="catapult",
    pragmas="catapult",
    most_bits=None,
    word_literals=True,
)
CATAPULT = replace(
    _CATAPULT_CSIM,
    headers=(*_CATAPULT_CSIM.headers, "ac_std_float.h"),
    half="ac_ieee_float<binary16>",
    half_class=True,
    math="std::",
    simulation=_CATAPULT_CSIM,
)
INTEL_HLS = Vendor(
    "intel_hls",
    (
        "sycl/sycl.hpp",
        "sycl/ext/intel/fpga_extensions.hpp",
        "sycl/ext/intel/ac_types/ac_fixed.hpp",
        "sycl/ext/intel/ac_types/ac_int.hpp",
        "algorithm",
        "math.h",
        "stdint.h",
    ),
    signed_int="ac_int<{bits}, true>",
    unsigned_int="ac_int<{bits}, false>",
    signed_fixed="ac_fixed<{bits}, {whole}, true>",
    unsigned_fixed="ac_fixed<{bits}, {whole}, false>",
    half="sycl::half",
    math="sycl::",
    fixed_bits="allo_bits({name})",
    family="catapult",
    pragmas="intel",
    most_bits=None,
    word_literals=True,
    simulation=_CATAPULT_CSIM,
)
XLS = Vendor(
    "xls",
    ("XlsInt.h", "Channel.h", "Memory.h", "stdint.h"),
    signed_int="XlsInt<{bits}, true>",
    unsigned_int="XlsInt<{bits}, false>",
    signed_fixed="Fixed<{bits}, {whole}, true>",
    unsigned_fixed="Fixed<{bits}, {whole}, false>",
    flat_port="__xls_memory< {element}, {count} > &{name}",
    fixed_bits="{name}.bits",
    family="xls",
    pragmas="xls",
    most_bits=None,
    word_literals=True,
    reference_results=True,
    fixed_constants=False,
    namespace_std=False,
)

VENDORS = {
    "vhls": VIVADO_HLS,
    "vivado_hls": VIVADO_HLS,
    "vitis_hls": VITIS_HLS,
    "pynq": PYNQ,
    "tapa": TAPA,
    "catapult": CATAPULT,
    "ihls": INTEL_HLS,
    "intel_hls": INTEL_HLS,
}
