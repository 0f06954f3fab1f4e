"""A dataflow region: kernel instances that run together, FIFOs between them, memories shared.

Every instance starts with the region; the region is done when all have been.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.streams.endless import ENDLESS
from allo.dialects.streams.loops.iterations import finish_time
from allo.dialects.streams.task_regions import AFTER, COPIED, NEEDS, NOTES
from allo.dialects.types import parse_stream

from ...graph.nodes import Array, Stream
from ...graph.regions import Function
from ...netlist.locations import Locations
from ...plan.bind import Binding, Interface
from ...plan.holds import NOTHING, Holds
from ...read.records import FunctionRecord, MemType, Op, argument_width, element_width
from ...read.storage import array_for_local, array_for_parameter
from ...read.stream_ops import stream_of, stream_of_type
from ...regions.graph import Given, PortUser, RegionGraph, SharedPort, Turn
from ...regions.graph import Member as Joined
from ...waiting import Member, ModuleWaits
from ..bounds import BoundsWatch
from ..builder import ModuleBuilder, identifier
from .instances import Instance, Progress, early_ends, emit_instance
from .iterations import Iterations, LoopRange, loop_range
from .region_streams import RegionStreams
from .shared_ports import SharedPorts

MOST_TURNS = 1 << 14
"""Iterations of a loop that are counted one by one where each takes a number of cycles of its own."""
InterfaceOf = Callable[[str, dict[int, int], bool, Holds], Interface]


@dataclass(slots=True)
class RegionResult:
    """What a compiled region gives to the compiler; ``trips``: how often its instances run."""

    interface: Interface
    text: ModuleBuilder
    function: Function
    binding: Binding
    instances: list[tuple[str, Interface]]
    fifos: set[tuple[int, int]]
    waits: ModuleWaits
    graph: RegionGraph
    trips: int = 1


class RegionCompiler:
    """Compiles one region function.

    ``ask`` looks at the memories whose kind the source asks for; ``outermost``: it is the whole design.
    """

    def __init__(
        self,
        record: FunctionRecord,
        module: str,
        locations: Locations,
        interface_of: InterfaceOf,
        functions: Mapping[str, FunctionRecord],
        *,
        frozen: bool,
        holds: Holds = NOTHING,
        external: frozenset[str] = frozenset(),
        told: int = 0,
        outermost: bool = False,
        ask: Callable[[Function, Binding], None],
    ) -> None:
        self._record = record
        self._outermost = outermost
        self._told = told
        self._ask = ask
        self._interface_of = interface_of
        self._functions = functions
        self._frozen = frozen
        self._holds = holds
        self._external = external
        self._text = ModuleBuilder(module, locations, probed=True)
        self._function = Function(record.name, module, place=record.place)
        self._function.notes += record.attrs.get(NOTES, [])
        self._binding = Binding()
        self._env: dict[int, Any] = {}
        self._instances: list[Instance] = []
        self._streams: list[Stream] = []
        self._loop: LoopRange | None = None
        self._scalar_names: list[str] = []

    def run(self) -> RegionResult:
        """Compile the region."""
        interface = Interface(self._function.module, None, frozen=self._frozen)
        interface.ports = self._text.ports
        self._parameters(interface)
        for op in self._record.ops:
            self._op(op)
        memories = SharedPorts(self._text, self._function, self._binding, self._external)
        memories.assign(self._instances, self._freezable)
        self._ask(self._function, self._binding)
        self._text.input("start", "i1")
        if self._frozen:
            self._text.input("ce", "i1")
            self._text.enable = "%ce"
        self._scalar_ports(interface)
        memories.declare(interface)
        streams = RegionStreams(self._text, outermost=self._outermost)
        streams.join(self._streams, self._instances, interface)
        watch = BoundsWatch(self._text, self._told)
        given = [self._given(instance.scalars) for instance in self._instances]
        everyone, flags = self._run_instances(watch)
        memories.finish()
        streams.finish(everyone)
        self._text.output("done", "i1", everyone)
        interface.bounds = watch.finish()
        self._count_cycles(interface)
        return RegionResult(
            interface,
            self._text,
            self._function,
            self._binding,
            [(i.callee, i.interface) for i in self._instances],
            streams.fifos,
            self._waits(streams, flags, interface),
            self._graph(given, memories),
            1 if self._loop is None else self._loop.trips,
        )

    def _run_instances(self, watch: BoundsWatch) -> tuple[str, list[str]]:
        """Emit the instances; (when all are over, for each the bit that says that it is)."""
        if self._loop is not None:
            return self._iterate(self._loop, watch)
        stopped = self._stopped()
        progress = Progress(self._text, self._instances)
        self._hold_scalars()
        for instance in self._instances:
            start = progress.start(instance)
            emit_instance(self._text, instance, watch, start, frozen=self._frozen)
        everyone = progress.finish()
        if stopped:
            self._text.alias(stopped, everyone, 1)
        return everyone, progress.flags

    def _stopped(self) -> str:
        """The bit that stops the instances that never end when the others have, "" where there are none."""
        endless = [instance for instance in self._instances if instance.interface.endless]
        if not endless or len(endless) == len(self._instances) or ENDLESS in self._record.attrs:
            return ""
        stopped = self._text.named("others_over")
        for instance in endless:
            instance.stopped = stopped
        return stopped

    def _iterate(self, loop: LoopRange, watch: BoundsWatch) -> tuple[str, list[str]]:
        """The same where the region is a loop."""
        iterations = Iterations(self._text, self._instances, loop)
        pulses = []
        self._hold_scalars()
        for instance in self._instances:
            pulses.append(iterations.start(instance))
            iterations.turn(instance, pulses[-1])
            given = iterations.iterator(instance)
            instance.scalars = [given if s is loop else s for s in instance.scalars]
            emit_instance(self._text, instance, watch, pulses[-1], frozen=self._frozen)
        return iterations.finish(pulses), iterations.flags

    def _waits(self, streams: RegionStreams, flags: list[str], interface: Interface) -> ModuleWaits:
        """Which process is at which end of what."""
        waits = ModuleWaits(self._record.name, self._record.place, region=True)
        waits.fifos = streams.made
        waits.ports = {prefix: stream.name for prefix, stream in interface.streams}
        for number, instance in enumerate(self._instances):
            joined = zip(instance.interface.streams, instance.streams, strict=True)
            ends = {prefix: streams.labels.get(s.number, "") for (prefix, _), s in joined}
            over = flags[number][1:] if flags else ""
            module, name = instance.interface.module, instance.callee
            waits.members.append(Member(instance.label, module, name, over, (("", ends),)))
        return waits

    def _given(self, scalars: list[Any]) -> tuple[int | Turn | Given, ...]:
        """Where the scalars of an instance come from."""
        order = self._scalar_names
        found: list[int | Turn | Given] = []
        for scalar in scalars:
            if isinstance(scalar, LoopRange):
                found.append(Turn())
            elif isinstance(scalar, int):
                found.append(scalar)
            else:
                name, width, signed = scalar
                found.append(Given(order.index(name), width, signed))
        return tuple(found)

    def _graph(
        self, given: list[tuple[int | Turn | Given, ...]], memories: SharedPorts
    ) -> RegionGraph:
        """The region as who asks for its cycles sees it."""
        early, loop = early_ends(self._instances), self._loop
        members = tuple(
            Joined(
                instance.label,
                instance.callee,
                instance.interface.module,
                tuple(stream.number for stream in instance.streams),
                tuple(array.number for array in instance.arrays),
                scalars,
                instance.place,
                tuple(instance.after),
                bool(instance.stopped),
                id(instance) in early,
                instance.interface.frozen,
            )
            for instance, scalars in zip(self._instances, given, strict=True)
        )
        needs = tuple(
            (first, second, distance)
            for second, instance in enumerate(self._instances)
            for first, distance in instance.needs
        )
        turns = None
        if loop is not None:
            turns = range(loop.first, loop.first + loop.step * loop.trips, loop.step)
        order = {id(instance): number for number, instance in enumerate(self._instances)}
        ports = tuple(
            SharedPort(tuple(PortUser(order[id(i)], at, waits) for i, at, waits in users), place)
            for place, users in memories.shared()
        )
        external = bool(self._external)
        return RegionGraph(members, tuple(self._streams), turns, needs, ports, external)

    # --- reading ---------------------------------------------------------------------

    def _parameters(self, interface: Interface) -> None:
        record, function = self._record, self._function
        names = record.attrs["arg_names"]
        function.argument_names = list(names)
        rows = zip(record.args, names, record.attrs["arg_types"], record.arg_types, strict=True)
        for position, (number, name, declared, kind) in enumerate(rows):
            if isinstance(kind, MemType):
                array = array_for_parameter(name, kind, declared, len(function.parameters))
                array.place = record.place
                function.parameters.append(self._own(array))
                self._env[number] = array
            elif declared.startswith("stream<"):
                stream = stream_of_type(name, declared, record.place)
                stream.number = len(self._streams)
                stream.parameter = len(function.streams)
                function.streams.append(stream)
                self._streams.append(stream)
                self._env[number] = stream
            else:
                width = argument_width(record, position)
                port = identifier(name)
                interface.scalars_in.append((port, width))
                self._scalar_names.append(f"%{port}")
                function.scalar_types.append(declared or kind)
                self._env[number] = (f"%{port}", width, True)

    def _own(self, array: Array) -> Array:
        array.number = len(self._function.arrays)
        self._function.arrays.append(array)
        return array

    def _op(self, op: Op) -> None:
        match op.name:
            case "allo.stream":
                carried = parse_stream(op.attrs["dtype"], op.attrs["depth"])
                stream = stream_of(op.attrs["name"], carried, op.place)
                stream.number = len(self._streams)
                self._streams.append(stream)
                self._env[op.results[0]] = stream
            case "arith.constant":
                value = op.attrs["value"]
                self._env[op.results[0]] = value[1] if isinstance(value, tuple) else int(value)
            case "arith.index_cast" | "arith.index_castui":
                value = self._env[op.operands[0]]
                signed = op.name == "arith.index_cast"
                if isinstance(value, int):
                    mask = (1 << element_width(str(op.operand_types[0]))) - 1
                    self._env[op.results[0]] = value if signed else value & mask
                elif isinstance(value, LoopRange):
                    self._env[op.results[0]] = value  # a port takes the bits that it has
                else:
                    self._env[op.results[0]] = (*value[:2], signed)
            case "memref.alloc":
                kind = op.result_types[0]
                assert isinstance(kind, MemType)
                array = array_for_local(op.attrs, kind, op.place)
                array.storage, array.read_latency = "ram", 1
                array.copied = int(op.attrs.get(COPIED, 0))
                self._env[op.results[0]] = self._own(array)
            case "func.call":
                self._call(op)
            case "affine.for":
                self._loop = self._env[op.args[0][0]] = loop_range(op)
                for inner in op.regions[0]:
                    self._op(inner)
            case "func.return" | "affine.yield":
                return
            case _:
                raise UnsupportedOpError(
                    f"A dataflow region cannot hold {op.name}.",
                    op.place,
                    help="compute inside a kernel of the region.",
                )

    def _call(self, op: Op) -> None:
        bound = [self._env[o] for o in op.operands]
        scalars = [b for b in bound if not isinstance(b, Array | Stream)]
        constants = {i: v for i, v in enumerate(scalars) if isinstance(v, int)}
        callee = op.attrs["callee"]
        label = self._text.named(f"{callee}_i")[1:]
        needs = op.attrs.get(NEEDS, [])
        holds = self._holds.of_callee(
            self._record, self._functions[callee], frozen=self._frozen, keeps=False
        )
        instance = Instance(
            callee,
            constants,
            [b for b in bound if isinstance(b, Array)],
            [b for b in bound if isinstance(b, Stream)],
            scalars,
            op.place,
            self._interface_of(callee, constants, self._frozen, holds),
            label,
            op.attrs.get(AFTER, []),
            list(zip(needs[::2], needs[1::2], strict=True)),
            [n for n, scalar in enumerate(scalars) if isinstance(scalar, LoopRange)],
            "" if self._loop is None else self._text.named(f"{label}_{self._loop.turns_label}"),
            2 if self._loop is None else self._loop.copies,
        )
        self._instances.append(instance)

    def _freezable(self, instance: Instance) -> Interface:
        return self._interface_of(instance.callee, instance.constants, True, NOTHING)

    def _scalar_ports(self, interface: Interface) -> None:
        for name, width in interface.scalars_in:
            self._text.reserve(name)
            self._text.input(name, f"i{width}")

    def _hold_scalars(self) -> None:
        """Keep the scalar arguments for the instances that start later than the region."""
        held: dict[str, str] = {}
        for instance in self._instances:
            for position, value in enumerate(instance.scalars):
                if isinstance(value, int | LoopRange):
                    continue
                if not instance.after and self._loop is None:
                    continue
                name, width, signed = value
                if name not in held:
                    register = self._text.named(f"{name[1:]}_held")
                    self._text.register(register, name, width, enable="%start")
                    held[name] = register
                    if self._loop is not None:
                        held[name] = self._text.mux("%start", name, register, width)
                instance.scalars[position] = held[name], width, signed

    def _count_cycles(self, interface: Interface) -> None:
        """Cycles of a run that never waits; exact where nothing can make a task wait."""
        if self._loop is not None:
            self._count_iterations(interface, self._loop)
            return
        ending = [i for i in self._instances if not i.stopped]
        known = [i.interface.estimate for i in ending]
        durations = [cycles for cycles in known if cycles is not None]
        if not known or len(durations) < len(known):
            return
        ends: list[int] = []
        for instance, own in zip(ending, durations, strict=True):
            ends.append(max((ends[n] for n in instance.after), default=0) + own)
        interface.estimate = max(ends)
        waits = self._frozen or any(i.interface.cycles is None for i in self._instances)
        if NOTES in self._record.attrs and not waits:
            interface.cycles = self._function.cycles = interface.estimate

    def _count_iterations(self, interface: Interface, loop: LoopRange) -> None:
        """The same where the region is a loop; an iteration may take a number of cycles of its own."""
        each = [_cycles_by_turn(instance, loop) for instance in self._instances]
        rows = [[c for c in row if c is not None] for row in zip(*each, strict=True)]
        if not each or any(len(row) < len(each) for row in rows):
            return
        needs = {
            (first, second): distance
            for second, instance in enumerate(self._instances)
            for first, distance in instance.needs
        }
        interface.estimate = finish_time(rows, needs)
        waits = self._frozen or any(
            i.interface.cycles is None and i.interface.cycles_at is None for i in self._instances
        )
        if not waits:
            interface.cycles = self._function.cycles = interface.estimate


def _cycles_by_turn(instance: Instance, loop: LoopRange) -> list[int | None]:
    """Cycles of each iteration of an instance, where nothing makes it wait."""
    interface = instance.interface
    if interface.estimate is not None or interface.cycles_at is None or loop.trips > MOST_TURNS:
        return [interface.estimate] * loop.trips
    turns = range(loop.first, loop.first + loop.step * loop.trips, loop.step)
    return [
        interface.cycles_at({**instance.constants, **dict.fromkeys(instance.iterators, turn)})
        for turn in turns
    ]
