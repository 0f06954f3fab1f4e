"""Kernels written as text, built for every target."""

from __future__ import annotations

from typing import Any

import allo
from allo.ir import types

TARGETS = ("cpu", "csim", "rtl")
ENGINES = (*TARGETS, "verilator")
_OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "csim": {"target": "vhls"},
    "rtl": {"target": "verilog", "configs": {"simulator": "jit"}},
    "verilator": {"target": "verilog"},
}
NAMES = {name: getattr(types, name) for name in types.__all__} | {"allo": allo}


def kernel(lines: list[str], **names: Any) -> Any:
    """A schedule of the kernel whose source these lines are."""
    return allo.customize("\n".join(lines) + "\n", global_vars=NAMES | names)


def build(schedule: Any, target: str) -> Any:
    """``schedule`` for one of ``ENGINES``."""
    return schedule.build(**_OPTIONS[target])
