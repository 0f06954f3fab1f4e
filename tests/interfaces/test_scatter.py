"""Arrays of which data decide the element that is stored: single writes, in the order of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.interfaces.beside import scatter
from allo.backend.sim import MemoryChannel, external_memory
from allo.errors import AlloError, InterfaceError
from allo.ir.types import Fixed, Int, float32, int8, int32

from .kernels import agree, build, values
from .planted import plant
from .test_gather import PASS, asked, places

M, N = 300, 48


def spread(at: int32[N], v: int32[N], B: int32[M]):
    for i in range(N):
        B[at[i]] = v[i]


def counted(at: int32[N], v: int32[N], B: int32[M]):
    for i in range(N):
        B[at[i]] += v[i]


def narrow(at: int32[N], v: Int(5)[N], B: int8[M]):
    """Four elements lie in a word of the bus."""
    for i in range(N):
        B[at[i]] = B[at[i]] * 3 + v[i]


def wide(at: int32[N], v: Fixed(33, 4)[N], B: Fixed(33, 4)[M]):
    for i in range(N):
        B[at[i]] = B[at[i]] + v[i]


def summed(at: int32[N], v: float32[N], B: float32[M]):
    """A float sum takes cycles, so the next iterations load before it is stored."""
    for i in range(N):
        B[at[i]] += v[i]


def largest(at: int32[N], v: int32[N], B: int32[30, 10]):
    for i in range(N):
        k: int32 = at[i]
        if k % 4 > 0:
            B[k // 10, k % 10] = max(B[k // 10, k % 10], v[i])


def moved(at: int32[N], v: int32[N], B: int32[M]):
    """What is loaded is another element than what is stored."""
    for i in range(N):
        B[at[i]] = B[v[i] % 16 + 16] + 1


def back(at: int32[N], v: int32[N], B: int32[M]):
    """A load behind a store of the same iteration."""
    for i in range(N):
        B[at[i]] = v[i]
        v[i] = B[at[N - 1 - i] % 16]


def twice(at: int32[N], v: int32[N], B: int32[M]):
    """Two updates an iteration, often of one element."""
    for i in range(N):
        B[at[i]] += v[i]
        B[at[N - 1 - i]] -= 5


def rounds(at: int32[N], v: int32[N], B: int32[M]):
    """Nests around, bounds that are data, and a local array that decides."""
    turned: int32[N]
    for j in range(N):
        turned[j] = at[N - 1 - j]
    for i in range(4):
        for k in range(turned[i] % 8):
            B[turned[i * 8 + k]] += v[k]
    for l in range(N):
        v[l] = v[l] * 2


KERNELS = [spread, counted, narrow, wide, summed, largest, moved, back, twice, rounds]
KINDS = {narrow: (Int(5), int8), wide: (Fixed(33, 4),) * 2, summed: (float32,) * 2}


def drawn(kernel: Any, below: int) -> Any:
    kinds = KINDS.get(kernel, (int32, int32))
    shape = (30, 10) if kernel is largest else (M,)

    def draw(rng: np.random.Generator) -> list[Any]:
        v = values(rng, kinds[0], (N,))
        if kernel is moved:
            v = np.abs(v // 2)
        return [places(rng, N, below), v, values(rng, kinds[1], shape)]

    return draw


def passed(kernel: Any, simulator: str = "jit", **fields: Any) -> tuple[Any, Any]:
    s = allo.customize(kernel)
    s.pipeline("k" if kernel is rounds else "i")
    interface = {"at": "m_axi", "v": "m_axi", "B": PASS | {"outstanding": 8} | fields}
    return s, build(s, interface, simulator)


@pytest.mark.parametrize("below", [M, 5])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_elements_are_those_of_the_cpu(kernel, below) -> None:
    s, module = passed(kernel)
    assert asked(module) == {"B"}
    agree(s, module, drawn(kernel, below))


@pytest.mark.parametrize("kernel", [spread, narrow, summed], ids=lambda k: k.__name__)
@pytest.mark.parametrize("outstanding", [1, 6])
def test_verilator_answers_the_same(kernel, outstanding) -> None:
    cycles = []
    for simulator in ("jit", "verilator"):
        s, module = passed(kernel, simulator, outstanding=outstanding, width=64)
        cycles.append(agree(s, module, drawn(kernel, 20), (3,)))
    assert cycles[0] == cycles[1]


def test_pipelines_keep_their_interval_while_requests_are_under_way() -> None:
    n, m = 600, 1 << 16

    def scattered(at: int32[n], B: int32[m]):
        for i in range(n):
            B[at[i]] = i

    def histogram(at: int32[n], B: int32[m]):
        for i in range(n):
            B[at[i]] += 1

    def draw(rng: np.random.Generator) -> list[Any]:
        return [rng.permutation(m)[:n].astype(np.int32), values(rng, int32, (m,))]

    far = {"B": MemoryChannel("far", 64, latency=20)}
    for kernel in (scattered, histogram):
        s = allo.customize(kernel)
        s.pipeline("i")
        found = {}
        for many in (1, 64):
            module = build(s, {"B": {"kind": "m_axi", "outstanding": many}}, stalls=0.0)
            ways = "written" if kernel is scattered else "read and written"
            assert any(
                n.startswith(f"B is {ways} by requests, up to {many}") for n in module.report.notes
            )
            found[many] = agree(s, module.variant(memory=far), draw, (1,))[0]
        assert found[64] < n + 100 and found[1] > n * 4, found
        hbm = external_memory("hbm2", clock_mhz=200, timing="dram")
        module = build(s, {"B": "m_axi"}, stalls=0.0).variant(memory={"B": hbm[0]})
        agree(s, module, draw, (1,))
        assert module.traffic.channels["hbm2[0]"].bytes >= n * 32


def test_a_store_is_in_memory_before_its_element_is_loaded_again() -> None:
    """Every iteration uses one element: each waits for the write of the one before."""
    s, module = passed(counted)
    module = module.variant(memory={"B": MemoryChannel("far", 64, latency=30)})
    [cycles] = agree(
        s, module, lambda rng: [np.zeros(N, np.int32), *drawn(counted, M)(rng)[1:]], (1,)
    )
    assert cycles > N * 30


def test_sixty_four_requests_are_under_way_where_nothing_is_asked() -> None:
    s, module = passed(counted)
    assert {m.bundle: m.outstanding for m in module.design.board.masters}["gmem2"] == 8
    s, module = passed(counted, outstanding=None)
    assert {m.bundle: m.outstanding for m in module.design.board.masters}["gmem2"] == 64
    agree(s, module, drawn(counted, 20), (1,))


def chased(at: int32[N], v: int32[N], B: int32[M]):
    k: int32 = 0
    for i in range(N):
        k = B[k]
        B[k] = i


def below(at: int32[N], v: int32[N], B: int32[M]):
    for i in range(N):
        if B[at[i]] > v[i]:
            B[at[i]] = v[i]


def nests(at: int32[N], v: int32[N], B: int32[M]):
    for i in range(N):
        B[at[i]] = v[i]
    for j in range(N):
        v[j] = B[at[j]]


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (below, "an element of it decides which one is used next"),
        (nests, "it is loaded and stored, by more than one nest of loops"),
        (chased, ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_asked_for_is_refused_and_else_copied(kernel, why) -> None:
    s = allo.customize(kernel)
    with pytest.raises(InterfaceError, match=f"B cannot pass while {kernel.__name__} runs: {why}"):
        build(s, {"B": PASS})
    module = build(s, {"B": "m_axi"})
    assert not asked(module)
    if kernel is not chased:
        agree(s, module, drawn(kernel, M), (1,))


FAULTS = {
    "a read does not wait for a write": ("text.all_of(busy, alike)", "text.const(0, 1)"),
    "the request before is not compared": ("text.mux(taken, again, ", "text.mux(text.const(0, 1), again, "),
    "a place is free before the answer": ("taken, freed)", "taken, text.const(1, 1))"),
    "the strobe of another lane": ("text.const(n, low), low)", "text.const(n ^ 1, low), low)"),
    "more requests than places": (
        "text.const(master.outstanding, many), many)\n    accepted",
        "text.const(63, many), many)\n    accepted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen(name, monkeypatch) -> None:
    plant(monkeypatch, scatter, *FAULTS[name], "scatter_module")
    with pytest.raises((AssertionError, AlloError)):
        s, made = passed(narrow, outstanding=4)
        made = made.variant(memory={"B": MemoryChannel("far", 64, latency=20, stall=0.3)})
        agree(s, made, drawn(narrow, 5))
