"""Arrays of which data decide the element: single reads with ids, equal to the CPU, many under way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.interfaces.beside import gather
from allo.backend.sim import MemoryChannel, external_memory
from allo.errors import AlloError, InterfaceError
from allo.ir.types import Fixed, Int, int32

from .kernels import agree, build, values
from .planted import plant

M, N = 200, 40
PASS = {"kind": "m_axi", "copy": False}


def asked(module: Any) -> set[str]:
    """The arrays that the core asks for, one element at a time."""
    return {array.name for array in module.design.board.arrays if array.is_asked}


def places(rng: np.random.Generator, count: int = N, below: int = M) -> np.ndarray:
    return rng.integers(0, below, count).astype(np.int32)


def simple(at: int32[N], x: int32[M], y: int32[N]):
    for i in range(N):
        y[i] = x[at[i]] + at[i]


def narrow(at: int32[N], x: Int(7)[M], y: int32[N]):
    for i in range(N):
        y[i] = x[at[i]]


def wide(at: int32[N], x: Fixed(33, 4)[M], y: Fixed(33, 4)[N]):
    for i in range(N):
        y[i] = x[at[i]]


def guarded(at: int32[N], x: int32[8, 25], y: int32[N]):
    for i in range(N):
        k: int32 = at[i]
        if k % 3 > 0:
            y[i] = x[k // 25, k % 25] - k
        else:
            y[i] = k


def twice(at: int32[N], x: int32[M], y: int32[N]):
    for i in range(N):
        y[i] = x[at[i]] + x[M - 1 - at[i]] + x[i]


def behind(at: int32[N], x: int32[M], z: int32[M], y: int32[N]):
    """An element decides which one of another array is loaded."""
    for i in range(N):
        y[i] = x[z[at[i]]] + 1


def around(at: int32[N], x: int32[M], y: int32[N]):
    """Nests in front and behind, a local array that decides, and a sum."""
    turned: int32[N]
    for j in range(N):
        turned[j] = at[N - 1 - j]
    total: int32 = 0
    for i in range(N):
        total += x[turned[i]]
        y[i] = total
    for l in range(N):
        y[l] = y[l] * 2


def rows(row: int32[11], col: int32[N], val: int32[N], x: int32[M], y: int32[10]):
    """Sparse rows: data bound a loop."""
    for i in range(10):
        total: int32 = 0
        for k in range(row[i], row[i + 1]):
            total += val[k] * x[col[k]]
        y[i] = total


def drawn(kernel: Any, kind: Any, *more: tuple[int, ...]) -> Any:
    shape = (8, 25) if kernel is guarded else (M,)

    def draw(rng: np.random.Generator) -> list[Any]:
        given = [places(rng), values(rng, kind, shape)]
        if kernel is behind:
            given.append(places(rng, M))
        return [*given, values(rng, kind if kernel is wide else int32, (N,))]

    return draw


def drawn_rows(rng: np.random.Generator) -> list[Any]:
    row = np.sort(rng.integers(0, N + 1, 11)).astype(np.int32)
    numbers = [values(rng, int32, (n,)) for n in (N, M, 10)]
    return [row, places(rng), *numbers]


@pytest.mark.parametrize(
    ("kernel", "kind", "loop", "names"),
    [
        (simple, int32, "i", {"x"}),
        (narrow, Int(7), "i", {"x"}),
        (wide, Fixed(33, 4), "i", {"x"}),
        (guarded, int32, "i", {"x"}),
        (twice, int32, "i", {"x"}),
        (behind, int32, "i", {"x", "z"}),
        (around, int32, "i", {"x"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_elements_are_those_of_the_cpu(kernel, kind, loop, names) -> None:
    s = allo.customize(kernel)
    s.pipeline(loop)

    interface = {"at": "m_axi", "y": "m_axi"} | dict.fromkeys(names, PASS)
    module = build(s, interface)
    assert asked(module) == names
    agree(s, module, drawn(kernel, kind))


def test_rows_of_a_sparse_matrix() -> None:
    s = allo.customize(rows)
    s.pipeline("k")
    module = build(s, dict.fromkeys(("row", "col", "y"), "m_axi") | {"val": PASS, "x": PASS})
    assert asked(module) == {"val", "x"}
    agree(s, module, drawn_rows)


@pytest.mark.parametrize("outstanding", [1, 5, 64])
def test_verilator_answers_the_same(outstanding) -> None:
    s = allo.customize(narrow)
    s.pipeline("i")
    interface = {"x": PASS | {"width": 64, "outstanding": outstanding}, "y": "m_axi"}
    draw = drawn(narrow, Int(7))
    cycles = [
        agree(s, build(s, interface, simulator), draw, (3,)) for simulator in ("jit", "verilator")
    ]
    assert cycles[0] == cycles[1]


def test_many_requests_are_under_way() -> None:
    """An iteration a cycle while the memory answers late; one request at a time waits for each."""

    def pick(at: int32[600], x: int32[4096], y: int32[600]):
        for i in range(600):
            y[i] = x[at[i]]

    def draw(rng: np.random.Generator) -> list[Any]:
        return [places(rng, 600, 4096), values(rng, int32, (4096,)), np.zeros(600, np.int32)]

    s = allo.customize(pick)
    s.pipeline("i")
    far = {"x": MemoryChannel("far", 64, latency=50)}
    found = {}
    for many in (1, 8, 64):
        module = build(s, {"x": {"kind": "m_axi", "outstanding": many}}, stalls=0.0)
        [note] = [n for n in module.report.notes if n.startswith("x is read by requests")]
        assert note.endswith(f"up to {many} under way: data decide which element is used.")
        found[many] = agree(s, module.variant(memory=far), draw, (1,))[0]
    assert found[64] < 600 + 100
    assert found[1] > 600 * 50 and found[1] / 9 < found[8] < found[1] / 7
    hbm = external_memory("hbm2", clock_mhz=200, timing="dram")
    module = build(s, {"x": {"kind": "m_axi"}}, stalls=0.0).variant(memory={"x": hbm[0]})
    cycles = agree(s, module, draw, (1,))[0]
    moved = module.traffic.channels["hbm2[0]"]
    assert moved.bytes == 600 * 32 and moved.mean_ns < moved.longest_ns
    assert cycles < 600 * 2.5


def test_a_copy_is_chosen_where_it_is_cheaper() -> None:
    s = allo.customize(simple)
    module = build(s, {"at": "m_axi", "x": "m_axi"})
    assert asked(module) == {"x"}
    module = build(s, {"x": {"kind": "m_axi", "copy": True}})
    assert not asked(module)

    def most(at: int32[N], x: int32[2 * N], y: int32[N]):
        for i in range(N):
            y[i] = x[at[i]]

    module = build(allo.customize(most), {"x": "m_axi"})
    assert not asked(module)
    assert any("x is copied whole" in note for note in module.report.notes)


def chased(x: int32[M], y: int32[N]):
    for i in range(N):
        k: int32 = i
        for j in range(4):
            k = x[k]
        y[i] = k


def changed(at: int32[N], x: int32[M], y: int32[N]):
    for i in range(N):
        at[(i + 1) % N] = x[at[i]]
        y[i] = 0


def both(at: int32[N], x: int32[M], y: int32[N]):
    for i in range(N):
        y[i] = x[at[i]]
    for j in range(N):
        y[j] += x[at[N - 1 - j]]


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (chased, "an element of it decides which one is used next"),
        (changed, "at decides which element is loaded, and changes meanwhile"),
        (both, "more than one nest of loops uses it"),
    ],
)
def test_what_cannot_run_ahead_is_refused(kernel, why) -> None:
    with pytest.raises(InterfaceError, match=f"x cannot pass while {kernel.__name__} runs: {why}"):
        build(allo.customize(kernel), {"x": PASS})


def test_an_element_that_is_wider_than_its_bus_is_refused() -> None:
    with pytest.raises(InterfaceError, match="x cannot pass while wide runs: an element is wider"):
        build(allo.customize(wide), {"x": PASS | {"width": 32}})


FAULTS = {
    "answers in the order in which they come": (', ("%RID", ', ", (place, "),
    "the lane of an element": ("wanted.cell << bit", "wanted.cell << 0"),
    "more requests than places": ("text.all_of(free, some)", "text.all_of(free)"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen(name, monkeypatch) -> None:
    plant(monkeypatch, gather, *FAULTS[name], "gather_module")
    s = allo.customize(narrow)
    s.pipeline("i")
    with pytest.raises((AssertionError, AlloError)):
        module = build(s, {"x": PASS | {"outstanding": 4}})
        far = module.variant(memory={"x": MemoryChannel("far", 64, latency=20, stall=0.3)})
        agree(s, far, drawn(narrow, Int(7)))
