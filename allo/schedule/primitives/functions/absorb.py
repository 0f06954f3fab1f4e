"""``absorb``: the body of a function takes the place of its calls."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_loop, parent_of, string_attribute, walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, entry_of, has_body, symbol
from allo.dialects.diagnostics import HandleTypeError, ScheduleError
from allo.dialects.text.free_name import free_name
from allo.schedule.bands import bands_of
from allo.schedule.handles import FunctionName
from allo.schedule.primitive import primitive
from allo.schedule.resolve import buffers_of, find_function
from allo.schedule.state import ScheduleState

_PARTS = ("memref.subview", "memref.cast")
"""What makes a part of an array."""


@primitive
def absorb(s: ScheduleState, func: FunctionName) -> None:
    """Put the body of a function in place of each call of it.

    ::

        s.absorb("scale")

        def scale(B):                          def top(A, B):
            for i, j: B[i, j] *= 2                 add(A, B)
                                       ──▶         for i, j: B[i, j] *= 2
        def top(A, B):
            add(A, B)
            scale(B)

    Its nests can then be merged with those of the caller. Loops keep their names; a nest or an array whose
    name the caller has already gets a number. The function is gone.

    Raises:
        UnknownHandleError: there is no such function.
        ScheduleError: nothing calls it, it returns something, keeps a state, has parts that run at the same
            time, or takes an index or a part of an array.
    """
    if not isinstance(func, str):
        raise HandleTypeError(
            f"absorb: Function name must be a string, got {func!r}.",
            help="name the function whose calls are replaced.",
        )
    function = find_function(s.module, func)
    calls = [op for op in walk(s.module.operation) if _calls(op, func)]
    reason = _obstacle(s, func, function, calls)
    if reason:
        raise ScheduleError(
            f"absorb {func}: {reason}.",
            place_of(calls[0] if calls else function),
            help="a function can be absorbed that is called, takes whole arrays and numbers, and returns "
            "nothing.",
        )
    for call in calls:
        _replace(s, func, function, call)
    function.erase()
    s.kernel.functions = {name: known for name, known in s.kernel.functions.items() if name != func}
    for array in [name for name in s.partitioned_arrays if name.partition(":")[0] == func]:
        del s.partitioned_arrays[array]


def _calls(op: ir.Operation, name: str) -> bool:
    return bool(op.name == "func.call" and callee_of(op) == name)


def _obstacle(
    s: ScheduleState, func: str, function: ir.Operation, calls: list[ir.Operation]
) -> str:
    """Why the body cannot take the place of the calls, or ""."""
    if not calls or not has_body(function):
        return "no function of the design calls it" if not calls else "it has no body"
    if any(name in function.attributes for name in ("region", "dataflow")):
        return "its parts run at the same time"
    if len(calls[0].results):
        return "it returns something"
    if any(owner == func for owner, _ in s.kernel.stateful.values()):
        return "it keeps a state between its calls"
    for call in calls:
        if "region" in _function_around(call).attributes:
            return "processes of a region call it"
        for value in call.operands:
            if isinstance(value.type, ir.IndexType):
                return "it takes an index"
            if not isinstance(value, ir.BlockArgument) and value.owner.name in _PARTS:
                return "it takes a part of an array"
    return ""


def _function_around(op: ir.Operation) -> ir.Operation:
    while op.name != "func.func" and (parent := parent_of(op)) is not None:
        op = parent
    return op


def _replace(s: ScheduleState, func: str, function: ir.Operation, call: ir.Operation) -> None:
    """The body in place of one call, with arrays and nests by names of the caller."""
    caller = _function_around(call)
    buffers = buffers_of(caller)
    bands = {band.name for band in bands_of(caller)}
    with ir.InsertionPoint(function):
        copy = function.clone().operation
    for argument, value in zip(list(entry_of(copy).arguments), call.operands, strict=True):
        argument.replace_all_uses_with(value)
    moved = [op.operation for op in entry_of(copy).operations][:-1]
    for op in moved:
        op.move_before(call)
        if is_loop(op) and (band := string_attribute(op, "op_name")) is not None:
            name = free_name(band, bands)
            bands.add(name)
            op.attributes["op_name"] = ir.StringAttr.get(name)
    copy.erase()
    call.erase()
    for op in moved:
        for each in (op, *walk(op)):
            _name_result(s, each, buffers, f"{func}:", f"{symbol(caller)}:")
    names = {value: name for name, value in buffers.items()}
    for op in moved:
        for each in (op, *walk(op)):
            _name_access(each, names)


def _name_result(
    s: ScheduleState, op: ir.Operation, buffers: dict[str, ir.Value], old: str, new: str
) -> None:
    """A free name for an array that the body makes."""
    if op.name not in ("memref.alloc", "func.call") or len(op.results) != 1:
        return
    if (before := string_attribute(op, "name")) is None:
        return
    name = free_name(before, buffers)
    buffers[name] = op.results[0]
    op.attributes["name"] = ir.StringAttr.get(name)
    if f"{old}{before}" in s.partitioned_arrays:
        s.partitioned_arrays[f"{new}{name}"] = list(s.partitioned_arrays[f"{old}{before}"])


def _name_access(op: ir.Operation, names: dict[ir.Value, str]) -> None:
    """An access says the name that its array has in the caller."""
    for way, place in (("from", 0), ("to", 1)):
        if way not in op.attributes or place >= len(op.operands):
            continue
        if (name := names.get(op.operands[place])) is not None:
            op.attributes[way] = ir.StringAttr.get(name)


__all__ = ["absorb"]
