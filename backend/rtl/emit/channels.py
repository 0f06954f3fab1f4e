"""One stream parameter of a function, and what asks it without waiting."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..graph.nodes import Node, Stream
from .text import ModuleText


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


def attempt(text: ModuleText, channel: Channel, node: Node, when: str, value: str) -> str:
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
    answer = text.fresh()
    text.line(f"{answer} = comb.concat {channel.valid}, {word} : i1, i{width}", node.place)
    return answer
