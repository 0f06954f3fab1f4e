"""``bind``: what operations are made of in hardware."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.bindings import IMPLEMENTATIONS, OPERATIONS
from allo.dialects.bindings import bind as bind_operation
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of, has_body
from allo.dialects.diagnostics import ScheduleError, SourcePlace
from allo.dialects.text.near import did_you_mean
from allo.schedule.handles import Axis, FunctionName
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_function, find_loop
from allo.schedule.state import ScheduleState

_NAMES = {
    "fadd": "addition or subtraction of floats",
    "fmul": "multiplication of floats",
    "mul": "multiplication of integers",
    "frem": "remainder of floats",
}


@primitive
def bind(
    s: ScheduleState,
    op: Literal["fadd", "fmul", "mul", "frem"],
    impl: Literal["dsp", "fabric", "packed", "iterated", "pipelined"],
    axis: Axis | None = None,
    func: FunctionName | None = None,
) -> None:
    """Say what the operations of a kind are made of: multiplier blocks, lookup tables, how many units.

    ::

        s.bind("mul", "fabric", axis="j")   ──▶   arith.muli %a, %b {bind = "fabric"}

    It is about the operations that are there now: those in the loop ``axis`` itself, or those of the
    function ``func``, by default the top one, and of all functions that it calls. A later call replaces
    an earlier one. The results stay as they are, bit for bit, on every target.

    Args:
        op: ``"fadd"`` (additions and subtractions of floats), ``"fmul"``, ``"mul"`` of integers, or
            ``"frem"`` (``%`` of floats).
        impl: ``"dsp"``, ``"fabric"``, or ``"packed"`` for ``"mul"``: several products of few bits in one
            multiplier block, where they share factors. For ``"frem"`` ``"iterated"``, which works on one pair
            of operands for many cycles, or ``"pipelined"``, which takes the next pair in every cycle.

    Raises:
        ScheduleError: an unknown kind or implementation, a loop of another function, or nothing to bind.
    """
    _check(op, impl)
    place: SourcePlace | None
    if axis is not None:
        loop = find_loop(s.module, s.top_func_name, axis, "bind")
        roots, what, place = [loop.op], f"loop {loop.name}", place_of(loop.op)
        if func is not None and func != loop.func:
            raise ScheduleError(
                f"bind: loop {loop.name} is one of function {loop.func}, not of {func}.",
                place,
                help='name the loop as "function:loop" with axis= alone.',
            )
    else:
        name = func or s.top_func_name
        find_function(s.module, name)
        roots = list(_called(s.module, name))
        what, place = f"function {name}", place_of(roots[0])
    found = [inner for root in roots for inner in walk(root) if inner.name in OPERATIONS[op]]
    if not found:
        raise ScheduleError(
            f"bind {op}: there is no {_NAMES[op]} in {what}.",
            place,
            help="subscripts are not bound; name the loop or the function that holds the operation.",
        )
    for inner in found:
        bind_operation(inner, impl)


def _check(op: str, impl: str) -> None:
    if op not in OPERATIONS:
        hint = did_you_mean(op, OPERATIONS) if isinstance(op, str) else ""
        raise ScheduleError(
            f"bind: there is no kind of operation {op!r}.",
            help=f"{hint}it is one of {', '.join(OPERATIONS)}.",
        )
    known = IMPLEMENTATIONS[op]
    if impl not in known:
        raise ScheduleError(
            f"bind {op}: there is no implementation {impl!r}.",
            help=f"it is one of {', '.join(known)}.",
        )


def _called(module: ir.Module, name: str) -> Iterator[ir.Operation]:
    """A function and all that it calls, each once."""
    functions, seen, stack = functions_of(module), {name}, [name]
    while stack:
        function = functions[stack.pop()]
        yield function
        if not has_body(function):
            continue
        for op in walk(function):
            if op.name != "func.call":
                continue
            callee = callee_of(op)
            if callee in functions and callee not in seen:
                seen.add(callee)
                stack.append(callee)
