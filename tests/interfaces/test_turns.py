"""Units at which many operations take turns: behind masters, they have registers for their operands."""

from __future__ import annotations

import numpy as np

import allo
from allo import Partition
from allo.ir.types import float32

from .kernels import agree, build, values

N = 4


def products(A: float32[N, N], C: float32[N, N]):
    for i in range(N):
        for j in range(N):
            C[i, j] = A[i, j] * A[i, N - 1 - j]


def schedule(interval: int) -> allo.Schedule:
    s = allo.customize(products)
    for array in (s.A, s.C):
        s.partition(array, partition_type=Partition.Complete, dim=2)
    s.pipeline("i", initiation_interval=interval)
    return s


def draw(rng: np.random.Generator) -> list[np.ndarray]:
    return [values(rng, float32, (N, N)) for _ in range(2)]


def test_operands_that_are_chosen_from_many_go_to_registers() -> None:
    many, few = (build(schedule(n), dict.fromkeys("AC", "m_axi")) for n in (4, 2))
    assert "fmul_f32_in_l" in many.design.verilog
    assert "fmul_f32_l" in few.design.verilog and "fmul_f32_in_l" not in few.design.verilog
    assert len(agree(schedule(4), many, draw, (1,))) == 1
    inside = schedule(4).build(target="verilog", simulator="jit")
    assert "fmul_f32_in_l" not in inside.design.verilog, "nothing changes without masters"
