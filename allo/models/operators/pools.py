"""Pooling over images of channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .convolutions import inside, window


def _lowest(dtype: str) -> int:
    """The least number of an integer type."""
    return 0 if dtype.startswith("u") else -(1 << (int(dtype.removeprefix("int")) - 1))


def _windows(
    call: Call, source: Tensor, at: Sequence[str], offsets: Sequence[str], dilations: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Indices of the source, and what must hold for them to be in it."""
    dims = len(offsets)
    sizes = call.ints("kernel_size", dims)
    strides = call.ints("stride", dims) if call["stride"] else sizes
    paddings = call.ints("padding", dims)
    places, tests = list(at[:-dims]), list[str]()
    for d, index in enumerate(at[-dims:]):
        bounds = (call.shape[d - dims], sizes[d], source.shape[d - dims])
        place, conditions = window(index, offsets[d], strides[d], dilations[d], paddings[d], bounds)
        places.append(place)
        tests += conditions
    return places, tests


def windows(
    call: Call, source: Tensor, at: Sequence[str], offsets: Sequence[str], statement: str
) -> None:
    """Write ``statement`` of the element that an offset of a window reads, where there is one."""
    places, tests = _windows(call, source, at, offsets, [1] * len(offsets))
    with inside(call.text, tests):
        call.text.line(statement.format(source.at(*places)))


def _max_pool(dims: int) -> Emitter:
    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        text, name = call.text, call.op.kind
        dilations = call.ints("dilation", dims)
        with text.loops(target.shape, name) as at:
            sizes = call.ints("kernel_size", dims)
            places, tests = _windows(call, source, at, ["0"] * dims, dilations)
            lowest = "-infinity" if call.is_float else str(_lowest(call.meta().dtype))
            first = lowest if tests else source.at(*places)
            text.line(f"best: {target.dtype} = {first}")
            with text.loops(sizes, f"{name}_window", prefix="k") as offsets:
                places, tests = _windows(call, source, at, offsets, dilations)
                with inside(text, tests):
                    text.line(f"best = max(best, {source.at(*places)})")
            text.line(f"{target.at(*at)} = best")
        return target

    return emit


def _avg_pool(dims: int) -> Emitter:
    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        text, name = call.text, call.op.kind
        sizes = call.ints("kernel_size", dims)
        divisor = call.args.get("divisor_override") or prod(sizes)
        padded = any(call.ints("padding", dims))
        counted = not call.args.get("divisor_override") and (
            (padded and not call["count_include_pad"]) or call["ceil_mode"]
        )
        if call["ceil_mode"] and padded and call["count_include_pad"]:
            raise call.refusal(
                "with ceil_mode, padding and count_include_pad", "set count_include_pad=False."
            )
        with text.loops(target.shape, name) as at:
            text.line(f"total: {target.dtype} = 0")
            if counted:
                text.line(f"count: {target.dtype} = 0")
            with text.loops(sizes, prefix="k", reduction=True) as offsets:
                places, tests = _windows(call, source, at, offsets, [1] * dims)
                with inside(text, tests):
                    text.line(f"total += {source.at(*places)}")
                    if counted:
                        text.line("count += 1")
            text.line(f"{target.at(*at)} = total / {'count' if counted else f'{divisor}.0'}")
        return target

    return emit


def _adaptive(dims: int, *, is_max: bool) -> Emitter:
    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        text, name = call.text, call.op.kind
        before, after = source.shape[-dims:], target.shape[-dims:]
        if any(b % a for b, a in zip(before, after, strict=True)):
            raise call.refusal(
                f"from {list(before)} to {list(after)}",
                "the extents of the result have to divide those of the image.",
            )
        sizes = [b // a for b, a in zip(before, after, strict=True)]
        with text.loops(target.shape, name) as at:
            start = "-infinity" if is_max else "0"
            text.line(f"total: {target.dtype} = {start}")
            with text.loops(sizes, prefix="k", reduction=not is_max) as offsets:
                places = [
                    f"{i} * {size} + {k}"
                    for i, size, k in zip(at[-dims:], sizes, offsets, strict=True)
                ]
                element = source.at(*at[:-dims], *places)
                text.line(f"total = max(total, {element})" if is_max else f"total += {element}")
            share = "" if is_max else f" / {prod(sizes)}.0"
            text.line(f"{target.at(*at)} = total{share}")
        return target

    return emit


OPERATORS: dict[str, Emitter] = {
    **{f"aten.max_pool{n}d.default": _max_pool(n) for n in (1, 2, 3)},
    **{f"aten.avg_pool{n}d.default": _avg_pool(n) for n in (1, 2, 3)},
    **{f"aten.adaptive_avg_pool{n}d.default": _adaptive(n, is_max=False) for n in (1, 2, 3)},
}
