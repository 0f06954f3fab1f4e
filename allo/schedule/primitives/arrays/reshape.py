"""``reshape``: give an array another shape of as many elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.affine.substitute import simplify
from allo.dialects.boundary.layouts import layouts_of
from allo.dialects.core.alias import AliasClasses
from allo.dialects.core.dense import dense_words, nested_text, number_text
from allo.dialects.core.locations import place_of
from allo.dialects.core.partition import layout_of
from allo.dialects.core.signature import entry_of, refresh_types, signature_of
from allo.dialects.diagnostics import AlloError, LayoutError, ScheduleError
from allo.schedule.analysis.buffers import redirect
from allo.schedule.handles import Buffer
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, find_buffer, find_function
from allo.schedule.state import ScheduleState

_WHOLE = frozenset({"linalg.fill", "func.call", "func.return"})


@primitive
def reshape(s: ScheduleState, target: Buffer, shape: Sequence[int]) -> None:
    """Change an array's shape; every access is rewritten, and so are signatures that carry it.

    ::

        s.reshape(s.A, (2, 5, 2, 5))

        A: int32[10, 10]               A: int32[2, 5, 2, 5]
        A[i, j]                 ──▶    A[i // 5, i % 5, j // 5, j % 5]

    An argument or result keeps its row-major order: the built module takes the new shape.

    Raises:
        ScheduleError: another number of elements, a partitioned array, or a use that is not an
            affine element access, a fill, a call or a return.
        LayoutError: the array has an order of its own in memory.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "reshape")
    new_shape = _checked_shape(buffer, shape)
    classes = AliasClasses(s.module.operation)
    members = classes.members(buffer.value)
    _check_order(s, buffer, members)
    accesses = accesses_of(buffer, members, "reshape", ScheduleError)
    old_shape = list(buffer.type.shape)
    for value in members:
        kind = ir.MemRefType(value.type)
        value.set_type(
            ir.MemRefType.get(new_shape, kind.element_type, memory_space=kind.memory_space)
        )
    for op in accesses:
        old = bound_map(op)
        memref = op.operands[0 if op.name == "affine.load" else 1]
        name = string_attribute(op, "from") or string_attribute(op, "to") or buffer.name
        redirect(op, memref, _reindexed(old, old_shape, new_shape), name)
    for op in classes.globals_of(buffer.value):
        _reshape_global(op, new_shape)
    refresh_types(classes.functions.values())


def _check_order(s: ScheduleState, buffer: FoundBuffer, members: Sequence[ir.Value]) -> None:
    """A call gives an array with a layout the shape that it had before: another one is no order of that."""
    top = find_function(s.module, s.top_func_name)
    names = signature_of(top).names
    orders = layouts_of(top)
    for name, argument in zip(names, entry_of(top).arguments, strict=True):
        if argument in members and name in orders and orders[name].reorders:
            raise LayoutError(
                f"reshape {buffer.name}: it is {orders[name]} in memory.",
                place_of(buffer.value.location),
                help="reshape first, then give the new dimensions a layout.",
            )


def _checked_shape(buffer: FoundBuffer, shape: Sequence[int]) -> list[int]:
    place = place_of(buffer.value.location)
    sizes = list(shape) if isinstance(shape, (list, tuple)) else []
    if not sizes or not all(isinstance(d, int) and d > 0 for d in sizes):
        raise ScheduleError(
            f"reshape {buffer.name}: the shape must be a tuple of positive integers, got {shape!r}.",
            place,
            help="write s.reshape(s.A, (4, 8)).",
        )
    if not buffer.type.has_static_shape:
        raise ScheduleError(
            f"reshape {buffer.name}: its extents are not all known.",
            place,
            help="declare its shape with numbers.",
        )
    have, want = prod(buffer.type.shape), prod(sizes)
    if have != want:
        raise ScheduleError(
            f"reshape {buffer.name}: {tuple(sizes)} has {want} elements, the array has {have}.",
            place,
            help=f"its shape is {tuple(buffer.type.shape)}.",
        )
    if layout_of(buffer.type).bank_count > 1:
        raise ScheduleError(
            f"reshape {buffer.name}: the array is already partitioned.",
            place,
            help="reshape first, then partition the new dimensions.",
        )
    return sizes


def accesses_of(
    buffer: FoundBuffer, members: Sequence[ir.Value], verb: str, error: type[AlloError]
) -> list[ir.Operation]:
    """The loads and stores of an array that is used otherwise only as a whole.

    Raises:
        AlloError: of the given class: another operation uses it; ``verb`` is the primitive.
    """
    found: list[ir.Operation] = []
    for value in members:
        for use in value.uses:
            op = use.owner.operation
            if op.name in ("affine.load", "affine.store"):
                found.append(op)
            elif op.name not in _WHOLE:
                raise error(
                    f"{verb} {buffer.name}: a {op.name} uses the array in a way that cannot be "
                    "reindexed.",
                    place_of(op),
                    help="subscripts must be affine, and slices and copies element by element.",
                )
    return found


def _reindexed(old: BoundMap, old_shape: Sequence[int], new_shape: Sequence[int]) -> BoundMap:
    """Linearise row-major, then take the new digits; dimensions both shapes share stay apart."""
    exprs = list(old.map.results)
    results: list[ir.AffineExpr] = []
    for sources, targets in _shared_groups(old_shape, new_shape):
        linear: ir.AffineExpr = ir.AffineExpr.get_constant(0)
        for position in sources:
            linear = ir.AffineExpr.get_add(
                ir.AffineExpr.get_mul(linear, ir.AffineExpr.get_constant(old_shape[position])),
                exprs[position],
            )
        weight = prod(new_shape[k] for k in targets)
        for number, position in enumerate(targets):
            weight //= new_shape[position]
            digit = ir.AffineExpr.get_floor_div(linear, weight) if weight > 1 else linear
            results.append(ir.AffineExpr.get_mod(digit, new_shape[position]) if number else digit)
    made = ir.AffineMap.get(old.map.n_dims, old.map.n_symbols, results)
    return simplify(BoundMap(made, old.operands))


def _shared_groups(
    old_shape: Sequence[int], new_shape: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Runs of old and new dimensions with equal numbers of elements, as short as possible."""
    groups: list[tuple[list[int], list[int]]] = []
    a = b = 0
    while a < len(old_shape) or b < len(new_shape):
        sources: list[int] = []
        targets: list[int] = []
        have = want = 1
        while not sources and not targets or have != want:
            if have <= want and a < len(old_shape):
                have *= old_shape[a]
                sources.append(a)
                a += 1
            else:
                want *= new_shape[b]
                targets.append(b)
                b += 1
        groups.append((sources, targets))
    return groups


def _reshape_global(op: ir.Operation, shape: Sequence[int]) -> None:
    kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
    new = ir.MemRefType.get(list(shape), kind.element_type, memory_space=kind.memory_space)
    op.attributes["type"] = ir.TypeAttr.get(new)
    if "initial_value" not in op.attributes:
        return
    words = dense_words(op.attributes["initial_value"], kind.element_type, prod(shape))
    alike = len(set(words)) == 1
    flat = [number_text(word, kind.element_type) for word in (words[:1] if alike else words)]
    tensor = ir.RankedTensorType.get(list(shape), kind.element_type)
    text = f"dense<{flat[0] if alike else nested_text(flat, list(shape))}> : {tensor}"
    op.attributes["initial_value"] = ir.Attribute.parse(text)
