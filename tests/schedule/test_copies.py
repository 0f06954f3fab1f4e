"""Copies of schedules, handles and built modules."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import allo
from allo.errors import BuildError, ScheduleError
from allo.ir.types import int32


def k(A: int32[8]):
    for i in range(8):
        A[i] += 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_schedule_is_its_own(copied) -> None:
    first = allo.customize(k)
    first.split("i", 4)
    second = copied(first)
    second.pipeline("i.inner")
    second.partition(second.A)
    assert "pipeline_ii" not in str(first.module)
    assert "pipeline_ii" in str(second.module)
    assert len(first.primitive_sequences) == 1 and not first.partitioned_arrays
    for schedule in (first, second):
        a = np.arange(8, dtype=np.int32)
        schedule.build()(a)
        np.testing.assert_array_equal(a, np.arange(8) + 1)


def test_a_schedule_is_not_pickled() -> None:
    with pytest.raises(ScheduleError, match="schedule of k cannot be pickled"):
        pickle.dumps(allo.customize(k))


@pytest.mark.parametrize(
    "options", [{}, {"target": "vhls"}, {"target": "verilog"}, {"target": "xls"}], ids=str
)
def test_a_built_module_is_neither_copied_nor_pickled(options: dict[str, str]) -> None:
    module = allo.customize(k).build(**options)
    for made in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BuildError, match="neither copied nor pickled"):
            made(module)


def test_handles_are_copied_and_pickled_as_names() -> None:
    schedule = allo.customize(k)
    loops = schedule.get_loops()
    (name, band), *_ = loops
    assert copy.deepcopy(loops)[name]["i"] == band["i"]
    assert pickle.loads(pickle.dumps(loops))[name]["i"] == band["i"]
    assert pickle.loads(pickle.dumps(schedule.A)) == schedule.A
    schedule.pipeline(pickle.loads(pickle.dumps(band["i"])))
    assert "pipeline_ii" in str(schedule.module)
