"""Asserted dependences: what the hardware gains, and what a run says where they do not hold."""

import numpy as np
import pytest

import allo
from allo.errors import DependenceError, IllegalTransformError, ScheduleError, UnsupportedOpError
from allo.ir.types import float32, int32, uint8
from tests.bounds.checked import TARGETS
from tests.schedule.support import full_text, refused


def scatter(h: float32[64], places: int32[60], w: float32[60]):
    for i in range(2, 60, 2):
        h[places[i]] += w[i]


def nested(h: int32[40], places: int32[6, 8]):
    for i in range(6):
        for j in range(8):
            h[places[i, j]] = h[places[i, j]] * h[places[i, j]] + 1


def conditional(h: int32[16, 4], places: int32[30], n: int32):
    for i in range(n):
        if places[i] > 0:
            h[places[i], 1] = h[places[i], 1] + i
        else:
            h[0, 2] = i


def shifted(A: int32[40]):
    for t in range(3):
        for i in range(1, 30):
            A[i] = A[i - 1] + A[i + 4]


PLACES = np.arange(60, dtype=np.int32) // 2


def _scatter(kind="all", distance=False):
    s = allo.customize(scatter)
    s.pipeline("i")
    s.dependence("h", "i", kind, distance)
    return s


def _run(s, places, **options):
    h, w = np.zeros(64, np.float32), np.random.default_rng(1).standard_normal(60)
    w = w.astype(np.float32)
    module = s.build(**options)
    module(h, places, w)
    return module, h


# --- what it is for ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "distance", "name"),
    [
        (None, None, "nothing_said"),
        ("all", False, "none"),
        ("RAW", 3, "read_after_3"),
        ("all", 6, "all_after_6"),
        ("WAW", False, "no_second_write"),
    ],
    ids=str,
)
@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_the_interval_and_the_cycles(kind, distance, name, simulator, figures):
    s = allo.customize(scatter)
    s.pipeline("i")
    if kind is not None:
        s.dependence("h", "i", kind, distance)
    places = PLACES
    if distance:  # one element in every so many iterations, as near as was said
        places = PLACES % distance
    _, want = _run(allo.customize(scatter), places)
    module, h = _run(s, places, target="verilog", simulator=simulator)
    np.testing.assert_array_equal(h, want)
    interval = module.report.functions[0].loops[0].ii
    figures.hold(f"bounds.scatter.{name}.ii", interval)
    assert (interval == 1) == (name in ("none", "read_after_3", "all_after_6"))
    assert module.cycles == module.report.cycles


def test_an_outer_loop_keeps_its_dependences():
    """An element that two iterations of i touch is another matter than two of j."""
    places = np.stack([np.arange(8) + 4 * i for i in range(6)]).astype(np.int32)
    want = np.arange(40, dtype=np.int32)
    allo.customize(nested).build()(want, places)
    s = allo.customize(nested)
    s.pipeline("j")
    s.dependence("h", "j")
    module = s.build(target="verilog", simulator="jit")
    h = np.arange(40, dtype=np.int32)
    module(h, places)
    np.testing.assert_array_equal(h, want)
    assert module.cycles == module.report.cycles
    plain = allo.customize(nested)
    plain.pipeline("j")
    assert module.cycles < plain.build(target="verilog", simulator="jit").report.cycles


