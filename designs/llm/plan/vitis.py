"""The wide accelerator as a Vitis project: kernel, host program, and which bank of the HBM holds what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..wide.build import schedule
from ..wide.families.model import Model
from ..wide.parameters import Wide

BANKS: dict[str, str] = {
    "weights": "HBM[0]",
    "affine": "HBM[1]",
    "norm_table": "HBM[2]",
    "token_table": "HBM[3]",
    "position_table": "HBM[4]",
    "keys": "HBM[5]",
    "values": "HBM[6]",
    "logits": "HBM[7]",
}
"""Bank of each large array. All weights are one port of the kernel, and so one bank: see docs/llm.md."""


def vitis_project(
    config: Model, wide: Wide, folder: Path, mode: str = "hw_emu", clock_mhz: float = 300
) -> Any:
    """Write the project, and return what runs it; ``mode="csim"`` runs it here, compiled by g++.

    Arrays stay in the memory outside (``wrap_io=False``): the loaders read them as their streams have room.

    Raises:
        WidthError: the parameters do not fit the model.
    """
    return schedule(config, wide).build(
        target="vitis_hls",
        mode=mode,
        project=str(folder),
        wrap_io=False,
        configs={"hbm_mapping": BANKS, "frequency": clock_mhz},
    )
