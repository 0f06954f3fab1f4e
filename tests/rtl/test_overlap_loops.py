"""Loops around pipelines run these at once without a mark, where that takes no more units."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl import compile
from allo.dialects.core.signature import functions_of
from allo.dialects.streams.loops import iterations
from allo.dialects.streams.trace import Trace
from allo.errors import ClockWarning, DataflowWarning
from allo.ir.types import float32, index, int32
from allo.schedule import Schedule
from tests.rtl.differential import compare
from tests.rtl.test_dataflow_loops import random_loop, scheduled
from tests.rtl.test_dataflow_tasks import ENGINES, everywhere, numbers


def piped(kernel: Callable[..., Any], *loops: str) -> Schedule:
    """The kernel with some loops pipelined and none marked."""
    s = allo.customize(kernel)
    for loop in loops:
        s.pipeline(loop)
    return s


def note_of(report: Any) -> str:
    """What the report says of the one loop whose pipelines run at once, or could."""
    (note,) = [n for n in report.notes if "pipelines at once" in n]
    return note


def notes_by_loop(report: Any) -> dict[str, str]:
    """What the report says of each loop whose pipelines run at once, or could, by the loop's name."""
    return {n.split()[1]: n for n in report.notes if "pipelines at once" in n}


def told_cycles(note: str) -> tuple[int, int]:
    """Cycles of an iteration with and without its pipelines at once, as a note tells them."""
    each = re.search(r"in ([\d,]+) cycles an iteration for ([\d,]+)", note)
    return tuple(int(text.replace(",", "")) for text in each.groups())


def two(A: int32[64, 64], C: int32[64, 64]):
    B: int32[64]
    for i in range(64):
        for j in range(64):
            B[j] = A[i, j] * 2
        for k in range(64):
            C[i, k] = B[k] + 1


def test_two_loops_in_a_loop_take_as_long_as_one():
    A, C = numbers((64, 64), (64, 64))
    cycles, report = everywhere(piped(two, "j", "k"), [A, C], [A, A * 2 + 1])
    assert cycles == report.cycles <= 65 * 66 + 1
    line = two.__code__.co_firstlineno + 2
    assert note_of(report) == (
        f"Loop i (test_overlap_loops.py:{line}:5) runs its 2 pipelines at once, in 66 cycles an iteration "
        "for 128; overlap_loops=False prevents it."
    )
    marked = scheduled(two, "i", "j", "k").build(target="verilog").report
    assert marked.cycles == cycles
    assert not any("pipelines at once" in note for note in marked.notes)


def test_the_option_keeps_one_after_the_other():
    s = piped(two, "j", "k")
    module = s.build(target="verilog", configs={"overlap_loops": False})
    A, C = numbers((64, 64), (64, 64))
    module(A, C)
    np.testing.assert_array_equal(C, A * 2 + 1)
    assert module.cycles == module.report.cycles == 64 * 128 + 1
    assert not any("pipelines at once" in note for note in module.report.notes)
    assert s.estimate(overlap_loops=False).cycles == module.report.cycles
    assert s.estimate().cycles == s.build(target="verilog").report.cycles < 65 * 66 + 2


def floats(A: float32[8, 32], C: float32[8, 32]):
    B: float32[32]
    for i in range(8):
        for j in range(32):
            B[j] = A[i, j] + 2.0
        for k in range(32):
            C[i, k] = B[k] + 1.0


def test_a_loop_that_gains_little_stays_as_it_is():
    def uneven(A: int32[16, 64], C: int32[16, 8]):
        B: int32[64]
        for i in range(16):
            for j in range(64):
                B[j] = A[i, j] * 2
            for k in range(8):
                C[i, k] = B[k] + 1

    A, C = numbers((16, 64), (16, 8))
    s = piped(uneven, "j", "k")
    cycles, report = everywhere(s, [A, C], [A, A[:, :8] * 2 + 1])
    assert not any("pipelines at once" in note for note in report.notes)
    assert cycles == report.cycles == s.estimate(overlap_loops=False).cycles
    marked_cycles, _ = everywhere(scheduled(uneven, "i", "j", "k"), [A, C], [A, A[:, :8] * 2 + 1])
    assert marked_cycles < cycles < 1.25 * marked_cycles, "the mark gives less than asked for"


