"""``fuse``: modules that follow each other as one function, and their nests as one where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import parent_of, root_of, string_attribute, walk
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, function_around, functions_of
from allo.dialects.diagnostics import HandleTypeError, ScheduleError, UnknownHandleError
from allo.dialects.text.shown import shown
from allo.schedule.bands import Band, bands_of

from ...places import place_of_caller
from ..beside import path_beside, unknown_beside
from ..paths import Match
from ..state import ModelState
from .merge import merge_calls
from .nests import Joined, join_nests
from .outline import outline


def fuse_behind(s: ModelState, source: Match, names: Sequence[str]) -> None:
    """Fuse modules, or nests beside a module, behind it; see ``ModuleSchedule.fuse``.

    Raises:
        HandleTypeError: a name is no text.
        UnknownHandleError: there is no such module or nest.
        ScheduleError: the two do not follow each other, or something else needs the result between.
    """
    for name in names:
        if not isinstance(name, str):
            raise HandleTypeError(
                f"fuse takes paths of modules and names of nests, not {shown(name)}.",
                place_of_caller(),
                help='write s["mlp.0"].fuse("1"), or s["attn"].fuse("add") for a nest beside it.',
            )
        first = _only_call(s, source)
        caller = function_around(first)
        path = path_beside(s, source, name)
        if path is None:
            band = next((b for b in bands_of(caller) if b.name == name and not b.hidden), None)
            if band is None:
                raise _unknown(s, source, name, caller)
            _check_reader(s, first, band.root, source.path, f"nest {name!r}")
            second, what = outline(s, caller, band), f"nest {name}"
        else:
            second = _call_behind(s, first, source.path, path)
            _check_reader(s, first, second, source.path, f"module {path!r}")
            what = path
        function = callee_of(first)
        joined = _merged(s, first, second, path)
        _note(s, source.path, path, what, function, joined)


def fuse_nests(s: ModelState, functions: Sequence[str], pattern: str) -> None:
    """Join the nests within each function.

    Raises:
        ScheduleError: none of them can be joined with another.
    """
    found = {name: join_nests(s, functions_of(s.module)[name]) for name in functions}
    if not any(joined.done for joined in found.values()):
        reasons = [text for joined in found.values() for text in joined.apart]
        why = f": {reasons[0]}" if reasons else ", which hand no array of their own on"
        raise ScheduleError(
            f"No nest of {pattern!r} can be fused with another{why}.",
            place_of_caller(),
            notes=tuple(reasons[1:4]),
            help='name a module that follows, as in fuse("act"), or reorder the nests\' loops.',
        )
    for name, joined in found.items():
        for text in [*joined.done, *(joined.apart if joined.done else [])]:
            s.note(s.module_paths[name], text)


# --- which calls ------------------------------------------------------------------------------------


def _only_call(s: ModelState, source: Match) -> ir.Operation:
    """The call of a module's function."""
    names = s.functions[source.path]
    calls = _calls(s, names)
    if source.path and len(names) == len(calls) == 1 and names[0] not in s.numbered:
        return calls[0]
    if not source.path:
        what = "it is the model itself"
    elif names[0] in s.numbered:
        what = f"its function {names[0]} is shared by several modules"
    else:
        what = f"it is called {len(calls)} times"
    raise ScheduleError(
        f"No module can be fused behind {source.path or '(model)'!r}: {what}.",
        place_of_caller(),
        help="fuse modules first, and share them then." if source.path else None,
    )


def _calls(s: ModelState, names: Sequence[str]) -> list[ir.Operation]:
    return [
        op
        for function in functions_of(s.module).values()
        for op in walk(function)
        if op.name == "func.call" and callee_of(op) in names
    ]


def _call_behind(s: ModelState, first: ir.Operation, path: str, other: str) -> ir.Operation:
    """The call of the other module in the same function that takes the result."""
    names = s.functions[other]
    if any(name in s.numbered for name in names):
        raise ScheduleError(
            f"Module {other!r} cannot be fused behind {path!r}: its function {names[0]} is shared by "
            "several modules.",
            place_of_caller(),
            help="fuse modules first, and share them then.",
        )
    readers = [use.owner.operation for use in first.results[0].uses]
    for call in _calls(s, names):
        if call in readers:
            return call
    found = list(dict.fromkeys(_described(s, op) for op in readers)) or ["nothing"]
    raise ScheduleError(
        f"Module {other!r} cannot be fused behind {path!r}: it does not read its result, which "
        f"{' and '.join(found)} read{'s' if len(found) == 1 else ''}.",
        place_of_caller(),
        help="fuse modules that are called side by side, one with the result of the other.",
    )


