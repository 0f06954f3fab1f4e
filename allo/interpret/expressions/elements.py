"""Subscripts: elements, views, bits and fields, read and written."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from allo.dialects.diagnostics import (
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Block, Stream, Struct, index

from ..body import Body
from ..known import Known
from ..running.arrays import row_major
from ..running.casts import wrap_code
from . import blocks
from .affine import difference
from .bit_ranges import bit_range, bits_code
from .indices import index_code, index_value, round_subscript
from .meaning import known_value, read_symbol
from .scalars import coerce, exact_to_raw
from .values import Extent, Symbol, Value


def read(body: Body, node: ast.Subscript) -> Value:
    """The value of ``base[…]``."""
    if body.is_known(node):
        found = _read_known(body, node)
        if found is not None:
            return found
    base = body.expression(node.value)
    return finish(body, select(body, base, node), node)


def _read_known(body: Body, node: ast.Subscript) -> Value | None:
    """An element of a captured array at a known place, which is a number."""
    root: ast.expr = node
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    if not isinstance(root, ast.Name):
        return None
    entry = body.find(root.id)
    if not isinstance(entry, Known) or isinstance(entry.value, (int, float)):
        return None
    if is_number_in_array(body, node.value):
        return None
    value = body.evaluate(node, "A subscript of a captured array")
    if isinstance(value, np.ndarray) and isinstance(entry.value, np.ndarray):
        return None
    return known_value(body, Known(value), node)


def is_number_in_array(body: Body, node: ast.expr) -> bool:
    """Whether a known expression is an element of a captured array: a subscript behind it takes bits."""
    if not isinstance(node, ast.Subscript):
        return False
    value = body.evaluate(node, "A subscript of a captured array")
    return isinstance(value, (int, float, np.number))


def finish(body: Body, value: Value, node: ast.AST) -> Value:
    """An element as a value that is checked to be defined; a view stays as it is."""
    if value.view is None or value.shape != ():
        return value
    data, offset, _ = value.view
    name, place = body.temporary(), body.place_code(node)
    label = value.root.name if value.root else "the array"
    code = (
        f"({name} if ({name} := {data}[{offset}]) is not None "
        f"else undefined({place}, {f'An element of {label}'!r}))"
    )
    return Value(value.dtype, code)


def items_of(node: ast.Subscript) -> list[ast.expr]:
    """The subscripts between one pair of brackets."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def viewed(body: Body, value: Value) -> Value:
    """An array as text of its list, offset and strides."""
    if value.view is not None or value.shape is None:
        return value
    name = body.temporary()
    strides: tuple[Extent, ...]
    if all(isinstance(extent, int) for extent in value.shape):
        strides, offset = row_major([int(e) for e in value.shape]), "0"
    else:
        strides = tuple(f"{name}.strides[{axis}]" for axis in range(len(value.shape)))
        offset = f"{name}.offset"
    return Value(
        value.dtype,
        shape=value.shape,
        view=(f"({name} := {value.code}).data", offset, strides),
        root=value.root,
        in_struct=value.in_struct,
    )


def without_ones(body: Body, value: Value, shape: tuple[int | None, ...]) -> Value:
    """A view of another shape, where only extents of one come or go."""
    if value.shape == shape:
        return value
    value = viewed(body, value)
    data, offset, strides = value.view or ("", "", ())
    steps = iter(s for s, e in zip(strides, value.shape or (), strict=True) if e != 1)
    return Value(
        value.dtype,
        shape=tuple(1 if e is None else e for e in shape),
        view=(data, offset, tuple(1 if e == 1 else next(steps) for e in shape)),
        root=value.root,
        is_transposed=value.is_transposed,
        in_struct=value.in_struct,
    )


def select(body: Body, base: Value, node: ast.Subscript) -> Value:
    """``base[…]``: a view (an element is one of shape ``()``), bits or a field."""
    items = items_of(node)
    if not base.is_array:
        return _inside(body, base, items, node)
    base = viewed(body, base)
    taken = items[: len(base.shape or ())]
    rest = items[len(taken) :]
    part = _view(body, base, taken, node)
    if not rest:
        return part
    if part.shape != ():
        raise ShapeMismatchError("There are more subscripts than dimensions.", body.place(node))
    return _inside(body, finish(body, part, node), rest, node)


def _view(body: Body, base: Value, items: list[ast.expr], node: ast.Subscript) -> Value:
    data, offset, strides = base.view or ("", "", ())
    shape: list[Extent] = []
    steps: list[Extent] = []
    old = base.shape or ()
    label = base.root.name if base.root else "the array"
    terms = [] if offset == "0" else [offset]
    for axis, item in enumerate(items):
        if isinstance(item, ast.Slice):
            start, length, step = _slice(body, item, old[axis], label)
            shape.append(length)
            steps.append(_scaled(strides[axis], step))
            if start != "0":
                terms.append(_times(start, strides[axis]))
        else:
            where = subscript(body, item, old[axis], label)
            if where != "0":
                terms.append(_times(where, strides[axis]))
    shape += old[len(items) :]
    steps += strides[len(items) :]
    del node
    joined = " + ".join(terms) or "0"
    return Value(
        base.dtype,
        shape=tuple(shape),
        view=(data, joined, tuple(steps)),
        root=base.root,
        is_transposed=base.is_transposed,
        in_struct=base.in_struct,
    )


