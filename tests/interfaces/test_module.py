"""What a module with interfaces offers besides calls: waveforms, memories, deadlocks, projects."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import MemoryChannel
from allo.errors import DeadlockError
from allo.ir.types import Stream, int32

from .kernels import agree, build, same, values


def axpy(a: int32, A: int32[64], B: int32[64]):
    for i in allo.grid(64):
        B[i] = B[i] + a * A[i]


def draw(rng):
    return [3, values(rng, int32, (64,)), values(rng, int32, (64,))]


def test_a_waveform_has_a_group_for_each_bus(tmp_path) -> None:
    module = build(allo.customize(axpy), {"A": "m_axi", "B": "m_axi"}, "verilator", 0.2)
    a, b = np.arange(64, dtype=np.int32), np.ones(64, np.int32)
    module(2, a, b, wave=tmp_path / "x.vcd")
    assert same(b, 2 * a + np.int32(1))
    layout = (tmp_path / "x.gtkw").read_text()
    groups = [line[1:] for line in layout.splitlines() if line.startswith("-")]
    names = ["control", "s_axi_control", "m_axi_gmem0", "m_axi_gmem1"]
    assert groups == [name for name in names for _ in range(2)]
    assert "TOP.axpy_axi.m_axi_gmem1_WSTRB[63:0]" in layout
    assert "ap_clk" in (tmp_path / "x.vcd").read_text()


def test_a_project_is_of_the_wrapper(tmp_path) -> None:
    module = build(allo.customize(axpy), "m_axi")
    folder = module.write_project(tmp_path / "axpy.prj")
    text = (folder / "axpy_axi.sv").read_text()
    ports = text[text.index("module axpy_axi(") :]
    assert "ap_rst_n" in ports[: ports.index(");")]
    assert "--top-module axpy_axi" in (folder / "run.sh").read_text()


def test_a_memory_has_latency_and_bandwidth() -> None:
    schedule = allo.customize(axpy)

    def cycles(channel: MemoryChannel | None) -> int:
        memory = {"A": channel, "B": channel} if channel else None
        asked = {"kind": "m_axi", "copy": True, "width": 32}
        module = build(schedule, {"A": asked, "B": asked}, stalls=0.0).variant(memory=memory)
        return agree(schedule, module, draw, (1,))[0]

    ideal = cycles(None)
    assert ideal + 200 <= cycles(MemoryChannel("far", 64, latency=100)) <= ideal + 215
    # 64 words in and 64 out, each of which takes two cycles more than the one it takes anyway
    assert ideal + 2 * 2 * 60 <= cycles(MemoryChannel("slow", 4 / 3)) <= ideal + 2 * 2 * 65
    assert cycles(MemoryChannel("busy", 64, stall=0.9, stall_cycles=50)) > ideal + 10


def test_an_array_that_is_written_whole_is_not_loaded() -> None:
    def fill(A: int32[3, 4], B: int32[3, 4], C: int32[3, 4]):
        for i, j in allo.grid(3, 4):
            B[2 - i, j] = A[i, j]
            if j > 0:
                C[i, j] = A[i, j]

    schedule = allo.customize(fill)
    module = build(schedule, "m_axi")
    loaded = {b.name: b.loaded for b in module.design.board.arrays}
    assert loaded == {"A": True, "B": False, "C": True}
    agree(schedule, module, lambda rng: [values(rng, int32, (3, 4)) for _ in range(3)])


@df.region()
def stuck(A: int32[8], B: int32[8]):
    p: Stream[int32, 1]
    q: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def fork(a: int32[8]):
        for i in range(8):
            word: int32 = a[i]
            p.put(word)
        for i in range(8):
            q.put(i)

    @df.kernel(mapping=[1], args=[B])
    def join(b: int32[8]):
        for i in range(8):
            late: int32 = q.get()
            b[i] = p.get() + late


@pytest.mark.parametrize("simulator", ["verilator", "jit"])
@pytest.mark.parametrize("interface", ["m_axi", "axis"])
def test_a_deadlock_inside_is_told_as_ever(simulator, interface) -> None:
    module = build(df.customize(stuck), interface, simulator, 0.0)
    zeros = np.zeros(8, np.int32)
    with pytest.raises(DeadlockError) as caught:
        module(zeros, zeros.copy())
    assert caught.value.message.startswith("stuck deadlocks: 2 processes wait")
    notes = " ".join(str(note) for note in caught.value.notes)
    assert "fork_0 waits to put into FIFO p (1 of 1 filled)" in notes
    assert "join_0 waits to get from FIFO q (0 of 1 filled)" in notes
