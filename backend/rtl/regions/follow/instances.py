"""The instances of a design while they are followed: processes, what they call, and regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from allo.dialects.diagnostics import SourcePlace

from ...compiled import CompiledModule
from ...graph.nodes import Array
from ...read.storage import bank_words
from ..graph import Given, Member, RegionGraph, Turn
from ..native import Engine
from ..refusal import Unforeseen
from ..variants import Place
from .code import FunctionCode, Run
from .needs import Needs
from .races import Enough, Races
from .tracer import Budget, Clients, Hand, Queue, Tracer
from .values import mask

MANY = 1 << 40
"""The depth of a FIFO that is never full."""
Words = list[int]


@dataclass(frozen=True, slots=True)
class FifoPlace:
    """A FIFO of the design: its region's instance and name, bits of a word, depth; "" names an outer port."""

    path: tuple[str, ...]
    region: str
    name: str
    width: int
    depth: int
    outside: bool = False

    @property
    def label(self) -> str:
        """Its name, behind those of the instances around its region."""
        return ".".join((*self.path, self.name))


@dataclass(slots=True)
class ChannelPlace:
    """One end of a FIFO: its process, by number."""

    process: int
    fifo: int
    putting: bool


@dataclass(slots=True)
class Inputs:
    """What a run is given: words as unsigned numbers of as many bits as they have.

    Attributes:
        arrays: of each array parameter its words bank after bank, in the order of the design's.
        scalars: of each scalar port, in their order.
        streams: of each stream parameter the words that come in, None where any number does.
        rooms: how many words each takes outside, none where all take any number.
    """

    arrays: list[Words | None]
    scalars: list[int]
    streams: list[Sequence[int] | None]
    rooms: Sequence[int] = ()

    @classmethod
    def none(cls, module: CompiledModule) -> Inputs:
        """Those of a run in which nothing that is given decides."""
        return cls(
            [None for _ in module.function.parameters],
            [0 for _ in module.interface.scalars_in],
            [None for _ in module.function.streams],
        )


class Whole(Protocol):
    """What an instance asks of the design that it stands in."""

    engine: Engine
    budget: Budget
    races: Races
    timed: bool
    modules: Mapping[str, CompiledModule]
    channels: list[ChannelPlace]
    queue_fifo: dict[int, int]
    again: bool

    def run_of(self, name: str) -> Run:
        """The generator of a function."""
        ...

    def repeats(self, process: Process) -> bool:
        """Whether all runs of a process are the same."""
        ...

    def shared_trace(self, process: Process) -> bool:
        """Whether a process does what another one does, whose trace is there."""
        ...

    def follow(self, started: Sequence[Process]) -> None:
        """Follow processes to their ends."""
        ...


class Frame:
    """A function of a process: its own memories, and what it calls.

    Attributes:
        callees: what it calls, by name.
        others: functions that it calls with other streams as well, by name and the numbers of these streams.
        joined: ports of the caller's that it asks for, None where no call of it is known yet.
        first: of such a function the frame with the streams of its first call, whose memories it has.
    """

    def __init__(self, process: Process, module: CompiledModule, code: FunctionCode) -> None:
        self.process = process
        self.module = module
        self.code = code
        self.callees: dict[str, Frame | Nested] = {}
        self.others: dict[tuple[str, tuple[int, ...]], Frame] = {}
        self.first: Frame | None = None
        self.channels: dict[int, int] = {}
        self.fifos: dict[int, int] = {}
        self.clients = Clients()
        self.joined: dict[Place, int] | None = None
        self._run: Run | None = None
        self._memories: dict[int, Words] | None = None

    @property
    def has_channels(self) -> bool:
        """Whether it, or what it calls, has ends of FIFOs of its own."""
        inner = self.callees.values()
        return bool(self.channels) or any(
            not isinstance(each, Frame) or each.has_channels for each in inner
        )

    def life(
        self,
        tracer: Tracer,
        arrays: Sequence[Words | None],
        queues: Sequence[Queue],
        channels: Sequence[int],
        scalars: Sequence[int],
    ) -> Iterator[Any]:
        """The generator of one run."""
        memories = _with_given(self._own_memories(), self.module, arrays)
        own = tuple(self.channels.get(n, channel) for n, channel in enumerate(channels))
        run = self.process.build.run_of(self.module.interface.module)
        hand = Hand(tracer, self.callees, self.others, self.clients)
        return run(hand, memories, queues, scalars, own)

    def called(
        self,
        tracer: Tracer,
        arrays: Sequence[Words | None],
        queues: Sequence[Queue],
        channels: Sequence[int],
        scalars: Sequence[int],
    ) -> Iterator[Any]:
        """The same for a function that the process calls: it starts in the cycle of the call."""
        tracer.wait(1)
        return self.life(tracer, arrays, queues, channels, scalars)

    def like(self, first: Frame) -> None:
        """Be the same hardware as another frame, with other streams.

        Raises:
            Unforeseen: it holds a region, whose processes would have two streams for one.
        """
        self.first = first
        for name, inner in self.callees.items():
            known = first.callees[name]
            if not isinstance(inner, Frame) or not isinstance(known, Frame):
                raise Unforeseen(f"{name} is called with other streams elsewhere")
            inner.like(known)

    def _own_memories(self) -> dict[int, Words]:
        if self.first is not None:
            return self.first._own_memories()
        if self._memories is None:
            again = self.process.build.again
            self._memories = _made_memories(self.module, self.code.needs, again)
        return self._memories


