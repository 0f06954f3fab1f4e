"""Shapes: views that cost nothing, and operators that only move elements."""

from __future__ import annotations

from math import prod

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .elementwise import number


def _reshape(call: Call) -> Result:
    return call.reshaped(_first(call), call.shape)


def _first(call: Call) -> Tensor:
    return call.tensor("self" if "self" in call.args else "input")


def _permute(call: Call) -> Result:
    return _first(call).permuted(call["dims"])


def _transpose(call: Call) -> Result:
    return _first(call).transposed(call["dim0"], call["dim1"])


def _t(call: Call) -> Result:
    source = _first(call)
    return source if len(source.shape) < 2 else source.transposed(0, 1)


def _unsqueeze(call: Call) -> Result:
    return _first(call).unsqueezed(call["dim"])


def _unit(call: Call) -> Result:
    """``squeeze`` and what else changes only extents of 1 is always a view."""
    view = _first(call).reshaped(call.shape)
    if view is None:
        raise call.refusal("in a form that is no view")
    return view


def _expand(call: Call) -> Result:
    return _first(call).expanded(call.shape)


def _slice(call: Call) -> Result:
    source, dim = _first(call), call["dim"]
    extent = source.shape[dim]
    start = _bounded(call["start"] or 0, extent)
    return source.sliced(dim, start, call.shape[dim], call["step"])


def _bounded(value: int, extent: int) -> int:
    return max(0, value + extent) if value < 0 else min(value, extent)


def _select(call: Call) -> Result:
    source, dim = _first(call), call["dim"]
    return source.selected(dim, call["index"] % source.shape[dim])


def _parts(call: Call) -> Result:
    """``split`` and ``chunk``: PyTorch says how long each part is."""
    source, dim = _first(call), call["dim"]
    parts: list[Tensor | None] = []
    start = 0
    for k in range(len(call.op.metas)):
        count = call.meta(k).shape[dim]
        parts.append(source.sliced(dim, start, count))
        start += count
    return parts


def _unbind(call: Call) -> Result:
    source, dim = _first(call), call["dim"]
    return [source.selected(dim, k) for k in range(source.shape[dim])]


def _cat(call: Call) -> Result:
    dim, target = call["dim"], call.array()
    start = 0
    for part in call["tensors"]:
        if part.shape == (0,):  # PyTorch skips these, whatever the other shapes
            continue
        count = part.shape[dim]
        call.copied(part, target.sliced(dim, start, count), call.op.kind)
        start += count
    return target


def _stack(call: Call) -> Result:
    target = call.array()
    for k, part in enumerate(call["tensors"]):
        call.copied(part, target.selected(call["dim"], k), "stack")
    return target


def _repeat(call: Call) -> Result:
    source, repeats = _first(call), call["repeats"]
    target = call.array()
    inner = (1,) * (len(repeats) - len(source.shape)) + source.shape
    split = [extent for pair in zip(repeats, inner, strict=True) for extent in pair]
    into = target.reshaped(split)
    shaped = source.reshaped([e for extent in inner for e in (1, extent)])
    if into is None or shaped is None:
        raise call.refusal("of a view that cannot be split")
    call.copied(shaped.expanded(split), into, "repeat")
    return target


def _flip(call: Call) -> Result:
    return _first(call).flipped(call["dims"])


def _roll(call: Call) -> Result:
    source, target = _first(call), call.array()
    dims = call["dims"]
    if len(dims) != 1:
        raise call.refusal("over several dimensions or none", "roll one dimension after the other.")
    dim, extent = dims[0], source.shape[dims[0]]
    shift = call.ints("shifts", 1)[0] % extent
    call.copied(
        source.sliced(dim, 0, extent - shift), target.sliced(dim, shift, extent - shift), "roll"
    )
    if shift:
        call.copied(source.sliced(dim, extent - shift, shift), target.sliced(dim, 0, shift), "roll")
    return target


def _pad(call: Call) -> Result:
    source, pads = _first(call), call["pad"]
    if call.args.get("mode", "constant") != "constant":
        raise call.refusal(f"with mode={call['mode']!r}", 'mode="constant" is supported.')
    value = call["value"] or 0
    target = call.array()
    with call.text.loops(target.shape, "pad_fill") as at:
        call.text.line(f"{target.at(*at)} = {number(value)}")
    into = target
    for k in range(len(pads) // 2):
        dim = len(source.shape) - 1 - k
        before, after = pads[2 * k], pads[2 * k + 1]
        source = source.sliced(
            dim, max(0, -before), source.shape[dim] + min(0, before) + min(0, after)
        )
        into = into.sliced(dim, max(0, before), source.shape[dim])
    call.copied(source, into, "pad")
    return target


def _clone(call: Call) -> Result:
    return _first(call)


def _pixel_shuffle(call: Call) -> Result:
    source, factor = _first(call), call["upscale_factor"]
    *batch, channels, height, width = source.shape
    split = call.reshaped(source, (*batch, channels // factor**2, factor, factor, height, width))
    n = len(batch)
    moved = split.permuted([*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return call.reshaped(moved, call.shape)


def _nearest(call: Call) -> Result:
    """``upsample_nearest2d`` by whole factors: every element repeated."""
    source, target = _first(call), call.array()
    spatial = list(zip(source.shape[2:], target.shape[2:], strict=True))
    if any(after % before for before, after in spatial):
        raise call.refusal("by a factor that is not whole", "choose whole scale factors.")
    split = [e for before, after in spatial for e in (before, after // before)]
    into = target.reshaped((*target.shape[:2], *split))
    ones = source.reshaped((*source.shape[:2], *(e for before, _ in spatial for e in (before, 1))))
    if into is None or ones is None or not prod(source.shape):
        raise call.refusal("of a view that cannot be split")
    call.copied(ones.expanded(into.shape), into, call.op.kind)
    return target


_VIEWS: dict[str, Emitter] = {
    "aten.permute.default": _permute,
    "aten.transpose.int": _transpose,
    "aten.t.default": _t,
    "aten.unsqueeze.default": _unsqueeze,
    "aten.squeeze.dim": _unit,
    "aten.squeeze.dims": _unit,
    "aten.expand.default": _expand,
    "aten.slice.Tensor": _slice,
    "aten.select.int": _select,
    "aten.split.Tensor": _parts,
    "aten.split_with_sizes.default": _parts,
    "aten.unbind.int": _unbind,
    "aten.flip.default": _flip,
    "aten.clone.default": _clone,
    "aten.alias.default": _clone,
}
_RESHAPES = (
    "aten.view.default",
    "aten._unsafe_view.default",
)
VIEWS = frozenset({*_VIEWS, *_RESHAPES, "getitem"})
"""The targets that compute nothing; a reshape may still have to copy."""

OPERATORS: dict[str, Emitter] = {
    **_VIEWS,
    **dict.fromkeys(_RESHAPES, _reshape),
    "aten.cat.default": _cat,
    "aten.stack.default": _stack,
    "aten.repeat.default": _repeat,
    "aten.roll.default": _roll,
    "aten.pad.default": _pad,
    "aten.constant_pad_nd.default": _pad,
    "aten.pixel_shuffle.default": _pixel_shuffle,
    "aten.upsample_nearest2d.vec": _nearest,
}
