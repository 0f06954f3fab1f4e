"""Selection of one of two values of any type."""

from __future__ import annotations

from ..netlist import mux
from ..request import Builder, Drawing, Request, combinational
from ..spec import Operator


def _build(request: Request) -> Operator:
    return combinational(request, Drawing(f"select_i{request.result_width}", mux))


OPERATORS: dict[str, Builder] = {"arith.select": _build}
