"""The longest path from register to register of a design, with the places in Python that it passes.

Modules are timed callees first. Of each one is known, by port, how late its outputs come from registers
inside, how long its inputs take to a register, and which inputs reach which outputs. A value is as late as
its last bit. Where the record says so, the first bit of a sum is known to come sooner, as its carry does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log2

from allo.backend.devices import Cells, SignalDelays

from .block_registers import BlockRegisters, block_registers
from .build import Graph
from .cover import Cover
from .drawn import DrawnModule, input_numbers
from .memory import memory_cost
from .merging.gates import levels_of, of_long_chain, one_gate, only_inverts
from .nodes import Node, Value, registers_behind, tables_behind, width_of
from .paths import NEVER, NO_PATH, Arrival, ModuleTiming, Path, Step
from .times.cells import CellDelays
from .times.flattest import NOTHING, Flattest, Leaf, LookupTables, Time

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
        self._blocks: dict[int, float] = {}
        self._block_reads: set[int] = set()
        self._cover = cover
        self._joined = cover.sums.terms if cover.sums is not None else {}
        self._inside = BlockRegisters()
        if family.block_registers:
            self._inside = block_registers(graph, self._cover.sums_of_blocks)
        self._gated = registers_behind(self._nodes)
        self._readers = tables_behind(self._nodes)
        self._cells = CellDelays(cover, self._nodes, family, delays, self._inside, self._readers)
        self._tables = LookupTables.of(family, delays)
        self._flat = Flattest(self._nodes, self._tables, self._leaf)
        chains = ("less",) if delays.skewed else ()
        self._timed_flat = ("logic", "equal", "add", *chains) if delays.flattest else ()
        self._worst: tuple[float, int, Path] = (NEVER, -1, NO_PATH)
        self._from_inputs: dict[str, tuple[float, int, Path]] = {}
        for memory in graph.memories.values():
            cost = memory_cost(family, memory, cover.is_held)
            for _, number in memory.reads:
                self._cells.memory_of[number] = memory
                if not (memory.table or cost.keys() & {"lutram", "bram", "uram"}):
                    self._cells.of_registers.add(number)
                block = (
                    delays.ultra if cost.get("uram") else delays.memory if cost.get("bram") else 0.0
                )
                held = cover.register_behind(number) if block else None
                if held is not None:
                    self._block_reads.add(number)
                    beside = cost.get("lut", 0) > 0 and not memory.table
                    more = self._cells.behind_blocks(memory) if beside else 0.0
                    self._blocks[id(held)] = block + delays.far + delays.leaving + more

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
            planned = (self._arrivals[n].planned for n in self._numbers(value))
            found.planned[name] = max(planned, default=0.0)
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
                    yield control, self._to_control(node, control), "enable or reset", node.place
        for memory in self._graph.memories.values():
            for written in memory.writes:
                for value in written:
                    yield value, d.wire + d.setup, "memory", memory.place
            for address, number in memory.reads:
                if number in self._block_reads:
                    yield address, d.wire + d.far + d.setup, "memory", memory.place

    def _to_control(self, node: Node, control: Value) -> float:
        """From the last cell to an enable or a reset of a register."""
        d, controls, held = self._d, node.operands[1:], "h" in node.detail
        wire = d.wire + d.control * max(0.0, log2(self._gated[control] / 64))
        wire += d.shared if self._gated[control] > FEW else 0.0
        if d.joins_controls and (held or len(controls) > len(node.detail)):
            wire += self._joining(controls)
        resets = held or "r" in node.detail and control is controls[-1]
        return wire + d.setup + (d.reset_setup if resets else 0.0)

    def _joining(self, controls: Sequence[Value]) -> float:
        """The tables that make one enable of several, or hold a reset back by an enable."""
        runs = [run for control in controls for run in control if run[0] >= 0]
        for number, _, _ in runs:
            self._arrival(number)
        return self._flat.joining(runs)

    def _to_register(self, number: int, data: Value) -> float:
        """From the last cell to a register, which may be one of a multiplier block."""
        d = self._d
        if number in self._inside.front:
            return d.setup + d.wire + d.far
        return d.setup if number in self._inside.behind else self._into(data)

    def _into(self, data: Value) -> float:
        """From the last cell to a register, which is beside a lookup table or a chain."""
        near = all(n < 0 or self._beside_registers(self._nodes[n]) for n, _, _ in data)
        return self._d.setup + (self._d.beside if near else self._d.wire)

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
            out = self._blocks.get(id(node), d.register_out)
            out += d.far if number in self._inside.behind else 0.0
            what = "memory" if id(node) in self._blocks else "register"
            return Arrival(late=out, start=Path(out, (Step(what, out, node.place),)))
        if number in self._ports:
            return Arrival(passed=0.0, inputs=frozenset((self._ports[number],)))
        if node.kind in self._timed_flat:
            return self._flat_arrival(number, node)
        found = Arrival(delay=self._cells.delay(number, node))
        if node.kind == "input":
            place = self._graph.instance_outputs.get(number)
            instance = self._graph.calls[place[0]][0] if place is not None else None
            child = self._children.get(instance.module) if instance is not None else None
            if child is None or instance is None or place is None:
                found.late = d.register_out
                found.start = Path(found.late)
                return found
            found.start = child.starts.get(place[1], NO_PATH).at(instance.location.shown)
            found.late = found.start.delay_ns
            through = child.through.get(place[1])
            found.delay = through[1].delay_ns if through else NEVER
            found.levels = sum(s.what == "logic" for s in through[1].steps) if through else 0
            found.planned = child.planned.get(place[1], 0.0)
        # a source that is missing is on a way round that no signal takes
        arrivals = [(n, self._arrivals[n]) for n in self._sources(number) if n in self._arrivals]
        found.planned += self._cells.planned(number, node)
        if not (node.kind == "multiply" and self._cover.sums_of_blocks(node) >= 0):
            found.planned += max((arrival.planned for _, arrival in arrivals), default=0.0)
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
        d = self._d
        if node.kind == "logic":
            time = self._flat.logic(number)
        elif node.kind == "equal":
            time = self._flat.equal(number)
        elif node.kind == "less":
            time = self._flat.onto_chain(node.operands, d.compare_bit or d.carry_bit)
            time = time.more(self._cells.delay(number, node))
            time = self._off_chain(time, width_of(node.operands[0]))._replace(planned_ahead=0.0)
        else:
            time = self._summed(number, node)
        reached = (self._arrivals[n].inputs for n in self._sources(number) if n in self._arrivals)
        inputs = frozenset[str]().union(*reached)
        found = Arrival(time.late, time.passed, time.before, time.passed_before, inputs)
        found.ahead, found.passed_ahead = time.ahead, time.passed_ahead
        found.planned, found.planned_ahead = time.planned, time.planned_ahead
        return found

    def _summed(self, number: int, node: Node) -> Time:
        """A sum: one chain, or, of a sum of sums, rows of adders in front of one where that is sooner."""
        time = self._chained(node.operands, node)
        if number not in self._joined:
            return time
        joined = self._chained(self._joined[number], node).more(self._cells.rows(number))
        if self._d.mapping is not None:
            row = self._d.mapping.through(self._family.inputs)
            joined = joined.planned_more(row * self._cells.row_levels(number))
        return min(time, joined, key=self._tables.order)

    def _chained(self, operands: Sequence[Value], node: Node) -> Time:
        """A sum as one chain, whose bits come one after the other where the record says so."""
        chain, bit_ns = self._cells.chain(node), self._d.carry_bit
        if not self._d.skewed:
            return self._flat.onto_chain(operands).more(chain)
        time = self._flat.onto_chain(operands, bit_ns).more(chain)
        bits = node.made.bit_length()
        first, most = self._flat.first_bit(operands), bit_ns * (bits - 1)
        if self._d.mapping is None:
            return time.skewed(first.more(chain - most), most, 0.0)
        ahead = self._d.mapping.carry_bit * (bits - 1)
        first = self._off_chain(first.more(chain - most), 1)
        return self._off_chain(time, bits).skewed(first, most, ahead)

    def _off_chain(self, time: Time, bits: int) -> Time:
        """A time at a carry chain, with what synthesis takes for the delay of so many bits of it."""
        mapping = self._d.mapping
        if mapping is None:
            return time
        return time.planned_more(mapping.wire + mapping.carry + mapping.carry_bit * bits)

    def _leaf(self, leaf: Leaf) -> Time:
        """How late a leaf comes to the table that reads it, later where all bits of a node read one bit."""
        number, bit = leaf
        arrival = self._arrivals.get(number)
        if arrival is None:
            # a source that is missing is on a way round that no signal takes
            return NOTHING
        readers = self._readers[leaf] if bit < 0 else 1
        more = self._d.spread * max(0.0, log2(max(1, readers) / 8))
        time = Time(arrival.late, number, arrival.passed, number, planned=arrival.planned)
        if arrival.ahead or arrival.passed_ahead or arrival.planned_ahead:
            time = _from_bit(time, arrival, bit, self._nodes[number].width)
        return time.more(more)

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


def _from_bit(time: Time, arrival: Arrival, bit: int, width: int) -> Time:
    """When the bits of a node from one on are there; only that one where the number is its complement."""
    part = (width - 1 - max(bit, ~bit)) / max(1, width - 1)
    ahead, passed = arrival.ahead * part, arrival.passed_ahead * part
    planned = arrival.planned_ahead * part
    if bit >= 0:
        return time._replace(ahead=ahead, passed_ahead=passed, planned_ahead=planned)
    return Time(
        time.late - ahead, time.before, time.passed - passed, time.passed_before,
        planned=time.planned - planned,
    )  # fmt: skip
