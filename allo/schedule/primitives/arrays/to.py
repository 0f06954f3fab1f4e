"""``to``: an array between a producer and a consumer becomes a FIFO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.isl import isl
from allo.dialects.affine.loops import walk
from allo.dialects.affine.model import Model, Statement
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of
from allo.dialects.diagnostics import IllegalTransformError, ScheduleError, SourcePlace
from allo.dialects.streams.space import StreamSpace
from allo.schedule.analysis.fork import fork
from allo.schedule.analysis.link import link, mark
from allo.schedule.analysis.private import check_private
from allo.schedule.analysis.settle import drop_initial_fill, drop_own_fill, end_of, hoist_reads
from allo.schedule.bands import bands_of
from allo.schedule.handles import Buffer, Consumer
from allo.schedule.near import suggestion
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import FoundBuffer, find_buffer
from allo.schedule.state import ScheduleState


@dataclass(frozen=True, slots=True)
class Side:
    """One end of the FIFO: its nest or call, and element-to-time of its accesses."""

    op: ir.Operation
    order: isl.UnionMap
    count: int


@primitive
def to(
    s: ScheduleState,
    target: Buffer,
    dst: Consumer | Sequence[int],
    axis: int | None = None,
    depth: int = -1,
) -> None:
    """Turn an array that is written once in order and read once in the same order into a FIFO.

    ::

        s.to(s.X, "consumer", depth=4)

        X: int32[32]                   memref<32xi32, "stream:4">, the function runs as dataflow
        producer(A, X)          ──▶    producer(A, X)     # X.write(…)
        consumer(X, B)                 consumer(X, B)     # X.read()

    An initial fill that the producer only reads back goes, and the consumer reads each element
    once, outside the loops that do not move over the array. Where a nest writes for several
    consumers, ``dst`` gets an array of its own, ``<array>_<dst>``, which the nest writes too: one
    ``to`` for each consumer. What a CPU computes is unchanged.

    With ``axis`` the array becomes FIFOs between unfolded processes::

        pe = s.unfold("PE", [0, 1])
        s.to(s.A_fifo, pe, axis=1, depth=5)

        A_fifo: int8[4, 5, 8]                    memref<4x5x8xi8, "stream:5;SST">
        PE(i, j) reads A_fifo[i, j, :]   ──▶     A_fifo[i, j] is a FIFO from PE(i, j - 1) to PE(i, j)
            and writes A_fifo[i, j + 1, :]

    Args:
        target: the array.
        dst: name of the consuming band or function, or the id of the instance that is called
            (``kernel["id"](…)``); with ``axis`` the list ``unfold`` returned.
        axis: the unfolded axis along which elements pass from process to process.
        depth: elements a FIFO holds; -1 for all of them.

    Raises:
        IllegalTransformError: an element is written or read more than once, or in another order; the
            FIFOs lead along another axis, or are so small that the processes wait for ever.
        ScheduleError: no single producer and consumer, the array is seen outside its function, or
            ``dst`` and ``axis`` do not fit the processes.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "to")
    place = place_of(buffer.value.location)
    if axis is not None:
        check_private(buffer, place)
        link(s, buffer, dst, axis, depth)
        return
    if not buffer.type.has_static_shape:
        raise ScheduleError(
            f"to {buffer.name}: its extents are not all known.",
            place,
            help="declare its shape with numbers.",
        )
    elements = prod(buffer.type.shape)
    if depth != -1:
        depth = check_integer(depth, 1, f"to {buffer.name}: the depth", "or -1 for all.", place)
    _settle(s, buffer, dst, place)
    buffer = _own_array(s, buffer, dst, place)
    producer, consumer = _ends(s, buffer, dst, place)
    check_private(buffer, place)
    _check_order(buffer, producer, consumer, elements, place)
    mark(s.module, buffer, StreamSpace(elements if depth == -1 else depth))
    buffer.function.attributes["dataflow"] = ir.UnitAttr.get()