@pytest.mark.parametrize("factor", [2, 4])
def test_copies_of_an_unrolled_loop(factor):
    """The distance is in iterations of the loop, and a step of the pipeline has several of them."""
    places = (np.arange(60) // 2 % 8).astype(np.int32)
    _, want = _run(allo.customize(scatter), places)
    s = allo.customize(scatter)
    s.unroll("i", factor)
    s.pipeline("i")
    s.dependence("h", "i", "all", 8)
    module, h = _run(s, places, target="verilog", simulator="jit")
    np.testing.assert_array_equal(h, want)
    assert module.cycles == module.report.cycles


def directly(h: float32[256], p: uint8[128]):
    for b in range(128):
        h[p[b]] = h[p[b]] * 3 + 1


def by_scalar(h: float32[256], p: uint8[128]):
    for b in range(128):
        x: float32 = h[p[b]]
        h[p[b]] = x * 3 + 1


def by_two_names(h: float32[256], p: uint8[128]):
    for b in range(128):
        x: float32 = h[p[b]]
        y: float32 = x
        z: float32 = x * 2
        h[p[b]] = z + y + 1


def by_array(h: float32[256], p: uint8[128]):
    for b in range(128):
        x: float32[2] = 0
        x[1] = h[p[b]]
        h[p[b]] = x[1] * 3 + 1


@pytest.mark.parametrize("kernel", [directly, by_scalar, by_two_names, by_array])
def test_a_word_with_a_name_of_its_own_is_covered_too(kernel):
    """What reads the name of a word is no access of the array that the word came from."""
    s = allo.customize(kernel)
    s.pipeline("b")
    s.dependence("h", "b")
    places = np.random.default_rng(3).permutation(256)[:128].astype(np.uint8)
    want = np.arange(256, dtype=np.float32)
    want[places] = want[places] * 3 + 1
    for options in TARGETS.values():
        module = s.build(**options)
        h = np.arange(256, dtype=np.float32)
        module(h, places)
        np.testing.assert_array_equal(h, want)
        if options.get("simulator") == "jit":
            assert module.report.functions[0].loops[0].ii == 1


def test_the_pragmas_of_vitis():
    text = _scatter("RAW", 3).build(target="vhls").hls_code
    assert (
        "#pragma HLS dependence variable=h type=inter direction=RAW distance=3 dependent=true"
        in text
    )
    text = _scatter().build(target="vhls").hls_code
    assert "#pragma HLS dependence variable=h type=inter dependent=false" in text
    assert "HLS dependence" not in allo.customize(scatter).build(target="vhls").hls_code


# --- what is checked when it runs ----------------------------------------------------------------


@pytest.mark.parametrize("options", TARGETS.values(), ids=TARGETS)
def test_a_dependence_that_fails_is_named(options):
    s = _scatter()
    places = PLACES.copy()
    _, h = _run(s, places, check_dependences=True, **options)
    _, want = _run(allo.customize(scatter), places)
    np.testing.assert_array_equal(h, want)
    places[50] = places[46]
    with pytest.raises(DependenceError) as caught:
        _run(s, places, check_dependences=True, **options)
    error = caught.value
    assert (error.array, error.loop, error.iterations, error.index) == ("h", "i", (46, 50), (23,))
    assert error.place.line == scatter.__code__.co_firstlineno + 2
    assert (
        "The dependence asserted on h does not hold: iteration i=50 loads h[23], which iteration i=46 "
        "has stored; two iterations of i touch no element in common (RAW)." in str(error)
    )


@pytest.mark.parametrize(
    ("kind", "distance", "near", "text"),
    [
        (
            "RAW",
            3,
            2,
            "i=50 loads h[23], which iteration i=46 has stored; two iterations of i that",
        ),
        (
            "WAR",
            3,
            2,
            "i=50 stores h[23], which iteration i=46 has loaded; two iterations of i that",
        ),
        (
            "WAW",
            3,
            2,
            "i=50 stores h[23], which iteration i=46 has stored; two iterations of i that",
        ),
        ("RAW", 2, 1, "at least 2 apart (RAW)"),
    ],
    ids=str,
)
@pytest.mark.parametrize("options", [TARGETS["cpu"], TARGETS["jit"]], ids=["cpu", "jit"])
def test_kinds_and_distances(kind, distance, near, text, options):
    s = _scatter(kind, distance)
    places = PLACES.copy()
    places[50] = places[50 - 2 * (near + 1)]
    _run(s, places, check_dependences=True, **options)
    places = PLACES.copy()
    places[50] = places[50 - 2 * near]
    if near == 1:
        text = "at least 2 apart (RAW)"
    with pytest.raises(DependenceError) as caught:
        _run(s, places, check_dependences=True, **options)
    assert text in str(caught.value)


@pytest.mark.parametrize("options", TARGETS.values(), ids=TARGETS)
def test_an_inner_loop_starts_anew(options):
    """Iterations of j in different iterations of i may touch one element."""
    s = allo.customize(nested)
    s.pipeline("j")
    s.dependence("h", "j", "all", False)
    places = np.stack([np.arange(8) + 4 * i for i in range(6)]).astype(np.int32)
    module = s.build(check_dependences=True, **options)
    module(np.zeros(40, np.int32), places)
    places[3, 6] = places[3, 2]
    with pytest.raises(DependenceError, match=r"iteration j=6 loads h\[14\], which iteration j=2"):
        module(np.zeros(40, np.int32), places)


@pytest.mark.parametrize("options", TARGETS.values(), ids=TARGETS)
def test_conditions_and_bounds_of_run_time(options):
    s = allo.customize(conditional)
    s.dependence("h", "i", "RAW", False)
    module = s.build(check_dependences=True, **options)
    places = np.array([*range(1, 16), *[0] * 15], np.int32)
    h, want = np.zeros((16, 4), np.int32), np.zeros((16, 4), np.int32)
    module(h, places, 30)
    allo.customize(conditional).build()(want, places, 30)
    np.testing.assert_array_equal(h, want)
    places[20] = 7
    module(h, places, 20)
    with pytest.raises(DependenceError, match=r"iteration i=20 loads h\[7, 1\], which .* i=6 has"):
        module(h, places, 21)


def test_both_checks_together():
    places = PLACES.copy()
    places[10] = 64
    with pytest.raises(IndexError, match=r"h\[64\] of an array of shape \[64\]"):
        _run(_scatter(), places, check_dependences=True, check_bounds=True)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "distance", "pattern"),
    [
        (
            "all",
            False,
            r":20: The dependence asserted on A does not hold: two iterations of i touch no element in "
            r"common \(RAW\), but the store at \(t=0, i=1\) and the load at \(t=0, i=2\) touch the same",
        ),
        (
            "WAR",
            5,
            r"at least 5 apart \(WAR\), but the load at \(t=0, i=1\) and the store at \(t=0, i=5",
        ),
        ("RAW", 2, r"at least 2 apart \(RAW\), but .*help: assert what holds for all iterations"),
    ],
    ids=str,
)
def test_what_is_surely_false_is_refused(kind, distance, pattern):
    s = allo.customize(shifted)
    refused(s, IllegalTransformError, pattern, lambda: s.dependence("A", "i", kind, distance))
    s.dependence("A", "i", "WAR", 4)
    s.dependence("A", "i", "WAW")


