"""One RAM bank: its ports, and its text."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...graph.linear import bits_unsigned
from ...graph.nodes import Array
from ...netlist.memories import (
    Memory,
    Read,
    SimulatedMemory,
    SimulatedRead,
    SimulatedWrite,
    Write,
)
from ...netlist.operations import Gate
from ..builder import ModuleBuilder

Scope = tuple[str, ...]
"""Bits of :class:`.activity.Activity` that are high whenever a port is used."""


@dataclass(frozen=True, slots=True)
class RamUse:
    """One read or write of a RAM port.

    Attributes:
        condition: when it happens.
        address: the word.
        scope: bits that are high whenever it happens.
        data: what it writes, "" for a read.
    """

    condition: str
    address: str
    scope: Scope
    data: str = ""


@dataclass(slots=True)
class PortUsers:
    """Reads and writes of one RAM port."""

    reads: list[RamUse] = field(default_factory=list)
    writes: list[RamUse] = field(default_factory=list)

    def reading(self, text: ModuleBuilder) -> Scope:
        """Bits that are all high whenever a read goes on."""
        first, *rest = self.reads
        shared = [b for b in first.scope if all(b in r.scope for r in rest)]
        return (*shared, text.native_any_of(*(r.condition for r in self.reads)))


@dataclass(slots=True)
class RamPort:
    """One port of a bank.

    Attributes:
        address: of whatever user there is.
        data: name that the read data gets, or "".
        reading: bits that are all high whenever a read goes on.
        enable, value: write enable, low while the module is frozen, and data, or "".
        writes: every write by itself.
        taken: when the read data changes, "" for every cycle.
    """

    address: str
    data: str = ""
    reading: Scope = ()
    enable: str = ""
    value: str = ""
    writes: list[RamUse] = field(default_factory=list)
    taken: str = ""


def ram_bank(
    text: ModuleBuilder, array: Array, memory: str, ports: list[RamPort], separate: bool = False
) -> None:
    """One bank: a memory whose read data is registered, which infers block RAM.

    Args:
        separate: whether no port reads a word, for use, in the cycle in which the other port writes it.
    """
    depth, width, bits = array.depth, array.width, bits_unsigned(array.depth - 1)
    text.styled(
        Memory(memory, depth, width, separate=separate, style=array.style),
        SimulatedMemory(memory, depth, width),
        array.place,
    )
    always = text.const(1, 1)
    for number, port in enumerate(ports):
        address = text.signal(f"{memory[1:]}_p{number}_addr", port.address, bits, array.place)
        if port.data:
            word = text.fresh()
            text.styled(
                Read(word, (memory, address, always), depth, width, bits),
                SimulatedRead(word, (memory, port.address, always), depth, width, bits),
                array.place,
            )
            held = text.named(f"{memory[1:]}_p{number}_q")
            text.register(
                held, word, width, enable=port.taken, busy=port.reading, place=array.place
            )
            text.add(Gate("comb.or", port.data, (held,), width))
        if not port.enable:
            continue
        written = memory, address, port.value, port.enable
        text.rtl_only(Write(written, depth, width, bits), array.place)
        # One port for each write: none of them then computes what another one writes.
        for write in port.writes:
            gate = text.native_all_of(write.condition, text.enable, *write.scope)
            written = memory, write.address, write.data, gate
            text.native_only(SimulatedWrite(written, depth, width, bits), array.place)


def port_prefix(prefix: str, bank: int, port: int) -> str:
    """The stem of a RAM port's signals."""
    return f"{prefix}_{bank}_p{port}"