def test_units_that_would_be_there_twice_are_left_to_the_mark():
    A, C = (np.random.default_rng(0).random((8, 32), np.float32) for _ in range(2))
    want = (A + np.float32(2)) + np.float32(1)
    cycles, report = everywhere(piped(floats, "j", "k"), [A, C], [A, want])
    assert report.float_units == 1
    note = note_of(report)
    assert note.startswith(f"Loop i (test_overlap_loops.py:{floats.__code__.co_firstlineno + 2}:5)")
    assert note.endswith(
        "mark it with s.dataflow(loop); it takes units of its own (2 fadd_f32) and second copies of B "
        "(1 kbit)."
    )
    marked_cycles, marked = everywhere(scheduled(floats, "i", "j", "k"), [A, C], [A, want])
    assert marked.float_units == 2
    with_mark, without = told_cycles(note)
    assert with_mark == round((marked_cycles - 1) / 8)
    assert without == (cycles - 1) // 8, "the last iteration drains"


def test_a_loop_without_such_units_is_kept_beside_one_with_them():
    def mixed(A: float32[8, 32], C: float32[8, 32], D: int32[8, 32], E: int32[8, 32]):
        B: float32[32]
        F: int32[32]
        for i in range(8):
            for j in range(32):
                B[j] = A[i, j] + 2.0
            for k in range(32):
                C[i, k] = B[k] + 1.0
        for m in range(8):
            for p in range(32):
                F[p] = D[m, p] * 2
            for q in range(32):
                E[m, q] = F[q] + 1

    A, C = (np.random.default_rng(0).random((8, 32), np.float32) for _ in range(2))
    D, E = numbers((8, 32), (8, 32))
    want = (A + np.float32(2)) + np.float32(1)
    s = piped(mixed, "j", "k", "p", "q")
    cycles, report = everywhere(s, [A, C, D, E], [A, want, D, D * 2 + 1])
    assert report.float_units == 1
    notes = notes_by_loop(report)
    assert "could run its 2 pipelines at once" in notes["i"]
    assert "runs its 2 pipelines at once" in notes["m"]
    assert cycles < s.estimate(overlap_loops=False).cycles - 6 * 32


def test_different_units_are_not_there_twice():
    def kinds(A: float32[8, 32], C: float32[8, 32]):
        B: float32[32]
        for i in range(8):
            for j in range(32):
                B[j] = A[i, j] * 3.0
            for k in range(32):
                C[i, k] = B[31 - k] + 1.0

    A, C = (np.random.default_rng(0).random((8, 32), np.float32) for _ in range(2))
    want = (A * np.float32(3))[:, ::-1] + np.float32(1)
    cycles, report = everywhere(piped(kinds, "j", "k"), [A, C], [A, want])
    assert "runs its 2 pipelines at once" in note_of(report)
    assert report.float_units == 2
    assert report.float_ops == 2 * 8 * 32
    assert cycles < 9 * 48


def test_rows_of_a_triangle_are_counted_one_by_one():
    def triangle(A: int32[24, 24], C: int32[24, 24]):
        for i in range(24):
            B: int32[24]
            for j in range(i + 1):
                B[j] = A[i, j] * 2
            for k in range(i, 24):
                C[i, k] = B[i] + k

    A, C = numbers((24, 24), (24, 24))
    want = C.copy()
    for i in range(24):
        want[i, i:] = A[i, i] * 2 + np.arange(i, 24)
    cycles, report = everywhere(piped(triangle, "j", "k"), [A, C], [A, want])
    assert "runs its 2 pipelines at once" in note_of(report)
    assert report.cycles == cycles < 24 * 24


def test_a_loop_of_many_accesses_is_left_to_the_mark(monkeypatch):
    def wide(A: int32[16, 8192], C: int32[16, 8192]):
        for i in range(16):
            B: int32[256]
            for j in range(8192):
                B[j & 255] = A[i, j] * 2
            for k in range(8192):
                C[i, k] = B[k & 255] + 1

    compiled = []
    made = compile._compile
    monkeypatch.setattr(compile, "_compile", lambda *a, **k: compiled.append(1) or made(*a, **k))
    with monkeypatch.context() as counting:
        counting.setattr(iterations._Count, "_iteration", refuse)  # it is known without counting
        report = piped(wide, "j", "k").estimate()
    assert report.cycles > 16 * 16384
    assert not any("pipelines at once" in note for note in report.notes)
    assert len(compiled) == 1  # nothing is left to try
    monkeypatch.setattr(iterations, "MOST_TRIED", 1 << 20)
    assert piped(wide, "j", "k").estimate().cycles < 17 * 8200
    assert len(compiled) == 3


def refuse(*_: object) -> None:
    raise RuntimeError("accesses are counted out")


