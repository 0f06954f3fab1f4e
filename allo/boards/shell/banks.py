"""The memories of a design's arguments as the host reaches them: banks of words, one after another.

Banks that only the host writes come first, then those that both write, then those that only the core
writes. So what a call sends is one stretch of words, and what it takes back another one. Behind them are
the banks of streams, which the host reaches while the core runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.design import (
    ArrayInterface,
    BankPort,
    HardwareDesign,
    ScalarPort,
    StreamInterface,
)
from allo.dialects.diagnostics import BuildError

from .protocol import CYCLE_BITS, DIGEST_BYTES, POSITION_BITS, QUIET_BITS, RING

CYCLES, IDENTITY, PROGRESS = "own_cycles", "own_identity", "own_progress"
REGISTERS, MEMORY = "own_registers", "own_memory"
MEMORY_WORDS = 1 << 23
"""Words of 32 bits of a board's memory that have an address."""


@dataclass(frozen=True, slots=True)
class Bank:
    """A row of words that the host reaches.

    Attributes:
        name: of the signal with its word, and of those about it.
        source: the argument or result it belongs to; "" for what is the shell's own.
        number: which bank of the array it is.
        width: bits of a word.
        depth: words.
        written: whether the host writes it.
        read: whether the host reads it.
        array: its array, None of a scalar.
        ports: of the core.
        stream: its stream, None of others.
        live: whether the host reaches it while the core runs.
        slow: whether its words are asked for and waited for.
    """

    name: str
    source: str
    number: int
    width: int
    depth: int
    written: bool
    read: bool
    array: ArrayInterface | None = None
    ports: tuple[BankPort, ...] = ()
    stream: StreamInterface | None = None
    live: bool = False
    slow: bool = False

    @property
    def lanes(self) -> int:
        """Bytes of a word on the line."""
        return -(-self.width // 8)


def banks_of(design: HardwareDesign) -> tuple[Bank, ...]:
    """Every bank of a design, in the order of their numbers.

    Raises:
        BuildError: the design has what the shell does not serve yet.
    """
    _refuse(design)
    found = [
        Bank(f"bank_{array.name}_{number}", array.name, number, array.width, array.layout.bank_depth,
             array.name in design.arguments, array.direction != "in", array,
             tuple(port for port in array.ports if port.bank == number))
        for array in design.arrays
        if design.board is None or array.name in design.board.memories
        for number in range(array.layout.bank_count)
    ]  # fmt: skip
    if design.board is None:
        found += [_scalar(s, given=True) for s in design.scalars_in]
        found += [_scalar(s, given=False) for s in design.scalars_out]
    found.append(Bank(CYCLES, "", 0, CYCLE_BITS, 1, False, True))
    found.sort(key=lambda bank: (not bank.written, bank.read))
    return (
        *found,
        *_live(design),
        *_slow(design),
        Bank(IDENTITY, "", 0, 8, DIGEST_BYTES, False, True),
    )


def _scalar(scalar: ScalarPort, *, given: bool) -> Bank:
    return Bank(f"value_{scalar.name}", scalar.name, 0, scalar.width, 1, given, not given)


def _slow(design: HardwareDesign) -> list[Bank]:
    """The registers of a core with AXI4 masters, and the board's memory, which these reach."""
    if design.board is None:
        return []
    return [
        Bank(REGISTERS, "", 0, 32, 1 << (design.board.address_bits - 2), True, True, slow=True),
        Bank(MEMORY, "", 0, 32, MEMORY_WORDS, True, True, slow=True),
    ]


def _live(design: HardwareDesign) -> list[Bank]:
    """How far the run is, the core's position in each stream, and the rings."""
    if not design.streams:
        return []
    found = [Bank(PROGRESS, "", 0, QUIET_BITS + 1, 1, False, True, live=True)]
    found += [
        Bank(f"stream_{s.name}_at", "", 0, POSITION_BITS, 1, False, True, live=True)
        for s in design.streams
    ]
    return found + [
        Bank(f"stream_{s.name}", s.name, 0, s.width, RING, s.direction == "in", s.direction == "out",
             stream=s, live=True)
        for s in design.streams
    ]  # fmt: skip


def _refuse(design: HardwareDesign) -> None:
    outside = design.board
    met = [
        (
            outside is not None and (outside.streams or not outside.masters),
            "the interfaces 'axis' and 's_axilite' alone",
            "leave them out of configs={'interface': …}: arrays of 'm_axi' lie in the board's memory, and "
            "the shell itself passes streams and scalars",
        ),
        (design.bounds is not None, "checks of subscripts", "build without check_bounds=True"),
    ]
    for there, what, instead in met:
        if there:
            raise BuildError(
                f"The shell of a board does not serve {what}, which {design.top} has.",
                help=f"{instead}.",
            )
