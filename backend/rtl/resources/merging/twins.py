"""Registers that hold what another register of the module holds, on the way round of a recurrence.

A register that its own data is computed from has a node before its data is known, so that nothing was there
to compare. Yosys finds such registers to be one (``opt_merge``), then what is computed from them, and the
registers behind that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..nodes import Value

Twins = Mapping[str, str]
"""By register the one that stands for it, which no other stands for."""
NO_TWINS: Twins = MappingProxyType({})


def twins_of(registers: Iterable[tuple[str, Value, tuple[object, ...]]]) -> dict[str, str]:
    """The registers that others of different nodes stand for.

    Args:
        registers: the name, the value, and what decides what it holds. Those whose nodes came before their
            data are first.
    """
    first: dict[tuple[object, ...], tuple[str, Value]] = {}
    found: dict[str, str] = {}
    for name, held, decides in registers:
        known, value = first.setdefault(decides, (name, held))
        if value != held:
            found[name] = known
    return found
