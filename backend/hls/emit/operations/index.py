"""Index computations: ``affine.apply``, ``affine.min``, ``affine.max``."""

from __future__ import annotations

from allo.dialects._mlir import ir

from ...text.ctype import index_ctype
from ...text.index import IndexText, alike
from ..emitter import FunctionEmitter, Handler


def _texts(e: FunctionEmitter, op: ir.Operation) -> list[IndexText]:
    affine_map = op.attributes["map"].value
    return e.affine.results(affine_map, e.index_operands(list(op.operands)))


def _apply(e: FunctionEmitter, op: ir.Operation) -> None:
    (term,) = _texts(e, op)
    e.define(op, term.text, index_ctype(term.bounds), bounds=term.bounds)


def _extremum(name: str) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        terms = alike(_texts(e, op))
        pick = min if name == "min" else max
        known = all(t.low is not None and t.high is not None for t in terms)
        low = pick(t.low for t in terms) if known else None  # type: ignore[type-var]
        high = pick(t.high for t in terms) if known else None  # type: ignore[type-var]
        text = terms[-1].text
        for term in reversed(terms[:-1]):
            text = f"{name}({term.text}, {text})"
        e.define(op, text, index_ctype((low, high)), bounds=(low, high))

    return emit


HANDLERS: dict[str, Handler] = {
    "affine.apply": _apply,
    "affine.min": _extremum("min"),
    "affine.max": _extremum("max"),
}
