"""Processes in the regions of a device: what lies in each, and wires over the borders in the clock."""

from __future__ import annotations

from typing import Any

import pytest

import allo
import allo.dataflow as df
from allo.backend.devices import family
from allo.errors import PlacementError
from allo.ir.types import Stream, UInt, int32

CROSSING = family("xcup").signals.crossing


def chain(*, kept: bool, count: int = 3) -> Any:
    """Processes that each pass words on, or put the one that they got before from a register."""

    @df.region()
    def chain(A: int32[64], B: int32[64]):
        words: Stream[int32, 4][count + 1]

        @df.kernel(mapping=[1], args=[A])
        def first(a: int32[64]):
            for i in range(64):
                words[0].put(a[i])

        @df.kernel(mapping=[count])
        def passing():
            p = df.get_pid()
            word: int32 = 0
            has_word: UInt(1) = 0
            for i in range(64):
                with allo.meta_if(kept):
                    if has_word == 1:
                        words[p + 1].put(word)
                    word = words[p].get()
                    has_word = 1
                with allo.meta_else():
                    words[p + 1].put(words[p].get())
            with allo.meta_if(kept):
                words[p + 1].put(word)

        @df.kernel(mapping=[1], args=[B])
        def end(b: int32[64]):
            for i in range(64):
                b[i] = words[count].get()

    s = df.customize(chain)
    for loop in ("first_0", *(f"passing_{p}" for p in range(count)), "end_0"):
        s.pipeline(f"{loop}:i")
    return s


def longest_ns(s: Any, **regions: Any) -> float:
    """Of the path that bounds the clock."""
    return 1000 / s.estimate(device="xcup", clock_mhz=300, regions=regions).fmax_mhz


@pytest.fixture(scope="module")
def passing() -> Any:
    return chain(kept=False)


def test_each_region_has_what_lies_in_it(passing: Any) -> None:
    report = passing.estimate(device="xcup", regions={"first": 0, "passing": [0, 1, 2], "end": 2})
    parts = report.resources_of_regions
    assert len(parts) == len(family("xcup").part.regions) == 3
    for kind in ("lut", "ff"):
        assert sum(part.get(kind, 0) for part in parts) == report.resources[kind]
    assert all(part["ff"] > 0 for part in parts)
    # 32 bits of a word, that there is one, and back that there is room; and ends of processes.
    told = next(note for note in report.notes if note.startswith("Wires pass"))
    assert told.count("between") == 2
    assert len(report.wires_of_regions) == 2 and min(report.wires_of_regions) >= 34
    assert report.borderless_mhz is not None and report.fmax_mhz is not None
    assert report.borderless_mhz > 1.2 * report.fmax_mhz


def test_a_path_takes_longer_for_each_border_that_it_passes(passing: Any) -> None:
    """That there is room goes over the border to what passes a word, and that there is one comes back."""
    one = longest_ns(passing, first=1, passing=1, end=1)
    near = longest_ns(passing, first=0, passing=[0, 1, 2], end=2)
    far = longest_ns(passing, first=0, passing=[0, 0, 2], end=2)
    assert one + 1.5 * CROSSING < near
    assert near + 1.5 * CROSSING < far


def test_no_path_goes_over_a_border_and_back_from_a_register() -> None:
    """Ends of 18 processes are kept by registers beside them; the planted fault has no register for words."""
    where = {"first": 0, "passing": [0] * 6 + [1] * 6 + [2] * 6, "end": 2}
    kept, fault = (
        chain(kept=kept, count=18).estimate(device="xcup", clock_mhz=300, regions=where)
        for kept in (True, False)
    )
    crossed = [
        sum(part.what == "crossing" for part in report.critical_path) for report in (kept, fault)
    ]
    assert crossed[0] <= 1 and crossed[1] == 2
    assert 1000 / kept.fmax_mhz + 0.5 * CROSSING < 1000 / fault.fmax_mhz


@pytest.mark.parametrize(
    ("device", "regions", "message"),
    [
        ("xcup", {"frist": 0}, "There is no process 'frist' to lie in a region."),
        ("xcup", {"passing": [0, 1]}, "passing has 3 processes, and regions for 2 are given."),
        ("xcup", {"end": 3}, "A process of end is to lie in region 3, and the device has 3."),
        ("ecp5", {"end": 0}, "end is to lie in a region of a device that has none."),
    ],
    ids=["name", "count", "region", "device"],
)
def test_a_region_that_is_not_there_is_refused(
    passing: Any, device: str, regions: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlacementError) as error:
        passing.estimate(device=device, regions=regions)
    assert error.value.args[0] == message
