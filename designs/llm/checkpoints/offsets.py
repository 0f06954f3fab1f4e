"""Four-bit weights in groups that have a step and an offset, as the blocks of GGUF's Q4_1 have.

An output's weights have one float scale. Along its inputs every group, of 32 in GGUF, has a whole-numbered
step and a whole-numbered offset, and every weight a whole number q of -8 to 7::

    weight ≈ scale[output] * (step[output, group] * q + offset[output, group])

So a group's sum is ``step * sum(q * x) + offset * sum(x)``, in integers, and ``sum(x)`` is the same for all
outputs. The levels of a block of Q4_1 are found again exactly, because its writer uses the lowest and the
highest one; its step and its offset, which are float16 there, become the nearest of 8 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLOCK_GROUP = 32
"""Inputs of a block of Q4_1."""
MOST_STEP, MOST_OFFSET = 127, 127
MOST_PRODUCT = 8 * MOST_STEP + MOST_OFFSET
"""The largest magnitude of a weight in steps of its row."""
_LEVELS, _LOWEST = 15, -8


@dataclass(frozen=True, slots=True)
class Offsets:
    """A layer's four-bit weights with offsets.

    Attributes:
        q: int8 (outputs, inputs), of -8 to 7.
        steps: int8 (outputs, groups), of 0 to 127.
        offsets: int8 (outputs, groups), of -127 to 127.
        scale: float64 (outputs,).
    """

    q: np.ndarray
    steps: np.ndarray
    offsets: np.ndarray
    scale: np.ndarray

    def rows(self) -> np.ndarray:
        """The weights in steps of their row, ``step * q + offset``: int16 (outputs, inputs)."""
        parts = self.q.astype(np.int16).reshape(*self.steps.shape, -1)
        products = parts * self.steps[..., None] + self.offsets[..., None]
        rows: np.ndarray = products.astype(np.int16).reshape(self.q.shape)
        return rows


def quantize_offsets(weight: np.ndarray, group: int = BLOCK_GROUP) -> Offsets:
    """Four-bit weights near to ``weight`` (outputs, inputs): 16 levels from a group's lowest to its highest.

    Args:
        group: inputs of a group, which divides the inputs.
    """
    parts = weight.astype(np.float64).reshape(len(weight), -1, group)
    low = parts.min(-1)
    step = (parts.max(-1) - low) / _LEVELS
    levels = np.rint((parts - low[..., None]) / np.maximum(step, 1e-30)[..., None])
    offset = low - _LOWEST * step
    scale = np.maximum(step.max(-1) / MOST_STEP, np.abs(offset).max(-1) / MOST_OFFSET)
    scale = np.maximum(scale, 1e-12)
    return Offsets(
        (levels + _LOWEST).astype(np.int8).reshape(weight.shape),
        np.rint(step / scale[:, None]).astype(np.int8),
        np.rint(offset / scale[:, None]).astype(np.int8),
        scale,
    )
