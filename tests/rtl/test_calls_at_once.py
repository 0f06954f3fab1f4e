"""``s.dataflow`` on functions of calls whose operands are computed: they run at once all the same."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import int32
from tests.rtl.test_dataflow_tasks import everywhere, numbers


def stage(X: int32[8], Y: int32[8], c: int32):
    for i in range(8):
        Y[i] = X[i] * c + i


def test_a_scalar_computed_for_a_call_is_computed_in_its_task():
    def pair(A: int32[8], B: int32[8], C: int32[8], D: int32[8], n: int32):
        stage(A, B, n + 1)
        stage(C, D, n * 2)

    a, b, c, d = numbers(8, 8, 8, 8)
    s = allo.customize(pair)
    s.pipeline("stage:i")
    apart = s.build(target="verilog", simulator="jit").report.cycles
    s.dataflow("pair")
    i = np.arange(8, dtype=np.int32)
    cycles, _ = everywhere(s, [a, b, c, d, 5], [a, a * 6 + i, c, c * 10 + i, 5])
    assert cycles <= apart // 2 + 2


@pytest.mark.parametrize("banks", [1, 4])
def test_the_calls_of_an_unfolded_loop_run_at_once(banks: int):
    def rows(A: int32[4, 8], B: int32[4, 8]):
        for p in range(4):
            stage(A[p], B[p], p + 1)

    a, b = numbers((4, 8), (4, 8))
    s = allo.customize(rows)
    s.pipeline("stage:i")
    if banks > 1:
        s.partition(s.A, dim=1)
        s.partition(s.B, dim=1)
    s.unfold("rows:S_p_0", [0])
    s.dataflow("rows")
    expected = a * np.arange(1, 5, dtype=np.int32)[:, None] + np.arange(8, dtype=np.int32)
    cycles, _ = everywhere(s, [a, b], [a, expected])
    if banks > 1:
        assert cycles < 2 * 12
