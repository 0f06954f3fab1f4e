"""Where the stream operations of overlapping iterations happen, and which loops cannot overlap.

A process must never wait where its program would not: hardware that waits for a word before it does
what the program does first can deadlock where the program ends. Once issued, an iteration does
not wait. So the operations for which it may have to wait come first, *in front* of the pipeline,
in program order: each as soon as those before it have passed. They are

* the *direct* operations: the only one of their stream, or several of which one happens, in the first
  cycle of the iteration;
* one demand for each other stream that is read: its words are taken ahead into an elastic buffer,
  which delays nobody, and the iteration waits until all of its own are there.

Puts that are not direct have an elastic buffer in which every iteration keeps its places when it is
issued. A place is free as soon as the puts of the iteration before have passed, for which the program
waits too. A get that the program does after such a put would have to be waited for inside
the pipeline: loops that have one do not overlap (:func:`obstacle`).

What does not wait happens in the pipeline, at its own time, in an iteration that is issued and so
never stalls. Loops that wait for a stream after they tried one, or that wait for and try the same
stream, do not overlap (:func:`tried_before`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..graph.nodes import Body, Node


def operations_of(body: Body) -> dict[int, list[Node]]:
    """The stream operations of a body that wait, by stream number, in program order."""
    found: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        if node.waits and node.stream is not None:
            found[node.stream.number].append(node)
    return found


def direct_of(body: Body) -> set[int]:
    """Numbers of the operations that need no buffer in overlapping iterations.

    Such a one is the only one of its stream, or all of it are one party, in the issuing cycle, and nothing
    that the program puts before it comes later.
    """
    alone = [nodes for nodes in operations_of(body).values() if words_of(nodes) == 1]
    early: set[int] = set()
    late_put = False
    for node in body.nodes:
        if not node.waits:
            continue
        if not node.time and not (node.kind == "put" and late_put):
            early.add(node.number)
        late_put = late_put or (node.kind == "put" and node.time > 0)
    found = (nodes for nodes in alone if all(node.number in early for node in nodes))
    return {node.number for nodes in found for node in nodes}


def words_of(nodes: Sequence[Node]) -> int:
    """Words that the operations of a stream pass in an iteration at most; those of a party pass one."""
    return len({node.party if node.party >= 0 else ~node.number for node in nodes})


def buffer_words(body: Body, *, late: bool = False) -> dict[int, int]:
    """Words that each stream's elastic buffer needs so that iterations can be issued without a gap.

    Args:
        late: whether the places of puts are given back a cycle later.
    """
    direct = direct_of(body)
    return {
        number: words_of(nodes) * (_stay(nodes, late) // body.ii + 2)
        for number, nodes in operations_of(body).items()
        if body.overlaps and nodes[0].number not in direct
    }


def _stay(nodes: Sequence[Node], late: bool) -> int:
    """Cycles from the issue of an iteration to the last of its operations of a stream, or to its return."""
    return max(node.time + (late and node.kind == "put") for node in nodes)


def front_of(body: Body) -> list[Node]:
    """What an iteration does or waits for in front of the pipeline, in program order.

    A stream with an elastic buffer is there with the last of its gets.
    """
    direct = direct_of(body)
    last = {nodes[-1].number for nodes in operations_of(body).values() if nodes[-1].kind == "get"}
    return [node for node in body.nodes if node.number in direct or node.number in last]


def obstacle(body: Body) -> tuple[Node, Node] | None:
    """A get of a scheduled body that cannot be waited for in front, and the put that comes before it."""
    put: Node | None = None
    first_gets: set[int] = set()
    directs = direct_of(body)
    for node in body.nodes:
        if not node.waits or node.stream is None:
            continue
        direct, number = node.number in directs, node.stream.number
        if node.kind == "put":
            if not direct:
                put = put or node
            elif first_gets:
                between = _get_after(body, node, first_gets)
                if between is not None:
                    return between, node
        elif put is not None:
            return node, put
        elif not direct:
            first_gets.add(number)
    return None


def tried_before(body: Body) -> tuple[Node, Node | None] | None:
    """What waits though something before it, or on its stream, does not: (it, that), None for elsewhere."""
    tried: Node | None = None
    by_stream = {node.stream.number: node for node in body.nodes if node.tries and node.stream}
    direct = direct_of(body)
    for node in body.nodes:
        if node.tries:
            tried = tried or node
        if not node.waits or node.stream is None:
            continue
        same = by_stream.get(node.stream.number)
        if tried is not None or same is not None:
            return node, tried or same
        if node.stream.tried and node.number not in direct:
            return node, None
    return None


def _get_after(body: Body, node: Node, streams: set[int]) -> Node | None:
    """The first get of one of the streams that comes after a node."""
    following = body.nodes[body.nodes.index(node) + 1 :]
    return next((n for n in following if n.waits and n.stream and n.stream.number in streams), None)
