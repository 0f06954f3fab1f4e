"""``specialize``: each call of a function gets a function of its own, and nothing else changes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.errors import AlloError, HandleTypeError, ScheduleError, UnknownHandleError
from allo.ir.types import int32
from tests.schedule.support import full_text


def scaled(X: int32[8], by: int32) -> int32[8]:
    Y: int32[8]
    for i in range(8):
        Y[i] = X[i] * by + 1
    return Y


def chain(A: int32[8]) -> int32[8]:
    B = scaled(A, 2)
    C = scaled(B, 3)
    return scaled(C, 5)


def twice(X: int32[8]) -> int32[8]:
    Y = scaled(X, 7)
    return scaled(Y, 2)


def nested(A: int32[8]) -> int32[8]:
    B = twice(A)
    return scaled(B, 3)


VALUES = np.arange(-4, 4, dtype=np.int32)


def test_every_call_has_a_function_with_a_schedule_of_its_own() -> None:
    s = allo.customize(chain)
    assert s.specialize("scaled") == ["scaled", "scaled_1", "scaled_2"]
    s.pipeline("scaled_1:i")
    s.unroll("scaled_2:i")
    s.partition("scaled_2:Y", dim=1)
    wanted = allo.customize(chain).build()(VALUES)
    hardware = s.build(target="verilog", simulator="jit")
    assert np.array_equal(hardware(VALUES), wanted)
    assert np.array_equal(s.build()(VALUES), wanted)
    assert str(s.module).count("pipeline_ii") == 1
    assert [info.name for info in s.func_args["scaled_2"]] == ["X", "by"]


def test_calls_in_other_functions_count_and_banks_stay() -> None:
    s = allo.customize(nested)
    s.partition("scaled:Y", dim=1)
    names = s.specialize("scaled")
    assert len(set(names)) == 3
    assert s.partitioned_arrays[f"{names[1]}:Y"] == s.partitioned_arrays["scaled:Y"]
    assert np.array_equal(s.build()(VALUES), allo.customize(nested).build()(VALUES))


def test_it_is_replayed_by_its_record() -> None:
    s = allo.customize(chain)
    s.specialize("scaled")
    other = allo.customize(chain)
    for name, arguments, options in s.primitive_sequences:
        getattr(other, name)(*arguments, **options)
    assert str(other.module) == str(s.module)


def counted(X: int32[8]) -> int32[8]:
    Y: int32[8]
    calls: int32 @ allo.ir.types.Stateful = 0  # type: ignore[name-defined,valid-type]
    calls += 1
    for i in range(8):
        Y[i] = X[i] + calls
    return Y


def remembers(A: int32[8]) -> int32[8]:
    B = counted(A)
    return counted(B)


@pytest.mark.parametrize(
    ("kernel", "name", "kind", "says"),
    [
        (twice, "twice", ScheduleError, "twice is called nowhere, so that it needs no copy"),
        (nested, "twice", ScheduleError, "twice is called once"),
        (chain, "scale", UnknownHandleError, "scale"),
        (chain, 3, HandleTypeError, "Function name must be a string, got 3"),
        (remembers, "counted", ScheduleError, "counted keeps calls between its calls"),
    ],
)
def test_what_has_no_copies_is_refused_and_stays(
    kernel: object, name: object, kind: type[AlloError], says: str
) -> None:
    s = allo.customize(kernel)  # type: ignore[arg-type]
    before = full_text(s)
    with pytest.raises(kind, match=re.escape(says)):
        s.specialize(name)  # type: ignore[arg-type]
    assert full_text(s) == before
