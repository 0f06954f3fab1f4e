"""Loads and stores of a body: bank and word of an access, forwarding of stored values.

Values known to lie in an array are reused inside a body, so that a word read by many unrolled
copies is read once. Scalars and arrays of registers are written once, at the end of the body, and
so is an element of a RAM that nothing could read in between: each write takes a port.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import reduce
from math import gcd

from allo.dialects.core.partition import DimPartition, Partition
from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import (
    add,
    bits_unsigned,
    common_factor,
    divide_exactly,
    floor_divide,
    remainder,
    scale,
)
from ..graph.nodes import Access, Array, Body, Lin, Node
from .storage import constant_word
from .values import glue
from .values.assume import chosen_under, implies
from .values.builder import Builder

Signature = tuple[tuple[tuple[Node, int], ...], ...]
"""The subscripts of an access without their constants."""


@dataclass(slots=True)
class _Entry:
    node: Node
    dirty: bool
    index: tuple[Lin, ...]
    place: SourcePlace | None = None
    asserted: frozenset[int] = frozenset()
    under: tuple[tuple[Node, Node], ...] = ()
    """Predicates of stores, with the value that the element has where they hold."""
    when: tuple[Node, ...] = ()
    """Predicates of the stores that are not written yet; () where one of them has none."""


@dataclass(slots=True)
class _Known:
    """What is known of one array: values by subscript, grouped by the non-constant part.

    Attributes:
        stores: the last store of a RAM's element, by subscript.
        accessed: whether the body holds a load or a store of it.
    """

    array: Array
    groups: dict[Signature, dict[tuple[int, ...], _Entry]] = field(default_factory=dict)
    stores: dict[tuple[Signature, tuple[int, ...]], Node] = field(default_factory=dict)
    accessed: bool = False


def _split(index: tuple[Lin, ...]) -> tuple[Signature, tuple[int, ...]]:
    return tuple([lin.terms for lin in index]), tuple([lin.const for lin in index])


def _when(entry: _Entry | None, predicate: Node | None) -> tuple[Node, ...]:
    """The predicates of an element's stores that are not written yet, after one more."""
    if predicate is None or (entry is not None and entry.dirty and not entry.when):
        return ()
    before = entry.when if entry is not None and entry.dirty else ()
    return before if predicate in before else (*before, predicate)


def _is_inside(array: Array, index: tuple[Lin, ...]) -> bool:
    """Whether subscripts are in range whatever their symbols are."""
    spans = (lin.bounds() for lin in index)
    return all(
        low >= 0 and high < extent for (low, high), extent in zip(spans, array.shape, strict=True)
    )


