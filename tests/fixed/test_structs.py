"""Structs between Python and a kernel: NumPy structured arrays and dicts, on every target."""

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.dialects.boundary.storage import natural_dtype
from allo.dialects.diagnostics import BoundaryError, FrontendError
from allo.ir.types import Fixed, Int, Stream, Struct, UFixed, UInt, float16, float32, float64, index

from .targets import build

N = 8
S = Struct({"n": Int(5), "x": Fixed(12, 4), "y": float32, "f": UInt(3)})
WIDE = Struct({"d": float64, "u": UFixed(40, 40), "h": float16, "b": UInt(1)})
TARGETS = ["cpu", "csim", "jit"]


def records(rng, count=N):
    values = np.zeros(count, natural_dtype(S))
    values["n"] = rng.integers(-16, 16, count)
    values["x"] = rng.integers(-2000, 2000, count) / 16
    values["y"] = rng.normal(size=count)
    values["f"] = rng.integers(0, 8, count)
    return values


def same(got, want):
    for name in want.dtype.names:
        np.testing.assert_array_equal(got[name], want[name], err_msg=name)


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_of_structs_in_out_and_in_place(target, tmp_path):
    def mix(A: S[N], p: S, B: S[N], C: S[N]):
        for i in range(N):
            q: S = A[i]
            B[i] = {
                "n": q["n"] + p["n"],
                "x": q["x"] - p["x"],
                "y": q["y"] * p["y"],
                "f": A[i]["f"],
            }
            C[i]["y"] += 1.0
            C[i]["n"] = i
            if A[i]["f"][0]:
                C[i] = A[N - 1 - i]

    module = build(allo.customize(mix), target, tmp_path)
    rng = np.random.default_rng(1)
    given, changed = records(rng), records(rng)
    before, want, out = changed.copy(), changed.copy(), np.zeros_like(given)
    module(given, {"n": 3, "x": -1.5, "y": 2.5, "f": 1}, out, changed)
    expected = given.copy()
    expected["n"] = (given["n"] + 3 + 16) % 32 - 16
    expected["x"] = (given["x"] + 1.5 + 128) % 256 - 128
    expected["y"] = given["y"] * np.float32(2.5)
    same(out, expected)
    want["y"] = before["y"] + np.float32(1)
    want["n"] = np.arange(N)
    odd = given["f"] % 2 == 1
    want[odd] = given[::-1][odd]
    same(changed, want)


@pytest.mark.parametrize("target", ["cpu", "jit", "verilator"])
def test_a_struct_and_an_array_of_structs_as_results(target, tmp_path):
    def first(A: WIDE[4], p: WIDE) -> WIDE:
        p["d"] = p["d"] + A[2]["d"]
        p["b"] = A[1]["b"]
        return p

    def backwards(A: WIDE[4]) -> WIDE[4]:
        B: WIDE[4]
        for i in range(4):
            B[i] = A[3 - i]
            B[i]["u"] = 0.75
        return B

    rng = np.random.default_rng(2)
    given = np.zeros(4, natural_dtype(WIDE))
    given["d"] = rng.normal(size=4)
    given["u"] = rng.integers(0, 1 << 40, 4) / 2.0**40
    given["h"] = rng.normal(size=4)
    given["b"] = [True, True, False, True]
    got = build(allo.customize(first), target, tmp_path)(given, given[0])
    assert got == {
        "d": float(given["d"][0] + given["d"][2]),
        "u": float(given["u"][0]),
        "h": float(given["h"][0]),
        "b": 1,
    }
    got = build(allo.customize(backwards), target, tmp_path)(given)
    want = given[::-1].copy()
    want["u"] = 0.75
    same(got, want)


def test_structs_pass_through_calls():
    def scaled(p: S, by: Fixed(12, 4)) -> S:
        p["x"] = p["x"] * by
        return p

    def twice(x: Fixed(12, 4)) -> S:
        return {"n": 0, "x": x * 2, "y": 0, "f": 0}

    def every(A: S[N]):
        for i in range(N):
            p: S = A[i]
            q: S = scaled({"n": p["n"], "x": 1.0, "y": p["y"], "f": p["f"]}, p["x"])
            q["x"] = twice(q["x"] + q["x"])["x"]
            A[i] = q

    def top(A: S[N]):
        every(A)

    rng = np.random.default_rng(3)
    values = records(rng)
    want = values.copy()
    want["x"] = (4 * values["x"] + 128) % 256 - 128
    allo.customize(top).build()(values)
    same(values, want)


@df.region()
def flow(A: S[N], B: S[N]):
    @df.kernel(mapping=[1], args=[A, B])
    def copy(a: S[N], b: S[N]):
        for i in range(N):
            b[i] = a[i]
            b[i]["n"] = -a[i]["n"]


