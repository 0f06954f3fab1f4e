"""On ECP5, whether a loop that waits for streams runs is a register; words and cycles are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.devices import DeviceRecord
from allo.backend.rtl.netlist import passes
from allo.backend.rtl.netlist.modules import Netlist
from allo.backend.rtl.netlist.operations import Gate, Operation
from allo.backend.rtl.netlist.passes import run_passes
from allo.ir.types import Stream, int32
from tests.netlist.reader import lines_of, read_netlist

WORDS = 24


@df.region()
def in_steps(A: int32[WORDS], B: int32[WORDS]):
    """A loop whose iterations overlap between two that stand still while they wait."""
    one: Stream[int32, 1]
    two: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[WORDS]):
        for i in range(WORDS):
            word: int32 = a[i]
            for _ in range(i % 4):
                word += 5
            one.put(word)

    @df.kernel(mapping=[1])
    def between():
        for _ in range(WORDS):
            word: int32 = one.get()
            two.put(word + 3)

    @df.kernel(mapping=[1], args=[B])
    def last(b: int32[WORDS]):
        for j in range(WORDS):
            word: int32 = two.get()
            for _ in range(5 - j % 6):
                word *= 3
            b[j] = word


def run(simulator: str) -> tuple[list[int], int]:
    """The words and cycles of the second of two runs."""
    schedule = allo.customize(in_steps)
    schedule.pipeline("between_0:_")
    options: dict[str, Any] = {"device": "ecp5", "clock_mhz": 100, "max_cycles": 5_000}
    hardware = schedule.build(target="verilog", simulator=simulator, **options)
    for seed in (3, 4):
        a = np.random.default_rng(seed).integers(0, 1000, WORDS).astype(np.int32)
        out = np.zeros(WORDS, np.int32)
        hardware(a, out)
    expected = np.zeros(WORDS, np.int32)
    allo.customize(in_steps).build()(a, expected)
    return (out - expected).tolist(), hardware.cycles


def test_words_and_cycles_are_those_of_two_registers() -> None:
    plain, rewritten = run("jit"), run("verilator")
    assert plain == rewritten
    assert plain[0] == [0] * WORDS


def test_a_bit_that_misses_what_comes_first_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[str] = []

    def spoilt(op: Operation) -> Operation:
        if not op.result.startswith("%n."):
            return op
        changed.append(op.result)
        return Gate("comb.and", op.result, op.operands, 1).like(op)

    def wrong(netlist: Netlist, _: DeviceRecord) -> Netlist:
        bodies = ([spoilt(op) for op in module.operations] for module in netlist.modules)
        pairs = zip(netlist.modules, bodies, strict=True)
        return netlist.with_modules([module.with_body(body) for module, body in pairs])

    right = run("jit")
    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, passes.Pass(wrong, lambda _: True)))
    try:
        found: object = run("verilator")
    except allo.errors.AlloError as error:
        found = error
    assert changed and found != right


WAITING = [
    "hw.module @m(in %clk : !seq.clock, in %rst : i1, in %start : i1, in %more : i1, in %moves : i1) {",
    "  %false = hw.constant false",
    "  %go = seq.compreg.ce %start, %clk, %moves reset %rst, %false : i1",
    "  %active = seq.compreg %more, %clk reset %rst, %false : i1",
    "  %x_b2_passed = seq.compreg %more, %clk reset %rst, %false : i1",
    "  %runs = comb.or %go, %active : i1",
    "}",
]
REWRITTEN = [
    "  %a.runs = comb.mux %moves, %start, %go : i1",
    "  %n.runs = comb.or %a.runs, %more : i1",
    "  %runs = seq.compreg %n.runs, %clk reset %rst, %false : i1",
]


def test_the_register_takes_what_both_take() -> None:
    expected = [*WAITING[:5], *REWRITTEN, WAITING[6]]
    assert lines_of(run_passes(read_netlist("\n".join(WAITING)), "ecp5")) == expected


@pytest.mark.parametrize(
    ("device", "old", "new"),
    [
        ("xcup", "%active", "%active"),
        ("ecp5", "%x_b2_passed", "%x_b2_held"),
        ("ecp5", "%x_b2_passed", "%count_passed"),
        ("ecp5", "%go, %active", "%go, %more"),
        ("ecp5", "%more, %clk reset %rst, %false", "%more, %clk"),
    ],
    ids=["device", "waits for no stream", "a variable", "no register", "no reset"],
)
def test_other_text_stays(device: str, old: str, new: str) -> None:
    text = "\n".join(WAITING).replace(old, new)
    assert lines_of(run_passes(read_netlist(text), device)) == text.split("\n")
