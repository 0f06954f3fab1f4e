"""New nodes in a body that is elaborated already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.compressors import OF_BITS, OF_GATES
from ..operators.families.float_constants import OPERATORS as CONSTANT_FLOATS
from ..operators.families.float_constants import makes_other_unit
from ..operators.library import OperatorLibrary
from ..operators.spec import Operator
from .nodes import Body, Node
from .regions import Function

DIVISIONS = frozenset(
    f"arith.{name}" for name in ("divui", "divsi", "remui", "remsi", "floordivsi")
)
_CONSTANT_MATTERS = DIVISIONS | {"arith.shli", "arith.shrsi", "arith.shrui", "arith.muli"}
_CONSTANT_MATTERS |= {OF_BITS, OF_GATES}


def operand_attributes(name: str, nodes: Sequence[Node], result: str = "") -> dict[str, Any]:
    """What the library is told of the operands of an operation: constants and extensions.

    A constant float, of the result's type, is told where it makes another unit: as the second operand.
    """
    attributes: dict[str, Any] = {}
    constants = tuple(n.data if n.kind == "const" else None for n in nodes)
    if name in _CONSTANT_MATTERS and any(value is not None for value in constants):
        attributes["constants"] = constants
    if name in CONSTANT_FLOATS and makes_other_unit(name, constants, result):
        attributes["constants"] = constants
    if name == "arith.muli":
        extended = tuple(extension_of(node) for node in nodes)
        if any(extended):
            attributes["extended"] = extended
    return attributes


def extension_of(node: Node) -> tuple[str, int] | None:
    """How a node was made wide, and from how many bits; None when it was not."""
    if node.kind != "wire" or node.data[0] not in ("sext", "zext"):
        return None
    return ("s" if node.data[0] == "sext" else "u"), node.operands[0].width


class Maker:
    """Makes nodes that go in front of one node of a body.

    Attributes:
        made: the nodes so far, in order.
    """

    def __init__(self, function: Function, body: Body, library: OperatorLibrary, at: Node) -> None:
        self._function, self._body, self._library, self._at = function, body, library, at
        self._unique: dict[tuple[object, ...], Node] = {}
        self.made: list[Node] = []

    @property
    def fanin(self) -> int:
        """Inputs of a lookup table of the family."""
        return self._library.device.fanin

    def const(self, value: int, width: int) -> Node:
        """A constant, cut to its bits."""
        value &= (1 << width) - 1
        key = ("const", value, width)
        found = self._unique.get(key)
        if found is None:
            number = self._function.number()
            found = Node(number, "const", width, data=value, low=value, high=value)
            self._unique[key] = found
        return found

    def sized(self, node: Node, width: int, *, signed: bool, low: int = 0) -> Node:
        """Bits of a node from ``low`` on, or the node made wide."""
        if low:
            bits = min(width, node.width - low)
            key = ("wire", "slice", node.number, bits, low)
            node = self._node(key, "wire", (node,), bits, data=("slice", low))
        if node.width == width:
            return node
        if node.kind == "const":
            negative = signed and node.data >> (node.width - 1)
            return self.const(node.data - (1 << node.width if negative else 0), width)
        how = "slice" if width < node.width else "sext" if signed else "zext"
        return self._node(("wire", how, node.number, width), "wire", (node,), width, data=(how, 0))

    def joined(self, nodes: Sequence[Node]) -> Node:
        """Nodes side by side, the one in the lowest bits first."""
        key = ("wire", "concat", *(node.number for node in nodes))
        width = sum(node.width for node in nodes)
        return self._node(key, "wire", tuple(nodes), width, data=("concat", 0))

    def operator(self, name: str, nodes: Sequence[Node], width: int) -> Operator:
        """The library's operator for an operation on nodes, to ``width`` bits."""
        types = tuple(f"i{node.width}" for node in nodes)
        return self._library.find(name, types, f"i{width}", operand_attributes(name, nodes))

    def op(self, name: str, nodes: Sequence[Node], width: int) -> Node:
        """An operation of the core IR on nodes, to ``width`` bits."""
        operator = self.operator(name, nodes, width)
        impl = self._at.impl if self._at.op == name else ""
        key = ("op", id(operator), *(node.number for node in nodes))
        return self._node(key, "op", tuple(nodes), width, operator=operator, op=name, impl=impl)

    def _node(
        self, key: tuple[object, ...], kind: str, nodes: tuple[Node, ...], width: int, **fields: Any
    ) -> Node:
        found = self._unique.get(key)
        if found is None:
            at = self._at
            found = Node(
                self._function.number(),
                kind,
                width,
                nodes,
                self._body,
                place=at.place,
                guard=at.guard,
                **fields,
            )
            self._unique[key] = found
            self.made.append(found)
        return found
