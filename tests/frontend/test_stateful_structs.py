"""Structs that keep their fields between calls, and what they start at, on every target."""

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import FrontendError
from allo.frontend import build_module
from allo.ir.types import Fixed, Int, Stateful, Struct, UInt, float32, int8, int32
from tests.frontend.targets import TARGETS, built

T = Struct({"A": int32, "B": int8})
MIXED = Struct({"n": Int(5), "x": Fixed(12, 4), "y": float32, "f": UInt(3)})
NESTED = Struct({"p": T, "k": Int(40)})

TABLE = np.zeros(4, [("A", np.int32), ("B", np.int8)])
TABLE["A"], TABLE["B"] = [1000, -2000, 3000, -4000], [1, -2, 3, -128]


def counts(i: int32, out: int32[4]):
    t: T[10] @ Stateful = 0
    u: T[4] @ Stateful = TABLE
    one: T @ Stateful = {"A": 7, "B": -1}
    t[i]["A"] += i + 1
    t[i]["B"] = t[i]["B"] - 3
    u[i % 4] = {"A": u[(i + 1) % 4]["A"] + 1, "B": u[i % 4]["B"] + 1}
    one["A"] += t[i]["B"]
    q = u[i % 4]
    out[0] = t[i]["A"] * 1000 + t[i]["B"]
    out[1] = q["A"]
    out[2] = q["B"]
    out[3] = one["A"] * 10 + one["B"]


def counted(calls):
    t = np.zeros(10, TABLE.dtype)
    u, one, rows = TABLE.copy(), [7, -1], []
    for i in calls:
        t["A"][i] += i + 1
        t["B"][i] -= 3
        u[i % 4] = (u["A"][(i + 1) % 4] + 1, u["B"][i % 4] + 1)
        one[0] += int(t["B"][i])
        low = int(t["A"][i]) * 1000 + int(t["B"][i])
        rows.append([low, u["A"][i % 4], u["B"][i % 4], one[0] * 10 + one[1]])
    return rows


@pytest.mark.parametrize("target", TARGETS)
def test_fields_are_kept_between_calls(target):
    module = built(counts, target)
    calls = [3, 3, 0, 9, 3, 2, 2]
    for i, expected in zip(calls, counted(calls), strict=True):
        out = np.zeros(4, np.int32)
        module(i, out)
        np.testing.assert_array_equal(out, expected)


MANY = np.zeros(3, [("n", np.int8), ("x", float), ("y", np.float32), ("f", np.uint8)])
MANY["n"], MANY["x"], MANY["y"], MANY["f"] = [-3, 15, 0], [1.5, -2.25, 0.0625], [0.1, -7, 3], 5


def moved(S: MIXED[3], by: int32):
    for i in range(3):
        S[i]["n"] = S[i]["n"] + by
        S[i]["y"] = S[i]["y"] * 2.0


def passed(by: int32, out: float32[3, 4]):
    s: MIXED[3] @ Stateful = MANY
    moved(s, by)
    for i in range(3):
        out[i, 0] = s[i]["n"]
        out[i, 1] = s[i]["x"]
        out[i, 2] = s[i]["y"]
        out[i, 3] = s[i]["f"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_changes_what_is_kept(target):
    module = built(passed, target)
    for call in (1, 2):
        out = np.zeros((3, 4), np.float32)
        module(1, out)
        expected = np.stack([MANY[k].astype(np.float32) for k in MANY.dtype.names], 1)
        expected[:, 0] = (expected[:, 0] + call + 16) % 32 - 16
        expected[:, 2] *= 2**call
        np.testing.assert_array_equal(out, expected)


def nested(i: int32) -> int32:
    s: NESTED[2] @ Stateful = {"p": {"A": [5, 6], "B": -1}, "k": 1}
    s[i]["p"]["A"] += s[i]["k"]
    s[i]["k"] += s[i]["p"]["B"]
    return s[i]["p"]["A"]


@pytest.mark.parametrize("target", TARGETS)
def test_structs_in_structs_start_at_a_dict(target):
    module = built(nested, target)
    assert [module(i) for i in (0, 0, 1, 0, 1)] == [6, 6, 7, 5, 7]


@pytest.mark.parametrize("target", ["simulator", "verilog"])
def test_a_kernel_of_a_region_keeps_the_state_of_the_region(target):
    @df.region()
    def top(A: int32[4], B: int32[4]):
        total: T @ Stateful = {"A": 100, "B": 1}

        @df.kernel(mapping=[1], args=[A, B])
        def add(a: int32[4], b: int32[4]):
            for i in range(4):
                total["A"] += a[i] * total["B"]
                b[i] = total["A"]

    options = {"simulator": "jit"} if target == "verilog" else {}
    module = df.build(top, target=target, **options)
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    for start in (100, 106):
        module(a, b)
        np.testing.assert_array_equal(b, start + np.cumsum(a))


def a_number(i: int32):
    t: T[2] @ Stateful = 3  # noqa: F841


def wrong_fields(i: int32):
    t: T @ Stateful = {"A": 1, "C": 2}  # noqa: F841


def wrong_shape(i: int32):
    t: T[2] @ Stateful = TABLE  # noqa: F841


def of_run_time(i: int32):
    t: T @ Stateful = {"A": i, "B": 2}  # noqa: F841


REFUSALS = [
    (a_number, "The state t is a struct<A: i32, B: i8>, and 3 has no fields."),
    (
        wrong_fields,
        "The state t starts at the fields A, C, which are not those of struct<A: i32, B: i8>.",
    ),
    (wrong_shape, "The initialiser of t has shape [4], but t is declared with shape [2]."),
    (of_run_time, "Stateful variable 't' must be initialized with a compile-time constant."),
]


@pytest.mark.parametrize(("kernel", "message"), REFUSALS, ids=[k.__name__ for k, _ in REFUSALS])
def test_refusals(kernel, message):
    with pytest.raises(FrontendError) as caught:
        build_module(kernel)
    assert caught.value.message == message and "Stateful = " in str(caught.value)
