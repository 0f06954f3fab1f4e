"""Words put together slice by slice: each chain of ``insert`` nodes becomes one concatenation.

Copies of a loop that each set their slice of a word make a chain as long as the loop. Emitted as it
is, every link would be as wide as the word.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from .nodes import Body, Node
from .prune import bodies_of, count_uses
from .regions import Function


def join_words(function: Function, static: Body) -> None:
    """Make concatenations of all ``insert`` nodes, in place."""
    uses = count_uses(function, static)
    for body in (*bodies_of(function.root), static):
        _join(function, body, uses)


def top_of(node: Node) -> int:
    """Bits from this one on are known to be zero."""
    if node.kind == "const":
        return int(node.data).bit_length()
    if node.kind != "wire":
        return node.width
    how = node.data[0]
    if how == "zext":
        return top_of(node.operands[0])
    if how == "insert":
        return int(node.data[2])
    if how == "concat":
        top = node.width
        for part in reversed(node.operands):
            top -= part.width
            if not is_zero(part):
                return top + top_of(part)
        return 0
    return node.width


def is_zero(node: Node) -> bool:
    """Whether a node is the constant zero."""
    return node.kind == "const" and not node.data


def _join(function: Function, body: Body, uses: Counter[int]) -> None:
    inside: set[int] = set()
    made: dict[int, list[Node]] = {}
    for node in reversed(body.nodes):
        if _is_insert(node) and node.number not in inside:
            made[node.number] = _concatenate(function, node, uses, inside)
    if not made:
        return
    kept: list[Node] = []
    for node in body.nodes:
        if node.number not in inside:
            kept += (*made.get(node.number, ()), node)
    body.nodes = kept


def _concatenate(
    function: Function, head: Node, uses: Counter[int], inside: set[int]
) -> list[Node]:
    """Make a concatenation of an ``insert``; the slices that it takes.

    Args:
        inside: gets the links that are no longer needed, because only the next one read them.
    """
    pieces: dict[int, tuple[Node, int, int]] = {}
    starts: list[int] = []
    link = head
    while True:
        before, value = link.operands
        low = link.data[1]
        _cover(starts, pieces, value, low, low + value.width, -low)
        if not _is_insert(before) or before.body is not head.body or uses[before.number] != 1:
            break
        inside.add(before.number)
        link = before
    _cover(starts, pieces, before, 0, head.width, 0)
    slices: list[Node] = []
    parts: list[Node] = []
    for start in starts:
        source, low, width = pieces[start]
        if source.kind == "const":
            value = source.data >> low & (1 << width) - 1
            parts.append(Node(function.number(), "const", width, data=value, low=value, high=value))
            continue
        if width < source.width:
            source = Node(
                function.number(),
                "wire",
                width,
                (source,),
                head.body,
                place=head.place,
                guard=head.guard,
                data=("slice", low),
            )
            slices.append(source)
        parts.append(source)
    head.operands, head.data = tuple(parts), ("concat", 0)
    return slices


def _is_insert(node: Node) -> bool:
    return node.kind == "wire" and node.data[0] == "insert"


def _cover(
    starts: list[int],
    pieces: dict[int, tuple[Node, int, int]],
    source: Node,
    low: int,
    high: int,
    shift: int,
) -> None:
    """Put bits of ``source`` where nothing is yet between ``low`` and ``high``.

    Args:
        starts, pieces: the pieces so far, by the bit at which they start: source, its bit, bits.
        shift: what makes a bit of the source of a bit of the word.
    """
    at = bisect_left(starts, low)
    if at and (end := starts[at - 1] + pieces[starts[at - 1]][2]) > low:
        low = end
    new: list[int] = []
    while low < high:
        following = starts[at] if at < len(starts) else high
        end = min(following, high)
        if end > low:
            pieces[low] = source, low + shift, end - low
            new.append(low)
        if following >= high:
            break
        low = following + pieces[following][2]
        at += 1
    for start in new:
        starts.insert(bisect_left(starts, start), start)
