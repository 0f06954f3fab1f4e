"""The shortest multiplier that ends a layer's sums as TFLite does.

With the zero point and the bounds, the integer that a sum becomes is a staircase: it rises at some sums,
255 at most for int8. Any ``(sum · multiplier + addend) >> shift`` that rises at the same sums is the same
function on every sum that the layer can have, so kernels have the one with the smallest shift, the same for
all channels where multipliers stay short: one product by 10 to 25 bits, where TFLite multiplies by 31 and
rounds twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allo.models.integers.arithmetic import Array

_MOST_BITS = 62
"""Of a product: what int64 holds."""

_MANY = 1024
"""Levels, from which on short multipliers are not tried."""
_LONGEST = 38
"""Bits of a multiplier; results of int16 need more than those of int8."""
_COMMON_BITS = 25
"""Of multipliers that share a shift: more of them cost more than shifting by the channel."""

Step = Callable[[Array], Array]
"""The level of each sum, a row for each channel; it does not fall."""


@dataclass(frozen=True, slots=True)
class Staircase:
    """``(sum · multipliers + addends) >> shifts``, each an array of the channels."""

    multipliers: Array
    addends: Array
    shifts: Array


def shortest(step: Step, rates: Array, bounds: Array, low: int, high: int) -> Staircase | None:
    """The staircase of short multipliers that is ``step`` between two levels, or None where none is known.

    Args:
        step: the function, of sums ``[channel, n]``.
        rates: of each channel, about how many levels it rises for each sum; not negative.
        bounds: of each channel, the largest magnitude of a sum.
        low, high: levels below or above are cut to these.
    """
    levels = np.arange(low + 1, high + 1, dtype=np.int64)
    if not len(levels):
        return None
    limits = np.asarray(bounds, np.int64)[:, None]
    rises = _rises(step, rates, limits, levels)
    first = np.where(rises > limits, np.nan, np.maximum(rises, -limits))  # the first sum of a level
    last = np.where(rises <= -limits, np.nan, np.minimum(rises - 1, limits))  # the last before it
    known = _Known(first, last, levels, rates, np.asarray(bounds, np.int64))
    found = Staircase(*(np.zeros(len(rates), np.int64) for _ in range(3)))
    open_ = np.arange(len(rates))
    begin = 1
    if len(levels) > _MANY:  # of int16: no multiplier shorter than the levels' own bits will do
        begin = max(1, len(levels).bit_length() - int(np.floor(np.log2(rates.max()))))
    for shift in range(begin, _MOST_BITS - int(high - low).bit_length()):
        chosen, multipliers, addends = known.fitting(open_, shift)
        for array, part in zip(
            (found.multipliers, found.addends, found.shifts),
            (multipliers, addends, np.full_like(addends, shift)),
            strict=True,
        ):
            array[open_[chosen]] = part[chosen]
        open_ = open_[~chosen]
        if not len(open_):
            return _common(known, shift) or found
    return None


def _common(known: _Known, shift: int) -> Staircase | None:
    """One shift for all channels, this or few more, where multipliers stay short."""
    everyone = np.arange(len(known.rates))
    for each in range(shift, shift + 3):
        chosen, multipliers, addends = known.fitting(everyone, each)
        if chosen.all() and multipliers.max() < 1 << _COMMON_BITS:
            return Staircase(multipliers, addends, np.full_like(addends, each))
    return None


@dataclass(frozen=True, slots=True)
class _Known:
    """What a staircase has to do.

    Attributes:
        first: the least sum of each level, ``[channel, level]``; NaN where none has it.
        last: the greatest sum below each level; NaN where there is none.
        levels: the levels.
        rates: of each channel.
        bounds: of each channel.
    """

    first: Array
    last: Array
    levels: Array
    rates: Array
    bounds: Array

    def fitting(self, channels: Array, shift: int) -> tuple[Array, Array, Array]:
        """For some channels, whether a staircase of this shift fits, its multipliers and its addends."""
        rates = self.rates[channels]
        around = np.rint(np.minimum(rates * 2.0**shift, 2.0**40)).astype(np.int64)
        multipliers, lowest, highest = (np.zeros_like(around) for _ in range(3))
        open_ = np.ones(len(channels), bool)
        shifted = (self.levels << shift)[None]
        for change in (0, 1, -1):
            tried = around + change
            room = tried.astype(np.float64) * self.bounds[channels] < 2.0 ** (_MOST_BITS - 1)
            kept = np.where(room, tried, 0)
            least = _extreme(shifted, self.first[channels], kept, -(1 << _MOST_BITS), np.max)
            most = _extreme(shifted, self.last[channels], kept, 1 << _MOST_BITS, np.min) - 1
            fits = open_ & room & (tried >= 0) & (tried < 1 << _LONGEST) & (least <= most)
            multipliers = np.where(fits, tried, multipliers)
            lowest, highest = np.where(fits, least, lowest), np.where(fits, most, highest)
            open_ &= ~fits
        half = 1 << (shift - 1)
        if not open_.any() and lowest.max() <= highest.min():  # one addend for all
            common = min(max(half, int(lowest.max())), int(highest.min()))
            return ~open_, multipliers, np.full_like(multipliers, common)
        return ~open_, multipliers, np.clip(half, lowest, highest)


def _rises(step: Step, rates: Array, bounds: Array, levels: Array) -> Array:
    """The least sum of each level, ``[channel, level]``: ``bound + 1`` where none has it."""
    least, most = -bounds - 1, bounds + 1
    guess = np.ceil((levels - 0.5) / np.maximum(rates, 1e-30)[:, None])
    guess = np.clip(guess, least.astype(np.float64), most.astype(np.float64)).astype(np.int64)
    reach = 4

    def reached(sums: Array) -> Array:
        return np.where(sums <= least, False, (sums >= most) | (step(sums) >= levels))

    below, above = np.maximum(guess - reach, least), np.minimum(guess + reach, most)
    while (wrong := reached(below)).any() or not reached(above).all():
        reach *= 2
        below = np.where(wrong, np.maximum(guess - reach, least), below)
        above = np.where(reached(above), above, np.minimum(guess + reach, most))
    while (above - below > 1).any():
        middle = (above + below) // 2
        there = reached(middle)
        above, below = np.where(there, middle, above), np.where(there, below, middle)
    return np.asarray(above)


def _extreme(
    shifted: Array, sums: Array, multipliers: Array, none: int, extreme: Callable[..., Array]
) -> Array:
    """The greatest or least addend that the sums ask for."""
    there = ~np.isnan(sums)
    whole = np.where(there, sums, 0).astype(np.int64)
    return extreme(np.where(there, shifted - whole * multipliers[:, None], none), 1)
