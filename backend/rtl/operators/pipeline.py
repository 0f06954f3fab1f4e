"""Where the registers of a pipelined unit go.

Every node gets a stage: as early as the clock allows, then moved later where that saves
register bits and no path grows past the clock. A value used ``k`` stages after its own passes
``k`` registers; the output passes one more, so that a unit with ``latency`` stages answers
``latency`` enabled edges after its operands.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.devices import OperatorDelays

from .netlist import WIRING, Netlist
from .tables.bits import Word
from .tables.words import Mapper, latest
from .timing import live_nodes, node_delay


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A staged netlist.

    Attributes:
        stages: stage (0 first) of every live node.
        latency: number of stages.
        register_bits: flip-flops in all.
        first_ns: longest logic path in the first stage; ``slowest_ns`` in any stage, from its registers.
    """

    stages: dict[int, int]
    latency: int
    register_bits: int
    first_ns: float
    slowest_ns: float


def pipeline(
    net: Netlist,
    device: OperatorDelays,
    clock_mhz: float,
    least: int = 1,
    first_ns: float | None = None,
    *,
    tables: bool = False,
) -> Pipeline:
    """Stages for ``net`` at a clock, ``least`` or more, with as few stages and registers as found.

    ``first_ns``: the most that the first stage may take, the clock's period as a rule. ``tables``: whether
    logic is timed as the lookup tables that it becomes, not by its operations.
    """
    builder = _Stager(net, device, device.budget_ns(clock_mhz), first_ns, tables=tables)
    builder.place_early()
    builder.stage[net.output] = max(builder.stage[net.output], least - 1)
    builder.move_late()
    builder.keep_products_whole()
    return builder.result()


def stages(net: Netlist, device: OperatorDelays, clock_mhz: float, *, tables: bool = False) -> int:
    """The fewest stages for ``net`` at a clock."""
    builder = _Stager(net, device, device.budget_ns(clock_mhz), tables=tables)
    builder.place_early()
    return builder.stage[net.output] + 1


def behind_registers(net: Netlist, plan: Pipeline) -> Pipeline:
    """The same stages behind registers for the operands."""
    inputs = [i for i in plan.stages if net.nodes[i].op == "input"]
    stages = {i: stage + (0 if i in inputs else 1) for i, stage in plan.stages.items()}
    bits = plan.register_bits + sum(net.nodes[i].width for i in inputs)
    return Pipeline(stages, plan.latency + 1, bits, 0.0, max(plan.slowest_ns, plan.first_ns))


