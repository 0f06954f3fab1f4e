"""Calls of kernels and external functions: arguments matched, views and results."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from typing import Any

from allo.dialects.diagnostics import (
    FrontendError,
    ShapeMismatchError,
    SourcePlace,
    TypeMismatchError,
)
from allo.dialects.types import Stream, Struct
from allo.frontend.affine import constant
from allo.frontend.elaborate import dispatch, fifos
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import Along, ArrayValue, At, Value, View
from allo.frontend.elaborate.context import FunctionContext, StreamBinding
from allo.frontend.elaborate.expressions.blocks import Packed
from allo.frontend.elaborate.expressions.fields import as_words, word_as
from allo.frontend.elaborate.expressions.order import in_order
from allo.frontend.elaborate.functions import instances as functions
from allo.frontend.elaborate.functions.annotations import show_type
from allo.frontend.elaborate.shared_parameters import written_arguments
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.frontend.rules import operations as ops
from allo.frontend.rules.integers import same_bits
from allo.frontend.tree import Argument, Call, CallResult, Return, Subscript, Var
from allo.frontend.tree import View as TreeView


def user_call(
    ctx: FunctionContext, node: ast.Call, function: Any, template: ast.expr | None
) -> list[Value]:
    """A call of a kernel: its instance, its arguments, its results."""
    info = functions.instance_for_call(ctx, node, function, template)
    place = ctx.place(node)
    nodes = _match(ctx, node, info)
    args = _arguments(ctx, node, nodes, info)
    return emit_call(ctx, info, args, place)


def emit_call(
    ctx: FunctionContext, info: FunctionInfo, args: tuple[Argument, ...], place: SourcePlace
) -> list[Value]:
    """A call statement, and its results as values."""
    results = tuple(
        Var("", r.dtype, r.shape, "result", place, memory) if r.shape else None
        for r, memory in zip(info.results, _result_memories(ctx, info), strict=True)
    )
    statement_ = Call(place, info.name, args, results)
    ctx.emit(statement_)
    if info.name not in ctx.info.calls:
        ctx.info.calls.append(info.name)
    _note_writes(ctx, info, args)
    for var in results:
        if var is not None:
            ctx.module.result_calls[var] = statement_
    return [
        arrays.whole(var, place)
        if var is not None
        else CallResult(result.dtype, place, statement_, position)
        for position, (var, result) in enumerate(zip(results, info.results, strict=True))
    ]


def _result_memories(ctx: FunctionContext, info: FunctionInfo) -> list[Any]:
    """Where each returned array lives."""
    callee = ctx.module.trees.get(info.name)
    returned = callee.body[-1] if callee and isinstance(callee.body[-1], Return) else None
    if returned is None:
        return [r.memory for r in info.results]
    return [v.memory if isinstance(v, Var) else None for v in returned.values]


def _note_writes(ctx: FunctionContext, info: FunctionInfo, args: tuple[Argument, ...]) -> None:
    for var in written_arguments(ctx, info.name, args):
        _refuse_constant(var)
        ctx.write(var)


def _refuse_constant(var: Var) -> None:
    if var.kind == "const" and not var.user_declared:
        raise TypeMismatchError(
            f"{var.name} is a captured constant array, but the function writes into it.",
            var.place,
            help="copy it into a local array first.",
        )


def rename_result(var: Var, name: str) -> None:
    """Give a call's array result the name it is bound to."""
    var.name = name


def _match(ctx: FunctionContext, node: ast.Call, info: FunctionInfo) -> list[ast.expr]:
    """One expression a parameter: positional, keyword, default."""
    names = [a.name for a in info.args]
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise dispatch.type_error(
                ctx,
                keyword.value,
                f"{info.origin} has no argument {keyword.arg!r}.",
                f"its arguments: {', '.join(names)}.",
            )
        given[keyword.arg] = keyword.value
    for name, default in ctx.module.defaults.get(info.name, {}).items():
        given.setdefault(name, default)
    missing = [n for n in names if n not in given]
    if missing or len(node.args) > len(names):
        wanted = f"{len(names)} argument{'s' if len(names) != 1 else ''}"
        raise dispatch.type_error(
            ctx,
            node,
            f"{info.origin} takes {wanted} ({', '.join(names)}), "
            f"not {len(node.args) + len(node.keywords)}.",
        )
    return [given[n] for n in names]


def _arguments(
    ctx: FunctionContext, call: ast.Call, nodes: list[ast.expr], info: FunctionInfo
) -> tuple[Argument, ...]:
    """The arguments by parameter, evaluated in the order in which the call has them."""
    written = [*call.args, *(keyword.value for keyword in call.keywords)]
    written += [node for node in nodes if node not in written]
    order = [nodes.index(node) for node in written]
    given = in_order(
        ctx,
        [partial(_argument, _Passed(ctx, nodes[k], info.args[k], info, k + 1)) for k in order],
    )
    return tuple(given[order.index(k)] for k in range(len(nodes)))


_REREAD_HELP = (
    "arrays are passed by reference, so that only integers of one width are read as the other "
    "signedness; declare a copy of the parameter's type and pass that."
)


