"""``sink``: a loop goes inside the loops of its body, which become one loop around it."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.bulk import expand_bulk
from allo.dialects.affine.dependence import find_violation
from allo.dialects.affine.loops import (
    LoopSpec,
    body_operations,
    build_loop,
    induction_variable,
    inner_point,
    is_affine_loop,
    move_body,
    spec_of,
    string_attribute,
)
from allo.dialects.affine.maps import identity_map
from allo.dialects.affine.model import Statement
from allo.dialects.affine.substitute import replace_index
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.legality import check_order, explain, model_of
from allo.schedule.analysis.shrink import shrink_inner_arrays
from allo.schedule.handles import Axis, LoopWrapper
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundLoop, find_loop
from allo.schedule.state import ScheduleState


@primitive
def sink(s: ScheduleState, axis: Axis) -> LoopWrapper:
    """Exchange a loop with those in its body, also where there are several: they become one loop around it.

    ::

        s.sink("i")

        for i in range(M):                     for j in range(N):
            for j in range(N):                     for i in range(M):
                for k in range(i):                     for k in range(i):
                    B[i, j] += A[i, k] * B[k, j]           B[i, j] += A[i, k] * B[k, j]
            for j1 in range(N):        ──▶              B[i, j] *= 2
                B[i, j1] *= 2

    Each iteration of the loop outside then does the same work, where those of a triangle's rows do not. An
    array that is made in the body shrinks to what an iteration needs. All elements keep their bits.

    Returns:
        The handle of the loop that is now outside; it is named as the first loop of the body.

    Raises:
        ScheduleError: the body holds other statements, or loops whose bounds are not the same constants.
        IllegalTransformError: a dependence would break.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "sink")
    what = f"sink {loop.name}"
    inner = _inner_loops(loop, what)
    _check_dependences(s, loop.op, inner, what)
    made = _exchange(loop.op, inner)
    shrink_inner_arrays(made)
    name = string_attribute(made[0], "loop_name") or "L"
    return LoopWrapper(loop.func, loop.band.name, name, s.module)


def _inner_loops(loop: FoundLoop, what: str) -> list[ir.Operation]:
    """The loops of the body, those that set an array included."""
    if not is_affine_loop(loop.op):
        raise ScheduleError(
            f"Cannot {what}: the bounds of the loop are not affine.",
            place_of(loop.op),
            help="loops are exchanged while their bounds are sums of iterators and numbers.",
        )
    written = [op for op in body_operations(loop.op) if is_affine_loop(op)]
    for op in body_operations(loop.op):
        if op.name == "linalg.fill":
            expand_bulk(op)
    found = []
    for op in body_operations(loop.op):
        if is_affine_loop(op):
            found.append(op)
        elif op.name not in ("memref.alloc", "arith.constant"):
            raise ScheduleError(
                f"Cannot {what}: its body holds a statement beside loops.",
                place_of(op),
                help="a loop goes inside where its body is made of loops; make the statement a loop, "
                "or move it out of the body.",
            )
    bounds = {(spec_of(op).constant_bounds(), spec_of(op).step) for op in found}
    if not written:
        raise ScheduleError(
            f"Cannot {what}: its body holds no loop.",
            place_of(loop.op),
            help="name a loop around others.",
        )
    if len(bounds) != 1 or any(constant is None for constant, _ in bounds):
        raise ScheduleError(
            f"Cannot {what}: the loops of its body do not have the same constant bounds.",
            place_of(written[-1]),
            help="the loops of the body become one, so that all of them need the same iterations.",
        )
    # The loop around them has the name of one that the user wrote.
    return [*written[:1], *(op for op in found if op != written[0])]


def _check_dependences(
    s: ScheduleState, loop: ir.Operation, inner: Sequence[ir.Operation], what: str
) -> None:
    """An iteration of the loops inside runs for all iterations of the loop, then the next one does."""
    model = model_of(s.module, [loop])
    times = [_exchanged(statement) for statement in model.statements]
    check_order(model, times, what, [loop, *inner])
    # What the body makes is made anew for each of these iterations: nothing may go from one to the next.
    made = [op for op in body_operations(loop) if op.name == "memref.alloc"]
    users = {use.owner.operation for op in made for use in op.result.uses}
    others = [each for each in model.statements if each.op not in users]
    ignored = [(a, b) for a in others for b in model.statements]
    ignored += [(b, a) for a, b in ignored]
    backwards = [_exchanged(statement, "-") for statement in model.statements]
    violation = find_violation(model, backwards, ignored)
    if violation is not None:
        raise explain(violation, what, ())


def _exchanged(statement: Statement, sign: str = "") -> list[str]:
    """The new time of a statement, whose own is: place, loop, place, loop of the body, place, and so on."""
    time = statement.time()
    if len(time) < 5:
        return time
    return [time[0], f"{sign}{time[3]}", "0", time[1], time[2], *time[4:]]


def _exchange(loop: ir.Operation, inner: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The loop that is now outside, and the one inside it."""
    outside, inside = spec_of(inner[0]), spec_of(loop)
    label = inside.attributes.pop("op_name", None)
    attributes = {n: a for n, a in outside.attributes.items() if n != "op_name"}
    if label is not None:
        attributes["op_name"] = label
    first = LoopSpec(outside.lower, outside.upper, outside.step, attributes, outside.location)
    outer = build_loop(first, ir.InsertionPoint(loop))
    made = build_loop(inside, inner_point(outer))
    move_body(loop, made)
    induction_variable(loop).replace_all_uses_with(induction_variable(made))
    loop.erase()
    for op in inner:
        for each in body_operations(op):
            each.move_before(op)
        replace_index(induction_variable(op), identity_map([induction_variable(outer)]))
        op.erase()
    return [outer, made]
