"""Instances of kernels that use the function of another one: a function of its own where one is named.

A kernel with many instances has one function for those that differ in constants alone. A primitive
that names the function means all of them. One that names another instance means that one, so the
instance gets a copy of the function as it is then; what the function had already is not done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute, walk
from allo.dialects.core.signature import callee_of, functions_of

from .handles import LoopWrapper, MockBuffer
from .state import ScheduleState

INSTANCE = "instance"


def call_of_instance(module: ir.Module, name: str) -> ir.Operation | None:
    """The call that is an instance without a function of its own."""
    for function in functions_of(module).values():
        if "region" in function.attributes:
            for op in walk(function):
                if op.name == "func.call" and string_attribute(op, INSTANCE) == name:
                    return op
    return None


def shared_instances(
    s: ScheduleState, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, str]:
    """The instances among the functions that arguments name, each with the function that it uses."""
    functions = functions_of(s.module)
    named = {name for name in _named([*args, *kwargs.values()]) if name not in functions}
    calls = {name: call_of_instance(s.module, name) for name in sorted(named)}
    return {name: callee_of(call) for name, call in calls.items() if call is not None}


def is_done(
    s: ScheduleState,
    primitive: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    shared: Mapping[str, str],
) -> bool:
    """Whether the function of the named instances has had the same primitive with the same arguments."""
    wanted = _plain([list(args), dict(kwargs)], shared)
    return any(
        name == primitive and _plain([old, keywords], {}) == wanted
        for name, old, keywords in s.primitive_sequences
    )


def own_function(s: ScheduleState, name: str) -> None:
    """Give an instance a copy of the function that it uses."""
    call = call_of_instance(s.module, name)
    if call is None:
        return
    copy_function(s, callee_of(call), name)
    call.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
    del call.attributes[INSTANCE]


def copy_function(s: ScheduleState, func: str, name: str) -> None:
    """Copy a function under another name, with what the schedule knows of it."""
    function = functions_of(s.module)[func]
    with ir.InsertionPoint(function):
        made = function.clone()
    made.attributes["sym_name"] = ir.StringAttr.get(name)
    known = s.kernel.functions.get(func)
    if known is not None:
        s.kernel.functions = {name: replace(known, name=name), **s.kernel.functions}
    for array, applied in list(s.partitioned_arrays.items()):
        owner, _, rest = array.partition(":")
        if owner == func:
            s.partitioned_arrays[f"{name}:{rest}"] = list(applied)


def _named(values: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for value in values:
        if isinstance(value, (LoopWrapper, MockBuffer)):
            found.add(value.func)
        elif isinstance(value, str):
            found.add(value.partition(":")[0])
        elif isinstance(value, (list, tuple)):
            found |= _named(value)
    return found


def _plain(value: Any, names: Mapping[str, str]) -> Any:
    """An argument as text, with functions by other names."""
    if isinstance(value, LoopWrapper):
        return f"{names.get(value.func, value.func)}:{value.band}.{value.loop_name}"
    if isinstance(value, MockBuffer):
        return f"{names.get(value.func, value.func)}:{value.name}"
    if isinstance(value, str):
        owner, colon, rest = value.partition(":")
        return f"{names.get(owner, owner)}{colon}{rest}"
    if isinstance(value, (list, tuple)):
        return [_plain(part, names) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part, names) for key, part in value.items()}
    return value
