"""Clocks that are too fast: for any operator, or for one of a function, however many registers it has."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from allo.backend.devices import DeviceRecord
from allo.dialects.diagnostics import BuildError, ClockWarning

from .graph.nodes import Node
from .graph.prune import bodies_of
from .graph.regions import Function
from .plan.explain import short
from .slow_cycles import SlowCycle, slowest_cycle


def fastest_clock(record: DeviceRecord) -> int:
    """The highest clock in MHz at which one lookup table fits between two registers."""
    device = record.operators
    return int(device.fastest_mhz(device.level_ns))


def check_clock(
    record: DeviceRecord,
    clock_mhz: float,
    around: Callable[[int], SlowCycle | None] = lambda _: None,
) -> None:
    """Refuse a clock that no operator meets.

    Args:
        around: of a design for the highest clock that some operator meets, its cycle with the slowest.

    Raises:
        BuildError: not even one lookup table fits between two registers.
    """
    device = record.operators
    fastest = fastest_clock(record)
    if clock_mhz <= device.fastest_mhz(device.level_ns):
        return
    told = (
        f"No operator meets a clock of {clock_mhz:g} MHz on {record.name}: a register and one lookup "
        f"table with its wire take {device.register_ns + device.level_ns:.2f} ns."
    )
    cycle = around(fastest)
    if cycle is None:
        raise BuildError(told, help=f"ask for at most {fastest} MHz.")
    limit = min(fastest, int(device.fastest_mhz(cycle.delay_ns)))
    raise BuildError(
        f"{told} {cycle.slowest_name} stands in a loop: {cycle.told(device)}",
        cycle.slowest.place,
        help=f"ask for at most {limit} MHz.",
    )


def warn_of_slow_operators(function: Function, record: DeviceRecord, clock_mhz: float) -> None:
    """Warn of the slowest operator of a function, and note it, where the clock is too fast for it.

    A cycle of operations in a pipelined loop that is too slow for it at any interval is told, too.
    """
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
    cycle = slowest_cycle([function])
    if cycle is not None and cycle.delay_ns > budget:
        where = "It" if cycle.slowest is slowest else cycle.slowest_name
        told += f" {where} stands in a loop: {cycle.told(device)}"
    function.notes.append(told)
    warnings.warn(told, ClockWarning, stacklevel=2)


def _delay(node: Node) -> float:
    return node.operator.slowest_ns if node.operator is not None else 0.0
