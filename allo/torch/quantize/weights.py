"""Integers for weights, a scale for each channel, a factor for each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.models.integers.arithmetic import Array

GROUP = 128
"""Weights that share a scale in ``w4a8``."""

_BIAS_LIMIT = 1 << 24
_CLIPS = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)
_FACTOR_BITS = 8


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to quantise.

    Attributes:
        name: ``"w8a8"`` or ``"w4a8"``.
        bits: of a weight.
        group: weights of a channel that share a scale; None: all.
    """

    name: str
    bits: int
    group: int | None

    @property
    def highest(self) -> int:
        """The largest weight; the lowest is its negative."""
        return (1 << (self.bits - 1)) - 1


SCHEMES = {"w8a8": Scheme("w8a8", 8, None), "w4a8": Scheme("w4a8", 4, GROUP)}


def scheme_named(name: str) -> Scheme:
    """The scheme of a name.

    Raises:
        ModelError: when there is none.
    """
    if name not in SCHEMES:
        known = " and ".join(map(repr, SCHEMES))
        raise ModelError(
            f"There is no quantisation scheme {name!r}.", help=f"the schemes are {known}."
        )
    return SCHEMES[name]


@dataclass(frozen=True, slots=True)
class Rows:
    """Quantised weights: ``weight ≈ rows · factors[group] · scale``, one row a channel.

    Attributes:
        rows: int8, ``[channel, place]``.
        scale: float64, ``[channel]``.
        factors: uint8, ``[channel, group]``; None where a row is one group.
        size: weights in a group.
    """

    rows: Array
    scale: Array
    factors: Array | None
    size: int

    def effective(self) -> Array:
        """Rows times factors, int64."""
        whole = self.rows.astype(np.int64)
        if self.factors is None:
            return whole
        spread = np.repeat(self.factors.astype(np.int64), self.size, 1)[:, : whole.shape[1]]
        return whole * spread


def quantize_rows(weight: Array, scheme: Scheme, least: Array) -> Rows:
    """Quantise ``weight[channel, place]``; no channel's scale is below ``least``, that of its bias."""
    weight = weight.astype(np.float64)
    places = weight.shape[1]
    size = scheme.group if scheme.group and scheme.group < places else places
    starts = range(0, places, size)
    blocks = [weight[:, start : start + size] for start in starts]
    scales = np.stack([_block_scale(block, scheme) for block in blocks], 1)
    if len(blocks) == 1:
        scale = np.maximum(scales[:, 0], least)
        return Rows(_rounded(weight, scale[:, None], scheme), scale, None, size)
    highest = (1 << _FACTOR_BITS) - 1
    scale = np.maximum(scales.max(1) / highest, least / highest)
    factors = np.clip(np.rint(scales / scale[:, None]), 1, highest)
    rows = [
        _rounded(block, (factors[:, k] * scale)[:, None], scheme) for k, block in enumerate(blocks)
    ]
    return Rows(np.concatenate(rows, 1), scale, factors.astype(np.uint8), size)


def _block_scale(block: Array, scheme: Scheme) -> Array:
    """The scale of each row: from its largest magnitude; of four bits, the best of some smaller ones."""
    whole: Array = np.maximum(np.abs(block).max(1), 1e-30) / scheme.highest
    if scheme.bits > 4:
        return np.asarray(whole)
    best, least = whole, np.full(len(block), np.inf)
    for clip in _CLIPS:
        scale = (whole * clip)[:, None]
        error = ((_rounded(block, scale, scheme) * scale - block) ** 2).sum(1)
        best = np.where(error < least, scale[:, 0], best)
        least = np.minimum(error, least)
    return np.asarray(best)


def _rounded(values: Array, scale: Array, scheme: Scheme) -> Array:
    """The nearest whole numbers of a symmetric range, halves to even."""
    levels = np.clip(np.rint(values / scale), -scheme.highest, scheme.highest)
    return np.asarray(levels, np.int8)


def least_scale(bias: Array, source: float) -> Array:
    """The smallest scales with which a bias fits an accumulator beside the products."""
    return np.asarray(np.maximum(np.abs(bias) / (source * _BIAS_LIMIT), 1e-30), np.float64)
