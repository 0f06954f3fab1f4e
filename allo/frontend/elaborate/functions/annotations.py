"""Type annotations: ``int32``, ``Ty[M, N] @ Memory(...)``, ``"T[N]"``, ``ConstExpr[index]``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    ShapeMismatchError,
    SourcePlace,
    UnknownNameError,
    UnsupportedSyntaxError,
)
from allo.dialects.text.shown import shown
from allo.dialects.types import (
    MAX_WIDTH,
    AlloType,
    ArrayAnnotation,
    ConstExpr,
    Stateful,
    as_type,
    index,
)
from allo.frontend.consteval import NotConstantError

from ..arrays import lazy as arrays
from ..context import FunctionContext, as_int


@dataclass(frozen=True, slots=True)
class Declared:
    """What an annotation says.

    Attributes:
        shape: ``()`` for a scalar; None for a dynamic extent.
        decorations: what stands behind ``@``, Stateful apart.
    """

    dtype: AlloType
    shape: tuple[int | None, ...]
    place: SourcePlace
    stateful: bool = False
    decorations: tuple[Any, ...] = ()

    @property
    def memory(self) -> Any:
        """The Memory among the decorations, or None."""
        return next((d for d in self.decorations if hasattr(d, "get_memory_space")), None)

    @property
    def layout(self) -> Any:
        """The layout list among the decorations, or None."""
        found = (d for d in self.decorations if not hasattr(d, "get_memory_space"))
        return next(found, None)


def show_type(dtype: Any, shape: Sequence[int | None]) -> str:
    """A type as users write it: ``int8``, ``float32[4, 8]``."""
    return f"{dtype}{arrays.show(shape)}" if shape else f"{dtype}"


def declared(ctx: FunctionContext, node: ast.expr) -> Declared:
    """The type an annotation node stands for.

    Raises:
        UnknownNameError: `` Unsupported type `X` `` when it names no type.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return declared(ctx, parse_string(ctx, node))
    try:
        value = ctx.evaluator.evaluate(node)
    except UnknownNameError as error:
        raise _unsupported_type(ctx, node, error) from None
    except NotConstantError as error:
        raise CompileTimeError(
            f"The type {ast.unparse(node)} must be known at compile time, but {error.reason}.",
            error.place,
            help="use numbers, captured constants, or parameters of the template.",
        ) from None
    return read_type(ctx, node, value)


def _unsupported_type(
    ctx: FunctionContext, node: ast.expr, cause: UnknownNameError
) -> UnknownNameError:
    name = _head(node)
    inside = cause.place is not None and cause.place != ctx.place(name)
    if inside and isinstance(name, ast.Name) and _is_type(ctx.try_constant(name)):
        return cause
    return UnknownNameError(
        f"Unsupported type `{ast.unparse(name)}`.",
        ctx.place(name),
        help=cause.help
        if cause.help and cause.help.startswith("did you")
        else "import it from allo.ir.types, or make it a template parameter.",
    )


def _head(node: ast.expr) -> ast.expr:
    """What an annotation names before its brackets, arguments and decorations: ``UInt`` of ``UInt(8)[4]``."""
    match node:
        case ast.Subscript(value=inner) | ast.BinOp(left=inner) | ast.Call(func=inner):
            return _head(inner)
    return node


def _is_type(value: Any) -> bool:
    """Whether it is a type, or makes one from what stands in brackets: ``int32``, ``UInt``, ``Stream``."""
    made = value if isinstance(value, type) else type(value)
    return issubclass(made, (AlloType, ConstExpr))


def read_type(ctx: FunctionContext, node: ast.expr, value: Any) -> Declared:
    """What the value of an annotation says.

    Raises:
        UnknownNameError: it is no type.
    """
    place = ctx.place(node)
    value = as_type(value) or value
    base = value.dtype if isinstance(value, ArrayAnnotation) else value
    if isinstance(base, AlloType) and base.bits > MAX_WIDTH:
        raise CompileTimeError(
            f"A type has at most {MAX_WIDTH} bits, not {shown(base.bits)}.",
            place,
            help="use an array of narrower integers.",
        )
    if isinstance(value, AlloType):
        return Declared(value, (), place)
    if isinstance(value, ArrayAnnotation):
        shape = tuple(_extent(ctx, node, extent) for extent in value.shape)
        stateful = any(d is Stateful for d in value.decorations)
        rest = tuple(d for d in value.decorations if d is not Stateful)
        return Declared(value.dtype, shape, place, stateful, rest)
    raise UnknownNameError(
        f"Unsupported type `{ast.unparse(node)}`: it is {value!r}, not a type.",
        place,
        help="types come from allo.ir.types: int32, UInt(4), float32[16, 16].",
    )


def _extent(ctx: FunctionContext, node: ast.expr, extent: Any) -> int | None:
    if extent is Ellipsis:
        return None
    number = as_int(extent)
    if number is None:
        raise CompileTimeError(
            f"An array extent must be an integer, not {extent!r}.",
            ctx.place(node),
            help="write int32[8], or a parameter of the template.",
        )
    if number <= 0:
        raise ShapeMismatchError(
            f"An array extent must be positive, not {number}.",
            ctx.place(node),
            help="an array has one element at least.",
        )
    if number >= 1 << 63:
        raise ShapeMismatchError(
            f"An array extent must be below 2**63, not {shown(number)}.",
            ctx.place(node),
            help="make the array smaller.",
        )
    return number


def parse_string(ctx: FunctionContext, node: ast.Constant) -> ast.expr:
    """The expression inside a string annotation, its nodes placed in the file."""
    text = str(node.value)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise UnsupportedSyntaxError(
            f"The annotation {text!r} is not an expression: {error.msg}.",
            ctx.place(node),
            help="write a type, as int32[8].",
        ) from error
    lead = len(text) - len(text.lstrip())
    one_piece = (
        node.lineno == node.end_lineno
        and node.end_col_offset is not None
        and node.end_col_offset - node.col_offset == len(text.encode()) + 2
    )
    for part in ast.walk(tree):
        if not isinstance(part, (ast.expr, ast.keyword)):
            continue
        if one_piece:
            shift = node.col_offset + 1 + lead
            part.col_offset += shift
            part.end_col_offset = (part.end_col_offset or 0) + shift
        else:
            part.col_offset, part.end_col_offset = node.col_offset, node.end_col_offset
        part.lineno, part.end_lineno = node.lineno, node.end_lineno
    return tree


INDEX = index
