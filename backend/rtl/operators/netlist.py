"""A small combinational netlist: built once, then timed, pipelined, printed or evaluated.

Arithmetic units are written as plain Python over :class:`Signal` values. The netlist folds
constants and shares equal nodes as it grows, so generators need not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allo.dialects.core.integers import as_signed


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: ``op`` of ``args`` (node numbers), ``width`` bits wide.

    ``value`` is the constant of ``const``, the position of ``input``, the low bit of ``extract``, and 1 of an
    ``add`` in a multiplier block.
    """

    op: str
    args: tuple[int, ...]
    width: int
    value: int = 0


WIRING = frozenset({"const", "input", "concat", "extract", "replicate", "keep"})


class Signal:
    """A value in a netlist: an unsigned bit vector of ``width`` bits."""

    __slots__ = ("net", "node", "width")

    def __init__(self, net: Netlist, node: int) -> None:
        self.net = net
        self.node = node
        self.width = net.nodes[node].width

    def _same(self, other: Signal | int) -> Signal:
        if isinstance(other, int):
            return self.net.const(other, self.width)
        if other.width != self.width:
            raise ValueError(f"widths {self.width} and {other.width} differ")
        return other

    def _binary(self, op: str, other: Signal | int, width: int | None = None) -> Signal:
        right = self._same(other)
        return self.net.make(op, (self, right), self.width if width is None else width)

    def __add__(self, other: Signal | int) -> Signal:
        return self._binary("add", other)

    def added_in_block(self, product: Signal) -> Signal:
        """The sum with a product of one multiplier block, whose adder makes it where it has one."""
        return self.net.make("add", (self, self._same(product)), self.width, 1)

    def __sub__(self, other: Signal | int) -> Signal:
        return self._binary("sub", other)

    def __mul__(self, other: Signal | int) -> Signal:
        return self._binary("mul", other)

    def __and__(self, other: Signal | int) -> Signal:
        return self._binary("and", other)

    def __or__(self, other: Signal | int) -> Signal:
        return self._binary("or", other)

    def __xor__(self, other: Signal | int) -> Signal:
        return self._binary("xor", other)

    def __invert__(self) -> Signal:
        return self ^ -1

    def eq(self, other: Signal | int) -> Signal:
        """One bit: equal."""
        return self._binary("eq", other, 1)

    def ne(self, other: Signal | int) -> Signal:
        """One bit: different."""
        return self._binary("ne", other, 1)

    def ult(self, other: Signal | int) -> Signal:
        """One bit: less, as unsigned numbers."""
        return self._binary("ult", other, 1)

    def slt(self, other: Signal | int) -> Signal:
        """One bit: less, as numbers in two's complement."""
        return self._binary("slt", other, 1)

    def shl(self, amount: Signal | int) -> Signal:
        """Shifted left by a signal of the same width, or by a constant; bits fall off."""
        if isinstance(amount, int):
            if amount >= self.width:
                return self.net.const(0, self.width)
            return cat(self.bits(0, self.width - amount), self.net.const(0, amount))
        return self._binary("shl", amount)

    def shru(self, amount: Signal | int) -> Signal:
        """Shifted right, zeros entering."""
        if isinstance(amount, int):
            if amount >= self.width:
                return self.net.const(0, self.width)
            return self.bits(amount, self.width - amount).zext(self.width)
        return self._binary("shru", amount)

    def shrs(self, amount: Signal) -> Signal:
        """Shifted right, sign bits entering."""
        return self._binary("shrs", amount)

    def bits(self, low: int, width: int) -> Signal:
        """``width`` bits from bit ``low`` up; no bits at all give an empty signal to ``cat``."""
        if low == 0 and width == self.width:
            return self
        return self.net.make("extract", (self,), width, low)

    def bit(self, position: int) -> Signal:
        """One bit; negative positions count from the top."""
        return self.bits(position % self.width, 1)

    def zext(self, width: int) -> Signal:
        """Zeros added at the top, up to ``width`` bits."""
        return cat(self.net.const(0, width - self.width), self)

    def sext(self, width: int) -> Signal:
        """The sign bit repeated at the top, up to ``width`` bits."""
        if width == self.width:
            return self
        return cat(self.bit(-1).repeat(width - self.width), self)

    def repeat(self, count: int) -> Signal:
        """This signal ``count`` times."""
        if count == 1:
            return self
        return self.net.make("replicate", (self,), self.width * count)

    def kept(self) -> Signal:
        """This signal as one value, which a register between stages holds whole.

        Without it, what is taken from a concatenation is taken from its parts.
        """
        return self.net.make("keep", (self,), self.width)

    def any(self) -> Signal:
        """One bit: some bit is set."""
        return self if self.width == 1 else self.ne(0)

    def all(self) -> Signal:
        """One bit: every bit is set."""
        return self if self.width == 1 else self.eq(-1)

    def none(self) -> Signal:
        """One bit: no bit is set."""
        return ~self if self.width == 1 else self.eq(0)


def cat(*parts: Signal) -> Signal:
    """Concatenation, the first part at the top; parts of width 0 vanish."""
    filled = [part for part in parts if part.width]
    if len(filled) == 1:
        return filled[0]
    return filled[0].net.make("concat", tuple(filled), sum(part.width for part in filled))


