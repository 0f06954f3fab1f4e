"""A dataflow region: kernel instances that run together, FIFOs between them, memories shared.

Every instance starts with the region; the region is done when all have been. A RAM port that
several instances use grants the first of those that ask and freezes the others for the cycle; one
of external memory freezes the instance that asks until the memory is ready.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import BuildError, SourcePlace, UnsupportedOpError

from .bind import Binding, Interface, PortUse
from .fifo import fifo_name
from .graph import Array, Function, Stream
from .linear import bits_unsigned
from .memories import RamPort, RamUse, port_prefix, ram_bank
from .read import FunctionRecord, MemType, Op, element_width
from .storage import array_for_local, array_for_parameter
from .stream_ops import stream_of_attributes, stream_of_type
from .text import Locations, ModuleText, Wiring, identifier

PORTS = 2
InterfaceOf = Callable[[str, dict[int, int], bool], Interface]


@dataclass(slots=True, eq=False)
class _Instance:
    """One kernel instance."""

    callee: str
    constants: dict[int, int]
    arrays: list[Array]
    streams: list[Stream]
    scalars: list[Any]
    place: SourcePlace | None
    interface: Interface
    label: str = ""
    enable: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Client:
    """A kernel's RAM port on one bank of an array."""

    instance: _Instance
    stem: str
    bank: int
    use: PortUse
    port: int = 0


@dataclass(slots=True)
class RegionResult:
    """What a compiled region gives to the compiler."""

    interface: Interface
    text: ModuleText
    function: Function
    binding: Binding
    instances: list[tuple[str, Interface]]
    fifos: set[tuple[int, int]]


