"""Functions and loops marked ``dataflow`` become regions: their tasks run at once where they may.

Assumes core IR in which :mod:`..passes.stream_regions` has made its regions. The nests, calls and other
parts of such a function become functions called by a region. An array that one writes and a later one
reads, each element once and in one order, becomes an ``allo.stream``. A part that shares anything else
with an earlier one starts when that is over: attribute ``after`` of its call lists the calls of the
region, by position, that are.

A marked loop becomes a region that holds the loop, and in it a call for each part. The parts run their
iterations in order, each as soon as it may: attribute ``needs`` of a call lists pairs of another call
and a distance d, and iteration n starts when iteration n - d of that one is over. An array with the
attribute ``copied`` has a copy for every other iteration. A loop that a target tries
(:mod:`.loops.attempts`) is one, too; its region keeps the attribute ``overlap``.

Leaves functions with attributes ``region`` and ``notes``, and a warning where nothing runs at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from .._mlir import ir
from ..affine.loops import (
    body_operations,
    is_affine_loop,
    is_loop,
    spec_of,
    string_attribute,
    walk,
)
from ..checked import module_pass
from ..core.fifos import MAKE, STREAM_OPS
from ..core.locations import place_of
from ..core.signature import callee_of, functions_of, signature_of, symbol
from ..diagnostics import DataflowWarning
from ..passes.fold_views import fold_views
from .concurrency import Concurrency, find_concurrency
from .loops.attempts import OVERLAP, NothingTried
from .loops.cells import LOADS, STORES, is_variable, make_cells, read_before, sink_settings
from .loops.iterations import Needs, find_needs, finish_time
from .out_arrays import declare_results
from .outline import Outliner, drop_unused
from .processes import Process
from .rewrite import StreamRewriter
from .tasks import Tasks, forward_scalars, tasks_of, variables_of
from .values import free_values, variable_name

COPIED = "copied"
NEEDS = "needs"
NOTES = "notes"
AFTER = "after"


@module_pass
def make_task_regions(
    module: ir.Module, *, checked: bool = False, quiet: bool = False
) -> list[str]:
    """Make every function and every loop marked ``dataflow`` a region, in place.

    Gives a sentence for each mark that changes nothing, with the reason.

    Args:
        checked: whether the build checks subscripts or dependences while it runs; then the order of
            the program is kept, so that the first error is the program's first.
        quiet: whether the warnings were given when the module was read before.

    Raises:
        NothingTried: there are loops that a target tries, and none of them became a region.
    """
    marked = functions_of(module.operation).values()
    if not any(_is_asked(f) or _marked_loops(f) for f in marked):
        return []
    told: list[str] = []
    tried = made = 0
    with module.context, ir.Location.unknown():
        fold_views(module)
        inlined = _inlined(module)
        functions = functions_of(module.operation)
        names = [name for name, function in functions.items() if _is_asked(function)]
        for name, function in functions.items():
            for loop in _marked_loops(function):
                attempt = OVERLAP in loop.attributes
                tried += attempt
                try:
                    _check(loop, name in inlined or _is_unrolled(loop), checked=checked)
                    _make_loop(module, function, loop)
                    made += attempt
                except _RefusedError as refused:
                    if not attempt:
                        told.append(refused.said(loop))
        if tried and not made:
            raise NothingTried
        for name in names:
            try:
                _check(functions[name], name in inlined, checked=checked)
                _make_tasks(module, functions[name])
            except _RefusedError as refused:
                told.append(refused.said(functions[name]))
    for text in told if not quiet else ():
        warnings.warn(text, DataflowWarning, stacklevel=2)
    return [text.replace("\n", " ") for text in told]


class _RefusedError(Exception):
    """The parts of a function or loop run one after the other.

    Attributes:
        why, help: the reason, and what to do, "" for nothing.
        notes: for pairs of parts which waits for which.
    """

    def __init__(self, why: str, help: str = "", notes: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.why, self.help, self.notes = why, help, notes

    def said(self, marked: ir.Operation) -> str:
        """What the user is told, who asked for more."""
        loop = string_attribute(marked, "loop_name") or "?"
        name = f"loop {loop}" if is_loop(marked) else symbol(marked)
        place = place_of(marked)
        where = f"{place}: " if place else ""
        lines = [f"{where}The parts of {name} run one after the other: {self.why}."]
        lines += [f"note: {note}" for note in self.notes]
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)


def _check(marked: ir.Operation, copied: bool, *, checked: bool) -> None:
    """Refuse a function or loop whose parts run one after the other whatever they do."""
    if checked:
        raise _RefusedError("the build has checks, which need the order of the program")
    if copied:
        what = "in" if is_loop(marked) else "called in"
        raise _RefusedError(f"it is {what} a pipelined or unrolled loop, and is copied there")
    streams = any(op.name in (MAKE, *STREAM_OPS) for op in walk(marked))
    if not is_loop(marked):
        streams = streams or any("stream" in kind for kind in signature_of(marked).declared)
    if streams:
        raise _RefusedError("it uses streams, whose order is the program's")


def _marked_loops(function: ir.Operation) -> list[ir.Operation]:
    """The loops marked ``dataflow``, inner ones first."""
    marks = ("dataflow", OVERLAP)
    loops = [op for op in walk(function) if is_loop(op)]
    return [loop for loop in loops if any(mark in loop.attributes for mark in marks)][::-1]


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
    forward_scalars(function)
    declare_results(module.operation, function)
    tasks = tasks_of(module.operation, function)
    _check_count(tasks)
    found = find_concurrency(module.operation, function, tasks.section)
    if not found.overlaps:
        raise _RefusedError("each of its parts waits for the one before", notes=found.notes)
    _make_region(module, found)


def _check_count(tasks: Tasks) -> None:
    """Refuse what has fewer than two tasks."""
    if len(tasks.section.processes) > 1:
        return
    names = ", ".join(dict.fromkeys(n for n in tasks.joined if n))
    if names:
        help = "pass what they share through arrays."
        raise _RefusedError(f"its parts hand each other {names}", help)
    raise _RefusedError("it has fewer than two parts")


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


def _make_loop(module: ir.Module, function: ir.Operation, loop: ir.Operation) -> None:
    trips = spec_of(loop).trip_count() if is_affine_loop(loop) else None
    if trips is None or trips < 2:
        why = (
            "it has fewer than two iterations"
            if trips is not None
            else "its bounds are not constant"
        )
        raise _RefusedError(why)
    forward_scalars(function)
    forward_scalars(loop)
    declare_results(module.operation, loop)
    read_before(loop)
    sink_settings(loop)
    tasks = tasks_of(module.operation, function, loop)
    _check_count(tasks)
    outer = _outer_variables(module, function, loop, tasks)
    if outer:
        why = f"it shares {outer} with what is around it"
        raise _RefusedError(why, "pass it through an array.")
    processes = tasks.section.processes
    make_cells(loop, processes)
    needs = find_needs(module.operation, loop, processes, few=OVERLAP in loop.attributes)
    if needs is None:
        raise _RefusedError("what its parts share is too much to count out")
    if finish_time([[1] * len(processes)] * trips, needs.distances) == trips * len(processes):
        notes = _iteration_notes(function, tasks, needs)
        raise _RefusedError("each iteration waits for the one before", notes=notes)
    _make_loop_region(module, function, loop, tasks, needs)


def _outer_variables(
    module: ir.Module, function: ir.Operation, loop: ir.Operation, tasks: Tasks
) -> str:
    """Names of scalar and of stateful variables that tasks share with code outside the loop."""
    names = sorted(
        _user_name(loop, name) for name in variables_of(loop, functions_of(module.operation))
    )
    inside = set(walk(loop))
    for process in tasks.section.processes:
        for value in free_values(process.ops):
            scalar = isinstance(value.type, ir.MemRefType) and not value.type.rank
            kept = scalar and value.owner.operation.name == "memref.get_global"
            if kept or not scalar or is_variable(value):
                continue
            if value.owner.operation not in inside:
                names.append(variable_name(function, value))
    return ", ".join(dict.fromkeys(names))


def _user_name(loop: ir.Operation, variable: str) -> str:
    """What the user calls a variable that keeps its value between calls."""
    for op in walk(loop):
        if op.name not in (*LOADS, *STORES):
            continue
        owner = op.operands[1 if op.name in STORES else 0].owner
        source = owner.operation if isinstance(owner, ir.OpView | ir.Operation) else None
        if source is None or source.name != "memref.get_global":
            continue
        if ir.FlatSymbolRefAttr(source.attributes["name"]).value == variable:
            return string_attribute(op, "to" if op.name in STORES else "from") or variable
    return variable


def _iteration_notes(function: ir.Operation, tasks: Tasks, needs: Needs) -> list[str]:
    """For each pair of tasks of which the first waits for the second's last iteration: why."""
    names = [p.name for p in tasks.section.processes]
    return [
        f"{names[second]} starts its next iteration when {names[first]} is over: both use "
        f"{variable_name(function, needs.causes[first, second])}."
        for (first, second), distance in needs.distances.items()
        if first > second and distance == 1
    ]