def mux(condition: Signal, then: Signal, other: Signal | int) -> Signal:
    """``then`` where the condition bit is set, else ``other``."""
    right = then._same(other)
    return then.net.make("mux", (condition, then, right), then.width)


def mask(width: int) -> int:
    """The number with ``width`` one bits."""
    return (1 << width) - 1


class Netlist:
    """Nodes in topological order, named inputs and one output."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[tuple[str, int]] = []
        self.output: int = -1
        self._index: dict[Node, int] = {}

    def input(self, name: str, width: int) -> Signal:
        """A new input of ``width`` bits."""
        self.inputs.append((name, width))
        return self._add(Node("input", (), width, len(self.inputs) - 1))

    def const(self, value: int, width: int) -> Signal:
        """A constant, taken modulo ``2**width``."""
        return self._add(Node("const", (), width, value & mask(width)))

    def make(self, op: str, args: Sequence[Signal], width: int, value: int = 0) -> Signal:
        """A node, folded or shared where that is possible."""
        node = Node(op, tuple(arg.node for arg in args), width, value)
        if all(arg.net.nodes[arg.node].op == "const" for arg in args):
            operands = [(self.nodes[i].value, self.nodes[i].width) for i in node.args]
            return self.const(compute(node, operands), width)
        simple = self._simplify(node)
        return simple if simple is not None else self._add(node)

    def finish(self, output: Signal) -> Netlist:
        """Set the output."""
        self.output = output.node
        return self

    def _add(self, node: Node) -> Signal:
        if node not in self._index:
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return Signal(self, self._index[node])

    def _constant(self, index: int) -> int | None:
        node = self.nodes[index]
        return node.value if node.op == "const" else None

    def _simplify(self, node: Node) -> Signal | None:
        if node.op == "mux":
            return self._simplify_mux(node)
        if node.op == "extract":
            return self._simplify_extract(node)
        if node.op not in ("and", "or", "xor", "add", "sub"):
            return None
        left, right = node.args
        ones = mask(node.width)
        neutral = ones if node.op == "and" else 0
        if self._constant(right) == neutral:
            return Signal(self, left)
        if node.op != "sub" and self._constant(left) == neutral:
            return Signal(self, right)
        absorbing = {"and": 0, "or": ones}.get(node.op)
        if absorbing is not None and absorbing in (self._constant(left), self._constant(right)):
            return self.const(absorbing, node.width)
        return None

    def _simplify_mux(self, node: Node) -> Signal | None:
        condition, then, other = node.args
        chosen = self._constant(condition)
        if chosen is not None:
            return Signal(self, then if chosen else other)
        return Signal(self, then) if then == other else None

    def _simplify_extract(self, node: Node) -> Signal | None:
        source = self.nodes[node.args[0]]
        inner = Signal(self, source.args[0]) if source.args else None
        if source.op == "extract" and inner is not None:
            return inner.bits(source.value + node.value, node.width)
        if source.op != "concat":
            return None
        low = node.value
        for index in reversed(source.args):
            part = Signal(self, index)
            if low + node.width <= part.width:
                return part.bits(low, node.width)
            if low < part.width:
                return None
            low -= part.width
        return None


def compute(node: Node, operands: Sequence[tuple[int, int]]) -> int:
    """The value of one node from (value, width) of its operands."""
    values = [value for value, _ in operands]
    width = operands[0][1] if operands else node.width
    match node.op:
        case "add":
            result = values[0] + values[1]
        case "sub":
            result = values[0] - values[1]
        case "mul":
            result = values[0] * values[1]
        case "and":
            result = values[0] & values[1]
        case "or":
            result = values[0] | values[1]
        case "xor":
            result = values[0] ^ values[1]
        case "divu":
            result = values[0] // values[1]
        case "remu":
            result = values[0] % values[1]
        case "keep":
            result = values[0]
        case "eq":
            result = values[0] == values[1]
        case "ne":
            result = values[0] != values[1]
        case "ult":
            result = values[0] < values[1]
        case "slt":
            result = as_signed(values[0], width) < as_signed(values[1], width)
        case "shl":
            result = values[0] << min(values[1], width)
        case "shru":
            result = values[0] >> min(values[1], width)
        case "shrs":
            result = as_signed(values[0], width) >> min(values[1], width)
        case "mux":
            result = values[1] if values[0] else values[2]
        case "extract":
            result = values[0] >> node.value
        case "replicate":
            result = values[0] * (mask(node.width) // mask(width))
        case "concat":
            result = 0
            for value, bits in operands:
                result = result << bits | value
        case _:
            raise ValueError(f"unknown netlist operation {node.op!r}")
    return int(result) & mask(node.width)


def evaluate(net: Netlist, inputs: Mapping[str, int]) -> int:
    """The output for the given input values: the software twin of the printed hardware."""
    values: list[int] = []
    for node in net.nodes:
        if node.op == "input":
            name, width = net.inputs[node.value]
            values.append(inputs[name] & mask(width))
        elif node.op == "const":
            values.append(node.value)
        else:
            operands = [(values[i], net.nodes[i].width) for i in node.args]
            values.append(compute(node, operands))
    return values[net.output]
