"""Designs with their arguments in block RAM: nothing that the design computes may be left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import allo
from allo.errors import AlloError
from allo.ir.types import int32
from benchmarks import recurrences
from benchmarks.block_memories import with_memories


def totals(x: int32[64], c: int32[16]):
    for i in range(64):
        c[x[i] & 15] += x[i]


def built() -> Any:
    s = allo.customize(totals)
    s.pipeline("i")
    return s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=100)


def test_the_outside_sees_what_is_read_of_a_memory_with_both_ports_taken() -> None:
    module = built()
    (taken,) = (array for array in module.design.arrays if len(array.ports) > 1)
    (reads,) = (port.prefix for port in taken.ports if port.reads)
    text = with_memories(module.design)
    assert f"output reg [31:0] {reads}_seen" in text
    assert f"{reads}_seen <= {reads}_rdata;" in text


def test_a_routed_design_without_most_of_its_tables_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = SimpleNamespace(resources={"lut": 9}, fmax_mhz=300.0)
    monkeypatch.setattr(recurrences, "synthesize", lambda *_, **__: few)
    with pytest.raises(AlloError, match=r"lookup tables synthesis leaves 9: nobody reads"):
        recurrences.routed_with_memories(built(), "ecp5")
