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


@dataclass(frozen=True, slots=True)
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
        dsp_ns: one multiplier block, unregistered.
        dsp_shape: widths of its unsigned operands, the larger first.
        source_ns: how late a unit's operands may arrive (a memory output, an operand mux).
        luts_for_dsp: lookup tables that a product by a constant may take in place of a multiplier block.
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


DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        # name, register, gate, mux, fanout, level, fanin, carry, carry bit, dsp, dsp shape, source, luts
        Device("xcup", 0.35, 0.22, 0.23, 0.04, 0.40, 6, 0.55, 0.012, 2.4, (26, 17), 1.0, 64),
        Device("xc7", 0.70, 0.40, 0.40, 0.07, 0.75, 6, 0.95, 0.028, 3.9, (24, 17), 1.8, 96),
        Device("ecp5", 1.00, 0.60, 0.60, 0.12, 1.10, 4, 1.50, 0.060, 4.5, (18, 18), 2.5, 128),
        Device("generic", 0.70, 0.40, 0.45, 0.08, 0.80, 4, 1.00, 0.040, 4.0, (18, 18), 1.8, 96),
    )
}


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
