"""interleave: partial results that take turns, the same bits on every target."""

import numpy as np
import pytest

import allo
from allo.equivalence.compare import compare
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import float32, int32
from tests.schedule import sums
from tests.schedule.support import check_golden, loops, refused


def _interleaved(loop, factor, pipelined=True):
    def schedule(s):
        s.interleave(loop, factor)
        if pipelined:
            s.pipeline(f"{loop}.inner")

    return schedule


@pytest.mark.parametrize(
    ("kernel", "loop", "factor", "exact"),
    [
        (sums.dot, "k", 8, False),
        (sums.odd_dot, "k", 8, False),
        (sums.rows, "k", 5, True),
        (sums.mixed, "k", 4, True),
        (sums.guarded, "k", 7, True),
        (sums.triangle, "j", 3, False),
        (sums.bicg, "j", 6, False),
        (sums.floats, "k", 3, False),
        (sums.positions, "k", 5, True),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_every_target_gives_the_same_bits(kernel, loop, factor, exact):
    builds = sums.BUILDS if kernel in (sums.odd_dot, sums.mixed) else sums.QUICK
    sums.check_all(kernel, _interleaved(loop, factor), exact=exact, builds=builds)


def test_the_latency_of_the_adder_is_hidden(figures):
    """A float dot product starts an iteration in every cycle; cycles are as the report says."""
    plain, s = allo.customize(sums.dot), allo.customize(sums.dot)
    plain.pipeline("k")
    s.pipeline("k")
    s.interleave("k", 8)
    arrays = sums.arguments(sums.dot)
    for name, schedule in (("pipelined", plain), ("interleaved", s)):
        module = schedule.build(target="verilog", simulator="jit")
        module(*[a.copy() for a in arrays])
        figures.hold(f"schedule.dot.{name}.cycles", module.cycles, report=module.report.cycles)
        figures.hold(f"schedule.dot.{name}.ii", module.report.functions[0].loops[0].ii)
    assert module.report.functions[0].loops[0].ii == 1


def test_the_module_after_it():
    s = allo.customize(sums.odd_dot)
    s.interleave("k", 4)
    assert loops(s) == ["k.outer", "k.inner"]
    check_golden(s, "interleave")


def test_a_mark_stays_with_the_inner_loop():
    s = allo.customize(sums.dot)
    s.unroll("k", 2)
    s.interleave("k", 4)
    band = s.get_loops()["S_k_0"]
    assert "unroll" in band["k.inner"].loop.attributes
    assert "unroll" not in band["k.outer"].loop.attributes


def test_verify_proves_integers_and_says_what_became_of_floats():
    for kernel, factor in ((sums.mixed, 4), (sums.rows, 5)):
        s = allo.customize(kernel)
        s.interleave("k", factor)
        assert compare(allo.customize(kernel), s), kernel.__name__
    s = allo.customize(sums.dot)
    s.interleave("k", 8)
    outcome = compare(allo.customize(sums.dot), s)
    assert not outcome and outcome.reassociated
    assert "they are equal if float sums may be taken in any order" in outcome.message
    assert compare(allo.customize(sums.dot), s, reassociate=True)


def extremes(x: float32[20], z: float32[2]):
    for k in range(20):
        z[0] = min(z[0], x[k])
        z[1] = max(z[1], x[k])


def test_float_minimum_and_maximum_are_exact():
    s = allo.customize(extremes)
    s.interleave("k", 6)
    assert compare(allo.customize(extremes), s)
    x = np.array([0.0, -0.0, np.inf, -np.inf, 3.0] * 4, np.float32)
    for values in (x, np.where(np.arange(20) == 11, np.float32(np.nan), x)):
        want = sums.run(allo.customize(extremes), [values, np.zeros(2, np.float32)], "cpu")
        for build in sums.BUILDS:
            got = sums.run(s, [values, np.zeros(2, np.float32)], build)
            np.testing.assert_array_equal(got[1], want[1])
            zeros = [np.signbit(z[1]) & (z[1] == 0) for z in (got, want)]
            np.testing.assert_array_equal(*zeros)


def inner(x: int32[12], z: int32[1]):
    for k in range(12):
        z[0] += x[k]


def outer(x: int32[12], z: int32[1]):
    inner(x, z)


def test_compose_replays_it():
    s, part = allo.customize(outer), allo.customize(inner)
    part.interleave("k", 4)
    s.compose(part)
    assert loops(s, "inner") == ["k.outer", "k.inner"]
    x, z = np.arange(12, dtype=np.int32), np.array([5], np.int32)
    s.build()(x, z)
    assert z[0] == 5 + 66


# --- what is refused -----------------------------------------------------------------------------


def scan(x: int32[16], y: int32[16]):
    acc: int32 = 0
    for k in range(16):
        acc += x[k]
        y[k] = acc


def neighbours(z: int32[16], x: int32[16]):
    for i in range(4):
        for k in range(16):
            z[i] += x[k] + z[k]


def horner(x: int32[16], z: int32[1]):
    for k in range(16):
        z[0] = z[0] * 3 + x[k]


def both_ways(x: int32[16], z: int32[1]):
    for k in range(16):
        z[0] += x[k]
        z[0] *= 3


def elementwise(x: int32[16], z: int32[16]):
    for k in range(16):
        z[k] += x[k]


def scattered(x: int32[16], z: int32[16]):
    for i in range(3):
        for k in range(16):
            z[x[i]] += x[k]


def counted(x: int32[16], z: int32[1]):
    for k in range(x[0]):
        z[0] += x[k]


def backwards(x: int32[16], z: int32[1]):
    for k in range(16):
        z[0] = x[k] - z[0]


def silent(x: int32[16], z: int32[1]):
    for k in range(16):
        v: int32 = x[k]
        v += z[0]


@pytest.mark.parametrize(
    ("kernel", "pattern"),
    [
        (
            scan,
            r"test_interleave.py:\d+:16: Cannot interleave k: loop k carries no reduction; acc may "
            r"also be read by another statement of the loop \(line \d+\)\.",
        ),
        (neighbours, r":\d+:28: .* z may also be read by another statement of the loop"),
        (horner, r":9: .* this store of z is no update z = z op y with an associative op"),
        (both_ways, r":9: .* z is updated by addi and here by muli \(line"),
        (elementwise, r":9: .* the iterations store to several elements of z \(line"),
        (scattered, r":13: .* the iterations store to several elements of z \(line"),
        (backwards, r"this store of z is no update .*help: a reduction updates one element"),
        (silent, r":\d+: .* v is another variable in each iteration \(line"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_no_reduction_is_refused(kernel, pattern):
    s = allo.customize(kernel)
    refused(s, IllegalTransformError, pattern, lambda: s.interleave("k", 4))


@pytest.mark.parametrize(
    ("factor", "pattern"),
    [
        (
            1,
            r"interleave k: the factor must be >= 2, got 1\.\n.*give the number of partial results",
        ),
        (17, r"interleave k: the factor 17 is above the extent 16\..*use a factor from 2 to 16\."),
        ("4", r"interleave k: the factor must be an integer, got '4'\."),
    ],
    ids=["one", "too_many", "text"],
)
def test_factors_that_are_refused(factor, pattern):
    s = allo.customize(inner_sixteen)
    refused(s, ScheduleError, pattern, lambda: s.interleave("k", factor))


def inner_sixteen(x: int32[16], z: int32[1]):
    for k in range(16):
        z[0] += x[k]


def test_bounds_of_run_time_are_refused():
    s = allo.customize(counted)
    refused(
        s,
        ScheduleError,
        r":5: interleave k: its bounds are not affine\..*constants or affine in outer loops",
        lambda: s.interleave("k", 4),
    )


def test_a_part_of_a_loop_is_interleaved_where_one_store_is_a_reduction():
    """What is no reduction stays as it is beside one."""
    s = allo.customize(beside)
    s.interleave("k", 4)
    x = np.random.default_rng(1).integers(-99, 99, 16).astype(np.int32)
    y, z = np.zeros(16, np.int32), np.array([4], np.int32)
    s.build()(x, y, z)
    np.testing.assert_array_equal(y, np.cumsum(x))
    assert z[0] == 4 + x.sum()
    assert "acc_part" not in str(s.module) and "z_part" in str(s.module)


def beside(x: int32[16], y: int32[16], z: int32[1]):
    acc: int32 = 0
    for k in range(16):
        acc += x[k]
        y[k] = acc
        z[0] += x[k]
