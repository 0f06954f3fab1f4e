"""``cache``: keep what the iterations under a loop use of an array in a buffer on chip."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.cached import Cached
from allo.dialects.affine.loops import is_affine_loop, parent_of, terminator, walk
from allo.dialects.affine.maps import bound_map
from allo.dialects.core.effects import EffectAnalysis, Key
from allo.dialects.core.fifos import STREAM_OPS
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError, SourcePlace
from allo.dialects.streams.loops.iterations import COPIES, copies_of
from allo.dialects.streams.processes import is_pure
from allo.schedule.analysis.buffers import (
    Part,
    alloc,
    declared_attributes,
    fresh_name,
    join_maps,
    redirect,
    scaled,
    sum_maps,
)
from allo.schedule.handles import Axis, Buffer, MockBuffer
from allo.schedule.primitive import primitive
from allo.schedule.primitives.arrays.footprint import Footprint, footprint
from allo.schedule.resolve import FoundBuffer, FoundLoop, find_buffer, find_loop
from allo.schedule.state import ScheduleState

from .copies import BufferDim, copy_nest

_ACCESSES = ("affine.load", "affine.store")
SMALL = 256
"""Elements of a buffer that fits anywhere."""


@primitive
def cache(
    s: ScheduleState, target: Buffer, at: Axis, double_buffer: bool | int = False, lanes: int = 1
) -> MockBuffer:
    """Keep the elements of ``target`` that an iteration of ``at`` uses in a local buffer.

    ::

        s.cache(s.A, at="i", double_buffer=True)

        for i in range(8):                 for i in range(8):                      # dataflow
            for r in range(4):                 A_cache: T[4, N]
                for j in range(N):             for A0_init, A1_init: A_cache[…] = A[4 * i + …, …]
                    … A[4 * i + r, j] …  ──▶   for r:
                                                   for j:
                                                       … A_cache[r, j] …

    The buffer is a box around the elements; dimensions in which they are one are left out. It is filled
    before the iteration, and written back behind it if the iteration stores to it; it is not filled where
    each iteration surely stores every element, and reads none before. The copies are pipelined with an
    interval of 1 and go through the array in row-major order.

    Args:
        at: the loop; its iterations each have a buffer.
        double_buffer: mark the loop ``dataflow``: one iteration is filled and another one written back while
            a third one runs. The buffer then has two copies, which iterations take in turn, or as many as a
            number says: with 4, up to three iterations are filled ahead of the one that runs.
        lanes: neighbours along the last dimension that a copy takes in a cycle; the array and the buffer
            then need as many banks.

    Returns:
        The handle of the buffer, ``<target>_cache``.

    A build for hardware refuses buffers that are larger than the device, and names a loop at which they fit.

    Raises:
        ScheduleError: ``target`` is not used under the loop, or by a subscript that data decide, by an
            operation on the whole array or by another name; the loop holds operations of streams.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "cache")
    loop = find_loop(s.module, s.top_func_name, at, "cache")
    _check_place(loop, buffer, lanes)
    if isinstance(double_buffer, bool):
        copies = 2 if double_buffer else 0
    elif isinstance(double_buffer, int) and double_buffer >= 2:
        copies = double_buffer
    else:
        raise ScheduleError(
            f"cache: double_buffer is {double_buffer!r}, which is no number of buffers.",
            place_of(loop.op),
            help="give True for two buffers that iterations take in turn, or their number: 2 or more; "
            "leave it out for one.",
        )
    effects = EffectAnalysis(s.module.operation)
    accesses = _accesses(effects, loop, buffer)
    shape = [buffer.type.get_dim_size(d) for d in range(buffer.type.rank)]
    key = effects.memory_of(buffer.value).key
    found = footprint(effects, key, loop.op, shape)
    if found is None:
        raise _fail(loop, buffer, "no iteration of it uses an element", "choose a loop that runs.")
    _check_parallel(loop, buffer, found)
    name = fresh_name(loop.function, f"{buffer.name}_cache")
    inside = _smaller(effects, key, loop, accesses, shape) if found.elements > SMALL else {}
    _rewrite(loop, buffer, accesses, found, name, lanes)
    row = find_buffer(s.module, s.top_func_name, MockBuffer(loop.func, name), "cache").value
    Cached(buffer.name, loop.name, inside).note(row.owner.operation)
    if copies:
        loop.op.attributes["dataflow"] = ir.UnitAttr.get()
        if (most := max(copies, copies_of(loop.op))) > 2:
            kind = ir.IntegerType.get_signless(32)
            loop.op.attributes[COPIES] = ir.IntegerAttr.get(kind, most)
    return MockBuffer(loop.func, name)


def _smaller(
    effects: EffectAnalysis,
    key: Key,
    loop: FoundLoop,
    accesses: Sequence[ir.Operation],
    shape: Sequence[int],
) -> dict[str, int]:
    """The elements that a buffer at each loop inside would have, where the array can be cached there."""
    inside: dict[str, int] = {}
    for name, op in loop.band.loops:
        within = set(walk(op))
        if op == loop.op or op not in walk(loop.op) or not within & set(accesses):
            continue
        if not is_affine_loop(op) or any(
            mark in op.attributes for mark in ("pipeline_ii", "unroll")
        ):
            break
        if (found := footprint(effects, key, op, shape)) is not None:
            inside[name] = found.elements
    return inside


def _fail(
    loop: FoundLoop, buffer: FoundBuffer, why: str, help: str, place: SourcePlace | None = None
) -> ScheduleError:
    return ScheduleError(
        f"cache: cannot keep what loop {loop.name} uses of {buffer.name}: {why}.",
        place or place_of(loop.op),
        help=help,
    )


