"""Statements: from a syntax tree to lines of Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    ShapeMismatchError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import index

from ..body import Body
from ..expressions import calls
from ..expressions.indices import index_value
from ..expressions.meaning import cast
from ..expressions.scalars import coerce, truth
from ..expressions.structs import struct_value
from ..expressions.tensors import cast_function
from ..expressions.values import Symbol, Value
from ..known import Declared, Known, takes_nothing
from ..rules import is_fixed
from . import assignment, processes

_META = ("meta_if", "meta_elif", "meta_else", "meta_for")


Each = Callable[[Body, ast.stmt], None]


def block(body: Body, nodes: list[ast.stmt], each: Each | None = None) -> None:
    """Translate statements in order; ``each`` translates one, if not as in a function."""
    open_chain = False
    taken = False
    for node in nodes:
        name = _meta_name(node)
        if name in ("meta_elif", "meta_else") and not open_chain:
            raise CompileTimeError(f"{name} follows no meta_if.", body.place(node))
        if name is not None and name != "meta_for" and isinstance(node, ast.With):
            if name == "meta_if":
                taken = False
            taken = _meta_branch(body, node, name, taken, each) or taken
            open_chain = name != "meta_else"
            continue
        open_chain = False
        (each or statement)(body, node)


def statement(body: Body, node: ast.stmt) -> None:
    """Translate one statement.

    Raises:
        UnsupportedSyntaxError: Python without a meaning in a kernel.
    """
    body.form(_FORMS, node)(body, node)


# --- compile time --------------------------------------------------------------------------------


def _meta_name(node: ast.stmt) -> str | None:
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return None
    return _called_name(node.items[0].context_expr)


def _called_name(call: ast.expr) -> str | None:
    if not isinstance(call, ast.Call):
        return None
    name = processes.last_name(call)
    return name if name in _META else None


def _meta_branch(
    body: Body, node: ast.With, name: str, taken: bool, each: Each | None = None
) -> bool:
    """One branch of a meta_if; whether it was taken."""
    call = node.items[0].context_expr
    if taken:
        return False
    if name != "meta_else":
        if not isinstance(call, ast.Call) or len(call.args) != 1:
            raise CompileTimeError(f"{name} takes one condition.", body.place(node))
        if not body.evaluate(call.args[0], f"The condition of {name}"):
            return False
    with body.scope():
        block(body, node.body, each)
    return True


def _with(body: Body, node: ast.With) -> None:
    for _ in repetitions(body, node):
        block(body, with_items(node))


def _inner(node: ast.With) -> ast.With:
    """``with a, b`` without its first item: as in Python, each item stands inside the one before it."""
    return ast.copy_location(ast.With(node.items[1:], node.body), node)


def with_items(node: ast.With) -> list[ast.stmt]:
    """What stands inside the first item of a ``with`` statement."""
    return [_inner(node)] if len(node.items) > 1 else node.body


def repetitions(body: Body, node: ast.With) -> Iterator[int]:
    """The values of the first ``allo.meta_for`` of a statement, each in a scope of its own."""
    call = node.items[0].context_expr
    if _called_name(call) != "meta_for" or not isinstance(call, ast.Call):
        raise UnsupportedSyntaxError(
            "Only allo.meta_if, meta_elif, meta_else and meta_for may follow with.",
            body.place(node),
        )
    target = node.items[0].optional_vars
    bounds = [int(body.evaluate(a, "A bound of meta_for")) for a in call.args]
    if not 1 <= len(bounds) <= 3 or not isinstance(target, ast.Name | None):
        raise CompileTimeError("meta_for takes one to three bounds.", body.place(node))
    for value in range(*bounds):
        with body.scope():
            if target is not None:
                body.bind(target.id, Known(value))
            yield value


def _function(body: Body, node: ast.FunctionDef) -> None:
    calls.local_function(body, node)


# --- loops and branches ------------------------------------------------------------------------------


def _for(body: Body, node: ast.For) -> None:
    if node.orelse:
        raise UnsupportedSyntaxError("A for has no else in a kernel.", body.place(node))
    if not isinstance(node.iter, ast.Call):
        raise UnsupportedSyntaxError(
            "A for runs over range, allo.grid or allo.reduction.", body.place(node.iter)
        )
    function, _ = calls.called(body, node.iter)
    name = getattr(function, "__allo_dsl__", "range" if function is range else None)
    if name not in ("range", "grid", "reduction"):
        raise UnsupportedSyntaxError(
            "A for runs over range, allo.grid or allo.reduction.", body.place(node.iter)
        )
    values = [index_value(body, argument, "A bound") for argument in node.iter.args]
    bounds = [coerce(value, index) for value in values]
    if name == "range" and len(bounds) == 3 and not body.is_known(node.iter.args[2]):
        bounds[2] = f"positive_step({body.place_code(node.iter.args[2])}, {bounds[2]})"
    place = body.place_code(node.iter)
    targets = _iterators(node)
    header = ", ".join([place, *bounds])
    if name == "range":
        if not 1 <= len(bounds) <= 3 or len(targets) != 1:
            raise UnsupportedSyntaxError("range takes one to three bounds.", body.place(node.iter))
        if len(bounds) == 1:
            header = f"{place}, 0, {bounds[0]}"
        source = f"loop({header})"
    elif len(bounds) != len(targets):
        raise UnsupportedSyntaxError(
            f"{len(bounds)} extents for {len(targets)} iterators.", body.place(node.iter)
        )
    else:
        source = f"loop({place}, 0, {bounds[0]})" if len(bounds) == 1 else f"nest({header})"
    line = len(body.lines)
    body.emit("")
    with body.indented():
        spans = _spans(name, values)
        names = [_iterator(body, *pair) for pair in zip(targets, spans, strict=True)]
        body.loops += 1
        block(body, node.body)
        body.loops -= 1
    body.lines[line] = "    " * body.depth + f"for {', '.join(names)} in {source}:"


def _iterators(node: ast.For) -> list[ast.expr]:
    return list(node.target.elts) if isinstance(node.target, ast.Tuple) else [node.target]


def _spans(name: str, values: list[Value]) -> list[tuple[int, int] | None]:
    """The least and the greatest value of each iterator, where the bounds are constant."""
    if any(value.exact is None for value in values):
        return [None] * (1 if name == "range" else len(values))
    numbers = [int(value.exact) for value in values]
    runs = [range(*numbers)] if name == "range" else [range(n) for n in numbers]
    return [(min(run[0], run[-1]), max(run[0], run[-1])) if run else None for run in runs]


def _iterator(body: Body, node: ast.expr, span: tuple[int, int] | None) -> str:
    if not isinstance(node, ast.Name):
        raise UnsupportedSyntaxError("An iterator is a name.", body.place(node))
    if node.id == "_":
        return body.temporary()
    if isinstance(body.visible(node.id), Symbol):
        raise UnknownNameError(
            f"The name {node.id!r} is in use: please choose a different name for the loop iterator.",
            body.place(node),
        )
    return body.declare(node.id, index, fixed=True, span=span).python


def _while(body: Body, node: ast.While) -> None:
    if node.orelse:
        raise UnsupportedSyntaxError("A while has no else in a kernel.", body.place(node))
    test = truth(body.scalar(node.test))
    body.emit(f"while count({body.place_code(node)}) and ({test}):")
    with body.indented():
        if test == "True" and not any(map(_leaves, node.body)):
            body.is_generator = body.is_endless = True
            body.emit("yield TURN")
        body.loops += 1
        block(body, node.body)
        body.loops -= 1


def _leaves(node: ast.stmt) -> bool:
    """Whether a statement may end the loop around it."""
    if isinstance(node, (ast.Break, ast.Return)):
        return True
    inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    if isinstance(node, (ast.For, ast.While)):
        return any(isinstance(part, ast.Return) for child in inner for part in ast.walk(child))
    return any(map(_leaves, inner))


def _if(body: Body, node: ast.If) -> None:
    body.emit(f"if {truth(body.scalar(node.test))}:")
    with body.indented():
        block(body, node.body)
    if node.orelse:
        body.emit("else:")
        with body.indented():
            block(body, node.orelse)


def _break(body: Body, node: ast.Break) -> None:
    if not body.loops:
        raise UnsupportedSyntaxError("break stands outside a loop.", body.place(node))
    body.emit("break")


def _continue(body: Body, node: ast.Continue) -> None:
    if not body.loops:
        raise UnsupportedSyntaxError("continue stands outside a loop.", body.place(node))
    body.emit("continue")


def _pass(body: Body, node: ast.Pass) -> None:
    del node
    body.emit("pass")


# --- results -------------------------------------------------------------------------------------------


def _return(body: Body, node: ast.Return) -> None:
    given: list[ast.expr] = []
    empty = isinstance(node.value, ast.Constant) and node.value.value is None
    if node.value is not None and not empty:
        given = list(node.value.elts) if isinstance(node.value, ast.Tuple) else [node.value]
    if len(given) == 1 and len(body.results) > 1:
        _return_call(body, node, given[0])
        return
    if len(given) != len(body.results):
        raise TypeMismatchError(
            f"{body.label} returns {len(given)} values, and {len(body.results)} are declared.",
            body.place(node),
            help="annotate the results: -> int32, or -> (int32, float32[8]).",
        )
    codes = [
        _part(body, part, declared) for part, declared in zip(given, body.results, strict=True)
    ]
    if not codes:
        body.emit("return")
    elif len(codes) == 1:
        body.emit(f"return {codes[0]}")
    else:
        body.emit(f"return ({', '.join(codes)})")


def _return_call(body: Body, node: ast.Return, given: ast.expr) -> None:
    """``return f(x)`` of a function with several results."""
    value = body.expression(given)
    if len(value.parts) != len(body.results):
        raise TypeMismatchError(
            f"{body.label} returns one value, and {len(body.results)} are declared.",
            body.place(node),
        )
    name = body.keep(value.code)
    codes = []
    for position, (part, declared) in enumerate(zip(value.parts, body.results, strict=True)):
        one = Value(part.dtype, f"{name}[{position}]", shape=part.shape)
        codes.append(_result(body, one, declared, given))
    body.emit(f"return ({', '.join(codes)})")


def _part(body: Body, node: ast.expr, declared: Declared) -> str:
    if isinstance(node, ast.Dict):
        return struct_value(body, node, declared.dtype)
    return _result(body, body.expression(node), declared, node)


def _result(body: Body, value: Value, declared: Declared, node: ast.AST) -> str:
    if (declared.shape is None) != (value.shape is None) or value.parts:
        raise TypeMismatchError(
            f"The result is declared as {_text(declared)}, and this is "
            f"{_text(Declared(value.dtype, _plain_shape(value)))}.",
            body.place(node),
        )
    if value.shape is None:
        return cast(body, value, declared.dtype, node)
    if not _same_shape(value, declared):
        raise ShapeMismatchError(
            f"The result has shape {value.shape} and is declared as {declared.shape}.",
            body.place(node),
        )
    function = cast_function(value, lambda v: cast(body, v, declared.dtype, node))
    return f"copied({value.array_code()}, {function})"


def _plain_shape(value: Value) -> tuple[int | None, ...] | None:
    if value.shape is None:
        return None
    return tuple(e if isinstance(e, int) else None for e in value.shape)


def _same_shape(value: Value, declared: Declared) -> bool:
    shape, wanted = value.shape or (), declared.shape or ()
    return len(shape) == len(wanted) and all(
        w is None or not isinstance(s, int) or s == w for s, w in zip(shape, wanted, strict=True)
    )


def _text(declared: Declared) -> str:
    shape = "" if declared.shape is None else str(list(declared.shape))
    return f"{declared.dtype}{shape}"


# --- others ------------------------------------------------------------------------------------------


def _expression(body: Body, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return
    if not isinstance(node.value, ast.Call):
        raise UnsupportedSyntaxError(
            "An expression whose value nothing takes is no statement.", body.place(node)
        )
    if isinstance(node.value.func, ast.Name):
        entry = body.find(node.value.func.id)
        if isinstance(entry, Known) and entry.value is print:
            _print(body, node.value)
            return
        if isinstance(entry, Known) and takes_nothing(entry.value):
            body.program.language.call(body, entry.value, None, node.value)
            return
    value = body.expression(node.value)
    if value.code:
        body.emit(value.code)


def _print(body: Body, node: ast.Call) -> None:
    form, values = [], []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            form.append(argument.value.replace("{", "{{").replace("}", "}}"))
            continue
        value = body.expression(argument)
        form.append("{}")
        values.append(_printed(value))
    body.emit(f"write_text({', '.join([repr(' '.join(form)), *values])})")


def _printed(value: Value) -> str:
    if value.is_array:
        return value.array_code()
    code = coerce(value, value.dtype)
    scaled = is_fixed(value.dtype) and value.dtype.fracs
    return f"({code} / {1 << value.dtype.fracs})" if scaled else code


def _assert(body: Body, node: ast.Assert) -> None:
    text = ast.unparse(node.test)
    if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
        text = node.msg.value
    test = truth(body.scalar(node.test))
    body.emit(f"if not ({test}): failed({body.place_code(node)}, {text!r})")


_FORMS: dict[type[ast.stmt], Callable[[Body, Any], None]] = {
    ast.With: _with,
    ast.FunctionDef: _function,
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Return: _return,
    ast.Expr: _expression,
    ast.Assert: _assert,
    ast.Assign: assignment.assign,
    ast.AnnAssign: assignment.declare,
    ast.AugAssign: assignment.augmented,
}
