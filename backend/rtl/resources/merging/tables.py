"""Logic cut into lookup tables so that they are few.

A cut of a node is a set of leaves that tell its bits; those of a node are joined from those of its operands,
as in :mod:`..times.flattest`, and a leaf is what all bits of a node read at one place. Of the cuts that fit
in one table, that one is taken whose area flow is least (Cong, Wu and Ding, "Cut ranking and pruning", FPGA
1999; Mishchenko, Chatterjee and Brayton, "Improvements to technology mapping for LUT-based FPGAs", TCAD
2007): the table and those of its leaves, each shared among its readers. So a gate that several tables can
take in has no table of its own. How many read a leaf is known only of a cover, so the cuts are chosen again
from the last one; in the end each node takes the cut for which the fewest tables are made beside those that
are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from ..nodes import Node, Run, Value, bits_of, pieces

Leaf = tuple[int, int]
Cut = frozenset[Leaf]

KEPT = 8
"""Cuts that a node keeps."""
ROUNDS = 3
"""How often the cuts are chosen."""
SETTLED = 2
"""How often they are chosen by the tables that there are."""
FOLLOWED = 64
"""Changes that are followed to tell what a choice adds."""
Leaves = dict[Leaf, None]
Demand = tuple[int, Leaf, int]
"""The reader, -1 for the outside, what it reads, and the bits of the leaf's node."""
Change = tuple[tuple[int, int, int], int, int]
"""The node, its reader and where that reads it; the bits that it read; those that were made."""


