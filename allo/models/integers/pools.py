"""Adaptive pools as pools with a window."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..graph import Meta, Model, Operator
from .editing import beside

_ADAPTIVE = {f"aten.adaptive_avg_pool{n}d.default" for n in (1, 2, 3)}


def windowed(model: Model) -> None:
    """Give the adaptive pools whose extents divide a fixed window."""
    shapes = {op.name: op.metas[0] for op in model.operators} | dict(model.inputs)
    model.operators = [
        _windowed(op, shapes) if op.target in _ADAPTIVE else op for op in model.operators
    ]


def _windowed(op: Operator, shapes: Mapping[str, Meta | None]) -> Operator:
    source = op.args["self"].name
    before, after = shapes[source], op.metas[0]
    dims = int(op.target[len("aten.adaptive_avg_pool")])
    if before is None or after is None:
        return op
    pairs = list(zip(before.shape[-dims:], after.shape[-dims:], strict=True))
    sizes = [b // a for b, a in pairs]
    if any(b % a for b, a in pairs) or not prod(sizes):
        return op
    args = {
        "self": op.args["self"],
        "kernel_size": sizes,
        "stride": sizes,
        "padding": [0] * dims,
        "ceil_mode": False,
        "count_include_pad": True,
        "divisor_override": None,
    }
    return beside(op, op.name, f"aten.avg_pool{dims}d.default", args, after)
