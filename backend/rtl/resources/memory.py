"""Which cells a memory becomes, by the costs that Yosys gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, log2

from allo.backend.devices import Cells

from ..netlist.memories import BLOCK, DISTRIBUTED, ULTRA
from .nodes import Value, significant

_TABLES = 16
"""Cost of a group of eight lookup tables of a Xilinx device as memory."""

_EARLY, _LATE = (0.8, 10.0), (0.9, 30.0)
"""Tables of four inputs for each word but one that a bit is chosen from: so many, and so many over the words.

An address that comes late makes the choice the longest path, and Yosys makes flat functions of more inputs
of it, above all of few words, though not more than a function of all its inputs takes. Measured of memories
of 18 to 80 words with one and four reads.
"""


@dataclass(slots=True)
class Memory:
    """A memory of a module: its size, and addresses of reads and (address, data, enable) of writes.

    Of one that is ``separate``, no word is read, for use, in the cycle in which it is written. ``style`` is
    what it is to be made of, "" where the synthesiser chooses.
    """

    words: int
    width: int
    table: bool
    section: str
    place: str = ""
    separate: bool = False
    style: str = ""
    reads: list[tuple[Value, int]] = field(default_factory=list)
    writes: list[tuple[Value, Value, Value]] = field(default_factory=list)


def memory_cost(
    family: Cells, memory: Memory, held: Callable[[int], bool], late: bool = False
) -> dict[str, int]:
    """What one memory takes.

    Args:
        held: whether a read's word goes to a register alone.
        late: whether addresses of reads come through logic.
    """
    if not memory.reads:
        return {}
    inside = all(held(number) for _, number in memory.reads)
    words, width = memory.words, memory.width
    if memory.table:
        return _table(family, memory, inside)
    if memory.style == ULTRA:
        return {"uram": family.ultra_blocks(words, width), "ff": -width}
    ports = _ports(memory)
    tables, cost = _distributed(family, memory)
    both = _both_write(memory)
    few = len({w[0] for w in memory.writes}) <= family.write_ports and (ports <= 2 or family.copies)
    few = few and not _meets_two_writes(family, memory)
    blocks, rows = 0, 1
    if few and inside:
        blocks, rows = _blocks(family, memory)
    # Where lookup tables cannot be the memory, a block stands against registers.
    worth = bool(tables) or words * width > family.block_cost * blocks
    worth = worth or memory.style == BLOCK
    if (
        blocks
        and worth
        and memory.style != DISTRIBUTED
        and (
            not tables
            or memory.style == BLOCK
            or cost > family.block_cost * blocks
            or both
            and len(memory.writes) > 1
        )
    ):
        found = {"bram": blocks, "ff": -width * len(memory.reads)}
        by_size = is_simple(memory) and memory.style != BLOCK
        ultra = family.ultra_count(words, width, blocks) if by_size else 0
        if ultra:
            return {"uram": ultra, "ff": -width}
        if family.copies:
            found["bram"] = blocks * max(1, len({address for address, _ in memory.reads}))
        return _old_words(family, memory, found, rows)
    if not tables:
        width = _stored(memory)
        least, over = _LATE if late else _EARLY
        each = 0.4 if family.inputs == 6 else least + over / words
        inputs = words + max(1, (words - 1).bit_length())
        most = family.function(inputs) if inputs > family.inputs else 1
        choice = ceil(width * min(most, (words - 1) * each))
        chosen = (len(memory.writes) - 1) * words * (width + 1)  # which port a word is from
        return {"ff": words * width, "lut": len(memory.reads) * choice + words + chosen}
    return {"lut": tables[0] + tables[1], "lutram": tables[0]}


def _both_write(memory: Memory) -> bool:
    """Whether two ports write, or one reads where the other one reads and writes."""
    return len({w[0] for w in memory.writes}) > 1 or _read_at_writes(memory)


def _blocks(family: Cells, memory: Memory) -> tuple[int, int]:
    """The blocks of a memory in block RAM, and in how many rows they are."""
    ports = {"reads": len(memory.reads), "writes": len(memory.writes)}
    both = _both_write(memory)
    return family.block_rows(memory.words, memory.width, both_write=both, **ports)


def levels_of_rows(family: Cells, memory: Memory) -> int:
    """Choices among four words, one behind the other, behind the blocks of a memory."""
    _, rows = _blocks(family, memory)
    return ceil(log2(rows) / 2)


def is_simple(memory: Memory) -> bool:
    """Whether one port reads a memory and another one writes it."""
    return len(memory.reads) == 1 and len(memory.writes) == 1 and not _both_write(memory)


def _old_words(family: Cells, memory: Memory, cost: dict[str, int], rows: int) -> dict[str, int]:
    """The cost of a block with what lets a read see the word before a write of the same cycle.

    Where the block does not do this between its ports, Yosys delays the writes and forwards their words.
    With one address of writes it then gives each read a copy of the memory. A read of blocks in several rows
    keeps which one it is of, and chooses.
    """
    reads, kept = len(memory.reads), (rows - 1).bit_length()
    written = {w[0] for w in memory.writes}
    same = {address for address, _ in memory.reads} <= written
    old = family.inputs != 6 and not memory.separate and not same
    choice = ceil(memory.width * family.chosen_row(rows)) + rows * (rows > 1)
    cost["ff"] += kept * reads
    cost["lut"] = choice * reads
    if not old:
        return {kind: count for kind, count in cost.items() if count}
    bits = max(1, ceil(log2(memory.words)))
    ports = len(memory.writes)
    copies = len({address for address, _ in memory.reads}) if len(written) == 1 else 1
    cost["bram"] *= copies
    cost["ff"] += ports * (memory.width + bits + 1) + (copies - 1) * (memory.width + 1)
    cost["lut"] += copies * ports * (memory.width + ceil((2 * bits - 1) / 3) + 1)
    return cost


def _meets_two_writes(family: Cells, memory: Memory) -> bool:
    """Whether a read may meet the write of another port of two.

    Yosys delays both writes then, and has no port for them and the read where the block does not do it.
    """
    written = {w[0] for w in memory.writes}
    promised = family.inputs == 6 or memory.separate
    return not promised and len(written) > 1 and bool(memory.reads)


def _stored(memory: Memory) -> int:
    """Bits of a word without those that extend what is written: flip-flops of equal bits are one."""
    sizes = [significant(word) for _, word, _ in memory.writes]
    if len({signed for _, signed in sizes}) != 1:
        return memory.width
    return min(memory.width, max(size for size, _ in sizes))


def _ports(memory: Memory) -> int:
    return len({address for address, _ in memory.reads} | {w[0] for w in memory.writes})


def _read_at_writes(memory: Memory) -> bool:
    """Whether a word is read at the address of a write, and another one elsewhere."""
    written = {w[0] for w in memory.writes}
    return len(memory.reads) > 1 and any(address in written for address, _ in memory.reads)


def _table(family: Cells, memory: Memory, inside: bool) -> dict[str, int]:
    """A constant table."""
    words, width, reads = memory.words, memory.width, len(memory.reads)
    if words * width > 16 * 128 and inside:
        pairs = ceil(reads / 2)
        blocks = family.block_count(words, width, both_write=reads > 1)
        return {"bram": pairs * blocks, "ff": -width * reads}
    bits = max(1, ceil(log2(words)))
    each = max(1.0, 2.0 ** (bits - family.inputs)) * 1.2
    return {"lut": reads * ceil(width * each)}


def _distributed(family: Cells, memory: Memory) -> tuple[tuple[int, int] | None, int]:
    """(LUTs as memory, LUTs beside them), and their cost to Yosys; None where flip-flops are better."""
    words, width = memory.words, memory.width
    asked = memory.style == DISTRIBUTED
    if not family.table_memory:
        return None, 0
    addresses = {w[0] for w in memory.writes}
    if len(memory.writes) > 1 and len(addresses) > 1:
        return None, 0
    reads = {address for address, _ in memory.reads}
    if family.inputs == 4:
        rows = ceil(words / 16)
        units = rows * ceil(width / 4) * max(1, len(reads))
        choice = ceil(width * (rows - 1)) * len(reads)
        return (
            ((4 * units, choice + rows * (rows > 1)), 4 * units)
            if asked or words * width > 4 * units
            else (None, 0)
        )
    single = reads <= addresses and len(reads) == 1
    most = _TABLES * words * width if asked else words * width
    best: tuple[tuple[int, int] | None, int] = (None, most)
    for bits, simple, dual, one in ((5, 14, 8, 16), (6, 7, 4, 8), (7, 0, 2, 4), (8, 0, 1, 2)):
        shared = reads & addresses
        per = one if single else dual if len(reads) == 2 and shared else simple
        if not per:
            continue
        rows = ceil(words / (1 << bits))
        copies = 1 if single or (len(reads) == 2 and shared) else max(1, len(reads))
        units = rows * ceil(width / per) * copies
        choice = (ceil(width * (rows - 1) / 2) + rows) * len(reads) if rows > 1 else 0
        used = rows * copies * _tables_of(bits, width, single, bool(len(reads) == 2 and shared))
        if _TABLES * units <= best[1]:
            best = ((used, choice), _TABLES * units)
    return best if best[0] else (None, 0)


def _tables_of(bits: int, width: int, single: bool, dual: bool) -> int:
    if single:
        return width * (1 << bits) // 64 if bits >= 6 else 8 * ceil(width / 16)
    if dual:
        return 2 * width * max(1, (1 << bits) // 64)
    return 8 * ceil(width / (14 if bits == 5 else 7))
