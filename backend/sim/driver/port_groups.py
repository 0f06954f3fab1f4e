"""The RAM ports of a design that has many, served by functions of some ports each.

LLVM takes a time that is quadratic in the length of a function without branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from allo.backend.rtl.design import HardwareDesign

from ..boundary.traffic import Outside
from .context import ContextLayout
from .llvm_text import FunctionText
from .memory_ports import MemoryPorts, Port
from .wires import Wires

FEWEST = 96
"""Ports of a design whose ports are served by functions."""
LENGTH = 32
"""Ports of a function, those of the last bank excepted."""
_FOUND = "found"


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
        """Reserve the fields of what is read until the clock has risen, and of faults."""
        if self._groups:
            context.add(_FOUND)
        for array, port in (member for group in self._groups for member in group):
            if port.reads:
                context.add(_next(port.prefix), -(-array.width // 64))

    def functions(self, opened: Callable[[str], Wires]) -> Iterator[FunctionText]:
        """The text of the functions; ``opened`` begins one of a name."""
        number = 0
        for position, group in enumerate(self._groups):
            yield self._read(opened(f"allo_read_{position}"), group)
            yield self._write(opened(f"allo_write_{position}"), group, number)
            yield self._late(opened(f"allo_late_{position}"), group, number)
            yield self._drive(opened(f"allo_drive_{position}"), group)
            number += sum(port.writes for _, port in group)

    def serve(self, w: Wires) -> str:
        """Do the reads of a cycle, then its writes; gives the code of a bad write, or zero."""
        self._call(w, "read")
        return self._checked(w, "write")

    def drive(self, w: Wires) -> None:
        """Let the ports take what was read."""
        self._call(w, "drive")

    def late_writes(self, w: Wires) -> str:
        """The code of a write that is out after done, or zero."""
        return self._checked(w, "late")

    def _checked(self, w: Wires, what: str) -> str:
        w.f.store(w.f.constant(0, 64), w.field(_FOUND), 64)
        self._call(w, what)
        return w.f.load(w.field(_FOUND), 64)

    def _call(self, w: Wires, what: str) -> None:
        for position in range(len(self._groups)):
            w.f.call(f"allo_{what}_{position}", [("%ctx", "!llvm.ptr")])

    def _read(self, w: Wires, group: list[Port]) -> FunctionText:
        self._memories.open(w)
        self._memories.sample(w, group)
        widths = {f"{port.prefix}_rdata": (array.width, port.prefix) for array, port in group}
        for name, value in self._memories.reads(w):
            width, prefix = widths[name]
            room = -(-width // 64) * 64
            w.f.store(w.f.resize(value, width, room), w.field(_next(prefix)), room)
        w.f.finish()
        return w.f

    def _write(self, w: Wires, group: list[Port], number: int) -> FunctionText:
        self._memories.open(w)
        self._memories.sample(w, group)
        before = w.f.load(w.field(_FOUND), 64)
        w.f.store(self._memories.writes(w, before, number), w.field(_FOUND), 64)
        w.f.finish()
        return w.f

    def _late(self, w: Wires, group: list[Port], number: int) -> FunctionText:
        before = w.f.load(w.field(_FOUND), 64)
        writers = [(array, port) for array, port in group if port.writes]
        found = self._memories.late_writes(w, before, writers, number)
        w.f.store(found, w.field(_FOUND), 64)
        w.f.finish()
        return w.f

    def _drive(self, w: Wires, group: list[Port]) -> FunctionText:
        for array, port in group:
            if port.reads:
                room = -(-array.width // 64) * 64
                value = w.f.load(w.field(_next(port.prefix)), room)
                w.put(f"{port.prefix}_rdata", w.f.resize(value, room, array.width))
        w.f.finish()
        return w.f


def _next(prefix: str) -> str:
    return f"next {prefix}"


def _groups(ports: list[Port]) -> Iterator[list[Port]]:
    """Ports in order, those of one bank together."""
    group: list[Port] = []
    for array, port in ports:
        last = group[-1] if group else None
        same = last is not None and last[0] is array and last[1].bank == port.bank
        if len(group) >= LENGTH and not same:
            yield group
            group = []
        group.append((array, port))
    if group:
        yield group
