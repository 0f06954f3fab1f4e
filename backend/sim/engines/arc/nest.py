"""Put what a clock edge does under the conditions that its writes share.

arc writes one branch a register, and reads every register before. Here the conditions of the
writes are taken as conjunctions; the conjunct that most writes share becomes a branch around them,
and so on inside. Each operation then goes to the innermost branch that holds all its users, and
each read to the branches of its users, so that an idle body of a kernel costs one test. A read
must run before the write of what it reads: branches are ordered to that end, and the reads for
which no order serves stay outside.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from allo.backend.rtl._circt import ir

from .branches import Branch, meeting
from .graph import AND, STATE_WRITE, Graph, Node, Write
from .order import least_backward
from .outline import Outliner
from .share import share_out

FEWEST = 3
"""Writes that make a branch of their own worth while."""


Condition = tuple[Node, ...] | None
"""Conjuncts of a condition; None for one that never holds."""


def both(a: Condition, b: Condition) -> Condition:
    """The conjunction of two conditions."""
    return None if a is None or b is None else (*a, *b)


def nest(graph: Graph, known: dict[Node, bool], outliner: Outliner) -> None:
    """Rewrite a model's block, in place.

    Args:
        known: conditions known to hold, or not to.
        outliner: makes the functions of the model.
    """
    with graph.block.owner.context, ir.Location.unknown():
        root = Branch(None)
        _divide(root, _Conditions(graph, known).writes(), graph)
        share_out(graph, root)
        places = _Places(graph, root).decide()
        _Rewriting(graph, root, places, outliner).run()
    outliner.cut()


class _Conditions:
    """The conjuncts of the condition of every write."""

    def __init__(self, graph: Graph, known: dict[Node, bool]) -> None:
        self._graph = graph
        self._known = known
        self._true: Node | None = None
        self._opposites: dict[Node, Node] = {}
        self._conjuncts: dict[Node, Condition] = {}

    def writes(self) -> list[tuple[Write, tuple[Node, ...]]]:
        """The writes that are ever done, each with its conjuncts."""
        found = []
        for write in self._graph.writes:
            condition: Condition = ()
            for test, wanted in write.tests:
                part = self._split(test) if wanted else self._opposite(test)
                condition = both(condition, part)
            if write.op.name == STATE_WRITE:
                condition = self._peeled(write, condition)
            if condition is None:
                self._graph.old.append(write.op)
            else:
                found.append((write, tuple(dict.fromkeys(condition))))
        return found

    def _peeled(self, write: Write, condition: Condition) -> Condition:
        """Make a write of the register's own value or another one a write under a condition."""
        own, value = self._graph.read.get(write.state), write.operands[1]
        while value.name == "comb.mux":
            test, then, other = value.operands
            if test in self._known:
                value = then if self._known[test] else other
            elif other is own:
                value, condition = then, both(condition, self._split(test))
            elif then is own:
                value, condition = other, both(condition, self._opposite(test))
            else:
                break
        if value is not write.operands[1]:
            write.operands[1] = value
            write.op.operands[1] = value.op.results[0]
        return None if value is own else condition

    def _split(self, condition: Node) -> Condition:
        """The conjuncts of a condition that are not known to hold.

        Conjunctions among them stay whole: handshakes make chains of those across a design.
        """
        if condition in self._known:
            return () if self._known[condition] else None
        if condition not in self._conjuncts:
            parts = condition.operands if condition.name in AND else [condition]
            found: Condition = ()
            for part in parts:
                known = self._known.get(part)
                found = both(found, (part,) if known is None else () if known else None)
            self._conjuncts[condition] = found
        return self._conjuncts[condition]

    def _opposite(self, condition: Node) -> Condition:
        if condition in self._known:
            return None if self._known[condition] else ()
        if condition not in self._opposites:
            bit = condition.op.results[0].type
            if self._true is None:
                attributes = {"value": ir.IntegerAttr.get(bit, -1)}
                self._true = self._graph.create("hw.constant", bit, [], attributes)
            inverse = self._graph.create("comb.xor", bit, [condition, self._true])
            self._opposites[condition] = inverse
        return (self._opposites[condition],)


def _divide(branch: Branch, writes: list[tuple[Write, tuple[Node, ...]]], graph: Graph) -> None:
    """Share writes out to branches inside a branch: each to the conjunct that most others have."""
    counts = Counter(c for _, left in writes for c in left)
    groups: dict[Node | None, list[tuple[Write, tuple[Node, ...]]]] = defaultdict(list)
    for write, left in writes:
        shared = max(left, key=counts.__getitem__, default=None)
        groups[shared].append((write, left))
    alike: dict[frozenset[Node], Branch] = {frozenset(): branch}
    for shared, group in groups.items():
        if shared is not None and len(group) >= FEWEST:
            everywhere = set(group[0][1]).intersection(*(left for _, left in group[1:]))
            condition = _all_of([c for c in group[0][1] if c in everywhere], graph)
            inner = [(w, tuple(c for c in left if c not in everywhere)) for w, left in group]
            _divide(branch.open(condition), inner, graph)
            continue
        for write, left in group:
            key = frozenset(left)
            if key not in alike:
                alike[key] = branch.open(_all_of(list(left), graph))
            alike[key].writes.append(write)


def _all_of(conjuncts: list[Node], graph: Graph) -> Node:
    if len(conjuncts) == 1:
        return conjuncts[0]
    return graph.create("comb.and", conjuncts[0].op.results[0].type, conjuncts)


