"""Bodies of a function as lines of Python: what decides in them, and the words that do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...compiled import CompiledModule
from ...graph.nodes import ASKS, Body, Node
from ...operators.spec import Operator
from ..refusal import Unforeseen
from ..variants import Part, Request, ordered, shape_of, step_of
from .needs import Needs, is_raced, places_of
from .values import linear, logic, mask, signed, software, wire

_FEW_LINES = 8
"""Of an operator that is computed where it stands; a call takes the time of some lines."""


class BodyCode:
    """Lines of a generator; those of bodies and values are written here.

    Attributes:
        buffers: words of the elastic buffer of each stream, by number.
    """

    def __init__(self, module: CompiledModule, needs: Needs, buffers: dict[int, int]) -> None:
        self.module = module
        self.needs = needs
        self.buffers = buffers
        self._frozen = module.interface.frozen
        self._lines: list[str] = []
        self._depth = 1
        self._space: dict[str, Any] = {}
        self._known: set[int] = set()
        self._filling: Body | None = None
        self._requests: list[Request] = []
        self._conditions: list[str] = []
        self._cut = 0

    # --- text ------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self._line(head)
        self._depth += 1
        known = set(self._known)
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self._line("pass")
        self._known = known
        self._depth -= 1

    @contextmanager
    def _fresh(self) -> Iterator[None]:
        """Values that are stable are computed anew from here on."""
        saved, self._known = self._known, set()
        yield
        self._known = saved

    def _wait(self, cycles: str) -> None:
        self._line(f"T.wait({cycles})")

    def _own(self, hint: str, value: Any) -> str:
        """The name of an object in the generator's space."""
        name = f"{hint}{len(self._space)}"
        self._space[name] = value
        return name

    # --- values ----------------------------------------------------------------------

    def _value(self, node: Node) -> str:
        """The text of a node's value; what is computed from stable values is computed where it is used."""
        if node.kind == "const":
            return str(node.data & mask(node.width))
        here = node.body is self.module.static or node.body is self._filling
        if here and node.number not in self._known and not node.is_free:
            self._compute(node)
        return f"v{node.number}"

    def _compute(self, node: Node) -> None:
        self._known.add(node.number)
        if node.kind == "load":
            self._load(node)
            return
        names = [self._value(operand) for operand in node.operands]
        match node.kind:
            case "lin":
                terms = [self._value(term) for term, _ in node.data.terms]
                text = linear(node.data, terms, node.width)
            case "wire":
                text = wire(node, names)
            case "exit":
                text = names[0]
            case "op":
                assert node.operator is not None
                self._operator(node.operator, names, f"v{node.number}")
                return
            case _:
                raise Unforeseen(f"it depends on a {node.kind}", node.place)
        self._line(f"v{node.number} = {text}")

    def _operator(self, operator: Operator, operands: Sequence[str], result: str) -> None:
        """What an operator computes: in its place where it takes few lines."""
        found = logic(operator)
        if len(found.lines) <= _FEW_LINES:
            for line in found.applied(operands, result):
                self._line(line)
            return
        name = self._own("op", software(operator))
        self._line(f"{result} = {name}({', '.join(operands)})")

    def _signed(self, node: Node) -> str:
        return signed(self._value(node), node.width)

    def _body(self, body: Body, nodes: Sequence[Node] | None = None, *, timed: bool = False) -> str:
        """Compute what decides in a run of a body; the conditions of its stream operations as bits.

        Args:
            timed: it waits for nothing, so its iterations begin at known cycles.
        """
        needs = self.needs
        conditions = self._conditions = []
        self._filling, self._cut = body, 0
        requests: list[Request] = []
        asked: list[str] = []
        for node in body.nodes if nodes is None else nodes:
            if node.tries:
                self._attempt(node, body, timed=timed)
            elif node.stream is not None:
                conditions += self._stream(node)
            elif node.kind == "store":
                self._store(node)
            elif node.number in needs.nodes and not node.is_free and node.number not in self._known:
                self._compute(node)
            for number, place in places_of(node, self.module, needs):
                parts = self._asking(node, number)
                requests.append(Request(node.time, place, len(asked) if parts else -1))
                asked += [" and ".join(parts)] if parts else []
        self._requests = requests
        conditions += [f"bool({text})" for text in asked]
        return _bits(conditions)

    def _asking(self, node: Node, number: int) -> list[str]:
        """Under which conditions an access asks for the port of its bank of this number."""
        access = node.access
        assert access is not None
        found = []
        if node.kind == "store" and access.predicate is not None:
            found.append(self._value(access.predicate))
        if node.kind == "load" and access.gated and access.gate is not None:
            found.append(self._value(access.gate))
        if number >= 0 and access.bank is None and access.bank_node is not None:
            found.append(f"{self._value(access.bank_node)} == {number}")
        return found

    def _asks(self, body: Body) -> bool:
        """Whether a body asks for ports that others may ask for."""
        return any(places_of(node, self.module, self.needs) for node in body.nodes)

    def _stream(self, node: Node) -> list[str]:
        assert node.stream is not None
        number, decides = node.stream.number, node.stream.number in self.needs.streams
        self._known.add(node.number)
        condition = [] if node.predicate is None else [self._value(node.predicate)]
        if decides and node.kind == "get":
            with self._block(f"if {condition[0]}:") if condition else _nothing():
                self._line(f"while not Q[{number}]: yield Q[{number}]")
                self._line(f"v{node.number} = Q[{number}].popleft()")
        elif decides:
            with self._block(f"if {condition[0]}:") if condition else _nothing():
                self._line(f"Q[{number}].append({self._value(node.operands[0])})")
        return condition

    def answers(self, node: Node) -> bool:
        """Whether what an operation finds, which does not wait, decides what happens."""
        needs, stream = self.needs, node.stream
        if not node.tries or stream is None:
            return False
        passes = node.data not in ASKS and stream.number in needs.streams
        return passes or node.number in needs.nodes

    def _attempt(self, node: Node, body: Body, *, timed: bool) -> None:
        """Ask a stream without waiting: the trace ends where an answer decides, and goes on behind it."""
        assert node.stream is not None
        number, answers = node.stream.number, self.answers(node)
        self._known.add(node.number)
        condition = "" if node.predicate is None else self._value(node.predicate)
        self._conditions += [condition] if condition else []
        if timed:
            when = f"K * {body.ii} + {node.time}"
            with self._block(f"if {condition}:") if condition else _nothing():
                self._line(f"T.attempt({step_of(node)}, C[{number}], {when})")
        elif answers:
            end = ordered(body).index(node) + 1
            part = self._part(body, end, last=False)
            self._line(f"T.emit({part}, {_bits(self._conditions)}, C, 1)")
        if not answers:
            return
        self._line(f"v{node.number} = 0")
        with self._block(f"if {condition}:") if condition else _nothing():
            self._line("yield T")
            self._answer(node)

    def _answer(self, node: Node) -> None:
        """What an operation that does not wait gives, and the word that it passes."""
        assert node.stream is not None
        stream, value = node.stream, f"v{node.number}"
        decides = stream.number in self.needs.streams
        if node.data in ASKS:
            self._line(f"{value} = 1 - T.answer")
        elif node.data == "try_put":
            self._line(f"{value} = T.answer")
            if decides:
                put = self._value(node.operands[0])
                self._line(f"if {value}: Q[{stream.number}].append({put})")
        else:
            word = f" | Q[{stream.number}].popleft()" if decides else ""
            self._line(f"if T.answer: {value} = {1 << stream.width}{word}")

    def _part(self, body: Body, end: int, *, last: bool) -> str:
        """The stream operations of a body behind the last answer, up to the ``end``-th."""
        made = shape_of(self.module.function, body, self.buffers, self._frozen)
        part, self._cut = Part(self._cut, end, last), end
        return self._own("S", (made, part))

    def _address(self, node: Node) -> tuple[str, str]:
        """The list of an access's array, and the place in it."""
        access = node.access
        assert access is not None
        number, depth = access.array.number, access.array.layout.bank_depth
        word = "0" if access.word_node is None else self._value(access.word_node)
        if access.bank is not None:
            place = f"{access.bank * depth} + {word}" if access.bank else word
        else:
            banks = access.candidates
            assert access.bank_node is not None
            table = self._own("B", [b * depth for b in banks])
            bank = self._value(access.bank_node)
            place = f"{table}[{bank} if {bank} < {len(banks)} else 0] + {word}"
        return f"M[{number}]", place

    def _load(self, node: Node) -> None:
        array, place = self._address(node)
        if is_raced(node, self.needs):
            gate = node.access.gate if node.access is not None and node.access.gated else None
            value = f"T.read({node.number}, {array}, {place})"
            value = value if gate is None else f"{value} if {self._value(gate)} else 0"
            self._line(f"v{node.number} = {value}")
            return
        if place == "0":
            self._line(f"v{node.number} = {array}[0]")
            return
        self._line(f"v{node.number} = {place}")
        self._line(
            f"v{node.number} = {array}[v{node.number}] if v{node.number} < len({array}) else 0"
        )

    def _store(self, node: Node) -> None:
        access = node.access
        assert access is not None and access.data is not None
        if access.array.number not in self.needs.arrays:
            return
        array, place = self._address(node)
        value = self._value(access.data)
        with (
            self._block(f"if {self._value(access.predicate)}:") if access.predicate else _nothing()
        ):
            if is_raced(node, self.needs):
                self._line(f"T.write({node.number}, {array}, {place}, {value})")
            else:
                self._line(f"{array}[{place}] = {value}")


def _bits(conditions: Sequence[str]) -> str:
    """Conditions as the bits of a number."""
    return " | ".join(f"{text} << {n}" if n else text for n, text in enumerate(conditions)) or "0"


@contextmanager
def _nothing() -> Iterator[None]:
    yield
