"""Is a transformation legal? Decided from exact dependences, explained by a witness."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.accumulate import Order, accumulation_of
from allo.dialects.affine.dependence import Violation, find_violation
from allo.dialects.affine.model import Model, Statement, memory_name
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import IllegalTransformError
from allo.schedule.analysis.fifo_order import FIRST_IN_FIRST_OUT, find_fifo_violation


def check_order(
    model: Model,
    times: Sequence[list[str]],
    what: str,
    changed: Collection[ir.Operation],
) -> None:
    """Refuse a new execution order that breaks a dependence.

    Args:
        times: the new time of each statement of the model.
        what: the transformation, such as ``"reorder k, j"``.
        changed: the loops whose relative order changes.

    Raises:
        IllegalTransformError: naming both statements, their lines and an iteration pair.
    """
    relaxed, rounded = relaxable_pairs(model, changed)
    violation = find_violation(model, times, relaxed) or find_fifo_violation(model, times)
    if violation is not None:
        raise explain(violation, what, rounded)


def relaxable_pairs(
    model: Model, changed: Collection[ir.Operation]
) -> tuple[list[tuple[Statement, Statement]], set[str]]:
    """Pairs of statements of one accumulation whose order may change.

    An integer accumulation may always run in another order. A floating-point one may only when
    every changed loop around it that it accumulates over is declared with ``allo.reduction``.

    Returns:
        The pairs, and the names of statements of floating-point accumulations left strict.
    """
    by_op = {s.op: s for s in model.statements}
    pairs: list[tuple[Statement, Statement]] = []
    strict: set[str] = set()
    for statement in model.statements:
        if statement.op.name != "affine.store":
            continue
        found = accumulation_of(statement.op)
        if found is None or found.load not in by_op:
            continue
        load = by_op[found.load]
        if found.order is Order.ROUNDED and not _declared(statement, changed):
            strict |= {statement.name, load.name}
            continue
        pairs += [(statement, load), (load, statement), (statement, statement)]
    return pairs, strict


def _declared(statement: Statement, changed: Collection[ir.Operation]) -> bool:
    used = " ".join(
        text for access in statement.accesses for text in (access.subscripts or ())
    ) + " ".join(p for access in statement.accesses for p in access.private)
    over = [v for v in statement.loops if v.op in changed and not _mentions(used, v.symbol)]
    return all("reduction" in v.op.attributes for v in over)


def _mentions(text: str, symbol: str) -> bool:
    cleaned = "".join(c if c.isalnum() else " " for c in text)
    return symbol in cleaned.split()


def explain(
    violation: Violation, what: str, rounded: Collection[str] = ()
) -> IllegalTransformError:
    """The error for a broken dependence."""
    source, sink = violation.source, violation.sink
    name = memory_name(source.op)
    place_a, place_b = place_of(source.op), place_of(sink.op)
    first = f"{_verb(source)} of {name} at {_iteration(violation.source_iteration)}"
    second = f"{_verb(sink)} of {memory_name(sink.op)} at {_iteration(violation.sink_iteration)}"
    notes: list[str | tuple[str, object]] = []
    for text, place in ((f"first: the {first}", place_a), (f"then: the {second}", place_b)):
        notes.append((text, place) if place is not None else text)
    is_rounded = source.name in rounded and sink.name in rounded
    line_a = f" (line {place_a.line})" if place_a else ""
    line_b = f" (line {place_b.line})" if place_b else ""
    return IllegalTransformError(
        f"Cannot {what}: it breaks a {violation.kind} dependence on {name}; "
        f"the {first}{line_a} must run before the {second}{line_b}.",
        place_b or place_a,
        help=_remedy(violation, is_rounded),
        notes=tuple(notes),  # type: ignore[arg-type]
    )


def _remedy(violation: Violation, is_rounded: bool) -> str:
    if violation.kind == FIRST_IN_FIRST_OUT:
        return (
            "a FIFO gives its elements in the order in which it got them; reorder the loops of both "
            "processes before the array becomes a FIFO (s.to)."
        )
    if is_rounded:
        return (
            "floating-point sums round differently in another order; declare the summed loops with "
            "allo.reduction to allow it."
        )
    return "keep the order of these two, or change the kernel so that they do not share an element."


def _verb(statement: Statement) -> str:
    if statement.op.name == "func.call":
        return f"call of {ir.FlatSymbolRefAttr(statement.op.attributes['callee']).value}, use"
    return "store" if any(a.writes for a in statement.accesses) else "load"


def _iteration(values: dict[str, int]) -> str:
    return f"({', '.join(f'{k}={v}' for k, v in values.items())})" if values else "its only run"


def model_of(module: ir.Module, roots: Sequence[ir.Operation]) -> Model:
    """The polyhedral model of sibling operations of a module."""
    return Model(roots, EffectAnalysis(module.operation))
