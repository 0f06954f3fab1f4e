"""Regions in reports: figures, tables, and why a region is not foretold."""

from __future__ import annotations

import json

import numpy as np
import pytest

import allo.dataflow as df
from allo.dialects.reports.figures import DesignReport
from allo.errors import PredictionError

from . import programs
from .programs import N, hardware, words


def test_the_report_has_the_region():
    report = df.customize(programs.pipe).estimate()
    (region,) = report.regions
    assert (region.name, region.cycles, region.reason) == ("pipe", report.cycles, "")
    (fifo,) = region.fifos
    assert (fifo.name, fifo.depth, fifo.width, fifo.bits, fifo.words) == ("s", 2, 32, 64, N)
    assert 1 <= fifo.most <= 2
    assert fifo.resources["lut"] > 0
    assert [process.name for process in region.processes] == ["source_0", "sink_0"]
    assert max(p.cycles or 0 for p in region.processes) == region.cycles


def test_the_report_goes_through_json():
    report = programs.bursts(N).estimate()
    plain = json.loads(json.dumps(report.to_json()))
    assert DesignReport.from_json(plain) == report


def test_the_table_shows_cycles_fifos_and_waits():
    report = programs.bursts(N).estimate()
    table = report.table()
    assert f"region burst: {report.cycles} cycles foretold" in table
    assert "waits" in table and "words of u" in table
    row = next(line for line in table.splitlines() if line.strip().startswith("t "))
    assert row.split()[1:6] == ["1", str(N), str(32 * N), str(N), str(N)]
    assert "region burst" in report.html() and "FIFO" in report.html()


def test_a_region_that_values_decide_says_so():
    report = df.customize(programs.filtered).estimate()
    assert report.cycles is None
    assert "because values of A decide what it does." in report.table()
    module = hardware(df.customize(programs.filtered))
    with pytest.raises(PredictionError) as error:
        module.predict()
    assert "values of A decide what it does" in str(error.value)
    assert "`predict(A, B)`" in str(error.value)
    assert module.predict(words(1), words()).cycles > 0


def test_a_region_that_asks_without_waiting_is_in_the_report():
    module = hardware(df.customize(programs.asked))
    given = np.arange(programs.N, dtype=np.int32)
    assert module.report.cycles == programs.measured(module, given, words())


def test_a_region_that_stands_still_says_who_waits():
    report = df.customize(programs.crossed).estimate()
    assert report.cycles is None
    assert "left_0 for a word of t, right_0 for a word of s" in report.regions[0].reason


@pytest.mark.parametrize(
    ("depths", "what"),
    [({"nothing": 3}, "There is no FIFO 'nothing'"), ({"s": 0}, "cannot have a depth of 0")],
)
def test_depths_that_there_are_not(depths: dict[str, int], what: str):
    found = hardware(df.customize(programs.pipe)).predict()
    with pytest.raises(PredictionError, match=what):
        found.retime(depths)
