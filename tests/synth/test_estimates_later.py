"""Estimates that are made when one of them is first read."""

from __future__ import annotations

import copy
import pickle

import pytest

import allo
from allo.backend.rtl import design
from allo.dialects.reports.figures import DesignReport
from allo.ir.types import int32


def product(a: int32[8], b: int32[8]):
    for i in range(8):
        b[i] = a[i] * a[i]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tops of the designs whose resources are estimated."""
    tops, estimate = [], design.HardwareDesign._estimate
    monkeypatch.setattr(
        design.HardwareDesign, "_estimate", lambda self: (tops.append(self.top), estimate(self))
    )
    return tops


def report() -> DesignReport:
    s = allo.customize(product)
    s.pipeline("i")
    return s.build(target="verilog", simulator="jit").report


def test_cycles_and_intervals_wait_for_no_estimate(made: list[str]) -> None:
    found = report()
    assert found.cycles and found.functions[0].loops[0].ii == 1 and found.clock_mhz
    assert not made


@pytest.mark.parametrize(
    "read",
    [
        lambda r: r.resources["lut"],
        lambda r: r.fmax_mhz,
        lambda r: len(r.notes),
        lambda r: len(r.critical_path),
        lambda r: r.functions[0].resources["lut"],
        lambda r: r.functions[0].loops[0].resources["lut"],
        lambda r: r.to_json()["resources"]["lut"],
        lambda r: copy.copy(r).resources["lut"],
        lambda r: pickle.loads(pickle.dumps(r)).functions[0].loops[0].resources["lut"],
        lambda r: r == report(),
        lambda r: "LUT" in str(r),
    ],
)
def test_who_reads_one_has_them_all(made: list[str], read) -> None:
    found = report()
    assert read(found)
    assert made and not found.is_open
    whole = report()
    whole.fill()
    assert found == whole
    assert found.functions[0].resources["lut"] >= found.functions[0].loops[0].resources["lut"] > 0


def test_what_is_no_field_is_still_refused() -> None:
    found = report()
    for _ in range(2):
        with pytest.raises(AttributeError, match="no attribute 'recources'"):
            found.recources
        found.fill()


def test_an_estimate_without_the_clock_has_all_else() -> None:
    s = allo.customize(product)
    s.pipeline("i")
    whole, part = (s.estimate(clock=clock).to_json() for clock in (True, False))
    clock = {name for name in whole if whole[name] != part[name]}
    assert clock == {"fmax_mhz", "critical_path", "port_paths", "registered_mhz"}
    assert whole["fmax_mhz"] > 0 and part["fmax_mhz"] is None
