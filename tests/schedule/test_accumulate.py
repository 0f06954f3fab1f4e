"""accumulate: float sums rounded once, the exact ones, with the same bits on every target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.dialects.sums.exact import FORMATS, Accumulator, Format
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import bfloat16, float16, float32, float64, int32
from allo.schedule import Schedule
from tests.schedule import sums
from tests.schedule.exact_sums import KINDS, expected, hard_rows
from tests.schedule.support import refused

TYPES = {"f32": float32, "bf16": bfloat16, "f16": float16, "f64": float64}
ROWS, COLUMNS = 96, 16


def rows[T](A: T[96, 16], B: T[96]):
    for i in range(96):
        for j in range(16):
            B[i] += A[i, j]


def hard(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms, values before, and the bits of their sums by fractions."""
    kind = KINDS[name]
    terms, before = np.zeros((ROWS, COLUMNS), kind.dtype), -np.zeros(ROWS, kind.dtype)
    for number, row in enumerate(hard_rows(kind, COLUMNS, 3)):
        terms[number] = row
    before[3:9] = terms[0, :6]
    with np.errstate(all="ignore"):
        wanted = [expected(kind, np.append(row, b)) for row, b in zip(terms, before, strict=True)]
    return terms, before, np.array(wanted, kind.bits)


def wrong(name: str, module: Callable[..., Any]) -> list[int]:
    """The rows whose sums a build gives other bits than fractions do."""
    terms, before, wanted = hard(name)
    module(terms, before)
    return [int(row) for row in np.flatnonzero(before.view(KINDS[name].bits) != wanted)]


def exact_rows(name: str) -> Schedule:
    s = allo.customize(rows, instantiate=[TYPES[name]])
    s.pipeline("j")
    s.accumulate("j", exact=True)
    return s


@pytest.mark.parametrize("name", TYPES)
def test_the_cpu_gives_the_exact_sum(name: str):
    assert wrong(name, exact_rows(name).build()) == []


@pytest.mark.parametrize("name", TYPES)
def test_hardware_gives_the_exact_sum(name: str):
    """Every row of a pipeline that starts an iteration in each cycle; cycles are as the report says."""
    module = exact_rows(name).build(target="verilog", simulator="jit", device="xcup", clock_mhz=300)
    assert wrong(name, module) == []
    assert module.cycles == module.report.cycles < ROWS * COLUMNS + 100
    assert module.report.fmax_mhz >= 300


@pytest.mark.parametrize("name", TYPES)
def test_the_cpp_gives_the_exact_sum(name: str):
    assert wrong(name, exact_rows(name).build(target="vhls", mode="csim")) == []


def test_verilator_gives_the_exact_sum():
    assert wrong("f32", exact_rows("f32").build(target="verilog", simulator="verilator")) == []


def total[T, N](A: T[N]) -> T:
    x: T = 0.0
    for k in range(N):
        x += A[k]
    return x


def test_these_are_all_formats():
    assert set(TYPES) == set(FORMATS)


def test_it_is_what_fsum_gives():
    s = allo.customize(total, instantiate=[float64, 500])
    s.accumulate("k", exact=True)
    module = s.build()
    rng = np.random.default_rng(5)
    for scale in (0, 40, 900):
        values = rng.standard_normal(500) * 2.0 ** rng.integers(-scale, scale + 1, 500)
        assert module(values) == math.fsum(values)
        assert module(rng.permutation(values)) == math.fsum(values)


