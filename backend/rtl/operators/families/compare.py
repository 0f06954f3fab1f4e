"""Integer comparison, minimum and maximum."""

from __future__ import annotations

from allo.dialects.core.integers import PREDICATES

from ..netlist import Signal, mux
from ..request import Builder, Drawing, Request, fitted
from ..spec import Operator


def compared(predicate: str, a: Signal, b: Signal) -> Signal:
    """The bit that a comparison gives, named as MLIR does."""
    if predicate in ("eq", "ne"):
        return a.eq(b) if predicate == "eq" else a.ne(b)
    less = Signal.slt if predicate[0] == "s" else Signal.ult
    match predicate[1:]:
        case "lt":
            return less(a, b)
        case "gt":
            return less(b, a)
        case "le":
            return ~less(b, a)
        case "ge":
            return ~less(a, b)
    raise KeyError(predicate)


def _cmpi(request: Request) -> Operator:
    predicate = request.predicate(PREDICATES)
    drawing = Drawing(
        f"cmp_{predicate}_i{request.widths[0]}", lambda a, b: compared(predicate, a, b)
    )
    return fitted(request, drawing)


def _extremum(request: Request) -> Operator:
    name = request.op.removeprefix("arith.")
    less = Signal.slt if name.endswith("si") else Signal.ult

    def draw(a: Signal, b: Signal) -> Signal:
        return mux(less(a, b), a, b) if name.startswith("min") else mux(less(a, b), b, a)

    return fitted(request, Drawing(f"{name}_i{request.result_width}", draw))


OPERATORS: dict[str, Builder] = {
    "arith.cmpi": _cmpi,
    **dict.fromkeys(("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui"), _extremum),
}
