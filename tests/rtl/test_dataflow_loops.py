"""``s.dataflow`` on a loop: one task runs an iteration while another still runs the one before."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.errors import DataflowWarning
from allo.ir.types import Stateful, int32
from allo.schedule import Schedule
from tests.rtl.differential import compare, function
from tests.rtl.test_dataflow_tasks import ENGINES, everywhere, numbers


def scheduled(kernel: Callable[..., Any], loop: str, *pipelined: str) -> Schedule:
    """The kernel with some loops pipelined and one marked."""
    s = allo.customize(kernel)
    for name in pipelined:
        s.pipeline(name)
    bands = dict(s.get_loops())
    s.dataflow(next(band[loop] for band in bands.values() if loop in dict(band)))
    return s


def alone(s: Schedule) -> int:
    """Cycles where one loop runs after the other."""
    return s.build(target="verilog", configs={"overlap_loops": False}).report.cycles


def test_two_loops_in_a_loop_take_as_long_as_one():
    def rows(A: int32[64, 64], B: int32[64, 64]):
        for i in range(64):
            T: int32[64]
            for j in range(64):
                T[j] = A[i, j] * 3
            for k in range(64):
                B[i, k] = T[63 - k] + 1

    A, B = numbers((64, 64), (64, 64))
    want = (A * 3)[:, ::-1] + 1
    cycles, report = everywhere(scheduled(rows, "i", "j", "k"), [A, B], [A, want])
    assert report.cycles == cycles <= 65 * 66 + 1, "65 turns of the longer task, and the call"
    assert "T has a copy for every other iteration." in report.notes
    plain = allo.customize(rows)
    plain.pipeline("j")
    plain.pipeline("k")
    assert alone(plain) >= 64 * 128


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (3, 7), (5, 16)])
def test_an_array_declared_outside_gets_copies_where_every_iteration_fills_it(rows, columns):
    def outside(A: int32[rows, columns], B: int32[rows, columns]):
        T: int32[columns]
        for i in range(rows):
            for j in range(columns):
                T[j] = A[i, j] + i
            for k in range(columns):
                B[i, columns - 1 - k] = T[k] * 2

    A, B = numbers((rows, columns), (rows, columns))
    want = ((A + np.arange(rows, dtype=np.int32)[:, None]) * 2)[:, ::-1]
    cycles, report = everywhere(scheduled(outside, "i", "j", "k"), [A, B], [A, want])
    assert cycles == report.cycles
    assert cycles <= (rows + 1) * (columns + 3)


def test_what_one_iteration_leaves_for_the_next_is_waited_for():
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
    with pytest.warns(DataflowWarning) as caught:
        everywhere(scheduled(carried, "i", "j", "k"), [A, B], [A, want])
    line = carried.__code__.co_firstlineno + 4
    text = str(caught[0].message)
    assert f"test_dataflow_loops.py:{line}:" in text
    assert (
        "The parts of loop i run one after the other: each iteration waits for the one before."
        in text
    )
    assert "note: S_j_1 starts its next iteration when S_k_2 is over: both use T." in text


def test_a_distance_of_two_iterations_lets_two_overlap():
    def apart(A: int32[8, 16], B: int32[6, 16]):
        for i in range(6):
            for j in range(16):
                B[i, j] = A[i, j] + i
            for k in range(16):
                A[i + 2, k] = B[i, 15 - k] * 3

    A, B = numbers((8, 16), (6, 16))
    want, rows = A.copy(), B.copy()
    for i in range(6):
        rows[i] = want[i] + i
        want[i + 2] = rows[i][::-1] * 3
    cycles, report = everywhere(scheduled(apart, "i", "j", "k"), [A, B], [want, rows])
    assert cycles == report.cycles
    plain = allo.customize(apart)
    plain.pipeline("j")
    plain.pipeline("k")
    assert cycles < 0.75 * alone(plain)


def test_tasks_that_want_more_ports_than_there_are_take_turns():
    def crowded(A: int32[8, 16], B: int32[16]):
        for i in range(6):
            for j in range(16):
                A[i + 2, j] = A[i, j] + B[j]
            for k in range(16):
                A[i + 2, k] = A[i + 2, k] * 3

    A, B = numbers((8, 16), 16)
    want = A.copy()
    for i in range(6):
        want[i + 2] = (want[i] + B) * 3
    cycles, report = everywhere(scheduled(crowded, "i", "j", "k"), [A, B], [want, B])
    assert cycles == report.cycles


def test_three_tasks_calls_scalars_and_a_second_run():
    def halve(x: int32[12], y: int32[12], n: int32):
        for i in range(12):
            y[i] = x[i] // 2 + n

    def stages(A: int32[5, 12], B: int32[5], n: int32):
        for t in range(5):
            S: int32[12]
            U: int32[12]
            for j in range(12):
                S[j] = A[t, j] * n
            halve(S, U, n)
            total: int32 = 0
            for k in range(12):
                total += U[k]
            B[t] = total

    A, B = numbers((5, 12), 5)
    for n in (3, 0):
        want = ((A * n) // 2 + n).sum(axis=1).astype(np.int32)
        cycles, report = everywhere(
            scheduled(stages, "t", "j", "halve:i", "k"), [A, B, n], [A, want, n]
        )
        assert cycles == report.cycles
        assert cycles < 7 * 20


def test_calls_that_return_arrays_run_side_by_side():
    def doubled(x: int32[16]) -> int32[16]:
        y: int32[16]
        for j in range(16):
            y[j] = x[j] * 2
        return y

    def turned(x: int32[16]) -> int32[16]:
        y: int32[16]
        for j in range(16):
            y[j] = x[15 - j] + 1
        return y

    def layers(A: int32[12, 16], B: int32[12, 16]):
        for n in range(12):
            x: int32[16]
            for i in range(16):
                x[i] = A[n, i]
            y: int32[16] = doubled(x)
            z: int32[16] = turned(y)
            w: int32[16] = turned(z)
            for o in range(16):
                B[n, o] = w[o]

    s = allo.customize(layers)
    for loop in ("doubled:j", "turned:j", "i", "o"):
        s.pipeline(loop)
    s.dataflow(dict(s.get_loops("layers"))["S_n_0"].n)
    A, B = numbers((12, 16), (12, 16))
    cycles, report = everywhere(s, [A, B], [A, A * 2 + 2])
    assert cycles == report.cycles <= (12 + 5) * 20, (
        "one task's turns, and those of the others once"
    )
    assert alone(allo.customize(layers)) > 12 * 5 * 16


def test_an_iterator_below_zero_keeps_its_sign():
    def below(A: int32[4], B: int32[4]):
        for i in range(-9, -5):
            T: int32[4]
            for j in range(4):
                T[j] = A[j] * i
            for k in range(4):
                B[k] = B[k] * 3 + T[k] + i

    A, B = numbers(4, 4)
    want = B
    for i in range(-9, -5):
        want = want * 3 + A * i + i
    everywhere(scheduled(below, "i", "j", "k"), [A, B], [A, want])


def test_a_marked_loop_inside_another_loop_starts_again():
    def tiles(A: int32[3, 4, 8], B: int32[3, 4, 8]):
        for t in range(3):
            for i in range(4):
                T: int32[8]
                for j in range(8):
                    T[j] = A[t, i, j] + t
                for k in range(8):
                    B[t, i, k] = T[7 - k]

    A, B = numbers((3, 4, 8), (3, 4, 8))
    want = (A + np.arange(3, dtype=np.int32)[:, None, None])[:, :, ::-1]
    cycles, report = everywhere(scheduled(tiles, "i", "j", "k"), [A, B], [A, want])
    assert cycles == report.cycles
    assert cycles < 3 * 5 * 12


@pytest.mark.parametrize(
    ("trips", "why"),
    [("1", "it has fewer than two iterations"), ("n", "its bounds are not constant")],
)
def test_loops_that_are_not_overlapped_say_why(trips, why):
    def fixed(A: int32[8], B: int32[8], n: int32):
        for i in range(1):
            for j in range(8):
                A[j] = j
            for k in range(8):
                B[k] = k

    def open(A: int32[8], B: int32[8], n: int32):
        for i in range(n):
            for j in range(8):
                A[j] = j
            for k in range(8):
                B[k] = k

    kernel = {"1": fixed, "n": open}[trips]
    A, B = numbers(8, 8)
    count = np.arange(8, dtype=np.int32)
    with pytest.warns(DataflowWarning, match=f"The parts of loop i run one after the other: {why}"):
        everywhere(scheduled(kernel, "i"), [A, B, 1], [count, count, 1])


def test_a_variable_that_keeps_its_value_between_calls_is_named():
    def kept(A: int32[4, 8], B: int32[4, 8]) -> int32:
        total: int32 @ Stateful = 0
        for i in range(4):
            for j in range(8):
                total += A[i, j]
            for k in range(8):
                B[i, k] = k
        return total

    A, B = numbers((4, 8), (4, 8))
    with pytest.warns(DataflowWarning, match="it shares total with what is around it"):
        module = scheduled(kept, "i").build(target="verilog")
    assert module(A, B) == A.sum()


# --- random loops ---------------------------------------------------------------------------


def random_loop(rng: random.Random) -> str:
    """Two to four nests in a marked loop, over arguments and arrays inside and outside it."""
    rows, size = rng.choice((2, 3, 5)), rng.choice((1, 4, 7))
    flat, deep = f"memref<{size}xi32>", f"memref<{rows + 2}x{size}xi32>"
    lines = [f'%T0 = memref.alloc() {{name = "T0"}} : {flat}']
    lines.append(f"affine.for %z = 0 to {size} {{ %v = affine.load %A[0, %z] : {deep}")
    lines.append(f"affine.store %v, %T0[%z] : {flat} }}")
    low = rng.randint(0, 1)
    lines.append(f"affine.for %i = {low} to {rows + low} {{")
    lines.append(f'%T1 = memref.alloc() {{name = "T1"}} : {flat}')
    lines.append(_nest(rng, size, rows, ["A", "B", "T0"], "T1", whole=True))
    for _ in range(rng.randint(1, 3)):
        written = rng.choice(("A", "B", "T0", "T1", "B"))
        lines.append(
            _nest(rng, size, rows, ["A", "B", "T0", "T1"], written, whole=rng.random() < 0.7)
        )
    lines.append('} {dataflow, loop_name = "i"}')
    lines.append("return")
    return function("\n".join(lines), {"A": (deep, "i32"), "B": (deep, "i32")})


def _nest(
    rng: random.Random, size: int, rows: int, read: list[str], written: str, *, whole: bool
) -> str:
    def place(name: str, index: str) -> str:
        kind = f"memref<{rows + 2}x{size}xi32>" if name in "AB" else f"memref<{size}xi32>"
        row = rng.choice(("%i", "%i", "%i + 1", "0", f"-%i + {rows + 1}"))
        return f"%{name}[{row + ', ' if name in 'AB' else ''}{index}] : {kind}"

    low, high = (0, size) if whole else sorted(rng.sample(range(size + 1), 2))
    turned = f"-%j + {size - 1}"
    sources = [place(rng.choice(read), rng.choice(("%j", "%j", turned, "0"))) for _ in range(2)]
    target = place(written, "%j" if whole or rng.random() < 0.7 else turned)
    mark = " {pipeline_ii = 1 : ui32}" if rng.random() < 0.7 else ""
    return f"""affine.for %j = {low} to {high} {{
      %a = affine.load {sources[0]}
      %b = affine.load {sources[1]}
      %c = arith.addi %a, %b : i32
      affine.store %c, {target}
    }}{mark}"""


@pytest.mark.parametrize("seed", range(24))
def test_random_loops(seed):
    text = random_loop(random.Random(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataflowWarning)
        compare(text, "f", seed=seed, simulator=ENGINES[seed % 8 == 0])