def other(A: int32[40], B: int32[40]):
    for i in range(40):
        B[i] = i


def by_name(x: int32[4]):
    for k in range(4):
        x[k] = k


def calling(A: int32[40, 4]):
    for i in range(40):
        A[i, 0] = 1
        by_name(A[i])


@pytest.mark.parametrize(
    ("kernel", "call", "pattern"),
    [
        (other, ("A", "i"), r"dependence of A on i: the loop does not access A\."),
        (
            other,
            ("B", "i", "raw"),
            r"dependence of B on i: there is no kind 'raw'\..*\"RAW\", \"WAR\"",
        ),
        (other, ("B", "i", "all", 1), r"dependence of B on i: the distance must be >= 2, got 1"),
        (other, ("B", "i", "all", True), r"the distance must be an integer, got True"),
        (
            calling,
            ("A", "i"),
            r"dependence of A on i: the array is also touched as a whole, in part or",
        ),
        (
            calling,
            ("by_name:x", "i"),
            r"the array is one of function by_name, and the loop one of calling\.",
        ),
    ],
    ids=["no_access", "kind", "distance", "true", "view", "function"],
)
def test_what_is_no_assertion(kernel, call, pattern):
    s = allo.customize(kernel)
    refused(s, ScheduleError, pattern, lambda: s.dependence(*call))


def test_what_is_asserted_of_a_loop_stays_so():
    """Primitives that change the loop are refused afterwards; marks and other loops are not."""
    s = _scatter()
    s.unroll("i", 2)
    s.partition(s.h, dim=1)
    refused(
        s,
        ScheduleError,
        r"split changes loop i, of which a dependence on h was asserted\..*help: call dependence after",
        lambda: s.split("i", 4),
    )
    s = allo.customize(shifted)
    s.dependence("A", "i", "WAW")
    refused(s, ScheduleError, r"skew changes loop i", lambda: s.skew("t", "i", 2))


def test_a_module_without_assertions_is_as_before():
    s = allo.customize(scatter)
    before = full_text(s)
    refused(s, ScheduleError, "no kind", lambda: s.dependence("h", "i", "inter"))
    assert full_text(s) == before and "asserted" not in before


def test_an_array_of_any_length_cannot_be_checked():
    s = allo.customize(opened)
    s.dependence("h", "i")
    with pytest.raises(UnsupportedOpError, match="asserted on h cannot be checked: the length of"):
        s.build(check_dependences=True)


def opened(h: int32[...], places: int32[8]):
    for i in range(8):
        h[places[i]] = i


def test_compose_replays_it():
    s = allo.customize(outside)
    s.compose(_scatter("RAW", 3))
    module = s.build(target="verilog", simulator="jit")
    assert [loop.ii for f in module.report.functions for loop in f.loops] == [1]


def outside(h: float32[64], places: int32[60], w: float32[60]):
    scatter(h, places, w)