class RegionCompiler:
    """Compiles one region function."""

    def __init__(
        self,
        record: FunctionRecord,
        module: str,
        locations: Locations,
        interface_of: InterfaceOf,
        *,
        frozen: bool,
        external: frozenset[str] = frozenset(),
    ) -> None:
        self._record = record
        self._interface_of = interface_of
        self._frozen = frozen
        self._external = external
        self._text = ModuleText(module, locations)
        self._function = Function(record.name, module, place=record.place)
        self._binding = Binding()
        self._env: dict[int, Any] = {}
        self._instances: list[_Instance] = []
        self._streams: list[Stream] = []
        self._fifos: set[tuple[int, int]] = set()
        self._wires: dict[tuple[int, str], Any] = {}
        self._declared: list[tuple[str, int]] = []

    def run(self) -> RegionResult:
        """Compile the region."""
        interface = Interface(self._function.module, None, frozen=self._frozen)
        interface.ports = self._text.ports
        self._parameters(interface)
        for op in self._record.ops:
            self._op(op)
        clients = self._assign_ports()
        self._text.input("start", "i1")
        if self._frozen:
            self._text.input("ce", "i1")
            self._text.enable = "%ce"
        self._scalar_ports(interface)
        self._array_ports(interface, clients)
        self._stream_ports(interface)
        outputs = [self._emit_instance(instance) for instance in self._instances]
        self._finish_arrays(clients)
        self._text.output("done", "i1", self._done(outputs))
        self._estimate(interface)
        return RegionResult(
            interface,
            self._text,
            self._function,
            self._binding,
            [(i.callee, i.interface) for i in self._instances],
            self._fifos,
        )

    # --- reading ---------------------------------------------------------------------

    def _parameters(self, interface: Interface) -> None:
        record, function = self._record, self._function
        names = record.attrs["arg_names"]
        function.argument_names = list(names)
        rows = zip(record.args, names, record.attrs["arg_types"], record.arg_types, strict=True)
        for number, name, declared, kind in rows:
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
                width = element_width(kind)
                port = identifier(name)
                interface.scalars_in.append((port, width))
                function.scalar_types.append(declared or kind)
                self._env[number] = (f"%{port}", width)

    def _own(self, array: Array) -> Array:
        array.number = len(self._function.arrays)
        self._function.arrays.append(array)
        return array

    def _op(self, op: Op) -> None:
        match op.name:
            case "allo.stream":
                stream = stream_of_attributes(
                    op.attrs["name"], op.attrs["dtype"], op.attrs["depth"], op.place
                )
                stream.number = len(self._streams)
                self._streams.append(stream)
                self._env[op.results[0]] = stream
            case "arith.constant":
                value = op.attrs["value"]
                self._env[op.results[0]] = value[1] if isinstance(value, tuple) else int(value)
            case "arith.index_cast" | "arith.index_castui":
                self._env[op.results[0]] = self._env[op.operands[0]]
            case "memref.alloc":
                kind = op.result_types[0]
                assert isinstance(kind, MemType)
                array = array_for_local(op.attrs, kind, op.place)
                array.storage, array.read_latency = "ram", 1
                self._env[op.results[0]] = self._own(array)
            case "func.call":
                self._call(op)
            case "func.return":
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
        interface = self._interface_of(callee, constants, self._frozen)
        instance = _Instance(
            callee,
            constants,
            [b for b in bound if isinstance(b, Array)],
            [b for b in bound if isinstance(b, Stream)],
            scalars,
            op.place,
            interface,
        )
        instance.label = self._text.named(f"{callee}_i")[1:]
        self._instances.append(instance)

    # --- memory ports ----------------------------------------------------------------

    def _clients(self) -> dict[tuple[int, int], list[_Client]]:
        """Kernel ports by array and bank."""
        found: dict[tuple[int, int], list[_Client]] = defaultdict(list)
        for instance in self._instances:
            for array, (prefix, uses) in zip(
                instance.arrays, instance.interface.arrays, strict=True
            ):
                for (bank, port), use in sorted(uses.items()):
                    client = _Client(instance, port_prefix(prefix, bank, port), bank, use)
                    found[array.number, bank].append(client)
        return found

    def _assign_ports(self) -> dict[tuple[int, int, int], list[_Client]]:
        """Kernel ports by array, bank and RAM port; kernels that may have to wait can be frozen."""
        clients = self._clients()
        crowded = {
            id(client.instance)
            for (number, _), users in clients.items()
            if len(users) > PORTS or self._function.arrays[number].name in self._external
            for client in users
        }
        for instance in self._instances:
            if id(instance) in crowded and not instance.interface.frozen:
                instance.interface = self._interface_of(instance.callee, instance.constants, True)
        placed: dict[tuple[int, int, int], list[_Client]] = defaultdict(list)
        for (number, bank), users in self._clients().items():
            array = self._function.arrays[number]
            uses = self._binding.ports.setdefault(number, {})
            for position, client in enumerate(users):
                client.port = position % PORTS
                placed[number, bank, client.port].append(client)
                use = uses.setdefault((bank, client.port), PortUse())
                use.reads |= client.use.reads
                use.writes |= client.use.writes
                array.loaded |= client.use.reads
                array.stored |= client.use.writes
        for array in self._function.arrays:
            self._binding.ports.setdefault(array.number, {})
        return placed

    # --- ports of the region ------------------------------------------------------------

    def _scalar_ports(self, interface: Interface) -> None:
        for name, width in interface.scalars_in:
            self._text.reserve(name)
            self._text.input(name, f"i{width}")

    def _array_ports(
        self, interface: Interface, clients: dict[tuple[int, int, int], list[_Client]]
    ) -> None:
        taken = {name for name, _ in interface.scalars_in}
        for array in self._function.parameters:
            prefix = identifier(array.name)
            while prefix in taken:
                prefix += "_"
            taken.add(prefix)
            uses = self._binding.ports[array.number]
            interface.arrays.append((prefix, uses))
            for (bank, port), use in sorted(uses.items()):
                stem = port_prefix(prefix, bank, port)
                for suffix in ("addr", "en", "we", "wdata", "rdata", "ready"):
                    self._text.reserve(f"{stem}_{suffix}")
                data = ""
                if use.reads:
                    data = self._text.input(f"{stem}_rdata", f"i{array.width}")
                ready = ""
                if array.name in self._external:
                    ready = self._text.input(f"{stem}_ready", "i1")
                self._share(clients[array.number, bank, port], data, stem, array, use, ready)
        for array in self._function.arrays:
            if array.storage == "ram":
                self._local_ports(array, clients)

    def _local_ports(
        self, array: Array, clients: dict[tuple[int, int, int], list[_Client]]
    ) -> None:
        for (bank, port), use in sorted(self._binding.ports[array.number].items()):
            data = self._text.fresh() if use.reads else ""
            self._wires[id(array), f"rdata {bank} {port}"] = data
            self._share(clients[array.number, bank, port], data, "", array, use)

    def _share(
        self,
        users: list[_Client],
        data: str,
        stem: str,
        array: Array,
        use: PortUse,
        ready: str = "",
    ) -> None:
        """Join the users of one RAM port; a user that is not granted is frozen.

        Args:
            ready: whether external memory takes the request, "" for memory that always does.
        """
        text, width = self._text, bits_unsigned(array.depth - 1)
        grants, before = [], ""
        for client in users:
            enable = self._wire(client, "en")
            grant = text.all_of(enable, text.invert(before)) if before else enable
            if before or ready:
                served = text.all_of(grant, ready) if ready else grant
                client.instance.enable.append(text.any_of(text.invert(enable), served))
            before = text.any_of(before, enable) if before else enable
            grants.append(grant)
            self._wires[id(client.instance), f"{client.stem}_rdata"] = data
        address = text.choose(
            [(g, self._wire(c, "addr")) for g, c in zip(grants, users, strict=True)], width
        )
        write = value = ""
        writers = [(g, c) for g, c in zip(grants, users, strict=True) if c.use.writes]
        if writers:
            write = text.any_of(*(text.all_of(g, self._wire(c, "we")) for g, c in writers))
            value = text.choose([(g, self._wire(c, "wdata")) for g, c in writers], array.width)
        if not stem:
            key = (address, before, write, value)
            self._wires[id(array), f"port {users[0].bank} {users[0].port}"] = key
            return
        text.output(f"{stem}_addr", f"i{width}", address)
        text.output(f"{stem}_en", "i1", before)
        if use.writes:
            text.output(f"{stem}_we", "i1", write)
            text.output(f"{stem}_wdata", f"i{array.width}", value)

    def _wire(self, client: _Client, suffix: str) -> str:
        """A value that an instance's output will define."""
        key = (id(client.instance), f"{client.stem}_{suffix}")
        if key not in self._wires:
            self._wires[key] = self._text.fresh()
        return self._wires[key]

    def _finish_arrays(self, clients: dict[tuple[int, int, int], list[_Client]]) -> None:
        text = self._text
        for array in self._function.arrays:
            if array.storage != "ram":
                continue
            uses = self._binding.ports[array.number]
            for bank in sorted({bank for bank, _ in uses}):
                ports: list[RamPort] = []
                for port in range(PORTS):
                    if (bank, port) not in uses:
                        continue
                    address, _, write, value = self._wires[id(array), f"port {bank} {port}"]
                    data = self._wires[id(array), f"rdata {bank} {port}"]
                    writes = [RamUse(write, address, (), value)] if write else []
                    ports.append(RamPort(address, data, (), write, value, writes))
                suffix = f"_{bank}" if array.banks > 1 else ""
                ram_bank(text, array, text.named(f"{array.name}{suffix}_ram"), ports)

    # --- streams ----------------------------------------------------------------------------

    def _ends(self) -> dict[int, dict[str, list[tuple[_Instance, str]]]]:
        """Producers (``put``) and consumers (``get``) of every stream: instance and port."""
        found: dict[int, dict[str, list[tuple[_Instance, str]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for instance in self._instances:
            for stream, (prefix, port) in zip(
                instance.streams, instance.interface.streams, strict=True
            ):
                if port.direction:
                    found[stream.number][port.direction].append((instance, prefix))
        return found

    def _stream_ports(self, interface: Interface) -> None:
        ends = self._ends()
        taken = {name for name, _ in (*interface.scalars_in, *interface.arrays)}
        for stream in self._streams:
            puts, gets = ends[stream.number]["put"], ends[stream.number]["get"]
            for kind, users in (("producers", puts), ("consumers", gets)):
                if len(users) > 1:
                    names = ", ".join(i.callee for i, _ in users)
                    raise BuildError(
                        f"Stream {stream.name} has {len(users)} {kind}: {names}.",
                        stream.place,
                        help="a stream joins one producer and one consumer: give each pair its own.",
                    )
            if stream.parameter >= 0:
                self._outer_stream(interface, stream, puts, gets, taken)
            else:
                self._fifo(stream, puts, gets)

    def _outer_stream(
        self,
        interface: Interface,
        stream: Stream,
        puts: list[tuple[_Instance, str]],
        gets: list[tuple[_Instance, str]],
        taken: set[str],
    ) -> None:
        text, prefix = self._text, identifier(stream.name)
        while prefix in taken:
            prefix += "_"
        taken.add(prefix)
        if puts and gets:
            raise BuildError(
                f"Stream {stream.name} is an argument of the region and has both its ends inside.",
                stream.place,
                help="declare the stream inside the region.",
            )
        interface.streams.append((prefix, stream))
        if puts:
            stream.direction = "put"
            ready = text.input(f"{prefix}_ready", "i1")
            data, valid = self._producer(puts[0], ready)
            text.output(f"{prefix}_data", f"i{stream.width}", data)
            text.output(f"{prefix}_valid", "i1", valid)
        elif gets:
            stream.direction = "get"
            data = text.input(f"{prefix}_data", f"i{stream.width}")
            valid = text.input(f"{prefix}_valid", "i1")
            text.output(f"{prefix}_ready", "i1", self._consumer(gets[0], data, valid))

    def _producer(self, end: tuple[_Instance, str], ready: str) -> tuple[str, str]:
        instance, prefix = end
        self._wires[id(instance), f"{prefix}_ready"] = ready
        data, valid = self._text.fresh(), self._text.fresh()
        self._wires[id(instance), f"{prefix}_data"] = data
        self._wires[id(instance), f"{prefix}_valid"] = valid
        return data, valid

    def _consumer(self, end: tuple[_Instance, str], data: str, valid: str) -> str:
        instance, prefix = end
        self._wires[id(instance), f"{prefix}_data"] = data
        self._wires[id(instance), f"{prefix}_valid"] = valid
        ready = self._wires[id(instance), f"{prefix}_ready"] = self._text.fresh()
        return ready

    def _fifo(
        self,
        stream: Stream,
        puts: list[tuple[_Instance, str]],
        gets: list[tuple[_Instance, str]],
    ) -> None:
        if not puts and not gets:
            return
        text, width, depth = self._text, stream.width, stream.depth
        self._fifos.add((width, depth))
        ready, out, out_valid = (text.fresh() for _ in range(3))
        fill = text.named(f"{stream.name}_fill")
        never = text.const(0, 1)
        data, valid = self._producer(puts[0], ready) if puts else (text.const(0, width), never)
        taken = self._consumer(gets[0], out, out_valid) if gets else never
        label = text.named(f"{stream.name}_fifo")[1:]
        text.line(
            f'{ready}, {out}, {out_valid}, {fill} = hw.instance "{label}" '
            f"@{fifo_name(width, depth, bypass=False)}(clk: %clk: !seq.clock, rst: %rst: i1, "
            f"in_data: {data}: i{width}, in_valid: {valid}: i1, out_ready: {taken}: i1) -> "
            f"(in_ready: i1, out_data: i{width}, out_valid: i1, fill: i{bits_unsigned(depth)})",
            stream.place,
        )

    # --- instances -----------------------------------------------------------------------------

    def _emit_instance(self, instance: _Instance) -> str:
        """Emit a kernel instance; its done."""
        text, interface = self._text, instance.interface
        gates = [*instance.enable, *(["%ce"] if self._frozen else [])]
        wiring = Wiring({"start": "%start", "ce": text.all_of(*gates)})
        for (name, width), value in zip(interface.scalars_in, instance.scalars, strict=True):
            wiring.inputs[name] = self._scalar(value, width)
        for prefix, uses in interface.arrays:
            self._instance_array(instance, prefix, uses, wiring)
        for prefix, stream in interface.streams:
            self._instance_stream(instance, prefix, stream, wiring)
        done = wiring.outputs["done"] = text.fresh()
        text.instance(instance.label, interface.module, interface.ports, wiring, instance.place)
        return done

    def _scalar(self, value: Any, width: int) -> str:
        if isinstance(value, int):
            return self._text.const(value, width)
        name, own = value
        return self._text.extend(name, own, width, signed=True) if own < width else name

    def _instance_array(
        self,
        instance: _Instance,
        prefix: str,
        uses: dict[tuple[int, int], PortUse],
        wiring: Wiring,
    ) -> None:
        for (bank, port), use in sorted(uses.items()):
            stem = port_prefix(prefix, bank, port)
            for suffix in ("addr", "en", *(("we", "wdata") if use.writes else ())):
                key = (id(instance), f"{stem}_{suffix}")
                wiring.outputs[f"{stem}_{suffix}"] = self._wires.setdefault(key, self._text.fresh())
            if use.reads:
                wiring.inputs[f"{stem}_rdata"] = self._wires[id(instance), f"{stem}_rdata"]

    def _instance_stream(
        self, instance: _Instance, prefix: str, stream: Stream, wiring: Wiring
    ) -> None:
        if not stream.direction:
            return
        names = [f"{prefix}_{s}" for s in ("data", "valid", "ready")]
        data, valid, ready = (self._wires[id(instance), name] for name in names)
        if stream.direction == "put":
            wiring.outputs |= {names[0]: data, names[1]: valid}
            wiring.inputs[names[2]] = ready
        else:
            wiring.inputs |= {names[0]: data, names[1]: valid}
            wiring.outputs[names[2]] = ready

    def _done(self, outputs: list[str]) -> str:
        """High when every instance has been done since start."""
        text = self._text
        if not outputs:
            return text.register(text.named("done_q"), "%start", 1, reset=0)
        flags = [text.named(f"{i.label}_over") for i in self._instances]
        everyone = text.all_of(
            *(text.any_of(flag, done) for flag, done in zip(flags, outputs, strict=True))
        )
        more = text.invert(everyone)
        for flag, done in zip(flags, outputs, strict=True):
            text.register(flag, text.all_of(text.any_of(flag, done), more), 1, reset=0)
        return everyone

    def _estimate(self, interface: Interface) -> None:
        parts = [i.interface.estimate for i in self._instances]
        known = [p for p in parts if p is not None]
        if len(known) == len(parts) and parts:
            interface.estimate = max(known)
