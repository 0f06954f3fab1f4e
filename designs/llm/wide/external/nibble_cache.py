"""Keys and values of four bits: the integer model, with a step for each group of a head and token.

``NibbleWide`` is the reference of the hardware of :mod:`.halves`. A step is a whole number of the levels that
eight bits have, so that products stay whole numbers: what is kept is a level of -7 to 7, times its step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...checkpoints.integer_model import IntegerModel
from ...checkpoints.quantize import QuantizedModel
from ..memories import head_order
from ..parameters import Wide
from ..reference import WideGPT

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


class NibbleWide(WideGPT):
    """The reference of a wide accelerator that keeps keys and values of four bits.

    Attributes:
        levels, steps: of all tokens so far, by name ("0.k"), as the hardware orders the elements of a head.
    """

    def __init__(self, weights: QuantizedModel, wide: Wide) -> None:
        super().__init__(weights, wide)
        self.levels: dict[str, np.ndarray] = {}
        self.steps: dict[str, np.ndarray] = {}

    def reset(self) -> None:
        """Forget what was fed."""
        super().reset()
        self.levels, self.steps = {}, {}

    def resume(self, kept: Mapping[str, np.ndarray], position: int) -> None:
        """Go on behind tokens whose keys and values are these, before they become four bits."""
        self.reset()
        values = {name: self._told(name, new) for name, new in kept.items()}
        levels, steps = self.levels, self.steps
        super().resume(values, position)  # it forgets everything else
        self.levels, self.steps = levels, steps

    def _kept(self, name: str, new: np.ndarray) -> np.ndarray:
        return super()._kept(name, self._told(name, new))

    def _told(self, name: str, new: np.ndarray) -> np.ndarray:
        """What levels and steps of new keys or values stand for, both kept."""
        model, group = self.weights.model, self.wide.kept_group
        turned = 2 * len(model.rotary) if name.endswith(".k") else 0
        order = head_order(model.head_dim, turned)
        levels, steps = in_nibbles(new[..., order], group)
        for told, now in ((self.levels, levels), (self.steps, steps)):
            told[name] = np.concatenate([told[name], now], axis=2) if name in told else now
        values = np.empty_like(new)
        values[..., order] = levels * np.repeat(steps, group, axis=-1)
        return values


def reference_of(weights: QuantizedModel, wide: Wide) -> WideGPT:
    """The reference of a wide accelerator, as it keeps keys and values."""
    return NibbleWide(weights, wide) if wide.kept_group else WideGPT(weights, wide)
