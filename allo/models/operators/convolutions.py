"""Convolutions of one, two and three dimensions over images of channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from ..text import FunctionText
from .sums import Sums


@contextmanager
def inside(text: FunctionText, tests: Sequence[str]) -> Iterator[None]:
    """A block under a condition, or without one where there is nothing to test."""
    if not tests:
        yield
        return
    with text.block(f"if {' and '.join(tests)}:"):
        yield


def plus(*terms: str | int) -> str:
    """A sum without its zeros."""
    kept = [str(term) for term in terms if term not in (0, "0")]
    return " + ".join(kept).replace("+ -", "- ") or "0"


def times(name: str, factor: int) -> str:
    """A multiple of an index."""
    return "0" if factor == 0 else name if factor == 1 else f"{name} * {factor}"


def window(
    index: str, offset: str, stride: int, dilation: int, padding: int, extents: tuple[int, int, int]
) -> tuple[str, list[str]]:
    """The place that an element of a window reads, and what must hold for it to be in the image.

    Args:
        index: of the result.
        offset: in the window.
        stride, dilation, padding: of this dimension.
        extents: of the result, the window and the image.
    """
    results, size, image = extents
    place = plus(times(index, stride), times(offset, dilation), -padding)
    tests = [f"{place} >= 0"] if padding else []
    last = (results - 1) * stride + (size - 1) * dilation - padding
    if last >= image:
        tests.append(f"{place} < {image}")
    return place, tests


def _batched(call: Call, source: Tensor, dims: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source and target with a batch, and the target itself."""
    target = call.array()
    if len(source.shape) == dims + 2:
        return source, target, target
    return source.unsqueezed(0), target.unsqueezed(0), target


def _convolution(call: Call) -> Result:
    weight = call.tensor("weight")
    dims = len(weight.shape) - 2
    padding = call.args["padding"]
    if isinstance(padding, str):
        dilations = call.ints("dilation", dims)
        return convolution(call, named_padding(padding, weight.shape[2:], dilations))
    return convolution(call, call.ints("padding", dims))


def named_padding(name: str, sizes: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """What ``padding="same"`` or ``"valid"`` puts before an image, stride 1."""
    if name == "valid":
        return [0] * len(sizes)
    return [d * (k - 1) // 2 for d, k in zip(dilations, sizes, strict=True)]


def convolution(call: Call, paddings: Sequence[int], sums: Sums | None = None) -> Result:
    """A convolution with rows of results side by side.

    Args:
        call: the operator.
        paddings: of each dimension of the image.
        sums: accumulators that are not of the result's type, and what becomes of them.
    """
    weight, bias = call.tensor("weight"), call.optional("bias")
    dims = len(weight.shape) - 2
    source, into, target = _batched(call, call.operand("input"), dims)
    groups = call["groups"]
    strides, dilations = call.ints("stride", dims), call.ints("dilation", dims)
    batch, channels, *extents = into.shape
    outs, ins = channels // groups, source.shape[1] // groups
    text, name = call.text, call.op.kind
    row = text.array("row", extents[-1:], sums.dtype if sums else target.dtype)
    outer = [batch, groups, outs, *extents[:-1]]
    with text.loops(outer, name) as (b, g, o, *at):
        channel = o if groups == 1 else plus(times(g, outs), o)
        with text.loops(extents[-1:], f"{name}_init", prefix="j") as (j,):
            text.line(f"{row.at(j)} = {bias.at(channel) if bias else 0}")
        sizes = weight.shape[2:]
        with text.loops((ins, *sizes, extents[-1]), f"{name}_product", prefix="k") as (c, *k, last):
            places, tests = [], list[str]()
            for d, index in enumerate([*at, last]):
                bounds = (extents[d], sizes[d], source.shape[2 + d])
                place, conditions = window(
                    index, k[d], strides[d], dilations[d], paddings[d], bounds
                )
                places.append(place)
                tests += conditions
            read = c if groups == 1 else plus(times(g, ins), c)
            with inside(text, tests):
                element, factor = source.at(b, read, *places), weight.at(channel, c, *k)
                if sums:
                    element = sums.less_zero("zero_input", element, "elem")
                    factor += sums.factor(channel, _flat([c, *k], [ins, *sizes]))
                term = sums.term(element, factor) if sums else f"{element} * {factor}"
                text.line(f"{row.at(last)} += {term}")
        with text.loops(extents[-1:], f"{name}_back", prefix="o") as (last,):
            if sums:
                sums.finish(into.at(b, channel, *at, last), row.at(last), channel)
            else:
                text.line(f"{into.at(b, channel, *at, last)} = {row.at(last)}")
    return target


def _flat(indices: Sequence[str], extents: Sequence[int]) -> str:
    """The number of a weight among those of its channel."""
    steps = [prod(extents[d + 1 :]) for d in range(len(extents))]
    return plus(*(times(i, s) for i, s, e in zip(indices, steps, extents, strict=True) if e > 1))


def scattered(call: Call, sums: Sums | None = None) -> Result:
    """A transposed convolution: every element of the image is added to a window of the result."""
    weight, bias = call.tensor("weight"), call.optional("bias")
    dims = len(weight.shape) - 2
    source, into, target = _batched(call, call.operand("input"), dims)
    groups = call["groups"]
    strides, dilations = call.ints("stride", dims), call.ints("dilation", dims)
    paddings = call.ints("padding", dims)
    ins, outs = source.shape[1] // groups, weight.shape[1]
    text, name = call.text, call.op.kind
    made_in = text.array("sums", into.shape, sums.dtype) if sums else into
    with text.loops(into.shape, f"{name}_init") as at:
        text.line(f"{made_in.at(*at)} = {bias.at(at[1]) if bias else 0}")
    sizes, image = weight.shape[2:], source.shape[2:]
    with text.loops((source.shape[0], groups, ins, outs, *sizes, *image), name) as loops:
        b, g, c, o = loops[:4]
        k, at = loops[4 : 4 + dims], loops[4 + dims :]
        places, tests = [], list[str]()
        for d in range(dims):
            bounds = (image[d], sizes[d], into.shape[2 + d])
            place, conditions = window(at[d], k[d], strides[d], dilations[d], paddings[d], bounds)
            places.append(place)
            tests += conditions
        channel = c if groups == 1 else plus(times(g, ins), c)
        made = o if groups == 1 else plus(times(g, outs), o)
        with inside(text, tests):
            element, factor = source.at(b, channel, *at), weight.at(channel, o, *k)
            if sums:
                element = sums.less_zero("zero_input", element, "elem")
            text.line(f"{made_in.at(b, made, *places)} += {element} * {factor}")
    if sums:
        with text.loops(into.shape, f"{name}_back", prefix="o") as at:
            sums.finish(into.at(*at), made_in.at(*at), at[1])
    return target


OPERATORS: dict[str, Emitter] = {
    **{f"aten.conv{n}d.default": _convolution for n in (1, 2, 3)},
    "aten.conv1d.padding": _convolution,
    "aten.conv2d.padding": _convolution,
    "aten.conv_transpose1d.default": scattered,
    "aten.conv_transpose2d.input": scattered,
}