def words_of(array: Array) -> Words:
    """The first words of an array, bank after bank."""
    size = array.layout.bank_depth
    banks = bank_words(array)
    if banks is None:
        return [0] * (size * array.layout.bank_count)
    return [word for bank in banks for word in bank[:size]]


class Process:
    """A process: what the engine knows of it, and who writes its trace."""

    def __init__(
        self, build: Whole, entity: int, name: str, place: SourcePlace | None, endless: bool
    ) -> None:
        self.build = build
        self.entity = entity
        self.number = build.engine.processes - 1
        self.name = name
        self.place = place
        self.endless = endless
        self.tracer = Tracer(build.budget, entity, build.races)
        self.frame: Frame | None = None
        self.channels: list[ChannelPlace] = []
        self.children: list[Nested] = []
        self.life: Iterator[Any] | None = None
        self.over = False
        self.awaits: Queue | Hand | Nested | None = None

    def add_channel(self, fifo: int, putting: bool, buffer: int, late: int, called: bool) -> int:
        """A new channel; its number in the process. ``called``: its buffer is a called function's."""
        self.build.engine.add_channel(self.entity, fifo, putting, buffer, late, called)
        place = ChannelPlace(self.number, fifo, putting)
        self.channels.append(place)
        self.build.channels.append(place)
        return len(self.channels) - 1

    def begin(self, life: Iterator[Any], *, again: bool) -> None:
        """Start a run."""

        def whole() -> Iterator[Any]:
            yield from life
            self.tracer.end(again=again)

        self.life, self.over, self.awaits = whole(), False, None

    def step(self) -> None:
        """Go on until it waits for a word, has gone on for long enough, or ends."""
        assert self.life is not None
        self.awaits = None
        try:
            self.awaits = next(self.life)
        except StopIteration:
            self.over = True
        except Enough:
            self.over = True
            self.tracer.pause()

    def give_up(self) -> None:
        """It waits for a word that never comes."""
        assert isinstance(self.awaits, Queue) and self.frame is not None
        number = self.build.queue_fifo[id(self.awaits)]
        channel = next(n for n, c in enumerate(self.channels) if c.fifo == number and not c.putting)
        self.tracer.stuck(channel)
        self.over = True


