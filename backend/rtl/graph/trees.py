"""Integer sums, products, bitwise operations, minima and maxima as trees outside of recurrences.

A chain of one operation (:mod:`.chains`) is combined anew: what is there first is combined first, and what
an earlier iteration stores comes last, so that a pipeline waits for one operation. Each operation is as
wide as its values need. Results are the same for all inputs, modulo the width of the chain.

A chain stays as it is where a tree would not be faster, or would end in a later cycle.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import or_

from allo.dialects.core.integers import as_signed
from allo.dialects.ranges.interval import Interval, differences, of_bits, products, summed

from ..operators.compressors import OF_BITS, OF_GATES
from ..operators.library import OperatorLibrary
from ..plan.timing_model import TimingModel
from .chains import Chain, Finder, Guarded, Leaf, neutral_of
from .making import Maker
from .mapping.counting import counted, narrow_leaves
from .nodes import Body, Node
from .prune import bodies_of, count_uses, regions_of
from .regions import Function
from .regions import Leaf as LoopLeaf
from .simplify.recurrences import Recurrences
from .spans import Spans, bits_of

type Moment = tuple[int, float]
"""A cycle, and nanoseconds into it."""

NOW: Moment = (0, 0.0)


def plant_trees(
    function: Function, static: Body, library: OperatorLibrary, timing: TimingModel
) -> bool:
    """Rebuild the chains of all bodies as trees, in place; whether anything changed.

    Nodes that are no longer used stay, for :func:`~.prune.prune`.
    """
    bodies = [b for b in bodies_of(function.root) if any(n.op in _FAMILIES for n in b.nodes)]
    if not bodies:
        return False
    uses = count_uses(function, static)
    pipelines = {
        region.body.number: region.exit
        for region in regions_of(function.root)
        if isinstance(region, LoopLeaf) and (region.asked is not None or not region.levels)
    }
    changed = False
    for body in bodies:
        around = Recurrences()
        if body.number in pipelines:
            around = Recurrences.of(body, pipelines[body.number])
        planter = _Planter(function, body, uses, library, timing, around)
        changed |= planter.run()
    return changed


class _Planter:
    """Rebuilds the chains of one body."""

    def __init__(
        self,
        function: Function,
        body: Body,
        uses: Counter[int],
        library: OperatorLibrary,
        timing: TimingModel,
        around: Recurrences,
    ) -> None:
        self._function, self._body, self._uses = function, body, uses
        self._library, self._timing = library, timing
        self._spans = Spans(body.nodes)
        self._arrival: dict[int, Moment] = {}
        self._taken: Counter[tuple[object, ...]] = Counter()
        self._around = around

    def run(self) -> bool:
        """Plant what trees there are; whether there are any."""
        chains = self._chains()
        nodes: list[Node] = []
        position = {node.number: i for i, node in enumerate(self._body.nodes)}
        for node in self._body.nodes:
            self._arrival[node.number] = self._after(node, self._arrival, self._port_free(node))
            chain = chains.get(node.number)
            if chain is not None:
                chain.inner.sort(key=lambda n: position[n.number])
                nodes += self._plant(chain)
            nodes.append(node)
        changed = len(nodes) != len(self._body.nodes) or any(n.number in chains for n in nodes)
        self._body.nodes = nodes
        return changed

    def _chains(self) -> dict[int, Chain]:
        """The chains that could be trees, by their last node. What ends later takes what it can."""
        finder = Finder(self._body, self._uses, self._spans)
        found: dict[int, Chain] = {}
        inside: set[int] = set()
        for node in reversed(self._body.nodes):
            if node.number in inside or not _may_end(node):
                continue
            mask = self._around.written(node)
            chain = finder.chain(node, partial(self._is_early, mask))
            if chain is None or not _worth_it(chain):
                continue
            found[node.number] = chain
            inside.update(n.number for n in chain.inner)
        return found

    def _is_early(self, mask: int, node: Node) -> bool:
        """Whether a node waits for no load of these arrays."""
        return not self._around.read(node, mask)

    # --- moments ---------------------------------------------------------------------

    def _after(self, node: Node, known: Mapping[int, Moment], floor: int = 0) -> Moment:
        """When a node's value is there, if its operands are as soon as known."""
        time, start = max((known.get(o.number, NOW) for o in node.operands), default=NOW)
        if floor > time:
            time, start = floor, 0.0
        delay = self._timing.entry(node)
        if start > 0.0 and start + delay > self._timing.budget:
            time, start = time + 1, 0.0
        if not node.latency:
            return time, start + delay
        return time + node.latency, self._timing.exit(node)

    def _port_free(self, node: Node) -> int:
        """The first cycle in which an access finds a port, if all earlier ones came at once."""
        uses: list[tuple[object, ...]] = []
        if node.access is not None and node.access.array.storage != "reg":
            uses = [(node.access.array.number, bank) for bank in node.access.banks()]
        elif node.stream is not None:
            uses = [("stream", node.stream.number), ("stream", node.stream.number)]
        self._taken.update(uses)
        return max((self._taken[use] - 1 for use in uses), default=0) // 2

    def _recurrence(self, seeds: Iterable[Node], nodes: Iterable[Node], end: Node) -> Moment:
        """When the end of a chain is there, if what an earlier iteration stored is all that it waits for."""
        known = {seed.number: (0, self._arrival.get(seed.number, NOW)[1]) for seed in seeds}
        for node in nodes:
            if node.number not in known and any(o.number in known for o in node.operands):
                known[node.number] = self._after(node, known)
        return known.get(end.number, NOW)

    # --- trees -----------------------------------------------------------------------

    def _plant(self, chain: Chain) -> list[Node]:
        """Make a tree of a chain where that is better; the nodes before its root."""
        root = chain.root
        maker = Maker(self._function, self._body, self._library, root)
        mask = self._around.written(root)
        total = self._combined(chain, maker, mask)
        if total.negative:
            total = self._joined(chain, maker, self._constant(chain, maker, 0), total)
        seeds = [x.node for x in chain.leaves() if not self._is_early(mask, x.node)]
        old = self._recurrence(seeds, (*chain.inner, root), root)
        new = self._recurrence(seeds, maker.made, total.node)
        before = self._arrival[root.number]
        after = self._arrival.get(total.node.number, NOW)
        if seeds and new[0] != old[0]:
            better = new[0] < old[0]
        elif any(node.op in (OF_BITS, OF_GATES) for node in maker.made):
            better = after[0] <= before[0]  # fewer tables
        else:
            better = (after, new) < (before, old)
        if not better:
            return []
        self._replace(root, maker.sized(total.node, root.width, signed=total.signed), maker)
        self._arrival[root.number] = after
        for node in (*maker.made, root):
            self._uses.update(o.number for o in node.operands)
        return maker.made

    def _replace(self, root: Node, value: Node, maker: Maker) -> None:
        """Give the root the value of a node."""
        if maker.made and maker.made[-1] is value:
            maker.made.pop()
            root.kind, root.operator, root.op = value.kind, value.operator, value.op
            root.operands, root.data = value.operands, value.data
            return
        root.kind, root.operator, root.op = "wire", None, ""
        root.operands, root.data = (value,), ("slice", 0)

    def _combined(self, chain: Chain, maker: Maker, mask: int) -> Leaf:
        """All operands of a chain, those that wait for an earlier iteration last.

        Of these, what comes through registers is of the iteration before, and so comes last of all.
        """
        early: list[Leaf] = []
        late: list[Leaf] = []
        last: list[Leaf] = []
        if chain.constant is not None and chain.constant != neutral_of(chain.family, chain.width):
            early.append(self._constant(chain, maker, chain.constant))
        for operand in chain.operands:
            leaves = [operand] if isinstance(operand, Leaf) else operand.chain.leaves()
            reads = reduce(or_, (self._around.read(leaf.node, mask) for leaf in leaves), 0)
            made = (
                self._guarded(chain, operand, maker, mask)
                if isinstance(operand, Guarded)
                else self._lowered(chain, operand, maker)
            )
            (last if reads & self._around.registers else late if reads else early).append(made)
        found: list[Leaf] = []
        for part in (early, late, last):
            if part:
                if part is early and chain.family == "arith.addi":
                    part = self._counted(chain, maker, part)
                found = [self._tree(chain, maker, [*found, *part])]
        if not found:
            return self._constant(chain, maker, neutral_of(chain.family, chain.width))
        return found[0]

    def _guarded(self, chain: Chain, operand: Guarded, maker: Maker, mask: int) -> Leaf:
        """Operands under a condition, else what changes nothing."""
        total = self._combined(operand.chain, maker, mask)
        neutral = neutral_of(chain.family, chain.width)
        other = self._constant(chain, maker, neutral)
        low, high = min(total.span[0], other.span[0]), max(total.span[1], other.span[1])
        width = self._width(chain, (low, high))
        sides = [maker.sized(x.node, width, signed=x.signed) for x in (total, other)]
        if not operand.holds:
            sides.reverse()
        node = self._made(maker, "arith.select", (operand.condition, *sides), width)
        return Leaf(node, low < 0, (low, high), total.negative)

    def _lowered(self, chain: Chain, leaf: Leaf, maker: Maker) -> Leaf:
        """An operand whose first bit counts."""
        if not leaf.low:
            return leaf
        node = maker.sized(leaf.node, chain.width, signed=leaf.signed, low=leaf.low)
        self._note(maker)
        return replace(leaf, node=node, low=0)

    def _constant(self, chain: Chain, maker: Maker, value: int) -> Leaf:
        if chain.family not in _BITWISE:
            value = as_signed(value, chain.width)
        return Leaf(maker.const(value, chain.width), value < 0, (value, value))

    def _tree(self, chain: Chain, maker: Maker, leaves: list[Leaf]) -> Leaf:
        """Combine the two that are there first, until one is left."""
        heap = [
            (self._arrival.get(x.node.number, NOW), number, x) for number, x in enumerate(leaves)
        ]
        heapq.heapify(heap)
        number = len(heap)
        while len(heap) > 1:
            (_, i, a), (_, j, b) = heapq.heappop(heap), heapq.heappop(heap)
            pair = (a, b) if i < j else (b, a)
            joined = self._joined(chain, maker, *pair)
            heapq.heappush(heap, (self._arrival.get(joined.node.number, NOW), number, joined))
            number += 1
        return heap[0][2]

    def _counted(self, chain: Chain, maker: Maker, leaves: list[Leaf]) -> list[Leaf]:
        """Operands of which those of one or two bits are columns of bits, where these take fewer tables."""
        cycles = {leaf.node.number: self._arrival.get(leaf.node.number, NOW)[0] for leaf in leaves}
        others, sets = narrow_leaves(leaves, cycles)
        for found in sets:
            span = reduce(summed, (_valued(leaf) for leaf in found))
            node = counted(found, maker, span, self._width(chain, span))
            self._note(maker)
            others += found if node is None else [node]
        return others

    def _joined(self, chain: Chain, maker: Maker, a: Leaf, b: Leaf) -> Leaf:
        """One operation of the chain on two operands."""
        name, negative = chain.family, False
        if name == "arith.addi":
            if a.negative != b.negative:
                a, b = (b, a) if a.negative else (a, b)
                name, span = "arith.subi", differences(a.span, b.span)
            else:
                span, negative = summed(a.span, b.span), a.negative
        elif name == "arith.muli":
            span = products(a.span, b.span)
        elif name in _BITWISE and min(a.span[0], b.span[0]) >= 0:
            highest = (min if name == "arith.andi" else max)(a.span[1], b.span[1])
            span = 0, (1 << max(1, highest.bit_length())) - 1
        else:
            span = of_bits(chain.width)
        width = self._width(chain, span)
        if bits_of(span) > chain.width:
            span = of_bits(chain.width)
        node = self._narrow(chain, maker, name, (a, b), width)
        return Leaf(node, span[0] < 0, span, negative)

    def _width(self, chain: Chain, span: Interval) -> int:
        return min(chain.width, bits_of(span))

    def _narrow(
        self, chain: Chain, maker: Maker, name: str, leaves: tuple[Leaf, Leaf], width: int
    ) -> Node:
        """An operation in as few bits as its value needs; of units that take cycles, in all the chain's.

        Units of one width can be shared.
        """
        nodes = [maker.sized(x.node, width, signed=x.signed) for x in leaves]
        narrow = width < chain.width and name != "arith.muli"
        if narrow and maker.operator(name, nodes, width).latency:
            width = chain.width
            nodes = [maker.sized(x.node, width, signed=x.signed) for x in leaves]
        return self._made(maker, name, nodes, width)

    def _made(self, maker: Maker, name: str, nodes: Iterable[Node], width: int) -> Node:
        made = maker.op(name, [*nodes], width)
        self._note(maker)
        return made

    def _note(self, maker: Maker) -> None:
        for node in maker.made:
            if node.number not in self._arrival:
                self._arrival[node.number] = self._after(node, self._arrival)


def _valued(leaf: Leaf) -> Interval:
    """Where an operand lies, with its sign in the sum."""
    return (-leaf.span[1], -leaf.span[0]) if leaf.negative else leaf.span


def _may_end(node: Node) -> bool:
    """Whether a node may be the last one of a chain."""
    return node.op in _FAMILIES or node.op == "arith.select" or node.kind == "wire"


def _worth_it(chain: Chain) -> bool:
    """Whether there is anything to combine in another way."""
    guarded = any(isinstance(operand, Guarded) for operand in chain.operands)
    return guarded or len(chain.operands) + (chain.constant is not None) > 2


_BITWISE = frozenset({"arith.andi", "arith.ori", "arith.xori"})
_FAMILIES = frozenset(
    {
        *_BITWISE,
        *(f"arith.{name}i" for name in ("add", "sub", "mul")),
        *(f"arith.{name}{sign}i" for name in ("max", "min") for sign in "su"),
    }
)
