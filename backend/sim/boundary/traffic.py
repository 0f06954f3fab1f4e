"""The memories and streams outside a design: bandwidth, latency, random stalls, statistics.

A channel moves lines of ``line_bytes``. A reader that goes on to the next line finds it
prefetched as far as bandwidth allows; any other line costs the latency. Arrays that share a channel
(channels are the same when their names are) share its bandwidth; an array on several channels is
interleaved over them line by line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import SimulationError
from allo.dialects.options import read_call, refuse_keywords

from ..dram.devices import DEVICES, Device

# Times are counted in 1/256 of a cycle.
TICKS = 256

IDEAL, DRAM = "ideal", "dram"

LEAST_AHEAD = 8
"""Lines fetched ahead where the latency asks for fewer."""


@dataclass(frozen=True, slots=True)
class MemoryChannel:
    """One channel of an external memory, in cycles of the design's clock.

    Attributes:
        name: what makes it one channel for all arrays placed on it.
        bytes_per_cycle: bandwidth.
        latency: cycles from the request of a line to its first byte.
        line_bytes: bytes moved at once.
        prefetch: lines fetched ahead of a sequential reader, and lines a writer may be behind; None
            for as many as hide the latency.
        stall: probability that a line meets a busy memory (refresh, other traffic).
        stall_cycles: the longest such stall; each is uniform in 1 … ``stall_cycles``.
        timing: ``"ideal"``, or ``"dram"`` for the banks, rows and refresh of ``device``, in place of
            bandwidth and latency.
        device: a name of :data:`allo.backend.sim.dram.devices.DEVICES`.
        clock_mhz: the clock of the design, which ``"dram"`` needs.
        number: which channel of its device it is, where a switch joins these.
        switch: of the device's channels: ``"auto"`` for on where a master needs it; ``"on"`` for always, as
            platforms of Vitis have it; ``"off"`` refuses a design that needs it.
    """

    name: str
    bytes_per_cycle: float
    latency: int = 0
    line_bytes: int = 64
    prefetch: int | None = None
    stall: float = 0.0
    stall_cycles: int = 8
    timing: str = IDEAL
    device: str | None = None
    clock_mhz: float | None = None
    number: int | None = None
    switch: str = "auto"

    def __post_init__(self) -> None:
        _check_fields(self)
        _check_switch(self)
        if self.timing != DRAM:
            return
        if self.device not in DEVICES or self.clock_mhz is None:
            raise SimulationError(
                f'Memory channel {self.name} has timing="dram", but not a known device and a clock.',
                help=f"give device= one of {', '.join(DEVICES)}, and clock_mhz= the design's clock.",
            )
        if self.stall:
            raise SimulationError(
                f'Memory channel {self.name} has timing="dram" and random stalls.',
                help="leave stall= out: refresh and other ports delay requests already.",
            )

    @property
    def line_ticks(self) -> int:
        """Time one line occupies the channel."""
        return max(1, round(self.line_bytes / self.bytes_per_cycle * TICKS))

    @property
    def lines_ahead(self) -> int:
        """``prefetch``, or the lines that the channel moves while one is on its way, or its queue holds."""
        if self.prefetch is not None:
            return self.prefetch
        if self.timing == DRAM:
            device = device_of(self)
            return max(LEAST_AHEAD, -(-device.queue * device.burst_bytes // self.line_bytes))
        return max(LEAST_AHEAD, -(-self.latency * TICKS // self.line_ticks) + 2)


def device_of(channel: MemoryChannel) -> Device:
    """The memory of a channel whose timing is ``"dram"``."""
    return DEVICES[channel.device or ""]


def lines_ahead(channels: Sequence[MemoryChannel]) -> int:
    """Lines fetched ahead by a port whose lines lie on some channels in turn.

    A number that is asked for is that of the port. Otherwise each channel is kept busy.
    """
    asked = [channel.prefetch for channel in channels if channel.prefetch is not None]
    if asked:
        return max(asked)
    return sum(channel.lines_ahead for channel in channels)


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A kind of external memory: GB/s and access time of one channel, and its line."""

    gigabytes_per_second: float
    latency_ns: float
    line_bytes: int
    channels: int


MEMORY_KINDS: dict[str, MemoryKind] = {
    "hbm2": MemoryKind(14.4, 110.0, 64, 32),
    "hbm2e": MemoryKind(25.6, 110.0, 64, 32),
    "ddr4_2400": MemoryKind(19.2, 80.0, 64, 4),
    "lpddr4_4266": MemoryKind(17.1, 110.0, 64, 2),
}


