"""More than a design can take, counted in one look at each of its operations.

The estimate packs logic into lookup tables, which takes longer than all the rest of a build of a large
design. A build that only asks whether the design fits does without it where this count fits: it takes a
table for every bit of every operation, and every memory both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil

from allo.backend.devices import Cells, Part

from ..netlist.memories import ULTRA, Element, Memory, Read, Table, TableRead, Write
from ..netlist.modules import Module, Netlist
from ..netlist.operations import (
    BlockSum,
    Compare,
    Concat,
    Constant,
    Gate,
    Instance,
    Mux,
    Operation,
    Register,
)

BLOCK_WORDS, BLOCK_BITS = 512, 8
"""What a block of RAM holds at least: words, and bits of each."""
ULTRA_BITS, ULTRA_WORDS, ULTRA_WIDTH = 1 << 15, 4096, 72
"""Bits of a memory below which it is in no block of 288 kbit, and what such a block holds."""
FACTOR_BITS = 16
"""Bits of each operand that a multiplier block takes at least."""
TABLE_BITS = 16
"""Bits that a lookup table holds at least."""


def ceiling(netlist: Netlist, top: str, cells: Cells) -> dict[str, int]:
    """What no estimate of a design exceeds, by resource.

    Args:
        netlist: the design; its modules stand behind those inside them.
        top: its top module.
        cells: those of the device.
    """
    own: dict[str, Counter[str]] = {}
    for module in netlist.modules:
        total: Counter[str] = Counter()
        if module.body is None:
            total["dsp"] += 1
        significant = _significant(module)
        for op in module.operations:
            if isinstance(op, Instance):
                total.update(own.get(op.module, {}))
            elif isinstance(op, Gate) and op.name == "comb.mul":
                _product(op, [significant.get(v, op.width) for v in op.operands], cells, total)
            else:
                _KINDS.get(type(op), _nothing)(op, total)
        own[module.name] = total
    return dict(own.get(top, {}))


def surely_fits(part: Part | None, netlist: Netlist, top: str, cells: Cells) -> bool:
    """Whether a design fits in a part, whatever the estimate finds."""
    if part is None:
        return True
    most = ceiling(netlist, top, cells)
    return all(count <= part.resources.get(kind, 0) for kind, count in most.items())


def _significant(module: Module) -> dict[str, int]:
    """The bits of values that zeros extend, without these."""
    zeros = {op.result for op in module.operations if isinstance(op, Constant) and op.value == 0}
    return {
        op.result: op.width - op.widths[0]
        for op in module.operations
        if isinstance(op, Concat) and op.operands[0] in zeros
    }


def _product(op: Gate, sizes: list[int], cells: Cells, total: Counter[str]) -> None:
    """A product: in one block where both operands fit, and else in as many as pieces of 16 bits would take.

    An operand may turn out narrower, and products of few bits are in tables, whatever there is of blocks:
    the narrow operand has no more bits than the result then, and one as wide as the text may be extended.
    """
    width = op.width
    if len(sizes) != 2:
        sizes = [width] * 2
    wide, narrow = max(sizes), min(sizes)
    least = min(cells.dsp_least, width)
    signed = int(cells.dsp_signed)
    if min(width, wide + narrow) < cells.dsp_least:
        total["lut"] += max(width, ceil(cells.product_table * wide * narrow))
    elif wide + signed <= cells.dsp[0] and narrow + signed <= cells.dsp[1]:
        total["dsp"] += 1
        other = width if wide == width else least
        total["lut"] += max(width, ceil(cells.product_table * least * other))
    else:
        total["dsp"] += ceil(width / FACTOR_BITS) ** 2
        total["lut"] += ceil(max(2, cells.product_table) * width * width)


def _nothing(op: Operation, total: Counter[str]) -> None:
    """Wires."""


def _gate(op: Operation, total: Counter[str]) -> None:
    assert isinstance(op, Gate)
    width = op.width
    kind = op.name.rpartition(".")[2]
    if kind in ("and", "or", "xor", "add", "sub"):
        total["lut"] += width * max(1, len(op.operands) - 1)
        return
    if kind.startswith("sh"):
        total["lut"] += width * (width.bit_length() + 1)
        return
    total["lut"] += 2 * width * width


def _mux(op: Operation, total: Counter[str]) -> None:
    total["lut"] += op.width


def _compare(op: Operation, total: Counter[str]) -> None:
    assert isinstance(op, Compare)
    total["lut"] += op.of


def _register(op: Operation, total: Counter[str]) -> None:
    """Its bits, and a choice in front of each for an enable or a reset."""
    total["ff"] += op.width
    total["lut"] += op.width


def _memory(op: Operation, total: Counter[str]) -> None:
    """Registers, where it has more ports than any block and than tables."""
    assert isinstance(op, Memory)
    total["ff"] += op.depth * op.width
    if op.style == ULTRA or op.depth * op.width >= ULTRA_BITS:
        total["uram"] += ceil(op.depth / ULTRA_WORDS) * ceil(op.width / ULTRA_WIDTH)


def _port(op: Operation, total: Counter[str]) -> None:
    """A port of a memory: a copy of it in blocks, and one in tables with the choice among their words."""
    assert isinstance(op, Read | Write)
    total["bram"] += ceil(op.depth / BLOCK_WORDS) * ceil(op.width / BLOCK_BITS)
    total["lut"] += (op.width + 1) * (op.depth + 2) + op.address_bits
    total["ff"] += op.width + op.address_bits + 1


def _element(op: Operation, total: Counter[str]) -> None:
    assert isinstance(op, Element)
    total["lut"] += op.width * op.count


def _table(op: Operation, total: Counter[str]) -> None:
    assert isinstance(op, Table)
    total["bram"] += ceil(len(op.words) / BLOCK_WORDS) * ceil(op.width / BLOCK_BITS)


def _table_read(op: Operation, total: Counter[str]) -> None:
    assert isinstance(op, TableRead)
    total["lut"] += op.width * 3 * ceil(op.count / TABLE_BITS)


_KINDS: dict[type[Operation], Callable[[Operation, Counter[str]], None]] = {
    Gate: _gate,
    BlockSum: _gate,
    Mux: _mux,
    Compare: _compare,
    Register: _register,
    Memory: _memory,
    Read: _port,
    Write: _port,
    Element: _element,
    Table: _table,
    TableRead: _table_read,
}
