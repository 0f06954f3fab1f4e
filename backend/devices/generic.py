"""No device in particular: delays between those of the others, resources as those of ECP5."""

from __future__ import annotations

from dataclasses import replace

from . import ecp5
from .fields.delays import OperatorDelays
from .record import DeviceRecord, Netlist

RECORD = DeviceRecord(
    name="generic",
    title="no device in particular",
    operators=OperatorDelays(
        register_ns=0.70, gate_ns=0.40, mux_ns=0.45, fanout_ns=0.08, level_ns=0.80,
        fanin=4, carry_ns=1.00, carry_bit_ns=0.040, dsp_ns=4.0, dsp_shape=(18, 18), source_ns=1.8,
        luts_for_dsp=96, glue_ns=0.35, glue_bit_ns=0.02, memory_out_ns=1.2, memory_in_ns=0.5,
    ),
    signals=ecp5.SIGNALS,
    cells=replace(ecp5.CELLS, registered=None),
    usual_mhz=100.0,
    netlist=Netlist(offset_comparisons=False, early_writes=False, running_bits=False),
)  # fmt: skip
RECORDS = (RECORD,)
