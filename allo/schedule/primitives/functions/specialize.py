"""``specialize``: one function for each call."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import HandleTypeError, ScheduleError
from allo.dialects.text.free_name import free_name
from allo.schedule.handles import FunctionName
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_function
from allo.schedule.shared import copy_function
from allo.schedule.state import ScheduleState


@primitive
def specialize(s: ScheduleState, func: FunctionName) -> list[str]:
    """Give every call of a function a function of its own, so that each can have another schedule.

    ::

        s.specialize("product")

        product(A, B, AB)                      product(A, B, AB)
        product(AB, C, D)          ──▶         product_1(AB, C, D)

    The first call keeps the function, the others get copies of it as it is now. Loops and arrays of a copy
    are those of the function: ``"product_1:i"``. Functions that it calls stay shared.

    Returns:
        The functions, one a call, in the order of the calls.

    Raises:
        UnknownHandleError: there is no such function.
        ScheduleError: it is called once at most, keeps a state between calls, or is called by processes.
    """
    if not isinstance(func, str):
        raise HandleTypeError(
            f"specialize: Function name must be a string, got {func!r}.",
            help="name the function that is called several times.",
        )
    function = find_function(s.module, func)
    calls = [op for op in walk(s.module.operation) if _calls(op, func)]
    if len(calls) < 2:
        times = "once" if calls else "nowhere"
        raise ScheduleError(
            f"specialize: {func} is called {times}, so that it needs no copy.",
            place_of(calls[0] if calls else function),
            help="a function that is called several times gets one copy a call.",
        )
    _check(s, func, function, calls)
    names = [func]
    for call in calls[1:]:
        name = free_name(func, functions_of(s.module))
        copy_function(s, func, name)
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
        names.append(name)
    return names


def _calls(op: ir.Operation, name: str) -> bool:
    return bool(op.name == "func.call" and callee_of(op) == name)


def _check(s: ScheduleState, func: str, function: ir.Operation, calls: list[ir.Operation]) -> None:
    """Refuse functions whose copies would not be the function."""
    for symbol, (owner, variable) in s.kernel.stateful.items():
        if owner == func and symbol in str(function):
            raise ScheduleError(
                f"specialize: {func} keeps {variable} between its calls, which copies could not share.",
                place_of(function),
                help="leave it one function.",
            )
    for call in calls:
        if any("region" in op.attributes for op in _around(call)):
            raise ScheduleError(
                f"specialize: {func} is called by processes of a region.",
                place_of(call),
                help="give the processes ids, which make them instances: f[..., 'first'](…).",
            )


def _around(op: ir.Operation) -> list[ir.Operation]:
    found = []
    parent = op.parent
    while parent is not None:
        found.append(parent.operation)
        parent = parent.operation.parent
    return found
