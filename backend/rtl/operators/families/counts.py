"""Integer functions of the ``math`` dialect, absolute value and bit counts, and sums of columns of bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..compressors import OF_BITS, OF_GATES, saves, sum_of_columns, tables_of
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


def _bits(value: Signal) -> list[Signal]:
    return [value.bit(place) for place in range(value.width)]


def _compressed_population(value: Signal) -> Signal:
    return _fit(sum_of_columns([_bits(value)], value.width.bit_length()), value.width)


def _build(request: Request) -> Operator:
    name, draw = request.op.removeprefix("math."), _DRAW[request.op]
    width = request.result_width
    drawing = Drawing(f"{name}_i{width}", draw)
    if name != "ctpop" or not saves(request.device.fanin, (width,), width.bit_length()):
        return fitted(request, drawing)
    drawing = replace(drawing, draw=_compressed_population, spread=True)
    return _in_tables(fitted(request, drawing), (width,), width.bit_length())


def _in_tables(operator: Operator, heights: Sequence[int], width: int) -> Operator:
    """An operator with the lookup tables of its counters, in which its gates are."""
    lut = tables_of(tuple(heights), width)
    return replace(operator, resources=replace(operator.resources, lut=lut))


def _build_columns(request: Request) -> Operator:
    """A sum of columns of bits, and of a constant, which is the last operand."""
    width, constant = request.result_width, request.constant(len(request.widths) - 1) or 0
    gates = request.op == OF_GATES

    def draw(*operands: Signal) -> Signal:
        columns = [_bits(operand) for operand in operands[:-1]]
        columns += [[] for _ in range(width - len(columns))]
        one = operands[0].net.const(1, 1)
        for place in range(width):
            columns[place] += [one] * (constant >> place & 1)
        return sum_of_columns(columns, width, gates=gates)

    heights = "_".join(map(str, request.widths[:-1]))
    name = f"columns_{heights}_plus_{constant}_i{width}{'_of_gates' if gates else ''}"
    return _in_tables(fitted(request, Drawing(name, draw, spread=True)), request.widths[:-1], width)


OPERATORS: dict[str, Builder] = {
    **dict.fromkeys(_DRAW, _build),
    OF_BITS: _build_columns,
    OF_GATES: _build_columns,
}
