"""The count that no estimate exceeds, by which a build tells that a large design fits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

import allo
from allo.backend.devices import family
from allo.backend.rtl import compile as rtl_compile
from allo.backend.rtl import compile_design
from allo.backend.rtl.budgets import ceiling as counted
from allo.backend.rtl.budgets.ceiling import ceiling, surely_fits
from allo.backend.rtl.netlist.operations import Gate
from allo.designs.gallery.catalogue import ENTRIES
from allo.ir.types import float32, int32
from tests.netlist.everything import everything


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
@pytest.mark.parametrize("name", ["fft", "sha256", "median", "merge_streams"])
def test_no_estimate_is_above_it(name: str, device: str):
    entry = next(entry for entry in ENTRIES if entry.name == name)
    s = entry.load().schedule()
    design = compile_design(str(s.module), s.top_func_name, device=device, clock_mhz=50)
    assert design.netlist is not None
    most = ceiling(design.netlist, design.top, family(device).cells)
    design.estimate_resources()
    found = {k: v for k, v in design.report.resources.items() if k not in ("srl", "lutram")}
    assert found["lut"] and found["ff"]
    assert all(count <= most.get(kind, 0) for kind, count in found.items()), (found, most)


def test_every_operation_but_wires_is_counted():
    """A netlist with all of them: what holds the names of those that take nothing is the list below."""
    netlist = everything()
    free = {"Constant", "Extract", "Replicate", "Concat", "Wire", "Verbatim", "ArrayCreate"}
    free |= {"ConstantArray", "Instance", "SimulatedMemory", "SimulatedRead", "SimulatedWrite"}
    kinds = {type(op) for module in netlist.modules for op in module.operations}
    assert {kind.__name__ for kind in kinds - set(counted._KINDS)} == free
    found = ceiling(netlist, netlist.modules[-1].name, family("xcup").cells)
    assert found["dsp"] and found["bram"] and found["lut"] > 100 and found["ff"] > 40


def test_nothing_is_too_large_for_no_part():
    netlist, cells = everything(), family("xcup").cells
    assert surely_fits(None, netlist, netlist.modules[-1].name, cells)


@pytest.mark.parametrize("device", ["xcup", "ecp5", "ice40", "gatemate", "gowin"])
def test_no_product_takes_more_than_is_counted(device: str):
    """All widths that both operands and the result may turn out to have, and their signs."""
    cells = family(device).cells
    for width, wide, narrow in [(8, 8, 8), (6, 3, 5), (15, 15, 15), (32, 26, 17), (32, 27, 17)]:
        total: Counter[str] = Counter()
        counted._product(Gate("comb.mul", "%r", ("%a", "%b"), width), [wide, narrow], cells, total)
        signs = [False] if width > max(wide, narrow) else [False, True]
        for a, b in product(range(1, wide + 1), range(1, narrow + 1)):
            for bits, one, other in product(range(1, min(width, a + b) + 1), signs, signs):
                blocks, tables = cells.product(bits, width, [(a, one), (b, other)])
                assert blocks <= total["dsp"] and tables <= total["lut"], (width, a, b, bits)


def test_a_product_in_one_block_is_no_reason_to_estimate():
    """32 bits by 32 are one of 26 by 17, one of 15 bits and one of 6: the line of many statements."""
    total: Counter[str] = Counter()
    cells = family("xcup").cells
    for width, sizes in [(32, [26, 17]), (15, [15, 15]), (6, [6, 6])]:
        counted._product(Gate("comb.mul", "%r", ("%a", "%b"), width), sizes, cells, total)
    assert total["dsp"] == 2 and total["lut"] < 250


def squares(A: float32[32], B: float32[32]):
    for i in range(32):
        B[i] = A[i] * A[i]


def sums(A: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = A[i] + B[i]


def _estimated(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a build of a text that is large by its record estimates the design."""
    small = replace(family("ice40"), large_text=1)
    monkeypatch.setattr(rtl_compile, "family", lambda name: small)
    s = allo.customize(kernel)
    if kernel is squares:
        s.unroll("i")
    design = compile_design(str(s.module), s.top_func_name, device="ice40", clock_mhz=20)
    return bool(design.report.resources)


def test_a_design_that_surely_fits_is_not_estimated_in_the_build(monkeypatch: pytest.MonkeyPatch):
    assert not _estimated(sums, monkeypatch)


@pytest.mark.filterwarnings("ignore::allo.errors.CapacityWarning")
def test_one_that_may_not_fit_is(monkeypatch: pytest.MonkeyPatch):
    assert _estimated(squares, monkeypatch)
