"""The rules of netlists: real designs keep them, and every planted fault is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import allo
from allo.backend.devices import DeviceRecord, family
from allo.backend.rtl.netlist import passes
from allo.backend.rtl.netlist.modules import Module, Netlist
from allo.backend.rtl.netlist.operations import Concat, Extract, Gate, Instance, Operation, Register
from allo.backend.rtl.netlist.passes import PASSES, Pass, run_passes
from allo.backend.rtl.netlist.verify import problems, verify
from allo.errors import InternalError
from allo.ir.types import int8, int32

from .everything import everything
from .reader import read_netlist

LINES = """\
hw.module private @inner(in %clk : !seq.clock, in %x : i8, out y : i8) {
  %y = seq.compreg %x, %clk : i8
  hw.output %y : i8
}
hw.module @m(in %clk : !seq.clock, in %rst : i1, in %en : i1, in %a : i8, out r : i8) {
  %0 = comb.add %a, %q : i8
  %1 = comb.extract %0 from 2 : (i8) -> i4
  %2 = comb.concat %1, %1 : i4, i4
  %q = seq.compreg.ce %2, %clk, %en : i8
  %o = hw.instance "one" @inner(clk: %clk: !seq.clock, x: %q: i8) -> (y: i8)
  hw.output %o : i8
}
"""
FAULTS: list[tuple[str, str, str]] = [
    ("%1 = comb.extract", "%0 = comb.extract", "in m, %0 is defined twice."),
    ("%0 = comb.add", "%a = comb.add", "in m, %a is defined twice."),
    ("from 2", "from 5", "in m, %1 takes bits that %0 does not have."),
    ("add %a, %q", "add %a, %2", "in m, %0 depends on itself within a cycle."),
    ("add %a, %q", "add %a, %b", "in m, %b is not defined, and read by: %0 = comb.add %a, %b : i8"),
    (
        "add %a, %q : i8",
        "add %a, %q : i4",
        "in m, %a is i8, and read as i4 by: %0 = comb.add %a, %q : i4",
    ),
    (
        "%clk, %en : i8",
        "%clk, %a : i8",
        "in m, %a is i8, and read as i1 by: %q = seq.compreg.ce %2, %clk, %a : i8",
    ),
    ("%1, %1 : i4, i4", "%1, %1 : i4, i0", "in m, %2 has a part of no bits."),
    ("hw.output %o : i8", "hw.output %1 : i8", "in m, output r is i8 and %1 is i4."),
    ("hw.output %o : i8", "hw.output %z : i8", "in m, output r is i8 and %z is not defined."),
    (
        "@inner(clk:",
        "@outer(clk:",
        "in m, instance one is of outer, which is no module of the netlist.",
    ),
    ("x: %q: i8) ->", "z: %q: i8) ->", "in m, instance one has other inputs than inner."),
    ("-> (y: i8)", "-> (z: i8)", "in m, instance one has other outputs than inner."),
    ("@inner(in", "@m(in", "two modules are called m."),
]


def test_the_module_of_these_tests_is_right() -> None:
    assert list(problems(read_netlist(LINES))) == []


@pytest.mark.parametrize(("right", "wrong", "message"), FAULTS, ids=[m for _, _, m in FAULTS])
def test_each_planted_fault_is_found(right: str, wrong: str, message: str) -> None:
    assert LINES.count(right) == 1
    found = list(problems(read_netlist(LINES.replace(right, wrong))))
    assert message in found


def test_a_fault_is_an_internal_error_where_tests_ask_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = read_netlist(LINES.replace("add %a, %q", "add %a, %b"))
    with pytest.raises(InternalError) as raised:
        verify(wrong)
    assert str(raised.value).startswith(
        "The netlist breaks a rule after emission: in m, %b is not defined, and read by: "
    )
    monkeypatch.delenv("ALLO_VERIFY")
    assert verify(wrong) is wrong


def accumulated(a: int8[16], out: int32[16]):
    total: int32 = 0
    for i in range(16):
        total += a[i] * 48
        out[i] = total if total > 7 else 0


def _without(kind: type[Operation]) -> Callable[[Netlist, DeviceRecord], Netlist]:
    def wrong(netlist: Netlist, _: DeviceRecord) -> Netlist:
        top = netlist.top
        first = next(op for op in top.operations if isinstance(op, kind))
        body = [op for op in top.operations if op is not first]
        return netlist.with_modules([*netlist.modules[:-1], top.with_body(body)])

    return wrong


@pytest.mark.parametrize("kind", [Register, Gate, Concat, Extract])
def test_a_pass_that_drops_a_value_is_found_in_a_build(
    monkeypatch: pytest.MonkeyPatch, kind: type[Operation]
) -> None:
    def build() -> Any:
        return allo.customize(accumulated).build(target="verilog", simulator="jit", device="ecp5")

    build()
    monkeypatch.setattr(passes, "PASSES", (*PASSES, Pass(_without(kind), lambda _: True)))
    with pytest.raises(InternalError, match="after wrong: in accumulated, .* is not defined"):
        build()


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.run.__name__)
def test_a_pass_keeps_the_rules_and_leaves_its_input_as_it_was(each: Pass) -> None:
    netlist = everything()
    before = netlist.text()
    assert list(problems(each.run(netlist, family("ecp5")))) == []
    assert netlist.text() == before


def test_passes_run_for_their_families_alone() -> None:
    ran: list[str] = []

    def noted(netlist: Netlist, _: DeviceRecord) -> Netlist:
        ran.append("noted")
        return netlist

    for device, expected in (("xcup", 0), ("ecp5", 1)):
        ran.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                passes, "PASSES", (Pass(noted, lambda record: record.netlist.early_writes),)
            )
            run_passes(Netlist([Module("m", read_netlist(LINES).top.ports, None)]), device)
        assert len(ran) == expected


def test_instances_are_found() -> None:
    (instance,) = read_netlist(LINES).top.instances()
    assert isinstance(instance, Instance) and instance.module == "inner"