def _check_place(loop: FoundLoop, buffer: FoundBuffer, lanes: int) -> None:
    if not is_affine_loop(loop.op):
        raise _fail(loop, buffer, "its bounds are not affine", "choose a loop of affine bounds.")
    if buffer.function != loop.function:
        raise _fail(
            loop,
            buffer,
            f"the array is of function {buffer.func}, the loop of {loop.func}",
            "name both in one function.",
        )
    if not isinstance(buffer.value.type, ir.MemRefType) or not buffer.type.rank:
        raise _fail(loop, buffer, "it is no array", "name an array.")
    if not isinstance(buffer.value.owner, ir.Block) and buffer.value.owner.operation in walk(
        loop.op
    ):
        raise _fail(
            loop,
            buffer,
            "the loop declares it, so each iteration has an array of its own",
            "choose a loop inside, behind the declaration.",
        )
    if any(buffer.type.is_dynamic_dim(d) for d in range(buffer.type.rank)):
        raise _fail(loop, buffer, "its extents are not known", "give it extents.")
    if isinstance(lanes, bool) or not isinstance(lanes, int) or lanes < 1:
        raise ScheduleError(
            f"cache: lanes is {lanes!r}.",
            place_of(loop.op),
            help="it is how many elements a copy takes in a cycle: 1 or more.",
        )
    around: ir.Operation | None = loop.op
    while around is not None and around.name != "func.func":
        if any(mark in around.attributes for mark in ("pipeline_ii", "unroll")):
            raise _fail(
                loop,
                buffer,
                "it is in a pipelined or unrolled loop, and copies would be unrolled with it",
                "choose a loop around that one.",
            )
        around = parent_of(around)
    if any(op.name in STREAM_OPS for op in walk(loop.op)):
        raise _fail(
            loop,
            buffer,
            "it puts to or gets from streams, which may order its accesses with those of other processes",
            "choose a loop without them.",
        )


def _accesses(effects: EffectAnalysis, loop: FoundLoop, buffer: FoundBuffer) -> list[ir.Operation]:
    """The loads and stores of the array under the loop, if it is used by nothing else there."""
    key = effects.memory_of(buffer.value).key
    found: list[ir.Operation] = []
    for op in walk(loop.op):
        touching = effects.effects_on(op, key)
        if not touching or op.regions:
            continue
        if op.name in ("memref.load", "memref.store"):
            subscripts = list(op.operands)[2 if op.name == "memref.store" else 1 :]
            by_data = any(map(_is_data, subscripts))
            why = "depends on data" if by_data else "is not linear in the counters of loops"
            raise _fail(
                loop,
                buffer,
                f"a subscript {why}, so which elements it uses is not known before",
                "cache it at a loop without that access."
                if by_data
                else "only sums of counters times constants have a footprint that can be told.",
                place_of(op),
            )
        if op.name not in _ACCESSES or any(e.value != buffer.value for e in touching):
            raise _fail(
                loop,
                buffer,
                f"{op.name} uses it as a whole or by another name",
                "only accesses of elements by affine subscripts can be redirected.",
                place_of(op),
            )
        found.append(op)
    if not found:
        raise _fail(loop, buffer, "it uses none", "choose a loop around its accesses.")
    return found


def _is_data(value: ir.Value) -> bool:
    """Whether a subscript is computed from elements of arrays, variables or scalar arguments."""
    if isinstance(value, ir.BlockArgument):
        return bool(value.owner.owner.name == "func.func")
    op = value.owner.operation
    return not is_pure(op) or any(map(_is_data, op.operands))


def _check_parallel(loop: FoundLoop, buffer: FoundBuffer, found: Footprint) -> None:
    """Iterations at once must not write back what others store."""
    around: ir.Operation | None = loop.op
    while found.stored and around is not None and around.name != "func.func":
        if "parallel" in around.attributes:
            raise _fail(
                loop,
                buffer,
                "iterations that run in parallel would write back elements that others store",
                "cache arrays that are stored before s.parallel.",
            )
        around = parent_of(around)


def _rewrite(
    loop: FoundLoop,
    buffer: FoundBuffer,
    accesses: Sequence[ir.Operation],
    found: Footprint,
    name: str,
    lanes: int,
) -> None:
    rank = buffer.type.rank
    kept = [d for d in range(rank) if found.sides[d].extent > 1] or [rank - 1]
    kind = ir.MemRefType.get([found.sides[d].extent for d in kept], buffer.type.element_type)
    block = loop.op.regions[0].blocks[0]
    location = accesses[0].location
    row = alloc(
        kind,
        name,
        declared_attributes(loop.function, buffer.value),
        location,
        ir.InsertionPoint.at_block_begin(block),
    )
    for op in accesses:
        own = bound_map(op)
        subscripts = [own.alone(expr) for expr in own.map.results]
        moved = [sum_maps(subscripts[d], scaled(found.sides[d].low, -1, 0)) for d in kept]
        redirect(op, row, join_maps(moved), name)
    parts = [Part(side.low, ()) for side in found.sides]
    last = kept[-1]
    dims = [
        BufferDim(d, 0, found.sides[d].extent, f"{buffer.name}{d}", lanes if d == last else 1, True)
        for d in kept
    ]
    start, end = ir.InsertionPoint(block.operations[1]), ir.InsertionPoint(terminator(block))
    if found.kept:
        copy_nest(loop, buffer, row, name, parts, dims, "init", None, location, start)
    if found.stored:
        copy_nest(loop, buffer, row, name, parts, dims, "back", None, location, end)
