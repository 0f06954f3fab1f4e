"""One function for many instances of a kernel that differ only in constants of subscripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import Index
from allo.frontend.affine import Affine, ScalarArg, Symbol, of_atom
from allo.frontend.checks.skeleton import rewrite_constants, skeleton
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.frontend.tree import Argument, Const, Function

from ..context import ModuleContext

INDEX = Index()


@dataclass(slots=True)
class Instance:
    """One kernel instance: its function, and the arguments its call passes.

    Attributes:
        extra: arguments behind ``arguments`` for constants that became parameters.
        name: its own name, where it uses the function of another instance.
    """

    info: FunctionInfo
    function: Function
    arguments: list[Argument]
    extra: list[Argument] = field(default_factory=list)
    name: str = ""

    @property
    def pid(self) -> tuple[int, ...]:
        """The coordinates of the instance."""
        return self.info.pid or ()


def share(module: ModuleContext, instances: list[Instance]) -> None:
    """Give instances with one skeleton the function of the first of them, in place."""
    groups: dict[Any, list[tuple[Instance, tuple[int, ...]]]] = {}
    for instance in instances:
        if any(var.kind == "stateful" for var in instance.function.globals):
            continue
        key, constants = skeleton(instance.function)
        groups.setdefault(key, []).append((instance, constants))
    for group in groups.values():
        if len(group) > 1:
            _merge(module, group)


@dataclass(frozen=True, slots=True)
class _Column:
    """A constant that differs: parameter number and what to add to it."""

    parameter: int
    offset: int


def _merge(module: ModuleContext, group: list[tuple[Instance, tuple[int, ...]]]) -> None:
    first = group[0][0]
    values: list[tuple[int, ...]] = []
    columns: list[_Column | None] = []
    rows = list(zip(*(constants for _, constants in group), strict=True))
    for row in rows:
        columns.append(None if len(set(row)) == 1 else _column(row, values))
    place = first.info.place or SourcePlace("<kernel>", 1)
    names = _names(values, [i.pid for i, _ in group])
    parameters = [ScalarArg(name, INDEX, place) for name in names]
    symbols = [Symbol(p) for p in parameters]
    _rewrite(first.function, columns, symbols)
    first.function.params.extend(parameters)
    first.info.args.extend(ValueInfo(p.name, INDEX, (), place=place) for p in parameters)
    for number, (instance, _) in enumerate(group):
        instance.extra = [Const(INDEX, place, v[number]) for v in values]
        if instance is not first:
            instance.name = instance.info.name
            module.functions.remove(instance.function)
            del module.infos[instance.info.name], module.trees[instance.info.name]
            instance.info, instance.function = first.info, first.function


def _column(row: tuple[int, ...], values: list[tuple[int, ...]]) -> _Column:
    """The parameter that gives ``row`` with a constant added, a new one if there is none."""
    for parameter, known in enumerate(values):
        offset = row[0] - known[0]
        if all(a - b == offset for a, b in zip(row, known, strict=True)):
            return _Column(parameter, offset)
    values.append(row)
    return _Column(len(values) - 1, 0)


def _names(values: list[tuple[int, ...]], pids: list[tuple[int, ...]]) -> list[str]:
    """``pid_0`` for a parameter that is a coordinate; ``constant_0`` otherwise."""
    names = []
    for position, column in enumerate(values):
        axis = next(
            (
                a
                for a in range(len(pids[0]))
                if all(p[a] == v for p, v in zip(pids, column, strict=True))
            ),
            None,
        )
        names.append(f"constant_{position}" if axis is None else f"pid_{axis}")
    return names


def _rewrite(function: Function, columns: list[_Column | None], symbols: list[Symbol]) -> None:
    remaining = iter(columns)

    def change(value: Affine) -> Affine:
        column = next(remaining)
        if column is None:
            return value
        variable = Affine(column.offset, value.terms)
        return variable + of_atom(symbols[column.parameter])

    rewrite_constants(function, change)
