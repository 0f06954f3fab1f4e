"""Arrays behind AXI4 masters: every run equals the CPU build, whatever stalls, and no rule is broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.interfaces.board import CONTROL, ENABLE, GLOBAL_ENABLE, STATUS
from allo.backend.sim.buses.script import Action, Script
from allo.errors import SimulationError
from allo.ir.types import (
    Fixed,
    Int,
    Stateful,
    UInt,
    float32,
    float64,
    index,
    int8,
    int16,
    int32,
    int64,
)

from .kernels import agree, build, doubled, values

TYPES = [
    int8,
    int16,
    int32,
    int64,
    float32,
    Int(7),
    UInt(12),
    UInt(1),
    Int(33),
    Int(100),
    UInt(300),
    Fixed(13, 5),
]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_elements_of_any_type(dtype) -> None:
    width, extent = ((None, 37), (512, 70))[TYPES.index(dtype) % 2]
    schedule = doubled(dtype, extent)
    asked = {"kind": "m_axi", **({"width": width} if width else {})}
    module = build(schedule, {"A": asked, "B": asked})

    def draw(rng):
        return [values(rng, dtype, (extent,)), values(rng, dtype, (extent,))]

    assert len(agree(schedule, module, draw)) == 3


def gemm(A: int16[6, 10], B: int16[10, 8], C: int32[6, 8]):
    for i, j in allo.grid(6, 8):
        for k in range(10):
            C[i, j] += A[i, k] * B[k, j]


def draw_gemm(rng):
    return [values(rng, t, s) for t, s in ((int16, (6, 10)), (int16, (10, 8)), (int32, (6, 8)))]


PARTITIONS = {
    "none": [],
    "cyclic": [
        ("A", Partition.Cyclic, 2, 2),
        ("B", Partition.Cyclic, 2, 4),
        ("C", Partition.Cyclic, 2, 8),
    ],
    "mixed": [
        ("A", Partition.Complete, 1, 0),
        ("B", Partition.Block, 1, 3),
        ("C", Partition.Block, 2, 3),
    ],
    "complete": [
        ("A", Partition.Complete, 0, 0),
        ("B", Partition.Complete, 2, 0),
        ("C", Partition.Cyclic, 1, 4),
    ],
}


def partitioned(name: str):
    schedule = allo.customize(gemm)
    for array, kind, dim, factor in PARTITIONS[name]:
        target = getattr(schedule, array)
        schedule.partition(target, dim=dim, partition_type=kind, factor=factor)
    schedule.pipeline("j")
    return schedule


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("width", [32, 256])
def test_partitioned_arrays(name, width) -> None:
    schedule = partitioned(name)
    module = build(schedule, dict.fromkeys("ABC", {"kind": "m_axi", "width": width}))
    assert len(agree(schedule, module, draw_gemm, (1, 2))) == 2


@pytest.mark.parametrize("stalls", [0.0, 0.5])
def test_both_engines_take_the_same_cycles(stalls) -> None:
    schedule = partitioned("cyclic")
    cycles = [
        agree(schedule, build(schedule, "m_axi", engine, stalls), draw_gemm)
        for engine in ("verilator", "jit")
    ]
    assert cycles[0] == cycles[1]


def test_arrays_of_one_bundle_take_turns() -> None:
    schedule = allo.customize(gemm)
    shared = {"kind": "m_axi", "bundle": "mem", "width": 64}
    module = build(schedule, {"A": shared, "B": shared, "C": shared})
    agree(schedule, module, draw_gemm)
    assert [m.bundle for m in module.design.board.masters] == ["mem"]
    apart = build(schedule, dict.fromkeys("ABC", {"kind": "m_axi", "width": 64}), stalls=0.0)
    together = build(schedule, dict.fromkeys("ABC", shared), stalls=0.0)
    assert agree(schedule, apart, draw_gemm)[0] < agree(schedule, together, draw_gemm)[0]


def test_a_copy_takes_words_of_the_bus_whatever_the_banks() -> None:
    def copy(A: int32[512], B: int32[512]):
        for i in range(512):
            B[i] = A[i]

    def over(factor: int, width: int | None = None, *, blocks: bool = False) -> int:
        """Cycles beside those of the core."""
        schedule = allo.customize(copy)
        kind = Partition.Block if blocks else Partition.Cyclic
        for array in (schedule.A, schedule.B):
            schedule.partition(array, dim=1, partition_type=kind, factor=factor)
        schedule.unroll("i", factor=factor)
        asked = {"kind": "m_axi", "copy": True} | ({"width": width} if width else {})
        module = build(schedule, {"A": asked, "B": asked}, stalls=0.0)

        def draw(rng):
            return [values(rng, int32, (512,)), values(rng, int32, (512,))]

        return agree(schedule, module, draw, (1,))[0] - module.report.cycles

    # 512 words are copied in, 512 out: one after the other, or sixteen at once in 32 words of the bus.
    assert 1024 < over(1, 32) < 1100
    assert 1024 < over(4, 512, blocks=True) < 1100
    for factor in (1, 4, 16):
        assert 64 < over(factor) < 120


def test_a_copy_is_as_wide_as_the_run_of_the_core_asks_for() -> None:
    """Banks of the RAM beside the core, for turns of the core through the whole array."""

    def add(turns: int) -> Any:
        def repeat(A: int32[4, 64], x: int32[1]):
            for t in range(turns):
                for i in range(4):
                    for j in range(64):
                        x[0] += A[3 - i, 63 - j] + t

        s = allo.customize(repeat)
        s.partition(s.A, dim=1, partition_type=Partition.Cyclic, factor=2)
        s.pipeline("j")
        module = build(s, {"A": "m_axi", "x": "m_axi"}, stalls=0.2)
        agree(s, module, lambda rng: [values(rng, int32, (4, 64)), values(rng, int32, (1,))], (1,))
        return module.design.board.arrays[0].fold

    assert [add(2), add(32), add(160)] == [16, 4, 1]


def test_scalars_and_results_are_registers() -> None:
    def mix(a: int8, b: int64, c: float64, n: index, A: int32[16]) -> int64:
        total: int64 = b
        for i in range(16):
            if i < n:
                A[i] = A[i] + a
                total += A[i]
        if c > 0.5:
            total += 1
        return total

    schedule = allo.customize(mix)
    module = build(schedule, {"A": "m_axi"})

    def draw(rng):
        small, large = int(rng.integers(-128, 128)), int(rng.integers(-(1 << 62), 1 << 62))
        return [
            small,
            large,
            float(rng.random()),
            int(rng.integers(0, 17)),
            values(rng, int32, (16,)),
        ]

    agree(schedule, module, draw)
    found = {r.name: (r.offset, r.width) for r in module.design.board.registers}
    assert found == {
        "res": (0x10, 64),
        "a": (0x1C, 8),
        "b": (0x24, 64),
        "c": (0x30, 64),
        "n": (0x3C, 64),
        "A": (0x48, 64),
        "bus_error": (0x54, 1),
    }


def test_the_last_register_is_reached_to_its_last_word() -> None:
    """The upper word of b has the first address of six bits, and no register is behind it."""

    def shift(a: int64, b: int64, A: int64[4]):
        for i in range(4):
            A[i] += a - b

    schedule = allo.customize(shift)
    module = build(schedule, {"return": "s_axilite"})
    assert [(r.name, r.offset) for r in module.design.board.registers] == [("a", 0x10), ("b", 0x1C)]

    def draw(rng):
        a, b = (int(v) for v in rng.integers(-(1 << 62), 1 << 62, 2))
        return [a, b, values(rng, int64, (4,))]

    agree(schedule, module, draw)


def test_arrays_that_are_returned_are_only_written() -> None:
    def twice(A: int32[20]) -> int32[20]:
        B: int32[20]
        for i in range(20):
            B[i] = 2 * A[i]
        return B

    schedule = allo.customize(twice)
    module = build(schedule, {"A": "m_axi", "B": "m_axi"})
    agree(schedule, module, lambda rng: [values(rng, int32, (20,))])
    masters = {m.bundle: (m.reads, m.writes) for m in module.design.board.masters}
    assert masters == {"gmem0": (True, False), "gmem1": (False, True)}


def test_arrays_with_ports_of_ram_stay_beside_masters() -> None:
    schedule = partitioned("cyclic")
    module = build(schedule, {"A": "m_axi", "C": "m_axi"})
    assert module.design.board.memories == ("B",)
    assert len(agree(schedule, module, draw_gemm)) == 3


def test_a_design_of_ram_ports_may_be_started_by_ports() -> None:
    schedule = partitioned("mixed")
    for simulator in ("verilator", "jit"):
        module = build(schedule, {"return": "port"}, simulator)
        assert module.design.board.registers is None
        assert len(agree(schedule, module, draw_gemm)) == 3


def test_an_error_of_the_memory_is_told() -> None:
    schedule = doubled(int32, 8)
    module = build(schedule, "m_axi")
    model = module.build_model()
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    model._buses("break", "m_axi_gmem0", True)
    with pytest.raises(
        SimulationError, match="answered a burst of double_axi with an error"
    ) as caught:
        module(a, b)
    assert "register bus_error" in caught.value.help
    model._buses("break", "m_axi_gmem0", False)
    module(a, b)
    assert (b == [7, 6, 5, 4, 0, 0, 0, 0]).all()


def test_a_state_of_the_design_lives_on() -> None:
    def count(A: int32[4]):
        seen: int32 @ Stateful = 0
        seen += 1
        for i in range(4):
            A[i] = A[i] + seen

    schedule = allo.customize(count)
    module = build(schedule, "m_axi")
    a = np.zeros(4, np.int32)
    module(a)
    module(a)
    assert (a == 3).all()
    module.reset()
    module(a)
    assert (a == 4).all()


def test_a_run_that_restarts_itself(monkeypatch) -> None:
    def grow(A: int32[50], B: int32[50]):
        for i in range(50):
            B[i] = B[i] + A[i]

    def scripted(board, values, **_) -> Script:
        script = Script()
        for register in board.registers:
            if register.written:
                script.write(register.offset, values[register.name] & 0xFFFFFFFF)
                script.write(register.offset + 4, values[register.name] >> 32)
        script.write(GLOBAL_ENABLE, 1)
        script.write(ENABLE, 1)
        script.steps.append((Action.START, CONTROL, 0x81, 0xF))
        script.steps.append((Action.WAIT, 0, 0, 0))
        script.read(CONTROL, (0x8B, 0x8B, "the control register between two runs"))
        script.write(STATUS, 1)
        script.write(CONTROL, 0)
        script.steps.append((Action.WAIT, 0, 0, 0))
        script.write(STATUS, 1)
        script.read(CONTROL, (0x0E, 0x28F, "the control register behind them"))
        return script

    monkeypatch.setattr("allo.backend.sim.buses.model.run_script", scripted)
    module = build(allo.customize(grow), "m_axi", stalls=0.1)
    a, b = np.arange(50, dtype=np.int32), np.ones(50, np.int32)
    module(a, b)
    assert (b == 1 + 2 * a).all()
