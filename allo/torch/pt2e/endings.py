"""How sums become integers on a grid: exact numbers for what PyTorch does in float32.

A sum stands for ``sum * unit + bias``. On the grid of the result that is ``ratio * sum + offset`` levels,
where ``ratio`` and ``offset`` follow from the float32 numbers that PyTorch multiplies by. They become a
multiplier of at most 23 bits and an addend in units of ``2 ** -shift`` levels; the result is rounded once,
halves to even, then the zero point is added and the bounds are applied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array, multipliers

from .values import Ending

_MARGIN = 1024
"""Levels beyond the sums' own range at which an offset is cut: the result is at a bound anyway."""


def ended(
    ending: Ending, unit: Array, bound: int, bias: Array | None = None, less: Array | None = None
) -> dict[str, Any]:
    """The arguments of an integer operator that say what becomes of its sums.

    Args:
        ending: the grid and the bounds.
        unit: what one stands for, of each channel or of all.
        bound: the largest magnitude of a sum, with and without ``less``.
        bias: the float that is added, of each channel.
        less: what is subtracted from the sums before anything else, of each channel.
    """
    grid = ending.grid
    ratio = grid.ratio(np.asarray(unit, np.float64))
    multiplier, shift = multipliers(ratio, bound)
    args: dict[str, Any] = {"shift": shift, **grid.rounding, "zero": grid.zero}
    args |= {"low": ending.low, "high": ending.high}
    addend = np.zeros(np.shape(ratio), np.int64)
    if bias is not None:
        most = _MARGIN + bound * np.abs(ratio)
        offset = np.clip(bias.astype(np.float64) * grid.inverse, -most, most)
        addend = addend + np.rint(np.ldexp(offset, shift)).astype(np.int64)
    if less is not None:
        addend = addend - less.astype(np.int64) * multiplier
    args["multiplier"] = multiplier if multiplier.ndim else int(multiplier)
    if addend.any():
        args["addend"] = addend if addend.ndim else int(addend)
    return args


def left_float(unit: Array, bias: Array | None = None, less: Array | None = None) -> dict[str, Any]:
    """The arguments where a sum stays a float32: a product, then a sum, each rounded to float32."""
    single = np.asarray(unit, np.float32)
    args: dict[str, Any] = {"scale": single if single.ndim else float(single)}
    if bias is not None:
        args["offset"] = bias.astype(np.float32)
    if less is not None and less.any():
        args["bias"] = (-less).astype(np.int32)
    return args
