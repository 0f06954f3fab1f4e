"""Layouts of kernel parameters: the part of a region's array that each process sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects.diagnostics import CompileTimeError, DataflowError, ShapeMismatchError
from allo.frontend.affine import Affine, constant
from allo.frontend.elaborate.arrays.lazy import Along, View
from allo.frontend.elaborate.context import FunctionContext, ValueBinding, as_int
from allo.frontend.kernel_module import ValueInfo
from allo.frontend.tree import Var
from allo.memory import Layout, Shard


def bind_shards(ctx: FunctionContext, mapping: Sequence[int]) -> None:
    """Let each parameter with a layout stand for the part of its array that this process sees.

    ``a: int32[8, 4] @ [S(0), R]`` of process 1 of two is rows 4 to 7 of the region's array, and has
    the shape ``(4, 4)``. The accesses in the body get the offset.
    """
    for parameter in ctx.info.args:
        if parameter.layout is None:
            continue
        cuts = _cuts(ctx, parameter, mapping)
        var = ctx.scopes[0][parameter.name]
        assert isinstance(var, Var)
        assert ctx.pid is not None
        shape, selectors = [], []
        for dim, (extent, axis) in enumerate(zip(var.shape, cuts, strict=True)):
            extent = extent or 0
            local = extent if axis is None else extent // mapping[axis]
            offset = Affine() if axis is None else constant(ctx.pid[axis] * local)
            shape.append(local)
            selectors.append(Along(offset, 1, dim))
        if tuple(shape) != var.shape:
            view = View(var, tuple(selectors), tuple(shape), var.place)
            ctx.scopes[0][parameter.name] = ValueBinding(view)


def refuse_layouts(ctx: FunctionContext, values: Sequence[ValueInfo]) -> None:
    """Refuse a layout where there are no processes to lay an array over."""
    for value in values:
        if value.layout is not None:
            raise DataflowError(
                f"The layout of {value.name or 'the result'} of {ctx.info.origin} lays an array over "
                "the processes of a df.kernel, and this is no parameter of one.",
                value.place,
                help="leave the layout out here, and write it at the parameter of the kernel.",
            )


def _cuts(ctx: FunctionContext, parameter: ValueInfo, mapping: Sequence[int]) -> list[int | None]:
    """For each dimension the axis of the mapping that cuts it, or None."""
    said: Any = getattr(parameter.layout, "partitions", parameter.layout)
    known = isinstance(said, (list, tuple))
    if not known or not all(isinstance(p, Shard) or p == Layout.Replicate for p in said):
        raise CompileTimeError(
            f"The layout of {parameter.name} is {parameter.layout!r}, not a list of Shard and "
            "Replicate.",
            parameter.place,
            help="S, R = Layout.Shard, Layout.Replicate; then write @ [S(0), R], an entry a dimension.",
        )
    rank = len(parameter.shape)
    if len(said) > rank:
        raise ShapeMismatchError(
            f"The layout of {parameter.name} has {len(said)} entries for {rank} "
            f"{'dimension' if rank == 1 else 'dimensions'}.",
            parameter.place,
            help="write one entry a dimension; what is left out is R.",
        )
    cuts = [as_int(p.axis) if isinstance(p, Shard) else None for p in said]
    for dim, (part, axis) in enumerate(zip(said, cuts, strict=True)):
        if isinstance(part, Shard):
            _check(ctx, parameter, mapping, dim, part, axis)
    return [*cuts, *[None] * (rank - len(cuts))]


def _check(
    ctx: FunctionContext,
    parameter: ValueInfo,
    mapping: Sequence[int],
    dim: int,
    part: Shard,
    axis: int | None,
) -> None:
    if axis is None or axis not in range(len(mapping)):
        raise DataflowError(
            f"The layout of {parameter.name} cuts dimension {dim} along axis {part.axis!r} of the "
            f"mapping {list(mapping)} of {ctx.info.origin}, which has no such axis.",
            parameter.place,
            help=f"its axes are 0 to {len(mapping) - 1}."
            if len(mapping) > 1
            else "its one axis is 0.",
        )
    extent = parameter.shape[dim]
    if extent is None or extent % mapping[axis]:
        size = "of unknown extent" if extent is None else f"of {extent} elements"
        raise ShapeMismatchError(
            f"The layout of {parameter.name} cuts dimension {dim} {size} in {mapping[axis]} parts, "
            "which are not equal.",
            parameter.place,
            help=f"let the extent be a multiple of axis {axis} of the mapping {list(mapping)}.",
        )
