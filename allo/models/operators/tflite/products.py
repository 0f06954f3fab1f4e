"""Convolutions over images whose channels lie side by side, and fully connected layers.

The sums of all channels of a place accumulate side by side, so that a pipelined inner loop starts a
product in every cycle, and unrolled it reads one element of the image for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...body import Call, Emitter, Result
from ...tensors import Tensor
from ..convolutions import inside, plus, times, window
from .ends import finish, less_zero


def _places(
    call: Call, at: Sequence[str], offsets: Sequence[str], sizes: Sequence[int], source: Tensor
) -> tuple[list[str], list[str]]:
    """Row and column that an element of a window reads, and what must hold for them to be there."""
    places, tests = [], list[str]()
    for d in range(2):
        bounds = (call.shape[1 + d], sizes[d], source.shape[1 + d])
        dilation = call.args.get("dilation", (1, 1))[d]
        place, found = window(
            at[d], offsets[d], call["stride"][d], dilation, call["padding"][d], bounds
        )
        places.append(place)
        tests += found
    return places, tests


def _row(call: Call, outs: int) -> Tensor:
    return call.text.array("row", (outs,), call.types.of_torch(f"int{call['bits']}"))


def _start(call: Call, row: Tensor) -> None:
    bias = call.optional("bias")
    with call.text.loops(row.shape, f"{call.op.kind}_init", prefix="j") as (j,):
        call.text.line(f"{row.at(j)} = {bias.at(j) if bias else 0}")


def _conv2d(call: Call) -> Result:
    source, weight, target = call.tensor("input"), call.tensor("weight"), call.array()
    text, name = call.text, call.op.kind
    outs, *sizes, ins = weight.shape
    groups = source.shape[3] // ins
    row = _row(call, outs)
    with text.loops(target.shape[:3], name) as (b, y, x):
        _start(call, row)
        each = (*sizes, ins, outs) if groups == 1 else (*sizes, groups, ins, outs // groups)
        with text.loops(each, f"{name}_product", prefix="k") as (ky, kx, *inner):
            if groups == 1:
                c, channel = inner
                read = c
            else:
                g, c, o = inner
                read = plus(times(g, ins), c)
                channel = plus(times(g, outs // groups), o)
            places, tests = _places(call, (y, x), (ky, kx), sizes, source)
            with inside(text, tests):
                element = less_zero(call, "elem", source.at(b, *places, read), "zero_input")
                text.line(f"{row.at(channel)} += {element} * {weight.at(channel, ky, kx, c)}")
        with text.loops((outs,), f"{name}_back", prefix="o") as (o,):
            finish(call, target.at(b, y, x, o), row.at(o), o)
    return target


def _depthwise(call: Call) -> Result:
    source, weight, target = call.tensor("input"), call.tensor("weight"), call.array()
    text, name = call.text, call.op.kind
    _, *sizes, outs = weight.shape
    ins = source.shape[3]
    many = outs // ins
    row = _row(call, outs)
    with text.loops(target.shape[:3], name) as (b, y, x):
        _start(call, row)
        each = (*sizes, ins) if many == 1 else (*sizes, ins, many)
        with text.loops(each, f"{name}_product", prefix="k") as (ky, kx, c, *m):
            channel = plus(times(c, many), *m)
            places, tests = _places(call, (y, x), (ky, kx), sizes, source)
            with inside(text, tests):
                element = less_zero(call, "elem", source.at(b, *places, c), "zero_input")
                text.line(f"{row.at(channel)} += {element} * {weight.at('0', ky, kx, channel)}")
        with text.loops((outs,), f"{name}_back", prefix="o") as (o,):
            finish(call, target.at(b, y, x, o), row.at(o), o)
    return target


def _fully_connected(call: Call) -> Result:
    source, weight, target = call.tensor("input"), call.tensor("weight"), call.array()
    text, name = call.text, call.op.kind
    outs, ins = weight.shape
    rows = call.reshaped(source, (prod(source.shape) // ins, ins))
    into = target.reshaped((rows.shape[0], outs)) or target
    row = _row(call, outs)
    with text.loops((rows.shape[0],), name) as (b,):
        _start(call, row)
        with text.loops((ins, outs), f"{name}_product", prefix="k") as (c, o):
            element = less_zero(call, "elem", rows.at(b, c), "zero_input")
            text.line(f"{row.at(o)} += {element} * {weight.at(o, c)}")
        with text.loops((outs,), f"{name}_back", prefix="o") as (o,):
            finish(call, into.at(b, o), row.at(o), o)
    return target


def _transposed(call: Call) -> Result:
    """Every element of the image is added to a window of the result."""
    source, weight, target = call.tensor("input"), call.tensor("weight"), call.array()
    text, name, bias = call.text, call.op.kind, call.optional("bias")
    outs, *sizes, ins = weight.shape
    sums = text.array("sums", target.shape, call.types.of_torch(f"int{call['bits']}"))
    with text.loops(target.shape, f"{name}_init", prefix="j") as at:
        text.line(f"{sums.at(*at)} = {bias.at(at[3]) if bias else 0}")
    with text.loops((*source.shape[:3], *sizes, ins, outs), name) as (b, y, x, ky, kx, c, o):
        places, tests = [], list[str]()
        for d, index, offset in ((0, y, ky), (1, x, kx)):
            bounds = (source.shape[1 + d], sizes[d], target.shape[1 + d])
            place, found = window(index, offset, call["stride"][d], 1, call["padding"][d], bounds)
            places.append(place)
            tests += found
        with inside(text, tests):
            element = less_zero(call, "elem", source.at(b, y, x, c), "zero_input")
            text.line(f"{sums.at(b, *places, o)} += {element} * {weight.at(o, ky, kx, c)}")
    with text.loops(target.shape, f"{name}_back", prefix="o") as at:
        finish(call, target.at(*at), sums.at(*at), at[3])
    return target


OPERATORS: dict[str, Emitter] = {
    "tflite.conv2d": _conv2d,
    "tflite.depthwise_conv2d": _depthwise,
    "tflite.fully_connected": _fully_connected,
    "tflite.transpose_conv": _transposed,
}
