"""What repeats within one module becomes packs, too.

A process that collects from 64 streams has 64 registers of one form, and the top has one that tells of each
process whether it has ended. Such registers become the lanes of one register, with what they take.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from .nodes import (
    ALL,
    ANY,
    CONSTANT,
    GATHER,
    REGISTER,
    Node,
    Packed,
    Register,
    origin_of,
)

FEWEST = 4
"""Registers that become one."""
DEEPEST = 6
_SHARED = 8
"""Users from which on a value counts as one of the whole module."""
_APART = frozenset((REGISTER, CONSTANT, GATHER))

_MASKED = {"comb.and": ALL, "comb.or": ANY}

type _Shape = tuple[object, ...]


def join_registers(packed: Packed) -> None:
    """Join the scalar registers of a design that are alike, in place."""
    joining = _Joining(packed)
    alike: dict[_Shape, list[Register]] = defaultdict(list)
    for register in packed.registers:
        if register.node.lanes == 1:
            alike[joining.shape_of(register)].append(register)
    chosen = [group for group in alike.values() if len(group) >= FEWEST]
    for group in chosen:
        joining.declare(group)
    joining.join_forward()
    for group in chosen:
        joining.define(group)
    joining.join_forward()
    for gather in joining.gathers:
        joining.join_sources(gather)
    instead = dict(zip((group[0] for group in chosen), joining.made, strict=True))
    joined = {register for group in chosen for register in group[1:]}
    packed.registers = [instead.get(r, r) for r in packed.registers if r not in joined]


class _Joining:
    """Makes packs of scalars."""

    def __init__(self, packed: Packed) -> None:
        self.made: list[Register] = []
        self._uses: Counter[Node] = Counter()
        self._known: dict[tuple[Node, ...], Node] = {}
        self.gathers: list[Node] = []
        self._scalars: list[Node] = []
        self._count(packed)

    def _count(self, packed: Packed) -> None:
        self._uses.update(packed.roots)
        seen = set(packed.roots)
        waiting = list(seen)
        while waiting:
            node = waiting.pop()
            if node.kind == GATHER and node.lanes >= FEWEST:
                self.gathers.append(node)
            elif node.lanes == 1:
                self._scalars.append(node)
            for arg in node.args:
                self._uses[arg] += 1
                if arg not in seen:
                    seen.add(arg)
                    waiting.append(arg)

    def shape_of(self, register: Register) -> _Shape:
        """The form of what a register takes; equal for registers that may be lanes of one."""
        node = register.node
        return (
            node.width,
            register.group,
            self._shape(register.value, node, DEEPEST),
            register.enable,
            register.reset,
            register.reset_value,
            bool(register.names),
        )

    def _shape(self, node: Node, own: Node, depth: int) -> _Shape:
        if node is own and depth:
            return ("own",)
        if node.kind == CONSTANT:
            return (node.width, node.detail)
        if node.kind == GATHER and node.lanes == 1:
            source = node.args[0]
            return ("lane", source if source.lanes > 1 else source.width)
        if node is own and not depth:
            return _form(node)
        if node.kind in _APART or not depth or self._is_shared(node):
            return ("other", node.width)
        if depth < DEEPEST and self._uses[node] > 1:
            return ("other", node.width)
        parts = (self._shape(arg, own, depth - 1) for arg in node.args)
        return (node.kind, node.width, node.detail, *parts)

    def _is_shared(self, node: Node) -> bool:
        return node.lanes > 1 or self._uses[node] >= _SHARED

    def declare(self, group: Sequence[Register]) -> None:
        """Make the register of a group; those of the group name its lanes from now on."""
        first = group[0]
        node = Node(REGISTER, first.node.width, len(group))
        names = [name for register in group for name in register.names]
        self.made.append(
            Register(node, first.value, None, None, first.reset_value, names, first.group)
        )
        for lane, register in enumerate(group):
            _become_lane(register.node, node, lane)

    def define(self, group: Sequence[Register]) -> None:
        """Give the register of a group what it takes."""
        lanes = len(group)
        register = next(r for r in self.made if r.node is group[0].node.args[0])
        register.value = self._join([r.value for r in group], DEEPEST)
        if group[0].enable is not None:
            register.enable = _broadcast(group[0].enable, lanes)
        if group[0].reset is not None:
            register.reset = _broadcast(group[0].reset, lanes)

    def join_sources(self, gather: Node) -> None:
        """Join scalars of one form that a gather takes lanes from."""
        alike: dict[_Shape, list[int]] = defaultdict(list)
        for lane, (number, _) in enumerate(gather.taken):
            source, _ = origin_of(gather.args[number])
            if source.lanes == 1 and source.kind.startswith("comb."):
                alike[self._shape(source, source, 0)].append(lane)
        sources = [origin_of(gather.args[number], at) for number, at in gather.taken]
        for lanes in alike.values():
            nodes = [sources[lane][0] for lane in lanes]
            if len(nodes) < FEWEST or len(set(nodes)) < len(nodes):
                continue
            made = self._join(nodes, DEEPEST)
            for at, lane in enumerate(lanes):
                sources[lane] = (made, at)
        numbers: dict[Node, int] = {}
        gather.taken = [(numbers.setdefault(node, len(numbers)), at) for node, at in sources]
        gather.args = list(numbers)

    def join_forward(self) -> None:
        """Join scalars that compute the same of lanes of the same words, until there are none."""
        tried: set[tuple[Node, ...]] = set()
        while True:
            alike: dict[_Shape, list[tuple[list[int], Node]]] = defaultdict(list)
            for node in self._scalars:
                if node.kind.startswith("comb.") and node.lanes == 1 and node.args:
                    origins = [origin_of(arg) for arg in node.args]
                    if any(source.lanes > 1 for source, _ in origins):
                        sources = tuple(source for source, _ in origins)
                        shape = (node.kind, node.width, node.detail, *sources)
                        alike[shape].append(([at for _, at in origins], node))
            for group in alike.values():
                group.sort(key=lambda found: found[0])
            rows = {tuple(node for _, node in group) for group in alike.values()}
            fresh = [row for row in rows if len(row) >= FEWEST and row not in tried]
            if not fresh:
                return
            tried.update(fresh)
            for row in fresh:
                self._join(list(row), 1)

    def _join(self, nodes: list[Node], depth: int) -> Node:
        """One node whose lanes are some scalars."""
        key = tuple(nodes)
        if key not in self._known:
            self._known[key] = self._joined(nodes, depth)
        return self._known[key]

    def _joined(self, nodes: list[Node], depth: int) -> Node:
        first = nodes[0]
        if first.width == 1 and depth:
            masked = self._masked(nodes, depth)
            if masked is not None:
                return masked
        alike = all(_form(node) == _form(first) and node.lanes == 1 for node in nodes)
        if (
            not alike
            or not depth
            or first.kind in _APART
            or not first.kind.startswith("comb.")
            or len(set(nodes)) < len(nodes)
            or any(self._is_shared(node) for node in nodes)
        ):
            return _gather(nodes)
        rows = zip(*(node.args for node in nodes), strict=True)
        args = [self._join(list(row), depth - 1) for row in rows]
        made = Node(first.kind, first.width, len(nodes), args, first.detail)
        for lane, node in enumerate(nodes):
            _become_lane(node, made, lane)
        return made

    def _masked(self, nodes: list[Node], depth: int) -> Node | None:
        """Conjunctions (disjunctions) of different lanes of a few words as one node, or None."""
        own = set(nodes)
        counts = Counter(node.kind for node in nodes)
        kind = max(_MASKED, key=lambda name: counts[name])
        arities = {len(node.args) if node.kind == kind else 1 for node in nodes}
        if len(own) < len(nodes) or 2 * counts[kind] < len(nodes) or len(arities) == 1:
            return None
        used = {arg for node in nodes for arg in node.args}
        ours = [n.kind == kind and n not in used and not self._is_shared(n) for n in nodes]
        found = [
            [origin_of(arg) for arg in (node.args if mine else [node])]
            for node, mine in zip(nodes, ours, strict=True)
        ]
        inner = {node for node, mine in zip(nodes, ours, strict=True) if mine}
        if any(source in inner for row in found for source, _ in row):
            return None
        scalars = list(dict.fromkeys(s for row in found for s, _ in row if s.lanes == 1))
        word = self._join(scalars, depth - 1) if len(scalars) > 1 else None
        place = {scalar: (word, at) for at, scalar in enumerate(scalars)} if word else {}
        masks: dict[Node, list[int]] = {}
        for lane, row in enumerate(found):
            for source, at in row:
                whole, bit = place.get(source, (source, at))
                mask = masks.setdefault(whole, [0] * len(nodes))
                mask[lane] |= 1 << bit
        made = Node(_MASKED[kind], 1, len(nodes), list(masks), masks=list(masks.values()))
        for lane, node in enumerate(nodes):
            if ours[lane]:
                _become_lane(node, made, lane)
        return made


def _form(node: Node) -> _Shape:
    """What lanes of one node have in common."""
    return (node.kind, node.width, node.detail, *(arg.width for arg in node.args))


def _become_lane(node: Node, whole: Node, lane: int) -> None:
    node.kind, node.args, node.detail, node.taken = GATHER, [whole], 0, [(0, lane)]


def _gather(nodes: list[Node]) -> Node:
    """Lanes from scalars, which may be lanes themselves."""
    numbers: dict[Node, int] = {}
    made = Node(GATHER, nodes[0].width, len(nodes))
    for node in nodes:
        source, lane = origin_of(node)
        made.taken.append((numbers.setdefault(source, len(numbers)), lane))
    made.args = list(numbers)
    whole = made.args[0]
    same = len(made.args) == 1 and whole.lanes == made.lanes
    return whole if same and made.taken == [(0, lane) for lane in range(made.lanes)] else made


def _broadcast(node: Node, lanes: int) -> Node:
    return Node(GATHER, node.width, lanes, [node], 0, [(0, 0)] * lanes)
