"""Template arguments that a call leaves out: from the types of its arguments and the caller's names.

Each annotation of the function that is called is matched with what is passed for it: ``"T[2 * N]"`` with an
array of 8 ``int8`` gives T and N. A parameter that the caller knows by the same name takes that value, unless
the arrays passed are of another type; what neither determines is named in the error.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import CompileTimeError
from allo.dialects.types import AlloType, Fixed, Int, Stream, UFixed, UInt
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays.lazy import ArrayValue
from allo.frontend.elaborate.context import (
    ConstBinding,
    FunctionContext,
    NestedFunction,
    StructBinding,
)
from allo.frontend.elaborate.expressions.fields import struct_element
from allo.frontend.elaborate.fifos import stream_of
from allo.frontend.elaborate.functions.annotations import parse_string
from allo.frontend.rules.integers import same_bits
from allo.frontend.tree import Const

_INVERSE: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.sub,
    ast.Sub: operator.add,
}


@dataclass(frozen=True, slots=True)
class _Given:
    """What a call passes: a type, the extents of an array, and whether it is a literal."""

    dtype: AlloType
    shape: tuple[int | None, ...]
    literal: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether it is passed by reference, so that no cast is possible."""
        return bool(self.shape) or isinstance(self.dtype, Stream)


def infer(caller: FunctionContext, call: ast.Call, callee: FunctionContext) -> tuple[Any, ...]:
    """A value for each template parameter of the function that is called.

    Args:
        callee: a context in which the annotations of the function can be evaluated; its template
            parameters are bound as they become known.

    Raises:
        CompileTimeError: naming the parameters that nothing determines, or that two arguments give
            different values.
    """
    parameters = [p.name for p in getattr(callee.source.tree, "type_params", [])]
    search = _Search(caller, call, callee, parameters)
    search.run()
    if search.unknown:
        raise search.error()
    return tuple(search.known[name] for name in parameters)


