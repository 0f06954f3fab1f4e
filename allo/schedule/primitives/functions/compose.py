"""``compose``: replay a callee's schedule on its instance in a larger design."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import (
    declared_arguments,
    function_type,
    functions_of,
    symbol,
)
from allo.dialects.diagnostics import (
    AlloError,
    HandleTypeError,
    ScheduleError,
    UnknownHandleError,
)
from allo.dialects.text import differences
from allo.schedule.analysis.callees import match_callees, renamed
from allo.schedule.handles import FunctionName, Setting
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

    A schedule of the kernel itself is replayed on it: ``s.compose(nn.linear2d)`` gives a schedule of
    ``linear2d`` the library's. Functions that the instance calls and others call as well become
    copies of its own, so that the schedule reaches this instance only.

    Args:
        schs: a Schedule, a library kernel (a function with an attribute ``default_schedule``,
            which makes its Schedule from template arguments), or a list of them.
        id: the string in the template brackets of the call, for one instance among several.
        instantiate: template arguments for a library kernel; those of the instance by default.

    Raises:
        TypeError: something that is neither a Schedule nor a function.
        UnknownHandleError: the kernel calls no such function.
        ScheduleError: the types or shapes of the two sides disagree, a recorded primitive does
            not apply to the instance (the message names it), or a library kernel has several
            instances that differ.
    """
    for each in _schedules(s, schs, id, instantiate):
        _compose_one(s, each.schedule, id, each.target(s, {}))


@primitive
def compose_on(s: ScheduleState, func: FunctionName, schs: Setting[Any]) -> None:
    """Replay a schedule on the function that is named, whatever the kernel of the schedule is called.

    Args:
        func: the function.
        schs: a Schedule, or a list of them.

    Raises:
        ScheduleError: the types or shapes of the two sides disagree, or a recorded primitive does
            not apply to the function (the message names it).
    """
    for each in _schedules(s, schs, None, None):
        _compose_one(s, each.schedule, None, func)


def _as_schedule(
    s: ScheduleState, item: Any, id: str | None, instantiate: Sequence[Any] | None
) -> ScheduleState:
    if item is s:
        raise ScheduleError(
            f"compose: the schedule of {s.top_func_name} cannot be replayed on itself.",
            help="compose another schedule of the kernel: s.compose(allo.customize(kernel, …)).",
        )
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
    if instantiate is None:
        instantiate = _template_of(s, item, id)
    made: ScheduleState = make(instantiate)
    return made


def _template_of(s: ScheduleState, item: Any, id: str | None) -> Sequence[Any] | None:
    """The template arguments of the instance of a kernel here; None where the kernel has none.

    Raises:
        UnknownHandleError: the kernel is a template of which there is no such instance.
        ScheduleError: it has several, with other arguments.
    """
    origin = str(getattr(item, "__name__", ""))
    instances = [
        info
        for info in s.kernel.functions.values()
        if info.origin == origin and (id is None or info.instance_id == id)
    ]
    if instances and all(i.template_args == instances[0].template_args for i in instances):
        found: Sequence[Any] | None = instances[0].template_args
        return found
    if not getattr(item, "__type_params__", ()):
        return None
    if not instances:
        raise _not_called(s, origin if id is None else f"{origin}_{id}")
    ids = [info.instance_id for info in instances if info.instance_id is not None]
    raise ScheduleError(
        f"compose: the instances of {origin} differ in their template arguments.",
        help="say which one is meant, with id= or instantiate=[…]"
        + (f"; its ids are {', '.join(ids)}." if ids else "."),
    )


def _not_called(s: ScheduleState, wanted: str) -> UnknownHandleError:
    callees = [n for n in functions_of(s.module) if n != s.top_func_name]
    return UnknownHandleError(
        f"compose: function {wanted} is not called by {s.top_func_name}.",
        help=suggestion(wanted, callees, "its functions are"),
    )


