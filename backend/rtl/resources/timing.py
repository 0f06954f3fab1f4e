"""The longest path from register to register of a design, with the places in Python that it passes.

Modules are timed callees first. Of each one is known, by port, how late its outputs come from registers
inside, how long its inputs take to a register, and which inputs reach which outputs. Bits of a value are
not told apart: it is as late as its last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import ceil, log, log2

from allo.backend.devices import Cells, SignalDelays

from .block_registers import BlockRegisters, block_registers
from .build import Graph
from .cover import Cover
from .drawn import DrawnModule, input_numbers
from .memory import Memory, memory_cost
from .merging.flattest import NOTHING, Flattest, Leaf, Time
from .merging.gates import levels_of, of_long_chain, one_gate, only_inverts
from .nodes import Node, Value, is_constant, registers_behind, tables_behind, width_of
from .paths import NEVER, NO_PATH, Arrival, ModuleTiming, Path, Step

FEW = 8
"""Flip-flops whose enable or reset is as near as other signals."""


class Timer:
    """Times one module.

    Args:
        cover: the module's graph after its logic has been packed.
        children: what is known of the modules inside it.
    """

    def __init__(
        self,
        module: DrawnModule,
        graph: Graph,
        cover: Cover,
        family: Cells,
        delays: SignalDelays,
        children: Mapping[str, ModuleTiming],
    ) -> None:
        self._module, self._graph, self._family, self._d = module, graph, family, delays
        self._children = children
        self._inputs_of = [input_numbers(instance) for instance, _ in graph.calls]
        self._nodes = graph.nodes
        self._arrivals: dict[int, Arrival] = {}
        self._ports = {number: port for port, number in graph.inputs.items()}
        self._memory_of: dict[int, Memory] = {}
        self._blocks: dict[int, float] = {}
        self._block_reads: set[int] = set()
        self._cover = cover
        self._joined = cover.sums.terms if cover.sums is not None else {}
        self._inside = BlockRegisters()
        if family.block_registers:
            self._inside = block_registers(graph, self._cover.sums_of_blocks)
        self._gated = registers_behind(self._nodes)
        self._readers = tables_behind(self._nodes)
        level_ns = delays.wire + delays.table
        self._flat = Flattest(self._nodes, family.inputs, level_ns, self._leaf)
        self._worst: tuple[float, int, Path] = (NEVER, -1, NO_PATH)
        self._from_inputs: dict[str, tuple[float, int, Path]] = {}
        for memory in graph.memories.values():
            cost = memory_cost(family, memory, cover.is_held)
            for _, number in memory.reads:
                self._memory_of[number] = memory
                block = (
                    delays.ultra if cost.get("uram") else delays.memory if cost.get("bram") else 0.0
                )
                held = cover.register_behind(number) if block else None
                if held is not None:
                    self._block_reads.add(number)
                    beside = cost.get("lut", 0) > 0 and not memory.table
                    more = delays.wire + delays.table if beside else 0.0
                    self._blocks[id(held)] = block + delays.far + more

    def run(self) -> ModuleTiming:
        """The timing of the module."""
        found = ModuleTiming()
        for value, delay, what, place in self._ends():
            self._end(value, Path(delay, (Step(what, delay, place),)))
        for (instance, values), inputs in zip(self._graph.calls, self._inputs_of, strict=True):
            child = self._children.get(instance.module)
            if child is None:
                continue
            if child.worst.delay_ns > found.worst.delay_ns:
                found.worst = child.worst.at(instance.location.shown)
            placed = {id(path): path.at(instance.location.shown) for path in child.ends.values()}
            for port, number in inputs.items():
                if port in child.ends:
                    self._end(values[number], placed[id(child.ends[port])])
        length, number, last = self._worst
        if length > found.worst.delay_ns:
            found.worst = self._trace(number).then(last)
        # Many inputs have one longest path: what follows the first of its nodes is the same.
        traced: dict[tuple[int, int], Path] = {}
        for port, (_, entry, last) in self._from_inputs.items():
            key = entry, id(last)
            if key not in traced:
                traced[key] = self._trace_passed(entry).then(last)
            found.ends[port] = traced[key]
        for name, value in zip(self._module.outputs, self._graph.outputs, strict=False):
            number = self._latest(value)
            if number >= 0 and self._arrivals[number].late > NEVER:
                found.starts[name] = self._trace(number)
            entry = self._entering(value)
            if entry >= 0:
                found.through[name] = (self._reaching(value), self._trace_passed(entry))
                found.entered[name] = self._entrance(entry)
        return found

    # --- ends of paths --------------------------------------------------------------

    def _ends(self) -> Iterator[tuple[Value, float, str, str]]:
        d = self._d
        for number, node in enumerate(self._nodes):
            if node.kind == "register" and node.made and node.operands:
                if id(node) in self._blocks:
                    for control in node.operands[1:]:
                        yield control, d.wire + d.far + d.setup, "enable or reset", node.place
                    continue
                data, *controls = node.operands
                yield data, self._to_register(number, data), "register", node.place
                for control in controls:
                    wire = d.wire + d.control * max(0.0, log2(self._gated[control] / 64))
                    wire += d.shared if self._gated[control] > FEW else 0.0
                    yield control, wire + d.setup, "enable or reset", node.place
        for memory in self._graph.memories.values():
            for written in memory.writes:
                for value in written:
                    yield value, d.wire + d.setup, "memory", memory.place
            for address, number in memory.reads:
                if number in self._block_reads:
                    yield address, d.wire + d.far + d.setup, "memory", memory.place

    def _to_register(self, number: int, data: Value) -> float:
        """From the last cell to a register, which may be one of a multiplier block."""
        d = self._d
        if number in self._inside.front:
            return d.setup + d.wire + d.far
        return d.setup if number in self._inside.behind else self._into(data)

    def _into(self, data: Value) -> float:
        """From the last cell to a register, which is beside a lookup table or a chain."""
        near = all(n < 0 or self._beside_registers(self._nodes[n]) for n, _, _ in data)
        return self._d.setup + (0.0 if near else self._d.wire)

    def _beside_registers(self, node: Node) -> bool:
        if node.kind == "multiply":
            return self._cover.sums_of_blocks(node) > 0
        tables = ("logic", "add", "less", "equal", "shift")
        return node.kind in (tables if self._d.flattest else tables[:3])

    def _end(self, value: Value, last: Path) -> None:
        """Compare the paths that end with a value with the longest so far."""
        number = self._latest(value)
        if number >= 0:
            length = self._arrivals[number].late + last.delay_ns
            if length > self._worst[0]:
                self._worst = length, number, last
        entry = self._entering(value)
        if entry < 0:
            return
        length = self._arrivals[entry].passed + last.delay_ns
        for port in self._reaching(value):
            if port not in self._from_inputs or length > self._from_inputs[port][0]:
                self._from_inputs[port] = length, entry, last

    # --- arrivals ---------------------------------------------------------------------

    def _numbers(self, value: Value) -> list[int]:
        return [number for number, _, _ in value if number >= 0]

    def _latest(self, value: Value) -> int:
        """The node that comes last from registers, or -1."""
        numbers = self._numbers(value)
        return max(numbers, key=lambda n: self._arrival(n).late, default=-1)

    def _entering(self, value: Value) -> int:
        """The node that comes last from inputs, or -1."""
        numbers = [n for n in self._numbers(value) if self._arrival(n).passed > NEVER]
        return max(numbers, key=lambda n: self._arrival(n).passed, default=-1)

    def _reaching(self, value: Value) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for number in self._numbers(value):
            found |= self._arrival(number).inputs
        return found

    def _arrival(self, number: int) -> Arrival:
        stack, open_ = [number], set[int]()
        while stack:
            top = stack[-1]
            if top not in self._arrivals and top not in open_:
                open_.add(top)
                stack += [n for n in self._sources(top) if n not in open_]
                continue
            stack.pop()
            if top not in self._arrivals:
                self._arrivals[top] = self._compute(top)
        return self._arrivals[number]

    def _sources(self, number: int) -> list[int]:
        node = self._nodes[number]
        if node.kind == "register":
            return []
        if node.kind == "input":
            return [n for value in self._feeding(number) for n in self._numbers(value)]
        if node.kind == "logic" and not self._d.flattest:
            return [n for n, _ in node.leaves if n >= 0]
        values = list(self._joined.get(number, node.operands))
        if self._d.flattest and number in self._joined:
            values += node.operands
        return [n for v in values for n in self._numbers(v)]

    def _feeding(self, number: int) -> list[Value]:
        """The values that reach an output of an instance in the same cycle."""
        place = self._graph.instance_outputs.get(number)
        if place is None:
            return []
        instance, values = self._graph.calls[place[0]]
        child = self._children.get(instance.module)
        if child is None or place[1] not in child.through:
            return []
        numbers = self._inputs_of[place[0]]
        reach = child.through[place[1]][0]
        return [values[n] for n in sorted(numbers[port] for port in reach if port in numbers)]

    def _compute(self, number: int) -> Arrival:
        node, d = self._nodes[number], self._d
        if node.kind == "register":
            out = self._blocks.get(id(node), d.clock_out)
            out += d.far if number in self._inside.behind else 0.0
            what = "memory" if id(node) in self._blocks else "register"
            return Arrival(late=out, start=Path(out, (Step(what, out, node.place),)))
        if number in self._ports:
            return Arrival(passed=0.0, inputs=frozenset((self._ports[number],)))
        if d.flattest and node.kind in ("logic", "equal", "add"):
            return self._flat_arrival(number, node)
        found = Arrival(delay=self._delay(number, node))
        if node.kind == "input":
            place = self._graph.instance_outputs.get(number)
            instance = self._graph.calls[place[0]][0] if place is not None else None
            child = self._children.get(instance.module) if instance is not None else None
            if child is None or instance is None or place is None:
                found.late, found.start = d.clock_out, Path(d.clock_out)
                return found
            found.start = child.starts.get(place[1], NO_PATH).at(instance.location.shown)
            found.late = found.start.delay_ns
            through = child.through.get(place[1])
            found.delay = through[1].delay_ns if through else NEVER
            found.levels = sum(s.what == "logic" for s in through[1].steps) if through else 0
        # a source that is missing is on a way round that no signal takes
        arrivals = [(n, self._arrivals[n]) for n in self._sources(number) if n in self._arrivals]
        last = self._last_table(node, arrivals)
        gate = one_gate(self._nodes, node, arrivals) if self._family.merges else {}
        found.terms = sum(gate.values()) if gate else 1
        for source, arrival in arrivals:
            delay = d.wire + d.table if source in last else found.delay
            inside = arrival.gate_ns if gate.get(source, 1) > 1 else 0.0
            if found.terms > self._family.inputs:
                delay = max(
                    0.0, levels_of(found.terms, self._family.inputs) * (d.wire + d.table) - inside
                )
            found.gate_ns = max(found.gate_ns, inside + delay)
            if self._family.merges and node.kind == "logic":
                delay = 0.0 if only_inverts(node, self._nodes[source]) else delay
                delay += d.spread * max(0.0, log2(self._nodes[source].fan_out / 4))
            if node.kind in ("logic", "equal"):
                found.levels = max(found.levels, arrival.levels + 1)
                delay *= of_long_chain(arrival.levels)
            if arrival.late + delay > found.late:
                found.late, found.before = arrival.late + delay, source
            if arrival.passed + delay > found.passed:
                found.passed, found.passed_before = arrival.passed + delay, source
            found.inputs |= arrival.inputs
        return found

    def _flat_arrival(self, number: int, node: Node) -> Arrival:
        """The arrival of what is timed as the flattest tables."""
        if node.kind == "logic":
            time = self._flat.logic(number)
        elif node.kind == "equal":
            time = self._flat.equal(number)
        else:
            time = self._summed(number, node)
        reached = (self._arrivals[n].inputs for n in self._sources(number) if n in self._arrivals)
        inputs = frozenset[str]().union(*reached)
        return Arrival(time.late, time.passed, time.before, time.passed_before, inputs)

    def _summed(self, number: int, node: Node) -> Time:
        """A sum: one chain, or, of a sum of sums, rows of adders in front of one where that is sooner."""
        chain = self._chain(node)
        time = self._flat.onto_chain(node.operands).more(chain)
        if number not in self._joined:
            return time
        joined = self._flat.onto_chain(self._joined[number]).more(self._rows(number) + chain)
        return min(time, joined, key=lambda way: way.last)

    def _leaf(self, leaf: Leaf) -> Time:
        """How late a leaf comes to the table that reads it, later where all bits of a node read one bit."""
        number, bit = leaf
        arrival = self._arrivals.get(number)
        if arrival is None:
            # a source that is missing is on a way round that no signal takes
            return NOTHING
        readers = self._readers[leaf] if bit < 0 else 1
        more = self._d.spread * max(0.0, log2(max(1, readers) / 8))
        return Time(arrival.late, number, arrival.passed, number).more(more)

    def _last_table(self, node: Node, arrivals: list[tuple[int, Arrival]]) -> set[int]:
        """The sources that come last to a tree of tables, which synthesis leads to its last one."""
        most = self._family.inputs
        if node.kind != "logic" or not node.associative or len(node.leaves) <= most:
            return set()
        bits = Counter(number for number, _ in node.leaves)
        room, found = most - 1, set[int]()
        for source, _ in sorted(arrivals, key=lambda a: -max(a[1].late, a[1].passed)):
            room -= bits[source]
            if room < 0:
                break
            found.add(source)
        return found

    # --- delays -----------------------------------------------------------------------

    def _delay(self, number: int, node: Node) -> float:
        d = self._d
        wire = d.wire + d.spread * max(0.0, log2(max(1, self._fanin_spread(node)) / 8))
        match node.kind:
            case "logic":
                return self._tables(len(node.leaves), node.associative) + wire - d.wire
            case "add":
                return self._rows(number) + self._chain(node)
            case "less":
                width = width_of(node.operands[0])
                return wire + d.carry + (d.compare_bit or d.carry_bit) * width
            case "equal":
                bits = sum(n >= 0 for v in node.operands for n, _, c in v for _ in range(c))
                return self._tables(bits, True)
            case "shift":
                moving = sum(count for n, _, count in node.operands[1] if n >= 0)
                stages = min(moving, ceil(log2(width_of(node.operands[0]) + 1)))
                if is_constant(node.operands[0]):
                    return self._tables(stages, True)
                if d.shift:
                    return d.shift * min(moving, ceil(log2(width_of(node.operands[0]))))
                per = 1 if self._family.inputs == 4 else 2
                return ceil(stages / per) * (d.wire + d.table + 0.5 * d.joined)
            case "multiply":
                return self._product(number, node)
            case "read":
                return self._read(number)
        return 0.0

    def _chain(self, node: Node) -> float:
        """The carry chain of a sum."""
        d = self._d
        if node.in_block and d.block_sum:
            return d.block_sum
        wire = d.wire + d.spread * max(0.0, log2(max(1, self._fanin_spread(node)) / 8))
        return wire + d.carry + d.carry_bit * max(1, node.made.bit_length())

    def _rows(self, number: int) -> float:
        """The rows of full adders in front of the chain of a sum of many terms."""
        terms = len(self._joined[number]) if number in self._joined else 2
        return ceil(log(terms / 2, 1.5) - 0.01) * (self._d.wire + self._d.table)

    def _fanin_spread(self, node: Node) -> int:
        """Readers of a bit that all bits of a node read: those of the node, and of others like it."""
        if node.kind != "logic":
            return 1
        return max((self._readers[leaf] for leaf in node.leaves if leaf[1] < 0), default=1)

    def _tables(self, inputs: int, tree: bool) -> float:
        """A function of so many inputs."""
        d, most = self._d, self._family.inputs
        if inputs <= most:
            return d.wire + d.table
        if tree:
            levels = levels_of(inputs, most) if self._family.merges else log(inputs, most)
            return levels * (d.wire + d.table)
        return d.wire + d.table + d.joined * (inputs - most)

    def _product(self, number: int, node: Node) -> float:
        d, sums = self._d, self._cover.sums_of_blocks(node)
        if sums < 0:
            return 3 * (d.wire + d.table)
        chain = d.wire + d.carry + d.carry_bit * node.made.bit_length()
        operands = {n for value in node.operands for n in self._numbers(value)}
        entering = 0.0 if operands <= self._inside.front else d.wire + d.far
        leaving = 0.0 if number in self._inside.products else d.far
        return entering + d.block + leaving + sums * chain

    def _read(self, number: int) -> float:
        memory, d = self._memory_of[number], self._d
        if not self._family.table_memory and not memory.table:
            return ceil(log2(max(2, memory.words))) * (d.wire + d.table)
        rows = max(1, ceil(memory.words / (16 if self._family.inputs == 4 else 64)))
        return d.wire + d.table + ceil(log2(rows) / 2) * (d.wire + d.table)

    # --- paths --------------------------------------------------------------------------

    def _trace(self, number: int) -> Path:
        """The path from a register to a node."""
        late = self._arrivals[number].late
        steps, start = self._back(number, lambda a: (a.late, a.before))
        return Path(late, (*start.start.steps, *steps))

    def _trace_passed(self, number: int) -> Path:
        """The path from an input to a node."""
        passed = self._arrivals[number].passed
        steps, _ = self._back(number, lambda a: (a.passed, a.passed_before))
        return Path(passed, tuple(steps))

    def _entrance(self, number: int) -> str:
        """The input at which the path of :meth:`_trace_passed` begins."""
        while self._arrivals[number].passed_before >= 0:
            number = self._arrivals[number].passed_before
        return self._ports[number]

    def _back(
        self, number: int, way: Callable[[Arrival], tuple[float, int]]
    ) -> tuple[list[Step], Arrival]:
        """The steps to a node, and where they begin; ``way`` gives an arrival's time and its predecessor."""
        steps: list[Step] = []
        arrival = self._arrivals[number]
        time, before = way(arrival)
        while before >= 0:
            earlier = self._arrivals[before]
            steps += self._steps(number, time - way(earlier)[0])
            number, arrival = before, earlier
            time, before = way(arrival)
        return list(reversed(steps)), arrival

    def _steps(self, number: int, delay: float) -> tuple[Step, ...]:
        """What a node adds to a path, the last part first."""
        node = self._nodes[number]
        place = self._graph.instance_outputs.get(number)
        if place is not None:
            instance = self._graph.calls[place[0]][0]
            passed = self._children[instance.module].through[place[1]][1]
            return passed.at(instance.location.shown).steps[::-1]
        names = {"logic": "logic", "add": "sum", "less": "comparison", "equal": "comparison",
                 "shift": "shift", "multiply": "product", "read": "memory"}  # fmt: skip
        return (Step(names.get(node.kind, node.kind), delay, node.place),)
