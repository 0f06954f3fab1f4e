"""What the families of AMD have in common: block RAM, cells, and the commands of Yosys."""

from __future__ import annotations

from .fields.tools import CARRY, FF, LUT, SHIFT, Cost, memory_tables

_RAMB18 = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
_RAMB36 = tuple((words, 2 * bits) for words, bits in _RAMB18)
BLOCKS = ((_RAMB18, 1), (_RAMB36, 2))
"""With one reading and one writing port."""
TRUE_BLOCKS = ((_RAMB18[1:], 1), (((1024, 36), *_RAMB36[1:]), 2))
"""With two ports that do both."""

TABLE = "LUT6 #(.INIT(WORDS)) made (.I0(a[0]), .I1(a[1]), .I2(a[2]), .I3(a[3]), .I4(a[4]), .I5(a[5]), .O(y));"
"""A lookup table of six inputs."""
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


LARGE_BLOCKS = r"""
module \$__MUL27X18 (input [26:0] A, input [17:0] B, output [44:0] Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 0, B_WIDTH = 0, Y_WIDTH = 0;
  wire [47:0] P_48;
  DSP48E1 #(
    .ACASCREG(0), .ADREG(0), .A_INPUT("DIRECT"), .ALUMODEREG(0), .AREG(0), .BCASCREG(0),
    .B_INPUT("DIRECT"), .BREG(0), .CARRYINREG(0), .CARRYINSELREG(0), .CREG(0), .DREG(0),
    .INMODEREG(0), .MREG(0), .OPMODEREG(0), .PREG(0), .USE_MULT("MULTIPLY"),
    .USE_SIMD("ONE48"), .USE_DPORT("FALSE")
  ) _TECHMAP_REPLACE_ (
    .A({{3{A[26]}}, A}), .B(B), .C(48'b0), .D(25'b0), .P(P_48), .INMODE(5'b00000),
    .ALUMODE(4'b0000), .OPMODE(7'b000101), .CARRYINSEL(3'b000), .ACIN(30'b0), .BCIN(18'b0),
    .PCIN(48'b0), .CARRYIN(1'b0)
  );
  assign Y = P_48;
endmodule
"""
"""The map of products to blocks of 27 by 18 bits, called as those of series 7 are."""


def packed(family: str) -> str:
    """Synthesis with registers and sums inside of the blocks of UltraScale+, of a design without memories.

    Yosys 0.70 packs them into the blocks of series 7 (``xilinx_dsp``), and none into those of UltraScale+,
    which hold the same. So this is what ``synth_xilinx`` does, with another map of products and that packing.
    """
    steps = (
        f"{command(family)} -run begin:map_dsp",
        "memory_dff",
        "alumacc -macc-only",
        "maccmap -unmap",
        "opt_clean",
        "techmap -map +/mul2dsp.v -map blocks.v -D DSP_A_MAXWIDTH=27 -D DSP_B_MAXWIDTH=18 "
        "-D DSP_A_MINWIDTH=2 -D DSP_B_MINWIDTH=2 -D DSP_Y_MINWIDTH=9 -D DSP_SIGNEDONLY=1 "
        "-D DSP_NAME=$__MUL27X18",
        "select a:mul2dsp",
        "setattr -unset mul2dsp",
        "opt_expr -fine",
        "wreduce",
        "select -clear",
        "xilinx_dsp -family xc7",
        "chtype -set $mul t:$__soft_mul",
        f"{command(family)} -run coarse:",
    )
    return "; ".join(steps)