def _times(code: str, stride: Extent) -> str:
    return code if stride == 1 else f"{code} * {stride}"


def _scaled(stride: Extent, step: int) -> Extent:
    if isinstance(stride, int):
        return stride * step
    return stride if step == 1 else f"{stride} * {step}"


def subscript(body: Body, item: ast.expr, extent: Extent, label: str) -> str:
    """Text of one subscript, checked against its extent.

    Raises:
        ShapeMismatchError: when it is out of range already now.
    """
    value = round_subscript(body, item) or index_value(body, item, "A subscript")
    if value.exact is not None:
        return _known_subscript(body, value, item, extent, label)
    code = coerce(value, index)
    if value.span and isinstance(extent, int) and value.span[0] >= 0 and value.span[1] < extent:
        return code
    place = body.place_code(item)
    name = code
    test = code
    if not code.isidentifier():
        name = body.temporary()
        test = f"({name} := {code})"
    return f"({name} if 0 <= {test} < {extent} else outside({place}, {name}, {extent}, {label!r}))"


def _known_subscript(body: Body, value: Value, item: ast.expr, extent: Extent, label: str) -> str:
    position = exact_to_raw(value.exact, index)
    if isinstance(extent, int):
        if not -extent <= position < extent:
            raise ShapeMismatchError(
                f"Index out of range: {position} of {label}, which has {extent} elements there.",
                body.place(item),
            )
        return str(position % extent)
    if position < 0:
        return f"at({body.place_code(item)}, {extent} + {position}, {extent}, {label!r})"
    return f"at({body.place_code(item)}, {position}, {extent}, {label!r})"


