"""Delay and size figures of the device families, as data.

Delays are estimates after routing, in nanoseconds; they decide where registers go and what the
scheduler chains, never what is computed. The figures of ``ecp5`` (speed grade 6) were fitted so that
float units placed and routed by nextpnr reach the clock asked for (``benchmarks/float_units.py``);
those of ``xcup`` (grade 2) and ``xc7`` (grade 1), for which no open tool routes, are scaled from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.diagnostics import BuildError
from allo.dialects.text.near import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One family.

    Attributes:
        name: the name ``OperatorLibrary`` takes.
        register_ns: clock to output plus set-up.
        gate_ns: a bitwise operation inside a chain of logic.
        mux_ns: a two-to-one multiplexer; ``fanout_ns`` is added per doubling of its width.
        level_ns: one lookup table with its routing.
        fanin: inputs of a lookup table.
        carry_ns: entering and leaving a carry chain; ``carry_bit_ns`` per bit.
        dsp_ns: one multiplier block, unregistered, with its routing.
        dsp_shape: widths of its unsigned operands, the larger first.
        source_ns: how late a unit's operands may arrive (a memory output, an operand mux).
        luts_for_dsp: lookup tables that a product by a constant may take in place of a multiplier block.
        glue_ns: a level of the logic that joins operators; ``glue_bit_ns`` per bit of its carry chains.
        memory_out_ns: clock to data of a RAM block, with its routing.
        memory_old_ns: more where a RAM block cannot read the word before a write of the same cycle, and
            logic beside it does.
        memory_in_ns: routing and set-up of its address and data.
        stream_ns: how late a word of a FIFO comes.
        order_ns: more for each stream operation that waits in the same cycle for one before it.
        word_to_dsp_ns: how late the register that has taken a word of a FIFO in gives it to a multiplier
            block. It lies between both, and only a second register lies at the block.
        return_ns: from a FIFO that has taken a word in to the places that the process counts, where
            the FIFO is far from it; a register parts this way at clocks at which it does not fit.
        small_memory: bits up to which a memory is made of lookup tables: its words are read before
            the register behind it, not after. 0 where this makes no difference.
        margin: part of the clock period that estimated delays may fill.
    """

    name: str
    register_ns: float
    gate_ns: float
    mux_ns: float
    fanout_ns: float
    level_ns: float
    fanin: int
    carry_ns: float
    carry_bit_ns: float
    dsp_ns: float
    dsp_shape: tuple[int, int]
    source_ns: float
    luts_for_dsp: int
    glue_ns: float = 0.35
    glue_bit_ns: float = 0.02
    memory_out_ns: float = 1.2
    memory_old_ns: float = 0.0
    memory_in_ns: float = 0.5
    stream_ns: float = 0.0
    order_ns: float = 0.0
    word_to_dsp_ns: float = 0.0
    return_ns: float = 0.0
    small_memory: int = 0
    margin: float = 0.92

    def budget_ns(self, clock_mhz: float) -> float:
        """Logic that fits between two registers."""
        return self.margin * 1000.0 / clock_mhz - self.register_ns

    def fastest_mhz(self, logic_ns: float) -> float:
        """The clock at which so much logic fits between two registers."""
        return self.margin * 1000.0 / (self.register_ns + logic_ns)


_XCUP = Device(
    name="xcup", register_ns=0.35, gate_ns=0.22, mux_ns=0.23, fanout_ns=0.04, level_ns=0.40,
    fanin=6, carry_ns=0.55, carry_bit_ns=0.012, dsp_ns=2.4, dsp_shape=(26, 17), source_ns=1.0,
    luts_for_dsp=64,
)  # fmt: skip
_XC7 = Device(
    name="xc7", register_ns=0.70, gate_ns=0.40, mux_ns=0.40, fanout_ns=0.07, level_ns=0.75,
    fanin=6, carry_ns=0.95, carry_bit_ns=0.028, dsp_ns=3.9, dsp_shape=(24, 17), source_ns=1.8,
    luts_for_dsp=96, glue_ns=0.65, glue_bit_ns=0.03, memory_out_ns=2.6, memory_in_ns=0.9,
)  # fmt: skip
_ECP5 = Device(
    name="ecp5", register_ns=1.00, gate_ns=0.60, mux_ns=0.60, fanout_ns=0.12, level_ns=1.10,
    fanin=4, carry_ns=1.50, carry_bit_ns=0.060, dsp_ns=6.5, dsp_shape=(18, 18), source_ns=1.5,
    luts_for_dsp=128, glue_ns=1.1, glue_bit_ns=0.05, memory_out_ns=5.9, memory_old_ns=1.1, memory_in_ns=1.0,
    stream_ns=2.2, order_ns=1.1, word_to_dsp_ns=2.0, return_ns=9.0,
    small_memory=512,
)  # fmt: skip
_GENERIC = Device(
    name="generic", register_ns=0.70, gate_ns=0.40, mux_ns=0.45, fanout_ns=0.08, level_ns=0.80,
    fanin=4, carry_ns=1.00, carry_bit_ns=0.040, dsp_ns=4.0, dsp_shape=(18, 18), source_ns=1.8,
    luts_for_dsp=96,
)  # fmt: skip
DEVICES: dict[str, Device] = {device.name: device for device in (_XCUP, _XC7, _ECP5, _GENERIC)}


def find_device(name: str) -> Device:
    """The family called ``name``.

    Raises:
        BuildError: when there is none.
    """
    if name in DEVICES:
        return DEVICES[name]
    hint = did_you_mean(name, DEVICES)
    raise BuildError(
        f"There is no device family {name!r}.", help=f"{hint}known families: {', '.join(DEVICES)}."
    )