def _settle(s: ScheduleState, buffer: FoundBuffer, dst: Any, place: SourcePlace | None) -> None:
    """Drop an initial fill the producer can do without; read each element once in the consumer."""
    effects = EffectAnalysis(s.module.operation)
    key = effects.memory_of(buffer.value).key
    touching = [
        op.operation
        for op in buffer.function.regions[0].blocks[0].operations
        if op.operation.name != "func.return" and _touches(op.operation, effects, key)
    ]
    for op in touching:
        if op.name == "func.call" and _times_called(s, op) > 1:
            name = callee_of(op)
            raise ScheduleError(
                f"to {buffer.name}: function {name} is called more than once, so its argument "
                "cannot be a FIFO in one call only.",
                place_of(op) or place,
                help=f'give this call an instance of its own: {name}["id"](…).',
            )
    consumer = _named(s, buffer, dst, place)
    if consumer in touching:
        hoist_reads(s.module, end_of(s.module, consumer, buffer.value))
    if len(touching) > 2 and touching[0].name == "linalg.fill":
        drop_initial_fill(s.module, touching[0], end_of(s.module, touching[1], buffer.value))
        del touching[0]
    producer = touching[0] if touching else None
    if producer is not None and producer.name == "func.call" and producer != consumer:
        drop_own_fill(s.module, end_of(s.module, producer, buffer.value))


def _times_called(s: ScheduleState, call: ir.Operation) -> int:
    callee = callee_of(call)
    calls = (op for op in walk(s.module.operation) if op.name == "func.call")
    return sum(callee_of(op) == callee for op in calls)


def _ends(
    s: ScheduleState, buffer: FoundBuffer, dst: Any, place: SourcePlace | None
) -> tuple[Side, Side]:
    writers, readers = _writers_and_readers(s, buffer)
    wanted = _named(s, buffer, dst, place)
    if wanted not in readers:
        raise ScheduleError(
            f"to {buffer.name}: {dst} does not read the array.", place, help="name its consumer."
        )
    if len(writers) != 1 or len(readers) != 1 or writers == readers:
        raise ScheduleError(
            f"to {buffer.name}: a FIFO needs one producer and one consumer, the array has "
            f"{len(writers)} writers and {len(readers)} readers at the top of {buffer.func}.",
            place,
            help="leave out initialisation of the array, and give each consumer an array of its own.",
        )
    if not writers[0].is_before_in_block(readers[0]):
        raise ScheduleError(
            f"to {buffer.name}: {dst} reads the array before it is written.",
            place_of(readers[0]) or place,
            help="a FIFO leads from a producer to a later consumer.",
        )
    return _side(s, buffer, writers[0], True), _side(s, buffer, readers[0], False)


def _writers_and_readers(
    s: ScheduleState, buffer: FoundBuffer
) -> tuple[list[ir.Operation], list[ir.Operation]]:
    effects = EffectAnalysis(s.module.operation)
    key = effects.memory_of(buffer.value).key
    writers: list[ir.Operation] = []
    readers: list[ir.Operation] = []
    for child in buffer.function.regions[0].blocks[0].operations:
        op = child.operation
        touched = _touches(op, effects, key)
        if True in touched:
            writers.append(op)
        if False in touched:
            readers.append(op)
    return writers, readers


def _own_array(
    s: ScheduleState, buffer: FoundBuffer, dst: Any, place: SourcePlace | None
) -> FoundBuffer:
    """The array ``dst`` reads: one of its own where a nest writes it for several consumers."""
    writers, readers = _writers_and_readers(s, buffer)
    wanted = _named(s, buffer, dst, place)
    if len(writers) != 1 or len(readers) < 2 or wanted not in readers or writers[0] in readers:
        return buffer
    return fork(buffer, writers[0], wanted, str(dst)) or buffer


def _touches(op: ir.Operation, effects: EffectAnalysis, key: Any) -> set[bool]:
    found: set[bool] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.update(effect.writes for effect in effects.effects_on(inner.operation, key))
        return ir.WalkResult.ADVANCE

    op.walk(lambda inner: visit(inner.operation), ir.WalkOrder.PRE_ORDER)
    if op.name == "func.call" and any(
        r == key or effects.memory_of(r).key == key
        for r in op.results
        if isinstance(r.type, ir.MemRefType)
    ):
        found.add(True)
    return found


