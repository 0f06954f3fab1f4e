"""``reorder``: permute the loops of a perfect nest."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    body_of,
    build_loop,
    enclosing_loops,
    induction_variable,
    inner_point,
    is_affine_loop,
    perfect_chain,
    spec_of,
    string_attribute,
    terminator,
)
from allo.dialects.affine.maps import BoundMap
from allo.dialects.affine.model import Statement
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.legality import check_order, model_of
from allo.schedule.analysis.rebound import rebound
from allo.schedule.handles import Axis
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundLoop, find_loop
from allo.schedule.state import ScheduleState


@primitive
def reorder(s: ScheduleState, *axes: Axis) -> None:
    """Permute loops of a perfect nest: the named loops take, in the given order, the positions they occupy.

    ::

        s.reorder("k", "j")

        for i:                          for i:
            for j:                          for k:
                for k:          ──▶             for j:
                    C[i, j] += …                    C[i, j] += …

    A loop whose bounds depend on another, as in a triangle or after ``skew``, may move outside it: its bounds
    then cover all values it takes, and the other loop runs over those that meet its value.

    Legal when every dependence keeps its direction. An integer accumulation may run in any order;
    a floating-point one onto the same element only over loops declared with ``allo.reduction``.

    Raises:
        ScheduleError: fewer than two loops, a loop named twice, loops of different bands, a nest
            that is not perfect, or bounds that depend on a loop moved inside and are not linear.
        IllegalTransformError: a dependence would break.
    """
    if len(axes) < 2:
        raise ScheduleError(
            f"reorder needs at least two loops, got {len(axes)}.",
            help='name them from the new outermost inwards: s.reorder("k", "j").',
        )
    found = [find_loop(s.module, s.top_func_name, axis, "reorder") for axis in axes]
    _check_same_band(found)
    named = [f.op for f in found]
    what = f"reorder {', '.join(f.name for f in found)}"
    by_depth = sorted(named, key=lambda op: len(enclosing_loops(op)))
    chain = _chain(by_depth, what)
    if by_depth == named:
        return
    order = iter(named)
    wanted = [next(order) if op in named else op for op in chain]
    bounds = _new_bounds(wanted, what)
    _check_dependences(s, chain, wanted, what)
    permute(chain, wanted, bounds)


def _check_same_band(found: Sequence[FoundLoop]) -> None:
    first = found[0]
    for number, other in enumerate(found[1:], 1):
        if other.op in [f.op for f in found[:number]]:
            raise ScheduleError(
                f"reorder: loop {other.name} is named twice.",
                place_of(other.op),
                help="name each loop once.",
            )
        if other.band.root != first.band.root:
            raise ScheduleError(
                f"reorder: loops {first.name} and {other.name} are of different bands "
                f"({first.func}:{first.band.name} and {other.func}:{other.band.name}).",
                place_of(other.op),
                help="name loops of one nest.",
            )


def _chain(by_depth: Sequence[ir.Operation], what: str) -> list[ir.Operation]:
    chain = perfect_chain(by_depth[0], by_depth[-1])
    if chain is not None and all(op in chain for op in by_depth):
        affine = [op for op in chain if not is_affine_loop(op)]
        if affine:
            raise ScheduleError(
                f"Cannot {what}: loop {string_attribute(affine[0], 'loop_name')} has bounds that "
                "are not affine.",
                place_of(affine[0]),
                help="loops are exchanged while their bounds are sums of iterators and numbers.",
            )
        return chain
    outer = string_attribute(by_depth[0], "loop_name")
    inner = string_attribute(by_depth[-1], "loop_name")
    raise ScheduleError(
        f"Cannot {what}: the nest from {outer} to {inner} is not perfect.",
        place_of(by_depth[0]),
        help="between the two loops there may be other loops but no other statement; move the "
        "statements out, for example by an initialisation loop of their own.",
    )


def _new_bounds(wanted: Sequence[ir.Operation], what: str) -> list[tuple[BoundMap, BoundMap]]:
    """The bounds of the loops in their new order: those they have where none depends on a loop inside."""
    kept = [(spec_of(op).lower, spec_of(op).upper) for op in wanted]
    moved = _dependent(wanted)
    if not moved:
        return kept
    found = rebound(wanted)
    if found is not None:
        return found
    op, by = moved[0]
    fixed, outside = (string_attribute(x, "loop_name") for x in (op, by))
    raise ScheduleError(
        f"Cannot {what}: the bounds of loop {fixed} depend on loop {outside}, which "
        "would move inside it, and are not linear with steps of 1.",
        place_of(op),
        help=f"keep {outside} outside {fixed}.",
    )


def _dependent(wanted: Sequence[ir.Operation]) -> list[tuple[ir.Operation, ir.Operation]]:
    """Each loop whose bounds depend on one that shall stand inside it, with that one."""
    found = []
    for position, op in enumerate(wanted):
        used = [*spec_of(op).lower.operands, *spec_of(op).upper.operands]
        found += [(op, by) for by in wanted[position + 1 :] if induction_variable(by) in used]
    return found


def _check_dependences(
    s: ScheduleState, chain: Sequence[ir.Operation], wanted: Sequence[ir.Operation], what: str
) -> None:
    model = model_of(s.module, [chain[0]])
    order = [chain.index(op) for op in wanted]

    def new_time(statement: Statement) -> list[str]:
        time = statement.time()
        out = list(time)
        for position, source in enumerate(order):
            out[2 * position + 1] = time[2 * source + 1]
        return out

    changed = [a for a, b in zip(chain, wanted, strict=True) if a != b]
    times = [new_time(statement) for statement in model.statements]
    check_order(model, times, what, changed)


def permute(
    chain: Sequence[ir.Operation],
    wanted: Sequence[ir.Operation],
    bounds: Sequence[tuple[BoundMap, BoundMap]],
) -> None:
    """Rebuild a perfect nest with its loops in another order; the band's name stays outermost."""
    specs = [spec_of(op) for op in wanted]
    labels = [_label(op) for op in chain]
    body = body_of(chain[-1])
    made: list[ir.Operation] = []
    point = ir.InsertionPoint(chain[0])
    for spec, label, (lower, upper) in zip(specs, labels, bounds, strict=True):
        attributes = {n: a for n, a in spec.attributes.items() if n != "op_name"}
        if label is not None:
            attributes["op_name"] = label
        loop = build_loop(LoopSpec(lower, upper, spec.step, attributes, spec.location), point)
        made.append(loop)
        point = inner_point(loop)
    end = terminator(body_of(made[-1]))
    for op in list(body.operations)[:-1]:
        op.operation.move_before(end)
    for old, new in zip(wanted, made, strict=True):
        induction_variable(old).replace_all_uses_with(induction_variable(new))
    chain[0].erase()


def _label(op: ir.Operation) -> ir.Attribute | None:
    return op.attributes["op_name"] if "op_name" in op.attributes else None  # noqa: SIM401
