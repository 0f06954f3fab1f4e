"""The values of stored elements for all values of what they depend on, as the CPU build computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from allo.dialects._mlir import ir
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import InternalError
from allo.schedule.constants.linear import Value
from allo.target import BuildRequest, find_target

from .trace import Entry, TableTrace, bits_of_type

_TOP = "values"


def values_of(
    module: ir.Module, trace: TableTrace, entries: Sequence[Entry]
) -> list[NDArray[np.uint64]]:
    """For each element its ``2**bits`` values: all operations are compiled for the CPU, and run.

    Args:
        module: the nest's, for constant arrays.

    Returns:
        Bits, of which those above the element's own have no meaning.
    """
    sizes = sorted({entry.bits for entry in entries})
    groups = [[k for k, entry in enumerate(entries) if entry.bits == size] for size in sizes]
    with module.context, ir.Location.unknown():
        text = str(_program(module, trace, entries, sizes, groups))
    run = find_target("llvm")(BuildRequest(text, _TOP, "llvm"))
    arrays = [
        np.zeros((len(group), 1 << size), np.int64)
        for size, group in zip(sizes, groups, strict=True)
    ]
    run(*arrays)
    found = {
        number: array[row].view(np.uint64)
        for group, array in zip(groups, arrays, strict=True)
        for row, number in enumerate(group)
    }
    return [found[number] for number in range(len(entries))]


def _program(
    module: ir.Module,
    trace: TableTrace,
    entries: Sequence[Entry],
    sizes: Sequence[int],
    groups: Sequence[Sequence[int]],
) -> ir.Module:
    """A function with a loop over all values for each number of bits."""
    kinds = [f"memref<{len(g)}x{1 << n}xi64>" for n, g in zip(sizes, groups, strict=True)]
    arguments = ", ".join(f"%a{k}: {kind}" for k, kind in enumerate(kinds))
    loops = "\n".join(
        f"affine.for %i{k} = 0 to {1 << n} {{ %x{k} = arith.index_cast %i{k} : index to i64 }}"
        for k, n in enumerate(sizes)
    )
    made = ir.Module.parse(f"module {{ func.func @{_TOP}({arguments}) {{ {loops}\n return }} }}")
    function = made.body.operations[0]
    block = function.regions[0].blocks[0]
    tables: set[str] = set()
    found = [op for op in block.operations if op.operation.name == "affine.for"]
    for loop, array, group in zip(found, block.arguments, groups, strict=True):
        body = loop.regions[0].blocks[0]
        for row, number in enumerate(group):
            row_writer = _Element(trace, entries[number], body)
            row_writer.store(array, row)
            tables |= row_writer.tables
    for op in module.body.operations:
        if op.operation.name == "memref.global" and symbol(op.operation) in tables:
            op.operation.clone(ir.InsertionPoint.at_block_begin(made.body))
    return made


class _Element:
    """Computes one element in the body of a loop over all values."""

    def __init__(self, trace: TableTrace, entry: Entry, body: ir.Block) -> None:
        self._trace, self._entry, self._body = trace, entry, body
        *_, end = body.operations
        self._ip = ir.InsertionPoint(end)
        self._values: dict[int, ir.Value] = {}
        self.tables: set[str] = set()

    def store(self, array: ir.Value, row: int) -> None:
        """Store the element of each iteration in a row of an array, in the low bits."""
        index = self._body.arguments[0]
        packed = self._body.operations[0].operation.results[0]
        for field in self._entry.fields:
            self._values[field.word] = self._field(packed, field.low, field.word)
        for number in self._entry.words:
            if number not in self._values:
                self._values[number] = self._word(number)
        kind = ir.MemRefType(self._entry.store.op.operands[1].type).element_type
        value = self._as_integer(self.value(self._entry.store.value, kind))
        bits = self._fitted(value, 64)
        place = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_constant(row), ir.AffineExpr.get_dim(0)])
        self._op("affine.store", None, [bits, array, index], {"map": ir.AffineMapAttr.get(place)})

    def _field(self, packed: ir.Value, low: int, word: int) -> ir.Value:
        kind = _type_of(self._trace, word)
        shifted = packed
        if low:
            shifted = self._op(
                "arith.shrui", packed.type, [packed, self._constant(low, packed.type)]
            )
        bits = self._fitted(shifted, bits_of_type(kind))
        if isinstance(kind, ir.IntegerType):
            return bits
        return self._op("arith.bitcast", kind, [bits])

    def _word(self, number: int) -> ir.Value:
        word = self._trace.words[number]
        op = word.op
        if op is None:
            raise InternalError(
                "A word that a nest computes has no operation.",
                help="this is a fault of tabulate; please report it with the kernel.",
            )
        if op.name in ("memref.load", "affine.load"):
            source = op.operands[0].owner.operation
            name = ir.FlatSymbolRefAttr(source.attributes["name"])
            self.tables.add(name.value)
            table = self._op("memref.get_global", op.operands[0].type, [], {"name": name})
            places = [self.value(v, ir.IndexType.get()) for v in word.operands]
            return self._op("memref.load", op.results[0].type, [table, *places])
        pairs = zip(word.operands, op.operands, strict=True)
        operands = [self.value(value, old.type) for value, old in pairs]
        attributes = {name: op.attributes[name] for name in op.attributes}
        return self._op(op.name, op.results[0].type, operands, attributes)

    def value(self, value: Value, kind: ir.Type) -> ir.Value:
        """A sum of words in a type."""
        if value.is_constant:
            return self._constant(value.constant, kind)
        if value.width == 0 or isinstance(kind, ir.FloatType):
            (word,) = value.terms
            return self._values[word]
        width = ir.IntegerType.get_signless(value.width)
        total = self._constant(value.constant, width)
        for word, factor in value.terms.items():
            term = self._fitted(self._values[word], value.width)
            if factor != 1:
                term = self._op("arith.muli", width, [term, self._constant(factor, width)])
            total = self._op("arith.addi", width, [total, term])
        if isinstance(kind, ir.IndexType):
            return self._op("arith.index_cast", kind, [total])
        return self._fitted(total, bits_of_type(kind))

    def _as_integer(self, value: ir.Value) -> ir.Value:
        if isinstance(value.type, ir.IntegerType):
            return value
        if isinstance(value.type, ir.IndexType):
            return self._op("arith.index_cast", ir.IntegerType.get_signless(64), [value])
        kind = ir.IntegerType.get_signless(bits_of_type(value.type))
        return self._op("arith.bitcast", kind, [value])

    def _fitted(self, value: ir.Value, width: int) -> ir.Value:
        value = self._as_integer(value) if isinstance(value.type, ir.IndexType) else value
        own = ir.IntegerType(value.type).width
        if own == width:
            return value
        name = "arith.extsi" if width > own else "arith.trunci"
        return self._op(name, ir.IntegerType.get_signless(width), [value])

    def _constant(self, number: int, kind: ir.Type) -> ir.Value:
        if isinstance(kind, ir.IndexType):
            return self._op("arith.constant", kind, [], {"value": ir.IntegerAttr.get(kind, number)})
        width = ir.IntegerType(kind).width
        low = number & ((1 << width) - 1)
        signed = low - (1 << width) if low >> (width - 1) else low
        attribute = ir.Attribute.parse(f"{signed} : i{width}")
        return self._op("arith.constant", kind, [], {"value": attribute})

    def _op(
        self,
        name: str,
        kind: ir.Type | None,
        operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        made = ir.Operation.create(
            name,
            results=[] if kind is None else [kind],
            operands=list(operands),
            attributes=dict(attributes or {}),
            ip=self._ip,
        )
        return made.result if kind is not None else operands[0]


def _type_of(trace: TableTrace, number: int) -> ir.Type:
    word = trace.words[number]
    if word.value is not None:
        return word.value.type
    return ir.IndexType.get() if word.op is None else word.op.results[0].type
