"""Arrays that several tasks load: read once, in words of their own, each task at its own pace."""

from __future__ import annotations

import numpy as np

import allo
from allo.ir.types import int32

from .kernels import agree, build, values

N, M = 9, 10


def both(A: int32[N, M], p: int32[M], r: int32[N], q: int32[N], s: int32[M]):
    sums: int32[M] = 0
    for i in range(N):
        for k in range(M):
            sums[k] += A[i, k] * r[i]
    for j in range(M):
        s[j] = sums[j]
    for i1 in range(N):
        t: int32 = 0
        for k1 in range(M):
            t += A[i1, k1] * p[k1]
        q[i1] = t


def draw(rng: np.random.Generator) -> list[np.ndarray]:
    return [values(rng, int32, shape) for shape in ((N, M), (M,), (N,), (N,), (M,))]


def test_two_tasks_load_a_matrix_that_is_read_once() -> None:
    """A row at a time, and an element at a time, so that the second task ends long behind the first."""
    s = allo.customize(both)
    for loop in ("i", "j", "k1"):
        s.pipeline(loop)
    s.partition(s.sums)
    s.partition(s.A, dim=2)
    s.dataflow("both")
    module = build(s, dict.fromkeys("Aprqs", "m_axi"), stalls=0.3)
    (matrix,) = (array for array in module.design.board.arrays if array.name == "A")
    assert matrix.beside is not None
    assert [runs.word for _, runs in matrix.beside.forks] == [1]
    assert matrix.beside.loads is not None
    assert matrix.beside.loads.word == M
    agree(s, module, draw)


def columns(A: int32[N, M], q: int32[N], s: int32[M]):
    for j in range(M):
        t: int32 = 0
        for i in range(N):
            t += A[i, j]
        s[j] = t
    for i1 in range(N):
        u: int32 = 0
        for k in range(M):
            u += A[i1, k]
        q[i1] = u


def test_tasks_that_load_in_two_orders_have_a_copy() -> None:
    s = allo.customize(columns)
    s.pipeline("i")
    s.pipeline("k")
    s.dataflow("columns")
    notes = s.build(target="verilog", configs={"interface": "m_axi"}).report.notes
    assert any(note.startswith("A is copied whole, before or behind the run: ") for note in notes)
