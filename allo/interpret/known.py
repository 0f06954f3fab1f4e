"""What is known before a program runs: names with values, and expressions Python can evaluate."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from allo.dialects.types import (
    AlloType,
    ArrayAnnotation,
    Stateful,
    bfloat16,
    float16,
    float32,
    float64,
)

from .names import Names
from .rules import int_type
from .source import SourceText


@dataclass(frozen=True)
class Known:
    """A name with a value that is known now.

    Attributes:
        value: any Python object.
        dtype: the declared type of a ``ConstExpr``; None for a literal or another object.
    """

    value: Any
    dtype: AlloType | None = None


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A function written inside a kernel, with the known names around it."""

    node: ast.FunctionDef
    text: SourceText
    names: Names
    around: Mapping[str, Known] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.node.name


@dataclass(frozen=True)
class Declared:
    """What an annotation says.

    Attributes:
        dtype: the type, of each element if there is a shape.
        shape: the extents, None for an extent that is not given; None as a whole for a scalar.
        stateful: the variable keeps its value between calls.
        constexpr: the value is computed now.
        axes: the axis of a mapping that each leading dimension is cut along, None where it is not.
    """

    dtype: AlloType
    shape: tuple[int | None, ...] | None = None
    stateful: bool = False
    constexpr: bool = False
    axes: tuple[int | None, ...] = ()


_PYTHON_TYPES: dict[Any, AlloType] = {
    bool: int_type(1, False),
    int: int_type(32, True),
    float: float32,
}
_FLOATS = {2: float16, 4: float32, 8: float64}


def as_type(value: Any) -> AlloType | None:
    """A data type, also where Python's own is meant."""
    if isinstance(value, AlloType):
        return value
    return _PYTHON_TYPES.get(value) if isinstance(value, type) else None


def declared(value: Any) -> Declared | None:
    """What an evaluated annotation says; None where it is no annotation."""
    dtype = as_type(value)
    if dtype is not None:
        return Declared(dtype, None, stateful=bool(dtype.stateful), constexpr=bool(dtype.constexpr))
    if not isinstance(value, ArrayAnnotation):
        return None
    shape: list[int | None] = []
    for extent in value.shape:
        if extent is Ellipsis:
            shape.append(None)
        elif isinstance(extent, (int, np.integer)) and int(extent) > 0:
            shape.append(int(extent))
        else:
            return None
    return Declared(value.dtype, tuple(shape) or None, value.stateful, axes=_axes(value))


def _axes(value: ArrayAnnotation) -> tuple[int | None, ...]:
    found = (d for d in value.decorations if d is not Stateful and not hasattr(d, "resource"))
    layout: Any = next(found, ())
    return tuple(getattr(part, "axis", None) for part in getattr(layout, "partitions", layout))


def element_type(array: np.ndarray) -> AlloType | None:
    """The type of the elements of a captured array."""
    kind = array.dtype.kind
    if kind == "b":
        return int_type(1, False)
    if kind in "iu":
        return int_type(array.dtype.itemsize * 8, kind == "i")
    if kind == "f":
        return _FLOATS.get(array.dtype.itemsize)
    return bfloat16 if array.dtype.name == "bfloat16" else None


def is_number(value: Any) -> bool:
    """Whether a Python object is a number."""
    return isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_))


def plain_number(value: Any) -> int | float:
    """A Python int or float for a captured number."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(value)


def is_kernel(value: Any) -> bool:
    """Whether a captured object is a function with annotated arguments: a kernel to call."""
    if isinstance(value, LocalFunction):
        return True
    if not callable(value) or not hasattr(value, "__code__"):
        return False
    if hasattr(value, "__allo_dsl__") or hasattr(value, "__allo_stream__"):
        return False
    count = value.__code__.co_argcount
    notes = getattr(value, "__annotations__", {})
    if hasattr(value, "__allo_region__"):
        return True
    if count == 0:
        return "return" in notes or bool(getattr(value, "__type_params__", ()))
    return all(name in notes for name in value.__code__.co_varnames[:count])


def takes_nothing(value: Any) -> bool:
    """Whether a captured object is a Python function without parameters: a kernel, as a statement."""
    if not isinstance(value, FunctionType) or (value.__module__ or "").startswith("allo."):
        return False
    return not inspect.signature(value).parameters


def owner_names(node: ast.AST) -> set[str]:
    """The names before brackets or a point: ``float`` of ``float[4]``, ``T`` of ``T.bits``."""
    owners = [n.value for n in ast.walk(node) if isinstance(n, (ast.Subscript, ast.Attribute))]
    return {owner.id for owner in owners if isinstance(owner, ast.Name)}


def free_names(node: ast.AST) -> set[str]:
    """The names an expression reads that it does not bind itself."""
    bound = {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for n in ast.walk(node):
        if isinstance(n, ast.arg):
            bound.add(n.arg)
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return read - bound