def external_memory(kind: str, clock_mhz: float, **changes: Any) -> tuple[MemoryChannel, ...]:
    """Every channel of a kind of memory, seen from a design at ``clock_mhz``.

    Example::

        hbm = external_memory("hbm2", clock_mhz=250)
        s.build(target="verilog", memory={"W": hbm[:4], "x": hbm[4]})

    ``changes`` replace fields of each :class:`MemoryChannel` (``prefetch=16``, ``stall=0.01``,
    ``timing="dram"``).
    """
    read_call("external_memory", {"kind": kind, "clock_mhz": clock_mhz})
    refuse_keywords(
        "external_memory", changes, [each.name for each in dataclasses.fields(MemoryChannel)]
    )
    if kind not in MEMORY_KINDS:
        raise SimulationError(
            f"There is no kind of memory {kind!r}.", help=f"known: {', '.join(MEMORY_KINDS)}."
        )
    about = MEMORY_KINDS[kind]
    fields: dict[str, Any] = {
        "bytes_per_cycle": about.gigabytes_per_second * 1e3 / clock_mhz,
        "latency": round(about.latency_ns * clock_mhz / 1e3),
        "line_bytes": about.line_bytes,
        "device": kind,
        "clock_mhz": clock_mhz,
        **changes,
    }
    count = about.channels
    return tuple(MemoryChannel(f"{kind}[{n}]", **{"number": n} | fields) for n in range(count))


def _check_switch(channel: MemoryChannel) -> None:
    """Whether a channel has the switch that is asked for.

    Raises:
        SimulationError: it has none.
    """
    device = DEVICES.get(channel.device or "") if channel.timing == DRAM else None
    if channel.switch == "auto" or (device and device.switch):
        return
    having = ", ".join(name for name, each in DEVICES.items() if each.switch)
    raise SimulationError(
        f'Memory channel {channel.name} has switch="{channel.switch}", and no switch between channels.',
        help=f'channels of {having} with timing="dram" have one; leave switch= out elsewhere.',
    )


@dataclass(frozen=True, slots=True)
class StreamModel:
    """The outside of a stream port of the top.

    Attributes:
        stall: probability, cycle by cycle, that the outside has no word or takes none.
        channels: the memory its words come from or go to; empty for an ideal one.
    """

    stall: float = 0.0
    channels: tuple[MemoryChannel, ...] = ()

    def __post_init__(self) -> None:
        _check_fields(self)


def _check_fields(thing: MemoryChannel | StreamModel) -> None:
    given = {each.name: getattr(thing, each.name) for each in dataclasses.fields(thing)}
    for name, value in read_call(type(thing).__name__, given).items():
        object.__setattr__(thing, name, value)


@dataclass(frozen=True, slots=True)
class PerBank:
    """Channels that an array's banks have to themselves: bank n lies on channel n.

    Example::

        s.partition(s.W, dim=1)
        s.build(target="verilog", memory={"W": PerBank(external_memory("hbm2", clock_mhz=300))})

    Where there are more banks than channels, they take the channels in turn.
    """

    channels: Sequence[MemoryChannel]

    def __post_init__(self) -> None:
        channels = tuple(self.channels)
        if not channels or not all(isinstance(each, MemoryChannel) for each in channels):
            raise SimulationError(
                "PerBank has no channels."
                if not channels
                else "PerBank takes MemoryChannels only.",
                help="give one channel for each bank, as external_memory makes them.",
            )
        object.__setattr__(self, "channels", channels)