def test_the_least_accesses_are_those_of_loops_with_constant_bounds():
    def mixed(A: int32[8, 8], n: index):
        for i in range(8):
            A[i, 0] = 1
            for j in range(i):
                A[i, j] = 2
            for k in range(2, 8, 3):
                A[i, k] = A[i, k] + 1
            if i < 4:
                A[i, 1] = 3
            else:
                A[i, 1] = A[i, 1] + 4

    s = allo.customize(mixed)
    function = functions_of(s.module.operation)["mixed"]
    block = function.regions[0].blocks[0]
    operations = [op.operation for op in block.operations]
    trace = Trace({}, operations, {block.arguments[0]: 0})
    assert trace.fewest() == 8 * (1 + 2 * 2 + 1)
    assert len(list(trace.events())) == 8 * (1 + 2 * 2) + 28 + 4 + 2 * 4


def test_a_unit_that_the_rest_of_the_design_shares_stays_shared():
    def rest(A: float32[8, 32], C: float32[8, 32]):
        B: float32[32]
        for i in range(8):
            for j in range(32):
                B[j] = A[i, j] * 3.0
            for k in range(32):
                C[i, k] = B[31 - k]
        for m in range(32):
            C[0, m] = A[0, m] * 5.0

    A, C = (np.random.default_rng(0).random((8, 32), np.float32) for _ in range(2))
    want = (A * np.float32(3))[:, ::-1].copy()
    want[0] = A[0] * np.float32(5)
    _, report = everywhere(piped(rest, "j", "k", "m"), [A, C], [A, want])
    assert "could run its 2 pipelines at once" in note_of(report)
    assert report.float_units == 1


def test_large_copies_are_left_to_the_mark():
    def wide(A: int32[4, 600], C: int32[4, 600]):
        B: int32[600]
        for i in range(4):
            for j in range(600):
                B[j] = A[i, j] * 2
            for k in range(600):
                C[i, k] = B[k] + 1

    A, C = numbers((4, 600), (4, 600))
    cycles, report = everywhere(piped(wide, "j", "k"), [A, C], [A, A * 2 + 1])
    assert cycles > 4 * 1200
    assert note_of(report).endswith("; it takes second copies of B (45.2 kbit).")


def rows_and_rows(first: int, second: int) -> Schedule:
    """Two loops one after the other, each with a buffer of so many words between its pipelines."""

    def kernel[N, M](A: int32[4, N], C: int32[4, N], D: int32[4, M], E: int32[4, M]):
        B: int32[N]
        F: int32[M]
        for i in range(4):
            for j in range(N):
                B[j] = A[i, j] * 2
            for k in range(N):
                C[i, k] = B[k] + 1
        for m in range(4):
            for p in range(M):
                F[p] = D[m, p] * 2
            for q in range(M):
                E[m, q] = F[q] + 1

    s = allo.customize(kernel, instantiate=[first, second])
    for loop in "jkpq":
        s.pipeline(loop)
    return s


@pytest.mark.parametrize(
    ("words", "kept"), [((600, 64), "m"), ((64, 600), "i"), ((120, 130), "i"), ((130, 120), "m")]
)
def test_of_two_loops_the_one_whose_copies_fit_is_kept(words, kept):
    first, second = words
    A, C, D, E = numbers((4, first), (4, first), (4, second), (4, second))
    s = rows_and_rows(first, second)
    cycles, report = everywhere(s, [A, C, D, E], [A, A * 2 + 1, D, D * 2 + 1])
    notes = notes_by_loop(report)
    assert set(notes) == {"i", "m"}
    for loop, note in notes.items():
        assert ("runs its 2 pipelines" in note) == (loop == kept)
    assert s.estimate(overlap_loops=False).cycles > cycles


def test_a_loop_that_the_design_does_not_wait_for_stays_as_it_is():
    def slow(A: int32[8, 256], C: int32[8, 256]):
        for m in range(8):
            for n in range(256):
                C[m, n] = A[m, n] + 3

    def quick(A: int32[8, 32], C: int32[8, 32]):
        B: int32[32]
        for i in range(8):
            for j in range(32):
                B[j] = A[i, j] * 2
            for k in range(32):
                C[i, k] = B[k] + 1

    def both(A: int32[8, 256], C: int32[8, 256], D: int32[8, 32], E: int32[8, 32]):
        slow(A, C)
        quick(D, E)

    parts = [allo.customize(slow), piped(quick, "j", "k")]
    parts[0].pipeline("n")
    s = allo.customize(both)
    s.compose(parts)
    s.dataflow("both")
    A, C, D, E = numbers((8, 256), (8, 256), (8, 32), (8, 32))
    cycles, report = everywhere(s, [A, C, D, E], [A, A + 3, D, D * 2 + 1])
    assert cycles == s.estimate(overlap_loops=False).cycles
    assert "could run its 2 pipelines at once" in note_of(report)