class Tables:
    """The cuts of the logic of one module.

    Args:
        nodes: the module's, after the bits that are wanted are known.
        roots: what is read from outside.
        inputs: of a lookup table.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        roots: Iterable[Value],
        inputs: int,
    ) -> None:
        self._nodes, self._most = nodes, inputs
        self._logic = [n for n, node in enumerate(nodes) if node.kind == "logic" and node.wanted]
        self._outside: dict[int, int] = {}
        self._readers: dict[int, float] = {}
        for value in roots:
            self._read_outside(value)
        for node in nodes:
            if node.wanted and node.kind != "logic":
                self._read_outside(run for value in node.operands for run in value)
        for number, bits in self._outside.items():
            self._readers[number] = float(bits.bit_count())
        for number in self._logic:
            node = nodes[number]
            for (run,) in node.operands:
                if run[0] >= 0:
                    known = self._readers.get(run[0], 0.0)
                    self._readers[run[0]] = known + node.wanted.bit_count()
        self._cuts: dict[int, list[Cut]] = {}
        self._made: dict[int, int] = {}
        self._demands: dict[int, dict[Leaf, int]] = {}
        self._trees: dict[int, tuple[Leaves, int]] = {}
        self._shares: dict[int, float] = {}

    def _read_outside(self, runs: Iterable[Run]) -> None:
        for run in runs:
            if run[0] >= 0 and self._nodes[run[0]].kind == "logic":
                self._outside[run[0]] = self._outside.get(run[0], 0) | bits_of(run)

    def choose(self) -> None:
        """Choose the leaves of each node of logic."""
        for _ in range(ROUNDS):
            self._cuts.clear()
            self._trees.clear()
            self._shares.clear()
            for number in self._logic:
                self._choose(number)
            self._count_readers()
        self._settle()

    # --- flow -----------------------------------------------------------------------------

    def _share(self, number: int, flow: float) -> None:
        """Note the part of a node's tables that one of its readers bears."""
        made = self._nodes[number].wanted.bit_count()
        self._shares[number] = flow / max(1.0, self._readers.get(number, 1.0) / max(1, made))

    def _shared(self, leaves: Iterable[Leaf]) -> float:
        """The part of the leaves' tables that a table which reads them bears."""
        shares = self._shares
        return sum([shares.get(number, 0.0) for number, _ in leaves])

    def _cost(self, cut: Cut) -> float:
        return 1 + self._shared(cut)

    def _best(self, cuts: Iterable[Cut], most: int = KEPT) -> list[Cut]:
        """The cheapest that fit in a table, and of equal ones those that read what is further in front."""
        fitting = {cut: self._cost(cut) for cut in cuts if len(cut) <= self._most}
        kept: list[Cut] = []
        for cut in sorted(
            fitting, key=lambda cut: (round(fitting[cut], 6), -len(cut), sorted(cut))
        ):
            if not any(inner <= cut for inner in kept):
                kept.append(cut)
                if len(kept) == most:
                    break
        return kept

    def _read(self, run: Run) -> list[Cut]:
        """The cuts of what a run is, the node itself among them."""
        number, low, _ = run
        own = frozenset(((number, low),))
        cuts = self._cuts.get(number, ())
        return [own, *(frozenset(moved(leaf, low) for leaf in cut) for cut in cuts)]

    def _choose(self, number: int) -> None:
        node = self._nodes[number]
        runs = [run for (run,) in node.operands if run[0] >= 0]
        own = frozenset((run[0], run[1]) for run in runs)
        found: list[Cut] = [frozenset()]
        for run in runs:
            joined = (known | cut for known in found for cut in self._read(run))
            found = self._best(joined, 2 * KEPT)
        cuts = self._best((*found, own))
        node.extra = 0
        node.leaves = dict.fromkeys(sorted(cuts[0])) if cuts else {}
        cost = self._cost(cuts[0]) if cuts else 0.0
        if node.associative or not cuts:
            tree = self._tree(runs)
            extra = ceil(max(0, len(tree) - self._most) / (self._most - 1))
            whole = 1 + extra + self._shared(tree)
            self._trees[number] = tree, extra
            if not cuts or extra and whole < cost:
                node.extra, node.leaves, cost, cuts = extra, tree, whole, []
        self._cuts[number] = cuts
        self._share(number, self._shared(own) if len(runs) == 1 and cuts else cost)

    def _tree(self, runs: list[Run]) -> Leaves:
        """What a tree of tables reads: gates that nothing else reads are in it."""
        found: Leaves = {}
        for run in runs:
            node = self._nodes[run[0]]
            alone = self._readers.get(run[0], 1.0) <= node.wanted.bit_count()
            if node.kind == "logic" and not node.extra and (alone or len(node.leaves) == 1):
                found.update((moved(leaf, run[1]), None) for leaf in node.leaves)
            else:
                found[run[0], run[1]] = None
        return found

    # --- tables that are there ------------------------------------------------------------

    def _settle(self) -> None:
        """Choose again, of one node after another, by what tables there are then."""
        for number, bits in self._outside.items():
            if self._nodes[number].wanted:
                self._demand([(-1, (number, 0), bits)])
        for _ in range(SETTLED):
            for number in self._logic:
                if self._made.get(number):
                    self._choose_exactly(number)

    def _choose_exactly(self, number: int) -> None:
        node = self._nodes[number]
        ways = [(dict.fromkeys(sorted(cut)), 0) for cut in self._cuts[number]]
        if number in self._trees:
            ways.append(self._trees[number])
        best, least = None, 0
        for leaves, extra in ways:
            gained = self._made[number].bit_count() * (extra - node.extra)
            gained += self._tried(self._instead(number, leaves))
            if gained < least:
                best, least = (leaves, extra), gained
        if best is None:
            return
        others = self._instead(number, best[0])
        node.leaves, node.extra = best
        self._demand(others)

    def _instead(self, number: int, leaves: Leaves) -> list[Demand]:
        """What a node reads, and no longer reads, with other leaves; what is read comes last."""
        made, now = self._made[number], self._nodes[number].leaves
        return [
            *((number, leaf, 0) for leaf in now if leaf not in leaves),
            *((number, leaf, _read_of(leaf, made)) for leaf in leaves if leaf not in now),
        ]

    def _tried(self, others: list[Demand]) -> int:
        """The tables that would be made for these demands, as far as a change is followed."""
        changes: list[Change] = []
        gained = self._demand(others, changes)
        for (number, reader, low), bits, made in reversed(changes):
            self._made[number] = made
            if bits:
                self._demands[number][reader, low] = bits
            else:
                self._demands[number].pop((reader, low), None)
        return gained

    def _demand(self, work: list[Demand], changes: list[Change] | None = None) -> int:
        """Have readers read other bits of leaves than before; the tables that are made for it.

        The last demand is met first, and what it asks for before the others. With a list for what is
        changed, no more than ``FOLLOWED`` changes are followed.
        """
        gained = 0
        while work:
            reader, (number, low), bits = work.pop()
            node = self._nodes[number]
            if node.kind != "logic":
                continue
            demands = self._demands.setdefault(number, {})
            before, made = demands.pop((reader, low), 0), self._made.get(number, 0)
            if changes is not None:
                changes.append(((number, reader, low), before, made))
            if bits:
                demands[reader, low] = bits
            after = made | bits
            if before & ~bits:
                after = 0
                for other in demands.values():
                    after |= other
            if after == made:
                continue
            self._made[number] = after
            gained += (after.bit_count() - made.bit_count()) * (1 + node.extra)
            if changes is None or len(changes) < FOLLOWED:
                work += [(number, leaf, _read_of(leaf, after)) for leaf in node.leaves]
        return gained

    # --- covers ---------------------------------------------------------------------------

    def _count_readers(self) -> None:
        """Count what reads each node where only the chosen tables are made."""
        made = dict(self._outside)
        readers = {number: float(bits.bit_count()) for number, bits in made.items()}
        for number in reversed(self._logic):
            bits = made.get(number, 0)
            if not bits:
                continue
            node = self._nodes[number]
            for leaf, low in node.leaves:
                readers[leaf] = readers.get(leaf, 0.0) + bits.bit_count()
                runs = [(leaf, low, 1)] if low < 0 else pieces((leaf, low, node.width), bits)
                for run in runs:
                    made[leaf] = made.get(leaf, 0) | bits_of(run)
        for number in self._logic:
            before = self._readers.get(number, 1.0)
            self._readers[number] = (before + 2 * readers.get(number, 0.0)) / 3


def _read_of(leaf: Leaf, made: int) -> int:
    """The bits of a leaf's node that so many made bits of its reader read."""
    low = leaf[1]
    return made << low if low >= 0 else int(made > 0) << ~low


def moved(leaf: Leaf, low: int) -> Leaf:
    """A leaf of a node as the reader of the node's bits from ``low`` on sees it."""
    number, bit = leaf
    if bit < 0:
        return leaf
    return number, bit + low if low >= 0 else ~(bit + ~low)
