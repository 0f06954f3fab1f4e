"""Declarations and assignments."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from allo.dialects.diagnostics import (
    CompileTimeError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Stream

from .. import constants
from ..body import Body
from ..expressions.elements import Target, array_target, target
from ..expressions.meaning import cast
from ..expressions.scalar_expressions import operate
from ..expressions.scalars import SYMBOLS
from ..expressions.structs import scalar_as, struct_value
from ..expressions.tensors import cast_function, joined_shape
from ..expressions.values import Symbol, Value
from ..known import Declared, Known, is_number, plain_number
from ..running.arrays import size_of
from . import processes

# --- declarations ------------------------------------------------------------------------------


def declare(body: Body, node: ast.AnnAssign) -> None:
    """``x: T``, ``x: T = e``."""
    if not isinstance(node.target, ast.Name):
        raise UnsupportedSyntaxError("Only a name can be declared.", body.place(node))
    said = body.annotation(node.annotation)
    name = node.target.id
    if isinstance(said.dtype, Stream):
        processes.declare_stream(body, name, said, node)
    elif said.constexpr:
        _constexpr(body, name, said, node)
    elif said.stateful:
        _stateful(body, name, said, node)
    elif isinstance(body.visible(name), Symbol):
        _again(body, name, said, node)
    else:
        _variable(body, name, said, node)


def _constexpr(body: Body, name: str, said: Declared, node: ast.AnnAssign) -> None:
    if node.value is None or said.shape is not None:
        raise CompileTimeError(
            f"The ConstExpr {name!r} needs a value, and is no array.", body.place(node)
        )
    value = body.evaluate(node.value, "A ConstExpr")
    if not is_number(value):
        raise CompileTimeError(
            f"The value of the ConstExpr {name!r} is no number.", body.place(node.value)
        )
    body.bind(name, Known(plain_number(value), said.dtype))


def _stateful(body: Body, name: str, said: Declared, node: ast.AnnAssign) -> None:
    """A variable that keeps its value: a list or array of the program."""
    shape = constants.static(body, said, node)
    values = constants.elements(body, node.value, said.dtype, shape or (), node)
    holder = body.program.state(name, values)
    if shape is None:
        symbol = Symbol(name, f"{holder}[0]", said.dtype, holder=holder)
        body.bind(name, symbol)
        return
    hold(body, body.declare(name, said.dtype, shape, whole=True, holder=holder))


def hold(body: Body, symbol: Symbol) -> None:
    """Make a stateful array known to the text of a function."""
    body.emit(f"{symbol.python}_d = {symbol.holder}")
    body.emit(f"{symbol.python} = Array({symbol.python}_d, {symbol.shape})")


def _again(body: Body, name: str, said: Declared, node: ast.AnnAssign) -> None:
    """A declaration of a name that exists: an assignment, if the types agree."""
    symbol: Symbol = body.visible(name)
    if symbol.dtype.name != said.dtype.name or symbol.shape != said.shape:
        raise TypeMismatchError(
            f"{name!r} is declared already, as {symbol.dtype}.",
            body.place(node),
            help="choose another name.",
        )
    if node.value is None:
        return
    if said.shape is not None and (literal := _known_array(body, node.value)) is not None:
        shape = constants.static(body, said, node) or ()
        data = body.program.constant(
            constants.converted(body, literal, said.dtype, shape, node.value)
        )
        _store(
            body,
            target(body, node.target),
            Value(said.dtype, f"Array({data}, {shape})", shape=shape),
            node,
        )
        return
    _store(body, target(body, node.target), body.expression(node.value), node)


def _variable(body: Body, name: str, said: Declared, node: ast.AnnAssign) -> None:
    if said.shape is None:
        _scalar_variable(body, name, said.dtype, node)
        return
    shape = constants.static(body, said, node) or ()
    if node.value is None:
        _new_array(body, name, said.dtype, shape, f"[None] * {size_of(shape)}")
        return
    literal = _known_array(body, node.value)
    if literal is not None:
        values = constants.converted(body, literal, said.dtype, shape, node.value)
        _new_array(body, name, said.dtype, shape, f"{body.program.constant(values)}[:]")
        return
    value = body.expression(node.value)
    if value.parts:
        raise TypeMismatchError("Several results for one name.", body.place(node))
    if not value.is_array:
        code = cast(body, value, said.dtype, node.value)
        _new_array(body, name, said.dtype, shape, f"[{code}] * {size_of(shape)}")
        return
    if joined_shape(body, node, value, Value(said.dtype, shape=shape)) != shape:
        raise ShapeMismatchError(
            f"An array of shape {value.shape} does not fit {list(shape)}.", body.place(node.value)
        )
    function = cast_function(value, lambda v: cast(body, v, said.dtype, node))
    source = body.keep(f"copied({value.array_code()}, {function})")
    _new_array(body, name, said.dtype, shape, f"{source}.elements({shape})")


def _scalar_variable(body: Body, name: str, dtype: AlloType, node: ast.AnnAssign) -> None:
    if node.value is None:
        symbol = body.declare(name, dtype, may_be_undefined=True)
        body.emit(f"{symbol.python} = None")
        return
    code = scalar_as(body, node.value, dtype)
    symbol = body.declare(name, dtype)
    body.emit(f"{symbol.python} = {code}")


def _new_array(body: Body, name: str, dtype: AlloType, shape: tuple[int, ...], data: str) -> Symbol:
    symbol = Symbol(name, f"{name}_{body.program.fresh()}", dtype, shape, whole=True)
    body.emit(f"{symbol.python}_d = {data}")
    body.emit(f"{symbol.python} = Array({symbol.python}_d, {shape})")
    body.bind(name, symbol)
    return symbol


def _known_array(body: Body, node: ast.expr) -> Any:
    """A list or a captured array that initialises; None for any other expression."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return body.evaluate(node, "The list of an initialiser")
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) or not body.is_known(node):
        return None
    if isinstance(node, ast.Subscript) and _is_number(body.evaluate(node.value, "An initialiser")):
        return None  # its bits
    value = body.evaluate(node, "An initialiser")
    return value if isinstance(value, (np.ndarray, list, tuple)) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


