"""Whole arrays stored: loop nests, temporaries, values computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace
from allo.dialects.ranges.interval import INDEX_RANGE
from allo.dialects.types import AlloType
from allo.frontend.affine import Iter, constant, of_atom
from allo.frontend.checks.spans import loads
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Indices, Named, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.shared_parameters import may_share
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Compute, Computed, Const, Copy, Declare, Expr, Fill, For, Store, Var


def loop_nest(
    ctx: FunctionContext,
    shape: Sequence[int],
    place: SourcePlace,
    body: Callable[[Indices], None],
    *,
    prefix: str = "i",
    op_name: str | None = None,
    reduction: bool = False,
) -> None:
    """A perfect nest over ``shape`` that calls ``body`` with its iterators."""
    spans = [(0, extent - 1) if extent > 0 else None for extent in shape]
    iters = [
        Iter(f"{prefix}{d}", True, place, span, span or INDEX_RANGE) for d, span in enumerate(spans)
    ]
    if not iters:
        body(())
        return
    name = op_name or "_".join(["S", *(i.name for i in iters), str(ctx.nests)])
    block = ctx.block
    for depth, (it, extent) in enumerate(zip(iters, shape, strict=True)):
        loop = For(
            place,
            it,
            (constant(0),),
            (constant(extent),),
            constant(1),
            [],
            it.name,
            op_name=name if depth == 0 else None,
            reduction=reduction,
        )
        block.append(loop)
        block = loop.body
    with ctx.into(block):
        body(tuple(of_atom(i) for i in iters))
    ctx.nests += 1


def new_local(
    ctx: FunctionContext,
    name: str,
    dtype: AlloType,
    shape: Sequence[int | None],
    place: SourcePlace,
    memory: object = None,
) -> Var:
    """Declare a local variable here."""
    var = Var(name, dtype, tuple(shape), "local", place, memory)
    ctx.emit(Declare(place, var))
    return var


def materialize(ctx: FunctionContext, value: ArrayValue, name: str) -> Var:
    """``value`` as a variable: itself where it is one, else computed into a fresh local."""
    if isinstance(value, View) and value.is_whole:
        return value.var
    return fresh_copy(ctx, value, name, value.dtype)


def fresh_copy(ctx: FunctionContext, value: ArrayValue, name: str, dtype: AlloType) -> Var:
    """``value`` computed into a fresh local."""
    var = new_local(ctx, name, dtype, value.shape, value.place)
    store(ctx, arrays.whole(var, value.place), value, value.place)
    return var


def store(ctx: FunctionContext, target: View, value: Value, place: SourcePlace) -> None:
    """``target[...] = value`` with a cast and NumPy's broadcasting; aliasing is respected.

    What all elements share, and reads the target, is evaluated before the first one is stored:
    subscripts on both sides, and scalars beside arrays.
    """

    def settled(shared: Expr) -> Expr:
        return compute_once(ctx, shared) if _reads(ctx, shared, target.var) else shared

    target = View(target.var, target.selectors, target.shape, target.place)
    target.settle(settled)
    if isinstance(value, ArrayValue):
        value.settle(settled)
        _store_array(ctx, target, value, place)
        return
    element = ops.cast(value, target.dtype, place)
    if target.is_whole and -1 not in target.shape:
        ctx.emit(Fill(place, target.var, element))
        return
    if not isinstance(element, Const):
        element = compute_once(ctx, element)
    loop_nest(
        ctx,
        target.shape,
        place,
        lambda i: ctx.emit(Store(place, target.var, target.subscripts(i), element)),
    )


def _reads(ctx: FunctionContext, value: Expr, var: Var) -> bool:
    """Whether an expression loads from the memory of a variable."""
    return any(may_share(ctx, load.var, var) for load in loads([value]))


def compute_once(ctx: FunctionContext, value: Expr) -> Expr:
    """Evaluate ``value`` here and now."""
    statement = Compute(value.place, value)
    ctx.emit(statement)
    return Computed(value.dtype, value.place, statement)


def _store_array(ctx: FunctionContext, target: View, value: ArrayValue, place: SourcePlace) -> None:
    shape = arrays.broadcast_shape([target.shape, value.shape], place, "Cannot assign")
    if shape != target.shape:
        raise ShapeMismatchError(
            f"Cannot assign an array of shape {arrays.show(value.shape)} to {target.var.name} "
            f"of shape {arrays.show(target.shape)}.",
            place,
            help="assign to a slice of that shape, or declare the target with it.",
        )
    if any(v.var is not target.var and may_share(ctx, v.var, target.var) for v in value.leaves()):
        value = arrays.whole(fresh_copy(ctx, value, f"{target.var.name}_new", value.dtype), place)
    if _copies_whole(target, value):
        assert isinstance(value, View)
        if value.var is not target.var:
            ctx.emit(Copy(place, value.var, target.var))
        return
    if any(v.var is target.var and v.selectors != target.selectors for v in value.leaves()):
        temporary = fresh_copy(ctx, value, f"{target.var.name}_new", value.dtype)
        value = arrays.whole(temporary, place)
    source, name = value, value.name if isinstance(value, Named) else None

    def body(i: Indices) -> None:
        element = ops.cast(arrays.broadcast_element(source, i), target.dtype, place)
        ctx.emit(Store(place, target.var, target.subscripts(i), element))

    loop_nest(ctx, target.shape, place, body, op_name=name)


def _copies_whole(target: View, value: ArrayValue) -> bool:
    return (
        isinstance(value, View)
        and value.is_whole
        and target.is_whole
        and value.var.shape == target.var.shape
        and value.dtype == target.dtype
        and None not in target.var.shape
    )
