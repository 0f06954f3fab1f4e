"""Reductions over dimensions: sums, extremes, their places, variances, running sums."""

from __future__ import annotations

from math import prod

from ..body import Call, Emitter, Result
from ..tensors import Tensor


def _dims(call: Call, source: Tensor) -> list[int]:
    """The dimensions that are reduced; none named means all."""
    asked = call.args.get("dim")
    listed = asked if isinstance(asked, list) else [] if asked is None else [asked]
    rank = len(source.shape)
    return sorted({d % rank for d in listed}) if listed else list(range(rank))


def _places(dims: list[int], rank: int, kept: tuple[str, ...], inner: tuple[str, ...]) -> list[str]:
    """Indices of the source from those of what is kept and what is reduced."""
    outside, inside = iter(kept), iter(inner)
    return [next(inside) if d in dims else next(outside) for d in range(rank)]


def _fold(start: str, step: str, last: str = "acc", *, reduction: bool = True) -> Emitter:
    """A reduction with one accumulator.

    Args:
        start: its first value; ``{first}`` is the first element.
        step: a statement on ``acc`` and ``elem``.
        last: the result, of ``acc``; ``{count}`` is how many elements were reduced.
        reduction: whether the loop is marked as a sum.
    """

    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        dims, rank = _dims(call, source), len(source.shape)
        extents = [source.shape[d] for d in dims]
        into = _without_units(target, source, dims)
        kept = [source.shape[d] for d in range(rank) if d not in dims]
        text = call.text
        with text.loops(kept, call.op.kind) as at:
            first = source.at(*_places(dims, rank, at, ("0",) * len(dims)))
            text.line(f"acc: {target.dtype} = {start.format(first=first)}")
            with text.loops(extents, prefix="r", reduction=reduction) as r:
                text.line(f"elem: {target.dtype} = {source.at(*_places(dims, rank, at, r))}")
                text.line(step)
            text.line(f"{into.at(*at)} = {last.format(count=f'{prod(extents)}.0')}")
        return target

    return emit


def _without_units(target: Tensor, source: Tensor, dims: list[int]) -> Tensor:
    """The target without the extents of 1 that ``keepdim`` left."""
    if len(target.shape) == len(source.shape):
        for d in reversed(dims):
            target = target.selected(d, 0)
    return target


def _variance(root: bool) -> Emitter:
    def emit(call: Call) -> Result:
        source, target = call.tensor("self"), call.array()
        dims, rank = _dims(call, source), len(source.shape)
        extents = [source.shape[d] for d in dims]
        count = prod(extents)
        correction = call.args.get("correction", 1 if call.args.get("unbiased", True) else 0)
        divisor = float(count - (1 if correction is None else correction))
        into = _without_units(target, source, dims)
        text, dtype = call.text, target.dtype
        with text.loops(
            [source.shape[d] for d in range(rank) if d not in dims], call.op.kind
        ) as at:
            text.line(f"mean: {dtype} = 0")
            with text.loops(extents, prefix="k", reduction=True) as k:
                text.line(f"mean += {source.at(*_places(dims, rank, at, k))}")
            text.line(f"mean = mean / {count}.0")
            text.line(f"acc: {dtype} = 0")
            with text.loops(extents, prefix="r", reduction=True) as r:
                text.line(f"elem: {dtype} = {source.at(*_places(dims, rank, at, r))} - mean")
                text.line("acc += elem * elem")
            text.line(f"var: {dtype} = acc / {divisor!r}")
            text.line(f"{into.at(*at)} = {'allo.sqrt(var)' if root else 'var'}")
        return target

    return emit


def _extreme(sign: str, *, place_only: bool) -> Emitter:
    """``max.dim``, ``argmax`` …: the value and the first place of it."""

    def emit(call: Call) -> Result:
        source = call.tensor("self")
        dims, rank = _dims(call, source), len(source.shape)
        if len(dims) > 1:
            raise call.refusal(
                "over all dimensions", "flatten the tensor first, and name the dimension."
            )
        values = None if place_only else call.array()
        meta = call.meta(0 if place_only else 1)
        indices = call.array(meta.shape, call.types.of_torch(meta.dtype))
        text = call.text
        with text.loops(
            [source.shape[d] for d in range(rank) if d not in dims], call.op.kind
        ) as at:
            first = source.at(*_places(dims, rank, at, ("0",)))
            text.line(f"best: {source.dtype} = {first}")
            text.line(f"at: {indices.dtype} = 0")
            with text.loops([source.shape[dims[0]]], prefix="r") as r:
                text.line(f"elem: {source.dtype} = {source.at(*_places(dims, rank, at, r))}")
                with text.block(f"if elem {sign} best:"):
                    text.line("best = elem")
                    text.line(f"at = {r[0]}")
            text.line(f"{_without_units(indices, source, dims).at(*at)} = at")
            if values:
                text.line(f"{_without_units(values, source, dims).at(*at)} = best")
        return indices if values is None else [values, indices]

    return emit


def _cumsum(call: Call) -> Result:
    source, target = call.tensor("self"), call.array()
    rank = len(source.shape)
    dim = call["dim"] % rank
    kept = [source.shape[d] for d in range(rank) if d != dim]
    text = call.text
    with text.loops(kept, "cumsum") as at:
        text.line(f"acc: {target.dtype} = 0")
        with text.loops([source.shape[dim]], prefix="r") as r:
            places = _places([dim], rank, at, r)
            text.line(f"acc += {source.at(*places)}")
            text.line(f"{target.at(*places)} = acc")
    return target


_MAX = _fold("{first}", "acc = max(acc, elem)", reduction=False)
_MIN = _fold("{first}", "acc = min(acc, elem)", reduction=False)
SUM = _fold("0", "acc += elem")
_MEAN = _fold("0", "acc += elem", "acc / {count}")
_PROD = _fold("1", "acc = acc * elem", reduction=False)
_ANY = _fold("0", "acc = 1 if elem != 0 else acc", reduction=False)
_ALL = _fold("1", "acc = acc if elem != 0 else 0", reduction=False)

OPERATORS: dict[str, Emitter] = {
    "aten.sum.default": SUM,
    "aten.sum.dim_IntList": SUM,
    "aten.mean.default": _MEAN,
    "aten.mean.dim": _MEAN,
    "aten.amax.default": _MAX,
    "aten.amin.default": _MIN,
    "aten.max.default": _MAX,
    "aten.min.default": _MIN,
    "aten.prod.default": _PROD,
    "aten.prod.dim_int": _PROD,
    "aten.any.default": _ANY,
    "aten.any.dim": _ANY,
    "aten.all.default": _ALL,
    "aten.all.dim": _ALL,
    "aten.var.dim": _variance(False),
    "aten.var.correction": _variance(False),
    "aten.std.dim": _variance(True),
    "aten.std.correction": _variance(True),
    "aten.max.dim": _extreme(">", place_only=False),
    "aten.min.dim": _extreme("<", place_only=False),
    "aten.argmax.default": _extreme(">", place_only=True),
    "aten.argmin.default": _extreme("<", place_only=True),
    "aten.cumsum.default": _cumsum,
}
