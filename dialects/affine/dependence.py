"""Exact dependences of a :class:`~.model.Model`, and whether a new order keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from allo.dialects.affine.isl import isl

from .model import Model, Statement


@dataclass(frozen=True, slots=True)
class Violation:
    """A dependence that a new order breaks, with one pair of iterations that shows it.

    Attributes:
        kind: ``"read after write"``, ``"write after read"``, ``"write after write"``, or what a caller of
            :func:`witness` says.
        source, sink: the statements; the source must run first.
        source_iteration, sink_iteration: loop name to iteration, of the pair.
    """

    kind: str
    source: Statement
    sink: Statement
    source_iteration: dict[str, int]
    sink_iteration: dict[str, int]


_KINDS = (
    ("read after write", True, False),
    ("write after read", False, True),
    ("write after write", True, True),
)


def find_violation(
    model: Model,
    times: Sequence[list[str]],
    relaxed: Iterable[tuple[Statement, Statement]] = (),
) -> Violation | None:
    """The first dependence that running every statement at ``times`` would break, or None.

    Args:
        times: for each statement of the model the components of its new execution time.
        relaxed: pairs of statements whose dependences may be ignored.
    """
    free = {(a.name, b.name) for a, b in relaxed}
    for memory, users in model.written_memories().items():
        if all((a.name, b.name) in free for a in users for b in users):
            continue
        found = _violation_on(model, memory, users, times, free)
        if found is not None:
            return found
    return None


def passes_values(model: Model, memory: str) -> bool:
    """Whether some statement reads from a memory what another of the model stored there."""
    users = model.written_memories().get(memory, [])
    if not users:
        return False
    schedule = model.schedule(only=users)
    before = schedule.lex_lt_union_map(schedule)
    stored, read = model.accesses(memory, True), model.accesses(memory, False)
    return not stored.apply_range(read.reverse()).intersect(before).is_empty()


def _violation_on(
    model: Model,
    memory: str,
    users: Sequence[Statement],
    times: Sequence[list[str]],
    free: set[tuple[str, str]],
) -> Violation | None:
    schedule, new = model.schedule(only=users), model.schedule(times, only=users)
    broken = schedule.lex_lt_union_map(schedule).intersect(new.lex_ge_union_map(new))
    if broken.is_empty():
        return None
    ignored = _pairs(model, [(a, b) for a in users for b in users if (a.name, b.name) in free])
    access = {writes: model.accesses(memory, writes) for writes in (False, True)}
    for name, first, second in _KINDS:
        bad = access[first].apply_range(access[second].reverse()).intersect(broken)
        if ignored is not None:
            bad = bad.subtract(ignored)
        if not bad.is_empty():
            return witness(model, bad, name)
    return None


def _pairs(model: Model, relaxed: Iterable[tuple[Statement, Statement]]) -> isl.UnionMap | None:
    rows = []
    for a, b in relaxed:
        left = ", ".join(f"x{k}" for k in range(len(a.loops)))
        right = ", ".join(f"y{k}" for k in range(len(b.loops)))
        rows.append(f"{a.name}[{left}] -> {b.name}[{right}]")
    return model.relation(rows) if rows else None


def witness(model: Model, bad: isl.UnionMap, kind: str) -> Violation:
    """One pair of iterations of a relation between instances that must not be empty."""
    pair = _first_pair(bad)
    source = model.statement(pair.get_tuple_name(isl.dim_type.in_))
    sink = model.statement(pair.get_tuple_name(isl.dim_type.out))
    point = pair.wrap().sample_point()
    coordinates = [
        point.get_coordinate_val(isl.dim_type.set, position).to_python()
        for position in range(len(source.loops) + len(sink.loops))
    ]
    cut = len(source.loops)
    return Violation(
        kind,
        source,
        sink,
        {v.name: c for v, c in zip(source.loops, coordinates[:cut], strict=True)},
        {v.name: c for v, c in zip(sink.loops, coordinates[cut:], strict=True)},
    )


def _first_pair(bad: isl.UnionMap) -> isl.Map:
    maps: list[isl.Map] = []
    bad.foreach_map(maps.append)
    maps.sort(
        key=lambda m: (m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out))
    )
    chosen = maps[0]
    try:
        first = chosen.intersect_domain(chosen.domain().lexmin())
        return first.intersect_range(first.range().lexmin())
    except isl.Error:
        return chosen