def test_an_iteration_starts_in_every_cycle_at_300_mhz():
    s = allo.customize(total, instantiate=[float32, 1024])
    s.pipeline("k")
    s.accumulate("k", exact=True)
    report = s.build(target="verilog", simulator="jit", device="xcup", clock_mhz=300).report
    (loop,) = report.functions[0].loops
    assert (loop.ii, loop.limit) == (1, "") and report.fmax_mhz >= 300
    assert report.cycles < 1024 + 40


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("carries", "f32"),
        ("ties", "f32"),
        ("signs", "f16"),
        ("subnormals", "bf16"),
    ],
)
def test_the_rows_see_faults(fault: str, name: str, monkeypatch: pytest.MonkeyPatch):
    """No room for carries; ties away from zero; minus zero for all zeros; subnormals as normal numbers."""
    if fault == "carries":
        monkeypatch.setattr(Accumulator, "width", property(lambda self: self.format.word + 2))
    elif fault == "ties":
        encoded: Any = Accumulator._encoded

        def away(self: Any, emitter: Any, high: Any, below: Any, rest: Any, base: Any) -> Any:
            return encoded(self, emitter, high, below, emitter.constant(1, 1), base)

        monkeypatch.setattr(Accumulator, "_encoded", away)
    elif fault == "signs":
        monkeypatch.setattr("allo.dialects.sums.exact.NOT_MINUS_ZERO", 2)
    else:
        monkeypatch.setattr(Format, "fraction", property(lambda self: 7), raising=False)
        term: Any = Accumulator.term

        def normal(self: Any, emitter: Any, value: Any, *, negative: bool = False) -> Any:
            bits = emitter.bits_of(value, 16)
            exponent = bits.field(7, 8).is_("eq", 0)
            changed = emitter.select(exponent, bits & 0x8000, bits)
            return term(self, emitter, changed.as_float("bf16"), negative=negative)

        monkeypatch.setattr(Accumulator, "term", normal)
    assert wrong(name, exact_rows(name).build())


# --- what it takes -------------------------------------------------------------------------------


def chain(A: float32[8, 8], z: float32[1]):
    for i in range(8):
        for j in range(i):
            if A[i, j] > 0.0:
                z[0] = z[0] + A[i, j] - A[j, i]
            else:
                z[0] -= 1.5


def row_of(A: np.ndarray, i: int) -> list[np.float32]:
    """The terms of an iteration of the outer loop of ``chain``."""
    terms: list[np.float32] = []
    for j in range(i):
        terms += [A[i, j], -A[j, i]] if A[i, j] > 0 else [np.float32(-1.5)]
    return terms


def chained(A: np.ndarray) -> list[np.float32]:
    return [term for i in range(8) for term in row_of(A, i)]


def upto(A: float32[64], n: int32, z: float32[1]):
    for k in range(n):
        z[0] += A[k]


def several(A: float32[24], B: float32[24], z: float32[2], count: int32[1]):
    for k in range(24):
        z[0] += A[k] * B[k]
        z[1] -= B[k]
        count[0] += 1


def check(
    s: Schedule, arguments: list[Any], wanted: list[list[np.float32]], builds: tuple[str, ...]
) -> None:
    """The sums in the array before the counts are those of fractions."""
    kind = KINDS["f32"]
    bits = [expected(kind, np.array(terms, np.float32)) for terms in wanted]
    for build in builds:
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        s.build(**sums.BUILDS[build])(*given)
        (z,) = [
            a for a in given if getattr(a, "shape", ()) == (len(wanted),) and a.dtype == np.float32
        ]
        assert z.view(np.uint32).tolist() == bits, build


@pytest.mark.parametrize("loop", ["i", "j"])
def test_conditions_chains_and_loops_inside(loop: str):
    A = np.random.default_rng(2).standard_normal((8, 8)).astype(np.float32) * np.float32(1e3)
    s = allo.customize(chain)
    s.accumulate("i", exact=True)
    if loop == "j":
        s.pipeline("j")
    check(s, [A, np.array([0.1], np.float32)], [[np.float32(0.1), *chained(A)]], ("cpu", "jit"))


def test_a_sum_of_an_inner_loop_is_rounded_behind_each_run_of_it():
    A = np.random.default_rng(2).standard_normal((8, 8)).astype(np.float32)
    s = allo.customize(chain)
    s.accumulate("j", exact=True)
    z = np.array([0.1], np.float32)
    sum_so_far = z.copy()
    for i in range(8):
        terms = np.array([*sum_so_far, *row_of(A, i)], np.float32)
        sum_so_far = np.array([expected(KINDS["f32"], terms)], np.uint32).view(np.float32)
    s.build()(A, z)
    assert z.tobytes() == sum_so_far.tobytes()


