"""Arrays that ``s.to`` made FIFOs: what enters them, and what leaves them, keeps its order.

In an array any element can be read at any time, so two reads may change places. In a FIFO they may
not: the next read takes what was written next. Arrays of FIFOs are left to the build, which follows
their elements exactly (``dialects/streams/network``).
"""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects.affine.dependence import Violation, witness
from allo.dialects.affine.isl import isl
from allo.dialects.affine.model import Model, Statement
from allo.dialects.streams.space import stream_space

FIRST_IN_FIRST_OUT = "first-in-first-out"
"""The kind of the dependence between two writes, and between two reads, of one FIFO."""


def find_fifo_violation(model: Model, times: Sequence[list[str]]) -> Violation | None:
    """Two writes, or two reads, of one FIFO that running every statement at ``times`` would exchange."""
    for memory, users in _fifos(model).items():
        schedule, new = model.schedule(only=users), model.schedule(times, only=users)
        broken = schedule.lex_lt_union_map(schedule).intersect(new.lex_ge_union_map(new))
        for writes in (True, False):
            touching = model.accesses(memory, writes).domain()
            bad = isl.UnionMap.from_domain_and_range(touching, touching).intersect(broken)
            if not bad.is_empty():
                return witness(model, bad, FIRST_IN_FIRST_OUT)
    return None


def _fifos(model: Model) -> dict[str, list[Statement]]:
    """Each memory of the model that is a FIFO as a whole, and the statements that use it."""
    found: dict[str, list[Statement]] = {}
    for statement in model.statements:
        effects = model.effects.effects_of(statement.op)
        for access, effect in zip(statement.accesses, effects, strict=True):
            space = None if effect.value is None else stream_space(effect.value.type)
            if space is None or space.labels:
                continue
            users = found.setdefault(access.memory, [])
            if statement not in users:
                users.append(statement)
    return found
