"""Units at which many operations take turns: registers for operands that would be chosen too late."""

from __future__ import annotations

import numpy as np

import allo
from allo import Partition
from allo.ir.types import float32
from benchmarks.recurrences import loops_of

from .kernels import agree, build, values

N = 4
WORDS = 32


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


def wide(A: float32[4, WORDS], C: float32[4, WORDS]):
    for i in range(4):
        for j in range(WORDS):
            C[i, j] = A[i, j] * A[i, WORDS - 1 - j]


def wide_schedule(interval: int) -> allo.Schedule:
    s = allo.customize(wide)
    for array in (s.A, s.C):
        s.partition(array, partition_type=Partition.Complete, dim=2)
    s.pipeline("i", initiation_interval=interval)
    return s


def test_a_choice_too_late_for_the_clock_gets_registers_behind_it() -> None:
    """What is asked for and what the estimate finds stay within 15 %, in as short an interval."""
    many = wide_schedule(WORDS).build(
        target="verilog", simulator="jit", device="ecp5", clock_mhz=80
    )
    few = wide_schedule(WORDS // 4).build(target="verilog", device="ecp5", clock_mhz=80)
    assert "fmul_f32_in_l" in many.design.verilog and "fmul_f32_in_l" not in few.design.verilog
    assert many.report.fmax_mhz >= 80 and few.report.fmax_mhz >= 68
    assert max(loop.ii for loop in loops_of(many.report)) == WORDS
    A = values(np.random.default_rng(0), float32, (4, WORDS))
    C = np.zeros_like(A)
    many(A, C)
    np.testing.assert_array_equal(C, A * A[:, ::-1])


def chained(A: float32[4, WORDS], C: float32[4]):
    x: float32 = 1.0
    for i in range(4):
        for j in range(WORDS):
            x = x * A[i, j]
        C[i] = x


def test_a_loop_that_waits_for_its_unit_keeps_its_interval() -> None:
    """Registers in front of the unit would take a cycle for each product of the chain."""
    s = allo.customize(chained)
    s.partition(s.A, partition_type=Partition.Complete, dim=2)
    s.pipeline("i")
    s.bind("fmul", "dsp")
    made = s.build(target="verilog", device="ecp5", clock_mhz=80)
    assert "module fmul_f32_l4(" in made.design.verilog, "it takes four cycles"
    assert max(loop.ii for loop in loops_of(made.report)) == 4 * WORDS
