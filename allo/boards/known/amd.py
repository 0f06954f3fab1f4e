"""Boards and cards whose bitstreams AMD's tools make: :mod:`allo.boards.vendor` writes projects for them.

Counts are from memory of AMD's DS180, DS190, DS891, DS987 and the cards' data sheets, of which none lay here;
blocks of RAM are of 18 kbit. Those of the VHK158 are not here. Pins are those of ``litex-boards``, which the
tests read.
"""

from __future__ import annotations

from collections.abc import Mapping

from allo.backend.devices import Pll

from ..record import VIVADO, Board, BoardMemory, Pin, bus

_IO = {"IOSTANDARD": "LVCMOS33"}
_MMCM = Pll(
    source="AMD DS181 (speed grade 1) and UG472; whole dividers alone",
    reference=tuple(range(1, 11)),
    feedback=tuple(range(2, 65)),
    output=tuple(range(1, 129)),
    reference_mhz=(10.0, 450.0),
    vco_mhz=(600.0, 1200.0),
    clock_mhz=(4.69, 400.0),
    behind_output=False,
    verilog="""\
  wire feedback, made;
  MMCME2_BASE #(
    .CLKIN1_PERIOD(1000.0 / {oscillator_mhz}), .DIVCLK_DIVIDE({reference}), .CLKFBOUT_MULT_F({feedback}),
    .CLKOUT0_DIVIDE_F({output})
  ) mmcm (
    .CLKIN1(oscillator), .CLKFBIN(feedback), .CLKFBOUT(feedback), .CLKOUT0(made), .LOCKED(locked),
    .PWRDWN(1'b0), .RST(1'b0)
  );
  BUFG buffer (.I(made), .O(clock));
""",
)


def _counts(lut: int, dsp: int, bram: int, uram: int = 0) -> Mapping[str, int]:
    return {"lut": lut, "ff": 2 * lut, "dsp": dsp, "bram": bram, "uram": uram}


def _zynq(
    name: str, title: str, part: str, platform: str, counts: Mapping[str, int], memory: BoardMemory
) -> Board:
    """A board with processors, which have the clock, the memory and the port to the host."""
    family = "xc7" if platform == "zynq7" else "xcup"
    return Board(
        name=name, title=title, family=family, part=part, resources=counts, oscillator_mhz=0.0, pins={},
        memories=(memory,), tools=VIVADO, platform=platform,
    )  # fmt: skip


def _card(
    name: str, title: str, part: str, xrt: str, counts: Mapping[str, int], *memories: BoardMemory
) -> Board:
    """A card in a host, which XRT reaches."""
    return Board(
        name=name, title=title, family="xcup", part=part, resources=counts, oscillator_mhz=0.0, pins={},
        memories=memories, tools=VIVADO, platform="alveo", xrt_platform=xrt,
    )  # fmt: skip


def _arty(size: str, part: str, lut: int, dsp: int, bram: int) -> Board:
    return Board(
        name=f"arty-a7-{size}",
        title=f"Digilent Arty A7-{size}T",
        family="xc7",
        part=part,
        resources=_counts(lut, dsp, bram),
        oscillator_mhz=100.0,
        pins={
            "clock": Pin("E3", _IO),
            "serial_rx": Pin("A9", _IO),
            "serial_tx": Pin("D10", _IO),
            "reset": Pin("C2", _IO, low=True),
            **bus("led", "H5 J5 T9 T10", **_IO),
            **bus("button", "D9 C9 B9 B8", **_IO),
        },
        memories=(BoardMemory("ddr3", 256 << 20, 16, "MT41K128M16"),),
        tools=VIVADO,
        own_pll=_MMCM,
    )


_HBM8 = BoardMemory("hbm", 8 << 30, 256, "32 channels of HBM2")

BOARDS = (
    _arty("35", "xc7a35ticsg324-1L", 20_800, 90, 100),
    _arty("100", "xc7a100tcsg324-1", 63_400, 240, 270),
    Board(
        name="nexys-video",
        title="Digilent Nexys Video",
        family="xc7",
        part="xc7a200tsbg484-1",
        resources=_counts(134_600, 740, 730),
        oscillator_mhz=100.0,
        pins={
            "clock": Pin("R4", _IO),
            "serial_rx": Pin("V18", _IO),
            "serial_tx": Pin("AA19", _IO),
            "reset": Pin("G4", {"IOSTANDARD": "LVCMOS15"}, low=True),
            **bus("led", "T14 T15 T16 U16 V15 W16 W15 Y13", IOSTANDARD="LVCMOS25"),
            **bus("button", "B22 D22 C22 D14 F15", **_IO),
        },
        memories=(BoardMemory("ddr3", 512 << 20, 16, "MT41K256M16"),),
        tools=VIVADO,
        own_pll=_MMCM,
    ),
    _zynq(
        "pynq-z2", "TUL PYNQ-Z2", "xc7z020clg400-1", "zynq7", _counts(53_200, 220, 280),
        BoardMemory("ddr3", 512 << 20, 16),
    ),
    _zynq(
        "zcu104", "AMD ZCU104", "xczu7ev-ffvc1156-2-e", "zynqmp", _counts(230_400, 1_728, 624, 96),
        BoardMemory("ddr4", 2 << 30, 64),
    ),
    _zynq(
        "kv260", "AMD Kria KV260", "xck26-sfvc784-2LV-c", "zynqmp", _counts(117_120, 1_248, 288, 64),
        BoardMemory("ddr4", 4 << 30, 64),
    ),
    _card(
        "u50", "AMD Alveo U50", "xcu50-fsvh2104-2-e", "xilinx_u50_gen3x16_xdma_5_202210_1",
        _counts(871_680, 5_952, 2_688, 640), _HBM8,
    ),
    _card(
        "u55c", "AMD Alveo U55C", "xcu55c-fsvh2892-2L-e", "xilinx_u55c_gen3x16_xdma_3_202210_1",
        _counts(1_303_680, 9_024, 4_032, 960), BoardMemory("hbm", 16 << 30, 256, "32 channels of HBM2"),
    ),
    _card(
        "u280", "AMD Alveo U280", "xcu280-fsvh2892-2L-e", "xilinx_u280_gen3x16_xdma_1_202211_1",
        _counts(1_303_680, 9_024, 4_032, 960), _HBM8, BoardMemory("ddr4", 32 << 30, 64, "two channels"),
    ),
    _card(
        "vhk158", "AMD VHK158", "xcvh1582-vsva3697-2MP-e-S", "xilinx_vhk158_base_202320_1",
        {}, BoardMemory("hbm", 32 << 30, 256, "64 channels of HBM2e"),
    ),
    _card(
        "aws-f2", "AWS EC2 F2", "xcvu47p-fsvh2892-2-e", "xilinx_aws-vu47p-f2_202410_1",
        _counts(1_303_680, 9_024, 4_032, 960), BoardMemory("hbm", 16 << 30, 256, "32 channels of HBM2"),
        BoardMemory("ddr4", 64 << 30, 64, "one channel"),
    ),
)  # fmt: skip
