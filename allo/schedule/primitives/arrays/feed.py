"""``feed``: an operand of a product passes from cell to cell of the nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    inner_point,
    is_affine_loop,
    is_loop,
    make_loop,
    parent_of,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map, constant_map, identity_map
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.buffers import (
    add_index,
    alloc,
    declared_attributes,
    fresh_name,
    join_maps,
    load,
    redirect,
    store,
)
from allo.schedule.bands import Band, bands_of
from allo.schedule.handles import Axis, Buffer, MockBuffer
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, FoundLoop, find_buffer, find_loop
from allo.schedule.state import ScheduleState

_BAND = "PE"


@dataclass(frozen=True, slots=True)
class _Flow:
    """How an operand goes through the nest.

    Attributes:
        own: the loop that has a stream of the operand for each of its iterations.
        axis: the loop along whose iterations, the cells, an element passes.
        steps: the innermost loop, an element of the stream for each of its iterations.
        loads: the reads of the operand.
    """

    own: ir.Operation
    axis: ir.Operation
    steps: ir.Operation
    loads: list[ir.Operation]


@primitive
def feed(s: ScheduleState, target: Buffer, axis: Axis) -> MockBuffer:
    """Let an operand of a product enter at one edge of the nest and pass from cell to cell along ``axis``.

    ::

        s.feed(s.A, "j")

                                                  for k, i:                       # load_A
                                                      A_fifo[i, 0, k] = A[i, k]
        for i, j, k:                              for i, j:                       # PE
            C[i, j] += A[i, k] * B[k, j]   ──▶        cell = C[i, j]
                                                      for k:
                                                          a = A_fifo[i, j, k]
                                                          A_fifo[i, j + 1, k] = a
                                                          cell += a * B[k, j]
                                                      C[i, j] = cell
                                                  for k, i:                       # drain_A
                                                      A_drain[i] = A_fifo[i, N, k]

    Each iteration of the two outer loops is a cell, a processing element. ``unfold`` makes the cells
    processes, and ``to`` with an axis makes the new array FIFOs between them.

    Returns:
        The handle of the new array, ``<target>_fifo``.

    Raises:
        ScheduleError: the nest is not that of a product with the sum innermost, or the operand has a
            subscript of ``axis``, or is written in the nest.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "feed")
    loop = find_loop(s.module, s.top_func_name, axis, "feed")
    if not is_operand(loop.band, buffer.value):
        raise _fail(
            loop,
            buffer,
            "it is no operand of a product in this nest",
            "three loops, one inside the other, add up products of arrays that each have two of "
            "their indices as subscripts.",
        )
    return feed_along(s, loop, buffer)


def is_operand(band: Band, array: ir.Value) -> bool:
    """Whether a nest is that of a product, and the array one of the operands.

    Three loops then add up a sum, and each access of the array is a read with two of their indices
    as its subscripts.
    """
    loops = [op for _, op in band.loops]
    if len(loops) != 3 or not all(map(is_affine_loop, loops)):
        return False
    indices = [induction_variable(op) for op in loops]
    uses = [op for op in walk(band.root) if array in list(op.operands)]
    return bool(uses) and all(_reads_two(op, indices) for op in uses) and _adds_up(band.root)


def _reads_two(op: ir.Operation, indices: Sequence[ir.Value]) -> bool:
    if op.name != "affine.load":
        return False
    bound = bound_map(op)
    plain = all(isinstance(e, ir.AffineDimExpr) for e in bound.map.results)
    if not plain or len(bound.map.results) != 2 or len(bound.operands) != 2:
        return False
    return bound.operands[0] != bound.operands[1] and all(v in indices for v in bound.operands)


def _adds_up(nest: ir.Operation) -> bool:
    accesses = [op for op in walk(nest) if op.name in ("affine.load", "affine.store")]
    read = [(op.operands[0], bound_map(op)) for op in accesses if op.name == "affine.load"]
    return any(
        (op.operands[1], bound_map(op)) in read for op in accesses if op.name == "affine.store"
    )


