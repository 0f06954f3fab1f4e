"""Functions marked ``dataflow`` become dataflow regions: their tasks run at once where they may.

Assumes core IR without regions of FIFO arrays left to make (:mod:`..passes.stream_regions` comes before). The
nests, calls and other parts of such a function become functions called by a region. An array that one
writes and a later one reads, each element once and in one order, becomes an ``allo.stream``. A part
that shares anything else with an earlier one starts when that is over: attribute ``after`` of its call
lists the calls of the region, by position, that are. Leaves functions with attributes ``region`` and
``notes``, and a warning where nothing runs at once.
"""

from __future__ import annotations

import warnings

from .._mlir import ir
from ..affine.loops import is_loop, string_attribute, walk
from ..checked import module_pass
from ..core.locations import place_of
from ..core.signature import callee_of, functions_of, signature_of, symbol
from ..diagnostics import DataflowWarning
from ..passes.fold_views import fold_views
from .concurrency import Concurrency, find_concurrency
from .out_arrays import declare_results
from .outline import Outliner, drop_unused
from .rewrite import StreamRewriter
from .tasks import forward_scalars, tasks_of

NOTES = "notes"
AFTER = "after"


@module_pass
def make_task_regions(module: ir.Module, *, checked: bool = False) -> None:
    """Make every function marked ``dataflow`` a region, in place.

    Args:
        checked: whether the build checks subscripts or dependences while it runs; then the order of
            the program is kept, so that the first error is the program's first.
    """
    for function in functions_of(module.operation).values():
        for op in walk(function):
            if is_loop(op) and "dataflow" in op.attributes:
                name = string_attribute(op, "loop_name") or "?"
                _warn(op, f"loop {name}", "hardware overlaps the tasks of functions, not of loops")
    names = [n for n, f in functions_of(module.operation).items() if _is_asked(f)]
    if not names:
        return
    with module.context, ir.Location.unknown():
        fold_views(module)
        inlined = _inlined(module)
        for name in names:
            function = functions_of(module.operation)[name]
            if checked:
                _warn(
                    function,
                    symbol(function),
                    "the build has checks, which need the order of the program",
                )
            elif name in inlined:
                _warn(
                    function,
                    symbol(function),
                    "it is called in a pipelined or unrolled loop, and is copied there",
                )
            else:
                _make_tasks(module, function)


def _is_asked(function: ir.Operation) -> bool:
    attributes = function.attributes
    return (
        "dataflow" in attributes
        and "region" not in attributes
        and bool(len(function.regions[0].blocks))
    )


def _inlined(module: ir.Module) -> set[str]:
    """Functions that hardware copies to where they are called."""
    found: set[str] = set()
    functions = functions_of(module.operation)
    more = True
    while more:
        before = len(found)
        for name, function in functions.items():
            for op in walk(function):
                if op.name == "func.call" and (name in found or _is_unrolled(op)):
                    found.add(callee_of(op))
        more = len(found) > before
    return found


def _is_unrolled(op: ir.Operation) -> bool:
    """Whether a loop around an operation is pipelined or unrolled."""
    around = op.parent.operation
    while around.name != "func.func":
        marks = around.attributes
        if is_loop(around) and ("pipeline_ii" in marks or "unroll" in marks):
            return True
        around = around.parent.operation
    return False


def _make_tasks(module: ir.Module, function: ir.Operation) -> None:
    if _has_streams(function):
        _warn(function, symbol(function), "it uses streams, whose order is the program's")
        return
    forward_scalars(function)
    declare_results(module.operation, function)
    tasks = tasks_of(module.operation, function)
    if len(tasks.section.processes) < 2:
        names = ", ".join(dict.fromkeys(n for n in tasks.joined if n))
        why = f"its parts hand each other {names}" if names else "it has fewer than two parts"
        _warn(function, symbol(function), why, "pass what they share through arrays.")
        return
    found = find_concurrency(module.operation, function, tasks.section)
    if not found.overlaps:
        _warn(
            function,
            symbol(function),
            "each of its parts waits for the one before",
            notes=found.notes,
        )
        return
    _make_region(module, found)


def _has_streams(function: ir.Operation) -> bool:
    if any("stream" in kind for kind in signature_of(function).declared):
        return True
    return any(op.name in ("allo.stream", "allo.get", "allo.put") for op in walk(function))


def _make_region(module: ir.Module, found: Concurrency) -> None:
    network = found.network
    outliner = Outliner(module, network.function)
    calls = [outliner.process(process) for process in network.processes]
    names = [callee_of(made) for made in calls]
    region = outliner.region(calls, network.section.outside)
    rewriter = StreamRewriter(module, region, network.arrays)
    for made in calls:
        rewriter.process(made)
    drop_unused(region)
    region.attributes[NOTES] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in found.notes])
    made = {callee_of(op): op for op in walk(region) if op.name == "func.call"}
    positions = {name: position for position, name in enumerate(made)}
    for number, earlier in network.after.items():
        places = sorted(positions[names[n]] for n in earlier)
        made[names[number]].attributes[AFTER] = ir.DenseI32ArrayAttr.get(places)


def _warn(
    marked: ir.Operation, name: str, why: str, help: str = "", *, notes: list[str] | None = None
) -> None:
    place = place_of(marked)
    where = f"{place}: " if place else ""
    lines = [f"{where}The parts of {name} run one after the other: {why}."]
    lines += [f"note: {note}" for note in notes or ()]
    if help:
        lines.append(f"help: {help}")
    warnings.warn("\n".join(lines), DataflowWarning, stacklevel=2)


__all__ = ["AFTER", "NOTES", "make_task_regions"]