def _check_reader(
    s: ModelState, first: ir.Operation, second: ir.Operation, path: str, what: str
) -> None:
    """Nothing but the second needs the first's result, and nothing between them changes what it reads."""
    cannot = f"{what[0].upper()}{what[1:]} cannot be fused behind {path!r}"
    if first.block != second.block:
        raise ScheduleError(f"{cannot}: they do not stand in one block.", place_of(second))
    if len(first.results) != 1:
        raise ScheduleError(
            f"{cannot}: that module has {len(first.results)} results.", place_of(first)
        )
    readers = [use.owner.operation for use in first.results[0].uses]
    roots = [_root_in(op, second) for op in readers]
    if second not in roots:
        raise ScheduleError(
            f"{cannot}: it does not read its result.",
            place_of(second),
            help="fuse what takes the result of the module.",
        )
    others = [op for op, root in zip(readers, roots, strict=True) if root != second]
    if others:
        raise ScheduleError(
            f"{cannot}: {_described(s, others[0])} needs the result of {path!r} too.",
            place_of(others[0]),
            help="the array between them goes, so nothing else may read it.",
        )
    effects = EffectAnalysis(s.module.operation)
    needed = {effects.memory_of(v).key for v in first.operands if isinstance(v.type, ir.MemRefType)}
    order = [op.operation for op in first.block.operations]
    for root in order[order.index(first) + 1 : order.index(second)]:
        for op in (root, *walk(root)):
            if any(e.writes and e.memory.key in needed for e in effects.effects_of(op)):
                raise ScheduleError(
                    f"{cannot}: {_described(s, root)} between them writes an array that {path!r} reads.",
                    place_of(op),
                )


def _root_in(op: ir.Operation, beside: ir.Operation) -> ir.Operation:
    """The operation of a block that is or holds another; that itself where it stands elsewhere."""
    current = op
    while current.block != beside.block:
        parent = parent_of(current)
        if parent is None or parent.name == "func.func":
            return op
        current = parent
    return current


def _described(s: ModelState, op: ir.Operation) -> str:
    if op.name == "func.return":
        return "the end of the function, which returns it,"
    if op.name == "func.call":
        name = callee_of(op)
        path = s.module_paths.get(name)
        return f"module {path!r}" if path else f"function {name}"
    root = root_of(op)
    nest = string_attribute(root, "op_name")
    return f"nest {nest!r}" if nest else f"operation {root.name}"


def _unknown(s: ModelState, source: Match, name: str, caller: ir.Operation) -> UnknownHandleError:
    error = unknown_beside(s, source, name)
    nests: list[Band] = [band for band in bands_of(caller) if not band.hidden]
    if nests:
        error.notes = (
            *error.notes,
            f"nests beside {source.path!r}: {', '.join(band.name for band in nests)}",
        )
    return error


# --- one function -----------------------------------------------------------------------------------


def _merged(s: ModelState, first: ir.Operation, second: ir.Operation, path: str | None) -> Joined:
    """Merge two calls, and join the nests that come together. What nothing calls any more goes."""
    name, last = callee_of(first), callee_of(second)
    added = merge_calls(s, first, second)
    if path is not None and name not in s.functions[path]:
        s.functions[path].append(name)
    if not _calls(s, [last]):
        functions_of(s.module)[last].erase()
        s.kernel.functions.pop(last, None)
        s.weights_of.pop(last, None)
        s.module_paths.pop(last, None)
        for other, names in s.functions.items():
            if last in names:
                s.functions[other] = list(dict.fromkeys(name if f == last else f for f in names))
    known = s.kernel.functions
    for each, function in functions_of(s.module).items():
        called = dict.fromkeys(callee_of(op) for op in walk(function) if op.name == "func.call")
        if each in known:
            known[each] = replace(known[each], calls=list(called))
    return join_nests(s, functions_of(s.module)[name], added)


def _note(
    s: ModelState, path: str, other: str | None, what: str, function: str, joined: Joined
) -> None:
    details = "; ".join([*joined.done, *joined.apart])
    behind = f": {details}" if details else ""
    s.note(path, f"{what} is fused behind it in {function}{behind}")
    if other is not None:
        s.note(other, f"fused behind {path} in {function}")