@dataclass(frozen=True, slots=True)
class _Passed:
    """An expression given for parameter ``number``, from 1, of a function."""

    ctx: FunctionContext
    node: ast.expr
    wanted: ValueInfo
    info: FunctionInfo
    number: int

    def mismatch(self, value: Value) -> FrontendError:
        """The error for a value of another type or shape."""
        wanted, origin = self.wanted, self.info.origin
        shape = value.shape if isinstance(value, ArrayValue) else ()
        has = show_type(value.dtype, shape) if shape else f"the scalar {value.dtype}"
        wants = (
            show_type(wanted.dtype, wanted.shape) if wanted.shape else f"a scalar {wanted.dtype}"
        )
        agree = _shapes_agree(shape, wanted.shape)
        error = TypeMismatchError if agree else ShapeMismatchError
        return error(
            f"Argument {self.number} of {origin} ({wanted.name}) is {has}, but {origin} wants {wants}.",
            self.ctx.place(self.node),
            help=_REREAD_HELP
            if agree and shape
            else "give both sides the same element type and shape.",
            notes=(("declared here", wanted.place),) if wanted.place else (),
        )

    def rereads(self, value: View) -> bool:
        """Whether the function reads the bits of an integer array as the other signedness."""
        in_cpp = self.info.name not in self.ctx.module.trees
        return not in_cpp and same_bits(value.dtype, self.wanted.dtype)

    def is_written(self) -> bool:
        """Whether the function writes into the parameter."""
        callee = self.ctx.module.trees.get(self.info.name)
        return callee is not None and callee.params[self.number - 1] in callee.written


def _argument(passed: _Passed) -> Argument:
    ctx, node, wanted, info = passed.ctx, passed.node, passed.wanted, passed.info
    if isinstance(wanted.dtype, Stream):
        return fifos.argument(ctx, node, wanted, info)
    if isinstance(node, ast.Name) and isinstance(ctx.find(node.id), StreamBinding):
        raise dispatch.type_error(
            ctx,
            node,
            f"Stream {node.id} is not used correctly: {info.origin} takes no stream for "
            f"{wanted.name}.",
            f"declare {wanted.name} as a Stream in {info.origin}.",
        )
    words = as_words(ctx, node, wanted.dtype)
    if words is not None and wanted.shape:
        raise dispatch.type_error(
            ctx,
            node,
            f"The local array of Structs {ast.unparse(node)} cannot be passed to {info.origin}.",
            "it is kept as one array a field; pass those, or an argument of this function.",
        )
    value = dispatch.expression(ctx, node) if words is None else words
    if wanted.shape:
        return _array_argument(passed, value)
    if isinstance(value, ArrayValue):
        if arrays.total(value.shape) != 1:
            raise passed.mismatch(value)
        value = value.element((constant(0),) * len(value.shape))
    if isinstance(wanted.dtype, Struct):
        return word_as(ctx, node, value, wanted.dtype)
    return ops.cast(value, wanted.dtype, ctx.place(node))


def _array_argument(passed: _Passed, value: Value) -> Argument:
    """An array as an argument: a variable or a view by reference, an expression by a temporary."""
    wanted = passed.wanted
    if not isinstance(value, ArrayValue):
        raise passed.mismatch(value)
    dropped = tuple(d for d in value.shape if d != 1)
    squeezed = dropped == tuple(d for d in wanted.shape if d != 1)
    if not _shapes_agree(value.shape, wanted.shape) and not squeezed:
        raise passed.mismatch(value)
    if isinstance(value, View) and value.dtype != wanted.dtype and not passed.rereads(value):
        raise passed.mismatch(value)
    if not isinstance(value, View) or not _keeps_order(value):
        if isinstance(value, View):
            _refuse_written_copy(passed, f"a transposed view of {value.var.name}")
        elif isinstance(value, Packed):
            _refuse_written_copy(passed, "part of a word that is a Struct")
        copy = stores.fresh_copy(passed.ctx, value, wanted.name, wanted.dtype)
        value = arrays.whole(copy, passed.ctx.place(passed.node))
    if value.is_whole and _shapes_agree(value.shape, wanted.shape):
        return value.var
    return _tree_view(value, len(wanted.shape))


def _refuse_written_copy(passed: _Passed, what: str) -> None:
    """What a function wrote into a copy would be lost."""
    if not passed.is_written():
        return
    raise dispatch.type_error(
        passed.ctx,
        passed.node,
        f"{passed.info.origin} writes into {passed.wanted.name}, and {ast.unparse(passed.node)} is {what}, "
        "which cannot be passed by reference.",
        "pass a local array, and store its elements back when the function has returned.",
    )


def _tree_view(value: View, rank: int) -> TreeView:
    """A view as a subview; dimensions of extent 1 go when the receiver has fewer."""
    surplus = len(value.shape) - rank
    offsets: list[Subscript] = []
    sizes: list[int | None] = []
    steps: list[int] = []
    for selector in value.selectors:
        if isinstance(selector, At):
            offsets.append(selector.position)
            sizes.append(None)
            steps.append(1)
            continue
        extent = value.shape[selector.axis]
        drop = surplus > 0 and extent == 1
        surplus -= drop
        offsets.append(selector.offset)
        sizes.append(None if drop else extent)
        steps.append(selector.step)
    return TreeView(value.var, tuple(offsets), tuple(sizes), tuple(steps), value.place)


def _keeps_order(value: View) -> bool:
    """Whether the axes of a view stand as those of its variable: a subview can say it."""
    axes = [s.axis for s in value.selectors if isinstance(s, Along)]
    return axes == sorted(axes)


def _shapes_agree(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or s == -1 or s == w for s, w in zip(shape, wanted, strict=True)
    )


def external_call(ctx: FunctionContext, node: ast.Call, function: Any) -> list[Value]:
    """A call of external C++ (an IPModule), declared by its own argument list."""
    info = functions.external_instance(ctx, node, function)
    nodes = _match(ctx, node, info)
    args = _arguments(ctx, node, nodes, info)
    return emit_call(ctx, info, args, ctx.place(node))
