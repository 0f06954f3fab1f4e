"""Functions that do the same but for their constants: what ``share`` makes one of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, entry_of, function_type, functions_of
from allo.dialects.diagnostics import ScheduleError

_NAMES = frozenset({"name", "from", "to", "sym_name", "arg_names", "callee", "op_name"})
"""Attributes that only name things."""


@dataclass(slots=True)
class Pairs:
    """What stands for what in two functions, and in those that they call.

    Attributes:
        functions: a function of the first to the one of the second.
        constants: the name of a constant of the first to that of the second.
    """

    functions: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)


def pairs_of(module: ir.Module, first: str, second: str, paths: tuple[str, str]) -> Pairs:
    """Compare two functions.

    Args:
        module: that holds them.
        first, second: their names.
        paths: of their modules, for messages.

    Raises:
        ScheduleError: they differ in more than the elements of their constants.
    """
    compared = _Compared(functions_of(module), paths)
    compared.functions(first, second)
    return compared.pairs


class _Compared:
    def __init__(self, known: dict[str, ir.Operation], paths: tuple[str, str]) -> None:
        self.known = known
        self.paths = paths
        self.pairs = Pairs()

    def functions(self, first: str, second: str) -> None:
        if self.pairs.functions.get(first) == second:
            return
        one, other = self.known[first], self.known[second]
        if first in self.pairs.functions or second in self.pairs.functions.values():
            raise self._differ(one, other, f"calls {first} and {second} in different places")
        self.pairs.functions[first] = second
        if function_type(one) != function_type(other):
            what = f"{first} is {function_type(one)} and {second} is {function_type(other)}"
            raise self._differ(one, other, what)
        self._blocks(entry_of(one), entry_of(other), dict[ir.Value, ir.Value]())

    def _blocks(self, one: ir.Block, other: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
        values.update(zip(one.arguments, other.arguments, strict=True))
        left, right = ([op.operation for op in b.operations] for b in (one, other))
        for mine, theirs in zip(left, right, strict=False):
            self._operations(mine, theirs, values)
        if len(left) != len(right):
            longer = left if len(left) > len(right) else right
            extra = longer[min(len(left), len(right))]
            raise self._differ(extra, extra, f"only one of them has {extra.name} here")

    def _operations(
        self, one: ir.Operation, other: ir.Operation, values: dict[ir.Value, ir.Value]
    ) -> None:
        same = (
            one.name == other.name
            and [values[v] for v in one.operands] == list(other.operands)
            and [r.type for r in one.results] == [r.type for r in other.results]
            and _attributes(one) == _attributes(other)
        )
        if not same:
            raise self._differ(one, other, f"{_shown(one)} and {_shown(other)} stand in one place")
        if one.name == "func.call":
            self.functions(callee_of(one), callee_of(other))
        elif one.name == "memref.get_global":
            self._constants(one, other)
        values.update(zip(one.results, other.results, strict=True))
        for left, right in zip(one.regions, other.regions, strict=True):
            for mine, theirs in zip(left.blocks, right.blocks, strict=True):
                self._blocks(mine, theirs, values)

    def _constants(self, one: ir.Operation, other: ir.Operation) -> None:
        mine, theirs = global_of(one), global_of(other)
        if self.pairs.constants.setdefault(mine, theirs) != theirs:
            raise self._differ(one, other, f"{mine} stands for two constants of the other")

    def _differ(self, one: ir.Operation, other: ir.Operation, what: str) -> ScheduleError:
        first, second = self.paths
        place = place_of(other)
        return ScheduleError(
            f"Modules {first!r} and {second!r} are not alike: {what}.",
            place_of(one),
            notes=((f"the place in {second!r}", place),) if place else (),
            help="share modules of one class and shape, with the same schedule.",
        )


def global_of(read: ir.Operation) -> str:
    """The symbol that a ``memref.get_global`` reads."""
    return str(ir.FlatSymbolRefAttr(read.attributes["name"]).value)


def _attributes(op: ir.Operation) -> dict[str, Any]:
    return {name: op.attributes[name] for name in op.attributes if name not in _NAMES}


def _shown(op: ir.Operation) -> str:
    value = f" {op.attributes['value']}" if op.name == "arith.constant" else ""
    return f"{op.name}{value}"
