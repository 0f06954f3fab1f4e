"""Every ordered pair of primitives on small kernels: what applies, and what the program then does.

The reference interpreter checks every access against its array, reads and writes, and local arrays
hold garbage until they are written. Machine code runs on arrays with guard words around.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np

import allo
from allo.dialects._mlir import ir
from allo.dialects.core.partition import Partition
from allo.errors import ScheduleError
from allo.ir.types import int32
from allo.schedule import Schedule
from tests.interpreter import Machine

GUARD = 64
"""Guard words before and behind an array."""
CANARY = 0x5A5A5A5A

type Application = tuple[str, tuple[Any, ...]]


# --- kernels, with their arguments ---------------------------------------------------------------


def column_sums(A: int32[6, 7], T: int32[4, 7]):
    for i in range(4):
        for j in range(7):
            v: int32 = 0
            for q in allo.reduction(3):
                v += A[i + q, j]
            T[i, j] = v


def convolution(A: int32[6, 7], F: int32[3, 3], B: int32[4, 5]):
    for y, x in allo.grid(4, 5):
        for r, c in allo.reduction(3, 3):
            B[y, x] += A[y + r, x + c] * F[r, c]


def product(A: int32[5, 3], B: int32[3, 7], C: int32[5, 7]):
    for i, j in allo.grid(5, 7):
        for k in allo.reduction(3):
            C[i, j] += A[i, k] * B[k, j]


def guarded(A: int32[6, 5], C: int32[4, 5]):
    for i in range(6):
        for k in allo.reduction(3):
            for j in range(5):
                if i > 1:
                    C[i - 2, j] += A[i, j] * (k + 1)


def bordered(A: int32[7, 7], B: int32[7, 7]):
    for y, x in allo.grid(7, 7):
        if y > 0 and y < 6 and x > 0 and x < 6:
            for r in allo.reduction(3):
                B[y, x] += A[y + r - 1, x] + A[y, x + r - 1]


def stages(A: int32[7, 6], D: int32[7, 6]):
    B: int32[7, 6]
    C: int32[7, 6]
    for i, j in allo.grid(7, 6, name="first"):
        B[i, j] = A[i, j] * 3
    for i1, j1 in allo.grid(7, 6, name="second"):
        C[i1, j1] = B[i1, j1] + A[i1, j1]
    for i2, j2 in allo.grid(7, 6, name="third"):
        D[i2, j2] = C[i2, j2] - B[i2, j2]


def blurred(A: int32[7, 7], C: int32[5, 5]):
    B: int32[5, 7]
    for y, x in allo.grid(5, 7, name="down"):
        v: int32 = 0
        for r in allo.reduction(3):
            v += A[y + r, x]
        B[y, x] = v
    for y1, x1 in allo.grid(5, 5, name="across"):
        w: int32 = 0
        for c in allo.reduction(3):
            w += B[y1, x1 + c]
        C[y1, x1] = w


def triangle(L: int32[6, 6], x: int32[6], y: int32[6]):
    for i in range(6):
        for j in range(i):
            y[i] += L[i, j] * x[j]


KERNELS: tuple[Callable[..., None], ...] = (
    column_sums,
    convolution,
    product,
    guarded,
    bordered,
    stages,
    blurred,
    triangle,
)


def arguments(kernel: Callable[..., None]) -> list[np.ndarray]:
    """Arrays of numbers that tell the elements apart."""
    rng = np.random.default_rng(5)
    kinds = [a for a in kernel.__annotations__.values() if a is not None]
    return [rng.integers(-99, 99, kind.shape).astype(np.int32) for kind in kinds]


# --- what may be applied --------------------------------------------------------------------------


def applications(s: Schedule) -> Iterator[Application]:
    """Every call of a primitive on what the schedule holds now, with few values of its numbers."""
    bands = [[loop for _, loop in band] for _, band in s.get_loops()]
    arrays = list(_buffers(s))
    for loops in bands:
        for loop in loops:
            yield "split", (loop, 2)
            yield "split", (loop, 3)
            yield "cut", (loop, 2)
            yield "sink", (loop,)
            yield "unroll", (loop, 0)
            yield "unroll", (loop, 2)
            yield "pipeline", (loop,)
            yield "interleave", (loop, 2)
            yield "interleave", (loop, 3)
            yield "rebalance", (loop,)
            yield "constant_multiply", (loop,)
            yield "accumulate", (loop, True)
            yield "bind", ("mul", "packed", loop)
            for array in arrays:
                yield "buffer_at", (array, loop)
                yield "cache", (array, loop)
                yield "reuse_at", (array, loop)
        for first, second in combinations(loops, 2):
            yield "reorder", (second, first)
            yield "fuse", (first, second)
            yield "skew", (first, second)
    for above, below in permutations(bands, 2):
        for loop in above:
            for other in below:
                yield "compute_at", (loop, other)
    for array in arrays:
        yield "partition", (array, Partition.Cyclic, 1, 2)
        yield "partition", (array,)
        kind = _type_of(s, array)
        if kind.rank == 2:
            yield "reshape", (array, tuple(reversed(kind.shape)))


def _buffers(s: Schedule) -> Iterator[Any]:
    from allo.schedule.resolve import buffers_of

    for name, value in buffers_of(s.top_func).items():
        if isinstance(value.type, ir.MemRefType) and ir.MemRefType(value.type).rank:
            yield getattr(s, name)


def _type_of(s: Schedule, buffer: Any) -> ir.MemRefType:
    from allo.schedule.resolve import buffers_of

    return ir.MemRefType(buffers_of(s.top_func)[buffer.name].type)


def apply(s: Schedule, call: Application) -> bool:
    """Apply a primitive; False where it is refused."""
    name, args = call
    try:
        getattr(s, name)(*args)
    except ScheduleError:
        return False
    return True


# --- what the program does ------------------------------------------------------------------------


class Strict(Machine):
    """An interpreter in which local arrays hold garbage until they are written."""

    def memref_alloc(self, op: ir.Operation, env: dict[Any, Any]) -> None:
        super().memref_alloc(op, env)
        env[op.result][...] = CANARY


def interpreted(s: Schedule, args: list[np.ndarray]) -> list[np.ndarray]:
    """Every array after a run in the interpreter; it raises where an access leaves its array."""
    shapes = [ir.MemRefType(a.type).shape for a in s.top_func.regions[0].blocks[0].arguments]
    given = [
        np.array(a.ravel().tolist(), object).reshape(shape)
        for a, shape in zip(args, shapes, strict=True)
    ]
    with s.module.context:
        Strict(s.module).call(s.top_func_name, given)
    return [g.astype(np.int32).reshape(a.shape) for g, a in zip(given, args, strict=True)]


def compiled(s: Schedule, args: list[np.ndarray], **options: Any) -> list[np.ndarray]:
    """Every array after a run of machine code; it raises where a guard word has changed."""
    shapes = [ir.MemRefType(a.type).shape for a in s.top_func.regions[0].blocks[0].arguments]
    memory = [np.full(a.size + 2 * GUARD, CANARY, np.int32) for a in args]
    given = []
    for cells, array, shape in zip(memory, args, shapes, strict=True):
        view = cells[GUARD : GUARD + array.size].reshape(shape)
        view[...] = array.reshape(shape)
        given.append(view)
    s.build(**options)(*given)
    for cells in memory:
        around = np.concatenate([cells[:GUARD], cells[-GUARD:]])
        np.testing.assert_array_equal(around, CANARY, "guard words were overwritten")
    return [g.reshape(a.shape) for g, a in zip(given, args, strict=True)]


def schedule_of(kernel: Callable[..., None]) -> Schedule:
    return allo.customize(kernel)