class _Places:
    """The branches of every operation, and the order of branches."""

    def __init__(self, graph: Graph, root: Branch) -> None:
        self._graph = graph
        self._root = root
        self._writers: dict[int, list[Branch]] = defaultdict(list)
        for branch in root.all():
            for write in branch.writes:
                if write.state >= 0:
                    self._writers[write.state].append(branch)

    def decide(self) -> dict[Node, list[Branch]]:
        """The branches of every operation; several for those that are copied."""
        self._order(self._places(ordered=False))
        return self._places(ordered=True)

    def _places(self, *, ordered: bool) -> dict[Node, list[Branch]]:
        users: dict[Node, list[Branch]] = {node: [] for node in self._graph.nodes}
        for branch in self._root.all():
            if branch.condition is not None and branch.parent is not None:
                users[branch.condition].append(branch.parent)
            for write in branch.writes:
                for node in write.operands:
                    users[node].append(branch)
        root = [self._root]
        places: dict[Node, list[Branch]] = {}
        for node in reversed(self._graph.nodes):
            if node.is_constant:
                places[node] = root
                continue
            found = users[node]
            if len(found) > 1:
                found = list(dict.fromkeys(found))
                if len(found) > 1 and not node.is_copied:
                    found = [_around_all(found)]
            if ordered and node.reads and node.state in self._writers:
                found = [self._before(branch, node.state) for branch in found]
            if len(found) > 1:
                found = _outermost(found)
            places[node] = found
            for operand in node.operands:
                users[operand] += found
        return places

    def _before(self, branch: Branch, state: int) -> Branch:
        """The branch itself, or one around it, that runs before all writes of a state."""
        for writer in self._writers[state]:
            shared, mine, other = meeting(branch, writer)
            if mine is not None and other is not None and mine.position > other.position:
                branch = shared
        return branch

    def _order(self, places: dict[Node, list[Branch]]) -> None:
        """Order the branches in each branch so that few reads come after their writes."""
        earlier: dict[Branch, Counter[tuple[int, int]]] = defaultdict(Counter)
        for node, found in places.items():
            if not node.reads:
                continue
            for writer in self._writers.get(node.state, ()):
                for branch in found:
                    shared, mine, other = meeting(branch, writer)
                    if mine is not None and other is not None:
                        earlier[shared][mine.position, other.position] += 1
        for branch, edges in earlier.items():
            order = least_backward(len(branch.inner), edges)
            branch.inner = [branch.inner[position] for position in order]
            for position, inner in enumerate(branch.inner):
                inner.position = position


def _around_all(branches: list[Branch]) -> Branch:
    around = branches[0]
    for branch in branches[1:]:
        around = meeting(around, branch)[0]
    return around


def _outermost(branches: list[Branch]) -> list[Branch]:
    """The branches that no other of them is around."""
    kept = dict.fromkeys(branches)
    return [b for b in kept if not any(a in kept for a in b.around() if a is not b)]


class _Rewriting:
    """Moves everything to where it was decided to be."""

    def __init__(
        self, graph: Graph, root: Branch, places: dict[Node, list[Branch]], outliner: Outliner
    ) -> None:
        self._graph = graph
        self._root = root
        self._places = places
        self._copies: dict[Node, dict[Branch, ir.Value]] = {}
        self._outliner = outliner

    def run(self) -> None:
        """Move every node into its branch, copy those that have several, and erase the unused."""
        graph = self._graph
        dead: list[ir.Operation] = []
        for node in graph.nodes:
            found = self._places[node]
            if not found:
                dead.append(node.op)
                graph.block.append(node.op)
                continue
            found[0].nodes.append((node, node.op))
            if len(found) > 1:
                self._copy(node, found)
        self._fill(self._root, None)
        for op in (*reversed(graph.old), *reversed(dead)):
            op.erase()

    def _copy(self, node: Node, branches: list[Branch]) -> None:
        copies = self._copies[node] = {branches[0]: node.op.results[0]}
        for branch in branches[1:]:
            with ir.InsertionPoint(self._graph.block):
                copy = node.op.clone().operation
            copies[branch] = copy.results[0]
            branch.nodes.append((node, copy))

    def _seen(self, node: Node, branch: Branch) -> ir.Value:
        """The copy of a value that a branch sees."""
        copies = self._copies.get(node)
        if copies is None:
            return node.op.results[0]
        return next(copies[b] for b in branch.around() if b in copies)

    def _put(
        self, op: ir.Operation, operands: list[Node], branch: Branch, end: ir.Operation | None
    ) -> None:
        for position, node in enumerate(operands):
            if node in self._copies:
                op.operands[position] = self._seen(node, branch)
        if end is None:
            self._graph.block.append(op)
        else:
            op.move_before(end)

    def _fill(self, branch: Branch, end: ir.Operation | None) -> None:
        for node, op in branch.nodes:
            self._put(op, node.operands, branch, end)
        for inner in branch.inner:
            if inner.condition is None:
                self._function(inner, end)
                continue
            condition = self._seen(inner.condition, branch)
            with ir.InsertionPoint(self._graph.block) if end is None else ir.InsertionPoint(end):
                made = ir.Operation.create("scf.if", operands=[condition], regions=2)
            made.regions[0].blocks.append()
            with ir.InsertionPoint(made.regions[0].blocks[0]):
                stop = ir.Operation.create("scf.yield")
            self._fill(inner, stop)
        for write in branch.writes:
            self._put(write.op, write.operands, branch, end)

    def _function(self, branch: Branch, end: ir.Operation | None) -> None:
        """Do what a branch without condition does in a function."""
        self._fill(branch, end)
        ops = [*(op for _, op in branch.nodes), *(write.op for write in branch.writes)]
        self._outliner.function(ops)
