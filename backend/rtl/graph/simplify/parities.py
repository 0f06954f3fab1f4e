"""Parities of single bits inside recurrences, drawn flat.

A shift register with feedback makes 32 bits an iteration, each the parity of four bits, of which those
before it are some: a chain of 32. Over what the iteration began with, each is the parity of some bits, as
addition modulo two is linear: what comes twice falls out. A tree of these has a few levels.
"""

from __future__ import annotations

from ...operators.library import OperatorLibrary
from ..making import Maker
from ..nodes import Body, Node
from ..prune import regions_of
from ..regions import Exit, Function, Leaf
from .recurrences import Recurrences

PARITY = "arith.xori"
MOST = 32
"""Bits of a parity; where more are left, it stays as it was drawn."""
DEEPER = 2
"""How many times as deep as its tree a parity must be for the tree to take its place."""


def flatten_parities(function: Function, library: OperatorLibrary) -> bool:
    """Draw deep parities of recurrences anew, in place; whether there are any.

    Nodes that are no longer used stay, for :func:`~..prune.prune`.
    """
    changed = False
    for region in regions_of(function.root):
        if isinstance(region, Leaf) and (region.asked is not None or not region.levels):
            changed |= _Flattener(function, region.body, library).run(region.exit)
    return changed


type _Bit = tuple[int, int]
"""The number of a node, and a place in its value."""


class _Flattener:
    """The parities of one body: of each its bits and how deep it is drawn."""

    def __init__(self, function: Function, body: Body, library: OperatorLibrary) -> None:
        self._function, self._body, self._library = function, body, library
        self._bits: dict[int, frozenset[_Bit]] = {}
        self._depth: dict[int, int] = {}
        self._named: dict[_Bit, Node] = {}

    def run(self, found: Exit | None) -> bool:
        """Draw anew what is too deep; whether anything is."""
        if not any(_is_parity(node) for node in self._body.nodes):
            return False
        around = Recurrences.of(self._body, found)
        nodes: list[Node] = []
        changed = False
        for node in self._body.nodes:
            if _is_parity(node):
                a, b = node.operands
                self._bits[node.number] = self._of(a) ^ self._of(b)
                self._depth[node.number] = 1 + max(self._deep(a), self._deep(b))
                if around.read(node, around.written(node)) and self._is_deep(node):
                    nodes += self._tree(node)
                    changed = True
            nodes.append(node)
        self._body.nodes = nodes
        return changed

    def _of(self, node: Node) -> frozenset[_Bit]:
        source, place = _source(node)
        if source.kind == "const" and not source.data >> place & 1:
            return frozenset()
        if source.number in self._bits:
            return self._bits[source.number]
        self._named.setdefault((source.number, place), node)
        return frozenset({(source.number, place)})

    def _deep(self, node: Node) -> int:
        return self._depth.get(_source(node)[0].number, 0)

    def _is_deep(self, node: Node) -> bool:
        bits = self._bits[node.number]
        least = (len(bits) - 1).bit_length()
        return 2 <= len(bits) <= MOST and self._deep(node) > DEEPER * least

    def _tree(self, root: Node) -> list[Node]:
        """Make a node the last of a tree; the nodes before it."""
        maker = Maker(self._function, self._body, self._library, root)
        level = [self._named[bit] for bit in sorted(self._bits[root.number])]
        self._depth[root.number] = (len(level) - 1).bit_length()
        while len(level) > 2:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [maker.op(PARITY, p, 1) if len(p) == 2 else p[0] for p in pairs]
        root.operands = tuple(level)
        return maker.made


def _is_parity(node: Node) -> bool:
    return node.op == PARITY and node.width == 1


def _source(node: Node) -> tuple[Node, int]:
    """Where the bit that a node of one bit is comes from, through words that are put together and cut."""
    place = 0
    while node.kind == "wire":
        how, low = node.data[:2]
        if how == "slice":
            place += low
        elif how == "concat":
            parts = iter(node.operands)
            node = next(parts)
            while place >= node.width:
                place -= node.width
                node = next(parts)
            continue
        elif place >= node.operands[0].width and how == "sext":
            place = node.operands[0].width - 1
        elif how not in ("sext", "zext") or place >= node.operands[0].width:
            break
        node = node.operands[0]
    return node, place
