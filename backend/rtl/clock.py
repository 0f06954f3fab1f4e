"""Clocks that are too fast: for any operator, or for one of a function, however many registers it has."""

from __future__ import annotations

import warnings

from allo.backend.devices import DeviceRecord
from allo.dialects.diagnostics import BuildError, ClockWarning

from .graph.nodes import Node
from .graph.prune import bodies_of
from .graph.regions import Function
from .plan.explain import short


def check_clock(record: DeviceRecord, clock_mhz: float) -> None:
    """Refuse a clock that no operator meets.

    Raises:
        BuildError: not even one lookup table fits between two registers.
    """
    device = record.operators
    fastest = device.fastest_mhz(device.level_ns)
    if clock_mhz > fastest:
        raise BuildError(
            f"No operator meets a clock of {clock_mhz:g} MHz on {record.name}: a register and one lookup "
            f"table with its wire take {device.register_ns + device.level_ns:.2f} ns.",
            help=f"ask for at most {int(fastest)} MHz.",
        )


def warn_of_slow_operators(function: Function, record: DeviceRecord, clock_mhz: float) -> None:
    """Warn of the slowest operator of a function, and note it, where the clock is too fast for it."""
    slowest = max((n for b in bodies_of(function.root) for n in b.nodes), key=_delay, default=None)
    device = record.operators
    budget = device.budget_ns(clock_mhz)
    if slowest is None or slowest.operator is None or _delay(slowest) <= budget:
        return
    place = f" ({short(slowest.place)})" if slowest.place else ""
    told = (
        f"{slowest.operator.name}{place} takes {_delay(slowest):.1f} ns between two registers, and no "
        f"further register can part it; at {clock_mhz:g} MHz {record.name} has {budget:.1f} ns. The clock to "
        f"ask for is at most {int(device.fastest_mhz(_delay(slowest)))} MHz."
    )
    function.notes.append(told)
    warnings.warn(told, ClockWarning, stacklevel=2)


def _delay(node: Node) -> float:
    return node.operator.slowest_ns if node.operator is not None else 0.0
