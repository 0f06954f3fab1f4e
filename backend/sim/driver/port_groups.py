"""The RAM ports of a design that has many, served by functions of a group of ports each.

Ports of one kind are served by loops. The body of a loop is the code of the first of them; a row of a table,
which is part of the context, says where the signals and the words of each lie. So the code does not grow
with the ports: LLVM took 6 s for that of a gemm with 3,700 of them. The few ports that are of no such
kind are served one after the other, as many in a function as LLVM compiles in a time that is linear in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign

from ..boundary.storage import arrangement
from ..boundary.traffic import Outside
from .context import ContextLayout
from .llvm_text import FunctionText
from .memory_ports import MemoryPorts, Port, bank_offset
from .wires import Wires

FEWEST = 96
"""Ports of a design whose ports are served by functions."""
LOOPED = 16
"""Ports of one kind that are served by loops."""
LENGTH = 32
"""Ports that a function serves one after the other."""
_FOUND = "found"


@dataclass(frozen=True, slots=True)
class _Member:
    """A RAM port among those of its design.

    Attributes:
        number: of the port, among those that write.
        before: the port that writes to the same bank before it.
    """

    array: ArrayInterface
    port: BankPort
    number: int
    before: BankPort | None

    def kind(self) -> tuple[object, ...]:
        """What two ports must agree on if they have the same code."""
        array, port, before = self.array, self.port, self.before
        return (
            (array.dtype, array.width, array.read_latency),
            (array.layout.bank_depth, arrangement(array.layout).word_stride),
            (port.addr_width, port.reads, port.writes, before and before.addr_width),
        )

    def signals(self) -> list[str]:
        """The ports of the design that belong to it."""
        port, before = self.port, self.before
        names = [f"{port.prefix}_en", f"{port.prefix}_addr"]
        names += [f"{port.prefix}_rdata"] if port.reads else []
        names += [f"{port.prefix}_we", f"{port.prefix}_wdata"] if port.writes else []
        names += [f"{before.prefix}_{signal}" for signal in ("en", "addr", "we")] if before else []
        return names

    def fields(self) -> dict[str, str]:
        """The fields of the context that belong to it, by their names as columns of a table."""
        prefix = self.port.prefix
        names = {f"{prefix} array": f"array {self.array.name}"}
        if self.port.reads:
            names[_next(self.port)] = _next(self.port)
        if self.port.reads and self.array.read_latency > 1:
            names[f"pipe {prefix}"] = f"pipe {prefix}"
        return names

    def columns(self) -> list[str]:
        """The columns of a table of its kind, named for it."""
        prefix = self.port.prefix
        return [*self.signals(), *self.fields(), f"{prefix} bank", f"{prefix} number"]

    def row(self, w: Wires) -> list[int]:
        """Its row of that table."""
        places = [w.port_offset(signal) for signal in self.signals()]
        places += [w.field_offset(name) for name in self.fields().values()]
        return [*places, bank_offset(self.array, self.port), self.number]


@dataclass(frozen=True, slots=True)
class _Group:
    """Ports that one function serves: by a loop over a table, or one after the other."""

    members: tuple[_Member, ...]
    table: str = ""

    @property
    def asked(self) -> str:
        """The field that says whether a port has read in this cycle; "" where all are driven in each."""
        at_once = self.members[0].port.reads and self.members[0].array.read_latency == 1
        return f"asked {self.table}" if self.table and at_once else ""


class PortGroups:
    """The functions that serve a design's ports; none for one with few, or with external memory."""

    def __init__(self, design: HardwareDesign, outside: Outside, memories: MemoryPorts) -> None:
        self._memories = memories
        ports = [(array, port) for array in design.arrays for port in array.ports]
        inside = not outside.memory and not any(port.waits for _, port in ports)
        self._groups = list(_groups(ports)) if inside and len(ports) >= FEWEST else []

    def __bool__(self) -> bool:
        return bool(self._groups)

    def declare(self, context: ContextLayout) -> None:
        """Reserve the fields of what is read until the clock has risen, and of faults; and the tables."""
        if self._groups:
            context.add(_FOUND)
        for group in self._groups:
            for member in group.members:
                if member.port.reads:
                    context.add(_next(member.port), _room(member.array) // 64)
            if group.table:
                context.add(group.table, len(group.members) * len(group.members[0].columns()))
            if group.asked:
                context.add(group.asked)

    def tables(self, w: Wires) -> dict[str, list[int]]:
        """The words of the tables, by their fields."""
        return {
            group.table: [word for member in group.members for word in member.row(w)]
            for group in self._groups
            if group.table
        }

    def functions(self, opened: Callable[[str], Wires]) -> Iterator[FunctionText]:
        """The text of the functions; ``opened`` begins one of a name."""
        emitters: dict[str, Callable[[Wires, _Group], None]] = {
            "read": self._read,
            "drive": self._drive,
            "hold": self._hold,
            "write": self._write,
            "late": self._late,
        }
        for what, emit in emitters.items():
            for position, group in self._serving(what):
                w = opened(f"allo_{what}_{position}")
                emit(w, group)
                w.f.finish()
                yield w.f

    def serve(self, w: Wires) -> str:
        """Do the reads of a cycle, then its writes; gives the code of a bad write, or zero."""
        self._call(w, "read")
        return self._checked(w, "write")

    def drive(self, w: Wires) -> None:
        """Let the ports take what was read."""
        self._call(w, "drive")

    def hold(self, w: Wires) -> None:
        """Let the ports keep what they show, until they read."""
        self._call(w, "hold")

    def late_writes(self, w: Wires) -> str:
        """The code of a write that is out after done, or zero."""
        return self._checked(w, "late")

    def _checked(self, w: Wires, what: str) -> str:
        w.f.store(w.f.constant(0, 64), w.field(_FOUND), 64)
        self._call(w, what)
        return w.f.load(w.field(_FOUND), 64)

    def _call(self, w: Wires, what: str) -> None:
        for position, _ in self._serving(what):
            w.f.call(f"allo_{what}_{position}", [("%ctx", "!llvm.ptr")])

    def _serving(self, what: str) -> Iterator[tuple[int, _Group]]:
        """What the functions of one kind serve, with the numbers in their names."""
        writes = what in ("write", "late")
        for position, group in enumerate(self._groups):
            members = [m for m in group.members if (m.port.writes if writes else m.port.reads)]
            if members:
                yield position, _Group(tuple(members), group.table)

    def _read(self, w: Wires, group: _Group) -> None:
        """What a port that does not ask has read, it keeps."""

        def read(member: _Member, fault: str) -> str:
            access = self._memories.request(w, member.array, member.port)
            _keep(w, member, self._memories.read(w, access))
            if group.asked:
                w.f.store(w.f.constant(1, 64), w.field(group.asked), 64)
            return fault

        self._memories.open(w)
        if group.asked:
            w.f.store(w.f.constant(0, 64), w.field(group.asked), 64)
        _each(w, group, read, ["en"] if group.asked else [])

    def _drive(self, w: Wires, group: _Group) -> None:
        def drive(member: _Member, fault: str) -> str:
            room = _room(member.array)
            value = w.f.load(w.field(_next(member.port)), room)
            w.put(f"{member.port.prefix}_rdata", w.f.resize(value, room, member.array.width))
            return fault

        if group.asked:
            asked = w.f.load(w.field(group.asked), 64)
            _leave_unless(w, w.f.compare("ne", asked, w.f.constant(0, 64), 64), "asked")
        _each(w, group, drive)

    def _hold(self, w: Wires, group: _Group) -> None:
        def hold(member: _Member, fault: str) -> str:
            _keep(w, member, w.get(f"{member.port.prefix}_rdata"))
            return fault

        _each(w, group, hold)

    def _write(self, w: Wires, group: _Group) -> None:
        def write(member: _Member, fault: str) -> str:
            array, port = member.array, member.port
            access = self._memories.request(w, array, port)
            before = self._memories.request(w, array, member.before) if member.before else None
            return self._memories.write(w, access, member.number, before, fault)

        self._memories.open(w)
        _each(w, group, write, ["en", "we"])

    def _late(self, w: Wires, group: _Group) -> None:
        def late(member: _Member, fault: str) -> str:
            return self._memories.late_write(w, member.port, member.number, fault)

        _each(w, group, late, ["en", "we"])


def _each(
    w: Wires, group: _Group, serve: Callable[[_Member, str], str], asks: Sequence[str] = ()
) -> None:
    """Serve the ports of a group; of faults, that of the last port is found.

    Args:
        serve: writes the code of one port; takes and gives the code of a fault.
        asks: signals that are all high where there is something to do, for a loop to skip the other ports.
    """
    f, found = w.f, w.field(_FOUND)
    zero, one = f.constant(0, 64), f.constant(1, 64)
    told = f.load(found, 64)
    if not group.table:
        fault = zero
        for member in group.members:
            fault = serve(member, fault)
        f.store(f.largest(told, fault, 64), found, 64)
        return
    first = group.members[0]
    columns = first.columns()
    table = w.field(group.table)
    shared: list[str] = []
    own: list[str] = []
    for signal in asks:
        places = {w.port_offset(f"{member.port.prefix}_{signal}") for member in group.members}
        (own if len(places) > 1 else shared).append(f"{first.port.prefix}_{signal}")
    for number, signal in enumerate(shared):
        _leave_unless(w, w.get(signal), f"any{number}")
    f.branch("row", [(zero, "i64"), (told, "i64")])

    f.block("row", [("%row", "i64"), ("%told", "i64")])
    at = f.binary("mul", "%row", f.constant(8 * len(columns), 64), 64)
    w.follow(f.index(table, at, 8), columns)
    for number, signal in enumerate(own):
        f.branch_if(w.get(signal), f"one{number}", "next", [("%told", "i64")])
        f.block(f"one{number}")
    f.branch("next", [(f.largest("%told", serve(first, zero), 64), "i64")])

    f.block("next", [("%found", "i64")])
    following = f.binary("add", "%row", one, 64)
    ended = f.compare("eq", following, f.constant(len(group.members), 64), 64)
    f.branch_if(ended, "end", "row", [(following, "i64"), ("%found", "i64")])

    f.block("end")
    f.store("%found", found, 64)


def _leave_unless(w: Wires, condition: str, label: str) -> None:
    """Go on in a block of this name where a condition holds, or return."""
    w.f.branch_if(condition, label, f"not_{label}")
    w.f.block(f"not_{label}")
    w.f.finish()
    w.f.block(label)


def _keep(w: Wires, member: _Member, value: str) -> None:
    """Keep what a port has read until the clock has risen."""
    room = _room(member.array)
    w.f.store(w.f.resize(value, member.array.width, room), w.field(_next(member.port)), room)


def _next(port: BankPort) -> str:
    return f"next {port.prefix}"


def _room(array: ArrayInterface) -> int:
    return -(-array.width // 64) * 64


def _groups(ports: list[Port]) -> Iterator[_Group]:
    """Ports of one kind together where they are many, the others in their order."""
    kinds: dict[tuple[object, ...], list[_Member]] = {}
    for member in _members(ports):
        kinds.setdefault(member.kind(), []).append(member)
    left = []
    for number, members in enumerate(kinds.values()):
        if len(members) >= LOOPED:
            yield _Group(tuple(members), f"ports {number}")
        else:
            left += members
    for start in range(0, len(left), LENGTH):
        yield _Group(tuple(left[start : start + LENGTH]))


def _members(ports: list[Port]) -> Iterator[_Member]:
    number = 0
    last: dict[tuple[str, int], BankPort] = {}
    for array, port in ports:
        bank = (array.name, port.bank)
        yield _Member(array, port, number, last.get(bank) if port.writes else None)
        if port.writes:
            last[bank] = port
            number += 1
