"""AMD's series 7, speed grade 1. No open tool routes for it here: its delays are scaled from data sheets."""

from __future__ import annotations

from . import xilinx
from .fields.cells import Cells
from .fields.delays import OperatorDelays, SignalDelays
from .fields.tools import Part, Synthesis
from .record import DeviceRecord, Netlist

RECORD = DeviceRecord(
    name="xc7",
    title="AMD series 7",
    operators=OperatorDelays(
        register_ns=0.70, gate_ns=0.40, mux_ns=0.40, fanout_ns=0.07, level_ns=0.75,
        fanin=6, carry_ns=0.95, carry_bit_ns=0.028, dsp_ns=3.9, dsp_shape=(24, 17), source_ns=1.8,
        luts_for_dsp=96, glue_ns=0.65, glue_bit_ns=0.03, memory_out_ns=2.6, memory_in_ns=0.9,
    ),
    signals=SignalDelays(
        clock_out=0.45, wire=0.65, far=0.4, spread=0.08, table=0.12, joined=0.2, carry=0.75,
        carry_bit=0.029, block=3.8, memory=2.4, setup=0.05,
    ),
    cells=Cells(
        inputs=6, dsp=(25, 18), dsp_signed=True, dsp_least=9, carry_absorbs=True,
        shift_registers=True, small=2, few=1, level=0.68,
        blocks=xilinx.BLOCKS, true_blocks=xilinx.TRUE_BLOCKS, block_cost=129,
        block_registers=True,
    ),
    usual_mhz=100.0,
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
    synthesis=Synthesis(script=xilinx.command("xc7"), cells=xilinx.CELLS),
    part=Part(
        title="XC7VX690T",
        resources={"lut": 433_200, "ff": 866_400, "dsp": 3_600, "bram": 2_940, "uram": 0},
    ),
    part_names=("xc7",),
    large_text=1_500_000,
)  # fmt: skip
RECORDS = (RECORD,)
