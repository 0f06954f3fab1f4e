"""Sums of integers: how products accumulate in them, and what becomes of a sum.

A sum becomes an int8 by one exact step, ``clamp((sum · multiplier + 2 ** (shift - 1)) >> shift, low, 127)``
in 64 bits, which rounds halves up (:func:`allo.library.nn.requantize`); or a float32 by one product.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..body import Call
from ..tensors import Tensor

HIGHEST = 127
LOWEST = -128
ROUND = 12582912.0
"""1.5 · 2²³: added and subtracted, it rounds a small float32 to a whole number, halves to even."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The accumulators of a product, and their end.

    Attributes:
        call: the operator.
        dtype: of an accumulator.
        factors: of groups of weights, ``[channel, group]``; None where a channel is one group.
        size: weights in a group.
    """

    call: Call
    dtype: str
    factors: Tensor | None = None
    size: int = 1

    @staticmethod
    def of(call: Call) -> Sums:
        """As the arguments of a quantised operator say."""
        factors = call.optional("factors")
        return Sums(call, call["sums"], factors, call.args.get("factor_size", 1))

    def factor(self, channel: str, place: str) -> str:
        """Text behind a product: the factor of the group that holds the weight at ``place``."""
        if self.factors is None:
            return ""
        return f" * {self.factors.at(channel, f'({place}) // {self.size}')}"

    def finish(self, target: str, total: str, channel: str) -> None:
        """Write the result of a sum."""
        call, text = self.call, self.call.text
        scale = call.args.get("scale")
        if scale is None:
            multiplier = call["multiplier"]
            held = multiplier.at(channel) if isinstance(multiplier, Tensor) else multiplier
            requantise(call, target, f"{total} * {held}")
            return
        text.line(f"elem: float32 = {total}")
        held = scale.at(channel) if isinstance(scale, Tensor) else repr(scale)
        text.line(f"{target} = elem * {held}")


def requantise(call: Call, target: str, scaled: str) -> None:
    """Write ``scaled``, a sum times its multiplier, as an int8."""
    text, shift = call.text, call["shift"]
    wide = call.types.of_torch("int64")
    text.line(f"wide: {wide} = {scaled}")
    text.line(f"wide = (wide + {1 << (shift - 1)}) >> {shift}")
    text.line(f"{target} = min(max(wide, {call.args.get('low', LOWEST)}), {HIGHEST})")


def rounded(call: Call, target: str, value: str, low: int, high: int) -> None:
    """Write a float, rounded to a whole number of low … high, halves to even."""
    text = call.text
    text.line(f"third: float32 = {value}")
    text.line(f"third = min(max(third, {float(low)!r}), {float(high)!r})")
    text.line(f"{target} = (third + {ROUND!r}) - {ROUND!r}")


def rounded_beside(call: Call, target: str, value: str, bounds: tuple[int, int], zero: str) -> None:
    """As :func:`rounded`, with a zero point added before the bounds are applied."""
    text, limit = call.text, ROUND / 4  # beyond it every result is at a bound
    low, high = (float(bound) for bound in bounds)
    text.line(f"third: float32 = {value}")
    text.line(f"third = min(max(third, {-limit!r}), {limit!r})")
    text.line(f"third = ((third + {ROUND!r}) - {ROUND!r}) + {zero}")
    text.line(f"{target} = min(max(third, {low!r}), {high!r})")
