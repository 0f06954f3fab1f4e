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
ROUND_LIMIT = ROUND / 4
"""The greatest number that it rounds."""


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
        return Sums(
            call, call.types.of_torch(call["sums"]), factors, call.args.get("factor_size", 1)
        )

    def factor(self, channel: str, place: str) -> str:
        """Text behind a product: the factor of the group that holds the weight at ``place``."""
        if self.factors is None:
            return ""
        return f" * {self.factors.at(channel, f'({place}) // {self.size}')}"

    def less_zero(self, key: str, element: str, name: str) -> str:
        """An operand without its zero point, the argument ``key`` of the operator: a scalar ``name``."""
        zero = self.call.args.get(key, 0)
        if not zero:
            return element
        narrow = self.call.types.of_torch("int16")
        self.call.text.line(f"{name}: {narrow} = {element} - ({zero})")
        return name

    def term(self, first: str, second: str) -> str:
        """What is added to a sum for a pair of operands."""
        return f"{first} * {second}"

    def finish(self, target: str, total: str, channel: str) -> None:
        """Write the result of a sum."""
        call, text = self.call, self.call.text
        scale, offset = call.args.get("scale"), call.args.get("offset")
        if scale is None:
            requantise(
                call, target, f"{total} * {_of_channel(call['multiplier'], channel)}", channel
            )
            return
        text.line(f"elem: float32 = {total}")
        plus = "" if offset is None else f" + {_of_channel(offset, channel)}"
        text.line(f"{target} = elem * {_of_channel(scale, channel)}{plus}")


def _of_channel(value: Tensor | float, channel: str) -> str:
    return value.at(channel) if isinstance(value, Tensor) else repr(value)


def requantise(call: Call, target: str, scaled: str, channel: str = "") -> None:
    """Write ``scaled``, a sum times its multiplier, as an integer of few bits.

    The operator may have an ``addend`` in the unit of ``scaled``, a ``zero`` that is added behind the
    shift, bounds ``low`` and ``high``, and ``ties="even"``.
    """
    text, shift, args = call.text, call["shift"], call.args
    wide = call.types.of_torch("int64")
    text.line(f"wide: {wide} = {scaled}")
    if args.get("addend") is not None:
        text.line(f"wide = wide + ({_of_channel(args['addend'], channel)})")
    half = f"wide + {1 << (shift - 1)}"
    if args.get("ties") == "even":
        half = f"wide + {(1 << (shift - 1)) - 1} + ((wide >> {shift}) & 1)"
    text.line(f"wide = ({half}) >> {shift}")
    level = f"wide + ({args['zero']})" if args.get("zero") else "wide"
    text.line(
        f"{target} = min(max({level}, {args.get('low', LOWEST)}), {args.get('high', HIGHEST)})"
    )


def rounded(call: Call, target: str, value: str, low: int, high: int) -> None:
    """Write a float, rounded to a whole number of low … high, halves to even."""
    text = call.text
    text.line(f"third: float32 = {value}")
    text.line(f"third = min(max(third, {float(low)!r}), {float(high)!r})")
    text.line(f"{target} = (third + {ROUND!r}) - {ROUND!r}")


def rounded_beside(call: Call, target: str, value: str, bounds: tuple[int, int], zero: str) -> None:
    """As :func:`rounded`, with a zero point added before the bounds are applied."""
    text = call.text  # beyond the limit every result is at a bound
    low, high = (float(bound) for bound in bounds)
    text.line(f"third: float32 = {value}")
    text.line(f"third = min(max(third, {-ROUND_LIMIT!r}), {ROUND_LIMIT!r})")
    text.line(f"third = ((third + {ROUND!r}) - {ROUND!r}) + {zero}")
    text.line(f"{target} = min(max(third, {low!r}), {high!r})")
