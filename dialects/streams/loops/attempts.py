"""Loops around pipelines that nobody marked ``dataflow``, and that a target may try as if they were.

A loop with the attribute ``overlap`` (its number in its function) is such an attempt: where the mark
would have no effect, :mod:`..task_regions` leaves it as it is and says nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..._mlir import ir
from ...affine.loops import (
    body_operations,
    is_affine_loop,
    is_loop,
    spec_of,
    string_attribute,
    walk,
)
from ...core.locations import place_of
from ...core.signature import callee_of, functions_of, symbol
from ...diagnostics import SourcePlace

OVERLAP = "overlap"
_OWN = ("dataflow", "pipeline_ii", "unroll")


class NothingTried(Exception):
    """None of the loops that are tried can run its pipelines at once: the program is as it is without."""


@dataclass(frozen=True, slots=True)
class LoopToTry:
    """A loop with two pipelines or more in its body.

    Attributes:
        function, number: where it is: the function, and which of its loops it is.
        name: of its iterator.
        trips: its iterations.
        pipelines: how many loops and calls in its body hold pipelines.
    """

    function: str
    number: int
    name: str
    place: SourcePlace | None
    trips: int
    pipelines: int


def loops_to_try(module: ir.Module) -> list[LoopToTry]:
    """The loops of a module around two pipelines or more, whose bounds are constants.

    Of loops inside each other they are the inner ones, so that each can be judged by itself.
    """
    functions = functions_of(module.operation)
    piped: dict[str, bool] = {}
    found: dict[LoopToTry, ir.Operation] = {}
    for name, function in functions.items():
        if "dataflow" in function.attributes:
            continue
        for number, loop in enumerate(_loops(function)):
            if not _may_overlap(loop):
                continue
            parts = [op for op in body_operations(loop) if _holds_pipeline(op, functions, piped)]
            if len(parts) > 1:
                iterator = string_attribute(loop, "loop_name") or "?"
                trips = spec_of(loop).trip_count() or 0
                made = LoopToTry(name, number, iterator, place_of(loop), trips, len(parts))
                found[made] = loop
    outer = [made for made, loop in found.items() if _holds_any(loop, functions, found)]
    return [made for made in found if made not in outer]


def with_attempts(module: ir.Module, tried: Collection[LoopToTry]) -> ir.Module:
    """A copy of the module in which some of its loops are marked as attempts."""
    with module.context, module.operation.location:
        copy = ir.Module.create()
        for name in module.operation.attributes:
            copy.operation.attributes[name] = module.operation.attributes[name]
        point = ir.InsertionPoint(copy.body)
        for op in module.body.operations:
            op.operation.clone(point)
        kind = ir.IntegerType.get_signless(32)
        for name, function in functions_of(copy.operation).items():
            numbers = {loop.number for loop in tried if loop.function == name}
            for number, loop in enumerate(_loops(function) if numbers else ()):
                if number in numbers:
                    loop.attributes[OVERLAP] = ir.IntegerAttr.get(kind, number)
    return copy


def _loops(function: ir.Operation) -> list[ir.Operation]:
    return [op for op in walk(function) if is_loop(op)]


def _may_overlap(loop: ir.Operation) -> bool:
    """Whether a loop has constant bounds and no mark of its own, and none around it makes copies of it."""
    if not is_affine_loop(loop) or any(mark in loop.attributes for mark in _OWN):
        return False
    around = loop.parent.operation
    while around.name != "func.func":
        if is_loop(around) and any(mark in around.attributes for mark in _OWN[1:]):
            return False
        around = around.parent.operation
    return (spec_of(loop).trip_count() or 0) > 1


def _holds_any(
    loop: ir.Operation, functions: dict[str, ir.Operation], found: dict[LoopToTry, ir.Operation]
) -> bool:
    """Whether one of these loops is inside another one, or in what that calls."""
    waiting, seen = [loop], set()
    loops = set(found.values())
    holders = {made.function for made in found}
    while waiting:
        for inner in walk(waiting.pop()):
            if inner in loops:
                return True
            callee = callee_of(inner) if inner.name == "func.call" else ""
            if callee in functions and callee not in seen:
                seen.add(callee)
                if callee in holders:
                    return True
                waiting.append(functions[callee])
    return False


def _holds_pipeline(
    op: ir.Operation, functions: dict[str, ir.Operation], known: dict[str, bool]
) -> bool:
    """Whether an operation is or holds a pipelined loop, or calls a function that does."""
    if "unroll" in op.attributes:
        return False
    for inner in (op, *walk(op)):
        if is_loop(inner) and "pipeline_ii" in inner.attributes:
            return True
        if inner.name == "func.call" and callee_of(inner) in functions:
            callee = functions[callee_of(inner)]
            if symbol(callee) not in known:
                known[symbol(callee)] = False
                known[symbol(callee)] = _holds_pipeline(callee, functions, known)
            if known[symbol(callee)]:
                return True
    return False


__all__ = ["OVERLAP", "LoopToTry", "NothingTried", "loops_to_try", "with_attempts"]
