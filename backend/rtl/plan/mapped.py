"""Logic of recurrences timed as the lookup tables that it is made of.

``crc = crc >> 1 ^ (crc & 1 ? P : 0)``, eight times, is eight operations one behind another, and two levels of
tables with six inputs. The scheduler adds up a delay for every operation as a rule, which is quick, and costs
registers alone where it is too much. Around a recurrence it costs initiation intervals. There, the bits of
values are timed through cuts (:mod:`~allo.backend.rtl.operators.tables`), as mapping-aware schedulers do:
Tan, Dai, Gupta and Zhang, "Mapping-aware constrained scheduling for LUT-based FPGAs", FPGA 2015, and Zhao,
Tan, Dai and Zhang, "Area-efficient pipelining for FPGA-targeted high-level synthesis", DAC 2015.

Operands from outside of the recurrence come from registers: they have all the cycles that they need.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..graph.nodes import Body, Node
from ..operators.tables.bits import Word
from ..operators.tables.words import Mapper, complement, constant, is_sum, latest
from .timing_model import TimingModel


class Mapped:
    """The recurrences of one body, timed bit by bit."""

    def __init__(self, body: Body, timing: TimingModel) -> None:
        self._body, self._timing = body, timing
        self._mapper = Mapper(timing.device)
        around = recurrent(body)
        self._around = {node.number for node in around}
        self._members = {node.number for node in around if _is_logic(node)}
        self._words: dict[int, Word] = {}
        self._known: dict[tuple[object, ...], Word] = {}
        self._late: dict[tuple[object, ...], float] = {}
        self._passed: dict[int, Word] = {}
        """The bits of loads that take what is on its way to their registers."""
        self._terms: dict[tuple[int, int], tuple[Word, ...]] = {}
        self._single = {n for n, readers in followers(body).items() if len(readers) == 1}
        self._stores: dict[int, int] = defaultdict(int)
        for node in body.nodes:
            if node.kind == "store" and node.access is not None:
                self._stores[node.access.array.number] += 1

    @property
    def helps(self) -> bool:
        """Whether some of the recurrences' logic can be in one table."""
        return any(n.kind == "op" and n.number in self._members for n in self._body.nodes)

    def has(self, node: Node) -> bool:
        """Whether a node is timed here."""
        return node.number in self._members

    def ready(self, operand: Node) -> int:
        """The first cycle in which an operand, of this body, can be taken."""
        late = operand.settle > 0.0 and operand.number not in self._around
        return operand.avail + int(late)

    def place(self, node: Node, time: int) -> tuple[int, float]:
        """The cycle of a node whose operands are there at ``time``, and when its value settles in it."""
        settle = self._settle(node, time)
        chained = any(o.body is self._body and o.avail == time for o in node.operands)
        if settle > self._timing.budget and chained:
            time += 1
            settle = self._settle(node, time)
        return time, settle

    def passed(self, load: Node, stores: list[Node]) -> float:
        """When the value of a load is there that takes it from stores of its cycle; 0 without one."""
        self._passed.pop(load.number, None)
        if not stores:
            return 0.0
        word = self._leaves(load, 0.0)
        for store in stores:
            access = store.access
            assert access is not None and access.data is not None
            data = self._operand(access.data, store.time)
            when = self._operand(access.predicate, store.time) if access.predicate else ()
            key = ("passed", load.number, *map(id, (word, data, when)))
            if key not in self._known:
                self._known[key] = self._mapper.passing(when, data, word)
            word = self._known[key]
        self._passed[load.number] = word
        return latest(word)

    def _settle(self, node: Node, time: int) -> float:
        operands = [self._operand(operand, time) for operand in node.operands]
        if node.kind == "store":
            return self._stored(node, operands)
        key = (node.number, *map(id, operands))
        if key not in self._known:
            self._known[key] = word = self._word(node, operands)
            self._late[key] = latest(word)
        self._words[node.number] = self._known[key]
        return self._late[key]

    def _operand(self, operand: Node, time: int) -> Word:
        """The bits of an operand, those of registers where it was there before."""
        late = 0.0
        if operand.body is self._body and operand.avail == time:
            if self.has(operand):
                return self._words[operand.number]
            if operand.number in self._passed:
                return self._passed[operand.number]
            late = operand.settle
        return self._leaves(operand, late)

    def _leaves(self, node: Node, late: float) -> Word:
        key = ("leaf", node.number, late)
        if key not in self._known:
            self._known[key] = leaves_of(self._mapper, node, late)
        return self._known[key]

    def _word(self, node: Node, operands: list[Word]) -> Word:
        word = self._summed(node, operands) or word_of(self._mapper, node, operands)
        if word is not None:
            return word
        late = max(map(latest, operands), default=0.0) + self._timing.entry(node)
        return self._mapper.tables.leaves(late, node.width)

    def _summed(self, node: Node, operands: list[Word]) -> Word | None:
        """The bits of a sum, which takes in those that it alone reads, as synthesis has it."""
        net = node.operator.netlist if node.operator is not None else None
        if net is None or not is_sum(net):
            return None
        places = zip(node.operands, operands, strict=True)
        first, second = (self._terms.get((o.number, id(word)), (word,)) for o, word in places)
        if net.nodes[net.output].op == "sub":
            second = tuple(map(complement, second))
        terms = first + second
        word = self._mapper.total(terms) if len(terms) > 2 else self._mapper.output(net, operands)
        if node.number in self._single and not node.crosses:
            self._terms[node.number, id(word)] = terms
        return word

    def _stored(self, node: Node, operands: list[Word]) -> float:
        """When what a register takes is at it, behind the choice among its stores, and its enable."""
        assert node.access is not None
        late = {o.number: latest(word) for o, word in zip(node.operands, operands, strict=True)}
        data, predicate = node.access.data, node.access.predicate
        several = self._stores[node.access.array.number] > 1
        taken = late.get(data.number, 0.0) if data is not None else 0.0
        enabled = late.get(predicate.number, 0.0) if predicate is not None else 0.0
        device = self._timing.device
        return max(taken + device.level_ns * several, enabled + device.glue_ns, *late.values())


