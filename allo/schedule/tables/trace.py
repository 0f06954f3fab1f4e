"""A nest run on symbols, of which each stored element is a function of few bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.core.effects import array_name
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.constants.arithmetic import NotExactError
from allo.schedule.constants.linear import Step, Value, Word, number, width_of
from allo.schedule.constants.trace import Store, Trace
from allo.schedule.resolve import FoundLoop

MOST_BITS = 16
"""Bits that a stored element may depend on."""
MOST_VALUES = 1 << 25
"""Values of all elements of a nest together."""
_MOST_NAMED = 8


class TableTrace(Trace):
    """What a loop computes, with constant arrays at places that data say."""

    becomes = "tables"

    def from_outside(self, value: ir.Value) -> Value:
        """As for sums; a constant float is known, too."""
        owner = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        if owner is None or owner.name != "arith.constant" or width_of(value.type):
            return super().from_outside(value)
        return self.new_word(value.type, 0, op=owner)

    def _load(self, step: Step) -> None:
        array, kind, result = step.operands[0], step.kind, step.result
        if kind is None or result is None or not self._is_constant_array(array):
            super()._load(step)
            return
        if step.name == "memref.load":
            places = [self.value_of(place) for place in step.operands[1:]]
        else:
            element = self._element(step)
            if any(terms for terms, _ in element):
                super()._load(step)
                return
            places = [number(place, 64) for _, place in element]
        known = all(place.is_constant for place in places)
        if known and self._memory(array).words is not None:
            super()._load(step)
            return
        self._env[result] = self._looked_up(step.op, array, places, kind)

    def _is_constant_array(self, array: ir.Value) -> bool:
        """Whether an array holds constants, integers or floats."""
        if self._memory(array).words is not None:
            return True
        owner = None if isinstance(array, ir.BlockArgument) else array.owner.operation
        if owner is None or owner.name != "memref.get_global":
            return False
        name = ir.FlatSymbolRefAttr(owner.attributes["name"]).value
        return any(
            op.operation.name == "memref.global"
            and symbol(op.operation) == name
            and "constant" in op.operation.attributes
            for op in self._module.body.operations
        )

    def _looked_up(
        self, op: ir.Operation, array: ir.Value, places: Sequence[Value], kind: ir.Type
    ) -> Value:
        for place in places:
            if place.valid < place.width:
                raise NotExactError
        key = "load", array, tuple(place.key for place in places)
        found = self._made.get(key)
        if found is None:
            level = 1 + max(map(self.level_of, places), default=0)
            made = self.new_word(kind, level, op=op, operands=tuple(places))
            found = self._made[key] = made
        return found


@dataclass(frozen=True, slots=True)
class Field:
    """A word that a stored element depends on, and its bits among all of them."""

    word: int
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored element.

    Attributes:
        fields: what it depends on.
        bits: of all fields.
        words: all words that are computed for it, operands first.
    """

    store: Store
    fields: tuple[Field, ...]
    bits: int
    words: tuple[int, ...]


def traced(module: ir.Module, loop: FoundLoop, what: str) -> tuple[TableTrace, list[Entry]]:
    """The nest run on symbols, and what each element that it stores depends on.

    Raises:
        ScheduleError: the nest holds what no table is made of, or an element depends on too many bits.
    """
    trace, stores = TableTrace.of(module, loop.op, what)
    entries = [_entry(trace, store, what) for store in stores]
    total = sum(1 << entry.bits for entry in entries)
    if total > MOST_VALUES:
        raise ScheduleError(
            f"{what}: the {len(entries):,} elements that this nest stores have {total:,} values in all; "
            f"up to {MOST_VALUES:,} are computed.",
            place_of(loop.op),
            help="split the loop, and name the inner part.",
        )
    return trace, entries


def _entry(trace: TableTrace, store: Store, what: str) -> Entry:
    found: set[int] = set()
    left = list(store.value.terms)
    while left:
        word = left.pop()
        if word not in found:
            found.add(word)
            left += [w for value in trace.words[word].operands for w in value.terms]
    leaves = [word for word in sorted(found) if _is_leaf(trace.words[word])]
    fields, low = [], 0
    for word in leaves:
        width = bits_of_type(_kind(trace.words[word]))
        fields.append(Field(word, low, width))
        low += width
    if low > MOST_BITS:
        raise _too_many(trace, store, fields, low, what)
    kind = ir.MemRefType(store.op.operands[1].type).element_type
    if bits_of_type(kind) > 64:
        raise trace.refusal(
            store.op,
            f"an element of {array_name(store.op.operands[1])} has {bits_of_type(kind)} bits, and a table "
            "up to 64",
            "store it in parts",
        )
    return Entry(store, tuple(fields), low, tuple(sorted(found)))


def _is_leaf(word: Word) -> bool:
    """Whether a word comes from outside of the nest."""
    return not word.operands and (word.op is None or word.op.name != "arith.constant")


def _kind(word: Word) -> ir.Type:
    """The type of a word from outside of the nest."""
    if word.value is not None:
        return word.value.type
    return ir.IndexType.get() if word.op is None else word.op.results[0].type


def bits_of_type(kind: ir.Type) -> int:
    """The bits of a scalar."""
    return 64 if isinstance(kind, ir.IndexType) else int(kind.width)


def _too_many(
    trace: TableTrace, store: Store, fields: Sequence[Field], bits: int, what: str
) -> ScheduleError:
    names = [f"{_name(trace.words[f.word])} ({f.width})" for f in fields]
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown += f" and {len(names) - _MOST_NAMED} more"
    return ScheduleError(
        f"{what}: an element of {array_name(store.op.operands[1])} depends on {bits} bits, and a table "
        f"takes up to {MOST_BITS}: {shown}.",
        place_of(store.op),
        help="give its inputs types of fewer bits, such as UInt(2), let it read fewer of them, or keep it as "
        "arithmetic: constant_multiply takes sums of any length.",
    )


def _name(word: Word) -> str:
    if word.op is None:
        return (
            "an iterator from outside of the nest" if word.value is None else array_name(word.value)
        )
    places = [str(c) if not terms else "…" for terms, c in word.subscripts]
    return f"{array_name(word.op.operands[0])}[{', '.join(places)}]"
