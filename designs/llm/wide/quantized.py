"""A model in integers as an accelerator with steps of tokens takes it."""

from __future__ import annotations

import numpy as np

from ..checkpoints.float_model import Params
from ..checkpoints.quantize import QuantizedModel, calibrate, quantize
from ..checkpoints.rotation import evened, smoothed, turned
from ..config import Architecture
from .parameters import Wide, WidthError


def quantize_for(
    wide: Wide, model: Architecture, params: Params, batches: list[np.ndarray]
) -> QuantizedModel:
    """Quantise a model: W8A8 with turned residual, smoothed gates and even heads, or W4A8 with even heads.

    Weights of four bits keep the levels of GGUF's blocks where ``params`` come from such, which a turned
    residual would not.

    Args:
        wide: the accelerator, whose ``block`` is not 0.
        batches: tokens (batch, length) of typical text, that steps are calibrated on.

    Raises:
        WidthError: the accelerator has static steps.
    """
    if not wide.block:
        raise WidthError(
            "The accelerator has static steps of activations, block=0.",
            help="quantise its model by checkpoints.quantize.quantize, or take a block of lanes.",
        )
    if wide.bits == 8:
        params = turned(model, evened(model, smoothed(model, params, batches), batches))
        return quantize(model, params, calibrate(model, params, batches), block=wide.block)
    params = evened(model, params, batches, wide.group)
    scales = calibrate(model, params, batches)
    return quantize(model, params, scales, 4, wide.group, wide.block, offsets=True)
