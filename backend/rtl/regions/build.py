"""A design's instances as processes and regions of the engine, each with the trace of what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import SourcePlace

from ..compiled import CompiledModule
from ..graph.prune import bodies_of, regions_of
from ..graph.regions import Call
from ..plan.stream_order import buffer_words
from .clients import Joining
from .follow.code import FunctionCode, Run
from .follow.instances import MANY, ChannelPlace, FifoPlace, Frame, Inputs, Nested, Process
from .follow.needs import Needs, find_needs
from .follow.races import Races
from .follow.tracer import CHUNK, Budget, Queue
from .graph import Member
from .native import Engine, Ints
from .refusal import Unforeseen


@dataclass(slots=True)
class Build:
    """A design in the engine.

    Args:
        modules: compiled functions and regions by module, callees first.
        late: whether the places of puts are given back a cycle later.
        again: whether the run is not the first one.

    Attributes:
        timed: whether what is found without waiting decides, so that processes are followed while the engine
            runs (:mod:`.live`).
        endless: whether no process of it ends, so that a run is over when a stream outside is.
    """

    modules: Mapping[str, CompiledModule]
    top: str
    late: bool
    budget: Budget
    inputs: Inputs
    again: bool = False
    races: Races = field(default_factory=Races)
    engine: Engine = field(default_factory=Engine)
    needs: dict[str, Needs] = field(default_factory=dict)
    fifos: list[FifoPlace] = field(default_factory=list)
    channels: list[ChannelPlace] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    regions: list[Nested] = field(default_factory=list)
    queue_fifo: dict[int, int] = field(default_factory=dict)
    timed: bool = False
    endless: bool = False
    root: Process | Nested | None = None
    _outer: list[Queue] = field(default_factory=list)
    _codes: dict[str, FunctionCode] = field(default_factory=dict)
    _runs: dict[str, Run] = field(default_factory=dict)
    _shared: dict[tuple[Any, ...], Process] = field(default_factory=dict)
    _same: dict[int, Process] = field(default_factory=dict)
    _inside: dict[str, bool] = field(default_factory=dict)

    def make(self) -> None:
        """Make all instances.

        Raises:
            Unforeseen: for what the model does not know.
        """
        self.needs = self.needs or find_needs(self.modules)
        module = self.modules[self.top]
        streams = module.function.streams
        rooms = self.inputs.rooms or [MANY for _ in streams]
        outer = [
            self._fifo(FifoPlace((), "", s.name, s.width, room, outside=True))
            for s, room in zip(streams, rooms, strict=True)
        ]
        for words, number in zip(self.inputs.streams, outer, strict=True):
            self._outer.append(Queue(words or ()))
            self.queue_fifo[id(self._outer[-1])] = number
            if words is not None:
                self.engine.fill(number, len(words))
        if module.graph is not None:
            self.root = self._region(self.top, outer, self._outer, -1, 0, ())
        else:
            self.root = self._process(self.top, outer, (-1, 0), (), None, endless=False)
        Joining(self.engine, self.races, timed=self.timed).join(self.root)

    def _fifo(self, place: FifoPlace) -> int:
        self.fifos.append(place)
        self.engine.add_fifos([(place.depth, place.outside)])
        return len(self.fifos) - 1

    def _region(
        self,
        name: str,
        outer: Sequence[int],
        queues: Sequence[Queue],
        parent: int,
        slot: int,
        path: tuple[str, ...],
        called: str = "",
    ) -> Nested:
        module = self.modules[name]
        graph, own = module.graph, called or module.function.name
        assert graph is not None
        turns = 0 if graph.turns is None else len(graph.turns)
        entity = self.engine.add_region(parent, slot, turns)
        nested = Nested(entity, module, graph, path)
        nested.build = self
        nested.set_arrays(self.needs[name])
        self.regions.append(nested)
        fifos: list[int] = []
        for stream in graph.streams:
            if stream.parameter >= 0:
                fifos.append(outer[stream.parameter])
                nested.queues.append(queues[stream.parameter])
                continue
            place = FifoPlace(path, own, stream.name, stream.width, stream.depth)
            fifos.append(self._fifo(place))
            self.engine.own(entity, fifos[-1])
            nested.fifos.append(fifos[-1])
            nested.queues.append(Queue())
            self.queue_fifo[id(nested.queues[-1])] = fifos[-1]
        never = [m.endless or self.modules[m.module].interface.endless for m in graph.members]
        self.endless |= bool(never) and all(never) and parent < 0
        for position, member in enumerate(graph.members):
            inside = [fifos[number] for number in member.streams]
            where = (*path, member.label)
            node: Process | Nested
            if self.modules[member.module].graph is not None:
                passed = [nested.queues[number] for number in member.streams]
                node = self._region(
                    member.module, inside, passed, entity, position, where, member.callee
                )
            else:
                at = (entity, position)
                node = self._process(
                    member.module,
                    inside,
                    at,
                    where,
                    member.place,
                    endless=never[position],
                    called=member.callee,
                )
                self._set_producers(node, nested, member)
            nested.members.append((member, node))
            self.engine.add_member(entity, node.entity, never[position], member.early, member.after)
        for need in graph.needs:
            self.engine.add_need(entity, *need)
        return nested

    def _set_producers(self, process: Process, nested: Nested, member: Member) -> None:
        ports = self.modules[member.module].interface.streams
        for number, (_, port) in zip(member.streams, ports, strict=True):
            if port.direction == "put":
                nested.queues[number].producer = process

    # --- processes -------------------------------------------------------------------

    def _process(
        self,
        name: str,
        fifos: Sequence[int],
        where: tuple[int, int],
        path: tuple[str, ...],
        place: SourcePlace | None,
        *,
        endless: bool,
        called: str = "",
    ) -> Process:
        entity = self.engine.add_process(*where)
        module = self.modules[name]
        process = Process(self, entity, called or module.function.name, place, endless)
        self.processes.append(process)
        process.frame = self._frame(process, name, fifos, path, None)
        return process

    def _frame(
        self,
        process: Process,
        name: str,
        fifos: Sequence[int],
        path: tuple[str, ...],
        caller: Frame | None,
    ) -> Frame:
        """The frame of a function, with its channels, and those of what it calls."""
        module, code = self.modules[name], self.code_of(name)
        frame = Frame(process, module, code)
        self.timed |= code.timed
        for stream, fifo in zip(module.function.streams, fifos, strict=True):
            number, putting = stream.number, stream.direction == "put"
            buffer = code.buffers.get(number, 0)
            frame.fifos[number] = fifo
            if caller is not None and not buffer:
                continue  # it uses its caller's
            if stream.direction:
                late = int(self.late and putting and buffer > 0)
                called = caller is not None and not putting
                frame.channels[number] = process.add_channel(fifo, putting, buffer, late, called)
        for region in regions_of(module.function.root):
            if isinstance(region, Call):
                self._callee(frame, region, path)
        return frame

    def _callee(self, frame: Frame, call: Call, path: tuple[str, ...]) -> None:
        name = frame.module.callees[call.callee]
        if self.quiet_cycles(name) is not None:
            return
        process = frame.process
        fifos = [frame.fifos[stream.number] for stream in call.streams]
        for stream in call.streams:
            if frame.code.buffers.get(stream.number):
                buffered = self.modules[name].graph is not None or self.code_of(name).buffers
                if buffered:
                    raise Unforeseen(
                        f"{call.callee} and who calls it both hold words of {stream.name}",
                        call.place,
                    )
        known = frame.callees.get(call.callee)
        if isinstance(known, Nested) and list(known.outer.values()) != fifos:
            raise Unforeseen(f"{call.callee} is called with other streams elsewhere", call.place)
        if isinstance(known, Frame) and known.has_channels and list(known.fifos.values()) != fifos:
            key = call.callee, tuple(stream.number for stream in call.streams)
            if key not in frame.others:
                frame.others[key] = self._frame(process, name, fifos, path, frame)
                frame.others[key].like(known)
        if known is not None:
            return
        if self.modules[name].graph is None:
            frame.callees[call.callee] = self._frame(process, name, fifos, path, frame)
            return
        where = (*path, call.callee)
        if self.needs[name].streams & set(range(len(fifos))) and fifos:
            raise Unforeseen(f"words that a process shares with {call.callee} decide", call.place)
        queues = [Queue() for _ in fifos]
        nested = self._region(name, fifos, queues, process.entity, 0, where, call.callee)
        nested.number = len(process.children)
        nested.outer = dict(enumerate(fifos))
        process.children.append(nested)
        self.engine.add_child(process.entity, nested.entity)
        frame.callees[call.callee] = nested

    # --- what functions do -------------------------------------------------------------

    def code_of(self, name: str) -> FunctionCode:
        """What makes the generator of a function."""
        if name not in self._codes:
            module = self.modules[name]
            buffers: dict[int, int] = {}
            for body in bodies_of(module.function.root):
                for number, words in buffer_words(body, late=self.late).items():
                    buffers[number] = max(buffers.get(number, 0), words)
            self._codes[name] = FunctionCode(
                module,
                self.needs[name],
                buffers,
                lambda callee: self.quiet_cycles(module.callees[callee]),
            )
        return self._codes[name]

    def run_of(self, name: str) -> Run:
        """The generator of a function."""
        if name not in self._runs:
            self._runs[name] = self.code_of(name).compile()
        return self._runs[name]

    def quiet_cycles(self, name: str) -> int | None:
        """Cycles of a called function that decides nothing and waits for nothing, None for any other."""
        module, needs = self.modules[name], self.needs[name]
        if module.function.streams or module.graph is not None or needs.results:
            return None
        if any(number < 0 for number in needs.arrays):
            return None
        return module.interface.cycles

    # --- following ---------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The design's function."""
        return self.modules[self.top].function.name

    @property
    def top_entity(self) -> int:
        """The number of the whole design in the engine."""
        assert self.root is not None
        return self.root.entity

    def follow_all(self) -> None:
        """Follow a run of the whole design, and give the engine all traces."""
        root, inputs = self.root, self.inputs
        if isinstance(root, Process):
            assert root.frame is not None
            function = root.frame.module.function
            channels = [root.frame.channels.get(n, -1) for n in range(len(function.streams))]
            life = root.frame.life(
                root.tracer, inputs.arrays, self._outer, channels, inputs.scalars
            )
            root.begin(life, again=False)
            self.follow([root])
        elif root is not None:
            root.run(inputs.arrays, inputs.scalars)
        if not self.timed:
            self.finish()

    def repeats(self, process: Process) -> bool:
        """Whether all runs of a process are the same."""
        assert process.frame is not None
        frames = [process.frame]
        for frame in frames:
            for inner in frame.callees.values():
                if isinstance(inner, Nested):
                    return False
                frames.append(inner)
        return all(frame.code.pure for frame in frames) and not process.frame.code.needs.args

    def shared_trace(self, process: Process) -> bool:
        """Whether a process does what another one does, whose trace is there."""
        if self.timed or not self.repeats(process) or process.endless:
            return False
        if process.over:
            return True  # its first run is that of all
        assert process.frame is not None
        clients = tuple(process.frame.clients.places.items())
        key = (process.frame.module.interface.module, len(process.channels), clients)
        known = self._shared.setdefault(key, process)
        if known is process:
            return False
        self._same[process.number] = known
        return True

    def follow(self, started: Sequence[Process]) -> None:
        """Follow processes to their ends; one that never ends until others need no more of it."""
        for process in started if not self.timed else ():
            if not process.endless:
                while not process.over:
                    self._advance(process)

    def _advance(self, process: Process) -> None:
        """One step of a process, after the steps of those that give it the words it waits for."""
        stack = [process]
        while stack:
            current = stack[-1]
            current.tracer.go_on(CHUNK) if current.tracer.full else None
            if current.awaits is None or current.awaits:
                current.step()
            waiting = current.awaits
            if waiting is None or waiting or current.over:
                stack.pop()
                continue
            giver = waiting.producer if isinstance(waiting, Queue) else None
            if giver is not None and not giver.over and giver.life is not None:
                if giver not in stack:
                    stack.append(giver)
                    continue
                if ready := [n for n, waiter in enumerate(stack) if waiter.awaits]:
                    del stack[ready[0] + 1 :]
                    continue
            current.give_up()
            stack.pop()

    def finish(self) -> None:
        """Give the engine all traces."""
        made: dict[int, tuple[Any, Any, Ints]] = {}
        for process in self.processes:
            source = self._same.get(process.number, process)
            if source.number not in made:
                code, starts = source.tracer.variants()
                made[source.number] = code, starts, source.tracer.records()
            code, starts, records = made[source.number]
            self.engine.set_variants(process.entity, code, starts)
            self.engine.set_trace(process.entity, records)

    def feed(self, entity: int) -> bool:
        """Follow a process that never ends further; whether there was more."""
        process = next(p for p in self.processes if p.entity == entity)
        if process.life is None or process.over:
            return False
        before = process.tracer.size
        while process.tracer.size == before and not process.over:
            process.tracer.go_on(CHUNK)
            self._advance(process)
        code, starts = process.tracer.variants()
        self.engine.set_variants(entity, code, starts)
        self.engine.feed(entity, process.tracer.records())
        return process.tracer.size > before
