"""The switch between the AXI ports and the channels of HBM2 on UltraScale+ devices.

Each AXI port lies beside one channel. With the switch, every port reaches every channel: four ports and
their four channels share a *mini-switch*, a full crossbar, and neighbouring mini-switches are joined by two
lateral links in each direction, one for the first two ports and one for the other two (AMD's PG276,
"Lateral AXI Switch Access Throughput Loss": half of the bandwidth, and a dead cycle between the writes of
two masters). Cycles of latency are fitted to those of Shuhai (FCCM 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allo.dialects.diagnostics import SimulationError


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, in cycles of its own clock.

    Attributes:
        mhz: that clock; a port and a link carry one burst of the memory in a cycle.
        ports: AXI ports, and channels, of the whole device.
        beside: those of a mini-switch.
        stack: mini-switches of one stack of memory.
        enter: what it adds to a request and its answer together, wherever they go.
        hop: the same of each lateral link on the way.
        across: the same of the link between two stacks.
        dead: cycles between the writes of two masters on a lateral link.
    """

    mhz: float = 450.0
    ports: int = 32
    beside: int = 4
    stack: int = 4
    enter: int = 7
    hop: int = 2
    across: int = 9
    dead: int = 1

    def hops(self, port: int, channel: int) -> int:
        """Lateral links between a port and a channel."""
        return abs(port // self.beside - channel // self.beside)

    def cycles(self, port: int, channel: int) -> int:
        """What it adds to a request and its answer together."""
        whole = self.beside * self.stack
        stacks = abs(port // whole - channel // whole)
        return self.enter + self.hop * self.hops(port, channel) + self.across * stacks

    def links(self, port: int, channel: int, *, writes: bool) -> list[int]:
        """The numbers of the links that data cross: that of the port, and lateral ones.

        What is read goes from the channel to the port, what is written the other way.
        """
        ends = port // self.beside, channel // self.beside
        first, last = ends if writes else ends[::-1]
        east, half = int(last > first), port % self.beside // max(1, self.beside // 2)
        found = [2 * port + writes]
        for gap in range(min(ends), max(ends)):
            found.append(2 * self.ports + 8 * gap + 4 * east + 2 * half + writes)
        return found

    def dead_cycles(self) -> list[int]:
        """Those of each link, by number: lateral links that are written have some."""
        lateral = 8 * (self.ports // self.beside - 1)
        return [0] * 2 * self.ports + [self.dead * (n % 2) for n in range(lateral)]


def ports_of(masters: Mapping[str, Sequence[int]], switch: Switch) -> dict[str, int]:
    """The port of each master: beside its first channel, else the nearest one that is free.

    Args:
        masters: the numbers of the channels that each reaches.

    Raises:
        SimulationError: there are more masters than ports.
    """
    if len(masters) > switch.ports:
        raise SimulationError(
            f"{len(masters)} masters reach channels of HBM, which have {switch.ports} AXI ports.",
            help="give several arrays one master, by one bundle or one channel.",
        )
    found: dict[str, int] = {}
    for name, channels in masters.items():
        if channels[0] not in found.values():
            found[name] = channels[0]
    for name, channels in masters.items():
        if name not in found:
            free = set(range(switch.ports)) - set(found.values())
            home = channels[0]
            found[name] = min(free, key=lambda port: (switch.hops(port, home), abs(port - home)))
    return found


def crosses(masters: Mapping[str, Sequence[int]]) -> str:
    """Why a design needs the switch, in words; "" where each master has one channel to itself."""
    of_channel: dict[int, str] = {}
    for name, channels in masters.items():
        if len(set(channels)) > 1:
            return f"master {name} reaches {len(set(channels))} channels"
        other = of_channel.setdefault(channels[0], name)
        if other != name:
            return f"masters {other} and {name} reach one channel"
    return ""


__all__ = ["Switch", "crosses", "ports_of"]