@pytest.mark.parametrize("target", ["simulator", "verilog"])
def test_a_region_takes_arrays_of_structs(target):
    options = {} if target == "simulator" else {"configs": {"simulator": "jit"}}
    values, out = records(np.random.default_rng(4)), np.zeros(N, natural_dtype(S))
    df.build(flow, target=target, **options)(values, out)
    want = values.copy()
    want["n"] = (-values["n"] + 16) % 32 - 16
    same(out, want)


@df.region()
def pipeline(A: S[N], B: S[N]):
    first: Stream[S, 2]
    second: Stream[S, 3]

    @df.kernel(mapping=[1], args=[A])
    def read(a: S[N]):
        for i in range(N):
            if i < 2:
                first.put(a[i])
            else:
                p: S = a[i]
                p["f"] += 1
                first.put(p)

    @df.kernel(mapping=[1])
    def change():
        for i in range(N):
            p = first.get()
            p["n"] = i
            q: S = p
            second.put({"n": q["n"], "x": q["x"] / 2, "y": -p["y"], "f": p["f"]})

    @df.kernel(mapping=[1], args=[B])
    def write(b: S[N]):
        for i in range(N):
            b[i] = second.get()


@pytest.mark.parametrize("target", ["simulator", "csim", "verilog"])
def test_streams_carry_structs(target, tmp_path):
    options = {"configs": {"simulator": "jit"}} if target == "verilog" else {}
    if target == "csim":
        options = {"mode": "csim", "project": str(tmp_path / "p")}
    values, out = records(np.random.default_rng(6)), np.zeros(N, natural_dtype(S))
    df.build(pipeline, target="vitis_hls" if target == "csim" else target, **options)(values, out)
    want = values.copy()
    want["f"][2:] = (values["f"][2:] + 1) % 8
    want["n"] = np.arange(N)
    want["x"] = np.floor(values["x"] * 8) / 16
    want["y"] = -values["y"]
    same(out, want)


def test_fields_in_another_order_and_type_are_matched_by_name():
    def bump(A: S[N]):
        for i in range(N):
            A[i]["f"] += 1

    order = np.dtype([("f", np.int64), ("y", np.float64), ("x", np.float32), ("n", np.int32)])
    values = records(np.random.default_rng(5))
    mine = np.zeros(N, order)
    for name in order.names:
        mine[name] = values[name]
    with pytest.warns(UserWarning, match="Argument A of bump"):
        allo.customize(bump).build()(mine)
    values["f"] = (values["f"] + 1) % 8
    same(mine, values)


def total(A: S[2], p: S) -> float32:
    return A[0]["y"] + p["y"]


GOOD = {"n": 1, "x": 1.0, "y": 1.0, "f": 1}


@pytest.mark.filterwarnings("ignore::allo.dialects.diagnostics.DTypeWarning")
@pytest.mark.parametrize(
    ("array", "record", "said"),
    [
        (np.zeros(2), GOOD, "An array of float64 does not hold a struct<n: i5"),
        (np.zeros(3, natural_dtype(S)), GOOD, "got an array of shape (3,)."),
        (None, {"n": 1, "x": 1.0}, "{'n': 1, 'x': 1.0} has not its fields."),
        (None, 3, "3 has not its fields."),
        (None, GOOD | {"x": float("nan")}, "p['x'] of total, declared fixed(12, 4): nan cannot"),
        (None, GOOD | {"n": "1"}, "p['n'] of total, declared i5: expected a number, got str."),
    ],
)
def test_a_wrong_struct_is_named(array, record, said):
    module = allo.customize(total).build()
    with pytest.raises(BoundaryError) as caught:
        module(np.zeros(2, natural_dtype(S)) if array is None else array, record)
    assert said in str(caught.value)
    assert "def total" in str(caught.value)
    assert module(np.zeros(2, natural_dtype(S)), GOOD) == 1.0


NESTED = Struct({"inner": Struct({"k": index}), "n": Int(4)})


def nested(A: NESTED[2]) -> int:
    return 0


def no_field(A: S[2]) -> int:
    return A[0]["z"]


def arithmetic(A: S[2]) -> float32:
    return A[0] + 1


def bits(A: S[2]):
    A[0]["f"][1] = 1


def lends(A: S[2]):
    def inner(B: S[2]):
        B[0]["n"] = 1

    local: S[3]
    local[0] = A[1]
    inner(local)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (nested, "Field k of struct<inner: struct<"),
        (no_field, "Field z not found in struct type struct<n: i5"),
        (arithmetic, "A Struct has no arithmetic."),
        (bits, "Bits of a field of an argument cannot be assigned to."),
        (lends, "Argument 1 of inner (B) is struct<"),
    ],
)
def test_what_has_no_meaning_is_refused(kernel, said):
    with pytest.raises(FrontendError) as caught:
        allo.customize(kernel)
    assert said in str(caught.value)
