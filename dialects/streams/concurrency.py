"""What lets the tasks of a function run at once: FIFOs between them, and which starts after which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from .._mlir import ir
from ..affine.loops import string_attribute, walk
from ..core.locations import place_of
from ..core.partition import layout_of
from ..diagnostics import IllegalTransformError
from .network import Network, StreamArray
from .processes import Process, Section
from .shared.sharing import elements_of, find_conflict, shared_arrays
from .space import StreamSpace, stream_space
from .values import variable_name

DEPTH = 16
"""Elements of a FIFO that no schedule gave a depth: room for the different latencies of pipelines."""

PORTS = 2
"""Elements of a memory that an iteration of a pipeline passes in a cycle."""


@dataclass(slots=True)
class Concurrency:
    """How the tasks of a function run beside each other.

    Attributes:
        network: the tasks, the FIFOs between them, and which start after which.
        notes: for tasks that wait for others to end: why.
    """

    network: Network
    notes: list[str] = field(default_factory=list)

    @property
    def overlaps(self) -> bool:
        """Whether any two tasks run at once."""
        reach = reachable(self.network.after, len(self.network.processes))
        pairs = combinations(range(len(self.network.processes)), 2)
        return any(first not in reach[second] for first, second in pairs)


def reachable(after: dict[int, frozenset[int]], count: int) -> list[set[int]]:
    """For each task all that are over before it starts."""
    found: list[set[int]] = []
    for number in range(count):
        direct = after.get(number, frozenset())
        found.append({e for d in direct for e in (d, *found[d])})
    return found


def find_concurrency(module: ir.Operation, function: ir.Operation, section: Section) -> Concurrency:
    """FIFOs where the order of elements allows them, and an order of starts for what else is shared."""
    refused: dict[ir.Value, str] = {}
    candidates = []
    for array in _candidates(function, section):
        try:
            network = Network(module, function, [array], section)
            network.check_order()
        except IllegalTransformError as error:
            refused[array.value] = error.message
            continue
        if not _widened(network):
            candidates.append(array)
    while True:
        network = Network(module, function, candidates, section)
        network.check_order()
        found = Concurrency(network)
        _order(found, refused)
        late = _ends_late(network) or _too_small(network)
        if not late:
            return found
        candidates = [a for n, a in enumerate(candidates) if n not in late]


def _candidates(function: ir.Operation, section: Section) -> list[StreamArray]:
    """Local arrays of one bank that one task writes and a later one reads."""
    tasks = [{i for op in p.ops for i in (op, *walk(op))} for p in section.processes]
    found = []
    for op in [o.operation for o in function.regions[0].blocks[0].operations]:
        if op.name != "memref.alloc":
            continue
        kind = ir.MemRefType(op.results[0].type)
        if not kind.rank or not kind.has_static_shape or layout_of(kind).bank_count > 1:
            continue
        users = [use.owner.operation for use in op.results[0].uses]
        places = {next((n for n, t in enumerate(tasks) if u in t), -1) for u in users}
        if len(places) != 2 or -1 in places:
            continue
        if any(_wrapped(section.processes[n]) for n in places):
            continue
        space = stream_space(kind) or StreamSpace(min(DEPTH, prod(kind.shape)))
        if not space.labels:
            name = string_attribute(op, "name") or "array"
            found.append(StreamArray(op.results[0], name, space))
    return found


def _wrapped(process: Process) -> bool:
    """Whether a task is a call that the function of the task makes, and not that function itself."""
    if process.call is None:
        return False
    owners = [v.owner for v in process.call.operands if not isinstance(v, ir.BlockArgument)]
    return bool(process.call.results) or any(
        o.operation.name == "memref.get_global" for o in owners
    )


def _widened(network: Network) -> bool:
    """Whether an iteration of a pipeline passes more elements than a memory of two ports can."""
    turns = (Counter(s.iteration for s in steps if s.iteration) for steps in network.steps)
    return any(max(each.values(), default=0) > PORTS for each in turns)


def _order(found: Concurrency, refused: dict[ir.Value, str]) -> None:
    """Tasks that touch elements that an earlier one writes, or write what it reads, start after it."""
    network = found.network
    shared = shared_arrays(network)
    if not shared.numbers:
        return
    try:
        touched = [elements_of(network, process, shared) for process in network.processes]
    except IllegalTransformError:
        touched = []
    for second in range(len(network.processes)):
        earlier = set()
        for first in range(second):
            arrays = set(touched[first]) & set(touched[second]) if touched else set()
            for array in sorted(arrays):
                access = find_conflict(touched[first][array], touched[second][array])
                if access is None:
                    continue
                earlier.add(first)
                value = shared.value(array)
                found.notes.append(_note(network, (first, second), value, access.op, refused))
            if not touched:
                earlier.add(first)
        if earlier:
            network.after[second] = frozenset(earlier)


def _note(
    network: Network,
    pair: tuple[int, int],
    value: ir.Value,
    op: ir.Operation,
    refused: dict[ir.Value, str],
) -> str:
    first, second = (network.processes[n] for n in pair)
    place = place_of(op)
    where = f" ({place})" if place else ""
    text = (
        f"{second.name} starts when {first.name} is over: both use "
        f"{variable_name(network.function, value)}{where}."
    )
    return f"{text} {refused[value]}" if value in refused else text


def _ends_late(network: Network) -> set[int]:
    """FIFOs, by number, whose reader starts after its writer is over anyway: memories serve as well."""
    reach = reachable(network.after, len(network.processes))
    return {fifo[0] for fifo, ends in network.ends.items() if ends.writer in reach[ends.reader]}


def _too_small(network: Network) -> set[int]:
    """Deepen the FIFOs until no task waits for ever; the FIFOs, by number, for which no depth helps."""
    stuck = network.find_stuck()
    if stuck is None:
        return set()
    need = network.needed_depth()
    if need is None:
        return {stuck[1].fifo[0]}
    network.arrays = [
        StreamArray(a.value, a.name, StreamSpace(max(need, a.space.depth))) for a in network.arrays
    ]
    return set()


__all__ = ["Concurrency", "find_concurrency"]
