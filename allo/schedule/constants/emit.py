"""Sums of words as operations of exact widths, in place of the nest that computed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from allo.dialects._mlir import ir
from allo.dialects.core.integers import PREDICATES, as_signed
from allo.dialects.ranges.interval import linear
from allo.dialects.sums.adders import Node, Plan, bits_of, least_depth, plan_adders

from .bounds import Bounds
from .linear import Subscript, Value, Word
from .trace import Store, Trace

_NARROWED = frozenset(
    f"arith.{name}" for name in ("andi", "ori", "xori", "minsi", "maxsi", "select", "cmpi", "shrsi")
)
"""Operations whose low bits are the same in fewer bits, where operands and results fit."""
type Depth = int | Literal["least"] | None
"""The most additions that follow each other: a number, as few as each set of sums allows, or any."""
_BOUNDED = frozenset({"arith.cmpi", "arith.minsi", "arith.maxsi"})


class Emitter:
    """Puts what a trace has found before an operation.

    Attributes:
        plans: the graph of adders of each level.
    """

    def __init__(self, trace: Trace, before: ir.Operation, depth: Depth) -> None:
        self._trace = trace
        self._words = trace.words
        self._ip = ir.InsertionPoint(before)
        self._location = before.location
        self._depth = depth
        self._of_word: dict[int, ir.Value] = {}
        self._of_form: dict[tuple[object, ...], tuple[ir.Value, int]] = {}
        self._constants: dict[tuple[int, int], ir.Value] = {}
        self.plans: list[Plan] = []

    def emit(self, stores: Sequence[Store]) -> None:
        """Make loads, sums and operations level by level, and then the stores."""
        used = self._used([store.value for store in stores])
        wanted: dict[int, dict[tuple[object, ...], Value]] = {}
        for value in [
            *(s.value for s in stores),
            *(v for w in used for v in self._words[w].operands),
        ]:
            if _needs_sum(value):
                wanted.setdefault(self._trace.level_of(value), {}).setdefault(_form(value), value)
        levels = {self._words[w].level for w in used} | set(wanted)
        for level in sorted(levels):
            for number in used:
                if self._words[number].level == level:
                    self._of_word[number] = self._made(self._words[number])
            if level in wanted:
                self._add_up(list(wanted[level].values()))
        for store in stores:
            self._store(store)

    def _used(self, roots: Sequence[Value]) -> list[int]:
        found: set[int] = set()
        left = [w for value in roots for w in value.terms]
        while left:
            word = left.pop()
            if word not in found:
                found.add(word)
                left += [w for value in self._words[word].operands for w in value.terms]
        return sorted(found)

    # Words.

    def _made(self, word: Word) -> ir.Value:
        if word.value is not None:
            return word.value
        if word.op is None:
            return self._index(word.subscripts[0])
        op = word.op
        if word.subscripts or op.name in ("affine.load", "memref.load"):
            return self._access("affine.load", op, [op.operands[0]], word.subscripts)
        kinds = [old.type for old in op.operands]
        result = op.results[0].type
        if (width := self._narrow(word, op.name)) is not None:
            narrow = ir.IntegerType.get_signless(width)
            kinds = [
                narrow if v.width > 1 else k for v, k in zip(word.operands, kinds, strict=True)
            ]
            result = result if op.name == "arith.cmpi" else narrow
            word.width = 1 if op.name == "arith.cmpi" else width
        operands = [self.value(v, kind) for v, kind in zip(word.operands, kinds, strict=True)]
        bounded = self._bounded(word, op, operands)
        if bounded is not None:
            return bounded
        made = ir.Operation.create(
            op.name,
            results=[result],
            operands=operands,
            attributes={n: op.attributes[n] for n in op.attributes},
            loc=op.location,
            ip=self._ip,
        )
        return made.result

    def _bounded(
        self, word: Word, op: ir.Operation, operands: Sequence[ir.Value]
    ) -> ir.Value | None:
        """A comparison, a minimum or a maximum with a power of two by the upper bits; None for others."""
        known = [value.is_constant for value in word.operands]
        if op.name not in _BOUNDED or known.count(True) != 1:
            return None
        first = known[0]
        value, bound = operands[first], word.operands[not first]
        if not isinstance(value.type, ir.IntegerType):
            return None
        number = as_signed(bound.constant, bound.width)

        def make(name: str, kind: ir.Type, sides: Sequence[ir.Value], predicate: int) -> ir.Value:
            kept = {}
            if predicate >= 0:
                kept["predicate"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
            return self._op(name, kind, sides, kept, op.location)

        bounds = Bounds(make, self._constant)
        if op.name != "arith.cmpi":
            return bounds.limited(op.name == "arith.maxsi", value, number)
        predicate = PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value]
        return bounds.compared(predicate, value, number, first)

    def _narrow(self, word: Word, name: str) -> int | None:
        """The bits that an operation on long integers needs for what its operands can be; None for all."""
        spans = [value.span for value in word.operands if value.width > 1]
        if name not in _NARROWED or not spans or any(v.width == 0 for v in word.operands):
            return None
        width = max(2, *(bits_of(span) for span in [*spans, word.values]))
        if name == "arith.cmpi" and word.op is not None:
            signed = 2 <= ir.IntegerAttr(word.op.attributes["predicate"]).value < 6
            width = max(2, *(bits_of(span) for span in spans))
            if all(low >= 0 for low, _ in spans):
                width -= not signed  # no bit for a sign that is not looked at
            elif ir.IntegerAttr(word.op.attributes["predicate"]).value >= 6:
                return None
        longest = max(value.width for value in word.operands)
        return width if width < longest else None

    def _access(
        self,
        name: str,
        op: ir.Operation,
        operands: Sequence[ir.Value],
        subscripts: Sequence[Subscript],
    ) -> ir.Value:
        bound, outside = self._map(subscripts)
        kept = {n: op.attributes[n] for n in op.attributes if n != "map"}
        kind = ir.MemRefType(operands[-1].type).element_type
        made = ir.Operation.create(
            name,
            results=[kind] if name == "affine.load" else [],
            operands=[*operands, *outside],
            attributes=kept | {"map": ir.AffineMapAttr.get(bound)},
            loc=op.location,
            ip=self._ip,
        )
        return made.result if len(made.results) else operands[0]

    def _map(self, subscripts: Sequence[Subscript]) -> tuple[ir.AffineMap, list[ir.Value]]:
        numbers = sorted({n for terms, _ in subscripts for n, _ in terms})
        place = {number: k for k, number in enumerate(numbers)}
        exprs = []
        for terms, constant in subscripts:
            expr = ir.AffineExpr.get_constant(constant)
            for number, factor in terms:
                expr = ir.AffineExpr.get_dim(place[number]) * factor + expr
            exprs.append(expr)
        bound = ir.AffineMap.get(len(numbers), 0, exprs)
        return bound, [self._trace.outside[n] for n in numbers]

    def _index(self, subscript: Subscript) -> ir.Value:
        bound, outside = self._map([subscript])
        made = ir.Operation.create(
            "affine.apply",
            results=[ir.IndexType.get()],
            operands=outside,
            attributes={"map": ir.AffineMapAttr.get(bound)},
            loc=self._location,
            ip=self._ip,
        )
        return made.result

    def _store(self, store: Store) -> None:
        array = store.op.operands[1]
        kind = ir.MemRefType(array.type).element_type
        self._access(
            "affine.store", store.op, [self.value(store.value, kind), array], store.subscripts
        )

    # Sums.

    def value(self, value: Value, kind: ir.Type) -> ir.Value:
        """A value in its type."""
        if value.is_constant:
            return self._constant(value.constant, kind)
        if not _needs_sum(value):
            (word,) = value.terms
            made, width = self._of_word[word], self._words[word].width
        else:
            made, width = self._of_form[_form(value)]
        if made.type == kind:
            return made
        if isinstance(kind, ir.IndexType) or isinstance(made.type, ir.IndexType):
            return self._op("arith.index_cast", kind, [made])
        return self._fitted(made, width, ir.IntegerType(kind).width)

    def _add_up(self, values: Sequence[Value]) -> None:
        """The sums of one level, as one graph of adders."""
        numbers = sorted({w for value in values for w in value.terms})
        place = {number: k for k, number in enumerate(numbers)}
        rows = [{place[w]: f for w, f in value.terms.items()} for value in values]
        inputs = [self._words[n].values for n in numbers]
        constants = [value.constant for value in values]
        depth = least_depth(rows, constants) if self._depth == "least" else self._depth
        plan = plan_adders(rows, inputs, depth, constants)
        self.plans.append(plan)
        made: list[ir.Value] = []
        for position, node in enumerate(plan.nodes):
            width = bits_of(node.values)
            if position < len(numbers):
                word = self._words[numbers[position]]
                made.append(self._fitted(self._integer(numbers[position]), word.width, width))
            elif node.is_input:
                made.append(self._constant(node.values[0], ir.IntegerType.get_signless(width)))
            else:
                made.append(self._sum(node, made, plan.nodes))
        for value, row, out in zip(values, rows, plan.outputs, strict=True):
            if out is None:  # no digits: a constant
                continue
            width = bits_of(linear(value.constant, ((inputs[k], f) for k, f in row.items())))
            of_node = bits_of(plan.nodes[out[0]].values)
            self._of_form[_form(value)] = self._shifted(made[out[0]], of_node, out[1], width), width

    def _integer(self, number: int) -> ir.Value:
        value = self._of_word[number]
        if isinstance(value.type, ir.IndexType):
            return self._op("arith.index_cast", ir.IntegerType.get_signless(64), [value])
        return value

    def _sum(self, node: Node, made: Sequence[ir.Value], nodes: Sequence[Node]) -> ir.Value:
        width = bits_of(node.values)
        sides = [
            self._shifted(made[of], bits_of(nodes[of].values), shift, width)
            for of, shift in (node.left, node.right)
        ]
        name = "arith.addi" if node.sign > 0 else "arith.subi"
        return self._op(name, ir.IntegerType.get_signless(width), sides)

    def _shifted(self, value: ir.Value, width: int, shift: int, wanted: int) -> ir.Value:
        fitted = self._fitted(value, width, wanted)
        if not shift:
            return fitted
        kind = ir.IntegerType.get_signless(wanted)
        return self._op("arith.shli", kind, [fitted, self._constant(shift, kind)])

    def _fitted(self, value: ir.Value, width: int, wanted: int) -> ir.Value:
        if width == wanted:
            return value
        name = "arith.extsi" if wanted > width else "arith.trunci"
        return self._op(name, ir.IntegerType.get_signless(wanted), [value])

    def _constant(self, number: int, kind: ir.Type) -> ir.Value:
        width = 64 if isinstance(kind, ir.IndexType) else ir.IntegerType(kind).width
        low = number & ((1 << width) - 1)
        signed = low - (1 << width) if low >> (width - 1) else low
        key = signed, -1 if isinstance(kind, ir.IndexType) else width
        if key not in self._constants:
            made = self._op("arith.constant", kind, [], {"value": ir.IntegerAttr.get(kind, signed)})
            self._constants[key] = made
        return self._constants[key]

    def _op(
        self,
        name: str,
        kind: ir.Type,
        operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute] | None = None,
        location: ir.Location | None = None,
    ) -> ir.Value:
        made = ir.Operation.create(
            name,
            results=[kind],
            operands=list(operands),
            attributes=dict(attributes or {}),
            loc=location or self._location,
            ip=self._ip,
        )
        return made.result


def _form(value: Value) -> tuple[object, ...]:
    return tuple(sorted(value.terms.items())), value.constant


def _needs_sum(value: Value) -> bool:
    """Whether a value is neither a constant nor a word."""
    if not value.terms:
        return False
    return value.constant != 0 or len(value.terms) > 1 or next(iter(value.terms.values())) != 1