# --- assignments ----------------------------------------------------------------------------------


def assign(body: Body, node: ast.Assign) -> None:
    """``a = e``, ``a, b = …``, ``a = b = e``."""
    if processes.bind_pid(body, node):
        return
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
        _assign_tuple(body, node.targets[0], node.value, node)
        return
    if len(node.targets) == 1 and isinstance(node.value, ast.Dict):
        place, lines = _target_apart(body, node.targets[0])
        made = body.keep(struct_value(body, node.value, place.dtype))
        body.lines += lines
        body.emit(place.write.format(made))
        return
    value = body.expression(node.value)
    if value.parts:
        raise TypeMismatchError("Several results for one name.", body.place(node))
    if len(node.targets) > 1 and value.exact is None:
        code = body.keep(_fresh(value))
        each = f"{code}.copy()" if value.is_array else code
        value = Value(value.dtype, each, shape=value.shape)
    for one in node.targets:
        if isinstance(one, ast.Tuple):
            raise UnsupportedSyntaxError("Write this as two assignments.", body.place(node))
        assign_value(body, one, value, node)


def _fresh(value: Value) -> str:
    """Text of a value that later stores do not change."""
    return f"{value.array_code()}.copy()" if value.is_array else value.code


def _assign_tuple(body: Body, targets: ast.Tuple, source: ast.expr, node: ast.AST) -> None:
    values: list[Value] = []
    if isinstance(source, ast.Tuple):
        if len(source.elts) != len(targets.elts):
            raise TypeMismatchError(
                f"{len(source.elts)} values for {len(targets.elts)} names.", body.place(node)
            )
        for part in source.elts:
            value = body.expression(part)
            if value.exact is None:
                value = Value(value.dtype, body.keep(_fresh(value)), shape=value.shape)
            values.append(value)
    else:
        whole = body.expression(source)
        if len(whole.parts) != len(targets.elts):
            raise TypeMismatchError(
                f"{max(len(whole.parts), 1)} values for {len(targets.elts)} names.",
                body.place(node),
            )
        name = body.keep(whole.code)
        for position, part in enumerate(whole.parts):
            values.append(Value(part.dtype, f"{name}[{position}]", shape=part.shape))
    for one, value in zip(targets.elts, values, strict=True):
        assign_value(body, one, value, node)


