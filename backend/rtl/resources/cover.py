"""Lookup tables, flip-flops and blocks of a module's graph, bit by bit where bits differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil, log2

from allo.backend.devices import Cells

from .block_registers import registers_in_blocks
from .build import Graph
from .controls import absorb_controls
from .dissolve import Leaves, dissolve
from .memory import memory_cost
from .merging.choices import Choices
from .merging.comparisons import Comparisons, Gates
from .merging.shift_registers import LEAST_SHIFT, ShiftRegisters, tables_of_row
from .merging.sums import Sums
from .merging.tables import Tables
from .nodes import (
    ONE,
    ZERO,
    Node,
    Run,
    Value,
    aligned,
    bits_of,
    cut,
    is_constant,
    mask,
    pieces,
    significant,
    width_of,
)

COUNTER = 5
"""Places of the longest counter: those of three bits, a carry that comes in, and one that goes out."""
Costs = dict[str, Counter[str]]
"""By section of the module, how much of each resource."""


class Cover:
    """The cost of one graph on one family: find what is wanted, pack logic, count what is made."""

    def __init__(self, graph: Graph, family: Cells) -> None:
        self._nodes, self._graph, self._family = graph.nodes, graph, family
        self._held: dict[Run, Node] | None = None
        self._choices: Choices | None = None
        self._gates = Gates(graph.nodes)
        self.costs: Costs = {}
        self.sums: Sums | None = None
        self._shifts = ShiftRegisters()
        self._comparisons: Comparisons | None = None

    def run(self) -> Costs:
        """The cost by section."""
        roots = self._graph.roots()
        join, ordered = self._family.controls_join, self._family.resets_first
        absorb_controls(self._nodes, roots, again=join, ordered=ordered)
        self._want(roots)
        self._pack()
        self._make(roots)
        self._count()
        for memory in self._graph.memories.values():
            late = any(self._through_logic(address) for address, _ in memory.reads)
            self._add(memory.section, memory_cost(self._family, memory, self.is_held, late))
        if self._family.dsp_takes:
            for taken in registers_in_blocks(self._graph, self.sums_of_blocks):
                self._add(taken.section, {"ff": -taken.made.bit_count()})
        for length, bits in self._graph.merged:
            tables = self._family.shift_registers and length >= LEAST_SHIFT
            cost = tables_of_row(length, bits) if tables else {"ff": length * bits}
            self._add("", {kind: -count for kind, count in cost.items()})
        return self.costs

    def heard(self) -> dict[tuple[int, str], int]:
        """The bits that are read of the outputs of modules inside, by their number and port.

        No cost can be asked for behind it. What is not there is read whole.
        """
        self._want(self._graph.roots())
        places = self._graph.instance_outputs.items()
        return {place: self._nodes[number].wanted for number, place in places}

    def _through_logic(self, value: Value) -> bool:
        return any(n >= 0 and self._nodes[n].kind not in ("register", "input") for n, _, _ in value)

    def _add(self, section: str, cost: dict[str, int]) -> None:
        self.costs.setdefault(section, Counter()).update(cost)

    # --- which bits are wanted ----------------------------------------------------------

    def _want(self, roots: list[Value]) -> None:
        """Mark wanted bits from the roots back, and count who reads each node."""
        stack = [run for value in roots for run in value if run[0] >= 0]
        while stack:
            run = stack.pop()
            node = self._nodes[run[0]]
            bits = bits_of(run)
            node.uses += run[2] if run[1] >= 0 else 2
            node.twice |= bits if run[1] < 0 else bits & node.wanted
            fresh = bits & ~node.wanted
            if fresh:
                first = not node.wanted
                node.wanted |= fresh
                stack += self._read_for(node, fresh, first)

    def _read_for(self, node: Node, fresh: int, first: bool) -> list[Run]:
        """The runs a node reads for bits that are newly wanted."""
        found: list[Run] = []
        if node.kind == "logic":
            for (run,) in node.operands:
                if run[1] < 0:
                    found += [run] if first else []
                else:
                    found += pieces(run, fresh)
        elif node.kind == "register":
            found += _parts(node.operands[0], fresh)
            if first:
                found += [run for value in node.operands[1:] for run in value]
        elif node.kind in ("add", "multiply"):
            # the carries make all bits below wanted: of those, only the ones not read before
            found += _below(node, fresh)
        elif first:
            found += [run for value in node.operands for run in value]
        return [run for run in found if run[0] >= 0]

    # --- packing ------------------------------------------------------------------------

    def _pack(self) -> None:
        """Choose what the lookup table of each logic node reads; operands come before their readers."""
        if self._family.inputs == 6:
            Tables(self._nodes, self._graph.roots(), self._family.inputs).choose()
            return
        for node in self._nodes:
            if node.kind == "logic" and node.wanted:
                self._pack_one(node)

    def _pack_one(self, node: Node) -> None:
        most = self._family.inputs
        runs = [run for (run,) in node.operands if run[0] >= 0]
        own = {(run[0], run[1]): None for run in runs}
        merges = sorted((self._inside(run), run) for run in runs if self._absorbable(run))
        leaves = own
        if node.associative:
            for inner, run in merges:
                if self._nodes[run[0]].extra == 0:
                    leaves = _merged(leaves, run, inner)
            if len(leaves) > most:
                node.extra = ceil((len(leaves) - most) / (most - 1))
                leaves = dict(list(leaves.items())[: len(leaves) - node.extra * (most - 1)])
            # inputs of the other tables still count as read
            node.leaves = leaves
            self._keep_rest(node, merges)
            return
        for inner, run in merges:
            tried = _merged(leaves, run, inner)
            if len(tried) <= most and self._nodes[run[0]].extra == 0:
                leaves = tried
        node.leaves = leaves

    def _keep_rest(self, node: Node, merges: list[tuple[list[tuple[int, int]], Run]]) -> None:
        """All that a tree of tables reads, for :meth:`_make`."""
        everything: dict[tuple[int, int], None] = {
            (r[0], r[1]): None for (r,) in node.operands if r[0] >= 0
        }
        for inner, run in merges:
            if self._nodes[run[0]].extra == 0:
                everything = _merged(everything, run, inner)
        if node.extra:
            node.leaves = everything

    def _absorbable(self, run: Run) -> bool:
        """Whether a table takes the logic of an operand in: where nothing else reads it."""
        inner = self._nodes[run[0]]
        if inner.kind != "logic":
            return False
        single = len(inner.leaves) == 1 and inner.extra == 0
        if run[1] < 0:
            return single or (inner.width == 1 and inner.uses <= 1)
        return single or inner.uses <= inner.wanted.bit_count()

    def _inside(self, run: Run) -> list[tuple[int, int]]:
        """The leaves of an absorbed node, as its reader sees them."""
        low = run[1]
        found = []
        for node, bit in self._nodes[run[0]].leaves:
            if bit < 0:
                found.append((node, bit))
            else:
                found.append((node, bit + low if low >= 0 else ~(bit + ~low)))
        return found

    # --- what is made -------------------------------------------------------------------

    def _make(self, roots: list[Value]) -> None:
        stack = [run for value in roots for run in value if run[0] >= 0]
        outside = {run[0] for run in stack}
        while stack:
            run = stack.pop()
            node = self._nodes[run[0]]
            fresh = bits_of(run) & ~node.made
            if not fresh:
                continue
            first = not node.made
            node.made |= fresh
            if node.kind == "logic":
                stack += self._leaves(node, fresh)
                continue
            found = self._read_for(node, fresh, first)
            if node.kind == "equal" and not self._family.equal_pair:
                if self._choices is None:
                    self._choices = Choices(
                        self._nodes,
                        roots,
                        lambda n, bits: self._read_for(n, bits, True),
                        self._leaves,
                    )
                found = self._choices.behind(node, found)
            if node.kind == "less" and self._family.carry_absorbs:
                found = self._gates.behind(node, found, self._leaves)
            if node.kind == "add" and self._family.carry_absorbs:
                outside.update(run[0] for run in found)
                found = self._in_front(node, found)
            outside.update(run[0] for run in found)
            stack += found
        dissolve(self._nodes, outside, self._family.inputs, self._taking_in)

    def _taking_in(self, leaves: Leaves, run: Run) -> Leaves:
        return _merged(leaves, run, self._inside(run))

    def _leaves(self, node: Node, bits: int) -> list[Run]:
        found: list[Run] = []
        for inner, bit in node.leaves:
            found += [(inner, bit, 1)] if bit < 0 else pieces((inner, bit, node.width), bits)
        return found

    def _in_front(self, node: Node, runs: list[Run]) -> list[Run]:
        """The runs a sum reads, logic of one operand taken into the tables of its carry chain."""
        if not node.detail.partition(" ")[2]:
            known = any(is_constant(value) for value in node.operands)
            choices = [[r[0] for r in v if r[0] >= 0] for v in node.operands]
            best = max(choices, key=lambda c: sum(self._fits(k) for k in c))
            inside = [] if known else [k for k in best if self._fits(k)]
            node.detail = f"{node.detail} {','.join(map(str, inside)) or '-'}"
        absorbed = _taken_in(node)
        if not absorbed:
            return runs
        found: list[Run] = []
        for run in runs:
            if run[0] in absorbed and run[1] >= 0:
                found += self._leaves(self._nodes[run[0]], bits_of(run))
            else:
                found.append(run)
        return found

    def _fits(self, number: int) -> bool:
        node = self._nodes[number]
        return (
            node.kind == "logic"
            and node.extra == 0
            and len(node.leaves) < self._family.inputs
            and node.uses <= node.wanted.bit_count()
        )

    def _count(self) -> None:
        counters: dict[str, Callable[[Node], dict[str, int]]] = {
            "logic": self._logic,
            "register": self._register,
            "add": self._sum,
            "multiply": self._multiply,
            "equal": self._equal,
            "less": self._less,
            "shift": self._shift,
        }
        if self._family.shift_registers:
            self._shifts = ShiftRegisters.of(self._nodes)
        self.sums = Sums(self._nodes, self._graph.roots())
        for number, node in enumerate(self._nodes):
            if number in self.sums.terms:
                self._add(node.section, self._many(self.sums, number))
            elif node.made and node.kind in counters and number not in self.sums.inner:
                self._add(node.section, counters[node.kind](node))
            for length, bits in self._shifts.rows.get(number, ()):
                self._add(node.section, tables_of_row(length, bits))
            inside = self._shifts.inside.get(number, 0)
            if inside:
                self._add(node.section, {"ff": -inside.bit_count()})

    def _logic(self, node: Node) -> dict[str, int]:
        bits = node.made.bit_count()
        if self._family.inputs == 4 and not node.associative and len(node.leaves) > 4:
            return {"lut": bits * self._family.function(len(node.leaves))}
        return {"lut": bits * (1 + node.extra)}

    def _register(self, node: Node) -> dict[str, int]:
        bits = node.made.bit_count()
        tables = 0 if self._family.resets or "r" not in node.detail else bits
        return {"ff": bits, "lut": tables}

    def _sum(self, node: Node) -> dict[str, int]:
        width = node.made.bit_length()
        operands = [v for v in node.operands if not is_constant(v)]
        known = [v for v in node.operands if is_constant(v)]
        if not operands:
            return {}
        inverted = node.detail.startswith("sub")
        if not self._family.carry_absorbs:
            if width <= 4 and not known:
                return {"lut": 3 * width}
            negated = min(width, significant(operands[1])[0]) if inverted and not known else 0
            return {"lut": self._family.chain(width, negated, node.made.bit_count())}
        total = 0
        if known:
            ones = sum(count for n, _, count in cut(known[0], 0, width) if (n == ONE) != inverted)
            if inverted and known[0] is node.operands[0]:
                ones = sum(n >= 0 for n, _, c in cut(operands[0], 0, width) for _ in range(c))
            return {"lut": ones}
        # counters (operators/compressors.py); the figures of longer sums were fitted without this
        inside = _taken_in(node) if width <= COUNTER else set()
        for at, count, (a, b) in aligned([cut(v, 0, width) for v in operands[:2]]):
            if a == b and not inverted and (at, count) == (0, 1) and width <= COUNTER:
                continue  # a carry that comes in
            both = a[0] >= 0 and b[0] >= 0 or b[0] == ONE or (b[0] == ZERO and inverted)
            if both or a[0] in inside or b[0] in inside:
                total += count
        return {"lut": total}

    def _many(self, sums: Sums, number: int) -> dict[str, int]:
        width, count = self._nodes[number].made.bit_length(), len(sums.terms[number])
        return {"lut": self._family.many(count, sums.adders(number, width), width)}

    def _multiply(self, node: Node) -> dict[str, int]:
        blocks, tables = self.product(node)
        return {"dsp": blocks, "lut": tables}

    def sums_of_blocks(self, node: Node) -> int:
        """Sums behind one another that join the blocks of a product; -1 where it has no block."""
        blocks, _ = self.product(node)
        return ceil(log2(blocks)) if blocks else -1

    def product(self, node: Node) -> tuple[int, int]:
        """Multiplier blocks and lookup tables of a product."""
        operands = [significant(value) for value in node.operands]
        return self._family.product(node.made.bit_length(), int(node.detail), operands)

    def _equal(self, node: Node) -> dict[str, int]:
        read = [
            (n, sum(run[0] >= 0 for run in runs)) for _, n, runs in aligned(list(node.operands))
        ]
        pairs = sum(count for count, inputs in read if inputs > 1)
        inputs = sum(count * inputs for count, inputs in read)
        chosen = self._choices.more(node) if self._choices is not None else 0
        return {"lut": self._family.equal(inputs, pairs, chosen)}

    def _less(self, node: Node) -> dict[str, int]:
        if self._comparisons is None:
            joined = (self.sums.inner | self.sums.terms.keys()) if self.sums else frozenset[int]()
            self._comparisons = Comparisons(self._nodes, joined, self._family)
        return {"lut": self._comparisons.tables(node) + self._gates.tables(node)}

    def _shift(self, node: Node) -> dict[str, int]:
        width = width_of(node.operands[0])
        moving = sum(count for n, _, count in node.operands[1] if n >= 0)
        stages = min(moving, ceil(log2(width + (self._family.inputs > 4))) or 1)
        if is_constant(node.operands[0]):
            return {"lut": self._family.decoder(node.made.bit_count(), stages)}
        size, signed = significant(node.operands[0])
        read = node.made.bit_length()
        if node.detail == "left" and not signed and size < read and self._family.inputs > 4:
            return {"lut": self._family.spread(size, read, moving)}
        return {"lut": self._family.shift(node.made.bit_count(), stages)}

    # --- registers ------------------------------------------------------------------------

    def is_held(self, number: int) -> bool:
        """Whether a read's word goes to a register without reset alone, which block RAM has inside."""
        node = self._nodes[number]
        register = self.register_behind(number)
        alone = node.uses <= node.wanted.bit_count()
        return register is not None and alone and register.detail in ("", "e")

    def register_behind(self, number: int) -> Node | None:
        """The register that a read's word goes to."""
        if self._held is None:
            self._held = {
                other.operands[0][0]: other
                for other in self._nodes
                if other.kind == "register" and other.made and len(other.operands[0]) == 1
            }
        return self._held.get((number, 0, self._nodes[number].width))


