"""``cut``: one loop becomes two that follow each other, each over a part of its range."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    build_loop,
    induction_variable,
    is_affine_loop,
    is_loop,
    move_body,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import constant_map
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.bands import bands_of
from allo.schedule.handles import Axis, LoopWrapper
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import FoundLoop, buffers_of, find_loop
from allo.schedule.state import ScheduleState

REST = ".rest"
"""What names of loops, nests and arrays of the second part end with."""


@primitive
def cut(s: ScheduleState, axis: Axis, at: int) -> LoopWrapper:
    """Divide a loop in two that follow each other: the first ends before ``at``, the second begins there.

    ::

        s.cut("i", 6)

        for i in range(10):            for i in range(6):
            for j in range(i):             for j in range(i):
                A[i, j] = …    ──▶             A[i, j] = …
                                       for i.rest in range(6, 10):
                                           for j.rest in range(i.rest):
                                               A[i.rest, j.rest] = …

    The order of iterations stays, so it is always legal. Each part can then have a schedule of its own: the
    short rows of a triangle need fewer units than the long ones.

    Returns:
        The handle of the second loop. An outermost loop becomes a nest of its own.

    Raises:
        ScheduleError: bounds that are not constants, or a place that is not inside the range.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "cut")
    place = place_of(loop.op)
    bounds = spec_of(loop.op).constant_bounds() if is_affine_loop(loop.op) else None
    if bounds is None:
        raise ScheduleError(
            f"cut {loop.name}: its bounds depend on other values.",
            place,
            help="cut needs constant bounds; cut the loop around it instead.",
        )
    step = spec_of(loop.op).step
    inside = range(bounds[0] + step, bounds[1], step)
    text = f"use a place from {inside[0]} to {inside[-1]}" if inside else "it has one iteration"
    text += f", in steps of {step}." if inside and step > 1 else "."
    at = check_integer(at, bounds[0] + step, f"cut {loop.name}: the place", text, place)
    if at not in inside:
        raise ScheduleError(
            f"cut {loop.name}: no iteration inside begins at {at}.", place, help=text
        )
    return _cut(s, loop, at)


def _cut(s: ScheduleState, loop: FoundLoop, at: int) -> LoopWrapper:
    nest = _nest_name(loop) if loop.band.root == loop.op else loop.band.name
    rest = loop.op.clone(ip=ir.InsertionPoint.after(loop.op)).operation
    _rename(loop, rest, nest)
    spec = spec_of(rest)
    _bounded(
        rest, LoopSpec(constant_map(at), spec.upper, spec.step, spec.attributes, spec.location)
    )
    spec = spec_of(loop.op)
    first = LoopSpec(spec.lower, constant_map(at), spec.step, spec.attributes, spec.location)
    _bounded(loop.op, first)
    return LoopWrapper(loop.func, nest, f"{loop.name}{REST}", s.module)


def _bounded(op: ir.Operation, spec: LoopSpec) -> None:
    """Rewrite a loop with other bounds."""
    made = build_loop(spec, ir.InsertionPoint(op))
    move_body(op, made)
    induction_variable(op).replace_all_uses_with(induction_variable(made))
    op.erase()


def _rename(loop: FoundLoop, rest: ir.Operation, nest: str) -> None:
    """Other names for the nest, the loops and the arrays of a copy."""
    if nest != loop.band.name:
        rest.attributes["op_name"] = ir.StringAttr.get(nest)
    taken = set(buffers_of(loop.function))
    for op in (rest, *walk(rest)):
        if is_loop(op):
            name = string_attribute(op, "loop_name") or "L"
            op.attributes["loop_name"] = ir.StringAttr.get(f"{name}{REST}")
        elif op.name in ("memref.alloc", "func.call"):
            _rename_array(op, taken)


def _nest_name(loop: FoundLoop) -> str:
    taken = {band.name for band in bands_of(loop.function)}
    name = f"{loop.band.name}{REST}"
    while name in taken:
        name += REST
    return name


def _rename_array(op: ir.Operation, taken: set[str]) -> None:
    """A free name for an array that is made in the copy, there and where it is accessed."""
    old = string_attribute(op, "name")
    if old is None or len(op.results) != 1:
        return
    name = f"{old}_rest"
    while name in taken:
        name += "_rest"
    taken.add(name)
    op.attributes["name"] = ir.StringAttr.get(name)
    for use in op.results[0].uses:
        for way in ("from", "to"):
            if string_attribute(use.owner, way) == old:
                use.owner.attributes[way] = ir.StringAttr.get(name)
