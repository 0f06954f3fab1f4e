"""Planted faults of registers that are stepped beside loop counters."""

from __future__ import annotations

from . import Fault

_RTL = ("jit",)

STEPPED = [
    Fault(
        "no_step_back",
        "rtl emit",
        "allo.backend.rtl.emit.addresses.stepped",
        "back = (stepped.back, 0)",
        "back = before",
        "a register of an address starts anew with its loops",
        _RTL,
    ),
    Fault(
        "one_step_for_all_levels",
        "rtl graph",
        "allo.backend.rtl.graph.addresses.stepping",
        "return factors.get(level.iv.number, 0) - back",
        "return factors.get(level.iv.number, 0)",
        "what is added to an address allows for the counters inside that go back",
        _RTL,
    ),
]
