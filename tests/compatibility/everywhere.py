"""One program on every target, with the interpreter as the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import allo
import allo.dataflow as df

TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {"target": "llvm"},
    "csim": {"target": "vhls", "mode": "csim"},
    "jit": {"target": "verilog", "simulator": "jit"},
}
REGION_TARGETS = {**TARGETS, "cpu": {"target": "simulator"}}


def build(program: Any, target: str, folder: Path, **customize: Any) -> Callable[..., Any]:
    """A kernel or a region for a target, or its meaning (``interpret``)."""
    if target == "interpret":
        return allo.interpret(program, instantiate=customize.get("instantiate"))
    region = getattr(program, "__allo_region__", False)
    options = dict((REGION_TARGETS if region else TARGETS)[target])
    if target == "csim":
        options["project"] = str(folder / "project")
    schedule = df.customize(program) if region else allo.customize(program, **customize)
    return schedule.build(**options)


def results(
    program: Any, target: str, folder: Path, *args: np.ndarray, **customize: Any
) -> list[np.ndarray]:
    """The arrays after one run; the caller's stay as they are."""
    copies = [a.copy() for a in args]
    build(program, target, folder, **customize)(*copies)
    return copies


EVERYWHERE = ("interpret", *TARGETS)
