"""Whether processes that run side by side leave each other's memory alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from ..._mlir import ir
from ...affine.loops import walk
from ...core.effects import EffectAnalysis, Key, Memory
from ...core.locations import place_of
from ...diagnostics import IllegalTransformError
from ..network import MOST_STEPS, Element, Network, too_many
from ..processes import Process
from ..trace import Access, Trace
from ..values import free_values, variable_name


def check_memories(network: Network) -> None:
    """No process writes an element of an array that another one touches.

    Raises:
        IllegalTransformError: one does, so the two cannot run side by side.
    """
    for process in network.processes:
        _check_values(network, process)
    shared = shared_arrays(network)
    if not shared.numbers:
        return
    touched = [elements_of(network, process, shared) for process in network.processes]
    for (a, first), (b, second) in combinations(enumerate(touched), 2):
        for array in set(first) & set(second):
            found = find_conflict(first[array], second[array])
            if found is not None:
                value = shared.value(array)
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


@dataclass(frozen=True, slots=True)
class SharedArrays:
    """Arrays from outside that several processes touch, one of them writing.

    Attributes:
        numbers: of each value, equal for what may be one array.
        partial: numbers of arrays that some caller passes parts of, so that subscripts tell nothing.
    """

    numbers: dict[ir.Value, int]
    partial: frozenset[int]

    def value(self, number: int) -> ir.Value:
        """The first value of an array."""
        return next(v for v, n in self.numbers.items() if n == number)


def shared_arrays(network: Network) -> SharedArrays:
    """The arrays that processes share.

    Two arguments for which some caller passes one array are one array here.
    """
    streams = {a.value for a in network.arrays}
    effects = EffectAnalysis(network.module)
    same: dict[ir.Value, Memory] = {}
    users: dict[Key, set[int]] = defaultdict(set)
    writers: set[Key] = set()
    for number, process in enumerate(network.processes):
        values = [v for v in free_values(process.ops) if isinstance(v.type, ir.MemRefType)]
        values = [v for v in values if v not in streams]
        for value in values:
            if value not in same:
                same[value] = effects.memory_of(value)
        trace = Trace(network.functions, process.ops, {v: n for n, v in enumerate(values)})
        for access in trace.accesses:
            array = same[values[access.array]].key
            users[array].add(number)
            if access.writes:
                writers.add(array)
    shared = [k for k, numbers in users.items() if len(numbers) > 1 and k in writers]
    numbers = {v: shared.index(m.key) for v, m in same.items() if m.key in shared}
    partial = {numbers[v] for v in numbers if not same[v].exact}
    return SharedArrays(numbers, frozenset(partial))


def elements_of(
    network: Network, process: Process, shared: SharedArrays
) -> dict[int, dict[bool, dict[Element | None, Access]]]:
    """Elements by array and by whether they are written; None for any element."""
    found: dict[int, dict[bool, dict[Element | None, Access]]] = defaultdict(
        lambda: {True: {}, False: {}}
    )
    events = Trace(network.functions, process.ops, shared.numbers).events()
    for count, (access, index, _) in enumerate(events):
        if count == MOST_STEPS:
            raise too_many(process)
        element = None if access.whole or access.array in shared.partial else index
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


def find_conflict(
    first: Mapping[bool, Mapping[Element | None, Access]],
    second: Mapping[bool, Mapping[Element | None, Access]],
) -> Access | None:
    """An access of one process that writes what the other touches, given the elements of one array."""
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
