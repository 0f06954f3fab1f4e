"""``compute_at``: compute a producer inside its consumer's loops."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    spec_of,
    string_attribute,
)
from allo.dialects.affine.maps import identity_map
from allo.dialects.affine.model import Statement
from allo.dialects.affine.substitute import replace_index
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.legality import check_order, model_of
from allo.schedule.analysis.shrink import shrink_private_arrays
from allo.schedule.handles import Axis
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundLoop, find_loop
from allo.schedule.state import ScheduleState


@primitive
def compute_at(s: ScheduleState, from_loop: Axis, target_loop: Axis) -> None:
    """Merge a producer's nest into its consumer's, down to ``target_loop``.

    ::

        s.compute_at(loops.B.j, loops.C.j)

        for i, j:  B[i, j] = f(A[i, j])            for i, j:
        for i, j:  C[i, j] = g(B[i, j])    ──▶         B[i, j] = f(A[i, j])
                                                       C[i, j] = g(B[i, j])

    The loops of both nests down to the target's depth must have equal bounds. An intermediate
    array that nothing else uses shrinks to what one iteration needs. The producer may be a nest that
    another producer was computed in: what stands before its inner loops goes first in the loops of
    the consumer, so calls for B at C and C at D make one nest::

        for i:                                     for i:
            for j:  B[j] = f(A[i, j])                  for j:  B[j] = f(A[i, j])
            for j:  C[i, j] = g(B[j])      ──▶         for j:
        for i, j:  D[i, j] = h(C[i, j])                    C = g(B[j])
                                                           D[i, j] = h(C)

    Args:
        from_loop: a loop of the producer's nest.
        target_loop: the consumer's loop to compute in.

    Raises:
        ScheduleError: the nests are not siblings, their loops do not match, or a loop of the
            producer is not the last operation of the one around it.
        IllegalTransformError: the merged order breaks a dependence.
    """
    producer = find_loop(s.module, s.top_func_name, from_loop, "compute_at")
    consumer = find_loop(s.module, s.top_func_name, target_loop, "compute_at")
    what = f"compute {producer.band.name} at loop {consumer.name} of {consumer.band.name}"
    first, second = producer.band.root, consumer.band.root
    _check_siblings(producer, consumer, what)
    target_chain = [*enclosing_loops(consumer.op), consumer.op]
    source_chain = _matching_chain(first, target_chain, what)
    _check_dependences(s, second, source_chain, target_chain, what)
    _merge(source_chain, target_chain)
    shrink_private_arrays(s.module, second, target_chain)


def _check_siblings(producer: FoundLoop, consumer: FoundLoop, what: str) -> None:
    first, second = producer.band.root, consumer.band.root
    if first == second:
        raise ScheduleError(
            f"Cannot {what}: both loops are of one nest.",
            place_of(first),
            help="name a loop of the producer's band and one of the consumer's.",
        )
    if first.block != second.block or not first.is_before_in_block(second):
        raise ScheduleError(
            f"Cannot {what}: the producer's nest does not stand before the consumer's in one block.",
            place_of(first),
            help="bring both nests into one function and block, the producer first.",
        )


def _matching_chain(
    first: ir.Operation, target_chain: Sequence[ir.Operation], what: str
) -> list[ir.Operation]:
    chain = [first]
    while len(chain) < len(target_chain):
        operations = body_operations(chain[-1])
        if not operations or not is_affine_loop(operations[-1]):
            raise ScheduleError(
                f"Cannot {what}: the producer's nest has no loop last in its body at depth "
                f"{len(chain)}.",
                place_of(chain[-1]),
                help="choose an outer loop of the consumer.",
            )
        chain.append(operations[-1])
    if not all(is_affine_loop(op) for op in (*chain, *target_chain)):
        raise ScheduleError(
            f"Cannot {what}: a loop's bounds are not affine.",
            place_of(first),
            help="loops are moved while their bounds are sums of iterators and numbers.",
        )
    for mine, theirs in zip(chain, target_chain, strict=True):
        a, b = spec_of(mine), spec_of(theirs)
        if (
            a.constant_bounds() is None
            or a.constant_bounds() != b.constant_bounds()
            or a.step != b.step
        ):
            names = [string_attribute(op, "loop_name") for op in (mine, theirs)]
            raise ScheduleError(
                f"Cannot {what}: loop {names[0]} of the producer and loop {names[1]} of the "
                "consumer do not have equal constant bounds.",
                place_of(mine),
                help="the iterations must correspond one to one down to the target loop.",
            )
    return chain


def _check_dependences(
    s: ScheduleState,
    second: ir.Operation,
    source_chain: Sequence[ir.Operation],
    target_chain: Sequence[ir.Operation],
    what: str,
) -> None:
    """The producer's instances run just before the consumer's of the same iteration.

    What stands before an inner loop of the producer runs first in the consumer's loop around it.
    """
    first = source_chain[0]
    between: list[ir.Operation] = []
    inside = False
    for child in first.block.operations:
        op = child.operation
        inside = inside or op == first
        if inside:
            between.append(op)
        if op == second:
            break
    model = model_of(s.module, between)
    path = _path(model.statements, target_chain)

    def new_time(statement: Statement) -> list[str]:
        time = statement.time()
        loops = [v.op for v in statement.loops]
        if loops and loops[0] == first:
            depth = sum(mine == op for mine, op in zip(loops, source_chain, strict=False))
            prefix = [x for k in range(depth) for x in (path[k], time[2 * k + 1])]
            return [*prefix, "-1", *time[2 * depth :]]
        return time

    times = [new_time(statement) for statement in model.statements]
    check_order(model, times, what, list(target_chain))


def _path(statements: Sequence[Statement], chain: Sequence[ir.Operation]) -> list[str]:
    """Positions of the chain's loops in the original times."""
    for statement in statements:
        if [v.op for v in statement.loops][: len(chain)] == list(chain):
            time = statement.time()
            return [time[2 * k] for k in range(len(chain))]
    return ["0"] * len(chain)


def _merge(source: Sequence[ir.Operation], target: Sequence[ir.Operation]) -> None:
    for number, (mine, theirs) in enumerate(zip(source, target, strict=True)):
        head = body_operations(theirs)[0]
        for op in body_operations(mine):
            if op not in source[number + 1 :]:
                op.move_before(head)
    for mine, theirs in zip(source, target, strict=True):
        replace_index(induction_variable(mine), identity_map([induction_variable(theirs)]))
    source[0].erase()
