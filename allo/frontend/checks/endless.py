"""Loops without an end: whose process a region does not wait for, and where there can be none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from allo.dialects.diagnostics import DataflowError, SourcePlace, UnsupportedSyntaxError
from allo.frontend.tree import Call, Function, StreamRef, Var

from .strides import calls


def settle_endless(top: Function, functions: Mapping[str, Function]) -> None:
    """Mark the functions that never return: those with such a loop, and those that call one.

    Raises:
        UnsupportedSyntaxError: the top function is one of them.
        DataflowError: no process of a region ends, or one without an end changes what outlives the run.
    """
    _settle(top, functions, set())
    if top.endless is not None and "region" not in top.attributes:
        raise UnsupportedSyntaxError(
            "This loop never ends.",
            top.endless,
            help="give it a condition or a break; a kernel of a region may have none, and runs until the "
            "others have ended.",
        )


def _settle(function: Function, functions: Mapping[str, Function], seen: set[str]) -> None:
    if function.name in seen:
        return
    seen.add(function.name)
    called = list(calls(function.body))
    inner = [(call, functions[call.callee]) for call in called if call.callee in functions]
    for _, callee in inner:
        _settle(callee, functions, seen)
    endless = [(call, callee) for call, callee in inner if callee.endless is not None]
    if "region" in function.attributes:
        if endless and len(endless) == len(called):  # a C++ function ends
            if not any(isinstance(parameter, StreamRef) for parameter in function.params):
                raise _no_end(function, [callee for _, callee in inner])
            function.endless = endless[0][1].endless
            function.attributes["endless"] = True
        for call, callee in endless:
            _refuse_what_stays(call, callee, functions)
        return
    if function.endless is None and endless:
        function.endless = endless[0][1].endless
    if function.endless is not None:
        function.attributes["endless"] = True


def _no_end(region: Function, processes: list[Function]) -> DataflowError:
    one = len(processes) == 1
    return DataflowError(
        f"No process of the region {region.name} ends, so a call of it never would.",
        region.place,
        help="end one of them, by a loop of so many turns or a break: the region ends with it. A region with "
        "streams as arguments may run for ever.",
        notes=tuple(
            (
                f"{'the loop' if one else f'a loop of {process.name}'} that never ends",
                process.endless,
            )
            for process in processes
            if process.endless is not None
        ),
    )


def _refuse_what_stays(call: Call, process: Function, functions: Mapping[str, Function]) -> None:
    """Such a process is stopped in the middle: what it has written by then differs between targets."""
    for parameter, argument in zip(process.params, call.args, strict=True):
        if parameter in process.written and isinstance(parameter, Var):
            name = argument.name if isinstance(argument, Var) else parameter.name
            raise _stays(call, process, f"writes the array {name}")
    for name in _reached(process, functions):
        for var in functions[name].globals:
            if var.kind == "stateful":
                raise _stays(call, process, f"keeps the stateful variable {var.name}")


def _stays(call: Call, process: Function, what: str) -> DataflowError:
    notes: tuple[tuple[str, SourcePlace], ...] = ()
    if process.endless is not None:
        notes = (("the loop that never ends", process.endless),)
    return DataflowError(
        f"The process {process.name} never ends and {what}: it is stopped when the others have ended, and "
        "how far it is then is not defined.",
        call.place,
        help="put the values into a stream to a process that ends; a local variable declared before the loop "
        "keeps its value from turn to turn.",
        notes=notes,
    )


def _reached(process: Function, functions: Mapping[str, Function]) -> Iterator[str]:
    """The names of a function and of all that it calls."""
    seen, left = {process.name}, [process]
    while left:
        function = left.pop()
        yield function.name
        fresh = {call.callee for call in calls(function.body)} - seen
        seen |= fresh
        left += [functions[name] for name in fresh]


__all__ = ["settle_endless"]
