"""Functions that a composed function calls: which they are here, and copies of their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.text.free_name import free_name

from ..parameters import moved
from ..primitive import unrecorded
from ..state import ScheduleState


def match_callees(
    s: ScheduleState, inner: ScheduleState, target: str, label: str, also: Collection[str] = ()
) -> dict[str, str]:
    """What the functions of ``inner`` are called in ``s``, where ``target`` is its top.

    Functions that recorded primitives name (or ``also`` does) and that others call as well become
    copies first, ``<name>_<label>``: the schedule is of this instance only.
    """
    named = (_named(inner) | {*also}) - {inner.top_func_name}
    names = _pair(s.module, inner, target)
    wanted = {names[n] for n in named if n in names}
    if not wanted:
        return names
    _own(s.module, target, wanted, label)
    return _pair(s.module, inner, target)


def renamed(name: str, names: Mapping[str, str]) -> str:
    """What a function is called here; ``kernel_0_1`` is what ``unfold`` made of ``kernel``."""
    if name in names:
        return names[name]
    base = re.sub(r"(_\d+)+$", "", name)
    return names[base] + name[len(base) :] if base in names else name


def _named(inner: ScheduleState) -> set[str]:
    """Functions named by handles of recorded primitives."""
    found: set[str] = set()

    def note(name: str) -> str:
        found.add(name)
        return name

    for name, args, kwargs in inner.primitive_sequences:
        moved(unrecorded(inner, name), inner, args, kwargs, inner.top_func_name, note)
    return found & set(inner.kernel.functions)


def _pair(module: ir.Module, inner: ScheduleState, target: str) -> dict[str, str]:
    """Names by the order of first calls, which is the same on both sides before any is unfolded."""
    functions = functions_of(module)
    names: dict[str, str] = {}
    waiting = [(inner.top_func_name, target)]
    while waiting:
        theirs, mine = waiting.pop()
        if theirs in names:
            continue
        names[theirs] = mine
        info = inner.kernel.functions.get(theirs)
        calls = _calls(functions[mine]) if mine in functions else []
        if info is not None and len(info.calls) == len(calls):
            waiting += zip(info.calls, calls, strict=True)
    return names


def _calls(function: ir.Operation) -> list[str]:
    return list(dict.fromkeys(callee_of(op) for op in walk(function) if op.name == "func.call"))


def _own(module: ir.Module, target: str, wanted: set[str], label: str) -> None:
    functions = functions_of(module)
    calls = {name: _calls(function) for name, function in functions.items()}
    tree = _reached(calls, [target])
    shared = {c for name in calls if name not in tree for c in calls[name]} & tree - {target}
    shared = _reached(calls, shared) - {target}
    if not shared & wanted:
        return
    copies: dict[str, str] = {}
    for name in [n for n in functions if n in shared]:
        copy = functions[name].clone(ir.InsertionPoint(functions[name])).operation
        copies[name] = free_name(f"{name}_{label}", functions_of(module), first=2)
        copy.attributes["sym_name"] = ir.StringAttr.get(copies[name])
    changed = [*(tree - shared), *copies.values()]
    functions = functions_of(module)
    for name in changed:
        for op in [o for o in walk(functions[name]) if o.name == "func.call"]:
            if callee_of(op) in copies:
                op.attributes["callee"] = ir.FlatSymbolRefAttr.get(copies[callee_of(op)])


def _reached(calls: dict[str, list[str]], names: Any) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name in calls:
            found.add(name)
            waiting += calls[name]
    return found
