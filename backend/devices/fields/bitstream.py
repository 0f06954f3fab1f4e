"""How a routed design of a family becomes a bitstream: constraints, clock, packer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Pll(Facts):
    """A clock generator: its dividers, their limits, and its Verilog.

    The reference is the oscillator over ``reference``; it is compared with the oscillator inside it (VCO)
    over ``feedback`` and, with ``behind_output``, over ``output``, too. The clock is the VCO over ``output``.

    Attributes:
        source: where the limits are from.
        reference, feedback, output: values that each divider has.
        reference_mhz, vco_mhz, clock_mhz: lowest and highest of each clock.
        behind_output: the feedback is taken from the clock rather than from the VCO.
        verilog: the instance, with places for ``{oscillator_mhz}``, ``{clock_mhz}``, the dividers
            ``{reference}``, ``{feedback}``, ``{output}``, the first two less one (``{reference_code}``,
            ``{feedback_code}``), the two-logarithm of the last (``{output_code}``) and ``{filter}``.
        filters: of loop filters, the reference below which each is taken, and its code.
    """

    source: str
    reference: tuple[int, ...]
    feedback: tuple[int, ...]
    output: tuple[int, ...]
    reference_mhz: tuple[float, float]
    vco_mhz: tuple[float, float]
    clock_mhz: tuple[float, float]
    behind_output: bool
    verilog: str
    filters: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitstream(Facts):
    """The way from a design with pins to a file that programs a device.

    Attributes:
        constraints: name of the file that gives ports their pins.
        pin: its text for one port, with places for ``{port}``, ``{site}`` and ``{attributes}``.
        attribute: one of these, with places for ``{name}`` and ``{value}``.
        arguments: of nextpnr, which name that file and the one it writes.
        packer: the program that makes the bitstream; ``package``: the wheel that brings it.
        packer_arguments: with the names of what nextpnr wrote and of the bitstream, ``{file}``.
        suffix: how the name of a bitstream usually ends.
        plls: clock generators by the name that boards choose one by.
        script: commands of Yosys, where pins need others than a design by itself.
        clock_out: Verilog that brings the inverse of ``clock`` to ``pin``, as a cell beside it does; "" for
            any logic.
        models: files of Yosys with models of its cells; none where its netlists cannot be simulated.
        routed_models: whether the cells that nextpnr makes have models, too.
        open_level: of an input of a cell that nothing is joined to; ``open_others`` have the other level.
    """

    constraints: str
    pin: str
    attribute: str
    arguments: tuple[str, ...]
    packer: str
    package: str
    packer_arguments: tuple[str, ...]
    suffix: str
    plls: Mapping[str, Pll] = field(default_factory=dict)
    script: str = ""
    clock_out: str = ""
    models: tuple[str, ...] = ()
    routed_models: bool = True
    open_level: str = "0"
    open_others: frozenset[str] = frozenset()
