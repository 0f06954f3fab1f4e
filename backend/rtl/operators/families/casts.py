"""Integer casts and bit reinterpretation: wires."""

from __future__ import annotations

from ..netlist import Signal
from ..request import Builder, Drawing, Request, combinational, is_integer
from ..spec import Operator

_SIGNED = {"arith.extsi", "arith.index_cast"}


def _build(request: Request) -> Operator | None:
    width = request.result_width
    if request.op == "arith.bitcast":
        return combinational(request, Drawing(f"bitcast_i{width}", lambda a: a))
    if not all(is_integer(kind) for kind in (*request.operand_types, request.result_type)):
        return None

    def draw(a: Signal) -> Signal:
        if width <= a.width:
            return a.bits(0, width)
        return a.sext(width) if request.op in _SIGNED else a.zext(width)

    name = request.op.removeprefix("arith.")
    return combinational(request, Drawing(f"{name}_i{request.widths[0]}_i{width}", draw))


OPERATORS: dict[str, Builder] = dict.fromkeys(
    (
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "arith.index_cast",
        "arith.index_castui",
        "arith.bitcast",
    ),
    _build,
)
