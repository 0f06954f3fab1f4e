"""What surrounds a design on a board: the ports of its wrapper, as simulators and drivers see them.

The wrapper is named ``<top>_axi``; its clock is ``ap_clk``, its reset ``ap_rst_n`` (synchronous, active
low). ``docs/interfaces.md`` has the ports and the register map.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from allo.dialects.interfaces.transfers import Transfer

CLOCK, RESET = "ap_clk", "ap_rst_n"
LITE = "s_axi_control"
PAGE = 4096
"""Bytes that a burst must not cross: rule A3.4.1 of the AXI specification."""
CONTROL, GLOBAL_ENABLE, ENABLE, STATUS, FIRST_ARGUMENT = 0x00, 0x04, 0x08, 0x0C, 0x10
"""Offsets of the registers that every control interface has, in bytes."""


BUS_ERROR = "bus_error"
"""The register behind the arguments; bit 0: a memory has answered a burst of the run with an error."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A port of the wrapper."""

    name: str
    width: int
    output: bool


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar, or the address of an array, among the control registers.

    Attributes:
        name: the argument or result.
        offset: of its first word, in bytes.
        width: bits that count.
        written: whether the host writes it; it may always read it.
    """

    name: str
    offset: int
    width: int
    written: bool = True

    @property
    def words(self) -> int:
        """Words of 32 bits."""
        return -(-self.width // 32)


@dataclass(frozen=True, slots=True)
class Master:
    """An AXI4 master port, ``m_axi_<bundle>_…``.

    Attributes:
        width: bits of its data.
        burst: beats of its longest burst.
        outstanding: bursts that may be under way at once, in each direction.
        reads, writes: the channels it has.
        ids: bits of the ids of its reads, 0 for none; answers may then come in any order.
    """

    bundle: str
    width: int
    burst: int
    outstanding: int
    reads: bool
    writes: bool
    ids: int = 0

    @property
    def prefix(self) -> str:
        """How the names of its ports begin."""
        return f"m_axi_{self.bundle}"


@dataclass(frozen=True, slots=True)
class Part:
    """What one master reaches of an array: every so many-th word of the bus, one after the other.

    Attributes:
        bundle: of the master.
        register: the name of the register that holds the address.
    """

    bundle: str
    register: str


@dataclass(frozen=True, slots=True)
class Buffered:
    """An array in a memory on the outside, which the wrapper copies to and from RAM beside the core.

    With ``beside`` there is no such RAM: its elements pass while the core runs.

    Attributes:
        name: the argument or result.
        parts: where it lies: word ``w`` of the bus is word ``w // n`` of part ``w % n`` of n.
        width: bits of an element; ``cell`` those it takes in memory: as many where it is packed, else
            the next power of two of bytes.
        signed: whether its sign fills the cell.
        count: elements.
        loaded, stored: whether it is copied in before the core runs, and out after it.
        fold: banks that the RAM beside the core has for each bank of the core, for copies of fewer steps.
        uneven: whether a step of a copy may take a number of elements that is no power of two.
        early: whether the core begins while it is copied in, and waits for what is not there yet.
        leaves: whether elements that the core has written for the last time are copied out while it runs.
    """

    name: str
    parts: tuple[Part, ...]
    width: int
    cell: int
    signed: bool
    count: int
    loaded: bool
    stored: bool
    beside: Transfer | None = None
    fold: int = 1
    uneven: bool = False
    early: bool = False
    leaves: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether the core asks for its elements one by one."""
        return self.beside is not None and bool(self.beside.request_stream)

    @property
    def bytes(self) -> int:
        """Bytes it takes in memory."""
        return -(-self.count * self.cell // 8)

    @property
    def bundles(self) -> tuple[str, ...]:
        """The masters that reach it."""
        return tuple(part.bundle for part in self.parts)

    def part_bytes(self, width: int) -> int:
        """Bytes that each part takes in memory, behind buses of ``width`` bits."""
        if len(self.parts) == 1:
            return self.bytes
        word = width // 8
        return -(-self.bytes // (word * len(self.parts))) * word


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """An AXI4-Stream, ``<name>_TDATA`` and so on.

    Attributes:
        width: bits of a word; TDATA has ``cell``, whole bytes.
        output: whether the words leave the design; the last of them has TLAST.
        count: the words that pass in a run, None where that depends.
    """

    name: str
    width: int
    cell: int
    signed: bool
    output: bool
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """The outside of a wrapper.

    Attributes:
        top: the wrapper's module.
        core: the module inside.
        registers: what the control interface holds; None where start and done are ports.
        results: scalar results that are ports, not registers; ``pins`` scalar arguments that are.
        memories: names of arrays that stay ports of RAM.
        wires: every port but clock and reset.
    """

    top: str
    core: str
    registers: tuple[Register, ...] | None
    masters: tuple[Master, ...] = ()
    arrays: tuple[Buffered, ...] = ()
    streams: tuple[StreamEnd, ...] = ()
    memories: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    wires: tuple[Wire, ...] = field(default=(), repr=False)

    @property
    def spread(self) -> Buffered | None:
        """The first array that lies on several masters, if there is one."""
        return next((array for array in self.arrays if len(array.parts) > 1), None)

    @property
    def address_bits(self) -> int:
        """Bits of an address of a control register."""
        last = max((r.offset + 4 * r.words for r in self.registers or ()), default=FIRST_ARGUMENT)
        return max(4, (last - 1).bit_length())
