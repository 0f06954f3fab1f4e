"""Bodies of a function as lines of Python: what decides in them, and the words that do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...compiled import CompiledModule
from ...graph.nodes import Body, Node
from ...graph.prune import bodies_of
from ...operators.spec import Operator
from ..refusal import Unforeseen
from ..variants import Request
from .needs import Needs, places_of
from .values import linear, logic, mask, signed, software, wire

_FEW_LINES = 8
"""Of an operator that is computed where it stands; a call takes the time of some lines."""


class BodyCode:
    """Lines of a generator; those of bodies and values are written here."""

    def __init__(self, module: CompiledModule, needs: Needs) -> None:
        self.module = module
        self.needs = needs
        self._lines: list[str] = []
        self._depth = 1
        self._space: dict[str, Any] = {}
        self._known: set[int] = set()
        self._filling: Body | None = None
        self._requests: list[Request] = []

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

    def _body(self, body: Body, nodes: Sequence[Node] | None = None) -> str:
        """Compute what decides in a run of a body; the conditions of its stream operations as bits."""
        needs = self.needs
        conditions: list[str] = []
        self._filling = body
        requests: list[Request] = []
        asked: list[str] = []
        for node in body.nodes if nodes is None else nodes:
            if node.stream is not None:
                conditions += self._stream(node)
            elif node.kind == "store":
                self._store(node)
            elif node.number in needs.nodes and not node.is_free and node.number not in self._known:
                self._compute(node)
            for number, place in places_of(node, self.module, needs.places):
                parts = self._asking(node, number)
                requests.append(Request(node.time, place, len(asked) if parts else -1))
                asked += [" and ".join(parts)] if parts else []
        self._requests = requests
        conditions += [f"bool({text})" for text in asked]
        if not conditions:
            return "0"
        return " | ".join(f"{text} << {n}" if n else text for n, text in enumerate(conditions))

    def _asking(self, node: Node, number: int) -> list[str]:
        """Under which conditions an access asks for the port of its bank of this number."""
        access = node.access
        assert access is not None
        found = []
        if node.kind == "store" and access.predicate is not None:
            found.append(self._value(access.predicate))
        if node.kind == "load" and access.gated and access.gate is not None:
            found.append(self._value(access.gate))
        if access.bank is None and access.bank_node is not None:
            found.append(f"{self._value(access.bank_node)} == {number}")
        return found

    def _asks(self, body: Body) -> bool:
        """Whether a body asks for ports that others may ask for."""
        places = self.needs.places
        return any(places_of(node, self.module, places) for node in body.nodes)

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
            self._line(f"{array}[{place}] = {value}")


def refuse_tries(module: CompiledModule) -> None:
    """Refuse a function that asks streams without waiting.

    Raises:
        Unforeseen: it does.
    """
    for body in bodies_of(module.function.root):
        for node in body.nodes:
            if node.tries and node.stream is not None:
                raise Unforeseen(
                    f"{node.stream.name} is asked without waiting, so what happens depends on the cycle",
                    node.place,
                )


@contextmanager
def _nothing() -> Iterator[None]:
    yield
