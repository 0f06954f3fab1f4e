"""AMD UltraScale+, speed grade -2L, which the U280 has.

No open tool routes for it here. Its delays rest on what Vivado placed and routed out of context
(``docs/internals/device_record.md``, "Routed delays of AMD's families"): 0.419 ns from register to register
without logic, structures of 8 to 128 bits between registers, and AMD's own float cores. The two do not agree:
a table with its wires takes 0.45 ns in a structure that nothing presses, and some 0.33 ns in a core at its
clock. Here it is 0.36 ns (``table`` and ``wire``), a sum 0.52 ns and 0.008 ns a bit, a comparison 0.005 ns a
bit, and a doubling of the readers beyond eight 0.05 ns. So structures of tables come out up to a fifth faster
than routed and cores up to a fifth slower. 1.345 ns to the word of a block of RAM and 0.51 ns to its ports
are as routed. ``block`` makes a product of 16 bits between registers outside of its block take what was
routed, less a tenth; ``dsp_ns`` is between that and one with registers inside, 544 MHz. ``dsp_add_ns`` and
``block_sum`` are what AMD's float32 multiplier of one cycle, 264 MHz, leaves for the sum between its two
blocks. Blocks of 288 kbit and enables are not from them.

``crossing`` is the nanosecond that is remembered of AutoBridge (Guo et al., FPGA 2021) for a border between
dies. RapidWright's guide to bridges over such borders runs register to register between the dedicated ones
at some 750 MHz, 1.33 ns, of which ``clock_out`` and ``setup`` leave 0.91 ns. Nothing here could measure it,
and AMD's guide UG949 asks for registers on both sides. The dies are those of the family's smaller devices:
the first is all of a VU33P, and each other one what the next device has more.
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
        register_ns=0.419, gate_ns=0.20, mux_ns=0.20, fanout_ns=0.05, level_ns=0.36,
        fanin=6, carry_ns=0.52, carry_bit_ns=0.008, dsp_ns=1.88, dsp_shape=(26, 17), dsp_adder=48,
        dsp_add_ns=0.4, source_ns=1.0, luts_for_dsp=64, glue_ns=0.33, glue_bit_ns=0.015,
        memory_out_ns=1.345, memory_in_ns=0.51, compare_bit_ns=0.005, absorbs=True, packs=True,
        smaller_sums=frozenset(
            {("f32", 100.0), ("f32", 200.0), ("f32", 250.0), ("f32", 300.0), ("bf16", 200.0)}
        ),
    ),
    signals=SignalDelays(
        clock_out=0.369, wire=0.27, far=0.12, spread=0.05, table=0.09, joined=0.08, carry=0.25,
        carry_bit=0.008, compare_bit=0.005, block=1.31, block_sum=0.4, memory=1.19, setup=0.05, control=0.05,
        ultra=1.6, flattest=True, crossing=1.0,
    ),
    cells=Cells(
        inputs=6, dsp=(27, 18), dsp_signed=True, dsp_least=9, carry_absorbs=True,
        carry_shared=True, table_cell=xilinx.TABLE,
        shift_registers=True, small=2, few=1, level=0.68,
        blocks=xilinx.BLOCKS, true_blocks=xilinx.TRUE_BLOCKS, block_cost=129,
        block_registers=True, ultra=(4096, 72), ultra_worth=4.2, controls_join=True, resets_first=True,
    ),
    usual_mhz=200.0,
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
    synthesis=Synthesis(
        script=f"{_COMMAND} -run begin:map_memory; "
        f'setattr -set ram_style "block" {_ONE_PORT}; {_COMMAND} -run map_memory:',
        cells=xilinx.CELLS,
        packed=xilinx.packed("xcup"),
        blocks=xilinx.LARGE_BLOCKS,
    ),
    part=Part(
        title="U280 (xcu280)",
        resources={"lut": 1_303_680, "ff": 2_607_360, "dsp": 9_024, "bram": 4_032, "uram": 960},
        card=U280,
        regions=(
            {"lut": 439_680, "ff": 879_360, "dsp": 2_880, "bram": 1_344, "uram": 320},
            {"lut": 432_000, "ff": 864_000, "dsp": 3_072, "bram": 1_344, "uram": 320},
            {"lut": 432_000, "ff": 864_000, "dsp": 3_072, "bram": 1_344, "uram": 320},
        ),
    ),
    part_names=("xcu", "xczu", "xck", "xcvu", "xcvc", "xcvh"),
    large_text=4_000_000,
)  # fmt: skip
RECORDS = (RECORD,)
