"""``allo.sweep``: every point has its result, whatever happens to workers; and the cache of searches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import allo
from allo.explore import Found
from tests.explore import kernels, workers

QUICK: dict[str, Any] = {
    "clock_mhz": 300.0,
    "seconds": 20.0,
    "reassociate": True,
    "subnormals": "flush",
}


def test_a_worker_that_dies_loses_nothing(tmp_path: Path) -> None:
    found = allo.sweep(partial(workers.die_once, str(tmp_path)), range(5))
    assert [at.result for at in found] == [0, 1, 4, 9, 16]
    assert found[2].tries > 1


def test_what_a_point_raises_stays_with_it() -> None:
    with ThreadPoolExecutor(2) as pool:
        found = allo.sweep(workers.fail_at_three, range(5), executor=pool)
    assert [at.result for at in found] == [0, 1, 2, None, 4]
    assert isinstance(found[3].error, ValueError)


def test_a_point_that_kills_every_worker_is_told() -> None:
    found = allo.sweep(workers.always_die, [1])
    assert found[0].error is not None and found[0].tries == 3


def test_budgets_of_a_kernel() -> None:
    with ThreadPoolExecutor(1) as pool:
        found = allo.sweep(
            partial(allo.autoschedule, kernels.sweep, **QUICK),
            [{"max_dsp": 6}, {"max_dsp": 24}],
            executor=pool,
        )
    few, more = (at.result for at in found)
    assert isinstance(few, Found) and "def schedule():" in more.script
    assert more.trace.cycles < few.trace.cycles


def test_a_search_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path))
    first = allo.autoschedule(kernels.sweep, max_dsp=12, **QUICK)
    assert "cache" not in first.trace.ended
    second = allo.autoschedule(kernels.sweep, max_dsp=12, **QUICK)
    assert "from the cache" in second.trace.ended
    assert str(second.module) == str(first.module)
    assert second.trace.tried == first.trace.tried
    other = allo.autoschedule(kernels.sweep, max_dsp=13, **QUICK)
    assert "cache" not in other.trace.ended
    for kept in (tmp_path / "autoschedule").iterdir():
        kept.write_text(kept.read_text()[:40])
    assert "cache" not in allo.autoschedule(kernels.sweep, max_dsp=12, **QUICK).trace.ended


def test_a_kept_search_that_no_longer_holds_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path))
    allo.autoschedule(kernels.sweep, max_dsp=12, **QUICK)
    (kept,) = (tmp_path / "autoschedule").iterdir()
    text = kept.read_text()
    kept.write_text(text.replace('"primitive": "pipeline"', '"primitive": "parallel"'))
    assert "cache" not in allo.autoschedule(kernels.sweep, max_dsp=12, **QUICK).trace.ended
