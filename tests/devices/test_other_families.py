"""iCE40, Gowin and GateMate are records like others: designs build, run, and take what is estimated."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend import devices
from allo.ir.types import int32
from benchmarks.kernels import gemm

FAMILIES = ("ice40", "ice40_hx8k", "gowin", "gowin_gw1n9", "gatemate")
KINDS = ("lut", "ff", "dsp", "bram")


def product_gemm() -> Any:
    schedule = allo.customize(gemm)
    schedule.pipeline("k")
    return schedule


def built(make: Any, family: str) -> Any:
    clock = devices.family(family).usual_mhz
    return make().build(target="verilog", simulator="jit", device=family, clock_mhz=clock)


@pytest.mark.parametrize(
    ("family", "design"),
    [
        ("ice40", "numeric.histogram"),
        ("ice40", "crypto.crc32"),
        ("ice40", "gemm"),
        ("gowin", "numeric.histogram"),
        ("gowin", "gemm"),
        ("gatemate", "numeric.histogram"),
        ("gatemate", "crypto.crc32"),
        ("gatemate", "gemm"),
    ],
)
def test_estimates_are_within_a_fifth_of_yosys(family: str, design: str) -> None:
    make = product_gemm
    if design != "gemm":
        make = importlib.import_module(f"allo.designs.gallery.{design}").schedule
    module = built(make, family)
    estimated, found = module.report.resources, module.synthesize().resources
    far = {
        kind: (estimated.get(kind, 0), found[kind])
        for kind in KINDS
        if abs(estimated.get(kind, 0) - found[kind]) > max(2, 0.2 * found[kind])
    }
    assert not far


@pytest.mark.parametrize(
    ("family", "found"),
    [
        ("ice40", {"lut": 470, "ff": 496, "dsp": 8}),
        ("ice40_hx8k", {"lut": 875, "ff": 1138}),
        ("gowin", {"lut": 753, "ff": 701, "dsp": 4}),
    ],
)
def test_taps_of_a_filter_share_their_sums(family: str, found: dict[str, int]) -> None:
    """What Yosys 0.70 took of the filter, whose products by constants have sums and registers in common."""
    schedule = importlib.import_module("allo.designs.gallery.signal.fir").schedule()
    clock = devices.family(family).usual_mhz
    estimated = schedule.estimate(device=family, clock_mhz=clock).resources
    assert all(abs(estimated[kind] - count) <= 0.2 * count for kind, count in found.items())
    assert estimated.get("dsp", 0) == found.get("dsp", 0)


def test_a_record_says_what_nextpnr_does_not_time() -> None:
    routings = {name: devices.family(name).synthesis for name in FAMILIES}
    enable = ("register", "logic", "sum", "logic", "enable or reset")
    for name, synthesis in routings.items():
        assert synthesis is not None and synthesis.routing is not None
        assert synthesis.routing.times(("register", "sum", "register")) == (name != "gatemate")
        assert synthesis.routing.times(enable) == name.startswith("ice40")
        # iCE40 HX and GateMate have no multiplier blocks: a product is tables, which are timed.
        tables = name in ("ice40_hx8k", "gatemate")
        assert synthesis.routing.times(("register", "product")) == tables


@pytest.mark.parametrize("family", FAMILIES)
def test_designs_run(family: str) -> None:
    def affine(a: int32[8], b: int32[8]) -> int32[8]:
        c: int32[8] = 0
        for i in range(8):
            c[i] = a[i] * b[i] - 7
        return c

    module = built(lambda: allo.customize(affine), family)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-1000, 1000, 8, dtype=np.int32) for _ in range(2))
    np.testing.assert_array_equal(module(a, b), a * b - 7)
