"""Planted faults that only options other than the defaults, or copies of a loop's body, show."""

from __future__ import annotations

from . import Fault

_RTL = ("jit",)

NAMES = [
    Fault(
        "constant_on_either_side",
        "rtl operators",
        "allo.backend.rtl.operators.families.multiply",
        'return "" if position else "_first"',
        'return ""',
        "a unit is known by a name that says which factor is the constant",
        _RTL,
        "constants",
    ),
    Fault(
        "register_of_another_element",
        "rtl read",
        "allo.backend.rtl.read.accesses",
        "if not entry.when or _is_inside(array, entry.index):",
        "if entry.node is not None:",
        "a register is written where its store's condition holds",
        _RTL,
        "guarded",
    ),
]
