"""What is foretold of runs behind AXI4 masters: the cycles of the simulation, and what bounds each loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.sim import MemoryChannel, external_memory
from allo.backend.sim.boundary import foretold
from allo.designs.external import convolution, gemm
from allo.errors import PredictionError
from allo.ir.types import int8, int32

from .kernels import agree, build, values

OFF = 0.03
PASS = {"kind": "m_axi", "copy": False}


def add(A: int32[2048], B: int32[2048]):
    for i in range(2048):
        B[i] = B[i] + A[i]


def adder(**more: Any) -> Any:
    s = allo.customize(add)
    s.pipeline("i")
    return s, build(s, {"A": {"kind": "m_axi"} | more, "B": {"kind": "m_axi"} | more}, stalls=0.0)


def drawn(rng: np.random.Generator) -> list[Any]:
    return [values(rng, int32, (2048,)) for _ in range(2)]


CHANNELS = {
    "compute": MemoryChannel("near", 64, latency=20),
    "memory": MemoryChannel("slow", 3, latency=50),
}


@pytest.mark.parametrize("bound", CHANNELS)
def test_a_loop_is_bound_by_what_takes_longer(bound) -> None:
    s, module = adder()
    one = CHANNELS[bound]
    other = MemoryChannel("other", one.bytes_per_cycle, latency=one.latency)
    module = module.variant(memory={"A": one, "B": other})
    told = module.foretold
    cycles = agree(s, module, drawn, (1,))[0]
    assert abs(told.cycles / cycles - 1) < OFF
    assert told.bound == bound and {p.bound for p in told.passing} == {bound}
    assert [(p.array, p.way, p.moved, p.needed) for p in told.passing] == [
        ("A", "read", 8192, 8192),
        ("B", "read", 8192, 8192),
        ("B", "written", 8192, 8192),
    ]
    assert f"bound by {bound}" in str(told)


@pytest.mark.parametrize(("width", "bound"), [(512, "memory"), (32, "compute")])
def test_both_directions_share_the_channel_but_not_the_bus(width, bound) -> None:
    lanes, rows = width // 32, 1024

    def triple(B: int32[rows, lanes]):
        for i in range(rows):
            for j in range(lanes):
                B[i, j] = B[i, j] * 3

    s = allo.customize(triple)
    s.pipeline("i")
    s.partition(s.B, dim=2)
    module = build(s, {"B": {"kind": "m_axi", "width": width}}, stalls=0.0)
    module = module.variant(memory={"B": external_memory("hbm2", 300, timing="dram")[0]})
    cycles = agree(s, module, lambda rng: [values(rng, int32, (rows, lanes))], (1,))[0]
    assert abs(module.foretold.cycles / cycles - 1) < OFF
    assert module.foretold.bound == bound


def test_copies_stand_before_and_behind_the_run() -> None:
    s, module = adder(copy=True)
    module = module.variant(memory={"A": CHANNELS["compute"]})
    told, cycles = module.foretold, agree(s, module, drawn, (1,))[0]
    assert {p.loop for p in told.passing} == {""}
    assert abs(told.cycles / cycles - 1) < OFF


@pytest.mark.parametrize("timing", ["ideal", "dram"])
def test_a_product_of_tiles(timing) -> None:
    size = gemm.Size(32, 32, 256, 4)
    s = gemm.schedule(size)
    module = build(s, dict.fromkeys(gemm.ARRAYS, PASS), stalls=0.0)
    words = {a.name: (a.beside.loads or a.beside.stores).word for a in module.design.board.arrays}
    assert words == {"A": 4, "B": 4, "C": 4}
    assert any("B_cache has a copy for every other iteration" in n for n in module.report.notes)
    channels = external_memory("hbm2", clock_mhz=300, timing=timing)
    module = module.variant(memory=dict(zip(gemm.ARRAYS, channels, strict=False)))

    def draw(rng: np.random.Generator) -> list[Any]:
        return [
            values(rng, int8, (32, 256)),
            values(rng, int8, (256, 32)),
            np.zeros((32, 32), np.int32),
        ]

    cycles = agree(s, module, draw, (1,))[0]
    assert abs(module.foretold.cycles / cycles - 1) < OFF
    assert size.cycles < cycles < size.cycles / 0.9


def test_a_product_of_any_size_is_built_and_foretold() -> None:
    """Elements are not counted out one by one: there are 4,096³ products."""
    size = gemm.Size(4096, 4096, 4096, 4)
    s = gemm.schedule(size)
    configs = {"interface": dict.fromkeys(gemm.ARRAYS, PASS)}
    module = s.build(target="verilog", simulator="jit", configs=configs, overlap_loops=False)
    assert size.cycles < module.foretold.cycles < size.cycles / 0.99


def test_a_convolution_of_rows() -> None:
    size = convolution.Size(16, 120, 2, 2)
    s = convolution.schedule(size)
    module = build(s, dict.fromkeys(convolution.ARRAYS, PASS), stalls=0.0)
    channels = external_memory("hbm2", clock_mhz=300)
    module = module.variant(memory=dict(zip(convolution.ARRAYS, channels, strict=False)))

    def draw(rng: np.random.Generator) -> list[Any]:
        shapes = ((16, 120, 2), (2, 3, 3, 2), (14, 118, 2))
        return [values(rng, int8, shape) for shape in shapes]

    cycles = agree(s, module, draw, (1,))[0]
    assert abs(module.foretold.cycles / cycles - 1) < OFF
    assert size.cycles < cycles < size.cycles / 0.9


def pick(at: int32[512], x: int32[65536], y: int32[512]):
    for i in range(512):
        y[i] = x[at[i]]


def drop(at: int32[512], x: int32[65536], y: int32[512]):
    for i in range(512):
        x[at[i]] = y[i]


RANDOM_OFF = 0.15
"""Elements lie where data say, and are foretold as if they lay anywhere."""


def random_access(kernel: Any, timing: str, outstanding: int) -> tuple[Any, int]:
    """What is foretold of elements that data decide, and the cycles of the simulation."""
    s = allo.customize(kernel)
    s.pipeline("i")
    asked = {"kind": "m_axi", "outstanding": outstanding}
    module = build(s, {"at": "m_axi", "x": asked, "y": "m_axi"}, stalls=0.0)
    channels = external_memory("hbm2", clock_mhz=300, timing=timing)
    module = module.variant(memory=dict(zip(("at", "x", "y"), channels, strict=False)))

    def draw(rng: np.random.Generator) -> list[Any]:
        places = rng.permutation(65536)[:512].astype(np.int32)
        return [places, values(rng, int32, (65536,)), values(rng, int32, (512,))]

    return module.foretold, agree(s, module, draw, (1,))[0]


@pytest.mark.parametrize("outstanding", [1, 64])
@pytest.mark.parametrize("timing", ["ideal", "dram"])
def test_elements_that_data_decide_are_foretold_as_random_ones(timing, outstanding) -> None:
    for kernel, way in ((pick, "read"), (drop, "written")):
        told, cycles = random_access(kernel, timing, outstanding)
        assert abs(told.cycles / cycles - 1) < RANDOM_OFF
        [x] = [p for p in told.passing if p.array == "x"]
        assert (x.way, x.moved, x.needed) == (way, 2048, 2048)
        assert x.bound == "memory" or outstanding > 1


def test_requests_that_wait_for_nothing_are_seen(monkeypatch) -> None:
    monkeypatch.setattr(foretold, "request_cycles", lambda *_, **__: 1.0)
    told, cycles = random_access(pick, "dram", 1)
    assert abs(told.cycles / cycles - 1) > RANDOM_OFF


def test_how_many_elements_is_not_foretold_where_data_decide_it() -> None:
    def some(n: int32[1], at: int32[512], x: int32[65536], y: int32[512]):
        for i in range(n[0]):
            y[i] = x[at[i]]

    s = allo.customize(some)
    module = build(s, {"n": "m_axi", "at": "m_axi", "x": PASS, "y": "m_axi"}, stalls=0.0)
    assert [a.name for a in module.design.board.arrays if a.is_asked] == ["x"]
    with pytest.raises(PredictionError, match="data decide how often loop .*i of some"):
        _ = module.foretold


def test_bytes_behind_masters_are_counted_once() -> None:
    s, module = adder()
    channels = external_memory("hbm2", clock_mhz=300, timing="dram")
    module = module.variant(memory={"A": channels[0], "B": channels[1]})
    agree(s, module, drawn, (1,))
    assert (module.transfers.moved, module.transfers.whole) == (3 * 8192, 3 * 8192)
    module = module.variant(memory={"A": channels[0]})
    agree(s, module, drawn, (1,))
    assert module.transfers.moved == 3 * 8192


def blurred(A: int32[18, 32], B: int32[16, 32]):
    for y in range(16):
        for x in range(32):
            B[y, x] = A[y, x] + A[y + 1, x] + A[y + 2, x]


@pytest.mark.parametrize("buffers", [False, 3])
def test_a_window_in_front_of_a_cached_result_is_foretold(buffers: Any) -> None:
    """The cache is stored where y >= 2 only: a condition around a loop, which its counter decides."""
    s = allo.customize(blurred)
    s.reuse_at(s.A, "y")
    more = {"double_buffer": buffers} if buffers else {}
    s.cache(s.A, at="y", **more)
    s.cache(s.B, at="y", **more)
    s.pipeline("x")
    module = build(s, "m_axi", stalls=0.0)

    def draw(rng: np.random.Generator) -> list[Any]:
        return [values(rng, int32, (18, 32)), np.zeros((16, 32), np.int32)]

    assert abs(module.foretold.cycles - agree(s, module, draw, (1,))[0]) < 4
    with pytest.raises(PredictionError, match="blurred is behind AXI4 masters") as e:
        module.predict()
    assert "mod.foretold" in str(e.value)


def test_without_masters_nothing_is_foretold() -> None:
    s = allo.customize(add)
    with pytest.raises(PredictionError, match="Nothing of add is foretold .* has no AXI4 masters"):
        _ = s.build(target="verilog", simulator="jit").foretold


def test_a_bandwidth_that_is_not_looked_at_is_seen(monkeypatch) -> None:
    monkeypatch.setattr(foretold, "channel_rate", lambda _: 64.0)
    s, module = adder()
    module = module.variant(memory={"A": CHANNELS["memory"]})
    cycles = agree(s, module, drawn, (1,))[0]
    assert abs(module.foretold.cycles / cycles - 1) > OFF
