"""Instances in the in-process engine: our pass makes of them what CIRCT's own makes, word for word."""

from __future__ import annotations

import pytest

from allo.backend.rtl._circt import parse_hw, run_hw_passes
from allo.backend.rtl.circt import in_circt
from allo.backend.sim import build
from allo.backend.sim.engines.arc import flatten as passes
from allo.backend.sim.engines.arc.recipe import FLATTEN
from allo.target import BuildRequest
from tests.rtl.pipelines import RandomRegion
from tests.rtl.programs import Program

LEAF = """
hw.module private @leaf(in %clk: !seq.clock, in %ce: i1, in %a: i8, out r: i8, out q: i8) {
  %x = comb.add %late, %a {sv.namehint = "hint"} : i8
  %late = seq.compreg.ce %x, %clk, %ce : i8
  %memory = seq.firmem 0, 1, undefined, undefined : <4 x 8>
  %three = hw.constant 3 : i8
  %s = seq.compreg sym @symbol %three, %clk : i8
  hw.output %late, %s : i8, i8
}
"""
PASS = """
hw.module private @pass(in %a: i8, out r: i8) {
  hw.output %a : i8
}
"""
MIDDLE = """
hw.module private @middle(in %clk: !seq.clock, in %ce: i1, in %a: i8, out r: i8) {
  %u.r, %u.q = hw.instance "u" @leaf(clk: %clk: !seq.clock, ce: %ce: i1, a: %u.r: i8) -> (r: i8, q: i8)
  %v.r, %v.q = hw.instance "v" @leaf(clk: %clk: !seq.clock, ce: %ce: i1, a: %u.q: i8) -> (r: i8, q: i8)
  hw.output %v.r : i8
}
"""
TOP = """
hw.module @top(in %clk: !seq.clock, in %ce: i1, in %a: i8, out r: i8) {
  %first = hw.instance "first" @pass(a: %second: i8) -> (r: i8)
  %second = hw.instance "second" @pass(a: %a: i8) -> (r: i8)
  %m0 = hw.instance "m0" @middle(clk: %clk: !seq.clock, ce: %ce: i1, a: %first: i8) -> (r: i8)
  %m1 = hw.instance "m1" @middle(clk: %clk: !seq.clock, ce: %ce: i1, a: %m0: i8) -> (r: i8)
  hw.output %m1 : i8
}
"""
SHALLOW = """
hw.module @top(in %a: i8, out r: i8) {
  %o = hw.instance "o" @pass(a: %a: i8) -> (r: i8)
  hw.output %o : i8
}
"""
SYMBOL = "sym @symbol "
WITH_SYMBOL = LEAF + PASS + MIDDLE + TOP
PLAIN = WITH_SYMBOL.replace(SYMBOL, "")


def flattened(text: str) -> tuple[str, str]:
    """A design flattened by our pass and by CIRCT's, in the process of CIRCT."""
    ours, theirs = parse_hw(text), parse_hw(text)
    passes.flatten(ours)
    run_hw_passes(theirs, FLATTEN)
    ours.operation.verify()
    return str(ours), str(theirs)


def swapped(text: str) -> tuple[str, str]:
    """:func:`flattened` with a planted fault: the outputs of a module change places."""
    whole = passes._Body.of

    def wrong(module: object) -> passes._Body:
        body = whole(module)
        body.outputs.reverse()
        return body

    passes._Body.of = wrong
    try:
        return flattened(text)
    finally:
        passes._Body.of = whole


@pytest.mark.parametrize("text", [PLAIN, WITH_SYMBOL, PASS + SHALLOW])
@pytest.mark.parametrize("order", ["callees first", "callers first"])
def test_is_what_circt_makes(text, order):
    if order == "callers first":
        text = "hw.module".join(["", *text.split("hw.module")[:0:-1]])
    ours, theirs = in_circt("tests.sim.test_flatten:flattened", text)
    assert "hw.instance" not in ours
    assert ours == theirs


@pytest.mark.parametrize("source", [Program, RandomRegion])
@pytest.mark.parametrize("seed", range(4))
def test_random_designs(source, seed):
    program = source(seed)
    request = BuildRequest(program.text, program.top, "verilog", options={"simulator": "jit"})
    design = build(request).design
    ours, theirs = in_circt("tests.sim.test_flatten:flattened", design.native_hw_text)
    assert "hw.instance" not in ours
    assert ours == theirs


def test_swapped_outputs_are_seen():
    ours, theirs = in_circt("tests.sim.test_flatten:swapped", PLAIN)
    assert ours != theirs
