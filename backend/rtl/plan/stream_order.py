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
waits too. A get that the program does after such a put is waited for before it. That is no loss where
nobody can give its word in answer to the put, because the rest of the design does not join their streams
(``Stream.group``): what others see of each group is the order of the program. Where somebody can, the get
would have to be waited for inside the pipeline: such loops do not overlap (:func:`obstacle`).

What does not wait happens in the pipeline, at its own time, in an iteration that is issued and so
never stalls. Loops that wait for a stream after they tried one, or that wait for and try the same
stream, do not overlap (:func:`tried_before`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..graph.nodes import Body, Node
from .explain import short
from .limits import limit


def operations_of(body: Body) -> dict[int, list[Node]]:
    """The stream operations of a body that wait, by stream number, in program order."""
    found: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        if node.waits and node.stream is not None:
            found[node.stream.number].append(node)
    return found


def direct_of(body: Body) -> set[int]:
    """Numbers of the operations that need no buffer in overlapping iterations.

    Such a one is the only one of its stream, or all of it are one party, in the issuing cycle. In the
    program no put with a buffer stands before such a put, and it stands between no two gets of a stream
    with a buffer.
    """
    parties = operations_of(body)
    alone = {
        number
        for number, nodes in parties.items()
        if words_of(nodes) == 1 and not any(node.time for node in nodes)
    }
    while late := _late_puts(body, parties, alone):
        alone -= late
    return {node.number for number in alone for node in parties[number]}


def _late_puts(body: Body, parties: dict[int, list[Node]], alone: set[int]) -> set[int]:
    """Streams among ``alone`` with a put behind a buffered one, or between gets of a buffered stream."""
    late: set[int] = set()
    begun: set[int] = set()
    buffered = False
    for node in body.nodes:
        if not node.waits or node.stream is None:
            continue
        number = node.stream.number
        if number not in alone:
            buffered = buffered or node.kind == "put"
            if node.kind == "get":
                (begun.discard if node is parties[number][-1] else begun.add)(number)
        elif node.kind == "put" and (buffered or begun):
            late.add(number)
    return late


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
    puts: dict[int, Node] = {}
    directs = direct_of(body)
    for node in body.nodes:
        if not node.waits or node.stream is None:
            continue
        if node.kind == "get" and node.stream.group in puts:
            return node, puts[node.stream.group]
        if node.kind == "put" and node.number not in directs:
            puts.setdefault(node.stream.group, node)
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


def waits_inside(body: Body) -> str:
    """Why iterations would have to wait once they are issued, "" where they do not."""
    asked = tried_before(body)
    if asked is not None:
        return _tried_and_waits(*asked)
    direct = direct_of(body)
    for node in body.nodes:
        if node.waits and node.kind == "get" and node.predicate and node.number not in direct:
            return _depends_on_data(node)
    found = obstacle(body)
    if found is None:
        return ""
    get, put = found
    ends = {"stream": get.label, "written": put.label}
    return limit("answer", place=short(get.place), there=short(put.place), **ends)


def first_unforeseen(body: Body) -> str:
    """Why iterations cannot wait before they are issued: a get that depends on their data; "" for none."""
    for node in body.nodes:
        if node.waits and node.kind == "get" and not _known_at_issue(node.predicate, body):
            return _depends_on_data(node)
    return ""


def counts_on(node: Node) -> str:
    """Why a loop cannot be left early: it takes ahead what ``node`` waits for."""
    words = "words" if node.kind == "get" else "places for words"
    return limit("ahead", words=words, stream=node.label, place=short(node.place))


def _tried_and_waits(node: Node, tried: Node | None) -> str:
    verb = "read" if node.kind == "get" else "written"
    what = {"stream": node.label, "verb": verb, "place": short(node.place)}
    if tried is None:
        return limit("asked elsewhere", **what)
    return limit("asked", tried=tried.label, there=short(tried.place), **what)


def _depends_on_data(node: Node) -> str:
    return limit("data", stream=node.label, place=short(node.place))


def _known_at_issue(node: Node | None, body: Body) -> bool:
    if node is None or node.body is not body or node.is_free:
        return True
    if node.kind == "load" and node.access is not None:
        return node.access.array.storage == "reg" and not node.latency
    if node.stream is not None or node.latency:
        return False
    return all(_known_at_issue(o, body) for o in node.operands)
