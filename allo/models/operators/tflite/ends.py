"""What becomes of a sum: a multiplier, a rounding shift, a zero point and bounds.

``high(x, m) = (x · m + 2 ** 30) >> 31`` is the doubled upper half of a product, and
``(y + half + (y >> 31)) >> right`` divides with halves away from zero; ``y >> 31`` is -1 for negative y.
"""

from __future__ import annotations

from ...body import Call
from ...tensors import Tensor

NUDGE = 1 << 30
HIGH = 31


def _text(value: Tensor | int, channel: str) -> str:
    return value.at(channel) if isinstance(value, Tensor) else str(value)


def multiplied(call: Call, name: str, total: str, word: str = "factor", channel: str = "") -> None:
    """Write an int32 scalar ``name``: a sum times what the arguments ``word…`` say.

    Args:
        call: the operator.
        name: of the new scalar.
        total: the sum, an expression of at most 32 bits, or of 64 where the arguments are wide.
        word: the arguments.
        channel: the index of tables.
    """
    text, args = call.text, call.args
    short = call.types.of_torch("int32")
    factor = _text(args[word], channel)
    right, half = (_text(args[f"{word}_{each}"], channel) for each in ("right", "half"))
    if args.get(f"{word}_wide"):  # one product, and one shift
        text.line(
            f"wide: {call.types.of_torch(f'int{args[f"{word}_wide"]}')} = {total} * {factor} + {half}"
        )
        text.line(f"{name}: {short} = wide >> {right}")
        return
    left = args[f"{word}_left"]
    if left != 1:
        text.line(f"{name}: {short} = {total} * {_text(left, channel)}")
        text.line(f"{name} = ({name} * {factor} + {NUDGE}) >> {HIGH}")
    else:
        text.line(f"{name}: {short} = ({total} * {factor} + {NUDGE}) >> {HIGH}")
    sign = args[f"{word}_sign"]
    if sign == 0:
        return
    below = f"({name} >> {HIGH})" + ("" if sign == 1 else f" * {_text(sign, channel)}")
    text.line(f"{name} = ({name} + {half} + {below}) >> {right}")


def bounded(call: Call, target: str, value: str) -> None:
    """Write a result with its zero point, within the bounds."""
    zero = call.args.get("zero", 0)
    level = f"{value} + ({zero})" if zero else value
    call.text.line(f"{target} = min(max({level}, {call['low']}), {call['high']})")


def finish(call: Call, target: str, total: str, channel: str = "") -> None:
    """Write the result of a sum."""
    multiplied(call, "third", total, "factor", channel)
    bounded(call, target, "third")


def less_zero(call: Call, name: str, element: str, key: str) -> str:
    """An element without its zero point: itself, or a new scalar."""
    zero = call.args.get(key, 0)
    if not zero:
        return element
    call.text.line(f"{name}: {call.types.of_torch('int9')} = {element} - ({zero})")
    return name
