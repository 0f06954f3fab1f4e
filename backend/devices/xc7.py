"""AMD's series 7, speed grade -1.

No open tool routes for it here. Its delays are fitted to structures between registers that Vivado placed and
routed out of context, of 8 to 128 bits (``docs/internals/device_record.md``, "Routed delays of AMD's
families"): 1.086 ns from register to register without logic (``register_ns``, ``clock_out`` and ``setup``),
1.46 ns a table with its wires, 2.09 ns and 0.0277 ns a bit for a sum, half of that a bit for a comparison,
0.9 ns for each place of the distance of a shift, 5.62 ns for a product of 16 bits, 3.43 ns to the word of a
block of RAM and 1.39 ns to its ports. What such structures do not show is scaled with a table. ``dsp_ns`` is
not from them: units keep the registers of a product in its block, where no wires lie.
"""

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
        register_ns=1.086, gate_ns=0.80, mux_ns=0.83, fanout_ns=0.20, level_ns=1.46,
        fanin=6, carry_ns=2.09, carry_bit_ns=0.0277, dsp_ns=3.5, dsp_shape=(24, 17), dsp_adder=48,
        source_ns=2.1, luts_for_dsp=96, glue_ns=1.3, glue_bit_ns=0.03, memory_out_ns=3.43, memory_in_ns=1.39,
        compare_bit_ns=0.014, shift_ns=0.9, choice_ns=0.9, packs=True,
    ),
    signals=SignalDelays(
        clock_out=1.036, wire=1.20, far=0.1, spread=0.20, table=0.26, joined=0.2, carry=0.89,
        carry_bit=0.0277, block=3.0, memory=3.2, setup=0.05, compare_bit=0.014, shift=0.9, flattest=True,
    ),
    cells=Cells(
        inputs=6, dsp=(25, 18), dsp_signed=True, dsp_least=9, carry_absorbs=True,
        carry_shared=True, table_cell=xilinx.TABLE,
        shift_registers=True, small=2, few=1, level=0.68,
        blocks=xilinx.BLOCKS, true_blocks=xilinx.TRUE_BLOCKS, block_cost=129,
        block_registers=True, controls_join=True, resets_first=True,
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