class Memory:
    """Memory accesses of the body a builder fills."""

    def __init__(self, builder: Builder) -> None:
        self._b = builder
        self.forwards = False
        """Whether a register that was written under a condition is read there without a choice."""
        self._places: dict[tuple[Hashable, ...], tuple[range, Lin, Lin]] = {}

    def load(self, array: Array, index: tuple[Lin, ...]) -> Node:
        """The value of an element."""
        word = constant_word(array, index)
        if word is not None:
            return self._b.const(word, array.width)
        known = self._known(array)
        signature, consts = _split(index)
        entry = known.groups.get(signature, {}).get(consts)
        if entry is not None:
            loaded = entry.node.access
            if loaded is not None and loaded.array is array and loaded.index == index:
                loaded.asserted &= self._b.asserted
            for predicate, value in reversed(entry.under):
                if implies(self._b.predicate, predicate):
                    return value
            return chosen_under(self._b.predicate, entry.node)
        if self._never_written(known):
            return self._b.const(0, array.width)
        self._flush(known, keep=signature)
        node = self._load_beside(known, index) or self._load_node(array, index)
        known.groups.setdefault(signature, {})[consts] = _Entry(node, False, index)
        return node

    def store(self, array: Array, index: tuple[Lin, ...], value: Node) -> None:
        """Write an element under the builder's predicate."""
        known = self._known(array)
        signature, consts = _split(index)
        predicate = self._b.predicate
        if predicate is not None and predicate.kind == "const" and not predicate.data:
            return
        entry = known.groups.get(signature, {}).get(consts)
        if array.storage == "reg":
            under = self._under(entry, predicate, value)
            when = _when(entry, predicate)
            if predicate is not None:
                old = entry.node if entry else self._old_value(known, index, value)
                value = self._b.select(predicate, value, old)
            self._forget_others(known, signature)
            asserted = self._b.asserted
            if entry is not None and entry.dirty:
                asserted &= entry.asserted
            known.groups.setdefault(signature, {})[consts] = _Entry(
                value, True, index, self._b.place, asserted, under, when
            )
            return
        earlier = known.stores.get((signature, consts))
        certain = self._b.both(predicate, self._b.body.alive)
        position = self._unobserved(earlier, array, index) if earlier is not None else None
        if position is not None:
            stored = self._store_both(position, index, value, certain)
        else:
            stored = self._store_node(array, index, value, certain)
        known.stores[signature, consts] = stored
        self._forget_others(known, signature)
        group = known.groups.setdefault(signature, {})
        if predicate is None:
            group[consts] = _Entry(value, False, index)
        elif entry is not None:
            group[consts] = _Entry(self._b.select(predicate, value, entry.node), False, index)
        else:
            group.pop(consts, None)

    def _under(
        self, entry: _Entry | None, predicate: Node | None, value: Node
    ) -> tuple[tuple[Node, Node], ...]:
        """What is known of a register's value under the predicates of its stores, after one more."""
        if not self.forwards or predicate is None:
            return ()
        before = [] if entry is None else [(p, v) for p, v in entry.under if p is not predicate]
        known = [
            (p, value if implies(p, predicate) else self._b.select(predicate, value, old))
            for p, old in before
        ]
        return (*known, (predicate, value))

    def finish(self, body: Body) -> None:
        """Write what is still only known: call at the end of a body, without predicate."""
        for known in (body.known or {}).values():
            if known.array.private is not body or known.accessed:
                self._flush(known, keep=None)

    def store_all_banks(self, array: Array, word: Lin, values: list[Node]) -> None:
        """Write one word of every bank (whole-array fill and copy)."""
        self._known(array).stores.clear()
        for bank, value in enumerate(values):
            access = self._access_word(array, bank, word)
            access.data = value
            self._add_store(access, value)

    def load_bank(self, array: Array, bank: int, word: Lin) -> Node:
        """One word of one bank."""
        self._known(array).stores.clear()
        access = self._access_word(array, bank, word)
        return self._add_load(access)

    # --- internals -----------------------------------------------------------

    def _known(self, array: Array) -> _Known:
        body = self._b.body
        if body.known is None:
            body.known = {}
        found: _Known | None = body.known.get(array.number)
        if found is None:
            found = body.known[array.number] = _Known(array)
        return found

    def _never_written(self, known: _Known) -> bool:
        array = known.array
        return (
            array.private is self._b.body
            and array.storage == "reg"
            and not known.groups
            and not known.accessed
        )

    def _old_value(self, known: _Known, index: tuple[Lin, ...], value: Node) -> Node:
        if known.array.private is self._b.body and not known.groups:
            return value
        saved = self._b.predicate
        self._b.predicate = None
        node = self.load(known.array, index)
        self._b.predicate = saved
        return node

    def _flush(self, known: _Known, keep: Signature | None) -> None:
        place, asserted = self._b.place, self._b.asserted
        for signature, group in known.groups.items():
            if signature == keep:
                continue
            for entry in group.values():
                if entry.dirty:
                    self._b.place, self._b.asserted = entry.place, entry.asserted
                    predicate = self._needed(known.array, entry)
                    self._store_node(known.array, entry.index, entry.node, predicate)
                    entry.dirty = False
        self._b.place, self._b.asserted = place, asserted

    def _needed(self, array: Array, entry: _Entry) -> Node | None:
        """The condition of a register's write, None where writing the old value changes nothing.

        Where no predicate holds, a subscript may be out of range, and name the register of another element.
        """
        if not entry.when or _is_inside(array, entry.index):
            return None
        gate = glue.gate("or")
        return reduce(lambda a, b: self._b.op(gate, (a, b)), entry.when)

    def _forget_others(self, known: _Known, signature: Signature) -> None:
        if len(known.groups) > 1 or (known.groups and signature not in known.groups):
            self._flush(known, keep=signature)
            kept = known.groups.get(signature)
            known.groups = {signature: kept} if kept else {}

    def _unobserved(self, store: Node, array: Array, index: tuple[Lin, ...]) -> int | None:
        """Where in the body an element's store is if nothing since could tell whether it has happened.

        Another process can after a word through a stream, an access here if it may be of the element.
        """
        signature, consts = _split(index)
        nodes = self._b.body.nodes
        for position in reversed(range(len(nodes))):
            node = nodes[position]
            if node is store:
                return position
            if node.kind in ("get", "put"):
                return None
            if node.access is None or node.access.array is not array:
                continue
            other, others_consts = _split(node.access.index)
            if other != signature or others_consts == consts:
                return None
        return None

    def _store_both(
        self, position: int, index: tuple[Lin, ...], value: Node, predicate: Node | None
    ) -> Node:
        """One store in place of an earlier one, at a position in the body, and a new one of its element."""
        before = self._b.body.nodes.pop(position).access
        assert before is not None and before.data is not None
        self._b.asserted &= before.asserted
        if predicate is None or predicate is before.predicate:
            return self._store_node(before.array, index, value, predicate)
        value = self._b.select(predicate, value, before.data)
        if before.predicate is not None:
            predicate = self._b.op(glue.gate("or"), (before.predicate, predicate))
            return self._store_node(before.array, index, value, predicate)
        return self._store_node(before.array, index, value, None)

    def _load_beside(self, known: _Known, index: tuple[Lin, ...]) -> Node | None:
        """The value behind a store under a condition: what was stored, or the word from before the store.

        So the store is not observed, and a later one may take its place. None where there is no such
        store, or something may have changed the element since.
        """
        array = known.array
        store = None if array.storage == "reg" else known.stores.get(_split(index))
        position = self._unobserved(store, array, index) if store is not None else None
        if store is None or position is None:
            return None
        assert store.access is not None and store.access.data is not None
        if store.access.predicate is None:
            return None
        node = self._load_node(array, index)
        if not set(node.operands) <= set(store.operands):
            self._b.body.nodes.remove(node)
            return None
        # It stands where its conditions may not be known yet.
        assert node.access is not None
        node.access.gate = None
        self._b.body.nodes.insert(position, self._b.body.nodes.pop())
        return self._b.select(store.access.predicate, store.access.data, node)

    def _load_node(self, array: Array, index: tuple[Lin, ...]) -> Node:
        return self._add_load(self._access(array, index))

    def _add_load(self, access: Access) -> Node:
        array = access.array
        array.loaded = True
        self._known(array).accessed = True
        operands = [n for n in (access.word_node, access.bank_node) if n is not None]
        predicate = self._b.predicate
        if array.storage != "reg" and predicate is not None and predicate.kind != "const":
            access.gate = predicate
        return self._b.add_node("load", array.width, operands, access=access, label=array.name)

    def _store_node(
        self, array: Array, index: tuple[Lin, ...], value: Node, predicate: Node | None
    ) -> Node:
        access = self._access(array, index)
        access.predicate = predicate
        return self._add_store(access, value)

    def _add_store(self, access: Access, value: Node) -> Node:
        access.array.stored = True
        self._known(access.array).accessed = True
        access.data = value
        parts = (value, access.word_node, access.bank_node, access.predicate)
        return self._b.add_node(
            "store",
            0,
            [n for n in parts if n is not None],
            access=access,
            label=access.array.name,
        )

    def _access_word(self, array: Array, bank: int, word: Lin) -> Access:
        index = (Lin(bank), word)
        return Access(array, index, bank, None, self._word_node(array, word), by_bank=True)

    def _word_node(self, array: Array, word: Lin) -> Node | None:
        if array.depth <= 1:
            return None
        return self._b.lin_node(word, bits_unsigned(array.depth - 1))

    def _access(self, array: Array, index: tuple[Lin, ...]) -> Access:
        word, banks, parts = Lin(0), [0], []
        for number, (dim, position) in enumerate(zip(array.layout.dims, index, strict=True)):
            candidates, which, w = self._place(array.number, number, dim, position)
            word = add(scale(word, dim.depth), w)
            parts.append((candidates, which))
            banks = [bank * dim.banks + k for bank in banks for k in candidates]
        word_node = self._word_node(array, word)
        if len(banks) == 1:
            return Access(array, index, banks[0], None, word_node, asserted=self._b.asserted)
        chosen, places = Lin(0), []
        for candidates, which in parts:
            chosen = add(scale(chosen, len(candidates)), which)
            places.append(add(scale(which, candidates.step), Lin(candidates.start)))
        return Access(
            array,
            index,
            None,
            self._b.lin_node(chosen, bits_unsigned(len(banks) - 1)),
            word_node,
            asserted=self._b.asserted,
            candidates=tuple(banks),
            places=tuple(places),
        )

    def _place(
        self, array: int, number: int, dim: DimPartition, position: Lin
    ) -> tuple[range, Lin, Lin]:
        """:meth:`_located`, found once for equal subscripts where it takes no nodes."""
        key = self._b.body.number, array, number, position.terms, position.const
        found = self._places.get(key)
        if found is None:
            nodes = self._b.function.count
            found = self._located(dim, position)
            if self._b.function.count == nodes:
                self._places[key] = found
        return found

    def _located(self, dim: DimPartition, position: Lin) -> tuple[range, Lin, Lin]:
        """Banks of a dimension that a subscript may name, which of them it names, and the word."""
        if dim.kind is None:
            return range(1), Lin(0), position
        if dim.kind is Partition.Complete:
            return *_candidates(self._in_range(position, dim.extent), dim.banks), Lin(0)
        if dim.kind is Partition.Block:
            bank, word = self._divided(position, dim.depth, dim.extent)
            return *_candidates(bank, dim.banks), word
        # A stride that has a factor in common with the number of banks leaves some of them out.
        step = gcd(common_factor(position), dim.banks)
        if not 1 < step < dim.banks:
            word, bank = self._divided(position, dim.banks, dim.extent)
            return *_candidates(bank, dim.banks), word
        first = position.const % step
        turn = divide_exactly(add(position, Lin(-first)), step)
        word, which = self._divided(turn, dim.banks // step, -(-dim.extent // step))
        found, which = _candidates(which, dim.banks // step)
        return (
            range(first + found.start * step, dim.banks, step * found.step)[: len(found)],
            which,
            word,
        )

    def _divided(self, position: Lin, divisor: int, extent: int) -> tuple[Lin, Lin]:
        """Quotient and remainder of a subscript; linear where they are, whatever its range."""
        quotient, rest = floor_divide(position, divisor), remainder(position, divisor)
        if quotient is not None and rest is not None:
            return quotient, rest
        within = self._in_range(position, extent)
        return self._b.floor_divide(within, divisor), self._b.modulo(within, divisor)

    def _in_range(self, position: Lin, extent: int) -> Lin:
        """The subscript, seen as one of 0 … extent-1, as it is whenever the access counts."""
        low, high = position.bounds()
        if low >= 0 and high < extent or position.is_const:
            return position
        if low >= -extent and high < 2 * extent:
            return position
        node = self._b.lin_node(position, bits_unsigned(extent - 1))
        node = self._b.add_node("wire", node.width, (node,), data=("slice", 0))
        return self._b.as_symbol(node, 0, extent - 1)


def _candidates(bank: Lin, count: int) -> tuple[range, Lin]:
    """Banks that an expression may name, of so many, and which of them it names."""
    if bank.is_const:
        # Out of range only where the access never happens (a false predicate).
        only = bank.const % count
        return range(only, only + 1), Lin(0)
    low, high = bank.bounds()
    low, step = max(low, 0), common_factor(bank)
    first = low + (bank.const - low) % step
    found = range(first, min(high, count - 1) + 1, step)
    if len(found) < 2:
        only = found.start if found else 0
        return range(only, only + 1), Lin(0)
    return found, divide_exactly(add(bank, Lin(-first)), step)
