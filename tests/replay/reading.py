"""What the source said of each access, and the graph of a function before later steps change it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from allo.backend.rtl.graph.nodes import Access, Array, Body, Lin, Node
from allo.backend.rtl.graph.prune import bodies_of, outside_uses, regions_of
from allo.backend.rtl.graph.regions import Function, Leaf, Loop

from .values import Fn, Units, linear, wire


@dataclass(slots=True, eq=False)
class Said:
    """A load or store of the source, in the order of the program.

    Attributes:
        index: the subscripts; of a whole array's fill or copy the bank and its word, ``by_bank``.
        predicate: the condition under which it stands.
        value: what a store writes, or what the compiler took for a load's word.
    """

    kind: str
    array: Array
    index: tuple[Lin, ...]
    predicate: Node | None
    value: Node
    by_bank: bool = False


@dataclass(slots=True)
class Place:
    """Where an access goes: a bank or the number of the node that chooses among candidates, and a word."""

    array: Array
    bank: int | None
    chosen: int
    candidates: tuple[int, ...]
    word: int

    @staticmethod
    def of(access: Access) -> Place:
        """The place of an access."""
        chosen, word = access.bank_node, access.word_node
        return Place(
            access.array,
            access.bank,
            chosen.number if chosen is not None else 0,
            access.candidates,
            word.number if word is not None else 0,
        )


@dataclass(slots=True)
class Step:
    """A node that is run: ``value = run(operands)``, or an access or a stream's operation.

    Attributes:
        inputs: numbers of the nodes that ``run`` reads; of the others the data, then what follows it.
        predicate: number of the condition, 0 for always.
        looks: numbers of the stores that a load looks for in its cycle and in those behind it; ``at_once``:
            before it is read.
    """

    kind: str
    number: int
    run: Fn | None
    inputs: tuple[int, ...]
    width: int = 0
    place: Place | None = None
    predicate: int = 0
    stream: Any = None
    asks: str = ""
    looks: tuple[frozenset[int], ...] = ()
    at_once: bool = False
    label: str = ""


def step_of(node: Node, units: Units) -> Step:
    """A node as it is now."""
    inputs = tuple(operand.number for operand in node.operands)
    match node.kind:
        case "op":
            assert node.operator is not None
            return Step("pure", node.number, units.function(node.operator), inputs)
        case "wire":
            return Step("pure", node.number, wire(node), inputs)
        case "lin":
            run, top = linear(node.data), (1 << node.width) - 1
            return Step("pure", node.number, lambda *values: run(*values) & top, inputs)
        case "exit":
            return Step("exit", node.number, None, inputs)
        case "check":
            return Step("check", node.number, None, inputs)
    label = f"{node.kind} of {node.label} ({node.place})"
    if node.access is None:
        predicate = node.predicate.number if node.predicate is not None else 0
        asks = node.data or ""
        step = Step(node.kind, node.number, None, inputs, node.width, predicate=predicate)
        step.stream, step.asks, step.label = node.stream, asks, label
        return step
    access = node.access
    predicate = access.predicate.number if access.predicate is not None else 0
    data = (access.data.number,) if node.kind == "store" and access.data is not None else ()
    step = Step(node.kind, node.number, None, data, node.width, Place.of(access), predicate)
    step.label = label
    step.at_once = not access.array.read_latency
    ways = [access.bypass]
    ways += [access.late_bypass] if access.late and node.latency > 1 else []
    ways += [access.prompt_bypass] if access.prompt and node.latency > 1 else []
    step.looks = tuple(frozenset(store.number for store in stores) for stores in ways)
    return step


@dataclass(slots=True)
class Line:
    """A :class:`Said` with its subscripts as functions."""

    said: Said
    index: list[tuple[Fn, tuple[int, ...]]]
    predicate: int
    value: int

    @staticmethod
    def of(said: Said) -> Line:
        """What was said, whatever becomes of its nodes."""
        index = [(linear(lin), tuple(node.number for node, _ in lin.terms)) for lin in said.index]
        predicate = said.predicate.number if said.predicate is not None else 0
        return Line(said, index, predicate, said.value.number)


@dataclass(slots=True)
class Source:
    """A function as it was read: the steps and lines of its bodies, by number.

    Attributes:
        static: the body of values that do not change while others run, in order.
        constants: values of constant nodes, by number.
        small: numbers of the arrays and nodes of outside whose values choose elements, or bound loops.
    """

    bodies: dict[int, list[Step]] = field(default_factory=dict)
    lines: dict[int, list[Line]] = field(default_factory=dict)
    static: list[Step] = field(default_factory=list)
    constants: dict[int, int] = field(default_factory=dict)
    small: set[int] = field(default_factory=set)


def constants_of(nodes: list[Node], found: dict[int, int]) -> None:
    """Note the constants among the operands of nodes, and those that their accesses name."""
    for node in nodes:
        for operand in node.operands:
            if operand.kind == "const":
                found[operand.number] = operand.data
        if node.access is not None:
            access = node.access
            for other in (access.bank_node, access.word_node, access.data, access.predicate):
                if other is not None and other.kind == "const":
                    found[other.number] = other.data


def read(function: Function, static: Body, said: dict[int, list[Said]], units: Units) -> Source:
    """A function and what its source said, kept."""
    source = Source()
    stack: list[Node] = []
    source.static = [step_of(node, units) for node in static.nodes]
    constants_of(static.nodes, source.constants)
    for body in bodies_of(function.root):
        source.bodies[body.number] = [step_of(node, units) for node in body.nodes]
        constants_of(body.nodes, source.constants)
        lines = source.lines[body.number] = [Line.of(s) for s in said.get(id(body), ())]
        for line in lines:
            found = (line.said.value, line.said.predicate)
            for node in found:
                if node is not None and node.kind == "const":
                    source.constants[node.number] = node.data
            stack += [node for lin in line.said.index for node, _ in lin.terms]
    source.small = _small(function, stack)
    return source


def _small(function: Function, stack: list[Node]) -> set[int]:
    """Numbers of what subscripts and bounds of loops are made of; of arrays, below 0."""
    for region in regions_of(function.root):
        if isinstance(region, Leaf | Loop):
            stack += outside_uses(region)
    small: set[int] = set()
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if node.kind == "load" and node.access is not None:
            small.add(-node.access.array.number - 1)
            continue
        if node.is_free or node.kind == "get":
            small.add(node.number)
        if node.kind in ("wire", "lin", "op"):
            stack += node.operands
    return small


class Notes:
    """What the source has said of the bodies that are being filled, by their identity."""

    def __init__(self) -> None:
        self.said: dict[int, list[Said]] = {}
        self.kept: list[Body] = []
        self.deep = 0

    def add(self, body: Body, said: Said) -> None:
        """Note an access of a body."""
        if id(body) not in self.said:
            self.said[id(body)] = []
            self.kept.append(body)
        self.said[id(body)].append(said)