Placement = MemoryChannel | Sequence[MemoryChannel] | PerBank


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything outside a design.

    Attributes:
        memory: channels of each array in external memory, by name; others are ideal RAM.
        streams: the outside of each stream port, by name.
        apart: arrays of ``memory`` of which each bank has a channel to itself.
    """

    memory: Mapping[str, tuple[MemoryChannel, ...]] = field(default_factory=dict)
    streams: Mapping[str, StreamModel] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()

    def route(self, array: str, bank: int) -> tuple[MemoryChannel, ...]:
        """The channels that hold the lines of a bank in turn; none where the array is not outside."""
        channels = self.memory.get(array, ())
        if array in self.apart:
            return (channels[bank % len(channels)],)
        return channels

    @property
    def channels(self) -> dict[str, MemoryChannel]:
        """Every channel by name.

        Raises:
            SimulationError: when two different channels have one name.
        """
        found: dict[str, MemoryChannel] = {}
        groups = [*self.memory.values(), *(s.channels for s in self.streams.values())]
        for channel in (c for group in groups for c in group):
            if found.setdefault(channel.name, channel) != channel:
                raise SimulationError(
                    f"Two different memory channels are called {channel.name}.",
                    help="give each its own name.",
                )
        for group in groups:
            if len({channel.timing for channel in group}) > 1:
                names = ", ".join(channel.name for channel in group)
                raise SimulationError(
                    f"Memory channels {names} hold one array or stream, but differ in timing.",
                    help=f'make all of them "{IDEAL}" or all "{DRAM}".',
                )
        return found


def make_outside(
    memory: Mapping[str, Placement] | None,
    streams: Mapping[str, StreamModel] | None,
    arrays: Sequence[str],
    ports: Sequence[str],
) -> Outside:
    """Check the outside against the names of a design's arrays and stream ports.

    Raises:
        SimulationError: for a name the design does not have.
    """
    placed = {name: _channels(where) for name, where in (memory or {}).items()}
    apart = frozenset(n for n, where in (memory or {}).items() if isinstance(where, PerBank))
    _check_names("memory", placed, arrays, "array argument")
    _check_names("streams", streams or {}, ports, "stream port")
    held = {name: where for name, where in placed.items() if where}
    return Outside(held, dict(streams or {}), apart & held.keys())


def _channels(where: Placement) -> tuple[MemoryChannel, ...]:
    if isinstance(where, MemoryChannel):
        return (where,)
    return tuple(where.channels if isinstance(where, PerBank) else where)


def _check_names(option: str, given: Mapping[str, object], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            names = ", ".join(known) or "none"
            raise SimulationError(
                f"{option}= names {name!r}, but the design has no such {what}.",
                help=f"it has {names}.",
            )


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """What a channel did in a run.

    Attributes:
        bytes: bytes moved, whole lines.
        utilisation: part of the run in which the channel was moving data.
        timing: ``"ideal"`` or ``"dram"``; what follows is of the latter.
        hits: bursts from a row that was open.
        misses: those whose bank had no open row.
        conflicts: those for which another row was closed.
        refreshes: of the whole channel.
        turnarounds: turns of the data bus between reads and writes.
        mean_ns: mean time of a read, from request to data.
        longest_ns: the longest such time.
    """

    bytes: int
    utilisation: float
    timing: str = IDEAL
    hits: int = 0
    misses: int = 0
    conflicts: int = 0
    refreshes: int = 0
    turnarounds: int = 0
    mean_ns: float = 0.0
    longest_ns: float = 0.0

    def text(self, name: str) -> str:
        """A line of the table."""
        line = f"{name:<12} {self.timing:<6} {self.bytes:>12,} {self.utilisation:>6.1%}"
        if self.timing != DRAM:
            return line
        counts = (self.hits, self.misses, self.conflicts, self.refreshes, self.turnarounds)
        numbers = " ".join(f"{count:>9,}" for count in counts)
        return f"{line} {numbers} {self.mean_ns:>8.1f} {self.longest_ns:>8.1f}"


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """What passed over a stream in a run.

    Attributes:
        words: words that passed.
        starved: cycles in which the taker was ready and no word was offered.
        blocked: cycles in which a word was offered and not taken.
    """

    words: int
    starved: int
    blocked: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """A way through the switch of HBM that requests took in a run.

    Attributes:
        master: the AXI4 master, "" for a design without.
        port: the AXI port that it is at.
        channel: the one that it reached.
        hops: lateral links between them.
        cycles: of the switch's clock that it added to a request and its answer together.
        requests: lines, or single elements, that went this way.
        wait_ns: the mean time for which they waited for links, and for answers that had to come before.
    """

    master: str
    port: int
    channel: str
    hops: int
    cycles: int
    requests: int
    wait_ns: float

    def __str__(self) -> str:
        """A line."""
        who = self.master or "the design"
        return (
            f"switch: {who} at port {self.port} to {self.channel}, {self.hops} links, +{self.cycles} cycles; "
            f"{self.requests:,} requests waited {self.wait_ns:.1f} ns"
        )


@dataclass(frozen=True, slots=True)
class Traffic:
    """What passed between a design and its outside in a run.

    Attributes:
        stall_cycles: cycles for which the design's clock was held, waiting for memory.
        crossings: the ways through the switch of HBM, where it is on.
    """

    stall_cycles: int = 0
    channels: Mapping[str, ChannelStatistics] = field(default_factory=dict)
    streams: Mapping[str, StreamStatistics] = field(default_factory=dict)
    crossings: tuple[Crossing, ...] = ()

    def __str__(self) -> str:
        """A table of the channels."""
        dram = ("hits", "misses", "conflicts", "refreshes", "turns")
        head = f"{'channel':<12} {'timing':<6} {'bytes':>12} {'used':>6}"
        if any(channel.timing == DRAM for channel in self.channels.values()):
            head += " " + " ".join(f"{word:>9}" for word in dram) + f" {'mean ns':>8} {'max ns':>8}"
        rows = [each.text(name) for name, each in self.channels.items()]
        return "\n".join([head, *rows, *map(str, self.crossings)])