def feed_along(
    s: ScheduleState, loop: FoundLoop, buffer: FoundBuffer, *, either: bool = False
) -> MockBuffer:
    """What :func:`feed` does with an operand that :func:`is_operand` knows.

    Args:
        either: the loop may also be the one that has a stream for each iteration.
    """
    flow = _flow(loop, buffer, either)
    effects = EffectAnalysis(s.module.operation)
    _check_accesses(loop, buffer, effects)
    root = loop.band.root
    if (string_attribute(root, "op_name") or "S_").startswith("S_") and _BAND not in [
        band.name for band in bands_of(loop.function)
    ]:
        root.attributes["op_name"] = ir.StringAttr.get(_BAND)
    _accumulate(loop, flow, effects)
    return MockBuffer(loop.func, _stream(loop, buffer, flow))


def _check_accesses(loop: FoundLoop, buffer: FoundBuffer, effects: EffectAnalysis) -> None:
    """Nothing but plain accesses, and no store to the operand by another name."""
    key = effects.memory_of(buffer.value).key
    for op in walk(loop.band.root):
        found = effects.effects_of(op)
        if found and op.name not in ("affine.load", "affine.store"):
            raise _fail(
                loop,
                buffer,
                f"{op.name} in its nest uses an array as a whole or by a subscript that is not affine",
                "a cell reads and writes single elements with affine subscripts.",
            )
        if any(e.writes and e.memory.key == key for e in found):
            raise _fail(
                loop,
                buffer,
                "its nest writes it by another name: a call passes the array twice",
                "give the function one parameter for it.",
            )


def _flow(loop: FoundLoop, buffer: FoundBuffer, either: bool) -> _Flow:
    loops = [op for _, op in loop.band.loops]
    outer, middle, inner = loops
    nested = [op for op in body_operations(middle) if is_loop(op)]
    if body_operations(outer) != [middle] or nested != [inner]:
        raise _fail(loop, buffer, "its nest is not one loop in another", "write allo.grid(M, N).")
    for op in loops:
        bounds = spec_of(op).constant_bounds()
        if bounds is None or bounds[0] != 0 or bounds[1] < 1 or spec_of(op).step != 1:
            raise _fail(
                loop,
                buffer,
                "a bound is no constant from 0",
                "every cell needs a place in hardware.",
            )
    if loop.op == inner:
        raise _fail(
            loop,
            buffer,
            "it is the innermost loop, whose steps each cell makes in turn",
            "name the loop along which the operand is used again.",
        )
    own, axis = (middle, outer) if loop.op == outer else (outer, middle)
    loads = [op for op in walk(inner) if buffer.value in list(op.operands)]
    if either and all(induction_variable(axis) in bound_map(op).operands for op in loads):
        own, axis = axis, own
    wanted = {induction_variable(own), induction_variable(inner)}
    if not loads or any(
        parent_of(op) != inner or set(bound_map(op).operands) != wanted for op in loads
    ):
        raise _fail(
            loop,
            buffer,
            "it is not subscripted by the innermost loop and the other outer one",
            "an operand that flows along a loop has no subscript of that loop; the sum is innermost.",
        )
    if any(bound_map(op) != bound_map(loads[0]) for op in loads):
        raise _fail(loop, buffer, "its accesses differ", "read one element of it an iteration.")
    return _Flow(own, axis, inner, loads)


def _fail(loop: FoundLoop, buffer: FoundBuffer, why: str, help: str) -> ScheduleError:
    return ScheduleError(
        f"feed: cannot let {buffer.name} flow along loop {loop.name}: {why}.",
        place_of(loop.op),
        help=help,
    )


def _accumulate(loop: FoundLoop, flow: _Flow, effects: EffectAnalysis) -> None:
    """What the innermost loop adds up is kept in a scalar of the cell."""
    variable = induction_variable(flow.steps)
    inside = [op for op in walk(flow.steps) if op.name in ("affine.load", "affine.store")]
    stored = [op for op in inside if op.name == "affine.store"]
    for op in stored:
        array = op.operands[1]
        key = effects.memory_of(array).key
        same = [o for o in inside if effects.effects_on(o, key)]
        bounds = [bound_map(o) for o in same]
        if not ir.MemRefType(array.type).rank or any(
            o.map != bounds[0].map or o.operands != bounds[0].operands for o in bounds
        ):
            continue
        if variable in bounds[0].operands or any(parent_of(o) != flow.steps for o in same):
            continue
        _keep(loop, flow, array, same, bounds[0])


