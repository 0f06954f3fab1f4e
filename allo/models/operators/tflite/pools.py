"""Pools over images whose channels lie side by side."""

from __future__ import annotations

from math import prod

from ...body import Call, Emitter, Result
from ...tensors import Tensor
from ...text import FunctionText
from ..convolutions import inside, window
from .ends import finish


def _bounded(call: Call, target: str, value: str) -> None:
    call.text.line(f"{target} = min(max({value}, {call['low']}), {call['high']})")


def _pool(call: Call) -> Result:
    """The greatest element of a window, or the rounded mean of those that are in the image."""
    source, target = call.tensor("self"), call.array()
    text, name = call.text, call.op.kind
    sizes, is_mean = call["kernel_size"], name == "average_pool2d"
    kind = call.meta().dtype
    with text.loops(target.shape, name) as (b, y, x, c):
        counted = is_mean and _may_leave(call, sizes, source.shape)
        start = 0 if is_mean else {"int8": -128, "int16": -32768}[kind]
        bits = (1 << int(kind.removeprefix("int"))) * prod(sizes)
        text.line(f"total: {call.types.of_torch(f'int{bits.bit_length()}')} = {start}")
        if counted:
            text.line(f"count: {call.types.of_torch('int32')} = 0")
        with text.loops(sizes, f"{name}_window", prefix="k", reduction=is_mean) as (ky, kx):
            places, tests = [], list[str]()
            for d, index, offset in ((0, y, ky), (1, x, kx)):
                bounds = (target.shape[1 + d], sizes[d], source.shape[1 + d])
                place, found = window(
                    index, offset, call["stride"][d], 1, call["padding"][d], bounds
                )
                places.append(place)
                tests += found
            with inside(text, tests):
                element = source.at(b, *places, c)
                text.line(f"total += {element}" if is_mean else f"total = max(total, {element})")
                if counted:
                    text.line("count += 1")
        if is_mean:
            _divide(call, text, 0 if counted else prod(sizes), int(kind.removeprefix("int")))
        _bounded(call, target.at(b, y, x, c), "total")
    return target


def _may_leave(call: Call, sizes: list[int], image: tuple[int, ...]) -> bool:
    """Whether a window may lie outside the image in part."""
    for d in range(2):
        last = (call.shape[1 + d] - 1) * call["stride"][d] + sizes[d] - 1 - call["padding"][d]
        if call["padding"][d] or last >= image[1 + d]:
            return True
    return False


def _divide(call: Call, text: FunctionText, count: int, bits: int) -> None:
    """``total / count``, halves away from zero, on magnitudes; a count of 0 is the scalar ``count``."""
    if count == 1:
        return
    short, wide = call.types.of_torch("int32"), call.types.of_torch("int64")
    text.line(f"other: {short} = max(total, 0 - total)")
    if count:
        shift = bits + 2 * count.bit_length()  # enough that the product is exact
        text.line(f"wide: {wide} = (other + {count // 2}) * {-(-(1 << shift) // count)}")
        text.line(f"other = wide >> {shift}")
    else:
        text.line("other = (other + count // 2) // count")
    text.line(f"elem: {short} = total")
    with text.block("if elem > 0:"):
        text.line("total = other")
    with text.block("else:"):
        text.line("total = 0 - other")


def _mean(call: Call) -> Result:
    """The mean over whole dimensions."""
    source, target = call.tensor("self"), call.array()
    rank, dims = len(source.shape), call["dim"]
    outer = [source.shape[d] for d in range(rank) if d not in dims]
    into = target.reshaped(outer) or target
    zero = call["zero_input"]
    with call.text.loops(outer or (1,), "mean") as at:
        call.text.line(f"total: {call.types.of_torch(f'int{min(call["bits"], 32)}')} = 0")
        with call.text.loops([source.shape[d] for d in dims], prefix="r", reduction=True) as r:
            left, inner = iter(at), iter(r)
            places = [next(inner) if d in dims else next(left) for d in range(rank)]
            element = source.at(*places)
            call.text.line(f"total += {element} - ({zero})" if zero else f"total += {element}")
        finish(call, into.at(*at) if outer else into.at(), "total")
    return target


def _nearest(call: Call) -> Result:
    """Rows and columns repeated, or chosen by tables."""
    source, target = call.tensor("self"), call.array()
    with call.text.loops(target.shape, call.op.kind) as (b, y, x, c):
        places = [
            each.at(at) if isinstance(each, Tensor) else f"{at} // {each}" if each > 1 else at
            for each, at in ((call["rows"], y), (call["columns"], x))
        ]
        call.text.line(f"{target.at(b, y, x, c)} = {source.at(b, *places, c)}")
    return target


OPERATORS: dict[str, Emitter] = {
    "tflite.average_pool2d": _pool,
    "tflite.max_pool2d": _pool,
    "tflite.mean": _mean,
    "tflite.resize_nearest": _nearest,
}
