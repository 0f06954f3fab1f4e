"""Arrays that ``s.to`` made FIFOs: what enters them, and what leaves them, keeps its order.

In an array any element can be read at any time, so two reads may change places. In a FIFO they may
not: the next read takes what was written next.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from allo.dialects._mlir import ir
from allo.dialects.affine.dependence import Violation, witness
from allo.dialects.affine.model import Model, Statement
from allo.dialects.streams.space import StreamSpace, stream_space

FIRST_IN_FIRST_OUT = "first-in-first-out"
"""The kind of the dependence between two writes, and between two reads, of one FIFO."""


def find_fifo_violation(model: Model, times: Sequence[list[str]]) -> Violation | None:
    """Two writes, or two reads, of one FIFO that running every statement at ``times`` would exchange."""
    for memory, (space, users) in _fifos(model).items():
        schedule, new = model.schedule(only=users), model.schedule(times, only=users)
        broken = schedule.lex_lt_union_map(schedule).intersect(new.lex_ge_union_map(new))
        for writes in (True, False):
            fifo = _fifo_of_each(model, memory, space, writes)
            bad = fifo.apply_range(fifo.reverse()).intersect(broken)
            if not bad.is_empty():
                return witness(model, bad, FIRST_IN_FIRST_OUT)
    return None


def _fifos(model: Model) -> dict[str, tuple[StreamSpace, list[Statement]]]:
    """Each memory of the model that is a FIFO or an array of them, and the statements that use it."""
    found: dict[str, tuple[StreamSpace, list[Statement]]] = {}
    for statement in model.statements:
        effects = model.effects.effects_of(statement.op)
        for access, effect in zip(statement.accesses, effects, strict=True):
            kind = None if effect.value is None else effect.value.type
            space = stream_space(kind) if isinstance(kind, ir.MemRefType) else None
            if space is None:
                continue
            users = found.setdefault(access.memory, (space, []))[1]
            if statement not in users:
                users.append(statement)
    return found


def _fifo_of_each(model: Model, memory: str, space: StreamSpace, writes: bool) -> isl.UnionMap:
    """Statement instances to the FIFO that they write (or read): the spatial part of the subscript."""
    access = next(a for s in model.statements for a in s.accesses if a.memory == memory)
    outside = len(access.private)
    names = [f"e{k}" for k in range(access.arity)]
    kept = [*names[:outside], *(names[outside + d] for d in space.spatial)]
    return model.accesses(memory, writes).apply_range(
        isl.UnionMap(f"{{ {memory}[{', '.join(names)}] -> [{', '.join(kept)}] }}")
    )
