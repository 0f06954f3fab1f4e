"""The wide accelerator as a Vitis project: kernel, host program, and which memory of the card holds what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..config import Architecture
from ..wide.build import schedule
from ..wide.parameters import Wide, WidthError

HBM_CHANNELS = 32
"""Channels of the HBM of a U280."""


def memories(wide: Wide) -> dict[str, str | list[str]]:
    """The memory of each array: a channel of HBM for each channel of the weights, DDR for the rest.

    Where each unit has rows of its own, as of the keys, each has a port: two processes may not share one.
    Where each channel of the weights has one reader, everything lies in them.

    Raises:
        WidthError: more channels than the HBM has.
    """
    if wide.channels > HBM_CHANNELS:
        raise WidthError(
            f"The weights are in {wide.channels} channels, and the HBM of a U280 has {HBM_CHANNELS}.",
            help=f"ask for at most {HBM_CHANNELS} channels, with more lanes.",
        )
    weights = {"weights": [f"HBM[{channel}]" for channel in range(wide.channels)]}
    if wide.cache == "channels":
        return dict(weights)
    tables = ("affine", "norm_table", "token_table", "position_table", "attends", "gelus", "logits")
    return {
        **weights,
        **dict.fromkeys(tables, "DDR[0]"),
        "exponents": ["DDR[0]"] * wide.heads,
        **{name: ["DDR[1]"] * wide.heads for name in ("keys", "values")},
    }


def vitis_project(
    config: Architecture, wide: Wide, folder: Path, mode: str = "hw_emu", clock_mhz: float = 300
) -> Any:
    """Write the project, and return what runs it; ``mode="csim"`` runs it here, compiled by g++.

    Arrays stay in the memory outside (``wrap_io=False``): the loaders read them as their streams have room.

    Raises:
        WidthError: the parameters do not fit the model, or the card's memory channels.
    """
    mapping = memories(wide)
    return schedule(config, wide).build(
        target="vitis_hls",
        mode=mode,
        project=str(folder),
        wrap_io=False,
        configs={"hbm_mapping": mapping, "frequency": clock_mhz},
    )
