"""Cologne Chip GateMate: CCGM1A1 (the family ``gatemate``), whose products are made of its logic cells.

Resources were fitted to ``synth_gatemate -luttree -nomx8`` of Yosys 0.70; nextpnr 0.11 has no place for
the cell ``CC_MX8``. What a product takes is what nextpnr packed of products of 4 x 4 to 32 x 32 bits, to
the cell. nextpnr puts a flip-flop behind the table that drives it, and otherwise gives it one of the 40,960
places of tables, which the count of tables leaves out; each used bit of a port of a block of RAM takes such
a place, too. A reset is a table; a flip-flop has none that waits for the clock.

``clock_out``, ``table``, ``memory``, ``setup`` and ``wire`` are what nextpnr says of routed designs, in its
slowest timing mode and for a core of 1.0 V (``fpga_mode=2``, "economy"): boards differ, and 1.1 V is faster.
It does not time carry chains: a sum of 256 bits has the clock of one of 16. So ``carry`` and ``carry_bit``
are of the cells of a multiplier, which have the same chains and are timed, and the clock that nextpnr gives
to a design with sums is no measure of the estimate. ``operators`` are assumed from ``signals``.
"""

from __future__ import annotations

from .fields.bitstream import Bitstream, Pll
from .fields.cells import Cells
from .fields.delays import OperatorDelays, SignalDelays
from .fields.tools import FF, LUT, CellUse, Cost, Part, Routing, SizedCost, Synthesis
from .record import DeviceRecord, Netlist

_SHAPES = ((512, 40), (1024, 20), (2048, 10), (4096, 5), (8192, 2), (16384, 1))
_SCRIPT = "synth_gatemate -luttree -nomx8{} -top {{top}}; autoname"
"""The last command gives cells the names of signals, as other families' synthesis does by itself."""
_PLL = Pll(
    source="LiteX, GateMatePLL, after UG1001 7.3; no data sheet was read",
    # nextpnr takes the clock in MHz and finds the dividers; these are of the clocks that are offered here.
    reference=(1,),
    feedback=tuple(range(1, 26)),
    output=tuple(range(1, 13)),
    reference_mhz=(5.0, 50.0),
    vco_mhz=(5.0, 250.0),
    clock_mhz=(10.0, 100.0),
    behind_output=False,
    verilog="""\
  // {oscillator_mhz} MHz becomes {clock_mhz} MHz.
  CC_PLL #(
    .REF_CLK("{oscillator_mhz}"), .OUT_CLK("{clock_mhz}"), .PERF_MD("ECONOMY"), .LOW_JITTER(1),
    .LOCK_REQ(1), .CI_FILTER_CONST(2), .CP_FILTER_CONST(4)
  ) pll (
    .CLK_REF(oscillator), .CLK_FEEDBACK(1'b0), .USR_CLK_REF(1'b0), .USR_LOCKED_STDY_RST(1'b0),
    .CLK0(clock), .USR_PLL_LOCKED(locked)
  );
""",
)
_BITSTREAM = Bitstream(
    constraints="pins.ccf",
    pin='Net "{port}" Loc = "{site}"{attributes};\n',
    attribute=" | {name}={value}",
    arguments=("--vopt", "ccf=pins.ccf", "--vopt", "out=routed.txt"),
    packer="gmpack",
    package="yowasp-nextpnr-himbaechel-gatemate",
    packer_arguments=("routed.txt", "{file}"),
    suffix=".bit",
    models=("gatemate/cells_sim.v",),
    routed_models=False,
    plls={"pll": _PLL},
    script=_SCRIPT.format(""),
)
_ROUTING = Routing(
    tool="nextpnr-himbaechel-gatemate",
    package="yowasp-nextpnr-himbaechel-gatemate",
    arguments=("--vopt", "allow-unconstrained"),
    # Router1 did not come to an end on crc32 within minutes.
    routers={"router2": ("--router", "router2")},
    crowded_lut=10_000,
    flip_flop=CellUse(
        kind="CC_DFF",
        parameters={"CLK_INV": "0", "EN_INV": "0", "SR_INV": "0", "SR_VAL": "0", "INIT": "0"},
        ports={"CLK": "clock", "D": "data", "EN": "1", "SR": "0", "Q": "held"},
    ),
    exclusive_or=CellUse(
        kind="CC_LUT2", parameters={"INIT": "0110"}, ports={"I0": "a", "I1": "b", "O": "result"}
    ),
    input_pin=CellUse(kind="CC_IBUF", parameters={}, ports={"I": "pin", "Y": "result"}),
    output_pin=CellUse(kind="CC_OBUF", parameters={}, ports={"A": "data", "O": "pin"}),
    untimed=(("sum",), ("comparison",)),
    signals=("CC_DFF", "CC_LUT", "CC_L2T", "CC_MX", "CC_ADDF", "CC_MULT", "CC_BRAM"),
    bitstream=_BITSTREAM,
)
_GATEMATE = DeviceRecord(
    name="gatemate",
    title="Cologne Chip GateMate",
    operators=OperatorDelays(
        register_ns=2.5, gate_ns=1.8, mux_ns=1.9, fanout_ns=0.33, level_ns=3.3, fanin=4,
        carry_ns=3.5, carry_bit_ns=0.3, dsp_ns=22.0, dsp_shape=(16, 16), source_ns=4.6, luts_for_dsp=128,
        glue_ns=3.2, glue_bit_ns=0.1, memory_out_ns=7.4, memory_old_ns=3.3, memory_in_ns=3.6,
    ),
    signals=SignalDelays(
        clock_out=0.78, wire=2.6, far=1.0, spread=0.3, table=0.75, joined=0.8, carry=1.3, carry_bit=0.3,
        block=20.5, memory=3.8, setup=0.13,
    ),
    cells=Cells(
        inputs=4, dsp=(16, 16), dsp_signed=True, dsp_least=10_000, product_table=1.1, carry_absorbs=False,
        carry_bits=1, wide_tables=False, equal_pair=0.7, shift_registers=False,
        controls_join=True, resets=False, merges=True, small=2, few=4, level=1.0,
        blocks=((_SHAPES, 1),), true_blocks=((_SHAPES[1:], 1),),
        table_memory=False, write_ports=1, block_cost=129,
    ),
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
    usual_mhz=30.0,
    bus_width=32,
    synthesis=Synthesis(
        script=_SCRIPT.format(" -noiopad -noclkbuf"),
        cells={
            **dict.fromkeys(("CC_LUT2", "CC_LUT3", "CC_LUT4", "CC_L2T4", "CC_MX2"), LUT),
            **dict.fromkeys(("CC_L2T5", "CC_MX4"), Cost(lut=2)),
            "CC_ADDF": Cost(lut=1, carry=1),
            **dict.fromkeys(("CC_DFF", "CC_DLT"), FF),
            "CC_BRAM_20K": Cost(bram=1),
            "CC_BRAM_40K": Cost(bram=2),
        },
        sized={
            "CC_MULT": SizedCost(
                parameters=("A_WIDTH", "B_WIDTH"), base=14, first=2.0, second=5.5, product=0.5
            )
        },
        routing=_ROUTING,
    ),
    part=Part(
        title="CCGM1A1",
        block_kbit=20,
        resources={"lut": 40_960, "ff": 40_960, "dsp": 0, "bram": 64, "uram": 0},
        arguments=("--device", "CCGM1A1", "--vopt", "fpga_mode=2"),
        routed="CCGM1A1",
    ),
    large_text=200_000,
)  # fmt: skip
RECORDS = (_GATEMATE,)
