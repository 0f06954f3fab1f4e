"""Where a design can wait: what a simulator reads to say why nothing goes on.

Every stream operation has a *probe*, a bit that is high while its process waits there. In Verilog
it is a wire that nothing reads; in the text of the in-process simulator a register that takes the bit
when the input :data:`PROBING` is high, which costs nothing while it is low.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace

PROBING, PROBED = "probing__", "probed__"
"""The input, of the in-process simulator's text alone, at which probes look, and an output of them."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One place where a module may wait for a stream.

    Attributes:
        signal: the probe.
        putting: whether it puts, else it gets.
        port: the stream, by the prefix of its port.
        loop: name of the pipelined loop in front of which it waits, "" elsewhere.
        tries: whether it asks in vain, and does not wait.
    """

    signal: str
    putting: bool
    port: str
    place: SourcePlace | None
    loop: str = ""
    tries: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """An instance of a function's module.

    Attributes:
        label: the instance's name.
        name: the function's name, as the user knows it.
        over: the signal that says that a process has ended; "" for a called function and a process
            that never ends.
        sites: for each place of the call the signal that selects it ("" where there is one),
            and the callee's streams: port of the callee to FIFO or port of this module.
        places: where the stream operations of a module made for another function are in this one.
    """

    label: str
    module: str
    name: str
    over: str
    sites: tuple[tuple[str, dict[str, str]], ...]
    places: dict[SourcePlace, SourcePlace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fifo:
    """A FIFO of a region; ``producer`` and ``consumer`` are labels of members, "" for none.

    ``dtype`` is the type of an element as text.
    """

    label: str
    module: str
    name: str
    depth: int
    producer: str
    consumer: str
    dtype: str = ""


@dataclass(slots=True)
class ModuleWaits:
    """What one module holds that can wait.

    Attributes:
        ports: the user's name of each stream port.
    """

    name: str
    place: SourcePlace | None
    region: bool = False
    waits: list[Wait] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    fifos: dict[str, Fifo] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