@pytest.mark.parametrize("n", [0, 1, 64])
def test_bounds_of_run_time(n: int):
    A = np.random.default_rng(n).standard_normal(64).astype(np.float32)
    s = allo.customize(upto)
    s.pipeline("k")
    s.accumulate("k", exact=True)
    check(s, [A, n, np.array([-0.0], np.float32)], [[np.float32(-0.0), *A[:n]]], ("cpu", "jit"))


@pytest.mark.parametrize("unrolled", [False, True])
def test_several_sums_and_what_stays(unrolled: bool):
    """Products are rounded as they are written, and the count is left as it is."""
    rng = np.random.default_rng(4)
    A, B = (rng.standard_normal(24).astype(np.float32) for _ in range(2))
    s = allo.customize(several)
    s.accumulate("k", exact=True)
    if unrolled:
        s.unroll("k", 4)
    s.pipeline("k")
    assert str(s.module).count("count_word") == 0
    one = np.float32(1.0)
    check(
        s,
        [A, B, np.ones(2, np.float32), np.zeros(1, np.int32)],
        [[one, *(A * B)], [one, *(-B)]],
        ("cpu", "jit"),
    )


def test_compose_replays_it():
    s, part = allo.customize(outer), allo.customize(inner)
    part.accumulate("k", exact=True)
    s.compose(part)
    x, z = np.array([1e20, 3.0, -1e20, 0.5], np.float32), np.array([2.0], np.float32)
    s.build()(x, z)
    assert z[0] == 5.5


def inner(x: float32[4], z: float32[1]):
    for k in range(4):
        z[0] += x[k]


def outer(x: float32[4], z: float32[1]):
    inner(x, z)


# --- what is refused -----------------------------------------------------------------------------


def integers(A: int32[16]) -> int32:
    x: int32 = 0
    for k in range(16):
        x += A[k]
    return x


def product(A: float32[16]) -> float32:
    x: float32 = 1.0
    for k in range(16):
        x *= A[k]
    return x


def scan(x: float32[16], y: float32[16]):
    acc: float32 = 0.0
    for k in range(16):
        acc += x[k]
        y[k] = acc


def endless(A: float32[16]) -> float32:
    x: float32 = 1.0
    for i in range(100000):
        for k in range(100000):
            x += A[k % 16]
    return x


@pytest.mark.parametrize("exact", [None, False, 1])
def test_only_exact_sums_are_there(exact: Any):
    s = allo.customize(scan)
    keywords = {} if exact is None else {"exact": exact}
    told = rf"only exact=True is there, got exact={bool(exact) and exact}.*s.interleave for partial sums"
    refused(s, ScheduleError, told, lambda: s.accumulate("k", **keywords))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (integers, r"Cannot accumulate k: of x it carries addi of i32, and no sum of floats\."),
        (product, r"Cannot accumulate k: of x it carries mulf of f32, and no sum of floats\."),
        (
            scan,
            r"Cannot accumulate k: loop k carries no reduction; acc may also be read by another",
        ),
    ],
)
def test_other_loops_are_refused(kernel: Callable[..., Any], message: str):
    s = allo.customize(kernel)
    refused(s, IllegalTransformError, message, lambda: s.accumulate("k", exact=True))


def test_more_terms_than_words_hold_are_refused():
    s = allo.customize(endless)
    told = r"x gets up to 10,000,000,000 terms, and an exact sum has room"
    refused(s, ScheduleError, told, lambda: s.accumulate("i", exact=True))
    s.accumulate("k", exact=True)


def below(A: float32[6, 8], C: float32[4]):
    for i in range(6):
        for k in range(8):
            if i >= 2:
                C[i - 2] += A[i, k]


def test_nothing_is_touched_in_front_of_an_array():
    """Rounding would make another word of what is no number."""
    s = allo.customize(below)
    s.accumulate("k", exact=True)
    words = np.full(12, 0x7FA12345, np.uint32)
    words[4:8] = 0
    a = np.random.default_rng(5).standard_normal((6, 8)).astype(np.float32)
    s.build()(a, words.view(np.float32)[4:8])
    expected = [math.fsum(row.tolist()) for row in a[2:]]
    assert np.array_equal(words.view(np.float32)[4:8], np.array(expected, np.float32))
    assert (words[:4] == 0x7FA12345).all() and (words[8:] == 0x7FA12345).all()
