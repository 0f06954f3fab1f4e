"""The ways between the masters of a design and the channels, across the switch of HBM where it is on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allo.dialects.diagnostics import SimulationError

from ..boundary.traffic import Crossing, MemoryChannel, device_of
from .channel import dram_library
from .switch import Switch, crosses, ports_of

KHZ = 1000


@dataclass(frozen=True, slots=True)
class Master:
    """An AXI4 master.

    Attributes:
        name: its bundle.
        channels: those that it reaches.
        ordered: its answers come in the order of its requests, since all have one id.
    """

    name: str
    channels: tuple[MemoryChannel, ...]
    ordered: bool


def switched(
    channels: Mapping[str, MemoryChannel], masters: Sequence[Master]
) -> dict[str, dict[str, int]]:
    """The numbers of the channels of one device that each master reaches, by device, where its switch is on.

    Raises:
        SimulationError: masters need a switch that is off, or one is asked to be both.
    """
    found: dict[str, dict[str, int]] = {}
    for device in dict.fromkeys(each.device for each in channels.values()):
        mine = {
            name: each
            for name, each in channels.items()
            if each.device == device and each.number is not None and device_of(each).switch
        }
        asked = {each.switch for each in mine.values()} - {"auto"}
        reached = reached_by(masters, mine)
        why = crosses(reached)
        if len(asked) > 1:
            raise SimulationError(
                f"Channels of {device} have switch={' and switch='.join(map(repr, sorted(asked)))}.",
                help="there is one switch for all channels: give them one value.",
            )
        if why and asked == {"off"}:
            raise SimulationError(
                f"The switch between channels of {device} is off, and {why}.",
                help="give each master one channel of its own, or leave switch= out.",
            )
        if why or asked == {"on"}:
            found[device or ""] = {name: each.number or 0 for name, each in mine.items()}
    return found


def reached_by(
    masters: Sequence[Master], channels: Mapping[str, MemoryChannel]
) -> dict[str, list[int]]:
    """The numbers of the channels that each master reaches, of those that reach some."""
    found = {
        master.name: [each.number or 0 for each in master.channels if each.name in channels]
        for master in masters
    }
    return {name: numbers for name, numbers in found.items() if numbers}


class Ways:
    """The ways from masters to channels, as the library takes them.

    Args:
        handles: the channels of the library, by name.

    Raises:
        SimulationError: as :func:`switched` and :func:`ports_of`.
    """

    def __init__(
        self,
        channels: Mapping[str, MemoryChannel],
        handles: Mapping[str, int],
        masters: Sequence[Master],
    ) -> None:
        self._library = dram_library()
        self._about, self._handles = channels, handles
        self._on = switched(channels, masters)
        self._ordered = {master.name: master.ordered for master in masters}
        self._ports: dict[str, dict[str, int]] = {}
        self._links: dict[str, int] = {}
        self._entries: dict[tuple[str, int], int] = {}
        self._ways: dict[tuple[str, str], int] = {}
        for device, numbers in self._on.items():
            switch = _switch(next(channels[name] for name in numbers))
            dead = np.array(switch.dead_cycles(), np.uint64) * self._beat(next(iter(numbers)))
            self._links[device] = self._library.allo_dram_links(dead.ctypes.data, len(dead))
            mine = {name: channels[name] for name in numbers}
            self._ports[device] = ports_of(reached_by(masters, mine), switch)

    def close(self) -> None:
        """Free them."""
        for way in self._ways.values():
            self._library.allo_dram_reach_delete(way)
        for entry in self._entries.values():
            self._library.allo_dram_entry_delete(entry)
        for links in self._links.values():
            self._library.allo_dram_links_delete(links)
        self._ways, self._entries, self._links = {}, {}, {}

    def to(self, master: str, channel: str) -> int:
        """The way from a master to a channel."""
        key = master, channel
        if key not in self._ways:
            self._ways[key] = self._new(master, channel)
        return self._ways[key]

    def crossings(self) -> tuple[Crossing, ...]:
        """What went through the switch so far."""
        found = []
        for (master, name), way in self._ways.items():
            about = self._about[name]
            if name not in self._on.get(about.device or "", {}):
                continue
            passed = np.zeros(2, np.uint64)
            self._library.allo_dram_passed(way, passed.ctypes.data)
            requests, waited = passed.tolist()
            switch, port, number = _switch(about), self._port(master, name), about.number or 0
            wait = waited / max(1, requests) * 1e3 / device_of(about).mhz
            hops, cycles = switch.hops(port, number), switch.cycles(port, number)
            found.append(Crossing(master, port, name, hops, cycles, requests, wait))
        return tuple(found)

    def _port(self, master: str, channel: str) -> int:
        about = self._about[channel]
        return self._ports[about.device or ""].get(master, about.number or 0)

    def _beat(self, channel: str) -> int:
        """Cycles of the memory in one of the switch."""
        about = self._about[channel]
        return round(device_of(about).mhz / _switch(about).mhz)

    def _new(self, master: str, channel: str) -> int:
        device, made = self._about[channel].device or "", self._library.allo_dram_reach
        if channel not in self._on.get(device, {}):
            direct: int = made(self._handles[channel], None, None, None)
            return direct
        port, beat = self._port(master, channel), self._beat(channel)
        if (device, port) not in self._entries:
            ordered = self._ordered.get(master, False)
            self._entries[device, port] = self._library.allo_dram_entry(beat, ordered)
        switch, number = _switch(self._about[channel]), self._about[channel].number or 0
        added = switch.cycles(port, number) * beat
        links = [switch.links(port, number, writes=writes) for writes in (False, True)]
        sizes = [len(each) for each in links]
        way = np.array([added // 2, added - added // 2, *sizes, *links[0], *links[1]], np.uint64)
        entry, wires = self._entries[device, port], self._links[device]
        across: int = made(self._handles[channel], entry, wires, way.ctypes.data)
        return across


def _switch(channel: MemoryChannel) -> Switch:
    return device_of(channel).switch or Switch()


__all__ = ["Master", "Ways"]