def assign_value(body: Body, node: ast.expr, value: Value, at: ast.AST) -> None:
    """Store a value to a name or subscript; a new name is declared with the value's type."""
    if not isinstance(node, ast.Name) or isinstance(body.visible(node.id), Symbol):
        if isinstance(node, ast.Name) and node.id == "_":
            return
        place, lines = _target_apart(body, node)
        if lines and value.exact is None and _calls(at):
            value = Value(value.dtype, body.keep(_fresh(value)), shape=value.shape)
        body.lines += lines
        _store(body, place, value, at)
        return
    if node.id == "_":
        body.emit(value.array_code() if value.is_array else value.code or "pass")
        return
    if isinstance(body.visible(node.id), Known):
        raise TypeMismatchError(
            f"{node.id!r} is known while compiling and cannot be assigned.", body.place(at)
        )
    if value.is_array:
        shape = tuple(e for e in value.shape or () if isinstance(e, int))
        if len(shape) != len(value.shape or ()):
            raise ShapeMismatchError(
                "An array of unknown length cannot be copied to a new name.", body.place(at)
            )
        source = value.code if value.code and value.root is None else f"{value.array_code()}.copy()"
        name = body.keep(source)
        _new_array(body, node.id, value.dtype, shape, f"{name}.data")
        return
    code = cast(body, value, value.dtype, at)
    symbol = body.declare(node.id, value.dtype)
    body.emit(f"{symbol.python} = {code}")


def _calls(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def _target_apart(body: Body, node: ast.expr) -> tuple[Target, list[str]]:
    """A target, and the lines that compute its subscripts: the right side is computed before them."""
    start = len(body.lines)
    place = array_target(body, node)
    lines = body.lines[start:]
    del body.lines[start:]
    return place, lines


def _store(body: Body, place: Target, value: Value, at: ast.AST) -> None:
    if place.view is None:
        if value.is_array or value.parts:
            raise ShapeMismatchError("An array is assigned to one value.", body.place(at))
        code = cast(body, value, place.dtype, at)
        if _calls(at):  # the word around a field or some bits is read behind the call
            code = body.keep(code)
        body.emit(place.write.format(code))
        return
    if value.parts:
        raise TypeMismatchError("Several results for one name.", body.place(at))
    if value.is_array:
        shape = place.view.shape or ()
        static = all(isinstance(e, int) for e in (*shape, *(value.shape or ())))
        if static and joined_shape(body, at, value, place.view) != shape:
            raise ShapeMismatchError(
                f"An array of shape {value.shape} does not fit {shape}.", body.place(at)
            )
    if not value.is_array:
        code = cast(body, value, place.dtype, at)
        body.emit(f"assign({place.view.array_code()}, {code}, None)")
        return
    function = cast_function(value, lambda v: cast(body, v, place.dtype, at))
    body.emit(f"assign({place.view.array_code()}, {value.array_code()}, {function})")


def augmented(body: Body, node: ast.AugAssign) -> None:
    """``x += e``: computed in the rule's type, cast back."""
    place = array_target(body, node.target)
    if place.view is not None:
        old = Value(place.dtype, body.keep(place.view.array_code()), shape=place.view.shape)
    else:
        old = Value(place.dtype, body.keep(place.read))
    right = body.expression(node.value)
    value = operate(body, SYMBOLS[type(node.op).__name__], old, right, node)
    if value.is_array and place.view is None:
        raise ShapeMismatchError("An array is assigned to one value.", body.place(node))
    _store(body, place, value, node)
