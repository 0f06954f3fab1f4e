"""What the scheduler and the datapath need to know of an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..netlist.modules import Module
from ..netlist.operations import Operation

Emit = Callable[[Sequence[str], Callable[[], str]], tuple[list[Operation], str]]


@dataclass(frozen=True, slots=True)
class Resources:
    """Estimated cost of one operator on the device's family."""

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.lut + other.lut, self.ff + other.ff, self.dsp + other.dsp, self.bram + other.bram
        )


@dataclass(frozen=True, slots=True)
class Operator:
    """One way to compute an operation.

    Values are bit vectors: floats are their bits (``i32``), ``index`` is 64 bits.

    Attributes:
        name: kind of operator for reports: ``"fadd_f32"``, ``"add_i33"``.
        latency: cycles from operands to result; 0 means combinational.
        delay_ns: combinational delay; of a unit with latency, the longest from its
            operands to its first registers. Its result is a register.
        slowest_ns: the longest logic between two registers of it; no register can part it further.
        resources: cost of one.
        shareable: whether several operations may use one unit in turn.
        initiation_interval: cycles between two operand sets of a unit (1 = fully pipelined).
        emit: combinational operators: ``emit(operands, fresh)`` gives (operations of comb, name of the
            result value). ``operands`` are SSA names such as ``%a``; ``fresh()`` makes a new one.
        module: units: name of its hw module. Ports, in order:
            ``in %clk: !seq.clock, in %ce: i1, in %a: iN (, in %b: iN …), out r: iM``.
            It has no reset and no valid: the result of the operands present at an enabled clock
            edge is at ``r`` after ``latency`` enabled edges. ``ce`` low freezes it whole.
        operand_widths: bits of each operand.
        result_width: bits of the result.
        joins: whether one unit can compute it together with others of its kind, in fewer cycles than both.
    """

    name: str
    latency: int
    delay_ns: float
    resources: Resources
    shareable: bool
    operand_widths: tuple[int, ...]
    result_width: int
    initiation_interval: int = 1
    emit: Emit | None = None
    module: str = ""
    slowest_ns: float = 0.0
    joins: bool = False
    unit_module: Callable[[str], Module] | None = field(default=None, repr=False)
    """Units: ``unit_module("rtl")`` or ``unit_module("native")`` is the module. ``native`` has one native
    operation (``arith.bitcast``, ``arith.addf`` …, NaN made canonical) and a shift register of the same
    latency, for CIRCT's arc simulator."""
    asked: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    """What the library was asked for: operation, operand types, result type, attributes."""
    netlist: Any = field(default=None, repr=False, compare=False)
    """What it computes, as a :class:`~allo.backend.rtl.operators.netlist.Netlist` with inputs a, b, c …;
    ``evaluate`` of that module runs it in Python."""
