"""Bitwise operations."""

from __future__ import annotations

from ..netlist import Signal
from ..request import Builder, Drawing, Request, combinational
from ..spec import Operator


def _and(a: Signal, b: Signal) -> Signal:
    return a & b


def _or(a: Signal, b: Signal) -> Signal:
    return a | b


def _xor(a: Signal, b: Signal) -> Signal:
    return a ^ b


_DRAW = {"arith.andi": _and, "arith.ori": _or, "arith.xori": _xor}


def _build(request: Request) -> Operator:
    name = request.op.removeprefix("arith.").removesuffix("i")
    return combinational(request, Drawing(f"{name}_i{request.result_width}", _DRAW[request.op]))


OPERATORS: dict[str, Builder] = dict.fromkeys(_DRAW, _build)
