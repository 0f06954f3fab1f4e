"""The builds that run a kernel, by short names."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def build(schedule: Any, target: str, folder: Path) -> Any:
    """``schedule`` built for ``cpu``, ``csim``, ``jit`` or ``verilator``."""
    if target == "cpu":
        return schedule.build()
    if target == "csim":
        return schedule.build(target="vitis_hls", mode="csim", project=str(folder / "project"))
    return schedule.build(target="verilog", configs={"simulator": target})
