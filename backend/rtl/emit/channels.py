"""One stream parameter of a function, what asks it without waiting, and the steps that wait for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..graph.nodes import Body, Node, Stream
from ..graph.prune import bodies_of
from .builder import ModuleBuilder
from .context import Context

MANY_WORDS = 4
"""Words that a step waits for in the cycle in which it goes on; more are told by a register."""


@dataclass(slots=True)
class Channel:
    """One stream parameter as emission goes.

    Attributes:
        data, valid, ready: the local side: what the function's own operations see.
        wants: conditions under which a word is taken (gets) or offered (puts).
        offers: (condition, data) of puts.
        buffer: words of the elastic buffer between the operations and the port, 0 for none.
        reserved: name of the counter of places kept or words promised, if there is one.
        short: registers that say, by a number of words, that fewer places are free.
        passing: conditions under which a word is taken past the buffer.
        claims: for each pipeline that takes words from the buffer: when an iteration of it waits,
            how many words each takes, and whether another follows.
        allowed: whether a called function's buffer may take a word in, "" for always.
    """

    stream: Stream
    prefix: str
    data: str = ""
    valid: str = ""
    ready: str = ""
    wants: list[str] = field(default_factory=list)
    offers: list[tuple[str, str]] = field(default_factory=list)
    pushes: list[tuple[str, str]] = field(default_factory=list)
    buffer: int = 0
    reserved: str = ""
    short: dict[int, str] = field(default_factory=dict)
    fill: str = ""
    taken: list[tuple[str, int]] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    claims: list[tuple[str, int, str]] = field(default_factory=list)
    allowed: str = ""


def attempt(text: ModuleBuilder, channel: Channel, node: Node, when: str, value: str) -> str:
    """Ask a stream without waiting in the cycle in which ``when`` is high; the answer in that cycle.

    What is got is 0 where there is none; above it stands the bit that says whether there was.
    """
    match node.data:
        case "try_put":
            channel.offers.append((when, value))
            return channel.ready
        case "full":
            return text.invert(channel.ready)
        case "empty":
            return text.invert(channel.valid)
    width = channel.stream.width
    channel.wants.append(when)
    word = text.mux(channel.valid, channel.data, text.const(0, width), width)
    return text.concat([(channel.valid, 1), (word, width)], node.place)


def steps_of(body: Body) -> dict[int, list[Node]]:
    """The stream operations of a body by step."""
    steps: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        if node.stream is not None:
            steps[node.time].append(node)
    return steps


def passes_by_register(
    context: Context, channels: Mapping[int, Channel], body: Body, nodes: list[Node]
) -> bool:
    """Whether a register says that a step that takes many words goes on, a cycle after the last has come.

    A word that is there stays until it is taken. So the register also tells of words that came before
    the step runs, and the step takes no longer then. This asks that nothing else takes from these
    streams, and that the step does not run in each cycle.
    """
    if context.alone is not body or body.depth < 2 or len(nodes) <= MANY_WORDS:
        return False
    users = Counter(
        node.stream.number
        for other in bodies_of(context.function.root)
        for node in other.nodes
        if node.stream is not None
    )
    return all(_takes_alone(node, channels, users) for node in nodes)


def _takes_alone(node: Node, channels: Mapping[int, Channel], users: Mapping[int, int]) -> bool:
    """Whether a node takes a word in every run of its step, and nothing else takes from its stream."""
    if node.kind != "get" or node.tries or node.predicate is not None or node.stream is None:
        return False
    channel = channels[node.stream.number]
    return users[node.stream.number] == 1 and not channel.buffer and len(channel.wants) == 1
