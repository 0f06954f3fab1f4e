"""``pipeline(…, rewind=True)``: the next run of a loop begins while its pipeline drains."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import float32, int32
from tests.rtl.differential import compare, function
from tests.rtl.test_dataflow_tasks import ENGINES, everywhere


def sweeps(rounds: int, size: int) -> Any:
    def kernel(A: float32[size], B: float32[size]):
        for t in range(rounds):
            for i in range(size):
                A[i] = A[i] / B[size - 1 - i]

    return kernel


@pytest.mark.parametrize(
    ("rounds", "size"), [(20, 8), (20, 9), (20, 5), (3, 1), (2, 9), (1, 4), (2, 5), (7, 3)]
)
def test_a_round_waits_for_the_one_before_no_longer_than_it_must(rounds, size, figures):
    kernel = sweeps(rounds, size)
    rng = np.random.default_rng(size)
    A, B = (rng.standard_normal(size).astype(np.float32) for _ in range(2))
    want = A.copy()
    for _ in range(rounds):
        want = want / B[::-1]
    s = allo.customize(kernel)
    s.pipeline("i", rewind=True)
    cycles, report = everywhere(s, [A, B], [want, B])
    assert cycles == report.cycles
    plain = allo.customize(kernel)
    plain.pipeline("i")
    before, _ = everywhere(plain, [A, B], [want, B])
    assert cycles <= before
    if (rounds, size) == (20, 5):
        # 100 iterations, 19 gaps, and a drain.
        assert cycles < before, "a gap between two rounds is shorter than a drain"
        figures.hold("rtl.rewind.rounds.cycles", cycles)
        figures.hold("rtl.rewind.drains.cycles", before)


def test_a_pipeline_that_drains_although_it_was_asked_not_to_is_noted():
    def rows(A: int32[4, 8], B: int32[4, 8]):
        for i in range(4):
            for j in range(8):
                A[i, j] = A[i, j] + 1
            for k in range(8):
                B[i, k] = A[3 - i, k]

    s = allo.customize(rows)
    s.pipeline("j", rewind=True)
    s.pipeline("k")
    said = "rewind has no effect"
    notes = [n for n in s.build(target="verilog").report.notes if said in n]
    line = rows.__code__.co_firstlineno + 2
    assert len(notes) == 1
    assert notes[0].startswith("rewind has no effect on loop j (")
    assert f"test_rewind.py:{line}:13)" in notes[0]
    alone = allo.customize(sweeps(2, 9))
    alone.pipeline("i", rewind=True)
    assert not any(said in n for n in alone.build(target="verilog").report.notes)


def lower(k: int, n: int, step: int) -> Any:
    def kernel(C: float32[n, n], a: float32[k, n]):
        for t in range(k):
            for i in range(n):
                for j in range(0, i + 1, step):
                    C[i, j] += a[t, i] * a[t, j]

    return kernel


def upper(k: int, n: int, step: int) -> Any:
    def kernel(C: float32[n, n], a: float32[k, n]):
        for t in range(k):
            for i in range(n):
                for j in range(0, n - i, step):
                    C[i, j] += a[t, i] * a[t, j]

    return kernel


@pytest.mark.parametrize("kernel", [lower, upper])
@pytest.mark.parametrize(("k", "n", "step", "factor"), [(3, 7, 1, 1), (2, 6, 1, 4), (2, 7, 2, 1)])
def test_a_triangle_is_one_pipeline(kernel, k, n, step, factor):
    """Rows of different lengths follow each other, and only the last one drains."""
    program = kernel(k, n, step)
    a = np.random.default_rng(n).standard_normal((k, n)).astype(np.float32)
    want = np.zeros((n, n), np.float32)
    program(want, a)
    s = allo.customize(program)
    s.unroll("j", factor=factor)
    s.pipeline("j", rewind=True)
    C = np.zeros((n, n), np.float32)
    s.partition(s.C, dim=2)
    s.partition(s.a, dim=2)
    cycles, report = everywhere(s, [C, a], [want, a])
    (loop,) = report.functions[0].loops
    pieces = sum(-(-(i + 1) // (step * factor)) for i in range(n))
    assert (loop.ii, loop.trips) == (1, k * pieces)
    assert cycles == report.cycles == k * pieces - 1 + loop.depth


def test_a_triangle_with_an_empty_row_drains_after_each():
    def kernel(C: int32[6, 6]):
        for i in range(6):
            for j in range(i):
                C[i, j] += C[j, i]

    s = allo.customize(kernel)
    s.pipeline("j", rewind=True)
    C = np.arange(36, dtype=np.int32).reshape(6, 6)
    want = C + np.tril(C.T, -1)
    cycles, report = everywhere(s, [C], [want])
    assert cycles == report.cycles
    assert any("rewind has no effect on loop j" in note for note in report.notes)


def random_nest(rng: random.Random) -> str:
    """A perfect nest of two or three loops around floats, with accesses at small distances."""
    sizes = [rng.choice((2, 3, 5)) for _ in range(rng.choice((2, 2, 3)))]
    sizes[-1] = rng.choice((1, 2, 3, 4, 6))
    kind = f"memref<{sizes[-1] + 2}xf32>"
    lines = ["%c = arith.constant 0.5 : f32"]
    for depth, size in enumerate(sizes):
        lines.append(f"affine.for %i{depth} = 0 to {size} {{")
    inner = f"%i{len(sizes) - 1}"
    places = [inner, inner, f"{inner} + 1", f"{inner} + 2", f"-{inner} + {sizes[-1]}", "0"]
    for number in range(rng.randint(1, 2)):
        x, y, z = (rng.choice("AB") for _ in range(3))
        p, q, r = (rng.choice(places) for _ in range(3))
        lines += [
            f"%a{number} = affine.load %{x}[{p}] : {kind}",
            f"%b{number} = affine.load %{y}[{q}] : {kind}",
            f"%m{number} = arith.mulf %a{number}, %c : f32",
            f"%s{number} = arith.addf %m{number}, %b{number} : f32",
            f"affine.store %s{number}, %{z}[{r}] : {kind}",
        ]
    ii = rng.choice((1, 1, 1, 2, 3))
    lines.append(f'}} {{pipeline_ii = {ii} : ui32, rewind, loop_name = "k"}}')
    lines += ["}"] * (len(sizes) - 1)
    lines.append("return")
    return function("\n".join(lines), {"A": (kind, "f32"), "B": (kind, "f32")})


@pytest.mark.parametrize("seed", range(24))
def test_random_nests(seed):
    text = random_nest(random.Random(seed))
    compare(text, "f", seed=seed, simulator=ENGINES[seed % 8 == 0])