def _merged(leaves: Leaves, run: Run, inner: list[tuple[int, int]]) -> Leaves:
    found = {leaf: None for leaf in leaves if leaf != (run[0], run[1])}
    found.update(dict.fromkeys(inner))
    return found


def _taken_in(node: Node) -> set[int]:
    """The logic that the tables of a sum's carry chain take in."""
    taken = node.detail.partition(" ")[2]
    return {int(number) for number in taken.split(",")} if taken not in ("", "-") else set()


def _parts(value: Value, bits: int) -> list[Run]:
    """The runs of a value that some of its bits read."""
    found: list[Run] = []
    at = 0
    for node, low, count in value:
        inside = bits >> at & mask(0, count)
        at += count
        if node < 0 or not inside:
            continue
        found += [(node, low, 1)] if low < 0 else pieces((node, low, count), inside)
    return found


def _below(node: Node, fresh: int) -> list[Run]:
    """What a sum or product reads for its highest wanted bit."""
    top = fresh.bit_length()
    others = node.wanted & ~fresh if node.wanted != fresh else 0
    done = others.bit_length()
    if node.made:
        rest = node.made & ~fresh
        done = rest.bit_length()
    if top <= done:
        return []
    return [run for value in node.operands for run in _parts(value, mask(done, top - done))]
