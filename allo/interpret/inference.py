"""Template arguments that a call leaves out, by docs/language.md, section Functions.

A parameter is what the arrays and streams passed make of it; where the caller knows its name, that value,
unless the arrays contradict; else what the scalars passed make of it, numbers written out last.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from allo.dialects.diagnostics import CompileTimeError
from allo.dialects.types import AlloType, Fixed, Int, Stream, UFixed, UInt

from .body import Body
from .expressions.values import Value
from .known import Known, LocalFunction, as_type, free_names
from .statements import processes
from .statements.streams import OneFifo, StreamSymbol

_FAMILIES = (Int, UInt, Fixed, UFixed)
Passed = tuple[AlloType, tuple[int | None, ...], bool]
"""The type, the extents and whether it is a number written out."""


def inferred(caller: Body, callee: Body, node: ast.FunctionDef, call: ast.Call) -> list[Any]:
    """The values of the template parameters, in order; bound in ``callee`` on the way.

    Raises:
        CompileTimeError: for parameters that nothing determines, or that two arguments give apart.
    """
    names = [p.name for p in node.type_params if isinstance(p, ast.TypeVar)]
    values: dict[str, Any] = {}
    apart: dict[str, dict[str, Any]] = {}
    passed = _Passed(caller, node, call)
    arrays = [a for a in passed.arguments if passed.by_reference(a)]

    def take(arguments: list[str]) -> None:
        while True:
            found: dict[str, dict[str, Any]] = {}
            for argument in arguments:
                unknown = [n for n in names if n not in values]
                for name, value in _solved(callee, unknown, passed, argument):
                    found.setdefault(name, {})[argument] = value
            agreed = {n: list(v.values())[0] for n, v in found.items() if _equal(v.values())}
            apart.update({n: v for n, v in found.items() if n not in agreed})
            if not agreed:
                return
            values.update(agreed)
            for name, value in agreed.items():
                callee.bind(name, Known(value))

    take(arrays)
    for name in names:
        entry = caller.visible(name)
        if not isinstance(entry, Known):
            continue
        value = as_type(entry.value) or entry.value
        if name not in values or _reads(values[name], value):
            values[name] = value
            callee.bind(name, Known(value))
    take(arrays)
    if len(values) < len(names):
        scalars = [a for a in passed.arguments if a not in arrays]
        take([a for a in scalars if not passed.is_literal(a)])
        take([a for a in scalars if passed.is_literal(a)])
    missing = [n for n in names if n not in values]
    if missing:
        why = [_why(n, apart.get(n, {})) for n in missing]
        raise CompileTimeError(
            f"Template parameters of {node.name} cannot be inferred: {'; '.join(why)}.",
            caller.place(call),
            help=f"give them in brackets: {', '.join(names)}.",
        )
    return [values[n] for n in names]


def _why(name: str, found: dict[str, Any]) -> str:
    if not found:
        return f"nothing gives {name}"
    return f"{name} is " + " and ".join(f"{v} by {a}" for a, v in found.items())


def _equal(values: Any) -> bool:
    return len({_shown(v) for v in values}) == 1


def _shown(value: Any) -> str:
    return value.name if isinstance(value, AlloType) else repr(value)


def _reads(found: Any, value: Any) -> bool:
    """Whether integers of one type may be read as the other: one width."""
    kinds = (Int, UInt)
    return isinstance(found, kinds) and isinstance(value, kinds) and found.bits == value.bits


class _Passed:
    """What a call passes for each parameter, looked at once and only where it is asked for."""

    def __init__(self, caller: Body, node: ast.FunctionDef, call: ast.Call) -> None:
        self._caller = caller
        self._types: dict[str, Passed | None] = {}
        plain = [*node.args.posonlyargs, *node.args.args]
        given = {p.arg: e for p, e in zip(plain, call.args, strict=False)}
        given |= {str(k.arg): k.value for k in call.keywords}
        self._given = given
        self.arguments = {
            p.arg: _plain_annotation(p.annotation)
            for p in plain
            if p.arg in given and p.annotation is not None
        }

    def type_of(self, argument: str) -> Passed | None:
        """The type of what is passed; None where it has none by itself."""
        if argument not in self._types:
            self._types[argument] = self._look(self._given[argument])
        return self._types[argument]

    def by_reference(self, argument: str) -> bool:
        """Whether the annotation is that of an array or a stream."""
        return isinstance(_undecorated(self.arguments[argument]), ast.Subscript)

    def is_literal(self, argument: str) -> bool:
        """Whether a number written out is passed."""
        found = self.type_of(argument)
        return found is not None and found[2]

    def _look(self, node: ast.expr) -> Passed | None:
        body = self._caller
        if isinstance(node, ast.Dict):
            return None
        if isinstance(node, ast.Name):
            entry = body.visible(node.id)
            if isinstance(entry, Known) and isinstance(entry.value, LocalFunction):
                return None
        stream = processes.stream_of(body, node)
        if isinstance(stream, StreamSymbol):
            return None
        if isinstance(stream, OneFifo):
            symbol = stream.stream
            return Stream(symbol.dtype, symbol.block or (), symbol.depth), (), False
        lines = len(body.lines)
        value: Value = body.expression(node)
        del body.lines[lines:]
        extents = tuple(e if isinstance(e, int) else None for e in value.shape or ())
        return value.dtype, extents, value.literal


def _plain_annotation(node: ast.expr | None) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.parse(node.value.strip(), mode="eval").body
    return node if node is not None else ast.Constant(None)


def _undecorated(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        node = node.left
    return node


def _solved(
    callee: Body, unknown: list[str], passed: _Passed, argument: str
) -> Iterator[tuple[str, Any]]:
    """What an annotation and the argument passed for it say of unknown parameters."""
    annotation = _undecorated(passed.arguments[argument])
    if not free_names(annotation) & set(unknown):
        return
    given = passed.type_of(argument)
    if given is not None:
        yield from _matched(callee, set(unknown), annotation, given[0], given[1])


def _matched(
    callee: Body,
    unknown: set[str],
    node: ast.expr,
    dtype: AlloType,
    shape: tuple[int | None, ...],
) -> Iterator[tuple[str, Any]]:
    if not isinstance(node, ast.Subscript):
        if not shape:
            yield from _matched_type(callee, unknown, node, dtype)
        return
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    head = node.value
    if not free_names(head) & unknown and callee.evaluate(head, "A type") is Stream:
        if isinstance(dtype, Stream) and len(items) == 2:
            yield from _matched(callee, unknown, items[0], dtype.dtype, tuple(dtype.shape))
            yield from _matched_number(callee, unknown, items[1], dtype.depth)
        return
    yield from _matched_type(callee, unknown, head, dtype)
    if len(items) == len(shape):
        for item, extent in zip(items, shape, strict=True):
            if extent is not None:
                yield from _matched_number(callee, unknown, item, extent)


def _matched_type(
    callee: Body, unknown: set[str], node: ast.expr, dtype: AlloType
) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Name):
        if node.id in unknown:
            yield node.id, dtype
        return
    if not isinstance(node, ast.Call) or free_names(node.func) & unknown:
        return
    family = callee.evaluate(node.func, "A type")
    if family in _FAMILIES and type(dtype) is family:
        for part, number in zip(node.args, (dtype.bits, dtype.fracs), strict=False):
            yield from _matched_number(callee, unknown, part, number)


def _matched_number(
    callee: Body, unknown: set[str], node: ast.expr, number: int
) -> Iterator[tuple[str, Any]]:
    """The one value of the one unknown that makes an expression the number, if it is a line in it."""
    free = free_names(node) & unknown
    if len(free) != 1:
        return
    (name,) = free
    at = _tabulated(callee, node, name)
    start, second = at(0), at(1)
    if not isinstance(start, int) or not isinstance(second, int):
        return
    slope = second - start
    if not slope or (number - start) % slope:
        return
    candidate = (number - start) // slope
    if at(candidate) == number and at(candidate + 1) == number + slope:
        yield name, candidate


def _tabulated(callee: Body, node: ast.expr, name: str) -> Callable[[int], Any]:
    """An expression as a function of one name."""

    def at(value: int) -> Any:
        with callee.scope():
            callee.bind(name, Known(value))
            try:
                return callee.evaluate(node, "An extent")
            except CompileTimeError:
                return None

    return at