def _compose_one(s: ScheduleState, inner: ScheduleState, id: str | None, target: str) -> None:
    """Replay ``inner`` on the function ``target``."""
    _check_signature(inner, find_function(s.module, target), target)
    replay(s, inner, target, id)


def replay(s: ScheduleState, inner: ScheduleState, target: str, id: str | None = None) -> None:
    """Apply what was recorded on ``inner`` to the function ``target``, whatever its signature.

    Raises:
        AlloError: a recorded primitive does not apply there; a note names it.
    """
    _own_state(s, find_function(s.module, target), id)
    composed = _composed_calls(inner)
    own = {n for calls in composed.values() for call in calls for n in call.candidates()}
    names = match_callees(s, inner, target, id if id is not None else target, own)
    for number, (name, args, kwargs) in enumerate(inner.primitive_sequences):
        try:
            if number in composed:
                for each in composed[number]:
                    _compose_one(s, each.schedule, each.id, each.target(s, names))
                continue
            run = unrecorded(s, name)
            call = moved(run, s, args, kwargs, inner.top_func_name, lambda f: renamed(f, names))
            run(*call.args, **call.kwargs)
        except AlloError as error:
            error.notes = (
                *error.notes,
                f"while composing {name} of {inner.top_func_name} on {target}.",
            )
            raise


@dataclass(frozen=True, slots=True)
class _Composed:
    """A schedule and the id of the instance that it is for."""

    schedule: ScheduleState
    id: str | None

    def candidates(self) -> list[str]:
        """What its function may be called where the schedule is replayed, best first."""
        top = self.schedule.top_func_name
        named = list(dict.fromkeys([_origin(self.schedule, top), top]))
        if self.id is None:
            return [top, *(f"{n}_0" for n in named)]
        return [f"{top}_{self.id}", *(f"{n}_{self.id}" for n in named), *(f"{n}_0" for n in named)]

    def target(self, s: ScheduleState, names: Mapping[str, str]) -> str:
        """The function of ``s`` that the schedule is for.

        Args:
            names: what functions of the schedule that is replayed are called in ``s``.

        Raises:
            UnknownHandleError: there is none.
        """
        functions = functions_of(s.module)
        callees = [n for n in functions if n != s.top_func_name]
        for candidate in self.candidates():
            if (mine := renamed(candidate, names)) in callees:
                return mine
        wanted = self.candidates()[0]
        if self.id is None and wanted == s.top_func_name:
            return wanted
        raise _not_called(s, wanted)


def _composed_calls(inner: ScheduleState) -> dict[int, list[_Composed]]:
    """What was composed on ``inner``, by position among its primitives."""
    found: dict[int, list[_Composed]] = {}
    for number, (name, args, kwargs) in enumerate(inner.primitive_sequences):
        if name == "compose":
            given = inspect.signature(compose).bind(inner, *args, **kwargs)
            given.apply_defaults()
            found[number] = _schedules(inner, **dict(list(given.arguments.items())[1:]))
    return found


def _schedules(
    s: ScheduleState, schs: Any, id: str | None, instantiate: Sequence[Any] | None
) -> list[_Composed]:
    items = schs if isinstance(schs, (list, tuple)) else [schs]
    return [_Composed(_as_schedule(s, item, id, instantiate), id) for item in items]


def _origin(inner: ScheduleState, top: str) -> str:
    info = inner.kernel.functions.get(top)
    return top if info is None else info.origin


def _check_signature(inner: ScheduleState, function: ir.Operation, target: str) -> None:
    mine = _plain_types(inner.original_signature)
    declared = tuple(_plain(argument.kind) for argument in declared_arguments(function))
    theirs = declared, _plain_types(function_type(function))[1]
    if mine == theirs:
        return
    raise ScheduleError(
        f"compose: the schedule is of {inner.top_func_name}{_shown(mine)}, but {target} here is "
        f"{target}{_shown(theirs)}.",
        place_of(function),
        notes=(differences.COMPOSE,),
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


def _own_state(s: ScheduleState, function: ir.Operation, id: str | None) -> None:
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
