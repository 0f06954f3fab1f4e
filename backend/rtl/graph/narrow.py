"""Integer operations in as many bits as their values need and their users read.

The language's types widen every result, and constants and masks say more than types do: ``x[i] * y[i]`` of
32 bits, stored in 32, needs no product of 64, and ``3 * x`` has two bits more than x.
"""

from __future__ import annotations

from collections import defaultdict

from ..operators.library import OperatorLibrary
from ..operators.spec import Operator
from .making import Maker
from .nodes import Body, Node
from .prune import bodies_of, outside_uses, regions_of
from .regions import Function
from .spans import Spans, bits_of

NARROWED = frozenset({"arith.addi", "arith.subi", "arith.muli"})
_LOW_BITS = NARROWED | {"arith.andi", "arith.ori", "arith.xori"}
"""Their low bits depend on the low bits of their operands alone."""


def narrow(function: Function, static: Body, library: OperatorLibrary) -> bool:
    """Narrow sums, differences and products of all bodies, in place; whether anything changed.

    Nodes that are no longer used stay, for :func:`~.prune.prune`.
    """
    bodies = [b for b in bodies_of(function.root) if any(n.op in NARROWED for n in b.nodes)]
    if not bodies:
        return False
    whole = _used_outside(function, static)
    changed = [_narrow_body(function, body, library, whole) for body in bodies]
    return any(changed)


def _used_outside(function: Function, static: Body) -> set[int]:
    """Nodes that control or another body reads, in all their bits."""
    found = {node.number for region in regions_of(function.root) for node in outside_uses(region)}
    found.update(value.number for value in function.returned if isinstance(value, Node))
    for body in (*bodies_of(function.root), static):
        for node in body.nodes:
            found.update(o.number for o in node.operands if o.body is not body)
    return found


def _narrow_body(function: Function, body: Body, library: OperatorLibrary, whole: set[int]) -> bool:
    spans = Spans(body.nodes)
    wanted = _wanted_bits(body, whole)
    nodes: list[Node] = []
    for node in body.nodes:
        if node.op in NARROWED:
            needed = max(1, min(wanted[node.number], bits_of(spans.of(node))))
            if needed < node.width or node.op == "arith.muli":
                maker = Maker(function, body, library, node)
                nodes += _narrowed(maker, spans, node, min(needed, node.width))
        elif node.kind == "wire":
            _shorten(node, body)
        nodes.append(node)
    changed = len(nodes) != len(body.nodes)
    body.nodes = nodes
    return changed


def _wanted_bits(body: Body, whole: set[int]) -> dict[int, int]:
    """How many low bits of each node its users read."""
    wanted: defaultdict[int, int] = defaultdict(int)
    for node in reversed(body.nodes):
        if node.number in whole:
            wanted[node.number] = node.width
        bits = wanted[node.number]
        for operand, reads in zip(node.operands, _reads(node, bits), strict=True):
            wanted[operand.number] = max(wanted[operand.number], min(reads, operand.width))
    return wanted


def _reads(node: Node, bits: int) -> list[int]:
    """How many low bits of each operand a node reads, for so many of its own."""
    if node.op in _LOW_BITS:
        return [bits] * len(node.operands)
    if node.op == "arith.select":
        return [1, bits, bits]
    if node.kind == "wire":
        how, low = node.data[:2]
        if how == "slice":
            return [low + bits]
        if how in ("zext", "sext"):
            return [bits]
        if how == "concat":
            found, start = [], 0
            for part in node.operands:
                found.append(bits - start)
                start += part.width
            return found
    return [operand.width for operand in node.operands]


def _narrowed(maker: Maker, spans: Spans, node: Node, width: int) -> list[Node]:
    """Make a node the extension of a narrower operation, if that is cheaper; the nodes before it."""
    operands = [_low_bits(maker, spans, operand, width) for operand in node.operands]
    old, new = node.operator, maker.operator(node.op, operands, width)
    if old is None or not _cheaper(new, old):
        return []
    made = maker.op(node.op, operands, width)
    how = "sext" if spans.of(node)[0] < 0 else "zext"
    if width == node.width:
        node.operands, node.operator = made.operands, made.operator
        return maker.made[:-1]
    node.kind, node.operator, node.op = "wire", None, ""
    node.operands, node.data = (made,), (how, 0)
    return maker.made


def _low_bits(maker: Maker, spans: Spans, node: Node, width: int) -> Node:
    """The low bits of an operand, as an extension where its value has fewer."""
    span = spans.of(node)
    while node.kind == "wire" and not node.data[1] and node.data[0] in ("slice", "sext", "zext"):
        inner = node.operands[0]
        if inner.body is not node.body or inner.width < width:
            break
        node = inner
    if node.kind == "wire" and node.data[0] in ("sext", "zext") and node.width >= width:
        how, inner = node.data[0], node.operands[0]
        if inner.width < width and inner.width <= bits_of(span):
            return maker.sized(inner, width, signed=how == "sext")
    bits = bits_of(span)
    if bits < width:
        return maker.sized(maker.sized(node, bits, signed=False), width, signed=span[0] < 0)
    return maker.sized(node, width, signed=False)


def _cheaper(new: Operator, old: Operator) -> bool:
    """Whether an operator takes less, and no longer; units of one width stay, to be shared."""
    if new.latency > old.latency:
        return False
    a, b = new.resources, old.resources
    if new.latency and not b.dsp:
        return False
    return (a.dsp, new.latency, a.lut) < (b.dsp, old.latency, b.lut)


def _shorten(node: Node, body: Body) -> None:
    """Let a wire read what its operand, a wire, is made of."""
    while True:
        how, low = node.data[:2]
        source = node.operands[0]
        if source.kind != "wire" or source.body is not body or how not in ("slice", "sext", "zext"):
            return
        inner, (kind, start) = source.operands[0], source.data[:2]
        if how == "slice" and kind in ("sext", "zext") and low + node.width <= inner.width:
            node.operands = (inner,)
        elif how == "slice" and kind == "slice":
            node.operands, node.data = (inner,), ("slice", low + start)
        elif how != "slice" and kind == "zext" and source.width > inner.width:
            node.operands, node.data = (inner,), ("zext", 0)
        elif how == "sext" and kind == "sext":
            node.operands = (inner,)
        else:
            return
