"""``effort="exact"``: schedules that OR-tools proves to be the best, held to an enumeration and simulated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.plan.exact import search
from allo.backend.rtl.plan.exact.program import Program
from allo.backend.rtl.plan.exact.search import Exact
from allo.backend.rtl.plan.modulo import Scheduler, depth_of, restore, times_of
from allo.errors import OptionError
from allo.ir.types import bool as boolean
from allo.ir.types import float32, int8, int16, int32


def fir(X: float32[64], H: float32[8], Y: float32[64]):
    for i in range(56):
        total: float32 = 0
        for j in range(8):
            total += X[i + j] * H[j]
        Y[i] = total


def mixed(A: int32[64], B: int32[64], C: int32[64]):
    for i in range(16):
        C[i] = A[i] * B[i] + A[i + 16] * B[i + 16] + A[i + 32] * B[63 - i] * A[63 - i]


def chosen(A: int16[32], B: int8[32], C: int32[32]):
    for i in range(4, 32):
        found: int32 = A[i]
        if B[i] > 0:
            found += A[i - 4] * C[i - 4]
        C[i] = found


def searching(A: int32[40], x: int32) -> int32:
    at: int32 = 0
    while at < 39 and A[at] + A[at + 1] + A[39 - at] < x:
        at += 1
    return at


def _floats(rng: np.random.Generator) -> list[Any]:
    values = [rng.standard_normal(n).astype(np.float32) for n in (64, 8)]
    return [*values, np.zeros(64, np.float32)]


def _integers(rng: np.random.Generator) -> list[Any]:
    return [rng.integers(-(1 << 31), 1 << 31, 64, dtype=np.int32) for _ in range(3)]


def _short(rng: np.random.Generator) -> list[Any]:
    return [rng.integers(-100, 100, 32).astype(t) for t in (np.int16, np.int8, np.int32)]


def _sorted(rng: np.random.Generator) -> list[Any]:
    return [np.sort(rng.integers(0, 1000, 40, dtype=np.int32)), int(rng.integers(0, 3000))]


CASES: list[tuple[Callable[..., Any], str, Callable[[np.random.Generator], list[Any]]]] = [
    (fir, "i", _floats),
    (mixed, "i", _integers),
    (chosen, "i", _short),
    (searching, "", _sorted),
]


def _schedule(kernel: Callable[..., Any], loop: str) -> Any:
    s = allo.customize(kernel)
    if loop:
        s.pipeline(loop)
    return s


@pytest.mark.parametrize(
    ("kernel", "loop", "draw"), CASES, ids=lambda c: getattr(c, "__name__", "")
)
def test_bits_are_those_of_the_cpu_and_cycles_those_foretold(
    kernel: Callable[..., Any], loop: str, draw: Callable[[np.random.Generator], list[Any]]
):
    s = _schedule(kernel, loop)
    cpu, quick = s.build(), s.build(target="verilog", simulator="jit")
    exact = s.build(target="verilog", simulator="jit", effort="exact")
    for seed in range(5):
        ours = draw(np.random.default_rng(seed))
        theirs, first = ([np.copy(a) for a in ours[:-1]] + [np.copy(ours[-1])] for _ in range(2))
        if kernel is searching:
            theirs, first = [theirs[0], ours[1]], [first[0], ours[1]]
        assert exact(*ours) == cpu(*theirs)
        quick(*first)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
        assert exact.report.cycles in (None, exact.cycles)
        assert exact.cycles <= quick.cycles


def test_a_loop_that_lacks_ports_takes_fewer_cycles():
    s = _schedule(mixed, "i")
    build = partial(s.build, target="verilog", simulator="jit", clock_mhz=250)
    quick, exact = build().report, build(effort="exact").report
    assert exact.cycles is not None and quick.cycles is not None and exact.cycles < quick.cycles
    line = mixed.__code__.co_firstlineno + 1
    (note,) = [n for n in exact.notes if n.startswith("Loop i")]
    assert note.startswith(
        f"Loop i (test_exact.py:{line}:5) was scheduled exactly: II 2 (the least), "
        "6 (the least, 7 before) cycles an iteration, "
    )


def test_a_loop_with_enough_ports_takes_fewer_registers():
    s = _schedule(chosen, "i")
    quick = s.build(target="verilog", simulator="jit").report
    exact = s.build(target="verilog", simulator="jit", effort="exact").report
    assert exact.cycles == quick.cycles and exact.resources["ff"] < quick.resources["ff"]


def test_no_units_are_added_for_fewer_cycles():
    s = _schedule(fir, "i")
    made = [
        s.build(target="verilog", simulator="jit", effort=effort).report.functions[0].operators
        for effort in ("quick", "exact")
    ]
    assert made[0] == made[1] and made[0]["fadd_f32"] == 2


def test_the_same_program_gets_the_same_verilog():
    texts = {
        str(_schedule(mixed, "i").build(target="systemverilog", effort="exact")) for _ in range(2)
    }
    assert len(texts) == 1


def test_what_was_asked_before_is_not_asked_again(monkeypatch: pytest.MonkeyPatch):
    """Limits on resources compile a design several times."""
    asked: list[Program] = []
    solved = search._Search._solved

    def counted(self: Any, program: Program, wanted: Any) -> Any:
        asked.append(program)
        return solved(self, program, wanted)

    monkeypatch.setattr(search._Search, "_solved", counted)
    counts = []
    for limits in ({}, {"max_lut": 5000}):
        asked.clear()
        _schedule(two, "i").build(target="systemverilog", effort="exact", **limits)
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


def test_an_unknown_effort_is_refused():
    with pytest.raises(OptionError, match="'quick' or 'exact'"):
        _schedule(mixed, "i").build(target="verilog", effort="exacts")


# --- against an enumeration ---------------------------------------------------------------


def two(A: int8[16], C: int8[16]):
    for i in range(4):
        C[i] = A[i] + A[i + 4] + A[i + 8]


def three(A: int8[16], B: int16[16]):
    for i in range(4, 8):
        B[i] = B[i - 4] + A[i] + A[i + 8] + A[15 - i]


def carried(A: int8[16], B: int8[16], p: boolean):
    for i in range(1, 8):
        if p:
            B[i] = B[i - 1] ^ A[i] ^ A[i + 8] ^ A[i + 4]


def _captured(kernel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The searches that a build of a kernel makes of its pipelines: scheduler, ports and the result."""
    found: list[Any] = []
    improve: Any = Exact.improve

    def kept(exact: Exact, scheduler: Scheduler, ports: Any, ii: Any, **settings: Any) -> Any:
        before = times_of(scheduler.body)
        after = improve(exact, scheduler, ports, ii, **settings)
        if ii is not None:
            found.append((scheduler, ports, ii, after, exact.proofs[-1], before))
        return after

    monkeypatch.setattr(Exact, "improve", kept)
    _schedule(kernel, "i").build(target="systemverilog", effort="exact")
    monkeypatch.undo()
    return found


