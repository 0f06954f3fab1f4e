"""``s.dataflow`` on a function: its nests and calls run at once where what they share allows it."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import DataflowWarning
from allo.ir.types import Stateful, int32
from allo.schedule import Schedule
from tests.rtl.differential import compare, function

ENGINES = ("jit", "verilator")


def scheduled(kernel: Callable[..., Any], *, pipelined: bool = True) -> Schedule:
    """The kernel with every loop pipelined and its function marked."""
    s = allo.customize(kernel)
    if pipelined:
        for _, band in s.get_loops():
            s.pipeline(list(band)[-1][1])
    s.dataflow(kernel.__name__)
    return s


def numbers(*shapes: int | tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-1000, 1000, shape).astype(np.int32) for shape in shapes]


def everywhere(s: Schedule, args: list[Any], expected: list[Any]) -> tuple[int, Any]:
    """All elements on both engines, twice in a row; the cycles, and the report."""
    seen, reports = set(), []
    for simulator in ENGINES:
        module = s.build(target="verilog", configs={"simulator": simulator})
        for _ in range(2):
            given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
            module(*given)
            for got, want in zip(given, expected, strict=True):
                np.testing.assert_array_equal(got, want)
            seen.add(module.cycles)
        reports.append(module.report)
    assert len(seen) == 1
    if reports[0].cycles is not None:
        assert seen == {reports[0].cycles}
    return seen.pop(), reports[0]


def test_nests_that_share_nothing_run_at_once():
    def apart(A: int32[64], B: int32[64], C: int32[40], D: int32[40]):
        for i in range(64):
            B[i] = A[i] * 3
        for k in range(40):
            D[k] = C[k] * 5

    A, B, C, D = numbers(64, 64, 40, 40)
    cycles, report = everywhere(scheduled(apart), [A, B, C, D], [A, A * 3, C, C * 5])
    longer, shorter = (
        next(f.loops[0].cycles for f in report.functions if f.name == f"apart_{task}")
        for task in ("S_i_0", "S_k_1")
    )
    assert cycles == report.cycles == longer < 70
    sequential = allo.customize(apart)
    sequential.pipeline("i")
    sequential.pipeline("k")
    cycles = sequential.build(target="verilog").report.cycles
    assert cycles == longer + shorter - 1, "the second starts while the first drains"


@pytest.mark.parametrize("size", [1, 2, 17, 64])
def test_what_is_read_in_the_order_it_is_written_passes_through_fifos(size):
    def chain(A: int32[size], B: int32[size]):
        S: int32[size]
        T: int32[size]
        for i in range(size):
            S[i] = A[i] + 7
        for j in range(size):
            T[j] = S[j] * 3
        for k in range(size):
            B[k] = T[k] - 1

    A, B = numbers(size, size)
    cycles, _ = everywhere(scheduled(chain), [A, B], [A, (A + 7) * 3 - 1])
    assert cycles <= size + 12


def test_what_is_read_in_another_order_waits_and_the_report_says_so():
    def backwards(A: int32[32], B: int32[32]):
        T: int32[32]
        for i in range(32):
            T[i] = A[i] + 1
        for j in range(32):
            B[j] = T[31 - j]
        for k in range(32):
            A[k] = k

    A, B = numbers(32, 32)
    cycles, report = everywhere(
        scheduled(backwards), [A, B], [np.arange(32, dtype=np.int32), (A + 1)[::-1]]
    )
    assert cycles == report.cycles < 2 * 36
    first, second = report.notes[:2]
    assert first.startswith("S_j_1 starts when S_i_0 is over: both use T (")
    assert "the elements of T are read in another order than they are written" in first
    assert second.startswith("S_k_2 starts when S_i_0 is over: both use A (")


def test_one_element_in_common_is_enough_to_wait():
    def halves(A: int32[32], B: int32[32], last: int32[1]):
        for i in range(16):
            B[i] = A[i]
        for j in range(16):
            B[j + 16] = A[j] * 2
        for k in range(15, 20):
            last[0] = B[k]

    A, B, last = numbers(32, 32, 1)
    want = np.concatenate([A[:16], A[:16] * 2])
    cycles, report = everywhere(scheduled(halves), [A, B, last], [A, want, want[19:20]])
    assert cycles == report.cycles < 18 + 9 + 1
    assert [n.split(":")[0] for n in report.notes if "over" in n] == [
        "S_k_2 starts when S_i_0 is over",
        "S_k_2 starts when S_j_1 is over",
    ]


def test_a_write_waits_for_the_reads_and_writes_before_it():
    def overwritten(A: int32[24], B: int32[24], C: int32[24]):
        for i in range(24):
            B[i] = A[23 - i]
        for j in range(24):
            A[j] = C[j]
        for k in range(24):
            B[k] = B[k] + 1
        for m in range(24):
            C[23 - m] = m

    A, B, C = numbers(24, 24, 24)
    everywhere(
        scheduled(overwritten),
        [A, B, C],
        [C, A[::-1] + 1, np.arange(24, dtype=np.int32)[::-1]],
    )


def test_a_fifo_is_deep_enough_for_a_reader_that_wants_the_other_array_first():
    def late(A: int32[50], B: int32[50]):
        S: int32[50]
        T: int32[50]
        for i in range(50):
            S[i] = A[i] + 1
            T[i] = A[i] * 2
        for j in range(50):
            if j < 25:
                B[2 * j] = S[2 * j]
                B[2 * j + 1] = S[2 * j + 1]
            else:
                B[2 * j - 50] += T[2 * j - 50]
                B[2 * j - 49] += T[2 * j - 49]

    A, B = numbers(50, 50)
    everywhere(scheduled(late, pipelined=False), [A, B], [A, A * 3 + 1])
    cycles, report = everywhere(scheduled(late), [A, B], [A, A * 3 + 1])
    reader = next(f for f in report.functions if f.name == "late_S_j_1")
    assert cycles < reader.loops[0].cycles + 20, (
        "the writer's 50 iterations are beside the reader's"
    )


def test_calls_of_one_function_run_at_once():
    def twice(x: int32[32], y: int32[32]):
        for i in range(32):
            y[i] = x[i] * 2

    def calls(A: int32[32], B: int32[32], C: int32[32], D: int32[32]):
        twice(A, B)
        twice(C, D)

    A, B, C, D = numbers(32, 32, 32, 32)
    s = allo.customize(calls)
    s.pipeline("twice:i")
    s.dataflow("calls")
    cycles, report = everywhere(s, [A, B, C, D], [A, A * 2, C, C * 2])
    assert cycles == report.cycles <= 35, "as long as one call"


def test_arrays_that_calls_return_pass_through_fifos():
    def bump(x: int32[32]) -> int32[32]:
        y: int32[32]
        for i in range(32):
            y[i] = x[i] + 5
        return y

    def joined(A: int32[32], B: int32[32], C: int32[32]):
        left = bump(A)
        right = bump(B)
        for j in range(32):
            C[j] = left[j] * right[j]

    A, B, C = numbers(32, 32, 32)
    s = allo.customize(joined)
    s.pipeline("bump:i")
    s.pipeline("j")
    s.dataflow("joined")
    cycles, _ = everywhere(s, [A, B, C], [A, B, (A + 5) * (B + 5)])
    assert cycles < 50


@pytest.mark.parametrize("bound", [0, 1, 9])
def test_scalars_reach_the_parts_that_start_later(bound):
    def scaled(A: int32[16], B: int32[16], n: int32, by: int32):
        T: int32[16]
        for i in range(16):
            T[i] = A[i] * by
        for j in range(n):
            B[j] = T[15 - j] + by
        for k in range(16):
            A[k] = by + k

    A, B = numbers(16, 16)
    want = B.copy()
    want[:bound] = (A * 3)[::-1][:bound] + 3
    everywhere(
        scheduled(scaled), [A, B, bound, 3], [3 + np.arange(16, dtype=np.int32), want, bound, 3]
    )


def test_what_a_scalar_carries_stays_in_one_part():
    def sums(A: int32[32], B: int32[32], C: int32[32]) -> int32:
        total: int32 = 0
        factor: int32 = 3
        for i in range(32):
            total += A[i]
        for j in range(32):
            B[j] = total * factor
        for k in range(32):
            C[k] = C[k] * factor
        count: int32 = 0
        for m in range(32):
            count += A[m]
        return count

    A, B, C = numbers(32, 32, 32)
    s = scheduled(sums)
    for simulator in ENGINES:
        module = s.build(target="verilog", configs={"simulator": simulator})
        given = [A.copy(), B.copy(), C.copy()]
        assert module(*given) == A.sum()
        np.testing.assert_array_equal(given[1], np.full(32, A.sum() * 3, np.int32))
        np.testing.assert_array_equal(given[2], C * 3)
        assert module.cycles == module.report.cycles < 32 * 3 + 15


def test_functions_that_share_a_state_are_one_part():
    def counted(x: int32[8]):
        seen: int32 @ Stateful = 0
        for i in range(8):
            seen += 1
            x[i] = seen

    def both(A: int32[8], B: int32[8], C: int32[8]):
        counted(A)
        counted(B)
        for k in range(8):
            C[k] = k

    A, B, C = numbers(8, 8, 8)
    one = np.arange(1, 9, dtype=np.int32)
    s = allo.customize(both)
    s.dataflow("both")
    module = s.build(target="verilog")
    for run in range(2):
        given = [A.copy(), B.copy(), C.copy()]
        module(*given)
        np.testing.assert_array_equal(given[0], one + 16 * run)
        np.testing.assert_array_equal(given[1], one + 8 + 16 * run)
        np.testing.assert_array_equal(given[2], one - 1)


def test_a_function_with_nothing_to_overlap_says_why():
    def acc(A: int32[8], B: int32[8]):
        total: int32 = 0
        for i in range(8):
            total += A[i]
        for j in range(8):
            B[j] = total

    s = scheduled(acc)
    with pytest.warns(DataflowWarning) as caught:
        module = s.build(target="verilog")
    text = str(caught[0].message)
    assert text.replace("\n", " ") in module.report.notes
    line = acc.__code__.co_firstlineno
    assert text.endswith(
        "The parts of acc run one after the other: its parts hand each other total.\n"
        "help: pass what they share through arrays."
    )
    assert f"test_dataflow_tasks.py:{line}:" in text

    def step(A: int32[8], B: int32[8]):
        for i in range(8):
            A[i] = A[i] + 1
        for j in range(8):
            B[j] = A[7 - j]

    with pytest.warns(
        DataflowWarning, match=r"each of its parts waits for the one before\.\nnote: S_j_1"
    ):
        scheduled(step).build(target="verilog")


def test_an_estimate_says_why_a_mark_changes_nothing():
    """In a warning, which Python shows once, and in the notes of every report."""

    def one(A: int32[8], B: int32[8]):
        for i in range(8):
            B[i] = A[i] * 3

    s = allo.customize(one)
    plain = s.estimate()
    s.dataflow("one")
    why = "The parts of one run one after the other: it has fewer than two parts."
    for _ in range(2):
        with pytest.warns(DataflowWarning, match=why):
            report = s.estimate()
        assert [note.endswith(why) for note in report.notes].count(True) == 1
        assert report.cycles == plain.cycles
    assert not any("one after the other" in note for note in plain.notes)


def test_a_mark_that_is_there_already_is_told():
    @df.region()
    def top(A: int32[8]):
        @df.kernel(mapping=[1], args=[A])
        def cell(a: int32[8]):
            for i in range(8):
                a[i] += 1

    s = df.customize(top)
    with pytest.warns(DataflowWarning) as caught:
        s.dataflow("top")
    line = top.__code__.co_firstlineno + 1
    assert str(caught[0].message).endswith(
        f"test_dataflow_tasks.py:{line}:9: s.dataflow changes nothing: "
        "the parts of top are asked to run at once already."
    )


def test_a_function_that_is_copied_into_a_pipeline_says_so():
    def inner(A: int32[4], B: int32[4]):
        for i in range(4):
            A[i] = A[i] + 1
        for j in range(4):
            B[j] = B[j] * 2

    def outer(A: int32[4], B: int32[4]):
        for t in range(3):
            inner(A, B)

    s = allo.customize(outer)
    s.dataflow("inner")
    s.pipeline("t")
    with pytest.warns(DataflowWarning, match="called in a pipelined or unrolled loop"):
        module = s.build(target="verilog")
    A, B = numbers(4, 4)
    given = [A.copy(), B.copy()]
    module(*given)
    np.testing.assert_array_equal(given[0], A + 3)
    np.testing.assert_array_equal(given[1], B * 8)


def test_a_build_with_checks_keeps_the_order_of_the_program():
    def checked(A: int32[8], B: int32[8], n: int32):
        for i in range(n):
            A[i] = 1
        for j in range(n):
            B[j] = 2

    s = scheduled(checked)
    with pytest.warns(DataflowWarning, match="the build has checks"):
        module = s.build(target="verilog", check_bounds=True)
    A, B = numbers(8, 8)
    with pytest.raises(allo.errors.BoundsError):
        module(A, B, 9)


# --- random functions -----------------------------------------------------------------------


def random_function(rng: random.Random) -> str:
    """A function of three to six nests over four arguments and three local arrays of eight elements."""
    lines, size = [], 8
    names = ["A", "B", "C", "D", *(f"T{n}" for n in range(3))]
    for local in names[4:]:
        lines.append(f'%{local} = memref.alloc() {{name = "{local}"}} : memref<{size}xi32>')
        lines.append(f"affine.for %z = 0 to {size} {{ %v = affine.load %A[%z] : memref<{size}xi32>")
        lines.append(f"affine.store %v, %{local}[%z] : memref<{size}xi32> }}")
        if rng.random() < 0.6:
            del lines[-2:]
            lines.append(_nest(rng, size, names[:4], local, whole=True))
    for _ in range(rng.randint(2, 5)):
        lines.append(_nest(rng, size, names, rng.choice(names), whole=rng.random() < 0.5))
    lines.append("return")
    kind = (f"memref<{size}xi32>", "i32")
    text = function("\n".join(lines), dict.fromkeys(names[:4], kind))
    return text.replace("attributes {", "attributes {dataflow, ", 1)


def _nest(rng: random.Random, size: int, read: list[str], written: str, *, whole: bool) -> str:
    kind = f"memref<{size}xi32>"
    low, high = (0, size) if whole else sorted(rng.sample(range(size + 1), 2))
    place = "%i" if whole or rng.random() < 0.7 else f"-%i + {size - 1}"
    sources = [rng.choice(read) for _ in range(2)]
    places = [rng.choice(("%i", "%i", f"-%i + {size - 1}", "0")) for _ in range(2)]
    mark = " {pipeline_ii = 1 : ui32}" if rng.random() < 0.7 else ""
    return f"""affine.for %i = {low} to {high} {{
      %a = affine.load %{sources[0]}[{places[0]}] : {kind}
      %b = affine.load %{sources[1]}[{places[1]}] : {kind}
      %c = arith.addi %a, %b : i32
      affine.store %c, %{written}[{place}] : {kind}
    }}{mark}"""


@pytest.mark.parametrize("seed", range(24))
def test_random_functions(seed):
    text = random_function(random.Random(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataflowWarning)
        compare(text, "f", seed=seed, simulator=ENGINES[seed % 8 == 0])


def test_many_tasks_one_after_the_other():
    """31 tasks, each behind all that came before: to follow their order took 2^31 steps."""

    def chained(A: int32[6, 6], B: int32[6, 3], Y: int32[4]):
        for i, j, k in allo.grid(6, 5, 2):
            Y[(k + i) % 4] = A[(k + j) % 6, j // 3]
            A[j + 1, k + 4] *= A[i, i]
        for x, y in allo.grid(6, 3):
            B[x, y] = A[x, y] + Y[y]

    s = allo.customize(chained)
    s.unfold("S_i_j_k_0", [0, 1])
    s.dataflow("chained")
    a, y = numbers((6, 6), 4)
    b = np.zeros((6, 3), np.int32)
    cpu = allo.customize(chained).build()
    expected = [a.copy(), b.copy(), y.copy()]
    cpu(*expected)
    with pytest.warns(DataflowWarning):
        module = s.build(target="verilog", simulator="jit")
    module(a, b, y)
    for got, want in zip((a, b, y), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_function_that_is_called_with_different_slices():
    def halves(a: int32[8], b: int32[8]):
        for i in range(8):
            a[i] = a[i] + 1
        for k in range(8):
            b[k] = b[k] * 3

    def kernel(A: int32[24], B: int32[24]):
        halves(A[0:8], B[16:24])
        halves(A[12:20], B[1:9])

    s = allo.customize(kernel)
    s.dataflow("halves")
    a, b = numbers(24, 24)
    expected_a, expected_b = a.copy(), b.copy()
    for part_a, part_b in ((slice(0, 8), slice(16, 24)), (slice(12, 20), slice(1, 9))):
        expected_a[part_a] += 1
        expected_b[part_b] *= 3
    everywhere(s, [a, b], [expected_a, expected_b])
