"""One body run twice: as the source says, iteration by iteration, and as it is scheduled, cycle by cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from allo.backend.rtl.graph.nodes import Body, Node
from allo.backend.rtl.graph.regions import Leaf, Stepped
from allo.dialects.core.integers import as_signed

from . import ReplayError, Unjudged
from .memory import Overlay, World
from .reading import Line, Place, Source, Step, constants_of, step_of
from .sides import Channels, Counters, Frame, Side, Values, numbers_of, spot_of
from .values import Units


@dataclass(slots=True)
class Outcome:
    """What a run leaves: memory, streams, and how many iterations it took."""

    memory: Overlay
    channels: Channels
    iterations: int


class AsWritten:
    """Runs the body of a source."""

    def __init__(self, side: Side, source: Source, world: World, number: int, place: str) -> None:
        self._side, self._world, self.place = side, world, place
        if number not in source.bodies:
            raise Unjudged(f"{place} was made after its source had been read")
        self._steps, self._lines = source.bodies[number], source.lines[number]
        wanted = numbers_of(self._steps)
        for line in self._lines:
            wanted += [line.predicate, line.value, *(n for _, ns in line.index for n in ns)]
        self._before = side.before(number, wanted)
        self.cost = len(self._steps) + len(self._before) + len(self._lines)

    def run(self, counters: Sequence[Counters], *, leaves: bool) -> Outcome:
        """Run iterations; ``leaves``: until one says that it is the last."""
        graph, said = Overlay(self._world), Overlay(self._world)
        channels = Channels(dict(self._world.gets))
        values = Frame(self._side.values)
        done = 0
        for iteration, now in enumerate(counters):
            self._side.values.update(now)
            values.update(now)
            over = self._graph(values, graph, channels, iteration)
            self._said(values, said)
            done += 1
            if over and leaves:
                break
        self._side.values.update(values)
        for spot in said.keys() | graph.keys():
            if said[spot] != graph[spot] and not self._private(spot):
                what = f"{spot}: {said[spot]:#x} by the source, {graph[spot]:#x} in the graph"
                raise ReplayError(f"{self.place} was read wrong, of array, bank and word {what}")
        return Outcome(said, channels, done)

    def _private(self, spot: tuple[int, int, int]) -> bool:
        return any(
            line.said.array.number == spot[0] and line.said.array.private is not None
            for line in self._lines
        )

    def _graph(self, values: Values, memory: Overlay, channels: Channels, iteration: int) -> bool:
        """Run the nodes of an iteration; whether it is the last."""
        over = False
        for step in (*self._before, *self._steps):
            if step.run is not None:
                values[step.number] = step.run(*[values[i] for i in step.inputs])
                continue
            match step.kind:
                case "load":
                    assert step.place is not None
                    spot = spot_of(step.place, values)
                    values[step.number] = memory[spot] if spot is not None else 0
                case "store":
                    if step.predicate and not values[step.predicate]:
                        continue
                    assert step.place is not None
                    spot = spot_of(step.place, values)
                    if spot is not None:
                        memory[spot] = values[step.inputs[0]]
                case "exit":
                    over = bool(values[step.inputs[0]])
                    values[step.number] = int(over)
                case "check":
                    if values[step.inputs[1]] and not values[step.inputs[0]]:
                        raise Unjudged("a check of subscripts fails")
                    values[step.number] = 1
                case _:
                    seed = self._world.seed
                    values[step.number] = channels.run(step, values, iteration, seed)
        return over

    def _said(self, values: Values, memory: Overlay) -> None:
        """Do what the source says, in its order, and compare each load with what the graph has for it."""
        private: set[tuple[int, int, int]] = set()
        for line in self._lines:
            if line.predicate and not values[line.predicate]:
                continue
            said, array = line.said, line.said.array
            spot = self._spot(line, values)
            value = values[line.value]
            if said.kind == "store":
                memory[spot] = value
                private.add(spot)
            elif array.private is not None and spot not in private:
                memory[spot] = value
                private.add(spot)
            elif memory[spot] != value:
                raise ReplayError(
                    f"{self.place}: a load of {array.name}, bank and word {spot[1:]}, gives "
                    f"{value:#x} in the graph and {memory[spot]:#x} by the source"
                )

    @staticmethod
    def _spot(line: Line, values: Values) -> tuple[int, int, int]:
        array = line.said.array
        index = [run(*[values[n] for n in numbers]) for run, numbers in line.index]
        if line.said.by_bank:
            return array.number, index[0], index[1]
        for position, extent in zip(index, array.shape, strict=True):
            if not 0 <= position < extent:
                raise Unjudged(f"a subscript of {array.name} out of range")
        return array.number, *array.layout.locate(index)


class AsScheduled:
    """Runs a body with its start cycles."""

    def __init__(
        self, side: Side, units: Units, world: World, body: Body, leaf: Leaf | None, place: str
    ) -> None:
        self._side, self._world, self._body, self._leaf = side, world, body, leaf
        self.place = place
        constants_of(body.nodes, side.values)
        steps = [(node.time, step_of(node, units)) for node in _sorted(body.nodes)]
        self._slots: defaultdict[int, list[Step]] = defaultdict(list)
        for time, step in steps:
            self._slots[time].append(step)
            for later in range(1, len(step.looks)):
                self._slots[time + later] += []
        self._before = side.before(body.number, numbers_of(step for _, step in steps))
        self._read = {n.number for n in body.nodes if n.kind == "load" and not n.latency}
        self._guesses = leaf.exit.guesses if leaf and leaf.exit and leaf.exit.guessing else []
        for guess in self._guesses:
            constants_of([guess.store], side.values)
            if guess.final.kind == "const":
                side.values[guess.final.number] = guess.final.data
            self._slots[guess.step] += []
        if leaf is not None and leaf.exit is not None:
            self._slots[leaf.exit.step] += []
        self.cost = len(steps) + len(self._before)

    def check_times(self) -> None:
        """Every value is there when it is read.

        Raises:
            ReplayError: one is read before it is there.
        """
        for node in self._body.nodes:
            for operand in node.operands:
                if operand.body is self._body and operand.avail > node.time:
                    raise ReplayError(
                        f"{self.place}: {_named(node)} starts in cycle {node.time} and reads "
                        f"{_named(operand)}, which is there in cycle {operand.avail}"
                    )

    def follow(self, values: Values) -> None:
        """Take values that other bodies read from those of the source, and run nothing."""
        for node in self._body.nodes:
            if node.crosses and node.number in values:
                self._side.values[node.number] = values[node.number]

    def run(self, counters: Sequence[Counters], starts: Sequence[int]) -> tuple[Overlay, Channels]:
        """Run iterations that start in given cycles."""
        memory, channels = Overlay(self._world), Channels(dict(self._world.gets))
        frames = [self._frame(now) for now in counters]
        events: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for k, start in enumerate(starts):
            for time in self._slots:
                events[start + time].append((k, time))
        late: list[_Load] = []
        last = len(frames)
        for cycle in sorted(events):
            loads, stores = late, list[_Store]()
            finals: list[_Store] = []
            ends = last
            for k, time in events[cycle]:
                if k >= last:
                    continue
                self._cycle(frames[k], self._slots[time], k, channels, memory, loads, stores)
                ends = min(ends, self._end(frames[k], k, time, finals))
            left = {final.number for final in finals}
            stores = [store for store in stores if store.number not in left]
            late = self._commit(memory, loads, [*stores, *finals])
            last = ends
        values = frames[last - 1]
        for node in self._body.nodes:
            if node.crosses and node.number in values:
                self._side.values[node.number] = values[node.number]
        return memory, channels

    def _end(self, values: Frame, k: int, time: int, finals: list[_Store]) -> int:
        """How many iterations there are, as far as one tells in a step; ``finals``: what it leaves."""
        most = k + (1 << 30)
        found = self._leaf.exit if self._leaf is not None else None
        if found is None or found.node.number not in values or not values[found.node.number]:
            return most
        for guess in self._guesses:
            access = guess.store.access
            if guess.step == time and access is not None:
                spot = spot_of(Place.of(access), values)
                assert spot is not None
                finals.append(_Store(guess.store.number, spot, values[guess.final.number]))
        return k + 1 if time >= found.step else most

    def _frame(self, now: Counters) -> Frame:
        values = Frame(self._side.values)
        values.update(now)
        stepped = self._leaf.stepped if self._leaf is not None else []
        for one in stepped:
            values[one.node.number] = _stepped(one, values) & (1 << one.node.width) - 1
        for step in self._before:
            assert step.run is not None
            values[step.number] = step.run(*[values[i] for i in step.inputs])
        return values

    def _cycle(
        self,
        values: Frame,
        steps: list[Step],
        iteration: int,
        channels: Channels,
        memory: Overlay,
        loads: list[_Load],
        stores: list[_Store],
    ) -> None:
        """Run what an iteration starts in one cycle."""
        for step in steps:
            if step.run is not None:
                values[step.number] = step.run(*[values[i] for i in step.inputs])
                continue
            match step.kind:
                case "load":
                    assert step.place is not None
                    spot = spot_of(step.place, values)
                    values[step.number] = memory[spot] if spot is not None else 0
                    if step.at_once:
                        for store in stores:
                            if store.spot == spot and store.number in step.looks[0]:
                                values[step.number] = store.value
                    elif spot is not None and step.number not in self._read and any(step.looks):
                        loads.append(_Load(step, values, spot))
                case "store":
                    if step.predicate and not values[step.predicate]:
                        continue
                    assert step.place is not None
                    spot = spot_of(step.place, values)
                    if spot is not None:
                        store = _Store(step.number, spot, values[step.inputs[0]], step.label)
                        stores.append(store)
                        _take(loads, store)
                case "exit":
                    values[step.number] = values[step.inputs[0]]
                case "check":
                    values[step.number] = int(values[step.inputs[0]] or not values[step.inputs[1]])
                case _:
                    seed = self._world.seed
                    values[step.number] = channels.run(step, values, iteration, seed)

    def _commit(self, memory: Overlay, loads: list[_Load], stores: list[_Store]) -> list[_Load]:
        """Write what is stored in a cycle; the loads that also look at the next one."""
        written: set[tuple[int, int, int]] = set()
        for store in stores:
            if store.spot in written:
                raise ReplayError(
                    f"{self.place}: two writes of a word in a cycle, one by {store.label}"
                )
            written.add(store.spot)
            memory[store.spot] = store.value
            _take(loads, store)
        again = [load for load in loads if load.turn + 1 < len(load.step.looks)]
        return [_Load(load.step, load.values, load.spot, load.turn + 1) for load in again]


def _take(loads: Sequence[_Load], store: _Store) -> None:
    """Give a stored value to the loads that look for it, before what reads them in the same cycle."""
    for load in loads:
        if store.spot == load.spot and store.number in load.step.looks[load.turn]:
            load.values[load.step.number] = store.value


@dataclass(slots=True)
class _Load:
    step: Step
    values: Frame
    spot: tuple[int, int, int]
    turn: int = 0
    """Cycles since it started."""


@dataclass(slots=True)
class _Store:
    number: int
    spot: tuple[int, int, int]
    value: int
    label: str = ""


def _named(node: Node) -> str:
    return f"{node.op or node.label or node.kind} ({node.place})"


def _sorted(nodes: list[Node]) -> list[Node]:
    """Nodes by start cycle, each after its operands of the same cycle."""
    position = {node.number: i for i, node in enumerate(nodes)}
    if all(
        position.get(operand.number, -1) < i
        for i, node in enumerate(nodes)
        for operand in node.operands
    ):
        return nodes
    found: dict[int, Node] = {}
    stack = list(reversed(nodes))
    while stack:
        node = stack[-1]
        left = [o for o in node.operands if o.number in position and o.number not in found]
        if node.number in found or not left:
            found.setdefault(node.number, node)
            stack.pop()
            continue
        stack += left
    return list(found.values())


def _total(stepped: Stepped, values: Values) -> int:
    """What a register has grown to, before it is cut."""
    count, turn = 0, 1
    for level in stepped.levels:
        assert level.trips is not None
        count = count * level.trips + values[level.iv.number]
    total = stepped.start
    for level, grows in reversed(list(zip(stepped.levels, stepped.adds, strict=True))):
        assert level.trips is not None
        total += grows * (count // turn - count // (turn * level.trips))
        turn *= level.trips
    return total


def _stepped(stepped: Stepped, values: Values) -> int:
    total = _total(stepped, values)
    return total % stepped.divisor if stepped.divisor else total


def signed(node: Node, value: int) -> int:
    """A bound of a loop as a number."""
    return as_signed(value, node.width)