def _keep(
    loop: FoundLoop, flow: _Flow, array: ir.Value, uses: Sequence[ir.Operation], at: BoundMap
) -> None:
    kind = ir.MemRefType(array.type)
    name = string_attribute(uses[0], "from") or string_attribute(uses[0], "to") or "sum"
    place = uses[0].location
    attributes = declared_attributes(loop.function, array)
    before = ir.InsertionPoint(flow.steps)
    label = fresh_name(loop.function, f"{name}_cell")
    cell = alloc(ir.MemRefType.get([], kind.element_type), label, attributes, place, before)
    scalar = identity_map(())
    store(_load(array, at, name, attributes, place, before), cell, scalar, label, place, before)
    after = ir.InsertionPoint.after(flow.steps)
    value = _load(cell, scalar, label, attributes, place, after)
    store(value, array, at, name, place, ir.InsertionPoint.after(value.owner.operation))
    for op in uses:
        redirect(op, cell, scalar, label)


def _load(
    array: ir.Value,
    at: BoundMap,
    name: str,
    attributes: dict[str, ir.Attribute],
    place: ir.Location,
    ip: ir.InsertionPoint,
) -> ir.Value:
    value = load(array, at, name, place, ip)
    if "unsigned" in attributes:
        value.owner.operation.attributes["unsigned"] = ir.UnitAttr.get()
    return value


def _stream(loop: FoundLoop, buffer: FoundBuffer, flow: _Flow) -> str:
    """Make the array, its loads and stores, and the nests at the two edges; its name."""
    root, place = loop.band.root, flow.loads[0].location
    lanes, cells, steps = (
        spec_of(op).trip_count() or 0 for op in (flow.own, flow.axis, flow.steps)
    )
    name = fresh_name(loop.function, f"{buffer.name}_fifo")
    drain = fresh_name(loop.function, f"{buffer.name}_drain")
    attributes = declared_attributes(loop.function, buffer.value)
    element = buffer.type.element_type
    start = ir.InsertionPoint(root)
    fifo = alloc(
        ir.MemRefType.get([lanes, cells + 1, steps], element), name, attributes, place, start
    )
    last = alloc(ir.MemRefType.get([lanes], element), drain, attributes, place, start)
    own, axis, step = (induction_variable(op) for op in (flow.own, flow.axis, flow.steps))
    old = bound_map(flow.loads[0])

    k, i, inner = _edge(flow, f"load_{buffer.name}", "load", place, start)
    at = BoundMap(old.map, tuple(k if v == step else i for v in old.operands))
    value = _load(buffer.value, at, buffer.name, attributes, place, inner)
    store(value, fifo, _index(i, constant_map(0), k), name, place, inner)

    k, i, inner = _edge(flow, f"drain_{buffer.name}", "drain", place, ir.InsertionPoint.after(root))
    value = _load(fifo, _index(i, constant_map(cells), k), name, attributes, place, inner)
    store(value, last, identity_map((i,)), drain, place, inner)

    first = redirect(flow.loads[0], fifo, _index(own, identity_map((axis,)), step), name)
    behind = add_index(identity_map((axis,)), None, 1)
    ahead = ir.InsertionPoint.after(first)
    store(first.result, fifo, _index(own, behind, step), name, place, ahead)
    for op in flow.loads[1:]:
        op.result.replace_all_uses_with(first.result)
        op.erase()
    return name


def _index(own: ir.Value, cell: BoundMap, step: ir.Value) -> BoundMap:
    return join_maps([identity_map((own,)), cell, identity_map((step,))])


def _edge(
    flow: _Flow, band: str, suffix: str, place: ir.Location, ip: ir.InsertionPoint
) -> tuple[ir.Value, ir.Value, ir.InsertionPoint]:
    """A nest over the steps and the lanes: its two indices and its inside."""
    names = [string_attribute(op, "loop_name") or "loop" for op in (flow.steps, flow.own)]
    counts = [spec_of(op).trip_count() or 0 for op in (flow.steps, flow.own)]
    attributes: dict[str, ir.Attribute] = {
        "op_name": ir.StringAttr.get(band),
        "pipeline_ii": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), 1),
    }
    outer = make_loop(f"{names[0]}_{suffix}", 0, counts[0], place, ip, attributes=attributes)
    inner = make_loop(f"{names[1]}_{suffix}", 0, counts[1], place, inner_point(outer))
    return induction_variable(outer), induction_variable(inner), inner_point(inner)
