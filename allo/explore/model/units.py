"""What units of hardware take and how long they work, asked of the operator library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from allo.backend.rtl.operators.library import OperatorLibrary
from allo.dialects.diagnostics import AlloError

from .kernel import Unit

LOAD_AND_STORE = 2
"""Cycles before the first unit of an iteration and behind the last one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one unit: cycles to its result, cycles between two operands, lookup tables and multiplier blocks."""

    latency: int
    interval: int
    lut: int
    dsp: int


FREE = Cost(1, 1, 0, 0)
"""What an operation counts for whose unit is not known before it is built."""


@dataclass(slots=True)
class Units:
    """The units of one device at one clock; ``dsp_factors`` are multiplier blocks that a user states."""

    device: str
    clock_mhz: float
    subnormals: str
    dsp_factors: Mapping[str, int] | None = None
    _found: dict[Unit, Cost] = field(default_factory=dict)
    _library: OperatorLibrary | None = None

    def cost(self, unit: Unit) -> Cost:
        """What a unit takes."""
        if unit not in self._found:
            self._found[unit] = self._ask(unit)
        return self._found[unit]

    def after(self, units: list[Unit]) -> int:
        """Cycles that units take one after the other."""
        return sum(self.cost(unit).latency for unit in units)

    def _ask(self, unit: Unit) -> Cost:
        if self._library is None:
            self._library = OperatorLibrary(self.device, self.clock_mhz, self.subnormals)
        name, operands, result = unit
        widths = tuple("i64" if kind == "index" else kind for kind in operands)
        try:
            found = self._library.find(name, widths, result)
        except AlloError:
            return FREE
        taken = found.resources
        dsp = (self.dsp_factors or {}).get(name.partition(".")[2], taken.dsp)
        return Cost(found.latency, found.initiation_interval, taken.lut, dsp)


def shown(unit: Unit) -> str:
    """A unit as a user calls it: ``mulf of f32``."""
    return f"{unit[0].partition('.')[2]} of {unit[2]}"
