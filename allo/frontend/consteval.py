"""Evaluation of expressions at compile time: sizes, types, conditions of meta constructs."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import (
    AlloError,
    CompileTimeError,
    FrontendError,
    SourcePlace,
    UnknownNameError,
)
from allo.dialects.types import as_type

from .capture import MISSING

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class NotConstantError(Exception):
    """The expression depends on a value known only at run time; ``place`` is that value's."""

    def __init__(self, place: SourcePlace, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


Lookup = Callable[[ast.Name], Any]
"""The value of a name; raises NotConstantError or UnknownNameError."""
PlaceOf = Callable[[ast.AST], SourcePlace]
SpecialCall = Callable[[ast.Call], Any]
"""The value of a call the language defines itself, or ``MISSING``."""


class ConstantEvaluator:
    """Evaluates an expression of names, numbers, types, operators and calls of Python functions."""

    def __init__(self, lookup: Lookup, place_of: PlaceOf, special_call: SpecialCall) -> None:
        self._lookup = lookup
        self._place_of = place_of
        self._special_call = special_call

    def evaluate(self, node: ast.expr) -> Any:
        """The value of ``node``.

        Raises:
            NotConstantError: when it depends on a run-time value.
            CompileTimeError: when the evaluation itself fails.
        """
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotConstantError(
                self._place_of(node), f"{type(node).__name__} is not a constant expression"
            )
        return handler(self, node)

    def _guard(self, node: ast.expr, compute: Callable[[], Any]) -> Any:
        try:
            return compute()
        except (NotConstantError, FrontendError):
            raise
        except AlloError as error:
            raise CompileTimeError(error.message, self._place_of(node), help=error.help) from error
        except Exception as error:
            text = str(error) or type(error).__name__
            raise CompileTimeError(
                f"This expression is evaluated while compiling, and failed: {text}.",
                self._place_of(node),
                notes=(f"{type(error).__name__} from Python.",),
            ) from error

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        return self._lookup(node)

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self._guard(node, lambda: BINARY[type(node.op)](left, right))

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        return self._guard(node, lambda: UNARY[type(node.op)](value))

    def _compare(self, node: ast.Compare) -> Any:
        left = self.evaluate(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            if not self._guard(node, lambda a=left, o=op, b=right: COMPARE[type(o)](a, b)):
                return False
            left = right
        return True

    def _bool(self, node: ast.BoolOp) -> Any:
        stop = isinstance(node.op, ast.Or)
        value: Any = not stop
        for part in node.values:
            value = self.evaluate(part)
            if bool(value) is stop:
                return value
        return value

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.evaluate(node.body if self.evaluate(node.test) else node.orelse)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._elements(node.elts))

    def _set(self, node: ast.Set) -> Any:
        return frozenset(self._elements(node.elts))

    def _list(self, node: ast.List) -> Any:
        return self._elements(node.elts)

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.evaluate(node.value))
            else:
                values.append(self.evaluate(node))
        return values

    def _dict(self, node: ast.Dict) -> Any:
        keys = [self.evaluate(key) for key in node.keys if key is not None]
        return dict(zip(keys, (self.evaluate(v) for v in node.values), strict=True))

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = _owner(self.evaluate(node.value))
        try:
            return self._guard(node, lambda: getattr(owner, node.attr))
        except CompileTimeError as error:
            if isinstance(error.__cause__, AttributeError):
                raise self._no_attribute(owner, node) from None
            raise

    def _no_attribute(self, owner: Any, node: ast.Attribute) -> FrontendError:
        import difflib

        near = difflib.get_close_matches(node.attr, dir(owner), n=1)
        what = ast.unparse(node.value)
        return UnknownNameError(
            f"{what} has no attribute {node.attr!r}.",
            self._place_of(node),
            help=f"did you mean {what}.{near[0]}?" if near else None,
        )

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, key = _owner(self.evaluate(node.value)), self.evaluate(node.slice)
        return self._guard(node, lambda: owner[key])

    def _slice(self, node: ast.Slice) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.evaluate(part) for part in parts))

    def _call(self, node: ast.Call) -> Any:
        special = self._special_call(node)
        if special is not MISSING:
            return special
        function = self.evaluate(node.func)
        args = self._elements(node.args)
        keywords = {k.arg: self.evaluate(k.value) for k in node.keywords if k.arg is not None}
        return self._guard(node, lambda: function(*args, **keywords))


def _owner(value: Any) -> Any:
    """What ``float`` and ``int`` mean before brackets or a point: ``float[4]``, ``T.bits``."""
    return as_type(value) or value


_HANDLERS: dict[type[ast.expr], Callable[[ConstantEvaluator, Any], Any]] = {
    ast.Constant: ConstantEvaluator._constant,
    ast.Name: ConstantEvaluator._name,
    ast.BinOp: ConstantEvaluator._binary,
    ast.UnaryOp: ConstantEvaluator._unary,
    ast.Compare: ConstantEvaluator._compare,
    ast.BoolOp: ConstantEvaluator._bool,
    ast.IfExp: ConstantEvaluator._ifexp,
    ast.Tuple: ConstantEvaluator._tuple,
    ast.List: ConstantEvaluator._list,
    ast.Set: ConstantEvaluator._set,
    ast.Dict: ConstantEvaluator._dict,
    ast.Attribute: ConstantEvaluator._attribute,
    ast.Subscript: ConstantEvaluator._subscript,
    ast.Slice: ConstantEvaluator._slice,
    ast.Call: ConstantEvaluator._call,
}
