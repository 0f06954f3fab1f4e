"""The shape of a function apart from its names of storage and the constants of its subscripts.

Two kernel instances with one skeleton are one function: what differs, the constants in their
subscripts, can be an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import AlloType

from ..affine import Affine, Iter, ScalarArg, Symbol
from ..tree import (
    AffineCondition,
    Call,
    Compute,
    Function,
    Get,
    IndexValue,
    Load,
    Store,
    StreamRef,
    Try,
    Var,
    View,
)

_STORAGE = (Var, ScalarArg, Iter, StreamRef)
_DEFINITIONS = (*_STORAGE, Compute, Call, Get, Try)
_LIFTED = (Load, Store, IndexValue, View, AffineCondition)
_UNTOUCHED = (str, int, float, bool, type(None))


def skeleton(function: Function) -> tuple[Any, tuple[int, ...]]:
    """(a hashable skeleton, the constants left out of it in order)."""
    reader = _Reader()
    params = tuple(reader.freeze(p) for p in function.params)
    body = tuple(reader.freeze(s) for s in function.body)
    return (params, body), tuple(reader.constants)


class _Reader:
    def __init__(self) -> None:
        self.constants: list[int] = []
        self._numbers: dict[Any, int] = {}

    def freeze(self, value: Any) -> Any:
        if isinstance(value, (*_UNTOUCHED, AlloType)):
            return value
        if isinstance(value, SourcePlace):
            return value.line, value.col
        if isinstance(value, (list, tuple)):
            return tuple(self.freeze(v) for v in value)
        if isinstance(value, Affine):
            return self._affine(value, value.const)
        if isinstance(value, _DEFINITIONS):
            return self._definition(value)
        if isinstance(value, _LIFTED):
            return self._once(value)
        return self._fields(value)

    def _once(self, value: Any) -> Any:
        number = self._numbers.get(value)
        if number is not None:
            return "ref", number
        self._numbers[value] = len(self._numbers)
        if isinstance(value, IndexValue):
            return "index", self._lifted(value.affine)
        if isinstance(value, View):
            kept = value.sizes, value.steps
            return "view", self.freeze(value.var), self._subscripts(value.offsets), kept
        if isinstance(value, AffineCondition):
            return "if", tuple((self._lifted(e), equal) for e, equal in value.constraints)
        return self._access(value)

    def _fields(self, value: Any) -> Any:
        if not is_dataclass(value):
            return repr(value)
        return (type(value).__name__, *(self.freeze(getattr(value, f.name)) for f in fields(value)))

    def _definition(self, value: Any) -> Any:
        number = self._numbers.get(value)
        if number is not None:
            return "ref", number
        self._numbers[value] = len(self._numbers)
        if isinstance(value, StreamRef):
            return "stream", value.dtype
        if isinstance(value, Var):
            return "var", value.name, value.dtype, value.shape, value.kind, value.symbol
        return self._fields(value)

    def _access(self, value: Load | Store) -> Any:
        held = self.freeze(value.value) if isinstance(value, Store) else None
        return (
            type(value).__name__,
            self.freeze(value.var),
            self._subscripts(value.indices),
            held,
            value.place.line,
            value.place.col,
        )

    def _subscripts(self, values: tuple[Any, ...]) -> Any:
        return tuple(self._lifted(v) if isinstance(v, Affine) else self.freeze(v) for v in values)

    def _lifted(self, value: Affine) -> Any:
        self.constants.append(value.const)
        return self._affine(value, None)

    def _affine(self, value: Affine, const: int | None) -> Any:
        return const, tuple((self._atom(a), c) for a, c in value.terms)

    def _atom(self, atom: Any) -> Any:
        if isinstance(atom, Symbol):
            return "symbol", self.freeze(atom.arg)
        return self.freeze(atom)


def rewrite_constants(function: Function, change: Callable[[Affine], Affine]) -> None:
    """Replace, in the order of :func:`skeleton`, every affine expression whose constant it lifts."""
    writer = _Writer(change)
    for statement in function.body:
        writer.visit(statement)


class _Writer:
    """Visits exactly what ``_Reader`` visits, in the same order."""

    def __init__(self, change: Callable[[Affine], Affine]) -> None:
        self._change = change
        self._seen: set[Any] = set()

    def visit(self, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for part in value:
                self.visit(part)
        elif isinstance(value, _STORAGE):
            return
        elif isinstance(value, (*_LIFTED, *_DEFINITIONS)):
            if value not in self._seen:
                self._seen.add(value)
                self._once(value)
        elif is_dataclass(value) and not isinstance(value, (Affine, SourcePlace, AlloType)):
            self._fields(value)

    def _once(self, value: Any) -> None:
        if isinstance(value, (Load, Store)):
            if isinstance(value, Store):
                self.visit(value.value)
            value.indices = self._subscripts(value.indices)
        elif isinstance(value, IndexValue):
            value.affine = self._change(value.affine)
        elif isinstance(value, View):
            value.offsets = self._subscripts(value.offsets)
        elif isinstance(value, AffineCondition):
            value.constraints = tuple((self._change(e), q) for e, q in value.constraints)
        else:
            self._fields(value)

    def _fields(self, value: Any) -> None:
        for field in fields(value):
            self.visit(getattr(value, field.name))

    def _subscripts(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        changed = []
        for value in values:
            if isinstance(value, Affine):
                changed.append(self._change(value))
            else:
                self.visit(value)
                changed.append(value)
        return tuple(changed)
