"""RAM ports that the kernel instances of a dataflow region share.

A port that several instances use grants the first of those that ask and freezes the others for the
cycle; one of external memory freezes the instance that asks until the memory is ready. The copies of an
array are one memory, where that has ports enough for all that run at once, or else a memory each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

from ...graph.linear import bits_unsigned
from ...graph.nodes import Array
from ...graph.regions import Function
from ...plan.bind import Binding, Interface, PortUse
from ..builder import ModuleBuilder, identifier
from ..memory.ram import RamPort, RamUse, port_prefix, ram_bank
from .instances import Instance, all_earlier, never_same_copy

PORTS = 2
PortRow = tuple[Instance, tuple[int, int, int], bool]
"""A user of a port: its instance, the array parameter, bank and port of it, whether it may wait."""


@dataclass(slots=True)
class _Client:
    """A kernel's RAM port on one bank of an array.

    ``position`` and ``number``: of the kernel's array parameter, and of the port in its bank. ``data``: what
    it reads from each copy of an array whose copies are split.
    """

    instance: Instance
    stem: str
    bank: int
    use: PortUse
    position: int
    number: int
    data: list[str] = field(default_factory=list)

    def wire(self, text: ModuleBuilder, suffix: str) -> str:
        """A value that the instance's output will define."""
        return self.instance.output(text, f"{self.stem}_{suffix}")


@dataclass(frozen=True, slots=True)
class _Request:
    """What the users of one port ask of it in a cycle, "" where none does."""

    address: str
    enable: str
    write: str
    value: str