def _slice(body: Body, item: ast.Slice, extent: Extent, label: str) -> tuple[str, int, int]:
    """Start, length and step of a slice of an array."""
    step = 1 if item.step is None else int(body.evaluate(item.step, "The step of a slice"))
    if step <= 0:
        raise UnsupportedSyntaxError("The step of a slice is positive.", body.place(item))
    known = all(part is None or body.is_known(part) for part in (item.lower, item.upper))
    if known and isinstance(extent, int):
        low = 0 if item.lower is None else _bound(body, item.lower, extent)
        high = extent if item.upper is None else _bound(body, item.upper, extent)
        if not 0 <= low < high <= extent:
            raise ShapeMismatchError(
                f"Index out of range: the slice {low}:{high} of {label}, which has {extent} "
                "elements there.",
                body.place(item),
            )
        return str(low), -(-(high - low) // step), step
    lower = item.lower or ast.copy_location(ast.Constant(0), item)
    upper = item.upper
    if upper is None and isinstance(extent, int):
        upper = ast.copy_location(ast.Constant(extent), item)
    span = None if upper is None else difference(body, lower, upper)
    if span is None or span <= 0:
        raise ShapeMismatchError("The length of a slice must be constant.", body.place(item))
    length = -(-span // step)
    place = body.place_code(item)
    start = body.temporary()
    first = f"({start} := {index_code(body, lower, 'A bound')})"
    last = (length - 1) * step
    return f"span({place}, {first}, {start} + {last}, {extent}, {label!r})", length, step


def _bound(body: Body, node: ast.expr, extent: int) -> int:
    value = int(body.evaluate(node, "The bound of a slice"))
    return value + extent if value < 0 else value


# --- bits and fields -----------------------------------------------------------------------------


def _inside(body: Body, base: Value, items: list[ast.expr], node: ast.Subscript) -> Value:
    """A field of a Struct, or bits of an integer."""
    if isinstance(base.dtype, Struct):
        position, dtype = field_of(body, base.dtype, items[0], node)
        name, place = body.temporary(), body.place_code(node)
        code = (
            f"({name} if ({name} := {base.code}[{position}]) is not None "
            f"else undefined({place}, 'A field'))"
        )
        found = blocks.array_of(Value(dtype, code))
        if found.is_array and len(items) > 1:
            raise UnsupportedSyntaxError("Each subscript has its own brackets.", body.place(node))
    else:
        low, bits, dtype = bit_range(body, base.dtype, items[0], node)
        found = Value(dtype, bits_code(coerce(base, base.dtype), low, bits))
    return found if len(items) == 1 else _inside(body, found, items[1:], node)


def field_of(body: Body, dtype: Struct, item: ast.expr, node: ast.AST) -> tuple[int, AlloType]:
    """Position and type of a field."""
    if not (isinstance(item, ast.Constant) and isinstance(item.value, str)):
        raise TypeMismatchError("A field of a Struct is chosen by a string.", body.place(node))
    names = list(dtype.fields)
    if item.value not in names:
        raise TypeMismatchError(
            f"The Struct has no field {item.value!r}.",
            body.place(node),
            help=f"its fields: {', '.join(names)}.",
        )
    return names.index(item.value), dtype.fields[item.value]


# --- targets ---------------------------------------------------------------------------------------


@dataclass
class Target:
    """Something that can be stored to.

    Attributes:
        dtype: its type.
        read: text of its present value.
        write: text of a statement that stores, with ``{}`` for the value.
        view: the view to store to, where it is an array.
    """

    dtype: AlloType
    read: str
    write: str
    view: Value | None = None


def array_target(body: Body, node: ast.expr) -> Target:
    """The same, an array in a Struct as an array."""
    place = target(body, node)
    if not isinstance(place.dtype, Block):
        return place
    return Target(
        place.dtype.element, "", "", blocks.array_in(body, place.dtype, place.read, place.write)
    )


def target(body: Body, node: ast.expr) -> Target:
    """A name or subscript that is stored to; its subscripts are computed here, once."""
    if isinstance(node, ast.Name):
        return _name_target(body, node)
    if not isinstance(node, ast.Subscript):
        raise UnsupportedSyntaxError("This cannot be assigned to.", body.place(node))
    inner = array_target(body, node.value)
    if inner.view is None:
        return _part_target(body, inner, items_of(node), node)
    return _element_target(body, inner.view, node)


def _element_target(body: Body, base: Value, node: ast.Subscript) -> Target:
    items = items_of(node)
    taken = items[: len(base.shape or ())]
    part = _view(body, base, taken, node)
    data, offset, steps = part.view or ("", "", ())
    if part.shape != ():
        if len(taken) < len(items):
            raise ShapeMismatchError("There are more subscripts than dimensions.", body.place(node))
        if not offset.isdigit() and not offset.isidentifier():
            offset = body.keep(offset)
        part.view = (data, offset, steps)
        return Target(part.dtype, "", "", part)
    where = offset if offset.isdigit() or offset.isidentifier() else body.keep(offset)
    name, place = body.temporary(), body.place_code(node)
    label = base.root.name if base.root else "the array"
    read = (
        f"({name} if ({name} := {data}[{where}]) is not None "
        f"else undefined({place}, {f'An element of {label}'!r}))"
    )
    if isinstance(part.dtype, Struct):
        read = f"({data}[{where}] or {(None,) * len(part.dtype.fields)})"
    found = Target(part.dtype, read, f"{data}[{where}] = {{}}")
    if len(taken) == len(items):
        return found
    return _part_target(body, found, items[len(taken) :], node)


def _name_target(body: Body, node: ast.Name) -> Target:
    entry = body.entry(node)
    if not isinstance(entry, Symbol) or isinstance(entry.dtype, Stream):
        raise TypeMismatchError(f"{node.id!r} is no variable.", body.place(node))
    if entry.fixed:
        raise TypeMismatchError(
            f"The iterator {node.id!r} cannot be assigned.",
            body.place(node),
            help="copy it to a variable.",
        )
    entry.written = True
    value = read_symbol(body, entry, node)
    if value.is_array:
        return Target(entry.dtype, "", "", value)
    read = value.code
    if isinstance(entry.dtype, Struct):
        read = f"({entry.python} or {(None,) * len(entry.dtype.fields)})"
    return Target(entry.dtype, read, f"{entry.python} = {{}}")


def _part_target(body: Body, inner: Target, items: list[ast.expr], node: ast.Subscript) -> Target:
    """A field or bits of something that can be stored to."""
    if isinstance(inner.dtype, Struct):
        position, dtype = field_of(body, inner.dtype, items[0], node)
        place = body.place_code(node)
        name = body.temporary()
        read = (
            f"({name} if ({name} := {inner.read}[{position}]) is not None "
            f"else undefined({place}, 'A field'))"
        )
        if isinstance(dtype, Struct):
            read = f"({inner.read}[{position}] or {(None,) * len(dtype.fields)})"
        old = body.temporary()
        changed = f"(*({old} := {inner.read})[:{position}], {{}}, *{old}[{position + 1}:])"
        found = Target(dtype, read, inner.write.format(changed))
    else:
        low, bits, dtype = bit_range(body, inner.dtype, items[0], node)
        if not low.isdigit():
            low = body.keep(low)
        read = bits_code(inner.read, low, bits)
        changed = wrap_code(f"set_bits({inner.read}, {low}, {bits}, {{}})", inner.dtype)
        found = Target(dtype, read, inner.write.format(changed))
    return found if len(items) == 1 else _part_target(body, found, items[1:], node)
