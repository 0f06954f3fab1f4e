"""Memories of a function: RAM banks, registers, tables, and the ports of array parameters.

A user of a RAM port is a condition with an address, and data where it writes. Users of one port
never meet in a cycle, because ports are reserved by the schedule.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ...graph.linear import bits_unsigned
from ...graph.nodes import Access, Array, Body, Node
from ...graph.regions import Call, Guess
from ...plan.bind import Interface, PortUse
from ...plan.holds import Holds
from ...read.storage import bank_words
from ..builder import Wiring, identifier
from ..context import Context
from .forwarding import Forwarding, bank_condition
from .joint import Group, Groups, Turn, one_port
from .pick import pick
from .ram import PortUsers, RamPort, RamUse, Scope, port_prefix, ram_bank
from .rom import RomBank

Key = tuple[int, int, int]


def _checks(body: Body) -> bool:
    return any(node.kind == "check" for node in body.nodes)


def _addresses(uses: list[RamUse]) -> list[tuple[str, str]]:
    return [(u.condition, u.address) for u in uses]


def _written(writes: list[RamUse]) -> list[tuple[str, str]]:
    return [(w.condition, w.data) for w in writes]


class Memories:
    """Emits the memories of one function."""

    def __init__(self, context: Context, holds: Holds) -> None:
        self._c = context
        self._holds = holds
        self._text = context.text
        self._users: dict[Key, PortUsers] = defaultdict(PortUsers)
        self._read_data: dict[Key, str] = {}
        self._registers: dict[tuple[int, int], str] = {}
        self._constants: dict[int, list[list[int]]] = {}
        self._writes: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
        self._prefixes: dict[int, str] = {}
        self._fresh = ""
        self._groups = Groups()
        self._forwarding = Forwarding(context)

    def declare(self, interface: Interface) -> None:
        """Name the ports of array parameters."""
        taken: set[str] = set()
        for position, array in enumerate(self._c.function.parameters):
            prefix = identifier(array.name)
            while prefix in taken:
                prefix += "_"
            taken.add(prefix)
            self._prefixes[array.number] = prefix
            uses = self._c.binding.ports[array.number]
            interface.arrays.append((prefix, uses))
            held = self._holds.keeps(position, waits=self._c.waits_inside)
            for (bank, port), use in sorted(uses.items()):
                stem = port_prefix(prefix, bank, port)
                for suffix in ("addr", "en", "we", "wdata", "rdata"):
                    self._text.reserve(f"{stem}_{suffix}")
                if use.reads:
                    name = self._text.input(f"{stem}_rdata", f"i{array.width}")
                    word = name if held else self._kept(stem, name, array.width)
                    self._read_data[array.number, bank, port] = word

    def _kept(self, stem: str, name: str, width: int) -> str:
        """What a RAM outside answered in the last cycle in which this module moved."""
        text = self._text
        if not text.enable:
            return name
        if not self._fresh:
            self._fresh = text.register(text.named("moved"), text.enable, 1, reset=0, free=True)
        held = text.named(f"{stem}_kept")
        value = text.mux(self._fresh, name, held, width)
        text.register(held, value, width, free=True)
        return value

    # --- accesses -----------------------------------------------------------------

    def load(self, node: Node, body: Body) -> None:
        """A load: its address goes to the port, its value becomes the node's."""
        access = node.access
        assert access is not None
        array = access.array
        if array.storage == "reg":
            values = {bank: self.register(array, bank) for bank in access.banks()}
            value = self._pick(node, body, values, node.time)
            if access.bypass:
                value = self._forwarding.scalar(node, body, value)
            self._c.name_raw(node, value)
            return
        address = self._word(access, body, node.time)
        condition = self._c.valid(body, node.time)
        if access.gated and access.gate is not None:
            condition = self._text.all_of(condition, self._c.value(access.gate, body, node.time))
        scope = self._c.scope(body, node.time)
        if one_port(access):
            bank, later = (
                self._bank_at(access, body, node.time),
                self._bank_at(access, body, node.time + 1),
            )
            value = self._text.named(f"{array.name}_word")
            turn = Turn(node.time, condition, address, bank, scope, "", value, later, node.place)
            self._groups.add(access, body, turn)
        else:
            self._use(access, body, node.time, RamUse(condition, address, scope))
            values = {b: self._data((array.number, b, access.ports[b])) for b in access.banks()}
            value = self._pick(node, body, values, node.time + 1)
        self._c.name_raw(node, self._forwarding.word(node, body, value))

    def store(self, node: Node, body: Body) -> None:
        """A store: address, data and condition go to the port."""
        access = node.access
        assert access is not None and access.data is not None
        array, time = access.array, node.time
        condition = self._c.valid(body, time)
        if access.predicate is not None:
            condition = self._text.all_of(condition, self._c.value(access.predicate, body, time))
        if self._c.watch.active and array.storage != "reg" and not _checks(body):
            # What has failed before a body without checks has failed before it in Python.
            condition = self._text.all_of(condition, self._text.invert(self._c.watch.seen))
        final = self._c.finals.get(node.number)
        if final:
            condition = self._text.all_of(condition, self._text.invert(final))
        data = self._c.value(access.data, body, time)
        address = self._word(access, body, time)
        scope = self._c.scope(body, time)
        if one_port(access):
            chosen = self._bank_at(access, body, time)
            turn = Turn(time, condition, address, chosen, scope, data)
            self._groups.add(access, body, turn)
            return
        if array.storage != "reg":
            self._use(access, body, time, RamUse(condition, address, scope, data))
            return
        for position, bank in enumerate(access.banks()):
            when = bank_condition(self._c, access, position, body, time, condition)
            self._writes[array.number, bank].append((self._c.settled(body, when), data))

    def _use(self, access: Access, body: Body, time: int, use: RamUse) -> None:
        """An access of a RAM uses a port of each bank that it may touch."""
        for position, bank in enumerate(access.banks()):
            when = bank_condition(self._c, access, position, body, time, use.condition)
            self._add(
                body, (access.array.number, bank, access.ports[bank]), replace(use, condition=when)
            )

    def _add(self, body: Body, key: Key, use: RamUse) -> None:
        self._c.settled(body, use.condition)
        users = self._users[key]
        (users.writes if use.data else users.reads).append(use)

    def _bank_at(self, access: Access, body: Body, time: int) -> str:
        assert access.bank_node is not None
        return self._c.value(access.bank_node, body, time)

    def final(self, guess: Guess, body: Body) -> None:
        """A register takes what the last iteration of a loop leaves in it."""
        access = guess.store.access
        assert access is not None and access.bank is not None
        data = self._c.value(guess.final, body, guess.step)
        condition = self._c.settled(body, self._c.finals[guess.store.number])
        self._writes[access.array.number, access.bank].append((condition, data))

    def _word(self, access: Access, body: Body, time: int) -> str:
        word = access.word_node
        return self._text.const(0, 1) if word is None else self._c.value(word, body, time)

    def _pick(self, node: Node, body: Body, values: dict[int, str], time: int) -> str:
        access = node.access
        assert access is not None
        if access.bank is not None:
            return values[access.bank]
        assert access.bank_node is not None
        text, index = self._text, access.bank_node
        result, words = text.named(f"{access.array.name}_word"), list(values.values())
        position = self._c.value(index, body, time), index.width
        pick(text, result, words, position, node.width, access.array.name, node.place)
        return result

    def _data(self, key: Key) -> str:
        name = self._read_data.get(key)
        if name is None:
            name = self._read_data[key] = self._text.fresh()
        return name

    def register(self, array: Array, bank: int) -> str:
        """The register of one bank of a register array; its only word where that is constant."""
        if array.constant:
            if array.number not in self._constants:
                self._constants[array.number] = bank_words(array) or []
            return self._text.const(self._constants[array.number][bank][0], array.width)
        key = (array.number, bank)
        name = self._registers.get(key)
        if name is None:
            suffix = f"_{bank}" if array.banks > 1 else ""
            name = self._registers[key] = self._text.named(f"{array.name}{suffix}")
            if array.place is not None:
                self._c.debug[name[1:]] = f"variable {array.name} ({array.place})"
        return name

    # --- calls --------------------------------------------------------------------------

    def connect(
        self,
        interface: Interface,
        calls: list[Call],
        selections: list[str],
        wiring: Wiring,
        scopes: list[Scope],
    ) -> None:
        """Join the array ports of a callee to the caller's memories; ``scopes`` are the calls'."""
        for position, (prefix, uses) in enumerate(interface.arrays):
            arrays = [call.arrays[position] for call in calls]
            for (bank, port), use in sorted(uses.items()):
                stem = port_prefix(prefix, bank, port)
                value = self._join(stem, arrays, selections, (bank, port), use, wiring, scopes)
                if use.reads:
                    wiring.inputs[f"{stem}_rdata"] = value

    def _join(
        self,
        stem: str,
        arrays: list[Array],
        selections: list[str],
        where: tuple[int, int],
        use: PortUse,
        wiring: Wiring,
        callers: list[Scope],
    ) -> str:
        text, array = self._text, arrays[0]
        address, enable, write, data = (text.fresh() for _ in range(4))
        wiring.outputs |= {f"{stem}_addr": address, f"{stem}_en": enable}
        if use.writes:
            wiring.outputs |= {f"{stem}_we": write, f"{stem}_wdata": data}
        reads: list[tuple[str, str]] = []
        seen: dict[int, list[str]] = defaultdict(list)
        scopes: dict[int, Scope] = {}
        for target, selected, scope in zip(arrays, selections, callers, strict=True):
            seen[target.number].append(selected)
            known = scopes.get(target.number, scope)
            scopes[target.number] = tuple(b for b in known if b in scope)
        by_number = {a.number: a for a in arrays}
        for number, chosen in seen.items():
            target = by_number[number]
            active = enable if len(seen) == 1 else text.all_of(enable, text.any_of(*chosen))
            reads.append(
                (
                    text.any_of(*chosen),
                    self._callee_port(
                        target, where, use, active, address, write, data, scopes[number]
                    ),
                )
            )
        return text.choose(reads, array.width) if use.reads else ""

    def _callee_port(
        self,
        target: Array,
        where: tuple[int, int],
        use: PortUse,
        active: str,
        address: str,
        write: str,
        data: str,
        scope: Scope,
    ) -> str:
        """Make a callee's port a user of one array; the data it reads."""
        text, (bank, port) = self._text, where
        if target.storage == "reg":
            if use.writes:
                self._writes[target.number, bank].append((text.all_of(active, write), data))
            if not use.reads:
                return ""
            value = self.register(target, bank)
            return text.register(text.named(f"{target.name}_{bank}_q"), value, target.width)
        key = (target.number, bank, port)
        if use.writes:
            written = RamUse(text.all_of(active, write), address, scope, data)
            self._users[key].writes.append(written)
        if not use.reads:
            return ""
        when = text.all_of(active, text.invert(write)) if use.writes else active
        self._users[key].reads.append(RamUse(when, address, scope))
        return self._data(key)

    # --- storage --------------------------------------------------------------------------

    def finish(self) -> None:
        """Emit every memory, after all users are known."""
        for group in self._groups.all():
            self._shared(group)
        for array in self._c.function.arrays:
            uses = self._c.binding.ports[array.number]
            if array.storage == "port":
                self._outside(array, uses)
            elif array.storage == "reg":
                self._register_banks(array)
            elif array.storage == "rom":
                self._table(array, uses)
            else:
                self._ram(array, uses)

    def _shared(self, group: Group) -> None:
        """Ports that accesses of unknown banks share."""
        if group.alternate:
            conditions = [self._c.settled(group.body, turn.condition) for turn in group.turns]
            frozen = self._text.enable
            group.join(self._text, self._text.moving(*conditions) if frozen else "")
        keys = [(group.array.number, bank, group.port) for bank in group.banks]
        if group.turns[0].word:
            group.pick(self._text, [self._data(key) for key in keys])
        for position, key in enumerate(keys):
            for use in group.uses(self._text, position):
                self._add(group.body, key, use)

    def _outside(self, array: Array, uses: dict[tuple[int, int], PortUse]) -> None:
        text = self._text
        width = bits_unsigned(array.depth - 1)
        for (bank, port), use in sorted(uses.items()):
            stem = port_prefix(self._prefixes[array.number], bank, port)
            users = self._users[array.number, bank, port]
            everyone = [*users.reads, *users.writes]
            address = text.choose(_addresses(everyone), width) if everyone else text.const(0, width)
            text.output(f"{stem}_addr", f"i{width}", address)
            conditions = [u.condition for u in everyone]
            if self._c.alone or self._c.apart:
                enabled = text.moving(*conditions)
            else:
                local = [self._c.local] if self._c.local else []
                enabled = text.all_of(text.any_of(*conditions), *local)
            text.output(f"{stem}_en", "i1", enabled)
            if use.writes:
                text.output(f"{stem}_we", "i1", text.any_of(*(w.condition for w in users.writes)))
                data = text.choose(_written(users.writes), array.width)
                text.output(f"{stem}_wdata", f"i{array.width}", data)

    def _register_banks(self, array: Array) -> None:
        text = self._text
        if array.constant:
            return
        initial = bank_words(array)
        for bank in range(array.banks):
            key = (array.number, bank)
            if key not in self._registers and key not in self._writes:
                continue
            name = self.register(array, bank)
            users = self._writes.get(key, [])
            data = text.choose(users, array.width) if users else name
            text.register(
                name,
                data,
                array.width,
                enable=text.moving(*(w for w, _ in users)),
                free=True,
                reset=initial[bank][0] if initial else None,
                place=array.place,
            )

    def _table(self, array: Array, uses: dict[tuple[int, int], PortUse]) -> None:
        text = self._text
        words = bank_words(array) or []
        tables: dict[int, RomBank] = {}
        for bank, port in sorted(uses):
            if bank not in tables:
                suffix = f"_{bank}" if array.banks > 1 else ""
                name = text.named(f"{array.name}{suffix}_rom")
                tables[bank] = RomBank(text, name, words[bank], array.width, array.place)
            users = self._users[array.number, bank, port]
            address = text.choose(_addresses(users.reads), bits_unsigned(array.depth - 1))
            value = tables[bank].read(address)
            held = text.named(f"{array.name}_{bank}_p{port}_q")
            text.register(held, value, array.width, busy=users.reading(text), place=array.place)
            self._text.alias(self._data((array.number, bank, port)), held, array.width)

    def _ram(self, array: Array, uses: dict[tuple[int, int], PortUse]) -> None:
        text = self._text
        width = bits_unsigned(array.depth - 1)
        separate = self._c.binding.separate_of(array)
        for bank in sorted({bank for bank, _ in uses}):
            suffix = f"_{bank}" if array.banks > 1 else ""
            ports: list[RamPort] = []
            for port in (0, 1):
                if (bank, port) not in uses:
                    continue
                users = self._users[array.number, bank, port]
                address = text.choose(_addresses([*users.reads, *users.writes]), width)
                data = self._data((array.number, bank, port)) if users.reads else ""
                enable = value = ""
                if users.writes:
                    enable = text.moving(*(w.condition for w in users.writes))
                    value = text.choose(_written(users.writes), array.width)
                reading = users.reading(text) if users.reads else ()
                ports.append(RamPort(address, data, reading, enable, value, users.writes))
            name = text.named(f"{array.name}{suffix}_ram")
            ram_bank(text, array, name, ports, bank in separate)