@dataclass(slots=True)
class _Search:
    caller: FunctionContext
    call: ast.Call
    callee: FunctionContext
    parameters: list[str]
    known: dict[str, Any] = field(default_factory=dict)
    conflicts: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    types: dict[str, _Given | None] = field(default_factory=dict)

    @property
    def unknown(self) -> list[str]:
        """The parameters without a value."""
        return [name for name in self.parameters if name not in self.known]

    def run(self) -> None:
        """Arrays and streams, then the caller's names, then scalars, then literals."""
        self._solve(lambda given: given.is_exact)
        self._names()
        self._solve(lambda given: given.is_exact)
        self._solve(lambda given: not given.is_exact and not given.literal)
        self._solve(lambda given: given.literal)

    def error(self) -> CompileTimeError:
        """What could not be inferred, and why."""
        tree = self.callee.source.tree
        reasons = [self._reason(name) for name in self.unknown]
        return CompileTimeError(
            f"The template parameters of {tree.name} cannot be inferred from this call: "
            f"{'; '.join(reasons)}.",
            self.caller.place(self.call),
            help=f"write them in brackets: {ast.unparse(self.call.func).split('[')[0]}"
            f"[{', '.join(self.parameters)}](...).",
            notes=(("the function", self.callee.source.header()),),
        )

    def _reason(self, name: str) -> str:
        found = self.conflicts.get(name)
        if not found:
            return f"nothing gives {name}"
        return f"{name} is " + " and ".join(f"{value} by {argument}" for argument, value in found)

    # --- the sources ------------------------------------------------------------------------

    def _names(self) -> None:
        """Names that the caller knows; a type gives way to arrays of another width."""
        for name in self.parameters:
            value = self._of_caller(name)
            if value is MISSING:
                continue
            typed = self.known.get(name, value)
            reads = isinstance(typed, AlloType) and isinstance(value, AlloType)
            if typed is value or typed == value or (reads and same_bits(typed, value)):
                self._bind(name, value)

    def _of_caller(self, name: str) -> Any:
        found = self.caller.find(name)
        if isinstance(found, NestedFunction):
            return found
        return found.value if isinstance(found, ConstBinding) else MISSING

    def _bind(self, name: str, value: Any) -> None:
        self.known[name] = value
        self.conflicts.pop(name, None)
        binding = value if isinstance(value, NestedFunction) else ConstBinding(value)
        self.callee.scopes[0][name] = binding

    def _solve(self, wanted: Callable[[_Given], bool]) -> None:
        """Match annotations with arguments until nothing new is found."""
        progress = True
        while progress:
            found: dict[str, dict[str, Any]] = {}
            for argument, annotation, node in self._pairs():
                if not self._open(annotation):
                    continue
                given = self._given(argument, node)
                if given is None or not wanted(given):
                    continue
                for name, value in self._match(annotation, given):
                    found.setdefault(name, {})[argument] = value
            progress = any(self._decide(name, values) for name, values in found.items())

    def _decide(self, name: str, values: Mapping[str, Any]) -> bool:
        first = next(iter(values.values()))
        if all(value == first for value in values.values()):
            self._bind(name, first)
            return True
        self.conflicts[name] = list(values.items())
        return False

    def _pairs(self) -> Iterator[tuple[str, ast.expr, ast.expr]]:
        """The parameters with an annotation, and the expressions passed for them."""
        parameters = self.callee.source.tree.args.args
        given = {p.arg: node for p, node in zip(parameters, self.call.args, strict=False)}
        given.update({k.arg: k.value for k in self.call.keywords if k.arg is not None})
        for parameter in parameters:
            if parameter.annotation is None or parameter.arg not in given:
                continue
            annotation = parameter.annotation
            if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                annotation = parse_string(self.callee, annotation)
            yield parameter.arg, annotation, given[parameter.arg]

    def _open(self, node: ast.AST) -> bool:
        """Whether an expression names a parameter without a value."""
        unknown = set(self.unknown)
        return any(isinstance(part, ast.Name) and part.id in unknown for part in ast.walk(node))

    # --- what is passed ---------------------------------------------------------------------

    def _given(self, argument: str, node: ast.expr) -> _Given | None:
        if argument not in self.types:
            self.types[argument] = self._type_of(node)
        return self.types[argument]

    def _type_of(self, node: ast.expr) -> _Given | None:
        """The type of an argument, which is elaborated for that alone: its statements are dropped."""
        ctx = self.caller
        stream = stream_of(ctx, node)
        if stream is not None:
            binding, items = stream
            return _Given(binding.dtype, ()) if len(items) == len(binding.shape) else None
        found = ctx.find(node.id) if isinstance(node, ast.Name) else None
        if isinstance(found, StructBinding):
            return _Given(found.dtype, found.shape)
        with ctx.into([]):
            element = struct_element(ctx, node)
        if element is not None:
            return _Given(element[0].dtype, ())
        if isinstance(node, ast.Dict) or isinstance(found, NestedFunction):
            return None
        nests = ctx.nests
        with ctx.into([]):
            value = dispatch.expression(ctx, node)
        ctx.nests = nests
        if isinstance(value, ArrayValue):
            shape = tuple(None if extent == -1 else extent for extent in value.shape)
            return _Given(value.dtype, shape)
        return _Given(value.dtype, (), isinstance(value, Const) and bool(value.literal))

    # --- annotations matched ----------------------------------------------------------------

    def _match(self, annotation: ast.expr, given: _Given) -> Iterator[tuple[str, Any]]:
        """Parameters and the values that make an annotation the type that is given."""
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.MatMult):
            yield from self._match(annotation.left, given)
            return
        if not isinstance(annotation, ast.Subscript):
            if not given.shape:
                yield from self._type(annotation, given.dtype)
            return
        items = annotation.slice
        parts = list(items.elts) if isinstance(items, ast.Tuple) else [items]
        if self._value(annotation.value) is Stream:
            yield from self._stream(parts, given.dtype)
            return
        yield from self._type(annotation.value, given.dtype)
        if len(parts) != len(given.shape):
            return
        for part, extent in zip(parts, given.shape, strict=True):
            if extent is not None:
                yield from self._number(part, extent)

    def _stream(self, parts: list[ast.expr], dtype: AlloType) -> Iterator[tuple[str, Any]]:
        if not isinstance(dtype, Stream) or len(parts) != 2:
            return
        yield from self._match(parts[0], _Given(dtype.dtype, tuple(dtype.shape)))
        yield from self._number(parts[1], dtype.depth)

    def _type(self, pattern: ast.expr, dtype: AlloType) -> Iterator[tuple[str, Any]]:
        """``T``, ``UInt(2 * W)``, ``Fixed(W, F)``."""
        if isinstance(pattern, ast.Name) and pattern.id in self.unknown:
            yield pattern.id, dtype
        if not isinstance(pattern, ast.Call) or not self._open(pattern):
            return
        family = self._value(pattern.func)
        if family not in (Int, UInt, Fixed, UFixed) or type(dtype) is not family:
            return
        for part, number in zip(pattern.args, (dtype.bits, dtype.fracs), strict=False):
            yield from self._number(part, number)

    def _number(self, pattern: ast.expr, number: int) -> Iterator[tuple[str, Any]]:
        """``N``, ``N + 1``, ``2 * N``: the value of the one unknown that gives a number."""
        if isinstance(pattern, ast.Name):
            if pattern.id in self.unknown:
                yield pattern.id, number
            return
        if not isinstance(pattern, ast.BinOp):
            return
        left_open, right_open = self._open(pattern.left), self._open(pattern.right)
        if left_open == right_open:
            return
        inner, other = (pattern.left, pattern.right) if left_open else (pattern.right, pattern.left)
        constant = self._value(other)
        if not isinstance(constant, int):
            return
        if isinstance(pattern.op, ast.Mult):
            if constant and number % constant == 0:
                yield from self._number(inner, number // constant)
        elif isinstance(pattern.op, ast.Sub) and right_open:
            yield from self._number(inner, constant - number)
        elif type(pattern.op) in _INVERSE:
            yield from self._number(inner, _INVERSE[type(pattern.op)](number, constant))

    def _value(self, node: ast.expr) -> Any:
        """The compile-time value of a part without unknown parameters, or ``MISSING``."""
        return MISSING if self._open(node) else self.callee.try_constant(node)