class SharedPorts:
    """The RAM ports of one region.

    Args:
        external: names of the arrays in external memory.
    """

    def __init__(
        self, text: ModuleBuilder, function: Function, binding: Binding, external: frozenset[str]
    ) -> None:
        self._text = text
        self._function = function
        self._binding = binding
        self._external = external
        self._users: dict[tuple[int, int, int], list[_Client]] = defaultdict(list)
        self._local: dict[tuple[int, int, int], tuple[str, _Request]] = {}
        self._earlier: dict[int, frozenset[int]] = {}
        self._apart: frozenset[frozenset[int]] = frozenset()

    def assign(self, instances: list[Instance], freezable: Callable[[Instance], Interface]) -> None:
        """Give every instance its ports; one that may have to wait gets a ``freezable`` interface."""
        self._earlier = all_earlier(instances)
        self._apart = never_same_copy(instances)
        self._split_copies(instances)
        crowded = {
            id(client.instance)
            for (number, _), users in _clients(instances).items()
            for port in self._spread(users, self._function.arrays[number])
            for client in port
            if self._function.arrays[number].name in self._external
            or any(self._meet(client, other, self._function.arrays[number]) for other in port)
        }
        for instance in instances:
            # One that is not granted a port stands still while the port answers another one.
            if id(instance) in crowded:
                instance.interface = freezable(instance)
        for (number, bank), users in _clients(instances).items():
            array = self._function.arrays[number]
            uses = self._binding.ports.setdefault(number, {})
            for port, together in enumerate(self._spread(users, array)):
                for client, place in product(together, _places(array, bank)):
                    self._users[number, place, port].append(client)
                    use = uses.setdefault((place, port), PortUse())
                    use.reads |= client.use.reads
                    use.writes |= client.use.writes
                    array.loaded |= client.use.reads
                    array.stored |= client.use.writes
        for array in self._function.arrays:
            self._binding.ports.setdefault(array.number, {})

    def _split_copies(self, instances: list[Instance]) -> None:
        """Give each copy of an array a memory of its own where only then nothing waits for a port."""
        clients = _clients(instances)
        for array in self._function.arrays:
            banks = [users for (number, _), users in clients.items() if number == array.number]
            if not array.copied or not any(self._is_crowded(users, array) for users in banks):
                continue
            array.split = True
            array.split = not any(self._is_crowded(users, array) for users in banks)

    def _is_crowded(self, users: list[_Client], array: Array) -> bool:
        """Whether some users of a bank may ask for one port in one cycle."""
        return any(
            self._meet(client, other, array)
            for port in self._spread(users, array)
            for client, other in combinations(port, 2)
        )

    def _spread(self, users: list[_Client], array: Array) -> list[list[_Client]]:
        """The users of each port of a bank: as few as can be of those that may ask at once.

        Two of one instance never share a port: it would wait for itself.
        """
        ports: list[list[_Client]] = [[] for _ in range(PORTS)]
        for client in users:
            crowds = [
                (
                    any(client.instance is other.instance for other in port),
                    sum(self._meet(client, other, array) for other in port),
                )
                for port in ports
            ]
            ports[crowds.index(min(crowds))].append(client)
        return ports

    def _meet(self, client: _Client, other: _Client, array: Array) -> bool:
        """Whether two users of a port may ask in one cycle: no instance starts after the other."""
        a, b = client.instance, other.instance
        if client is other or (array.split and frozenset((id(a), id(b))) in self._apart):
            return False
        return id(a) not in self._earlier[id(b)] and id(b) not in self._earlier[id(a)]

    def shared(self) -> Iterator[tuple[tuple[int, int, int] | None, list[PortRow]]]:
        """Ports that some may ask for in one cycle, and those of the region's array parameters.

        Of each the position of the parameter, with bank and port, None for a memory inside; and its users,
        those that are served first in front.
        """
        positions = {array.number: at for at, array in enumerate(self._function.parameters)}
        for (number, bank, port), users in self._users.items():
            array = self._function.arrays[number]
            waits = [
                any(self._meet(client, other, array) for other in users[:place])
                for place, client in enumerate(users)
            ]
            if any(waits) or number in positions:
                rows = zip(users, waits, strict=True)
                found = [(c.instance, (c.position, c.bank, c.number), w) for c, w in rows]
                yield (positions[number], bank, port) if number in positions else None, found

    def declare(self, interface: Interface) -> None:
        """Make the ports of array parameters and join the users of every port."""
        taken = {name for name, _ in interface.scalars_in}
        for array in self._function.parameters:
            prefix = identifier(array.name)
            while prefix in taken:
                prefix += "_"
            taken.add(prefix)
            uses = self._binding.ports[array.number]
            interface.arrays.append((prefix, uses))
            for (bank, port), use in sorted(uses.items()):
                self._outer_port(array, (bank, port), use, port_prefix(prefix, bank, port))
        for array in self._function.arrays:
            if array.storage != "ram":
                continue
            for (bank, port), use in sorted(self._binding.ports[array.number].items()):
                data = self._text.fresh() if use.reads else ""
                key = (array.number, bank, port)
                self._local[key] = data, self._join(key, data, array)

    def _outer_port(self, array: Array, where: tuple[int, int], use: PortUse, stem: str) -> None:
        text = self._text
        for suffix in ("addr", "en", "we", "wdata", "rdata", "ready"):
            text.reserve(f"{stem}_{suffix}")
        data = text.input(f"{stem}_rdata", f"i{array.width}") if use.reads else ""
        external = array.name in self._external
        ready = text.input(f"{stem}_ready", "i1") if external else ""
        request = self._join((array.number, *where), data, array, ready)
        text.output(f"{stem}_addr", f"i{bits_unsigned(array.depth - 1)}", request.address)
        text.output(f"{stem}_en", "i1", request.enable)
        if use.writes:
            text.output(f"{stem}_we", "i1", request.write)
            text.output(f"{stem}_wdata", f"i{array.width}", request.value)

    def _join(
        self, key: tuple[int, int, int], data: str, array: Array, ready: str = ""
    ) -> _Request:
        """Join the users of one RAM port; a user that is not granted is frozen.

        Args:
            ready: whether external memory takes the request, "" for memory that always does.
        """
        text, users = self._text, self._users[key]
        grants, before = [], ""
        for number, client in enumerate(users):
            enable = self._enable(client, array, key[1])
            grant = text.all_of(enable, text.invert(before)) if before else enable
            if ready or any(self._meet(client, other, array) for other in users[:number]):
                served = text.all_of(grant, ready) if ready else grant
                client.instance.enable.append(text.any_of(text.invert(enable), served))
            before = text.any_of(before, enable) if before else enable
            grants.append(grant)
            client.instance.wires[f"{client.stem}_rdata"] = self._data(client, array, data)
        granted = list(zip(grants, users, strict=True))
        address = text.choose(
            [(g, self._address(c, array)) for g, c in granted], bits_unsigned(array.depth - 1)
        )
        write = value = ""
        writers = [(g, c) for g, c in granted if c.use.writes]
        if writers:
            write = text.any_of(*(text.all_of(g, c.wire(text, "we")) for g, c in writers))
            value = text.choose([(g, c.wire(text, "wdata")) for g, c in writers], array.width)
        return _Request(address, before, write, value)

    def _enable(self, client: _Client, array: Array, place: int) -> str:
        """Whether a user asks for a bank, of the copy of its iteration where copies are split."""
        text, asks = self._text, client.wire(self._text, "en")
        if not array.split:
            return asks
        return text.all_of(asks, self._uses(client, array, place // array.layout.bank_count))

    def _uses(self, client: _Client, array: Array, copy: int) -> str:
        """Whether the iteration of a user uses a copy of an array."""
        text, turn = self._text, client.instance.turn
        if array.copied == 2:
            return turn if copy else text.invert(turn)
        bits = bits_unsigned(array.copied - 1)
        return text.compare("eq", turn, text.const(copy, bits), bits)

    def _data(self, client: _Client, array: Array, data: str) -> str:
        """The word that a user reads: where copies are split, of the copy of its iteration."""
        if not array.split or not client.use.reads:
            return data
        client.data.append(data)
        if len(client.data) < array.copied:
            return data
        found, *others = client.data
        for copy, other in enumerate(others, start=1):
            chosen = self._uses(client, array, copy)
            found = self._text.mux(chosen, other, found, array.width)
        return found

    def _address(self, client: _Client, array: Array) -> str:
        """The word that a user asks for, in the copy of its iteration where one memory has several."""
        text, word = self._text, client.wire(self._text, "addr")
        if not array.copied or array.split:
            return word
        width = bits_unsigned(array.layout.bank_depth - 1)
        bits = bits_unsigned(array.copied - 1)
        return text.concat([(client.instance.turn, bits), (word, width)], array.place)

    def finish(self) -> None:
        """Emit the RAMs inside the region."""
        for array in self._function.arrays:
            if array.storage != "ram":
                continue
            uses = self._binding.ports[array.number]
            for bank in sorted({bank for bank, _ in uses}):
                ports = [
                    self._ram_port((array.number, bank, port))
                    for port in range(PORTS)
                    if (bank, port) in uses
                ]
                suffix = f"_{bank}" if array.banks > 1 else ""
                memory = self._text.named(f"{array.name}{suffix}_ram")
                ram_bank(self._text, array, memory, ports)

    def _ram_port(self, key: tuple[int, int, int]) -> RamPort:
        data, asked = self._local[key]
        writes = [RamUse(asked.write, asked.address, (), asked.value)] if asked.write else []
        return RamPort(asked.address, data, (), asked.write, asked.value, writes)


def _places(array: Array, bank: int) -> list[int]:
    """The banks that a user of a bank uses: one, or one of each copy."""
    return list(range(bank, array.banks, array.layout.bank_count))


def _clients(instances: list[Instance]) -> dict[tuple[int, int], list[_Client]]:
    """Kernel ports by array and bank."""
    found: dict[tuple[int, int], list[_Client]] = defaultdict(list)
    for instance in instances:
        joined = zip(instance.arrays, instance.interface.arrays, strict=True)
        for position, (array, (prefix, uses)) in enumerate(joined):
            for (bank, port), use in sorted(uses.items()):
                stem = port_prefix(prefix, bank, port)
                client = _Client(instance, stem, bank, use, position, port)
                found[array.number, bank].append(client)
    return found
