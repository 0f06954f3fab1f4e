"""Stored elements as loads, lookup tables and stores, in place of the nest that computed them.

A table of ``k`` bits is ``(words >> address) & 1`` with a constant of ``2**k`` bits: every target knows it,
and synthesis makes one lookup table of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allo.dialects._mlir import ir
from allo.dialects.tables.network import ONE, ZERO, Network
from allo.schedule.constants.emit import Emitter

from .trace import Entry, TableTrace, bits_of_type


class TableEmitter(Emitter):
    """Puts elements before an operation.

    Args:
        places: the word and the bit of it that each input of the network is.
    """

    def __init__(
        self,
        trace: TableTrace,
        before: ir.Operation,
        network: Network,
        places: Sequence[tuple[int, int]],
    ) -> None:
        super().__init__(trace, before, None)
        self._network, self._places = network, places
        self._bits: dict[int, ir.Value] = {}
        self._addresses: dict[tuple[int, ...], ir.Value] = {}
        self._fields: dict[tuple[int, int, int], ir.Value] = {}

    def emit_tables(self, entries: Sequence[Entry], outputs: Sequence[Sequence[int]]) -> None:
        """Make loads, tables and stores; ``outputs`` are the bits of each element, the lowest first."""
        every = [bit for bits in outputs for bit in bits]
        kept = self._network.kept(every)
        read = {bit for bit in every if 0 <= bit < self._network.count}
        for bit in kept:
            read |= {
                i
                for i in self._network.tables[bit - self._network.count].inputs
                if i < self._network.count
            }
        for word in sorted({self._places[bit][0] for bit in read}):
            self._of_word[word] = self._made(self._words[word])
        for bit in kept:
            self._bits[bit] = self._table(bit)
        for entry, bits in zip(entries, outputs, strict=True):
            array = entry.store.op.operands[1]
            value = self._element(bits, ir.MemRefType(array.type).element_type)
            self._access("affine.store", entry.store.op, [value, array], entry.store.subscripts)

    def _table(self, bit: int) -> ir.Value:
        table = self._network.tables[bit - self._network.count]
        size = max(2, 1 << len(table.inputs))
        kind = ir.IntegerType.get_signless(size)
        address = self._addresses.get(table.inputs)
        if address is None:
            address = self._addresses[table.inputs] = self._joined(table.inputs, kind)
        words = self._constant(table.words, kind)
        moved = self._op("arith.shrui", kind, [words, address])
        return self._op("arith.trunci", ir.IntegerType.get_signless(1), [moved])

    def _element(self, bits: Sequence[int], kind: ir.Type) -> ir.Value:
        """An element from its bits: a field that its sign or zeros extend."""
        width = bits_of_type(kind)
        integer = ir.IntegerType.get_signless(width)
        size = width
        while size > 1 and bits[size - 2] == bits[width - 1]:
            size -= 1
        top = bits[width - 1]
        if top == ZERO and size > 1 and size < width:
            size -= 1
        own = ir.IntegerType.get_signless(size)
        value = self._joined(bits[:size], own)
        if size < width:
            name = "arith.extui" if top == ZERO else "arith.extsi"
            value = self._op(name, integer, [value])
        return value if kind == integer else self._op("arith.bitcast", kind, [value])

    def _joined(self, bits: Sequence[int], kind: ir.IntegerType) -> ir.Value:
        """Bits side by side, the first the lowest, and zeros above them."""
        known = sum(1 << place for place, bit in enumerate(bits) if bit == ONE)
        total: ir.Value | None = None
        for place, field, width in self._runs(bits):
            part = field
            if width < kind.width:
                part = self._op("arith.extui", kind, [part])
            if place:
                part = self._op("arith.shli", kind, [part, self._constant(place, kind)])
            total = part if total is None else self._op("arith.ori", kind, [total, part])
        if total is None:
            return self._constant(known, kind)
        if known:
            total = self._op("arith.ori", kind, [total, self._constant(known, kind)])
        return total

    def _runs(self, bits: Sequence[int]) -> Iterator[tuple[int, ir.Value, int]]:
        """The place, the value and the bits of each field; bits of a word in a row are one."""
        place = 0
        while place < len(bits):
            bit = bits[place]
            if bit in (ZERO, ONE):
                place += 1
                continue
            if bit >= self._network.count:
                yield place, self._bits[bit], 1
                place += 1
                continue
            word, low = self._places[bit]
            count = 1
            while place + count < len(bits) and self._follows(
                bits[place + count], word, low + count
            ):
                count += 1
            yield place, self._field(word, low, count), count
            place += count

    def _follows(self, bit: int, word: int, place: int) -> bool:
        inside = 0 <= bit < self._network.count
        return inside and self._places[bit] == (word, place)

    def _field(self, word: int, low: int, count: int) -> ir.Value:
        found = self._fields.get((word, low, count))
        if found is None:
            value = self._of_word[word]
            if not isinstance(value.type, ir.IntegerType):
                kind = ir.IntegerType.get_signless(bits_of_type(value.type))
                value = self._op("arith.bitcast", kind, [value])
            width = ir.IntegerType(value.type).width
            if low:
                value = self._op(
                    "arith.shrui", value.type, [value, self._constant(low, value.type)]
                )
            found = self._fitted(value, width, count)
            self._fields[word, low, count] = found
        return found
