"""Nests that copy elements between an array and the buffer that stands for a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import body_of, inner_point, make_loop, spec_of, terminator
from allo.schedule.analysis.buffers import (
    Part,
    add_index,
    box_bounds,
    join_maps,
    linear_map,
    load,
    make_guard,
    outside_rows,
    store,
)
from allo.schedule.resolve import FoundBuffer, FoundLoop

from ..loops.split import split_loop


@dataclass(frozen=True, slots=True)
class BufferDim:
    """One dimension of the new buffer.

    Attributes:
        position: the array's dimension it stands for.
        low: smallest inner part; ``extent`` elements from there.
        name: base name of the loops that walk it.
        lanes: how many neighbours a completely unrolled inner loop takes at once, 1 for none.
        rows: whether that may be all of them, so that the loop around takes a row in a cycle.
    """

    position: int
    low: int
    extent: int
    name: str
    lanes: int = 1
    rows: bool = False


def copy_nest(
    loop: FoundLoop,
    buffer: FoundBuffer,
    row: ir.Value,
    name: str,
    parts: Sequence[Part],
    dims: Sequence[BufferDim],
    suffix: str,
    constant: ir.Attribute | None,
    location: ir.Location,
    ip: ir.InsertionPoint,
) -> None:
    """Copy the elements of a buffer ``row`` from its array (``"init"``) or back to it (``"back"``).

    Args:
        parts: the subscripts of the array's elements.
        suffix: what the names of the loops end in.
        constant: what the elements are known to hold before; None where they are read.
    """
    element = buffer.type.element_type
    loops: list[ir.Operation] = []
    fixed = [k for k in range(len(parts)) if k not in [d.position for d in dims]]
    rows = [row for k in fixed for row in outside_rows(parts[k].outer, buffer.type, k, ip.block)]
    if rows:
        # Conditions further inside keep the accesses within the array, not this loop.
        guard = make_guard(rows, location, ip)
        ip = ir.InsertionPoint(terminator(guard.regions[0].blocks[0]))
    for dim in dims:
        low, high = box_bounds(
            parts[dim.position].outer, dim.low, dim.extent, buffer.type, dim.position
        )
        made = make_loop(f"{dim.name}_{suffix}", low, high, loop.op.location, ip)
        loops.append(made)
        ip = inner_point(made)
    if loops:
        interval = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), 1)
        loops[-1].attributes["pipeline_ii"] = interval
    index = {
        d.position: (body_of(made).arguments[0], d.low) for d, made in zip(dims, loops, strict=True)
    }
    here = join_maps([linear_map([(body_of(made).arguments[0], 1)], 0) for made in loops])
    there = join_maps(
        [
            add_index(part.outer, *index.get(position, (None, 0)))
            for position, part in enumerate(parts)
        ]
    )
    if suffix == "back":
        value = load(row, here, name, location, ip)
        store(value, buffer.value, there, buffer.name, location, ip)
        _match_unrolling(loops, dims, suffix)
        return
    if constant is None:
        value = load(buffer.value, there, buffer.name, location, ip)
    else:
        made = ir.Operation.create(
            "arith.constant", results=[element], attributes={"value": constant}, loc=location, ip=ip
        )
        value = made.result
    store(value, row, here, name, location, ip)
    _match_unrolling(loops, dims, suffix)


def _match_unrolling(loops: Sequence[ir.Operation], dims: Sequence[BufferDim], suffix: str) -> None:
    """Copy as many elements at once as the compute loop takes: ``j_init``, ``j_init.inner`` unrolled."""
    if not loops:
        return
    op, dim = loops[-1], dims[-1]
    name = f"{dim.name}_{suffix}"
    spec = spec_of(op)
    extent = spec.trip_count()
    whole = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)
    if dim.rows and len(loops) > 1 and extent is not None and 1 < extent <= dim.lanes:
        loops[-2].attributes["pipeline_ii"] = op.attributes["pipeline_ii"]
        del op.attributes["pipeline_ii"]
        op.attributes["unroll"] = whole
        return
    if extent is None or not 1 < dim.lanes < extent:
        return
    outer, inner = split_loop(op, name, dim.lanes, 0, extent)
    outer.attributes["loop_name"] = ir.StringAttr.get(name)
    outer.attributes["pipeline_ii"] = inner.attributes["pipeline_ii"]
    del inner.attributes["pipeline_ii"]
    inner.attributes["unroll"] = whole