class Nested:
    """A region in the design, and what joins its members.

    Attributes:
        joined: ports of the caller's that its arrays are joined to, None where no call of it is known yet.
    """

    def __init__(
        self, entity: int, module: CompiledModule, graph: RegionGraph, path: tuple[str, ...]
    ) -> None:
        self.entity = entity
        self.path = path
        self.fifos: list[int] = []
        self.outer: dict[int, int] = {}
        self.module = module
        self.graph = graph
        self.members: list[tuple[Member, Process | Nested]] = []
        self.queues: list[Queue] = []
        self.number = -1
        self.joined: dict[Place, int] | None = None
        self.build: Whole | None = None
        self._arrays: dict[int, Words] = {}

    def called(
        self,
        tracer: Tracer,
        arrays: Sequence[Words | None],
        queues: Sequence[Queue],
        channels: Sequence[int],
        scalars: Sequence[int],
    ) -> Iterator[Any]:
        """A process runs the region."""
        tracer.call(self.number)
        self.run(arrays, scalars)
        return self._ending() if self.build is not None and self.build.timed else iter(())

    def _given(
        self, member: Member, memories: Mapping[int, Words], scalars: Sequence[int], turn: int
    ) -> tuple[list[Words | None], list[int]]:
        """The arrays and scalars of a member."""
        assert self.build is not None
        given = [memories.get(number) for number in member.arrays]
        ports = self.build.modules[member.module].interface.scalars_in
        values = [
            _scalar(scalar, scalars, turn, width)
            for scalar, (_, width) in zip(member.scalars, ports, strict=True)
        ]
        return given, values

    def _ending(self) -> Iterator[Any]:
        while not self.over:
            yield self

    @property
    def processes(self) -> Iterator[Process]:
        """All processes in it."""
        for _, node in self.members:
            if isinstance(node, Nested):
                yield from node.processes
            else:
                yield node

    @property
    def over(self) -> bool:
        """Whether all members that end have been followed to their ends."""
        return all(process.over or process.endless for process in self.processes)

    def run(self, arrays: Sequence[Words | None], scalars: Sequence[int]) -> None:
        """Follow its members to their ends."""
        assert self.build is not None
        memories = _with_given(self._arrays, self.module, arrays)
        for turn in [0] if self.graph.turns is None else self.graph.turns:
            started: list[Process] = []
            for member, node in self.members:
                given, values = self._given(member, memories, scalars, turn)
                if member.after or self.graph.turns is not None:
                    self.build.follow(started)
                    started = []
                if isinstance(node, Nested):
                    node.run(given, values)
                    continue
                assert node.frame is not None
                if self.build.shared_trace(node):
                    continue
                queues = [self.queues[number] for number in member.streams]
                channels = [node.frame.channels.get(n, -1) for n in range(len(member.streams))]
                life = node.frame.life(node.tracer, given, queues, channels, values)
                node.begin(life, again=self.build.repeats(node))
                started.append(node)
            self.build.follow(started)

    def set_arrays(self, needs: Needs) -> None:
        """Make the memories of the region whose words decide."""
        assert self.build is not None
        self._arrays = _made_memories(self.module, needs, self.build.again)


def _made_memories(module: CompiledModule, needs: Needs, again: bool) -> dict[int, Words]:
    """The memories of a module, but for those that it is given, whose words decide, by number.

    Args:
        again: the run is not the first one.

    Raises:
        Unforeseen: runs before may have left other words than the first ones.
    """
    given = {array.number for array in module.function.parameters}
    own = [a for a in module.function.arrays if a.number in needs.arrays and a.number not in given]
    for array in own if again else ():
        if array.initial is not None and array.stored and not array.first_run:
            raise Unforeseen("a value that earlier runs left decides what it does", array.place)
    return {a.number: [1] if again and a.first_run else words_of(a) for a in own}


def _with_given(
    own: Mapping[int, Words], module: CompiledModule, arrays: Sequence[Words | None]
) -> dict[int, Words]:
    """The memories of a run by number: a module's own, and those that it is given."""
    parameters = zip(module.function.parameters, arrays, strict=True)
    return {**own, **{array.number: words for array, words in parameters if words is not None}}


def _scalar(scalar: int | Turn | Given, scalars: Sequence[int], turn: int, width: int) -> int:
    """A scalar argument of a member, as the bits of its port."""
    value = turn
    if isinstance(scalar, int):
        value = scalar
    elif isinstance(scalar, Given):
        value = scalars[scalar.position]
        if scalar.signed and value >> (scalar.width - 1):
            value -= 1 << scalar.width
    return value & mask(width)
