"""Integer functions of the ``math`` dialect: absolute value and bit counts."""

from __future__ import annotations

from ..netlist import Signal, cat, mux
from ..request import Builder, Drawing, Request, fitted
from ..spec import Operator
from .divide import negated_if


def leading_zeros(value: Signal) -> Signal:
    """Number of zeros above the highest set bit, ``value.width`` when no bit is set."""
    padding = (1 << value.width.bit_length()) - value.width
    return leading_zeros_of_nonzero(cat(value, value.net.const(-1, padding)))


def leading_zeros_of_nonzero(value: Signal) -> Signal:
    """The same in fewer bits, for a value that is not zero; the width is a power of two."""
    if value.width == 1:
        return value.net.const(0, 0)
    half = value.width // 2
    top, low = value.bits(half, half), value.bits(0, half)
    empty = top.none()
    if half == 1:
        return empty
    rest = mux(empty, leading_zeros_of_nonzero(low), leading_zeros_of_nonzero(top))
    return cat(empty, rest)


def _reversed(value: Signal) -> Signal:
    return cat(*(value.bit(i) for i in range(value.width)))


def _population(value: Signal) -> Signal:
    parts = [value.bit(i) for i in range(value.width)]
    while len(parts) > 1:
        bits = max(part.width for part in parts) + 1
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [
            pair[0].zext(bits) + pair[1].zext(bits) if len(pair) == 2 else pair[0] for pair in pairs
        ]
    return parts[0]


def _fit(value: Signal, width: int) -> Signal:
    return value.zext(width) if value.width <= width else value.bits(0, width)


_DRAW = {
    "math.absi": lambda a: negated_if(a.bit(-1), a),
    "math.ctlz": lambda a: _fit(leading_zeros(a), a.width),
    "math.cttz": lambda a: _fit(leading_zeros(_reversed(a)), a.width),
    "math.ctpop": lambda a: _fit(_population(a), a.width),
}


def _build(request: Request) -> Operator:
    name = request.op.removeprefix("math.")
    return fitted(request, Drawing(f"{name}_i{request.result_width}", _DRAW[request.op]))


OPERATORS: dict[str, Builder] = dict.fromkeys(_DRAW, _build)
