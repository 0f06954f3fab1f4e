"""Dead code: nodes no effect depends on, regions without effects; marks values that cross bodies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .nodes import Body, Node
from .regions import Block, Call, Choice, Function, If, Leaf, Loop, Region, Seq, While

EFFECTS = frozenset({"store", "put", "get", "check", "exit"})


def regions_of(region: Region) -> Iterator[Region]:
    """A region and all regions inside it, in program order."""
    yield region
    for child in children_of(region):
        yield from regions_of(child)


def children_of(region: Region) -> list[Region]:
    """The regions directly inside a region."""
    match region:
        case Seq():
            return region.children
        case Loop():
            return [region.child]
        case If():
            return [region.then, region.other]
        case Choice():
            return list(region.options)
        case While():
            return [region.test, region.child]
    return []


def bodies_of(region: Region) -> Iterator[Body]:
    """Every body below a region."""
    for r in regions_of(region):
        if isinstance(r, Block | Leaf):
            yield r.body


def outside_uses(region: Region) -> list[Node]:
    """Nodes that control reads directly: bounds, conditions, arguments of calls."""
    match region:
        case Loop():
            levels = [region.level]
        case Leaf():
            levels = region.levels
        case If() | While():
            return [region.condition]
        case Call():
            return region.scalars
        case _:
            return []
    uses = [n for level in levels for n in level.bounds]
    if isinstance(region, Loop) and region.guard is not None:
        uses.append(region.guard)
    if isinstance(region, Leaf) and region.exit is not None:
        uses += [n for guess in region.exit.guesses for n in (guess.final, guess.following)]
    return uses


def count_uses(function: Function, static: Body) -> Counter[int]:
    """How often each node is used: by nodes, by control, as a result."""
    uses: Counter[int] = Counter()
    for body in (*bodies_of(function.root), static):
        uses.update(operand.number for node in body.nodes for operand in node.operands)
    for region in regions_of(function.root):
        uses.update(node.number for node in outside_uses(region))
    uses.update(value.number for value in function.returned if isinstance(value, Node))
    return uses


def prune(function: Function, static: Body) -> None:
    """Remove what has no effect, in place."""
    live: set[int] = set()
    stack: list[Node] = [n for n in function.returned if isinstance(n, Node)]
    for region in regions_of(function.root):
        stack += outside_uses(region)
    for body in bodies_of(function.root):
        stack += [n for n in body.nodes if n.kind in EFFECTS]
    while stack:
        node = stack.pop()
        if node.number in live:
            continue
        live.add(node.number)
        stack += node.operands
    for body in (*bodies_of(function.root), static):
        body.nodes = [n for n in body.nodes if n.number in live]
        for node in body.nodes:
            access = node.access
            if access is not None and access.gate is not None and access.gate.number not in live:
                access.gate = None
    _drop_empty(function.root)
    _mark_crossing(function, static)


def _drop_empty(region: Region) -> bool:
    """Remove regions without effect below; whether this one has none."""
    match region:
        case Seq():
            region.children = [c for c in region.children if not _drop_empty(c)]
            return not region.children
        case Block():
            return not region.body.nodes
        case Leaf():
            return not region.body.nodes
        case Loop():
            return _drop_empty(region.child)
        case If():
            empty = [_drop_empty(region.then), _drop_empty(region.other)]
            return all(empty)
        case Choice():
            empty = [_drop_empty(option) for option in region.options]
            return all(empty)
        case While():
            _drop_empty(region.test)
            _drop_empty(region.child)
    return False


def _mark_crossing(function: Function, static: Body) -> None:
    def use(node: Node, by: Body | None) -> None:
        if not node.is_free and node.body is not by and node.body is not static:
            node.crosses = True

    for body in (*bodies_of(function.root), static):
        for node in body.nodes:
            for operand in node.operands:
                use(operand, body)
    for region in regions_of(function.root):
        if isinstance(region, Leaf):
            continue
        for node in outside_uses(region):
            use(node, None)
    levels = [level for r in regions_of(function.root) if isinstance(r, Leaf) for level in r.levels]
    for bound in (bound for level in levels for bound in level.bounds):
        use(bound, None)
    for node in function.returned:
        if isinstance(node, Node):
            use(node, None)