def _enumerated(scheduler: Scheduler, ports: Any, ii: int, depth: int) -> int | None:
    """The fewest cycles of all schedules at an interval up to a depth, by trying each of them."""
    body, best = scheduler.body, None
    moved = [n for n in body.nodes if n.kind in ("load", "store")]
    others = {n.number for n in body.nodes} - {n.number for n in moved}
    for times in product(range(depth), repeat=len(moved)):
        floors = dict(zip((n.number for n in moved), times, strict=True))
        # Logic starts as soon as it can; only accesses wait for anything.
        wanted = [floors.get(n.number, 0) for n in body.nodes]
        settled = _settled(scheduler, wanted, ports, ii, others)
        if settled is not None and (best is None or settled < best):
            best = settled
    return best


def _settled(
    scheduler: Scheduler, wanted: list[int], ports: Any, ii: int, others: set[int]
) -> int | None:
    """The depth of the schedule whose accesses start when it is wanted; None where they cannot."""
    body = scheduler.body
    for _ in range(20):
        if scheduler.adopt(list(wanted), ii, ports):
            return depth_of(body)
        found = scheduler._forward.times
        later = [
            max(w, t) if n.number in others else w
            for n, w, t in zip(body.nodes, wanted, found, strict=True)
        ]
        if later == wanted:
            return None
        wanted = later
    return None


@pytest.mark.parametrize("kernel", [two, three, carried])
def test_no_schedule_of_an_enumeration_is_better(
    kernel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    (found,) = _captured(kernel, monkeypatch)
    scheduler, ports, _, ii, proof, _ = found
    depth = depth_of(scheduler.body)
    assert proof.ii.proved and proof.depth.proved and proof.depth.found == depth
    kept = times_of(scheduler.body)
    assert _enumerated(scheduler, ports, ii, depth) == depth
    if ii > 1:
        assert _enumerated(scheduler, ports, ii - 1, depth) is None
    restore(scheduler.body, kept)


def test_a_schedule_that_breaks_a_rule_is_not_taken(monkeypatch: pytest.MonkeyPatch):
    """Programs without their ports give schedules that the pass over the body refuses."""
    quick = _schedule(mixed, "i").build(target="verilog", simulator="jit").report
    refused: list[bool] = []
    adopt: Any = Scheduler.adopt

    def noted(*args: Any) -> bool:
        refused.append(not adopt(*args))
        return not refused[-1]

    monkeypatch.setattr(Program, "_slots", lambda self: None)
    monkeypatch.setattr(Scheduler, "adopt", noted)
    broken = _schedule(mixed, "i").build(target="verilog", simulator="jit", effort="exact")
    assert any(refused)
    assert broken.report.cycles == quick.cycles


def test_a_large_body_keeps_its_schedule_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "MOST_OPERATIONS", 3)
    module = _schedule(mixed, "i").build(target="verilog", simulator="jit", effort="exact")
    (note,) = [n for n in module.report.notes if n.startswith("Loop i")]
    assert "has the schedule found first: it has " in note and note.endswith(
        "3 at most are searched."
    )


def behind_gates(A: int8[8], B: int8[8], K: int16[8], n: int8):
    for i in range(7):
        B[i // 3] = A[i]
        if i > 0:
            A[6] = K[i] + A[1]
        else:
            A[K[i] & 7] = A[i + 1] + A[3]
        last: int8 = B[(n * n + i) & 7]
        B[i] = 93 + last


def test_loads_that_wait_for_their_conditions_wait_in_the_search() -> None:
    """A store of one iteration came before a load of the other branch, which shared its port."""
    s = _schedule(behind_gates, "i")
    module = s.build(target="verilog", simulator="jit", device="ecp5", effort="exact")
    twin = _schedule(behind_gates, "").build()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        given = [rng.integers(-100, 100, 8).astype(t) for t in (np.int8, np.int8, np.int16)]
        n = int(rng.integers(-9, 9))
        expected = [array.copy() for array in given]
        module(*given, n)
        twin(*expected, n)
        for ours, theirs in zip(given, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
