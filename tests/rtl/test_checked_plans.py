"""A schedule that does not hold what its body asks for is an error, not a wrong word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import allo
from allo.backend.rtl.graph.nodes import Body
from allo.backend.rtl.graph.prune import bodies_of
from allo.backend.rtl.graph.regions import Function
from allo.backend.rtl.plan.placing import check
from allo.errors import InternalError
from allo.ir.types import int32


def shifted(A: int32[16], B: int32[16]):
    for i in range(4, 16):
        A[i] = A[i - 4] * B[i] + B[i - 4]


def operand(body: Body) -> None:
    next(n for n in body.nodes if n.op == "arith.addi").time = 0


def order(body: Body) -> None:
    edge = next(e for e in body.edges if e.distance)
    edge.latency += 1 + edge.target.time + edge.distance * body.ii - edge.source.time


def port(body: Body) -> None:
    for node in body.nodes:
        if node.access is not None:
            node.access.ports = dict.fromkeys(node.access.ports, 0)


FAULTS: dict[str, Callable[[Body], None]] = {
    "starts before its operand is there": operand,
    "starts before what it follows": order,
    "finds no port of its own": port,
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_planted_fault_is_named(what: str, monkeypatch: pytest.MonkeyPatch):
    def planted(function: Function) -> None:
        FAULTS[what](next(body for body in bodies_of(function.root) if body.overlaps))
        check.check_plan(function)

    s = allo.customize(shifted)
    s.pipeline("i")
    s.build(target="systemverilog")
    monkeypatch.setattr("allo.backend.rtl.compiler.check_plan", planted)
    with pytest.raises(InternalError, match=what):
        s.build(target="systemverilog")