def leaves_of(mapper: Mapper, operand: Node, late: float) -> Word:
    """The bits of what comes from a register, or of a constant."""
    if operand.kind == "const" and isinstance(operand.data, int):
        return constant(operand.data, operand.width)
    return mapper.tables.leaves(late, operand.width)


def word_of(mapper: Mapper, node: Node, operands: list[Word]) -> Word | None:
    """The bits of a node from those of its operands; None where no tables are known for it."""
    if node.kind == "wire" and operands:
        return _wired(node, operands)
    net = node.operator.netlist if node.operator is not None else None
    if net is not None and [width for _, width in net.inputs] == [len(w) for w in operands]:
        return mapper.output(net, operands)
    return None


def _wired(node: Node, operands: list[Word]) -> Word:
    """The bits that a node without logic selects from those of its operands."""
    how, low = node.data[:2]
    if how == "concat":
        return tuple(bit for word in operands for bit in word)
    word = operands[0]
    if how == "slice":
        return word[low : low + node.width]
    fill = word[-1:] if how == "sext" else constant(0, 1)
    return word + fill * (node.width - len(word))


def _is_logic(node: Node) -> bool:
    """Whether a node is nothing but logic between registers."""
    if node.kind in ("load", "store"):
        access = node.access
        return access is not None and access.array.storage == "reg" and not access.forwarded
    return node.kind in ("op", "wire", "lin") and node.latency == 0


def recurrent(body: Body) -> list[Node]:
    """The nodes on some cycle of dependences.

    Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1 (1972).
    """
    readers = followers(body)
    found: list[Node] = []
    for component in _components(body.nodes, readers):
        (first, *others) = component
        if others or any(reader is first for reader in readers[first.number]):
            found += component
    return found


def followers(body: Body) -> dict[int, list[Node]]:
    """Of each node, by number, those that depend on it: its readers, and what must come behind it."""
    found: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        for operand in node.operands:
            if operand.body is body:
                found[operand.number].append(node)
    for edge in body.edges:
        found[edge.source.number].append(edge.target)
    return found


def _components(nodes: list[Node], after: dict[int, list[Node]]) -> Iterator[list[Node]]:
    """The strongly connected components of a graph."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: dict[int, Node] = {}
    for root in nodes:
        if root.number in order:
            continue
        stack = [(root, iter(after[root.number]))]
        order[root.number] = low[root.number] = len(order)
        open_[root.number] = root
        while stack:
            node, rest = stack[-1]
            number = node.number
            following = next(rest, None)
            if following is None:
                stack.pop()
                if stack:
                    outer = stack[-1][0].number
                    low[outer] = min(low[outer], low[number])
                if low[number] == order[number]:
                    yield _taken(open_, number)
            elif following.number not in order:
                order[following.number] = low[following.number] = len(order)
                open_[following.number] = following
                stack.append((following, iter(after[following.number])))
            elif following.number in open_:
                low[number] = min(low[number], order[following.number])


def _taken(open_: dict[int, Node], number: int) -> list[Node]:
    """Take a component off the open nodes: the node and all that were opened after it."""
    found: list[Node] = []
    while True:
        last, node = open_.popitem()
        found.append(node)
        if last == number:
            return found
