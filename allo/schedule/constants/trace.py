"""A nest run on symbols: every iteration once, every stored element as a sum of words times constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Self

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import induction_variable, is_defined_inside
from allo.dialects.affine.maps import bound_map, condition_of
from allo.dialects.core.dense import dense_values
from allo.dialects.core.effects import EffectAnalysis, array_name
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import ScheduleError

from .arithmetic import Arithmetic, NotExactError
from .linear import Formula, Step, Subscript, Value, formula_of, number, read_step, width_of

MOST_STEPS = 2_000_000
"""Operations of all iterations together that are looked at."""

type Element = tuple[Subscript, ...]


@dataclass(slots=True)
class Store:
    """The last store to an element outside of the nest."""

    op: ir.Operation
    subscripts: Element
    value: Value


@dataclass(slots=True)
class Memory:
    """The elements of one array that the nest has stored.

    Attributes:
        inside: whether it is allocated in the nest.
        words: its elements where it is a constant array.
    """

    array: ir.Value
    inside: bool
    elements: dict[Element, Value] = field(default_factory=dict)
    stores: dict[Element, ir.Operation] = field(default_factory=dict)
    words: list[int] | None = None
    shape: tuple[int, ...] = ()


class Trace(Arithmetic):
    """What a loop computes.

    Attributes:
        words: what the sums are made of.
        outside: index values from outside of the nest, by their numbers in subscripts.
    """

    def __init__(self, module: ir.Module, loop: ir.Operation, what: str, exact: bool) -> None:
        super().__init__(what, exact)
        self.loop = loop
        self.outside: list[ir.Value] = []
        self._numbers: dict[ir.Value, int] = {}
        self._env: dict[ir.Value, Value | Subscript] = {}
        self._memories: dict[ir.Value, Memory] = {}
        self._effects = EffectAnalysis(module.operation)
        self._module = module
        self._loads: dict[tuple[ir.Value, Element], Value] = {}
        self._blocks: dict[ir.Operation, list[list[Step]]] = {}
        self._count = 0
        self._do: dict[str, Callable[[Step], None]] = {
            "affine.for": self._for,
            "affine.if": self._if,
            "affine.load": self._load,
            "memref.load": self._load,
            "affine.store": self._store,
            "memref.store": self._store,
            "affine.apply": self._apply,
            "memref.alloc": self._alloc,
            "memref.get_global": lambda step: None,
            "linalg.fill": self._fill,
            "memref.copy": self._copy,
            "affine.yield": lambda step: None,
        }

    @classmethod
    def of(cls, module: ir.Module, loop: ir.Operation, what: str) -> tuple[Self, list[Store]]:
        """A nest run; sums longer than their types are taken whole only where that is exact.

        Raises:
            ScheduleError: it holds what no sum is made of.
        """
        trace = cls(module, loop, what, exact=False)
        try:
            stores = trace.run()
            if all(store.value.valid >= store.value.width for store in stores):
                return trace, stores
        except NotExactError:
            pass
        trace = cls(module, loop, what, exact=True)
        return trace, trace.run()

    def run(self) -> list[Store]:
        """Run the nest.

        Raises:
            ScheduleError: it holds what no sum is made of.
        """
        self._run([read_step(self.loop)])
        found = []
        for memory in self._memories.values():
            for element, op in memory.stores.items():
                found.append(Store(op, element, memory.elements[element]))
        return found

    def _steps_of(self, op: ir.Operation) -> list[list[Step]]:
        """The operations of each region of an operation."""
        found = self._blocks.get(op)
        if found is None:
            found = [
                [
                    read_step(inner.operation)
                    for block in region.blocks
                    for inner in block.operations
                ]
                for region in op.regions
            ]
            self._blocks[op] = found
        return found

    def _run(self, steps: list[Step]) -> None:
        self._count += len(steps)
        for step in steps:
            run = self._do.get(step.name)
            if run is not None:
                run(step)
            elif step.result is not None:
                self._env[step.result] = self.computed(
                    step, [self.value_of(v) for v in step.operands]
                )
            else:
                self.computed(step, [])
        if self._count > MOST_STEPS:
            raise ScheduleError(
                f"{self.what}: the nest takes more than {MOST_STEPS:,} operations.",
                place_of(self.loop),
                help="split the loop, and name the inner part.",
            )

    # Control.

    def _for(self, step: Step) -> None:
        op = step.op
        if step.formulas is None:
            lower, upper = bound_map(op, "lowerBoundMap"), bound_map(op, "upperBoundMap")
            step.formulas = [formula_of(b, e) for b in (lower, upper) for e in b.results]
        count = len(bound_map(op, "lowerBoundMap").results)
        numbers = [self._number(f, op, "the bounds of this loop") for f in step.formulas]
        by = ir.IntegerAttr(op.attributes["step"]).value
        index, (steps,) = induction_variable(op), self._steps_of(op)
        for value in range(max(numbers[:count]), min(numbers[count:]), by):
            self._env[index] = (), value
            self._run(steps)

    def _if(self, step: Step) -> None:
        op = step.op
        condition = condition_of(op)
        formulas = [formula_of(condition.exprs, e) for e in condition.exprs.results]
        numbers = [self._number(f, op, "this condition") for f in formulas]
        pairs = zip(numbers, condition.equal, strict=True)
        holds = all(number == 0 if equal else number >= 0 for number, equal in pairs)
        self._run(self._steps_of(op)[0 if holds else 1])

    # Subscripts.

    def _number(self, formula: Formula, op: ir.Operation, of: str) -> int:
        terms, constant = self._evaluate(formula, op)
        if terms:
            raise self.refusal(
                op,
                f"of the nest alone {of} cannot be told",
                "name the loop around that they depend on, or make them constants",
            )
        return constant

    def _evaluate(self, formula: Formula, op: ir.Operation) -> Subscript:
        if formula.compute is not None:
            return (), formula.compute(lambda value: self._known(value, op))
        constant = formula.constant
        terms: dict[int, int] = {}
        for value, factor in formula.terms:
            more, number = self._index(value, op)
            constant += factor * number
            for key, inner in more:
                terms[key] = terms.get(key, 0) + factor * inner
        return tuple(sorted((k, f) for k, f in terms.items() if f)), constant

    def _known(self, value: ir.Value, op: ir.Operation) -> int:
        terms, constant = self._index(value, op)
        if terms:
            raise self.refusal(
                op,
                "a division or remainder of what is outside of the nest is no sum",
                "name a loop further out, or store the word in a local variable before the nest",
            )
        return constant

    def _index(self, value: ir.Value, op: ir.Operation) -> Subscript:
        found = self._env.get(value)
        if isinstance(found, Value):
            if found.is_constant:
                return (), found.constant
            raise self.refusal(
                op,
                "a subscript or bound here is made of data",
                "arrays that are no constants are read and stored at places that are known when it compiles",
            )
        if found is None:
            found = (((self._outer(value), 1),), 0)
            if not isinstance(value, ir.BlockArgument):
                owner = value.owner.operation
                if owner.name == "arith.constant":
                    found = (), ir.IntegerAttr(owner.attributes["value"]).value
            self._env[value] = found
        return found

    def _outer(self, value: ir.Value) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.outside)
            self.outside.append(value)
        return number

    def _element(self, step: Step) -> Element:
        op = step.op
        if step.name in ("memref.load", "memref.store"):
            start = 1 if step.name == "memref.load" else 2
            return tuple(self._index(v, op) for v in step.operands[start:])
        if step.formulas is None:
            bound = bound_map(op)
            step.formulas = [formula_of(bound, e) for e in bound.results]
        return tuple(self._evaluate(f, op) for f in step.formulas)

    def _apply(self, step: Step) -> None:
        if step.result is not None:
            (self._env[step.result],) = self._element(step)

    # Memory.

    def _memory(self, array: ir.Value) -> Memory:
        found = self._memories.get(array)
        if found is None:
            inside = is_defined_inside(array, self.loop)
            found = Memory(array, inside, shape=tuple(ir.MemRefType(array.type).shape))
            found.words = self._constant_array(array)
            self._memories[array] = found
        return found

    def _constant_array(self, array: ir.Value) -> list[int] | None:
        if isinstance(array, ir.BlockArgument):
            return None
        owner = array.owner.operation
        if owner.name != "memref.get_global":
            return None
        name = ir.FlatSymbolRefAttr(owner.attributes["name"]).value
        for op in self._module.body.operations:
            operation = op.operation
            if operation.name != "memref.global" or symbol(operation) != name:
                continue
            if "constant" not in operation.attributes:
                return None
            kind = ir.MemRefType(array.type)
            if not isinstance(kind.element_type, ir.IntegerType):
                return None
            count = 1
            for extent in kind.shape:
                count *= extent
            words = dense_values(operation.attributes["initial_value"], kind.element_type, count)
            return [int(word) for word in words]
        return None

    def _alloc(self, step: Step) -> None:
        if step.result is not None:
            self._memory(step.result).elements.clear()

    def _load(self, step: Step) -> None:
        if step.result is not None and step.kind is not None:
            element = self._element(step)
            self._env[step.result] = self._loaded(step.op, step.operands[0], element, step.kind)

    def _loaded(self, op: ir.Operation, array: ir.Value, element: Element, kind: ir.Type) -> Value:
        memory = self._memory(array)
        if memory.words is not None and not any(terms for terms, _ in element):
            flat = 0
            for (_, place), extent in zip(element, memory.shape, strict=True):
                flat = flat * extent + place
            if 0 <= flat < len(memory.words):
                return number(memory.words[flat], width_of(kind))
        found = memory.elements.get(element)
        if found is not None:
            return found
        self._check_apart(op, memory, element)
        word = self._loads.get((array, element))
        if word is None:
            word = self.new_word(kind, 0, op=op, subscripts=element)
            self._loads[array, element] = word
        return word

    def _store(self, step: Step) -> None:
        value = self.value_of(step.operands[0])
        self._stored(step.op, step.operands[1], self._element(step), value)

    def _stored(self, op: ir.Operation, array: ir.Value, element: Element, value: Value) -> None:
        memory = self._memory(array)
        if element not in memory.elements:
            self._check_apart(op, memory, element)
        memory.elements[element] = value
        if not memory.inside:
            memory.stores.pop(element, None)
            memory.stores[element] = op

    def _check_apart(self, op: ir.Operation, memory: Memory, element: Element) -> None:
        """Refuse an access that may be of an element that the nest has stored under another name."""
        for other in self._memories.values():
            if not other.elements or other.inside != memory.inside:
                continue
            if other is memory:
                shape = [terms for terms, _ in element]
                if all([t for t, _ in e] == shape for e in other.elements):
                    continue
            elif memory.inside or self._key(other.array) != self._key(memory.array):
                continue
            raise self.refusal(
                op,
                f"whether this element of {array_name(memory.array)} is one that the nest has stored "
                "is not known",
                "let all subscripts of an array that the nest stores to differ by constants",
            )

    def _key(self, array: ir.Value) -> object:
        return self._effects.memory_of(array).key

    def _fill(self, step: Step) -> None:
        value, array = self.value_of(step.operands[0]), step.operands[1]
        for element in self._elements(array):
            self._stored(step.op, array, element, value)

    def _copy(self, step: Step) -> None:
        op, (source, target) = step.op, step.operands
        kind = ir.MemRefType(source.type).element_type
        for element in list(self._elements(source)):
            value = self._loaded(op, source, element, kind)
            self._stored(op, target, element, value)

    def _elements(self, array: ir.Value) -> Iterator[Element]:
        for places in product(*(range(extent) for extent in ir.MemRefType(array.type).shape)):
            yield tuple(((), place) for place in places)

    # Values.

    def value_of(self, value: ir.Value) -> Value:
        """An operand; one from outside of the nest is a word of its own."""
        found = self._env.get(value)
        if isinstance(found, Value):
            return found
        if found is not None or isinstance(value.type, ir.IndexType):
            return self._index_value(found or self._index(value, self.loop))
        made = self.from_outside(value)
        self._env[value] = made
        return made

    def _index_value(self, index: Subscript) -> Value:
        """A subscript as a number of 64 bits."""
        terms, constant = index
        if not terms:
            return number(constant, 64)
        return self.new_word(ir.IndexType.get(), 0, subscripts=(index,))
