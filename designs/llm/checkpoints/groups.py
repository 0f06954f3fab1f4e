"""Four-bit weights in groups that share a step, and why they need no arithmetic of their own.

An output's weights have one float32 scale, as int8 weights have. Along its inputs, every group of 128
has a whole-numbered step of 1 to 18, and every weight a whole number q of -7 to 7::

    weight ≈ scale[output] * step[output, group] * q

``step * q`` fits int8. So hardware that holds nibbles and steps multiplies a group's sum by its step,
all in int32; and a reference for int8 weights computes the same sums from the products ``step * q``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allo.errors import AlloError

GROUP = 128
MOST_Q, MOST_STEP = 7, 18
"""``MOST_Q * MOST_STEP`` is at most 127."""


class GroupError(AlloError, ValueError):
    """Packed four-bit weights that do not belong together."""


@dataclass(frozen=True, slots=True)
class FourBits:
    """A layer's four-bit weights.

    Attributes:
        nibbles: uint8 (outputs, ceil(inputs / 2)), the even input's weight in the low half,
            two's complement.
        steps: uint8 (outputs, groups).
        scale: float64 (outputs,).
        inputs: number of inputs.
        group: inputs that share a step.
    """

    nibbles: np.ndarray
    steps: np.ndarray
    scale: np.ndarray
    inputs: int
    group: int = GROUP

    def rows(self) -> np.ndarray:
        """The products ``step * q``, int8 (outputs, inputs).

        Raises:
            GroupError: when nibbles and steps do not have the shapes of one layer.
        """
        groups = -(-self.inputs // self.group)
        wanted = {
            "nibbles": (len(self.scale), -(-self.inputs // 2)),
            "steps": (len(self.scale), groups),
        }
        for name, shape in wanted.items():
            found = getattr(self, name).shape
            if found != shape:
                raise GroupError(
                    f"The {name} of {len(self.scale)} outputs and {self.inputs} inputs in groups "
                    f"of {self.group} have the shape {list(found)}, and not {list(shape)}.",
                    help="pack the layer again with pack_groups.",
                )
        halves = np.stack([self.nibbles & 15, self.nibbles >> 4], axis=-1)
        q = halves.reshape(len(self.scale), -1)[:, : self.inputs].astype(np.int8)
        q = np.where(q > 7, q - 16, q)
        steps = np.repeat(self.steps.astype(np.int8), self.group, axis=1)[:, : self.inputs]
        products: np.ndarray = q * steps
        return products


def quantize_groups(weight: np.ndarray, group: int = GROUP) -> FourBits:
    """The four-bit weights nearest to ``weight`` (outputs, inputs), steps chosen by least error."""
    outputs, inputs = weight.shape
    groups = -(-inputs // group)
    scale = np.maximum(np.abs(weight).max(1), 1e-12).astype(np.float64) / (MOST_Q * MOST_STEP)
    padded = np.zeros((outputs, groups * group))
    padded[:, :inputs] = weight / scale[:, None]
    parts = padded.reshape(outputs, groups, group)
    best = np.full((outputs, groups), np.inf)
    steps = np.ones((outputs, groups), np.uint8)
    for step in range(1, MOST_STEP + 1):
        error = np.square(_nearest(parts, step) * step - parts).sum(-1)
        better = error < best
        best, steps = np.where(better, error, best), np.where(better, np.uint8(step), steps)
    q = _nearest(parts, steps[:, :, None]).reshape(outputs, -1)[:, :inputs].astype(np.int8)
    return pack_groups(q, steps, scale, group)


def pack_groups(q: np.ndarray, steps: np.ndarray, scale: np.ndarray, group: int) -> FourBits:
    """Pack whole numbers of -7 to 7, int8 (outputs, inputs), two to a byte."""
    even = q if q.shape[1] % 2 == 0 else np.pad(q, ((0, 0), (0, 1)))
    halves = even.view(np.uint8) & 15
    nibbles = halves[:, 0::2] | halves[:, 1::2] << 4
    return FourBits(nibbles.astype(np.uint8), steps, scale, q.shape[1], group)


def _nearest(parts: np.ndarray, step: int | np.ndarray) -> np.ndarray:
    q: np.ndarray = np.clip(np.rint(parts / step), -MOST_Q, MOST_Q)
    return q
