"""Instances of functions: templates, parameters, and calls between kernels."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Float, Index, Int, Stream, UInt

from .body import Body
from .expressions import elements, tensors
from .expressions.meaning import cast
from .expressions.structs import scalar_as
from .expressions.values import Value
from .inference import inferred
from .instance import Instance, Parameter
from .known import Known, LocalFunction, as_type
from .names import Names
from .program import Program
from .rules import UINT1
from .signatures import bind_parameter, read_parameters, read_results
from .source import SourceText, read_function
from .statements import bodies as statements
from .statements import processes, regions


def top(program: Program, kernel: Callable[..., Any] | str, template: Sequence[Any]) -> Instance:
    """The instance of the kernel itself."""
    node, text = read_function(kernel)
    plain = None if isinstance(kernel, str) else kernel
    names = Names(plain, program.frames, program.given)
    return build(program, kernel, node, text, names, list(template), None)


def build(
    program: Program,
    key: Any,
    node: ast.FunctionDef,
    text: SourceText,
    names: Names,
    template: list[Any],
    around: Mapping[str, Known] | None,
) -> Instance:
    """Translate a function for given template arguments, once.

    Raises:
        UnsupportedSyntaxError: for a function that calls itself.
    """
    full_key = (id(key) if not isinstance(key, str) else key, _template_key(template))
    found = program.instances.get(full_key)
    if found is not None:
        return found
    if full_key in program.building:
        raise UnsupportedSyntaxError(
            f"{node.name} calls itself; there is no recursion.", text.place(node)
        )
    program.building.append(full_key)
    body = Body(program, text, names, node.name)
    body.scopes = [dict(around or {}), {}]
    bind_template(body, node, [t for t in template if not isinstance(t, str)])
    python = f"{node.name}_{program.fresh()}"
    if processes.is_region(key, node):
        instance = regions.region(body, node, python)
    else:
        instance = function(body, node, python)
    program.building.pop()
    program.instances[full_key] = instance
    program.keys.append(key)
    return instance


def _template_key(template: list[Any]) -> tuple[Any, ...]:
    return tuple(
        (type(t).__name__, t.name if isinstance(t, AlloType) else repr(t)) for t in template
    )


def function(body: Body, node: ast.FunctionDef, python: str) -> Instance:
    """The instance of an ordinary function."""
    parameters = read_parameters(body, node)
    body.results = read_results(body, node)
    place = body.place(node)
    for position, parameter in enumerate(parameters):
        bind_parameter(body, parameter, position)
    statements.block(body, node.body)
    if body.results:
        body.emit(f"no_result({body.place_code(node)}, {node.name!r})")
    names = ", ".join(p.symbol.python for p in parameters)
    program_lines = [f"def {python}({names}):", *(body.lines or ["    pass"])]
    if body.is_generator:
        program_lines += ["    return", "    yield"]
    body.program.text += program_lines
    return Instance(
        node.name, python, parameters, body.results, place, body.is_generator, body.is_endless
    )


# --- templates ------------------------------------------------------------------------------------


def bind_template(body: Body, node: ast.FunctionDef, values: list[Any]) -> None:
    """Bind the template parameters of a definition.

    Raises:
        CompileTimeError: for a wrong number of arguments, or one outside its bound.
    """
    names = [p for p in node.type_params if isinstance(p, ast.TypeVar)]
    if len(names) != len(values):
        raise CompileTimeError(
            f"{node.name} has {len(names)} template parameters, and {len(values)} arguments are "
            "given.",
            body.place(node),
            help="give them in brackets, or by instantiate=.",
        )
    for parameter, value in zip(names, values, strict=True):
        dtype = as_type(value)
        entry = Known(value if dtype is None else dtype)
        body.bind(parameter.name, entry)
        if parameter.bound is not None:
            _check_bound(body, parameter, entry.value)


def _check_bound(body: Body, parameter: ast.TypeVar, value: Any) -> None:
    bound = parameter.bound
    if bound is None:
        return
    choices = bound.elts if isinstance(bound, ast.Tuple) else [bound]
    for choice in choices:
        if _within(body.evaluate(choice, "The bound of a template parameter"), value):
            return
    raise CompileTimeError(
        f"Cannot resolve type {parameter.name} with {value}: its bound is {ast.unparse(bound)}.",
        body.place(parameter),
    )


def _within(bound: Any, value: Any) -> bool:
    """Whether a value has the class of a bound: widths do not count."""
    kind = bound if isinstance(bound, type) else type(bound)
    if isinstance(value, AlloType):
        return isinstance(value, kind)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if isinstance(value, float):
        return issubclass(kind, Float)
    if issubclass(kind, (Int, Index)):
        return True
    return issubclass(kind, UInt) and value >= 0


# --- calls -----------------------------------------------------------------------------------------


def call(body: Body, function_: Any, template: list[ast.expr] | None, node: ast.Call) -> Value:
    """The call of a kernel from another."""
    program = body.program
    values = [body.evaluate(part, "A template argument") for part in template or []]
    if isinstance(function_, LocalFunction):
        definition, text, names = function_.node, function_.text, function_.names
        around: Mapping[str, Known] | None = function_.around
    else:
        definition, text = read_function(function_)
        names = Names(function_, program.frames, program.given)
        around = None
    if definition.type_params and all(isinstance(v, str) for v in values):
        callee = Body(program, text, names, definition.name)
        callee.scopes = [dict(around or {}), {}]
        values = [*inferred(body, callee, definition, node), *values]
    instance = build(program, function_, definition, text, names, values, around)
    if processes.is_region(function_, definition) and body.pid is None:
        raise UnsupportedSyntaxError(
            "A region is called from a kernel of another region.", body.place(node)
        )
    codes = [
        _named(node, parameter) + _argument(body, parameter, given, node)
        for parameter, given in _matched(body, instance, node)
    ]
    code = f"{instance.python}({', '.join(codes)})"
    body.is_endless = body.is_endless or instance.is_endless
    if instance.is_generator:
        body.is_generator = True
        code = f"(yield from {code})"
    results = [
        Value(r.dtype, shape=None if r.shape is None else tuple(e or "0" for e in r.shape))
        for r in instance.results
    ]
    if len(results) == 1:
        return Value(results[0].dtype, code, shape=results[0].shape)
    return Value(UINT1, code, parts=tuple(results) or (None,))


def _named(node: ast.Call, parameter: Parameter) -> str:
    """``x=`` in a call that names arguments, which are then passed in the order written."""
    return f"{parameter.symbol.python}=" if node.keywords else ""


def _matched(
    body: Body, instance: Instance, node: ast.Call
) -> list[tuple[Parameter, ast.expr | None]]:
    """The parameters with the expressions given for them, in the order written."""
    given: dict[str, ast.expr] = {}
    names = [p.name for p in instance.parameters]
    if len(node.args) > len(names):
        raise TypeMismatchError(
            f"{instance.name} takes {len(names)} arguments, not {len(node.args)}.",
            body.place(node),
        )
    for parameter, argument in zip(instance.parameters, node.args, strict=False):
        given[parameter.name] = argument
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise TypeMismatchError(
                f"{instance.name} takes no further argument {keyword.arg!r}.", body.place(node)
            )
        given[str(keyword.arg)] = keyword.value
    for parameter in instance.parameters:
        if parameter.name not in given and parameter.default is None:
            raise TypeMismatchError(
                f"{instance.name} needs the argument {parameter.name!r}.", body.place(node)
            )
    by_name = {p.name: p for p in instance.parameters}
    left = [p for p in instance.parameters if p.name not in given]
    return [*((by_name[n], e) for n, e in given.items()), *((p, None) for p in left)]


def _argument(body: Body, parameter: Parameter, given: ast.expr | None, node: ast.Call) -> str:
    said = parameter.said
    if isinstance(said.dtype, Stream):
        if given is None:
            raise TypeMismatchError("A stream is needed here.", body.place(node))
        return processes.stream_argument(body, said, given, parameter.symbol)
    if given is None:
        if parameter.default is None:
            return ""
        default = Body(body.program, body.text, body.names, body.label)
        default.scopes = body.scopes
        value = body.expression(parameter.default)
        return cast(body, value, said.dtype, parameter.default)
    if said.shape is None:
        return scalar_as(body, given, said.dtype)
    value = body.expression(given)
    if value.in_struct:
        value = elements.array_target(body, given).view or value
    computed = value.is_array and value.root is None
    if computed and value.dtype.name != said.dtype.name:
        value = tensors.broadcast(
            body, lambda v: Value(said.dtype, cast(body, v, said.dtype, given)), given, value
        )
    rereads = value.dtype.name != said.dtype.name and _same_bits(value.dtype, said.dtype)
    if value.shape is None or value.dtype.name != said.dtype.name and not rereads:
        what = value.dtype if value.shape is None else f"{value.dtype}{list(value.shape)}"
        raise TypeMismatchError(
            f"The argument {parameter.name!r} is {said.dtype}{list(said.shape)}, not {what}.",
            body.place(given),
        )
    if [e for e in value.shape if e != 1] == [e for e in said.shape if e != 1]:
        value = elements.without_ones(body, value, said.shape)
    fits = len(value.shape or ()) == len(said.shape) and all(
        want is None or not isinstance(have, int) or have == want
        for have, want in zip(value.shape or (), said.shape, strict=False)
    )
    if not fits:
        raise ShapeMismatchError(
            f"The argument {parameter.name!r} has shape {list(said.shape)}, not "
            f"{list(value.shape or ())}.",
            body.place(given),
        )
    code = value.array_code()
    if rereads:
        code = f"reread({code}, type_of({value.dtype.name!r}), type_of({said.dtype.name!r}))"
    if value.is_transposed:
        if parameter.symbol.written:
            raise TypeMismatchError(
                f"A transposed array is passed as a copy, and {parameter.name!r} is written.",
                body.place(given),
                help="assign it to a variable first.",
            )
        return f"{code}.copy()"
    if parameter.symbol.written and value.root is not None:
        value.root.written = True
    return code


def _same_bits(stored: AlloType, wanted: AlloType) -> bool:
    """Whether an array of one type is passed by reference for a parameter of the other."""
    plain = isinstance(stored, (Int, UInt)) and isinstance(wanted, (Int, UInt))
    return plain and stored.bits == wanted.bits