def test_arrays_of_registers_are_left_to_the_mark():
    def spread(A: int32[16, 32], C: int32[16, 32]):
        B: int32[32]
        for i in range(16):
            for j in range(32):
                B[j] = A[i, j] * 2
            for k in range(32):
                C[i, k] = B[k] + 1

    s = piped(spread, "j", "k")
    s.partition(s.B)
    A, C = numbers((16, 32), (16, 32))
    _, report = everywhere(s, [A, C], [A, A * 2 + 1])
    assert "memories in place of registers" in note_of(report)
    assert {m.storage for f in report.functions for m in f.memories if m.name == "B"} == {
        "registers"
    }


def test_of_nested_loops_the_inner_one_is_tried():
    def tiles(A: int32[3, 6, 16], C: int32[3, 6, 16], D: int32[3, 16]):
        for t in range(3):
            for i in range(6):
                B: int32[16]
                for j in range(16):
                    B[j] = A[t, i, j] * 2
                for k in range(16):
                    C[t, i, k] = B[k] + 1
            for m in range(16):
                D[t, m] = m

    A, C, D = numbers((3, 6, 16), (3, 6, 16), (3, 16))
    want = np.tile(np.arange(16, dtype=np.int32), (3, 1))
    cycles, report = everywhere(piped(tiles, "j", "k", "m"), [A, C, D], [A, A * 2 + 1, want])
    assert note_of(report).startswith("Loop i ")
    assert cycles == report.cycles < 3 * (7 * 20 + 20)


def test_what_goes_round_the_loop_keeps_the_order():
    def carried(A: int32[6, 8], B: int32[6, 8]):
        T: int32[8]
        for z in range(8):
            T[z] = 0
        for i in range(6):
            for j in range(8):
                B[i, j] = T[7 - j] + A[i, j]
            for k in range(8):
                T[k] = B[i, k] * 2

    A, B = numbers((6, 8), (6, 8))
    want, last = np.zeros_like(A), np.zeros(8, np.int32)
    for i in range(6):
        want[i] = last[::-1] + A[i]
        last = want[i] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataflowWarning)
        _, report = everywhere(piped(carried, "j", "k"), [A, B], [A, want])
    assert not any("pipelines at once" in note for note in report.notes)


def test_warnings_are_given_once():
    def both(A: int32[64, 64], C: int32[64, 64], D: int32[8]):
        B: int32[64]
        for i in range(64):
            for j in range(64):
                B[j] = A[i, j] * 2
            for k in range(64):
                C[i, k] = B[k] + 1
        for m in range(1):
            for p in range(8):
                D[p] = p
            for q in range(8):
                D[q] = q

    s = scheduled(both, "m", "j", "k")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = s.build(target="verilog", configs={"clock_mhz": 700}).report
    kinds = [w.category for w in caught]
    assert kinds.count(DataflowWarning) == 1
    assert kinds.count(ClockWarning) == len({str(w.message) for w in caught}) - 1
    assert "runs its 2 pipelines at once" in note_of(report)


def test_a_limit_of_multiplier_blocks_counts_the_loops_tasks():
    def product(A: int32[16, 32], C: int32[16, 32]):
        B: int32[32]
        for i in range(16):
            for j in range(32):
                B[j] = A[i, j] * A[i, 31 - j]
            for k in range(32):
                C[i, k] = B[k] + 1

    A, C = numbers((16, 32), (16, 32))
    want = A * A[:, ::-1] + 1
    for most in (0, 40):
        module = piped(product, "j", "k").build(target="verilog", configs={"max_dsp": most})
        ours, result = A.copy(), C.copy()
        module(ours, result)
        np.testing.assert_array_equal(result, want)
        assert module.cycles == module.report.cycles < 17 * 45
        assert module.report.resources.get("dsp", 0) <= most


# --- random loops ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_random_loops(seed):
    text = random_loop(random.Random(1000 + seed)).replace("{dataflow, ", "{")
    rtl = compare(text, "f", seed=seed, simulator=ENGINES[seed % 8 == 0])
    assert rtl.report.cycles is not None
    plain = compare(text, "f", seed=seed, overlap_loops=False)
    assert rtl.report.cycles <= plain.report.cycles
