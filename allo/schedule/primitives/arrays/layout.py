"""``layout``: the order of an argument's elements in memory."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.affine.substitute import simplify
from allo.dialects.boundary.layouts import (
    Layout,
    layouts_of,
    note_layout,
    packed_cell,
    parse_layout,
)
from allo.dialects.core.alias import AliasClasses
from allo.dialects.core.locations import place_of
from allo.dialects.core.partition import layout_of
from allo.dialects.core.signature import refresh_types
from allo.dialects.diagnostics import LayoutError
from allo.dialects.text.near import did_you_mean
from allo.dialects.text.shown import shown
from allo.schedule.analysis.buffers import redirect
from allo.schedule.handles import Buffer, Setting
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, find_buffer, find_function
from allo.schedule.state import ScheduleState

from .place import argument_of
from .reshape import accesses_of


@primitive
def layout(s: ScheduleState, target: Buffer, order: Setting[str]) -> None:
    """Say in which order the elements of an argument of the top function lie in memory.

    ::

        s.layout(s.A, "tiled(4, 8)")

        A: int32[16, 32]               A: int32[4, 4, 4, 8]
        A[i, j]                 ──▶    A[i // 4, j // 8, i % 4, j % 8]

    A call takes and gives the array as before: on every target its elements are put in order before the run
    and back after it. Handles of loops stay; other primitives see the dimensions of the memory.

    Args:
        order: ``"transposed"``, the dimensions reversed; ``"tiled(4, 8)"``, tiles of 4 × 8 one after
            the other, each row-major; or ``"packed"``, without bits between elements behind an
            AXI4 master, where an ``int12`` takes 16 otherwise. ``"tiled(4, 8) packed"`` is both, as are
            two calls.

    Raises:
        LayoutError: ``order`` is none, or does not cover the array; the array is no argument of the top
            function, is partitioned, has a layout, or is used otherwise than by affine subscripts; or its
            elements are as wide packed.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "layout")
    top = find_function(s.module, s.top_func_name)
    name = argument_of(s, top, buffer, "layout", LayoutError)
    asked = _checked(buffer, top, name, order)
    before = layouts_of(top).get(name, Layout())
    if not asked.reorders:
        note_layout(top, name, before.with_packed())
        return
    classes = AliasClasses(s.module.operation)
    members = classes.members(buffer.value)
    accesses = accesses_of(buffer, members, "layout", LayoutError)
    shape = list(buffer.type.shape)
    for value in members:
        kind = ir.MemRefType(value.type)
        made = ir.MemRefType.get(
            asked.physical(shape), kind.element_type, memory_space=kind.memory_space
        )
        value.set_type(made)
    for op in accesses:
        memref = op.operands[0 if op.name == "affine.load" else 1]
        label = string_attribute(op, "from") or string_attribute(op, "to") or buffer.name
        redirect(op, memref, _moved(bound_map(op), asked), label)
    refresh_types(classes.functions.values())
    note_layout(top, name, asked.with_packed(packed=asked.packed or before.packed))


def _checked(buffer: FoundBuffer, top: ir.Operation, name: str, order: object) -> Layout:
    place = place_of(buffer.value.location)

    def refused(why: str, help: str) -> LayoutError:
        return LayoutError(
            f"layout: {buffer.name} cannot be {shown(order)}: {why}.", place, help=help
        )

    asked = parse_layout(order)
    if asked is None:
        orders = ["transposed", "packed", "tiled(4, 8)"]
        near = did_you_mean(order, orders) if isinstance(order, str) else ""
        raise refused(
            "that is no order",
            f"{near}it is 'transposed', 'packed', or a tile such as 'tiled(4, 8)'.",
        )
    if not buffer.type.has_static_shape:
        raise refused("its extents are not all known", "declare its shape with numbers.")
    shape: Sequence[int] = list(buffer.type.shape)
    before = layouts_of(top).get(name, Layout())
    if (asked.reorders and before.reorders) or (asked.packed and before.packed):
        raise refused(f"it is {before} already", "leave one of the calls out.")
    if asked.packed:
        element = buffer.type.element_type
        bits = element.width if isinstance(element, ir.IntegerType) else 0
        if not bits or packed_cell(bits) == bits:
            raise refused(
                "its elements have no bits between them",
                "that helps integers and fixed point of other widths than 8, 16, 32 and so on.",
            )
    if not asked.reorders:
        return asked
    if layout_of(buffer.type).bank_count > 1:
        raise refused(
            "it is partitioned", "give it the layout first, then partition the new dimensions."
        )
    if not asked.covers(shape):
        extents = " × ".join(map(str, shape))
        raise refused(
            f"whole tiles do not cover its {extents} elements",
            "give an extent of the tile for each dimension, which divides it.",
        )
    return asked


def _moved(old: BoundMap, asked: Layout) -> BoundMap:
    subscripts = list(old.map.results)
    if not asked.tile:
        results = subscripts[::-1]
    else:
        pairs = list(zip(subscripts, asked.tile, strict=True))
        results = [ir.AffineExpr.get_floor_div(e, t) for e, t in pairs]
        results += [ir.AffineExpr.get_mod(e, t) for e, t in pairs]
    made = ir.AffineMap.get(old.map.n_dims, old.map.n_symbols, results)
    return simplify(BoundMap(made, old.operands))
