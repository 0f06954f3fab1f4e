"""Whether processes that run side by side leave each other's memory alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from .._mlir import ir
from ..affine.loops import walk
from ..core.alias import AliasClasses
from ..core.locations import place_of
from ..diagnostics import IllegalTransformError
from .network import MOST_STEPS, Element, Network, too_many
from .processes import Process
from .trace import Access, Trace
from .values import free_values, variable_name


def check_memories(network: Network) -> None:
    """No process writes an element of an array that another one touches.

    Raises:
        IllegalTransformError: one does, so the two cannot run side by side.
    """
    for process in network.processes:
        _check_values(network, process)
    shared = _shared(network)
    if not shared:
        return
    touched = [_touched(network, process, shared) for process in network.processes]
    for (a, first), (b, second) in combinations(enumerate(touched), 2):
        for array in set(first) & set(second):
            found = _conflict(first[array], second[array])
            if found is not None:
                value = next(v for v, n in shared.items() if n == array)
                raise _shared_error(
                    network, value, network.processes[a], network.processes[b], found
                )


def _check_values(network: Network, process: Process) -> None:
    """A process gives others nothing but through arrays, and shares no scalar variable."""
    inside = {inner for op in process.ops for inner in (op, *walk(op))}
    results = [v for op in process.ops for v in op.results]
    given = [v for v in results if any(u.owner.operation not in inside for u in v.uses)]
    scalars = [
        v
        for v in free_values(process.ops)
        if isinstance(v.type, ir.MemRefType) and not ir.MemRefType(v.type).rank
        if any(use.owner.operation not in inside for use in v.uses)
    ]
    for value in (*given, *scalars):
        names = " and ".join(a.name for a in network.arrays)
        raise IllegalTransformError(
            f"With {names} as FIFOs {process.name} runs beside the rest of "
            f"{ir.StringAttr(network.function.attributes['sym_name']).value}, but they share the "
            f"variable {variable_name(network.function, value)}.",
            process.place,
            help="let the process keep it to itself, or pass its values through an array.",
        )


def _shared(network: Network) -> dict[ir.Value, int]:
    """Arrays from outside that several processes touch, one of them writing, numbered.

    Two arguments for which some caller passes one array are one array here.
    """
    streams = {a.value for a in network.arrays}
    classes = AliasClasses(network.module)
    same: dict[ir.Value, ir.Value] = {}
    users: dict[ir.Value, set[int]] = defaultdict(set)
    writers: set[ir.Value] = set()
    for number, process in enumerate(network.processes):
        values = [v for v in free_values(process.ops) if isinstance(v.type, ir.MemRefType)]
        values = [v for v in values if v not in streams]
        for value in values:
            if value not in same:
                same[value] = classes.members(value)[0]
        trace = Trace(network.functions, process.ops, {v: n for n, v in enumerate(values)})
        for access in trace.accesses:
            array = same[values[access.array]]
            users[array].add(number)
            if access.writes:
                writers.add(array)
    shared = [v for v, numbers in users.items() if len(numbers) > 1 and v in writers]
    return {v: shared.index(array) for v, array in same.items() if array in shared}


def _touched(
    network: Network, process: Process, numbers: Mapping[ir.Value, int]
) -> dict[int, dict[bool, dict[Element | None, Access]]]:
    """Elements by array and by whether they are written; None for any element."""
    found: dict[int, dict[bool, dict[Element | None, Access]]] = defaultdict(
        lambda: {True: {}, False: {}}
    )
    events = Trace(network.functions, process.ops, numbers).events()
    for count, (access, index, _) in enumerate(events):
        if count == MOST_STEPS:
            raise too_many(process)
        element = None if access.whole else index
        if access.writes:
            found[access.array][True].setdefault(element, access)
        if access.reads:
            found[access.array][False].setdefault(element, access)
    return found


def _shared_error(
    network: Network, value: ir.Value, first: Process, second: Process, access: Access
) -> IllegalTransformError:
    names = " and ".join(a.name for a in network.arrays)
    name = variable_name(network.function, value)
    return IllegalTransformError(
        f"With {names} as FIFOs {first.name} and {second.name} run side by side, but both use "
        f"{name}, and one writes what the other touches.",
        place_of(access.op),
        help=f"make {name} a FIFO, too (s.to), or let each process write elements of its own.",
    )


def _conflict(
    first: Mapping[bool, Mapping[Element | None, Access]],
    second: Mapping[bool, Mapping[Element | None, Access]],
) -> Access | None:
    for one, other in ((first, second), (second, first)):
        for writes in (True, False):
            wrote, touched = one[True], other[writes]
            if not wrote or not touched:
                continue
            if None in wrote or None in touched:
                return next(iter(wrote.values()))
            same = next((e for e in wrote if e in touched), None)
            if same is not None:
                return wrote[same]
    return None