class _Stager:
    """Gives stages to the nodes of one netlist.

    Nodes move by what each adds to the time of its operands, for that is quick; where the tables of what
    comes out would be too slow, they go back.
    """

    def __init__(
        self,
        net: Netlist,
        device: OperatorDelays,
        budget: float,
        first_ns: float | None = None,
        *,
        tables: bool = False,
    ) -> None:
        self.net = net
        self.budget = budget
        self.source_ns = min(device.source_ns, 0.5 * budget)
        first = budget if first_ns is None else min(budget, self.source_ns + first_ns)
        self.first_budget = first
        self.live = live_nodes(net)
        self.constant = {i for i in self.live if net.nodes[i].op == "const"}
        self.alone = {i: node_delay(net, net.nodes[i], device) for i in self.live}
        self.added: dict[int, float] = {}
        self.users: dict[int, list[int]] = {i: [] for i in self.live}
        for index in self.live:
            for arg in set(net.nodes[index].args):
                self.users[arg].append(index)
        self.stage: dict[int, int] = {}
        self._packs, self._mapper = tables, Mapper(device)
        self._words: dict[int, Word] = {}
        self._held: dict[int, Word] = {}

    def place_early(self) -> None:
        """The first stages in which the tables of each node fit."""
        for index in self.live:
            stage = max((self.stage[i] for i in self._read(index)), default=0)
            if self._late(index, stage) and self._start(index, stage) > 0.0:
                stage += 1
            self._place(index, stage)
            start = self._start(index, stage)
            self.added[index] = max(0.0, latest(self._words[index]) - start)

    def move_late(self) -> None:
        """Move nodes to later stages, as far as the tables fit in these, too."""
        for _ in range(4):
            before = dict(self.stage)
            moved = False
            for index in reversed(self.live):
                if index != self.net.output and self.net.nodes[index].op not in ("input", "const"):
                    moved |= self._try_later(index)
            if not moved:
                return
            if not self._fits_tables():
                self.stage = before
                self._fits_tables()
                return

    def keep_products_whole(self) -> None:
        """Take parts of a product behind its register where nothing reads them before.

        A multiplier block has a register for its result as a whole, and none for each part.
        """
        for product, parts in self._parts_of_products().items():
            made = self.stage[product]
            readers = (
                user for i in (product, *parts) for user in self.users[i] if user not in parts
            )
            if any(self.stage[user] == made for user in readers):
                continue
            for part in parts:
                self._place(part, made + 1)

    def _parts_of_products(self) -> dict[int, list[int]]:
        """By product, the nodes of its stage that are wires of it alone, operands first."""
        parts: dict[int, list[int]] = {}
        product_of: dict[int, int] = {}
        for index in self.live:
            if self.net.nodes[index].op == "mul":
                parts[index], product_of[index] = [], index
            elif self.net.nodes[index].op in WIRING:
                read = {product_of.get(i) for i in self._read(index)}
                product = read.pop() if len(read) == 1 else None
                if product is not None and self.stage[index] == self.stage[product]:
                    parts[product].append(index)
                    product_of[index] = product
        return parts

    def _fits_tables(self) -> bool:
        """Time all tables anew; whether no stage is too slow that was not before."""
        fits = True
        for index in self.live:
            stage = self.stage[index]
            late = self._late(index, stage)
            fits = fits and not (late and self._start(index, stage) > 0.0)
        return fits

    def _place(self, index: int, stage: int) -> None:
        self.stage[index] = stage
        self._words[index] = self._word(index, stage)

    def _late(self, index: int, stage: int) -> bool:
        """Whether the tables of a node are too slow in a stage."""
        word = self._words[index] = self._word(index, stage)
        return latest(word) > self._budget(stage) + 1e-9

    def _read(self, index: int) -> list[int]:
        return [i for i in self.net.nodes[index].args if i not in self.constant]

    def _start(self, index: int, stage: int) -> float:
        """When the last operand comes that the same stage makes."""
        inside = (i for i in self._read(index) if self.stage[i] == stage)
        return max((latest(self._words[i]) for i in inside), default=0.0)

    def _word(self, index: int, stage: int) -> Word:
        node, tables = self.net.nodes[index], self._mapper.tables
        if node.op == "input":
            if index not in self._held:
                self._held[index] = tables.leaves(self.source_ns, node.width)
            return self._held[index]
        if not self._packs:
            return tables.leaves(self._start(index, stage) + self.alone[index], 1)
        operands = [self._operand(i, stage) for i in node.args]
        return self._mapper.word(self.net, node, operands)

    def _operand(self, index: int, stage: int) -> Word:
        """The bits of an operand, those of a register where an earlier stage made it."""
        if index in self.constant or self.stage[index] == stage:
            return self._words[index]
        key = ~index
        if key not in self._held:
            width = self.net.nodes[index].width
            self._held[key] = self._mapper.tables.leaves(0.0, width)
        return self._held[key]

    def _try_later(self, index: int) -> bool:
        users = self.users[index]
        limit = min(self.stage[user] for user in users)
        now = self.stage[index]
        if limit == now:
            return False
        node = self.net.nodes[index]
        last = max(self.stage[user] for user in users)
        # Width of each operand, and the last stage in which another node uses it.
        operands = [
            (
                self.net.nodes[i].width,
                max((self.stage[u] for u in self.users[i] if u != index), default=self.stage[i]),
            )
            for i in set(node.args) - self.constant
        ]

        def bits(stage: int) -> int:
            """Register bits that depend on the node's stage."""
            own = (last - stage) * node.width
            return own + sum(width * max(other, stage) for width, other in operands)

        best, best_bits = now, bits(now)
        for stage in range(now + 1, limit + 1):
            if bits(stage) >= best_bits:
                continue
            self.stage[index] = stage
            if self._fits(index):
                best, best_bits = stage, bits(stage)
        self.stage[index] = best
        return best != now

    def _registers(self, index: int) -> int:
        last = max((self.stage[user] for user in self.users[index]), default=self.stage[index])
        return last - self.stage[index]

    def _fits(self, index: int) -> bool:
        taken = self._before(index, {}) + self._after(index, {})
        return taken <= self._budget(self.stage[index])

    def _budget(self, stage: int) -> float:
        """Logic that fits in a stage."""
        return self.budget if stage else self.first_budget

    def _before(self, index: int, known: dict[int, float]) -> float:
        """Longest path inside the stage up to and including ``index``."""
        if index in known:
            return known[index]
        stage = self.stage[index]
        start = self.source_ns if self.net.nodes[index].op == "input" else 0.0
        for arg in self.net.nodes[index].args:
            if arg not in self.constant and self.stage[arg] == stage:
                start = max(start, self._before(arg, known))
        known[index] = start + self._delay(index)
        return known[index]

    def _delay(self, index: int) -> float:
        """What a node adds behind the operands of its stage; all of its own where there are none."""
        chained = any(self.stage[i] == self.stage[index] for i in self._read(index))
        return self.added[index] if chained else self.alone[index]

    def _after(self, index: int, known: dict[int, float]) -> float:
        """Longest path inside the stage behind ``index``."""
        if index in known:
            return known[index]
        stage = self.stage[index]
        longest = 0.0
        for user in self.users[index]:
            if self.stage[user] == stage:
                longest = max(longest, self._delay(user) + self._after(user, known))
        known[index] = longest
        return longest

    def result(self) -> Pipeline:
        latency = self.stage[self.net.output] + 1
        bits = sum(self._registers(i) * self.net.nodes[i].width for i in self.live)
        bits -= sum(self._registers(i) * self.net.nodes[i].width for i in self.constant)
        logic = [i for i in self.live if i not in self.constant]
        at_once = (latest(self._words[i]) for i in logic if self.stage[i] == 0)
        first = max(at_once, default=self.source_ns) - self.source_ns
        slowest = max((latest(self._words[i]) for i in logic if self.stage[i]), default=0.0)
        bits += self.net.nodes[self.net.output].width
        return Pipeline(self.stage, latency, bits, max(0.0, first), max(first, slowest))