def _make_loop_region(
    module: ir.Module, function: ir.Operation, loop: ir.Operation, tasks: Tasks, needs: Needs
) -> None:
    notes = _iteration_notes(function, tasks, needs)
    for array in needs.doubled:
        number = ir.IntegerType.get_signless(32)
        array.owner.attributes[COPIED] = ir.IntegerAttr.get(number, needs.copies)
        copies = (
            "a copy for every other iteration"
            if needs.copies == 2
            else f"{needs.copies} copies, which iterations take in turn"
        )
        notes.append(f"{variable_name(function, array)} has {copies}.")
    outliner = Outliner(module, function)
    calls = [outliner.outline(process) for process in tasks.section.processes]
    drop_unused(loop)
    for op in [o.operation for o in body_operations(loop)]:
        if op.name == "memref.alloc":
            op.move_before(loop)
    for array in needs.doubled:
        array.owner.operation.move_before(loop)
    name = string_attribute(loop, "op_name") or string_attribute(loop, "loop_name") or "loop"
    made = outliner.outline(Process(name, [loop]))
    region = functions_of(module.operation)[callee_of(made)]
    for mark in ("region", "dataflow"):
        region.attributes[mark] = ir.UnitAttr.get()
    region.attributes[NOTES] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in notes])
    if OVERLAP in loop.attributes:
        region.attributes[OVERLAP] = loop.attributes[OVERLAP]
    for mark in ("dataflow", OVERLAP):
        if mark in loop.attributes:
            del loop.attributes[mark]
    for number, call in enumerate(calls):
        rows = [
            (first, distance)
            for (first, second), distance in needs.distances.items()
            if second == number
        ]
        numbers = [n for row in sorted(rows) for n in row]
        call.attributes[NEEDS] = ir.DenseI32ArrayAttr.get(numbers)


__all__ = ["AFTER", "COPIED", "NEEDS", "NOTES", "make_task_regions"]