def _named(
    s: ScheduleState, buffer: FoundBuffer, dst: Any, place: SourcePlace | None
) -> ir.Operation:
    bands = {band.name: band.root for band in bands_of(buffer.function)}
    calls = {
        callee_of(op): op.operation
        for op in buffer.function.regions[0].blocks[0].operations
        if op.operation.name == "func.call"
    }
    infos = s.kernel.functions
    ids = {
        infos[name].instance_id: op
        for name, op in calls.items()
        if name in infos and infos[name].instance_id
    }
    known = ids | bands | calls
    found = known.get(dst) if isinstance(dst, str) else None
    if found is None:
        raise ScheduleError(
            f"to {buffer.name}: the destination {dst!r} is no band or callee of {buffer.func}.",
            place,
            help=suggestion(str(dst), known, f"{buffer.func} has"),
        )
    return found


def _side(s: ScheduleState, buffer: FoundBuffer, op: ir.Operation, writes: bool) -> Side:
    """Element to time of one end; of a call, within the callee."""
    effects = EffectAnalysis(s.module.operation)
    end = end_of(s.module, op, buffer.value)
    key = effects.memory_of(end.value).key
    model = Model(end.roots, effects)
    memory = model.memory_label(key)
    touching = [
        t
        for t in model.statements
        if any(a.memory == memory and a.writes == writes for a in t.accesses)
    ]
    others = [
        t
        for t in model.statements
        if any(a.memory == memory and a.writes != writes for a in t.accesses)
    ]
    if memory is None or others or any(not _exact(t, memory) for t in touching):
        word, other = ("writes", "reads") if writes else ("reads", "writes")
        raise IllegalTransformError(
            f"to {buffer.name}: the end that {word} it also {other} it, or uses subscripts that are "
            "not affine, so the order of its elements is not known.",
            place_of((others or touching or model.statements)[0].op) if model.statements else None,
            help="write each element once and read it once; accumulate in a local buffer "
            "(buffer_at) first.",
        )
    access = model.accesses(memory, writes)
    order = access.reverse().apply_range(model.schedule(only=touching))
    return Side(op, order, len(touching))


def _exact(statement: Statement, memory: str) -> bool:
    return all(
        a.subscripts is not None and not a.private for a in statement.accesses if a.memory == memory
    )


def _check_order(
    buffer: FoundBuffer, producer: Side, consumer: Side, elements: int, place: SourcePlace | None
) -> None:
    write, read = _single(producer.order), _single(consumer.order)
    for side, order, word in ((producer, write, "written"), (consumer, read, "read")):
        if not order.is_single_valued():
            raise IllegalTransformError(
                f"to {buffer.name}: an element is {word} more than once.",
                place_of(side.op) or place,
                help="a FIFO passes each element once; buffer the array where it is used again.",
            )
    if not write.domain().is_equal(read.domain()):
        raise IllegalTransformError(
            f"to {buffer.name}: the elements written are not exactly the elements read.",
            place_of(consumer.op) or place,
            help=f"write and read all {elements} elements.",
        )
    later = write.lex_lt_map(write).intersect(read.lex_ge_map(read))
    same = isl.Map.identity(later.get_space())
    wrong = later.subtract(same)
    if not wrong.is_empty():
        raise IllegalTransformError(
            f"to {buffer.name}: the consumer reads its elements in another order than the producer "
            "writes them.",
            place_of(consumer.op) or place,
            help="reorder the loops of one of the two.",
        )


def _single(order: isl.UnionMap) -> isl.Map:
    maps: list[isl.Map] = []
    order.foreach_map(maps.append)
    out = maps[0].set_tuple_name(isl.dim_type.in_, "element")
    for other in maps[1:]:
        out = out.union(other.set_tuple_name(isl.dim_type.in_, "element"))
    return out
