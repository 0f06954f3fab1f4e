"""Put instances in place of their modules' bodies, in a time that is linear in the operations.

CIRCT's ``hw-flatten-modules`` splits the block at each instance, which takes a time in the instances
times the operations of the block: 13 of 34 s for 3,528 float units. Here operations are copied in front of
the instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allo.backend.rtl._circt import ir, run_hw_passes

from .recipe import FLATTEN

_INSTANCE = "hw.instance"
_SYMBOL = "inner_sym"
_NAMES = ("name", "instanceName")


def flatten(module: ir.Module) -> None:
    """Inline the instances of all modules, and erase the private modules that had instances, in place.

    Names of registers and memories get the names of the instances around them: ``lane_3/acc``.
    """
    modules = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "hw.module"
    }
    if any(_is_special(op) for each in modules.values() for op in _operations(each)):
        run_hw_passes(module, FLATTEN)
        return
    inlined: dict[str, _Body] = {}
    for name in modules:
        _visit(name, modules, inlined, [])
    for name in inlined:
        if _is_private(modules[name]):
            modules[name].erase()


def operations_of(module: ir.Operation) -> list[ir.Operation]:
    """The operations of a module, in order."""
    return list(_operations(module))


def inline_below(modules: dict[str, ir.Operation], names: Sequence[str]) -> None:
    """Inline all instances in some modules, and in what these hold, in place."""
    inlined: dict[str, _Body] = {}
    for name in names:
        if name not in inlined:
            _visit(name, modules, inlined, [])


def inline_once(modules: dict[str, ir.Operation], top: str, fewest: int) -> None:
    """Inline into the top what is there once and holds ``fewest`` instances, until nothing is, in place."""
    while True:
        instances = [op for op in _operations(modules[top]) if op.name == _INSTANCE]
        called = [ir.FlatSymbolRefAttr(op.attributes["moduleName"]).value for op in instances]
        for op, name in zip(instances, called, strict=True):
            inner = [held for held in _operations(modules[name]) if held.name == _INSTANCE]
            if called.count(name) == 1 and len(inner) >= fewest:
                _Body.of(modules[name]).put(op)
                break
        else:
            return


def is_plain(module: ir.Operation) -> bool:
    """Whether all operations of a module can be copied with their names changed."""
    return not any(_is_special(op) for op in _operations(module))


def _is_special(op: ir.Operation) -> bool:
    """Whether more than operands and names would have to be changed in a copy."""
    return bool(len(op.regions)) or _SYMBOL in op.attributes


def _operations(module: ir.Operation) -> Iterator[ir.Operation]:
    for view in module.regions[0].blocks[0].operations:
        yield view.operation


def _is_private(module: ir.Operation) -> bool:
    name = "sym_visibility"
    return name in module.attributes and ir.StringAttr(module.attributes[name]).value == "private"


def _visit(
    name: str, modules: dict[str, ir.Operation], inlined: dict[str, _Body], around: list[str]
) -> None:
    """Inline what a module holds, after what its instances hold; a module within itself stays."""
    module = modules[name]
    for op in [op for op in _operations(module) if op.name == _INSTANCE]:
        inner = ir.FlatSymbolRefAttr(op.attributes["moduleName"]).value
        if inner not in modules or inner == name or inner in around:
            continue
        if inner not in inlined:
            _visit(inner, modules, inlined, [*around, name])
            inlined[inner] = _Body.of(modules[inner])
        inlined[inner].put(op)


@dataclass(slots=True)
class _Step:
    """An operation to copy.

    Attributes:
        operands: of each operand, the number of the value in the body.
        names: attributes that take the name of the instance, with their values.
    """

    op: ir.Operation
    operands: list[int]
    names: list[tuple[str, str]]


@dataclass(slots=True)
class _Body:
    """What a module holds; its values are numbered, arguments first, then results in order."""

    steps: list[_Step]
    outputs: list[int]

    @classmethod
    def of(cls, module: ir.Operation) -> _Body:
        """The body of a module whose own instances have been inlined."""
        block = module.regions[0].blocks[0]
        operations = list(_operations(module))
        results = [value for op in operations for value in op.results]
        numbers = {value: number for number, value in enumerate([*block.arguments, *results])}
        *copied, output = operations
        return cls(
            [_Step(op, [numbers[v] for v in op.operands], _names_of(op)) for op in copied],
            [numbers[value] for value in output.operands],
        )

    def put(self, instance: ir.Operation) -> None:
        """Put a copy in place of an instance."""
        values = list(instance.operands)
        prefix = ir.StringAttr(instance.attributes["instanceName"]).value
        copies = []
        with instance.context, ir.InsertionPoint(instance):
            for step in self.steps:
                copy = step.op.clone().operation
                for attribute, name in step.names:
                    copy.attributes[attribute] = ir.StringAttr.get(f"{prefix}/{name}")
                values += copy.results
                copies.append(copy)
        for step, copy in zip(self.steps, copies, strict=True):
            operands = copy.operands
            for position, number in enumerate(step.operands):
                operands[position] = values[number]
        for result, number in zip(instance.results, self.outputs, strict=True):
            result.replace_all_uses_with(values[number])
        instance.erase()


def _names_of(op: ir.Operation) -> list[tuple[str, str]]:
    found = [
        (name, ir.StringAttr(op.attributes[name]).value) for name in _NAMES if name in op.attributes
    ]
    return [(attribute, name) for attribute, name in found if name]
