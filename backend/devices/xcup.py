"""AMD UltraScale+, speed grade -2L, which the U280 has.

No open tool routes for it. The delays of operators are scaled from those of ECP5, which were fitted to
nextpnr. Of those of signals, a table with its wire takes 0.30 ns, as AMD budgets it for the U280's grade
(``report_failfast`` of Vivado's ``designutils``: 0.35, 0.30 and 0.25 ns a table for grades 1, 2 and 3), carry
chains are those that FloPoCo read in Vivado's reports for a VU3P of this grade, and a multiplier block
takes what routed designs of grade 1 show (1.92 ns), less the difference of the grades.

Vivado's router measured more (``docs/internals/device_record.md``, "Routed delays of AMD's families").
From register to register, the delays of signals make sums of 8 to 128 bits 35 to 42 % too short,
comparisons 26 to 37 %, logic 50 to 53 % and selects 43 to 56 %. Those of operators are 12 % below to 17 %
above it for sums, and 13 to 18 % below it for logic. So estimated clocks of this family are too fast.
"""

from __future__ import annotations

from . import xilinx
from .cards import U280
from .fields.cells import Cells
from .fields.delays import OperatorDelays, SignalDelays
from .fields.tools import Part, Synthesis
from .record import DeviceRecord, Netlist

_ONE_PORT = (
    "t:$mem_v2 r:SIZE>256 %i r:RD_PORTS=1 %i r:WR_PORTS=1 %i r:RD_CLK_ENABLE=1'1 %i a:ram_style %d"
)
"""Deep memories with one port: Yosys 0.70 knows a LUT memory for them that UltraScale+ does not have.

Those that ask for a kind of block get it.
"""
_COMMAND = xilinx.command("xcup")

RECORD = DeviceRecord(
    name="xcup",
    title="AMD UltraScale+",
    operators=OperatorDelays(
        register_ns=0.35, gate_ns=0.22, mux_ns=0.23, fanout_ns=0.04, level_ns=0.40,
        fanin=6, carry_ns=0.55, carry_bit_ns=0.012, dsp_ns=2.4, dsp_shape=(26, 17), source_ns=1.0,
        luts_for_dsp=64, glue_ns=0.35, glue_bit_ns=0.02, memory_out_ns=1.2, memory_in_ns=0.5,
        absorbs=True,
        smaller_sums=frozenset(
            {("f32", 100.0), ("f32", 200.0), ("f32", 250.0), ("f32", 300.0), ("bf16", 200.0)}
        ),
    ),
    signals=SignalDelays(
        clock_out=0.08, wire=0.21, far=0.12, spread=0.06, table=0.09, joined=0.08, carry=0.30,
        carry_bit=0.005, block=1.7, memory=1.1, setup=0.05, control=0.05, ultra=1.6,
    ),
    cells=Cells(
        inputs=6, dsp=(27, 18), dsp_signed=True, dsp_least=9, carry_absorbs=True,
        shift_registers=True, small=2, few=1, level=0.68,
        blocks=xilinx.BLOCKS, true_blocks=xilinx.TRUE_BLOCKS, block_cost=129,
        block_registers=True, ultra=(4096, 72), ultra_worth=4.2,
    ),
    usual_mhz=200.0,
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
    synthesis=Synthesis(
        script=f"{_COMMAND} -run begin:map_memory; "
        f'setattr -set ram_style "block" {_ONE_PORT}; {_COMMAND} -run map_memory:',
        cells=xilinx.CELLS,
    ),
    part=Part(
        title="U280 (xcu280)",
        resources={"lut": 1_303_680, "ff": 2_607_360, "dsp": 9_024, "bram": 4_032, "uram": 960},
        card=U280,
    ),
    part_names=("xcu", "xczu", "xck", "xcvu", "xcvc", "xcvh"),
    large_text=4_000_000,
)  # fmt: skip
RECORDS = (RECORD,)
