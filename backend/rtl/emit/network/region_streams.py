"""Streams of a dataflow region: a FIFO between two instances, or a stream port of the region."""

from __future__ import annotations

from collections import defaultdict

from allo.dialects.diagnostics import BuildError

from ...graph.nodes import Stream
from ...plan.bind import Interface
from ...waiting import Fifo
from ..builder import ModuleBuilder, identifier
from ..fifo import fifo_instance, fifo_name
from .instances import Instance

End = tuple[Instance, str]
"""An instance and the prefix of its stream port."""


class RegionStreams:
    """Joins the streams of one region.

    ``outermost``: the region is the whole design, which starts no earlier than a cycle after its end.

    Attributes:
        fifos: width and depth of every FIFO made.
        made: every FIFO by its label.
        labels: label of the FIFO, or prefix of the port, by number of the stream.
    """

    def __init__(self, text: ModuleBuilder, *, outermost: bool = False) -> None:
        self._text = text
        self._emptied = text.named("emptied") if outermost else ""
        self.fifos: set[tuple[int, int]] = set()
        self.made: dict[str, Fifo] = {}
        self.labels: dict[int, str] = {}

    def _empty(self) -> str:
        """When the region's FIFOs are emptied: by a reset, and by every start.

        What one run leaves in them is nothing to the next. Those of the whole design are emptied by a
        register, in the cycle after the reset and after the end of a run, in which no process puts a
        word yet: a start is one signal of the outside, and there may be hundreds of FIFOs.
        """
        return self._emptied or self._text.any_of("%rst", "%start")

    def finish(self, everyone: str) -> None:
        """Empty the FIFOs of the whole design when ``everyone`` has been done."""
        if self._emptied and self.made:
            emptied = self._text.any_of("%rst", everyone)
            self._text.register(self._emptied, emptied, 1, free=True)

    def join(self, streams: list[Stream], instances: list[Instance], interface: Interface) -> None:
        """Join every stream's producer and consumer, or give an end outside a port.

        Raises:
            BuildError: a stream has two producers or consumers, or both ends of a stream from outside
                lie inside.
        """
        ends = _ends(instances)
        taken = {name for name, _ in (*interface.scalars_in, *interface.arrays)}
        for stream in streams:
            puts, gets = ends[stream.number]["put"], ends[stream.number]["get"]
            _check_ends(stream, "producers", puts)
            _check_ends(stream, "consumers", gets)
            if stream.parameter >= 0:
                self._port(interface, stream, puts, gets, taken)
            else:
                self._fifo(stream, puts, gets)

    def _port(
        self,
        interface: Interface,
        stream: Stream,
        puts: list[End],
        gets: list[End],
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
        self.labels[stream.number] = prefix
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

    def _fifo(self, stream: Stream, puts: list[End], gets: list[End]) -> None:
        if not puts and not gets:
            return
        text, width, depth = self._text, stream.width, stream.depth
        self.fifos.add((width, depth))
        ready, out, out_valid = (text.fresh() for _ in range(3))
        fill = text.named(f"{stream.name}_fill")
        never, empty = text.const(0, 1), self._empty()
        data, valid = self._producer(puts[0], ready) if puts else (text.const(0, width), never)
        taken = self._consumer(gets[0], out, out_valid) if gets else never
        label = self.labels[stream.number] = text.named(f"{stream.name}_fifo")[1:]
        kind = fifo_name(width, depth, bypass=False)
        producer, consumer = (ends[0][0].label if ends else "" for ends in (puts, gets))
        self.made[label] = Fifo(label, kind, stream.name, depth, producer, consumer, stream.dtype)
        given, made = (empty, data, valid, taken), (ready, out, out_valid, fill)
        text.add(fifo_instance(label, kind, width, depth, given, made), stream.place)

    def _producer(self, end: End, ready: str) -> tuple[str, str]:
        """Join a producer to ``ready``; its data and valid."""
        instance, prefix = end
        instance.wires[f"{prefix}_ready"] = ready
        data = instance.output(self._text, f"{prefix}_data")
        return data, instance.output(self._text, f"{prefix}_valid")

    def _consumer(self, end: End, data: str, valid: str) -> str:
        """Join a consumer to data and valid; its ready."""
        instance, prefix = end
        instance.wires |= {f"{prefix}_data": data, f"{prefix}_valid": valid}
        return instance.output(self._text, f"{prefix}_ready")


def _ends(instances: list[Instance]) -> dict[int, dict[str, list[End]]]:
    """Producers (``put``) and consumers (``get``) of every stream."""
    found: dict[int, dict[str, list[End]]] = defaultdict(lambda: defaultdict(list))
    for instance in instances:
        ports = instance.interface.streams
        for stream, (prefix, port) in zip(instance.streams, ports, strict=True):
            if port.direction:
                found[stream.number][port.direction].append((instance, prefix))
    return found


def _check_ends(stream: Stream, kind: str, ends: list[End]) -> None:
    if len(ends) <= 1:
        return
    names = ", ".join(instance.callee for instance, _ in ends)
    raise BuildError(
        f"Stream {stream.name} has {len(ends)} {kind}: {names}.",
        stream.place,
        help="a stream joins one producer and one consumer: give each pair its own.",
    )
