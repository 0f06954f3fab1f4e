"""Arrays as fields of Structs: locals, arguments, results, streams, state, on every target against NumPy."""

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import AlloError
from allo.frontend import build_module
from allo.ir.types import Fixed, Int, Stateful, Stream, Struct, UInt, float32, int8, int32
from tests.frontend.targets import TARGETS, built

T = Struct({"A": int32[10], "B": int32[10]})
D = Struct({"A": int32[10], "B": int32})
M = Struct({"n": Int(5), "W": Int(4)[2, 3], "y": float32})
P = Struct({"x": int8, "t": UInt(3)[2]})
NESTED = Struct({"head": P, "rows": P[2], "z": Fixed(8, 4)[2]})

START = np.arange(10, dtype=np.int32) * 3


def dtype_of(T):
    from allo.dialects.boundary.storage import natural_dtype

    return natural_dtype(T)


def records(T, shape, seed=0):
    """Random bits of a Struct."""
    from allo.dialects.boundary.storage import decode, encode
    from allo.ir.types import UInt

    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    words = [int.from_bytes(rng.bytes(-(-T.bits // 8)), "little") % 2**T.bits for _ in range(count)]
    cells = encode(np.array(words, object), UInt(T.bits))
    found = decode(cells, T)
    if "y" in (found.dtype.names or ()):
        found["y"] = rng.normal(size=found["y"].shape)
    return found.reshape(shape)


def local(a: int32[10], k: int32, out: int32[10]):
    p: T
    q: T = {"A": a, "B": 7}
    for i in range(10):
        p["A"][i] = a[i] * 2
        p["B"][9 - i] = q["A"][i] - q["B"][i]
    p["A"][k] += 100
    p["B"][2:5] = q["A"][4:7]
    r = p
    r["A"][0] = -1
    p["B"][0] = 5
    q = {"A": r["B"], "B": r["A"]}
    for i in range(10):
        out[i] = p["A"][i] + q["A"][i] * 1000 + q["B"][i]


def meant_local(a, k):
    p, q = np.zeros((), dtype_of(T)), np.zeros((), dtype_of(T))
    q["A"], q["B"] = a, 7
    p["A"], p["B"] = a * 2, (q["A"] - q["B"])[::-1]
    p["A"][k] += 100
    p["B"][2:5] = q["A"][4:7]
    r = p.copy()
    r["A"][0] = -1
    return p["A"] + r["B"] * 1000 + r["A"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_local_is_an_array_for_each_field(target):
    a, out = np.arange(10, dtype=np.int32) * 7 - 20, np.zeros(10, np.int32)
    module = built(local, target)
    for k in (0, 9):
        module(a, k, out)
        np.testing.assert_array_equal(out, meant_local(a, k))


def nibble(value):
    """A number of four bits."""
    return (value + 8) % 16 - 8


def slow_rows(S, p, k, D):
    """What the kernel says, with NumPy's elements."""
    L = np.zeros(4, S.dtype)
    with np.errstate(over="ignore"):
        for i in range(4):
            L[i] = S[i]
            L["W"][i, 1, 2] = nibble(int(L["W"][i, 0, 0]) + p["W"][1, i % 3])
        for i in range(4):
            D[i] = L[i]
            D["W"][i, k, 1] = nibble(int(S["W"][i, k, i % 3]) - p["n"])
            D["y"][i] = S["y"][i] * 2
        L[0] = L[1]
        D["W"][1] = L["W"][0]
        D["W"][2, 1, 0] = S["W"][3, 0, 2]


def copies(S: M[4], p: M, k: int32, D: M[4]):
    L: M[4]
    for i in range(4):
        L[i] = S[i]
        L[i]["W"][1, 2] = L[i]["W"][0, 0] + p["W"][1, i % 3]
    for i in range(4):
        D[i] = L[i]
        D[i]["W"][k, 1] = S[i]["W"][k, i % 3] - p["n"]
        D[i]["y"] = S[i]["y"] * 2.0
    L[0] = L[1]
    D[1]["W"] = L[0]["W"]
    D[2]["W"][1, 0] = S[3]["W"][0, 2]


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_are_structured_arrays_with_fields_of_extents(target):
    module = built(copies, target)
    S, p = records(M, (4,)), records(M, (1,), 1)[0]
    for k in (0, 1):
        found, expected = np.zeros(4, S.dtype), np.zeros(4, S.dtype)
        module(S, p, k, found)
        slow_rows(S, p, k, expected)
        for name in S.dtype.names:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def filled(W: M[2], by: int8):
    for i in range(2):
        for r in range(2):
            for c in range(3):
                W[i]["W"][r, c] += by


def total(W: Int(4)[2, 3]) -> int32:
    sum_: int32 = 0
    for r, c in allo.grid(2, 3):
        sum_ += W[r, c]
    return sum_


def doubled(W: Int(4)[2, 3]):
    for r, c in allo.grid(2, 3):
        W[r, c] = W[r, c] * 2


def made(p: M, by: int8) -> M:
    q: M = p
    for c in range(3):
        q["W"][0, c] = by
    return q


def called(S: M[2], p: M, sums: int32[3]) -> M:
    q = made(p, 5)
    doubled(q["W"])
    filled(S, 3)
    sums[0] = total(q["W"])
    sums[1] = total(S[1]["W"])
    sums[2] = total(p["W"])
    return q


@pytest.mark.parametrize("target", TARGETS)
def test_calls_take_and_return_them(target):
    module = built(called, target)
    S, p, sums = records(M, (2,), 2), records(M, (1,), 3)[0], np.zeros(3, np.int32)
    before = S.copy()
    found = module(S, p, sums)
    q = p["W"].copy()
    q[0] = 5
    q = nibble(q * 2)
    np.testing.assert_array_equal(found["W"], q)
    assert found["n"] == p["n"] and np.float32(found["y"]) == p["y"]
    np.testing.assert_array_equal(S["W"], nibble(before["W"] + np.int8(3)))
    np.testing.assert_array_equal(S["y"], before["y"])
    assert sums.tolist() == [q.sum(dtype=int), S["W"][1].sum(dtype=int), p["W"].sum(dtype=int)]


def nested(S: NESTED[2], k: int32, out: int32[4]) -> NESTED:
    s: NESTED = S[1]
    s["rows"][k]["t"][1] = s["head"]["t"][0]
    s["rows"][1] = s["head"]
    s["head"]["x"] = S[0]["rows"][k]["x"] + 1
    S[0]["rows"][k]["t"][k % 2] = 5
    S[0]["z"][1] = s["z"][0] * 2
    out[0] = s["rows"][k]["t"][1]
    out[1] = S[0]["rows"][k]["t"][0]
    out[2] = S[0]["rows"][1]["x"]
    out[3] = s["rows"][1]["x"]
    return s


@pytest.mark.parametrize("target", TARGETS)
def test_structs_in_arrays_in_structs(target):
    module = built(nested, target)
    for k in (0, 1):
        S, out = records(NESTED, (2,), 4 + k), np.zeros(4, np.int32)
        expected = S.copy()
        found = module(S, k, out)
        s = expected[1].copy()
        s["rows"]["t"][k, 1] = s["head"]["t"][0]
        s["rows"][1] = s["head"]
        s["head"]["x"] = expected["rows"]["x"][0, k] + np.int8(1)
        expected["rows"]["t"][0, k, k % 2] = 5
        expected["z"][0, 1] = (s["z"][0] * 2 + 8) % 16 - 8
        for name in ("head", "rows", "z"):
            np.testing.assert_array_equal(S[name], expected[name], err_msg=name)
        assert found["head"]["x"] == s["head"]["x"]
        np.testing.assert_array_equal(found["rows"], s["rows"])
        rows = expected["rows"][0]
        assert out.tolist() == [
            s["rows"]["t"][k, 1],
            rows["t"][k, 0],
            rows["x"][1],
            s["rows"]["x"][1],
        ]


@pytest.mark.parametrize("target", ["simulator", "csim", "verilog"])
def test_streams_carry_them(target):
    @df.region()
    def top(A: int32[4, 10], B: int32[4, 10]):
        pipe: Stream[T, 2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: int32[4, 10]):
            for n in range(4):
                p: T
                for i in range(10):
                    p["A"][i] = a[n, i]
                    p["B"][9 - i] = a[n, i] + n
                pipe.put(p)

        @df.kernel(mapping=[1], args=[B])
        def take(b: int32[4, 10]):
            for n in range(4):
                q: T = pipe.get()
                for i in range(10):
                    b[n, i] = q["A"][i] * 100 + q["B"][i]

    options = {"verilog": {"simulator": "jit"}, "csim": {"mode": "csim"}}.get(target, {})
    module = df.build(top, target="vhls" if target == "csim" else target, **options)
    a, b = np.arange(40, dtype=np.int32).reshape(4, 10), np.zeros((4, 10), np.int32)
    module(a, b)
    np.testing.assert_array_equal(b, a * 100 + (a + np.arange(4)[:, None])[:, ::-1])


def whole(S: NESTED[2], k: int32) -> NESTED:
    p: NESTED = S[0]
    L: NESTED[2]
    L[0] = S[1]
    L[1] = p
    p["rows"] = L[k]["rows"]
    L[1]["rows"] = S[k]["rows"]
    S[k]["rows"] = p["rows"]
    S[1]["rows"][1] = L[0]["rows"][0]
    q: NESTED = {"head": L[1]["rows"][1], "rows": p["rows"], "z": S[k]["z"]}
    return q


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_of_structs_is_assigned_whole(target):
    module = built(whole, target)
    for k in (0, 1):
        S = records(NESTED, (2,), 10 + k)
        expected, p, L = S.copy(), S[0].copy(), S[::-1].copy()
        found = module(S, k)
        p["rows"] = L["rows"][k]
        L["rows"][1] = expected["rows"][k]
        expected["rows"][k] = p["rows"]
        expected["rows"][1, 1] = L["rows"][0, 0]
        np.testing.assert_array_equal(S, expected)
        np.testing.assert_array_equal(found["rows"], p["rows"])
        np.testing.assert_array_equal(found["z"], expected["z"][k])
        assert found["head"]["x"] == L["rows"]["x"][1, 1]


LONG = Struct({"n": int32, "A": int8[40]})


def reversed_rows(S: LONG[2], D: LONG[2]):
    for i in range(2):
        p: LONG = S[i]
        q: LONG = {"n": p["n"], "A": 0}
        for k in range(40):
            q["A"][39 - k] = p["A"][k]
        D[i] = q


@pytest.mark.parametrize("target", ["cpu", "jit", "interpret"])
def test_a_long_array_is_taken_out_of_its_word_in_a_loop(target):
    module = built(reversed_rows, target)
    S = records(LONG, (2,), 9)
    D = np.zeros(2, S.dtype)
    module(S, D)
    np.testing.assert_array_equal(D["A"], S["A"][:, ::-1])
    np.testing.assert_array_equal(D["n"], S["n"])


def written_word(S: T[2]):
    doubled_row(S[0]["A"])


def doubled_row(A: int32[10]):
    for i in range(10):
        A[i] *= 2


def kept(i: int32) -> int32:
    t: T[2] @ Stateful = {"A": START, "B": 1}
    t[i % 2]["A"][i] += t[0]["B"][i]
    t[0]["B"][i] += 2
    return t[i % 2]["A"][i] * 100 + t[0]["B"][i]


@pytest.mark.parametrize("target", TARGETS)
def test_state_has_arrays_in_structs(target):
    module = built(kept, target)
    t = np.zeros(2, dtype_of(T))
    t["A"], t["B"] = START, 1
    for i in (3, 3, 8, 9, 3):
        t["A"][i % 2, i] += t["B"][0, i]
        t["B"][0, i] += 2
        assert module(i) == t["A"][i % 2, i] * 100 + t["B"][0, i]


def test_the_array_of_a_field_is_partitioned():
    s = allo.customize(local)
    s.partition("local:p_A", partition_type=2, factor=2)
    module = s.build(target="verilog", simulator="jit")
    a, out = np.arange(10, dtype=np.int32), np.zeros(10, np.int32)
    module(a, 3, out)
    np.testing.assert_array_equal(out, meant_local(a, 3))
    assert "#pragma HLS array_partition variable=p_A cyclic" in s.build(target="vhls").hls_code


def mirrored(p: D, a: int32[10], out: int32[10]):
    for i in range(10):
        out[i] = p["A"][i] + 2 * p["A"][9 - i] + a[p["A"][(i + 3) % 10] % 10]
    p["A"][0] = 5


def passed(S: D[2], a: int32[10], out: int32[10]):
    for i in range(10):
        out[i] = S[1]["A"][i] + 2 * S[1]["A"][9 - i] + a[S[1]["A"][(i + 3) % 10] % 10]


def meant_mirrored(p, a):
    A = np.asarray(p["A"])
    return A + 2 * A[::-1] + a[np.roll(A, -3) % 10]


@pytest.mark.parametrize(
    ("kind", "target"), [*[(k, "jit") for k in (0, 1, 2)], (0, "cpu"), (0, "csim")]
)
def test_the_array_of_an_arguments_field_is_partitioned(kind, target):
    """A Struct that is an argument is copied to a local, which has the banks."""
    s = allo.customize(mirrored)
    s.partition(s.p_A, partition_type=kind, factor=0 if kind == 0 else 2)
    s.pipeline("i")
    options = {
        "cpu": {},
        "csim": {"target": "vhls"},
        "jit": {"target": "verilog", "simulator": "jit"},
    }
    module = s.build(**options[target])
    p, a = {"A": np.arange(10, dtype=np.int32)[::-1].copy(), "B": 3}, np.arange(10, dtype=np.int32)
    out = np.zeros(10, np.int32)
    module(p, a, out)
    np.testing.assert_array_equal(out, meant_mirrored(p, a))
    if target == "jit":
        intervals = [loop.ii for loop in module.report.functions[0].loops if loop.trips == 10]
        assert intervals == [2 if kind == 1 else 1]


@pytest.mark.parametrize("target", ["cpu", "csim", "jit"])
def test_an_array_of_structs_is_partitioned_by_its_words(target):
    s = allo.customize(passed)
    s.partition(s.S, dim=1)
    s.pipeline("i")
    options = {
        "cpu": {},
        "csim": {"target": "vhls"},
        "jit": {"target": "verilog", "simulator": "jit"},
    }
    module = s.build(**options[target])
    S, a = np.zeros(2, dtype_of(D)), np.arange(10, dtype=np.int32)
    S["A"], out = np.arange(20).reshape(2, 10), np.zeros(10, np.int32)
    module(S, a, out)
    np.testing.assert_array_equal(out, meant_mirrored(S[1], a))
    if target == "jit":
        assert [loop.ii for loop in module.report.functions[0].loops] == [1]


def test_what_has_no_memory_of_its_own_is_refused_with_what_would_do():
    s = allo.customize(passed)
    with pytest.raises(allo.errors.UnknownHandleError) as caught:
        s.partition("passed:S_A", dim=1)
    assert caught.value.help == (
        "an element of S is one word, of which each access takes all of A: partition S, or copy the Struct "
        "to a local variable, whose fields are arrays of their own."
    )
    with pytest.raises(allo.errors.UnknownHandleError, match="Target S_C not found") as caught:
        s.partition("passed:S_C", dim=1)
    assert "one word" not in (caught.value.help or "")
    with pytest.raises(allo.errors.ScheduleError, match="partition expects an array") as caught:
        allo.customize(mirrored).partition("mirrored:p")
    assert caught.value.help == "p is a Struct; its fields are p_A, p_B."


def out_of_range(p: T) -> int32:
    return p["A"][10]


def wrong_literal(a: int32[9]):
    p: T = {"A": a, "B": 0}  # noqa: F841


def packed_out_of_range(S: T[2]) -> int32:
    return S[0]["A"][12]


def part_of_a_word(S: T[2]):
    S[0]["A"][0:2] = 1


REFUSALS = [
    (out_of_range, "Index out of range: 10 for a dimension of extent 10 of p_A."),
    (packed_out_of_range, "Index out of range: 12 for an array of 10 in a Struct."),
    (wrong_literal, "An array of shape [9] is no field of shape [10]."),
    (
        written_word,
        "doubled_row writes into A, and S[0]['A'] is part of a word that is a Struct, which cannot be "
        "passed by reference.",
    ),
    (
        part_of_a_word,
        "A part of an array in a Struct of an argument cannot be assigned to.",
    ),
]


@pytest.mark.parametrize(("kernel", "message"), REFUSALS, ids=[k.__name__ for k, _ in REFUSALS])
def test_refusals(kernel, message):
    with pytest.raises(AlloError) as caught:
        build_module(kernel)
    assert caught.value.message == message


def first(S: M) -> int32:
    return S["W"][0, 0]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            {"n": 1, "W": np.zeros((3, 2), np.int8), "y": 0.0},
            "An array of shape [3, 2] is no field",
        ),
        ({"n": 1, "y": 0.0}, "has not its fields"),
    ],
)
def test_the_boundary_names_a_field_of_other_extents(value, problem):
    with pytest.raises(allo.errors.BoundaryError, match="Argument S") as caught:
        allo.customize(first).build()(value)
    assert problem in caught.value.message


def test_extents_of_a_field_are_numbers():
    with pytest.raises(allo.errors.DTypeError, match="The fields of a Struct are a dict"):
        Struct({"A": int8[...]})
