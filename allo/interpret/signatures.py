"""The parameters and results of a definition."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import TypeMismatchError, UnsupportedSyntaxError
from allo.dialects.types import Stream

from .body import Body
from .expressions.values import Symbol
from .instance import Parameter
from .known import Declared
from .statements import processes


def read_parameters(body: Body, node: ast.FunctionDef) -> list[Parameter]:
    """The parameters of a definition.

    Raises:
        UnsupportedSyntaxError: for starred parameters and those without annotation.
    """
    given = node.args
    body.assigned = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    body.assigned |= {
        part.value.id
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
    }
    if given.vararg or given.kwarg or given.kwonlyargs:
        raise UnsupportedSyntaxError("A kernel takes named parameters only.", body.place(node))
    found = []
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for argument, default in zip(plain, defaults, strict=True):
        if argument.annotation is None:
            raise UnsupportedSyntaxError(
                f"The parameter {argument.arg!r} has no type.",
                body.place(argument),
                help="annotate it: x: int32.",
            )
        said = body.annotation(argument.annotation)
        if said.stateful:
            raise TypeMismatchError("A parameter is not stateful.", body.place(argument))
        value = None
        if default is not None and body.is_known(default):
            value = body.evaluate(default, "A default")
        found.append(Parameter(argument.arg, said, body.place(argument), default, value))
    return found


def read_results(body: Body, node: ast.FunctionDef) -> list[Declared]:
    """The declared results of a definition."""
    note = node.returns
    if note is None or (isinstance(note, ast.Constant) and note.value is None):
        return []
    parts = list(note.elts) if isinstance(note, ast.Tuple) else [note]
    return [body.annotation(part) for part in parts]


def bind_parameter(body: Body, parameter: Parameter, position: int) -> None:
    """The variable that a parameter is in the body."""
    said = parameter.said
    if isinstance(said.dtype, Stream):
        parameter.symbol = processes.bind_stream(body, parameter.name, said, parameter.place)
        return
    symbol = Symbol(
        parameter.name,
        f"{parameter.name}_{body.program.fresh()}",
        said.dtype,
        parameter=position,
        assigned=parameter.name in body.assigned,
    )
    if said.shape is not None:
        name = symbol.python
        symbol.shape = tuple(
            f"{name}_n{axis}" if extent is None else extent
            for axis, extent in enumerate(said.shape)
        )
        body.emit(f"{name}_d = {name}.data; {name}_o = {name}.offset")
        steps = ", ".join(f"{name}_s{axis}" for axis in range(len(said.shape)))
        body.emit(f"{steps}, = {name}.strides")
        for axis, extent in enumerate(said.shape):
            if extent is None:
                body.emit(f"{name}_n{axis} = {name}.shape[{axis}]")
    parameter.symbol = symbol
    body.bind(parameter.name, symbol)
