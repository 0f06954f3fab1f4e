"""What the families of the reference share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..fixedpoint import times
from ..network import Network, Node, TensorInfo
from ..scales import clamped, reduced

Compute = Callable[[Network, Node, Sequence[Any]], Array | list[Array]]
"""The elements of an operator's result, or of all, from those of its operands."""


def centred(info: TensorInfo, elements: Array) -> Array:
    """Integers without their zero point."""
    return np.asarray(elements.astype(np.int64) - info.zero)


def ended(
    sums: Array, factors: Sequence[tuple[int, int]], result: TensorInfo, activation: int
) -> Array:
    """Sums, their channels last, times their factors, with zero point and bounds."""
    mantissas = np.array([m for m, _ in factors], np.int64)
    exponents = np.array([e for _, e in factors], np.int64)
    return limited(times(sums, mantissas, exponents), result, activation)


def ended_wide(
    sums: Array, factors: Sequence[tuple[int, int]], result: TensorInfo, activation: int
) -> Array:
    """As :func:`ended`, of sums of 64 bits."""
    mantissas = np.array([reduced(m) for m, _ in factors], np.int64)
    shifts = np.array([15 - e for _, e in factors], np.int64)
    return limited((sums * mantissas + (1 << (shifts - 1))) >> shifts, result, activation)


def limited(levels: Array, result: TensorInfo, activation: int) -> Array:
    """Levels with the zero point, within the bounds of a fused activation."""
    return np.asarray(np.clip(levels + result.zero, *clamped(result, activation)))


def before(options: Any, sizes: Sequence[int], source: TensorInfo, result: TensorInfo) -> list[int]:
    """What stands before an image of padding SAME, in height and width."""
    if options.Padding() != 0:
        return [0, 0]
    strides = (options.StrideH(), options.StrideW())
    dilated = hasattr(options, "DilationHFactor")
    dilations = (options.DilationHFactor(), options.DilationWFactor()) if dilated else (1, 1)
    pads = []
    for d in range(2):
        span = dilations[d] * (sizes[d] - 1) + 1
        total = (result.shape[1 + d] - 1) * strides[d] + span - source.shape[1 + d]
        pads.append(max(total, 0) // 2)
    return pads


def windows(
    image: Array,
    sizes: Sequence[int],
    options: Any,
    pads: Sequence[int],
    shape: Sequence[int],
    fill: float,
) -> Array:
    """The elements that each offset of a window reads: ``[offset, batch, row, column, channel]``."""
    strides = (options.StrideH(), options.StrideW())
    dilated = hasattr(options, "DilationHFactor")
    dilations = (options.DilationHFactor(), options.DilationWFactor()) if dilated else (1, 1)
    around = [(0, 0)]
    for d in range(2):
        last = (shape[1 + d] - 1) * strides[d] + (sizes[d] - 1) * dilations[d] + 1
        around.append((pads[d], max(0, last - image.shape[1 + d] - pads[d])))
    padded = np.pad(image, [*around, (0, 0)], constant_values=fill)
    taken = []
    for place in np.ndindex(*sizes):
        cut = [
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(place, dilations, shape[1:3], strides, strict=True)
        ]
        taken.append(padded[:, cut[0], cut[1]])
    return np.stack(taken)
