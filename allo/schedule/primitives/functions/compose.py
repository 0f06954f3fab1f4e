"""``compose``: replay a callee's schedule on its instance in a larger design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import function_type, functions_of, symbol
from allo.dialects.diagnostics import (
    AlloError,
    HandleTypeError,
    ScheduleError,
    UnknownHandleError,
)
from allo.schedule.analysis.callees import match_callees, renamed
from allo.schedule.handles import Setting
from allo.schedule.near import suggestion
from allo.schedule.parameters import moved
from allo.schedule.primitive import primitive, unrecorded
from allo.schedule.resolve import find_function
from allo.schedule.state import ScheduleState


@primitive
def compose(
    s: ScheduleState,
    schs: Setting[Any],
    id: Setting[str] | None = None,
    instantiate: Setting[Sequence[Any]] | None = None,
) -> None:
    """Replay the schedule of a function this kernel calls on its instance here.

    ::

        s_inner = allo.customize(inner);  s_inner.pipeline("j")
        s = allo.customize(outer);        s.compose(s_inner)     # inner's j is pipelined in s

    Args:
        schs: a Schedule, a library kernel (a function with an attribute ``default_schedule``,
            which makes its Schedule from template arguments), or a list of them.
        id: the string in the template brackets of the call, for one instance among several.
        instantiate: template arguments for a library kernel.

    Raises:
        TypeError: something that is neither a Schedule nor a function.
        UnknownHandleError: the kernel calls no such function.
        ScheduleError: the types or shapes of the two sides disagree, or a recorded primitive does
            not apply to the instance (the message names it).
    """
    items = schs if isinstance(schs, (list, tuple)) else [schs]
    for item in items:
        _compose_one(s, _as_schedule(item, instantiate), id)


def _as_schedule(item: Any, instantiate: Sequence[Any] | None) -> ScheduleState:
    if isinstance(item, ScheduleState):
        return item
    if not callable(item):
        raise HandleTypeError(
            f"The first argument must be a Schedule object, got {type(item).__name__}.",
            help="s.compose(inner) takes what allo.customize(inner_kernel) returned.",
        )
    make = getattr(item, "default_schedule", None)
    if make is None:
        name = getattr(item, "__name__", repr(item))
        raise ScheduleError(
            f"Cannot find schedule for kernel {name}.",
            help=f"customise it yourself: s.compose(allo.customize({name}, …)), or give the function "
            "an attribute default_schedule, a function from template arguments to a Schedule.",
        )
    made: ScheduleState = make(instantiate)
    return made


def _compose_one(s: ScheduleState, inner: ScheduleState, id: str | None) -> None:
    target = _target_name(s, inner, id)
    function = find_function(s.module, target)
    _check_signature(inner, function, target)
    _own_state(s, inner, function, target, id)
    names = match_callees(s, inner, target, id if id is not None else target)
    for name, args, kwargs in inner.primitive_sequences:
        run = unrecorded(s, name)
        call = moved(run, s, args, kwargs, inner.top_func_name, lambda f: renamed(f, names))
        try:
            run(*call.args, **call.kwargs)
        except AlloError as error:
            error.notes = (
                *error.notes,
                f"while composing {name} of {inner.top_func_name} on {target}.",
            )
            raise


def _target_name(s: ScheduleState, inner: ScheduleState, id: str | None) -> str:
    functions = functions_of(s.module)
    top = inner.top_func_name
    wanted = top if id is None else f"{top}_{id}"
    callees = [n for n in functions if n != s.top_func_name]
    if wanted in callees:
        return wanted
    origin = _origin(inner, top)
    named = {origin: None, top: None}
    for candidate in [f"{n}_{id}" for n in named if id is not None] + [f"{n}_0" for n in named]:
        if candidate in callees:
            return candidate
    raise UnknownHandleError(
        f"compose: function {wanted} is not called by {s.top_func_name}.",
        help=suggestion(wanted, callees, "its functions are"),
    )


def _origin(inner: ScheduleState, top: str) -> str:
    info = inner.kernel.functions.get(top)
    return top if info is None else info.origin


def _check_signature(inner: ScheduleState, function: ir.Operation, target: str) -> None:
    mine = _plain_types(inner.original_signature)
    theirs = _plain_types(function_type(function))
    if mine == theirs:
        return
    raise ScheduleError(
        f"compose: the schedule is of {inner.top_func_name}{_shown(mine)}, but {target} here is "
        f"{target}{_shown(theirs)}.",
        place_of(function),
        help="customise the callee with the types and shapes of this call (instantiate=[…]).",
    )


def _plain_types(signature: ir.FunctionType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(map(_plain, signature.inputs)), tuple(map(_plain, signature.results))


def _plain(kind: ir.Type) -> str:
    if not isinstance(kind, ir.MemRefType):
        return str(kind)
    shape = "x".join(
        "?" if kind.is_dynamic_dim(d) else str(kind.shape[d]) for d in range(kind.rank)
    )
    return f"{kind.element_type}[{shape}]"


def _shown(types: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    inputs, results = types
    return f"({', '.join(inputs)}) -> ({', '.join(results)})"


def _own_state(
    s: ScheduleState, inner: ScheduleState, function: ir.Operation, target: str, id: str | None
) -> None:
    """Give a composed instance state of its own."""
    suffix = id if id is not None else f"inst{_composed_before(s)}"
    globals_ = {
        symbol(op): op.operation
        for op in s.module.body.operations
        if op.operation.name == "memref.global" and "constant" not in op.operation.attributes
    }
    for op in list(walk(function)):
        if op.name != "memref.get_global":
            continue
        name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
        old = globals_.get(name)
        if old is None:
            continue
        fresh = f"{name}_{suffix}"
        if fresh not in globals_:
            copy = old.clone(ir.InsertionPoint(old))
            copy.operation.attributes["sym_name"] = ir.StringAttr.get(fresh)
            globals_[fresh] = copy.operation
        op.attributes["name"] = ir.FlatSymbolRefAttr.get(fresh)
        if not _is_used(s.module, name):
            old.erase()
            del globals_[name]


def _composed_before(s: ScheduleState) -> int:
    return sum(1 for name, _, _ in s.primitive_sequences if name == "compose")


def _is_used(module: ir.Module, name: str) -> bool:
    return any(
        op.name == "memref.get_global" and ir.FlatSymbolRefAttr(op.attributes["name"]).value == name
        for op in walk(module.operation)
    )
