"""Levels: the integers of a quantised tensor, of any width from one bit, and exact functions of them.

A tensor of floats that a quantiser made is ``unit * (factor * level + shift)``. Products are sums of
levels in the bits that they need; what stands between a sum and the next quantiser is one function of the
sum, kept as thresholds (:func:`_thresholds`) or as a table (:func:`_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .convolutions import convolution, inside, scattered, window
from .pools import windows
from .products import matmul
from .reductions import SUM
from .sums import Sums


@dataclass(frozen=True, slots=True)
class _LevelSums(Sums):
    """Sums of products of levels, without an end; two operands of one bit each are compared."""

    @staticmethod
    def of(call: Call) -> _LevelSums:
        return _LevelSums(call, call.types.of_torch(call["sums"]))

    def less_zero(self, key: str, element: str, name: str) -> str:
        """An operand as the integer that its level stands for: a scalar ``name``."""
        factor, shift, dtype = self.call.args.get(key, (1, 0, ""))
        if (factor, shift) == (1, 0) or self.call.args.get("agreeing"):
            return element
        scaled = element if factor == 1 else f"{element} * {factor}"
        self.call.text.line(f"{name}: {self.call.types.of_torch(dtype)} = {scaled} + ({shift})")
        return name

    def term(self, first: str, second: str) -> str:
        """A product; of two signs, 1 where they agree."""
        if self.call.args.get("agreeing"):
            return f"(1 - ({first} ^ {second}))"
        return (
            f"{first} * ({second} * 2 - 1)"
            if self.call.args.get("signs")
            else f"{first} * {second}"
        )

    def finish(self, target: str, total: str, channel: str) -> None:
        """The sum itself."""
        self.call.text.line(f"{target} = {total}")


def _matmul(call: Call) -> Result:
    return matmul(call, call.tensor("self"), call.tensor("other"), _LevelSums.of(call))


def _convolution(call: Call) -> Result:
    return convolution(call, call["padding"], _LevelSums.of(call))


def _transposed(call: Call) -> Result:
    return scattered(call, _LevelSums.of(call))


def _product(call: Call) -> Result:
    """``self * other``, element by element, of the integers that the levels stand for."""
    target, sums = call.array(), _LevelSums.of(call)
    left, right = (call.tensor(name).expanded(target.shape) for name in ("self", "other"))
    with call.text.loops(target.shape, "mul") as at:
        first = sums.less_zero("zero_left", left.at(*at), "elem")
        second = sums.less_zero("zero_right", right.at(*at), "other")
        call.text.line(f"{target.at(*at)} = {first} * {second}")
    return target


def _varying(call: Call, at: Sequence[str]) -> list[str]:
    """The indices along which a function differs."""
    return [at[axis] for axis in call["axes"]]


def _thresholds(call: Call) -> Result:
    """The number of thresholds that an element reaches, found by halving; plus ``first``.

    Where ``falling`` says so, the number of those that it does not reach.
    """
    source, target, table = call.tensor("input"), call.array(), call.tensor("table")
    count, first, falling = call["count"], call["first"], call.optional("falling")
    bits = count.bit_length()
    text = call.text
    with text.loops(target.shape, "thresholds") as at:
        chosen = _varying(call, at)
        text.line(f"elem: {source.dtype} = {source.at(*at)}")
        text.line(f"count: {call.types.of_torch(f'uint{bits}')} = 0")
        for step in (1 << b for b in reversed(range(bits))):
            place = (
                str(step - 1) if step * 2 > count else f"count + {step - 1}".removesuffix(" + 0")
            )
            with text.block(f"if elem >= {table.at(*chosen, place)}:"):
                text.line(f"count = count + {step}")
        if falling is not None:
            with text.block(f"if {falling.at(*(chosen or ['0']))}:"):
                text.line(f"count = {count} - count")
        text.line(f"{target.at(*at)} = count" + (f" + ({first})" if first else ""))
    return target


def _table(call: Call) -> Result:
    source, target, table = call.tensor("input"), call.array(), call.tensor("table")
    low = call["low"]
    with call.text.loops(target.shape, "table") as at:
        place = source.at(*at)
        if low:
            call.text.line(f"at: {call.types.of_torch('int32')} = {place} - ({low})")
            place = "at"
        call.text.line(f"{target.at(*at)} = {table.at(*_varying(call, at), place)}")
    return target


def _lookup(call: Call) -> Result:
    """Neurons as truth tables: the levels of the inputs that each reads are the place in its table."""
    source, target = call.tensor("self"), call.array()
    places, table, low, bits = (
        call.tensor("places"),
        call.tensor("table"),
        call["low"],
        call["bits"],
    )
    with call.text.loops(target.shape, "lookup") as (i, j):
        terms = []
        for k in range(places.shape[1]):
            level = source.at(i, places.at(j, str(k)))
            level = f"({level} - ({low}))" if low else level
            terms.append(level if k == 0 else f"{level} * {1 << (k * bits)}")
        call.text.line(f"at: {call.types.of_torch('int32')} = {' + '.join(terms)}")
        call.text.line(f"{target.at(i, j)} = {table.at(j, 'at')}")
    return target


def _dense(call: Call) -> Result:
    """Sums of products with constants, shifted, rounded and bounded; half a step is in the addends."""
    source, weights, target = call.tensor("self"), call.tensor("other"), call.array()
    addends, low, high, shift = call.tensor("addends"), call["low"], call["high"], call["shift"]
    wide = call.types.of_torch(call["sums"])
    text = call.text
    rest = (1 << shift) - 1
    with text.loops(target.shape, "dense") as (i, j):
        text.line(f"total: {wide} = {addends.at(j)}")
        with text.loops((source.shape[1],), prefix="k", reduction=True) as (k,):
            weight = weights.at(k, j)
            if "zero_right" in call.args:
                times, more, _ = call["zero_right"]
                weight = f"({weight} * {times} + ({more}))"
            text.line(f"total += {source.at(i, k)} * {weight}")
        if not shift:  # the sum itself
            text.line(f"{target.at(i, j)} = total")
            return target
        whole = low == 0 and not high & (high + 1)
        ones = high if whole else -1
        even = f"{ones - 1} if (total & {rest}) == 0 else {ones}" if call["even"] else str(ones)
        text.line(f"level: {wide} = (total >> {shift}) & ({even})")
        if whole:  # bits above those of a level say that it is out of bounds
            above = shift + high.bit_length()
            bound = f"0 if total < 0 else {high}"
            text.line(f"{target.at(i, j)} = ({bound}) if (total >> {above}) != 0 else level")
        else:
            text.line(f"{target.at(i, j)} = min(max(level, {low}), {high})")
    return target


def _scaled(call: Call) -> Result:
    """``level * scale + offset`` in float32; scale and offset may differ along ``axes``."""
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "scaled") as at:
        scale, offset = (_number(call[key], _varying(call, at)) for key in ("scale", "offset"))
        call.text.line(f"elem: float32 = {source.at(*at)}")
        times = "elem" if scale == "1.0" else f"elem * {scale}"
        call.text.line(f"{target.at(*at)} = {times}" + ("" if offset == "0.0" else f" + {offset}"))
    return target


def _number(value: Tensor | float, at: Sequence[str]) -> str:
    return value.at(*at) if isinstance(value, Tensor) else repr(float(value))


def _add(call: Call) -> Result:
    """``self * first + other * second``."""
    target = call.array()
    left, right = (call.tensor(name).expanded(target.shape) for name in ("self", "other"))
    with call.text.loops(target.shape, "add") as at:
        terms = [
            place if factor == 1 else f"{place} * ({factor})"
            for place, factor in (
                (left.at(*at), call["first"]),
                (right.at(*at), call["second"]),
            )
        ]
        call.text.line(f"{target.at(*at)} = {' + '.join(terms)}")
    return target


def _bits(call: Call) -> Result:
    """The integers behind fixed point, or the integers themselves."""
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "bits") as at:
        call.text.line(f"{target.at(*at)} = {source.at(*at)}.bitcast()")
    return target


def _shift(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "shift") as at:
        call.text.line(f"{target.at(*at)} = {source.at(*at)} >> {call['count']}")
    return target


def _im2col(call: Call) -> Result:
    """``[batch, height, width, channel]`` to the windows of each place, ``[…, row · column · channel]``."""
    source, target = call.tensor("self"), call.array()
    channels, sizes, pads = source.shape[3], call["kernel_size"], call["padding"]
    with call.text.loops([*target.shape[:3], *sizes, channels], "im2col") as (b, y, x, i, j, c):
        places, tests = [], list[str]()
        for axis, (at, offset) in enumerate(((y, i), (x, j))):
            bounds = (target.shape[1 + axis], sizes[axis], source.shape[1 + axis])
            place, needed = window(
                at, offset, call["stride"][axis], call["dilation"][axis], pads[axis], bounds
            )
            places.append(place)
            tests += needed
        into = target.at(b, y, x, f"({i} * {sizes[1]} + {j}) * {channels} + {c}")
        if tests:
            call.text.line(f"{into} = {call['value']}")
        with inside(call.text, tests):
            call.text.line(f"{into} = {source.at(b, *places, c)}")
    return target


def _sum_pool(call: Call) -> Result:
    source, target = call.tensor("self"), call.array()
    with call.text.loops(target.shape, "sum_pool") as at:
        call.text.line(f"total: {target.dtype} = 0")
        with call.text.loops(call["kernel_size"], prefix="k", reduction=True) as offsets:
            windows(call, source, at, offsets, "total += {}")
        call.text.line(f"{target.at(*at)} = total")
    return target


LEVELS: dict[str, Emitter] = {
    "levels.matmul": _matmul,
    "levels.conv1d": _convolution,
    "levels.conv2d": _convolution,
    "levels.conv_transpose1d": _transposed,
    "levels.conv_transpose2d": _transposed,
    "levels.mul": _product,
    "levels.sum": SUM,
    "levels.thresholds": _thresholds,
    "levels.table": _table,
    "levels.lookup": _lookup,
    "levels.dense": _dense,
    "levels.scaled": _scaled,
    "levels.add": _add,
    "levels.bits": _bits,
    "levels.shift": _shift,
    "levels.im2col": _im2col,
    "levels.sum_pool": _sum_pool,
}
