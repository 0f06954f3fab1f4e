"""Keys and values of four bits: the integer model, with a step for each group of a head and token.

No hardware keeps them so yet. A step is a whole number of the levels that eight bits have, so that products
stay whole numbers: what is kept is a level of -7 to 7, times its step.
"""

from __future__ import annotations

import numpy as np

from ...checkpoints.integer_model import IntegerModel
from ...checkpoints.quantize import QuantizedModel

LEVELS = 7


def in_nibbles(kept: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels of -7 to 7, and the step of every ``group`` of them, which is at least 1.

    Args:
        kept: whole numbers of -127 to 127; the last axis is cut into groups.
    """
    parts = kept.reshape(*kept.shape[:-1], -1, group)
    steps = np.maximum(1, np.ceil(np.abs(parts).max(-1, keepdims=True) / LEVELS))
    levels = np.clip(np.rint(parts / steps), -LEVELS, LEVELS)
    return levels.reshape(kept.shape), steps[..., 0]


class NibbleCacheModel(IntegerModel):
    """The integer model whose new keys and values are of four bits before any query sees them.

    Args:
        group: elements of a head that share a step; by default all.
    """

    def __init__(self, weights: QuantizedModel, group: int | None = None) -> None:
        super().__init__(weights)
        self.group = group or weights.model.head_dim

    def _kept(self, name: str, new: np.ndarray) -> np.ndarray:
        levels, steps = in_nibbles(new, self.group)
        return super()._kept(name, levels * np.repeat(steps, self.group, axis=-1))
