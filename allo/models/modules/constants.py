"""Constants: several as one with a dimension for the module, and those that nothing needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.dense import dense_words, nested_text, number_text
from allo.dialects.core.partition import layout_of
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.text.free_name import free_name

from .alike import global_of

_HEX = re.compile(r'dense<"0x([0-9A-F]*)">')


def stack_constants(module: ir.Module, stacks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Make one constant of each group; constants of equal elements stay one as they are.

    Args:
        module: that holds them; the first of a group becomes the stacked one, the others go.
        stacks: the constants of each group by the first one's name, in the order of the modules.

    Returns:
        The name of the stacked constant by the first one's.

    Raises:
        ScheduleError: a constant is spread over banks already.
    """
    table = {
        symbol(op): op.operation
        for op in module.body.operations
        if op.operation.name == "memref.global"
    }
    made: dict[str, str] = {}
    for first, names in stacks.items():
        group = [table[name] for name in names]
        if all(
            op.attributes["initial_value"] == group[0].attributes["initial_value"] for op in group
        ):
            continue
        made[first] = _stacked(group, f"{first}_layers", set(table) | set(made.values()))
    return made


def drop_unused_constants(module: ir.Module) -> None:
    """Erase the constants that nothing reads."""
    used = {global_of(op) for op in walk(module.operation) if op.name == "memref.get_global"}
    for op in list(module.body.operations):
        if op.operation.name == "memref.global" and symbol(op) not in used:
            op.operation.erase()


def _stacked(group: Sequence[ir.Operation], wanted: str, taken: set[str]) -> str:
    kind = ir.MemRefType(ir.TypeAttr(group[0].attributes["type"]).value)
    if layout_of(kind).bank_count > 1:
        raise ScheduleError(
            f"Constant {symbol(group[0])} is spread over banks already.",
            help="share the modules first, and partition their weights then.",
        )
    shape = [len(group), *kind.shape]
    name = free_name(wanted, taken, first=2)
    copy = group[0].clone(ir.InsertionPoint(group[0])).operation
    copy.attributes["sym_name"] = ir.StringAttr.get(name)
    new = ir.MemRefType.get(shape, kind.element_type, memory_space=kind.memory_space)
    copy.attributes["type"] = ir.TypeAttr.get(new)
    tensor = ir.RankedTensorType.get(shape, kind.element_type)
    text = f"dense<{_elements(group, kind)}> : {tensor}"
    copy.attributes["initial_value"] = ir.Attribute.parse(text)
    return name


def _elements(group: Sequence[ir.Operation], kind: ir.MemRefType) -> str:
    """All elements, as the text inside ``dense<…>``."""
    values = [op.attributes["initial_value"] for op in group]
    count, element = prod(kind.shape), kind.element_type
    if getattr(element, "width", 1) % 8 == 0:
        found = [_HEX.match(str(value)) for value in values]
        if all(found):
            return '"0x' + "".join(each[1] for each in found if each) + '"'
    words = [dense_words(value, element, count) for value in values]
    parts = [
        nested_text([number_text(w, element) for w in each], list(kind.shape)) for each in words
    ]
    return f"[{', '.join(parts)}]"


def forget_zeros(function: ir.Operation, name: str) -> None:
    """Read no zeros, and add none.

    A sum that begins at +0 is never -0 where halves are rounded to even, so it has the same bits without
    a zero added.

    Args:
        function: of a kernel of the library that adds a bias to such sums, or begins them with it.
        name: of the constant that is all zeros.
    """
    for read in [op for op in walk(function) if op.name == "memref.get_global"]:
        if global_of(read) != name:
            continue
        for load in [use.owner.operation for use in read.results[0].uses]:
            _forget(load)
        read.erase()


def _forget(load: ir.Operation) -> None:
    value = load.results[0]
    for add in [use.owner.operation for use in value.uses]:
        if add.name == "arith.addf":
            other = next(operand for operand in add.operands if operand != value)
            add.results[0].replace_all_uses_with(other)
            add.erase()
    if any(True for _ in value.uses):
        zero = ir.Operation.create(
            "arith.constant",
            results=[value.type],
            attributes={"value": ir.FloatAttr.get(value.type, 0.0)},
            loc=load.location,
            ip=ir.InsertionPoint(load),
        )
        value.replace_all_uses_with(zero.results[0])
    load.erase()
