"""The two drawings of the adder give the same bits, and the small one costs no cycle."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.devices import family
from allo.backend.rtl.float.add import add
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.operators.netlist import Netlist, evaluate
from allo.backend.rtl.operators.pipeline import pipeline

F32 = FORMATS["f32"]


def _drawn(*, quick: bool) -> Netlist:
    net = Netlist()
    return net.finish(add(net.input("a", 32), net.input("b", 32), F32, quick=quick))


def _operands() -> tuple[np.ndarray, np.ndarray]:
    """Special values with each other, near cancellation, subnormals beside small numbers, and lost bits."""
    chance = np.random.default_rng(3)
    special = np.array(
        [0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000],
        np.uint32,
    )
    special = np.concatenate([special, special | np.uint32(1 << 31)])
    first, second = (part.ravel() for part in np.meshgrid(special, special))
    near = chance.integers(0, 1 << 32, 250, dtype=np.uint32)
    small = chance.integers(0, 1 << 26, 250, dtype=np.uint32)
    step = chance.integers(0, 4, 250, dtype=np.uint32)
    # One bit of the smaller operand is set at each place, so far below that some are lost.
    apart = np.repeat(np.arange(14, 28, dtype=np.uint32), 24)
    lone = np.uint32(1) << np.tile(np.arange(24, dtype=np.uint32), 14)
    large = np.uint32(0x44FFFFFE) | (apart & np.uint32(1))
    below = (np.uint32(0x89) - apart << np.uint32(23)) | (lone & np.uint32(0x7FFFFF))
    a = np.concatenate([first, near, small, large])
    b = np.concatenate(
        [second, (near ^ np.uint32(1 << 31)) + step, small[::-1] ^ (step << np.uint32(30)), below]
    )
    return a, b


@pytest.mark.parametrize("quick", [False, True])
def test_each_drawing_equals_the_host(quick: bool) -> None:
    a, b = _operands()
    with np.errstate(all="ignore"):
        expected = (a.view(np.float32) + b.view(np.float32)).view(np.float32)
    net = _drawn(quick=quick)
    bits = [evaluate(net, {"a": int(x), "b": int(y)}) for x, y in zip(a, b, strict=True)]
    found = np.array(bits, np.uint32)
    nan = np.isnan(expected)
    assert nan.any()
    np.testing.assert_array_equal(found[~nan], expected.view(np.uint32)[~nan])
    assert (found[nan] == 0x7FC00000).all()


@pytest.mark.parametrize("clock_mhz", [100.0, 200.0, 300.0, 400.0])
def test_the_unit_has_the_stages_of_the_quick_drawing(clock_mhz: float) -> None:
    unit = OperatorLibrary("xcup", clock_mhz).find("arith.addf", ("f32", "f32"), "f32")
    device = family("xcup").operators
    quick = pipeline(_drawn(quick=True), device, clock_mhz, tables=device.packs)
    assert unit.latency == quick.latency
    assert unit.delay_ns <= round(quick.first_ns, 3)


def test_the_small_drawing_is_the_one_where_it_has_no_more_stages() -> None:
    unit = OperatorLibrary("xcup", 300.0).find("arith.addf", ("f32", "f32"), "f32")
    assert unit.netlist is not None
    assert unit.netlist.nodes == _drawn(quick=False).nodes
    narrow = OperatorLibrary("ecp5", 80.0).find("arith.addf", ("f32", "f32"), "f32")
    assert narrow.netlist is not None
    assert narrow.netlist.nodes == _drawn(quick=True).nodes
