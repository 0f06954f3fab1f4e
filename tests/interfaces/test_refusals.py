"""Interfaces that an argument cannot have, and options that do not go together with one."""

from __future__ import annotations

from typing import Any

import pytest

import allo
from allo.backend.sim import MemoryChannel
from allo.errors import InterfaceError, OptionError
from allo.ir.types import float32, int32


def axpy(a: float32, A: float32[8], B: float32[8]):
    for i in allo.grid(8):
        B[i] = B[i] + a * A[i]


GIVEN: list[tuple[Any, str, str]] = [
    ({"a": "m_axi"}, "a is a scalar and cannot have the interface 'm_axi'.", "or 'port'"),
    ({"C": "m_axi"}, "names 'C', which is no argument of axpy.", "its arguments: a, A, B."),
    ({"A": "s_axilite"}, "A is an array and cannot have the interface 's_axilite'.", "'m_axi'"),
    ({"A": "m_axii"}, "cannot have the interface 'm_axii'.", "did you mean 'm_axi'?"),
    ({"A": {}}, "A is an array and cannot have the interface ''.", "it takes 'memory'"),
    ({"return": "m_axi"}, "A design cannot be started by 'm_axi'.", "'s_axilite' or 'port'"),
    (
        {"return": "port", "A": "m_axi"},
        "A has registers in the AXI4-Lite interface, and the option interface starts axpy by ports.",
        "leave 'return' out",
    ),
    ({"A": {"kind": "m_axi", "widht": 64}}, "has no field 'widht'.", "did you mean 'width'?"),
    (
        {"A": {"kind": "memory", "width": 64}},
        "interface 'memory' of A has no width.",
        "leave it out",
    ),
    ({"A": {"kind": "m_axi", "width": 48}}, "A has width 48.", "32, 64, 128, 256, 512"),
    ({"A": {"kind": "m_axi", "width": True}}, "A has width True.", "an integer of 32"),
    ({"A": {"kind": "m_axi", "burst": 3}}, "A has burst 3.", "1, 2, 4"),
    ({"A": {"kind": "m_axi", "outstanding": 0}}, "A has outstanding 0.", "from 1 to 64"),
    ({"A": {"kind": "m_axi", "bundle": "x y"}}, "A has bundle 'x y'", "as in 'gmem0'"),
    (
        {
            "A": {"kind": "m_axi", "bundle": "m", "width": 64},
            "B": {"kind": "m_axi", "bundle": "m", "width": 128},
        },
        "A and B are in bundle m, with width 64 and 128.",
        "a bundle each",
    ),
]


@pytest.mark.parametrize(("interface", "message", "remedy"), GIVEN, ids=range(len(GIVEN)))
def test_what_an_argument_cannot_have(interface, message, remedy) -> None:
    schedule = allo.customize(axpy)
    with pytest.raises(InterfaceError) as caught:
        schedule.build(target="verilog", configs={"interface": interface})
    assert message in caught.value.message
    assert remedy in (caught.value.help or "")
    assert caught.value.place is not None
    assert caught.value.place.file == __file__


def test_the_place_is_that_of_the_argument() -> None:
    schedule = allo.customize(axpy)
    with pytest.raises(InterfaceError) as caught:
        schedule.build(target="systemverilog", configs={"interface": {"B": "s_axilite"}})
    line = axpy.__code__.co_firstlineno
    assert (caught.value.place.line, caught.value.place.col) == (line, 37)
    assert "test_refusals.py" in str(caught.value)


def test_what_is_no_dict_of_interfaces() -> None:
    schedule = allo.customize(axpy)
    with pytest.raises(OptionError, match="Option interface of target verilog takes one kind of"):
        schedule.build(target="verilog", interface=5)
    with pytest.raises(OptionError, match="has no option 'interface'"):
        schedule.build(target="llvm", interface="m_axi")


def test_checks_have_no_way_out_of_a_wrapper() -> None:
    def pick(A: int32[8], B: int32[8]):
        for i in allo.grid(8):
            B[i] = A[B[i]]

    schedule = allo.customize(pick)
    with pytest.raises(InterfaceError, match="built with interfaces and with checks") as caught:
        schedule.build(target="verilog", check_bounds=True, interface="m_axi")
    assert "run it with check_bounds or check_dependences first" in caught.value.help


def test_channels_stand_behind_masters_only() -> None:
    schedule = allo.customize(axpy)
    channel = MemoryChannel("ddr", 8, 20)
    with pytest.raises(
        InterfaceError, match="B has channels of memory, and no AXI4 master"
    ) as caught:
        schedule.build(target="verilog", interface={"A": "m_axi"}, memory={"B": channel})
    assert caught.value.place.line == axpy.__code__.co_firstlineno


def test_an_array_that_nothing_touches_has_no_master() -> None:
    def kept(A: int32[8], V: int32[8]):
        for i in allo.grid(8):
            A[i] = i

    schedule = allo.customize(kept)
    with pytest.raises(InterfaceError, match="V cannot have the interface 'm_axi': nothing reads"):
        schedule.build(target="verilog", interface="m_axi")
    schedule.build(target="verilog", interface={"A": "m_axi"})
