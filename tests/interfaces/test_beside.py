"""Arrays whose elements pass by bursts while the design runs: equal to the CPU, and never on chip whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.interfaces.arguments import read_arguments
from allo.backend.rtl.interfaces.beside import gearbox, walker
from allo.backend.rtl.interfaces.beside.choose import TransferChooser
from allo.backend.sim import MemoryChannel, external_memory
from allo.dialects.core.parse import parse_module
from allo.errors import AlloError, InterfaceError
from allo.ir.types import Fixed, Int, index, int16, int32

from .kernels import agree, build, values
from .planted import plant


def beside(module: Any) -> dict[str, str]:
    """Which arrays pass beside the core, and whether they are loaded (r) and stored (w)."""
    found = {}
    for array in module.design.board.arrays:
        if array.beside is not None:
            found[array.name] = "r" * bool(array.beside.loads) + "w" * bool(array.beside.stores)
    return found


def tiles(dtype: Any, lanes: int, *, doubled: bool = True) -> Any:
    """Tiles of columns, each read and written in place; the runs start anywhere in a line."""
    T, P, R, Q, L = dtype, 3, 2, 4, lanes
    W = 2 * L

    def scale(A: T[P * R, Q * W], B: T[P * R, Q * W]):
        for q in range(Q):
            for i in range(P * R):
                for c in range(W):
                    B[i, q * W + c] = B[i, q * W + c] + A[i, q * W + c]

    s = allo.customize(scale)
    for name in ("A", "B"):
        kept = s.cache(getattr(s, name), at="q", double_buffer=doubled, lanes=L)
        for each in (getattr(s, name), kept) if L > 1 else ():
            s.partition(each, partition_type=Partition.Cyclic, dim=2, factor=L)
    s.pipeline("c")
    return s


def drawn(dtype: Any, *shapes: tuple[int, ...]) -> Any:
    return lambda rng: [values(rng, dtype, shape) for shape in shapes]


@pytest.mark.parametrize(
    ("dtype", "lanes", "width"),
    [(Int(7), 3, 64), (int32, 2, 512), (Fixed(33, 4), 2, 32)],
    ids=["more in a word", "more in a line", "an element over lines"],
)
def test_tiles_of_columns(dtype, lanes, width) -> None:
    schedule = tiles(dtype, lanes)
    asked = {"kind": "m_axi", "width": width, "copy": False}
    module = build(schedule, {"A": asked, "B": asked})
    assert beside(module) == {"A": "r", "B": "rw"}
    shape = (6, 8 * lanes)
    assert len(agree(schedule, module, drawn(dtype, shape, shape))) == 3


def test_an_array_larger_than_the_chip_has_ram() -> None:
    """All memory of the design holds less than one of two arrays; the buses are as wide as the channel."""
    N, K = 1 << 16, 1 << 9

    def scale(k: int32, A: int32[N], B: int32[N]):
        for t in range(N // K):
            for i in range(K):
                B[t * K + i] = A[t * K + i] * k

    s = allo.customize(scale)
    s.pipeline("i")
    s.cache(s.A, at="t", double_buffer=True)
    s.cache(s.B, at="t")
    module = build(s, "m_axi", stalls=0.0)
    assert {m.width for m in module.design.board.masters} == {512}
    assert module.report.resources["bram"] * 36 * 1024 < N * 32
    rng = np.random.default_rng(1)
    A, B = rng.integers(-(2**20), 2**20, (2, N), dtype=np.int32)
    module(3, A, B)
    assert np.array_equal(B, A * 3)
    assert module.cycles < N + 3 * K + 200


def test_what_passes_waits_for_memory_alone() -> None:
    def move(A: int32[512], B: int32[512]):
        for i in range(512):
            B[i] = A[i] + 1

    s = allo.customize(move)
    s.pipeline("i")
    module = build(s, "m_axi", stalls=0.0)
    draw = drawn(int32, (512,), (512,))

    def cycles(channel: MemoryChannel | None) -> int:
        memory = {"A": channel, "B": channel} if channel else None
        return agree(s, module.variant(memory=memory), draw, (1,))[0]

    ideal = cycles(None)
    assert 512 < ideal <= 512 + 40
    assert ideal + 200 <= cycles(MemoryChannel("far", 64, latency=100)) <= ideal + 220
    # 32 lines of 64 bytes each way, beside each other
    hbm = external_memory("hbm2", clock_mhz=200, timing="dram")
    lying = module.variant(memory={"A": hbm[0], "B": hbm[0]})
    assert ideal + 20 <= agree(s, lying, draw, (1,))[0] <= ideal + 200
    moved = lying.traffic.channels["hbm2[0]"]
    assert moved.bytes == 2 * 512 * 4 and moved.turnarounds > 0
    assert 32 * 31 <= cycles(MemoryChannel("slow", 2)) <= 32 * 32 + 100


def test_neighbours_of_an_iteration_are_one_word() -> None:
    def pairs(A: int32[6, 40], B: int32[6, 20]):
        for i, j in allo.grid(6, 20):
            B[i, j] = A[i, 2 * j + 1] - A[i, 2 * j]

    s = allo.customize(pairs)
    s.pipeline("j")
    module = build(s, "m_axi", stalls=0.0)
    assert beside(module) == {"A": "r", "B": "w"}
    assert agree(s, module, drawn(int32, (6, 40), (6, 20)), (1,))[0] < 120 + 40


def test_a_stencil_reads_each_pixel_once() -> None:
    H, W = 9, 40

    def blur(A: int32[H, W], B: int32[H - 2, W - 2]):
        for y, x in allo.grid(H - 2, W - 2):
            total: int32 = 0
            for r, c in allo.reduction(3, 3):
                total += A[y + r, x + c]
            B[y, x] = total

    s = allo.customize(blur)
    rows = s.reuse_at(s.A, "y")
    window = s.reuse_at(rows, "x")
    s.partition(rows, dim=1)
    s.partition(window, dim=0)
    s.pipeline("x")
    module = build(s, "m_axi", stalls=0.0)
    assert beside(module) == {"A": "r", "B": "w"}
    assert agree(s, module, drawn(int32, (H, W), (H - 2, W - 2)), (1,))[0] < H * W + 40


def turned(A: int32[64], B: int32[64], x: int32[4], C: int32[64], D: int32[64], E: int32[64]):
    for i in range(64):
        j: int32 = A[i]
        B[63 - i] = j + x[i % 4]
        C[j & 63] = C[j & 63] + 1
    for k in range(64):
        D[k] = E[k]
    for l in range(64):
        E[l] = D[l]


def shifted(A: int32[64], B: int32[64], C: int32[64]):
    """A[i + 1] is stored before it is loaded, and both walks begin at A[1]."""
    for i in range(64):
        if i >= 1:
            B[i] = A[i]
        if i < 63:
            A[i + 1] = C[i]


def test_what_is_copied_whole_says_why() -> None:
    s = allo.customize(turned)
    module = build(s, "m_axi")
    assert beside(module) == {"A": "r", "E": "rw"}
    told = [note for note in module.report.notes if "is copied whole" in note]
    for name, why in {
        "B": "64 lines of 512 bits would pass, and it has 4",
        "x": "a bound or a division depends on a loop around it",
        "C": "data decide which element is used",
        "D": "it is loaded after it is stored",
    }.items():
        assert f"{name} is copied whole, before or behind the run: {why}." in told
    agree(s, module, drawn(int32, (64,), (64,), (4,), (64,), (64,), (64,)))


def test_a_store_that_comes_before_its_load_is_no_transfer() -> None:
    s = allo.customize(shifted)
    module = build(s, "m_axi")
    assert beside(module) == {"B": "w", "C": "r"}
    agree(s, module, drawn(int32, (64,), (64,), (64,)), (1,))


def test_tiles_pass_in_place_from_the_last_to_the_first() -> None:
    """What one tile leaves, the next one needs: a suffix sum, whose tiles begin within lines."""
    T, W = 4, 6

    def suffix(A: int32[T * W], total: int32[1]):
        for t in range(T):
            for i in range(W):
                total[0] += A[T * W - W - t * W + i]
                A[T * W - W - t * W + i] = total[0]

    s = allo.customize(suffix)
    s.pipeline("i")
    module = build(s, {"A": {"kind": "m_axi", "copy": False}})
    assert beside(module) == {"A": "rw"}
    agree(s, module, drawn(int32, (T * W,), (1,)))


def test_one_store_a_row_passes() -> None:
    def sums(A: int32[24, 4], B: int32[24]):
        for i in range(24):
            total: int32 = 0
            for j in range(4):
                total += A[i, j]
                if j == 3:
                    B[i] = total

    s = allo.customize(sums)
    s.pipeline("j")
    module = build(s, "m_axi")
    assert beside(module) == {"A": "r", "B": "w"}
    agree(s, module, drawn(int32, (24, 4), (24,)))


def test_accesses_that_no_turn_makes_are_none() -> None:
    def never(A: int32[8, 4], B: int32[8]):
        for i in range(8):
            for j in range(4):
                if j > 3:
                    B[i] += A[i, j]

    with pytest.raises(InterfaceError, match="'m_axi': nothing reads or writes it"):
        build(allo.customize(never), "m_axi")


def sevens(A: int32[8]):
    for i in range(8):
        A[i] = 7


def between(I: index[8], B: int32[8], A: int32[8], C: int32[2]):
    for i, l in allo.grid(4, 2):
        B[2 * i + l] = I[2 * i + l]
    C[0] = A[0]
    sevens(A)
    C[1] = A[0]


def test_loads_around_a_call_that_stores_stay_two() -> None:
    s = allo.customize(between)
    s.pipeline("i")
    module = build(s, "m_axi")
    assert beside(module).keys() == {"B", "C"}

    def draw(rng):
        return [np.arange(8), *(values(rng, int32, (n,)) for n in (8, 8, 2))]

    agree(s, module, draw, (1, 2))


def test_an_array_larger_than_all_ram_passes_whatever_it_costs() -> None:
    module = parse_module(str(allo.customize(turned).module))
    asked = {"B": "m_axi", "C": "m_axi"}
    known = read_arguments(module, "turned", asked)
    for ram, chosen in ((64 * 4, []), (64 * 4 - 1, [1, 3])):
        notes: list[str] = []
        assert sorted(TransferChooser(known, asked, ram)(module, notes)) == chosen
        assert len(notes) == (1 if chosen else 2)
        assert all("copied whole" in note for note in notes) != bool(chosen)


def test_a_copy_may_be_asked_for_and_refused() -> None:
    s = allo.customize(turned)
    module = build(s, {"A": {"kind": "m_axi", "copy": True}, "E": "m_axi"})
    assert beside(module) == {"E": "rw"}
    with pytest.raises(InterfaceError, match="D cannot pass while turned runs: it is load") as e:
        build(s, {"D": {"kind": "m_axi", "copy": False}})
    assert e.value.place is not None and "leave copy out" in e.value.help
    with pytest.raises(InterfaceError, match="The interface of A has copy 3."):
        build(s, {"A": {"kind": "m_axi", "copy": 3}})


def in_turn(t: index, kept: int32[4, 8], A: int32[4, 8]):
    if t < 4:
        for m in range(8):
            kept[t, m] = A[t, m]


def back(t: index, kept: int32[4, 8], A: int32[4, 8]):
    if t >= 4:
        for n in range(8):
            A[t - 4, n] = kept[t - 4, n] + kept[7 - t, 7 - n]


def reversal(A: int32[4, 8]):
    """The first half of the turns loads A, the second one stores it."""
    kept: int32[4, 8]
    for t in range(8):
        in_turn(t, kept, A)
        back(t, kept, A)


def too_late(A: int32[4, 8], B: int32[4, 8]):
    """The first half of the turns stores B, which the second one would load."""
    for t in range(8):
        if t >= 4:
            for n in range(8):
                A[t - 4, n] = B[t - 4, n]
        if t < 4:
            for m in range(8):
                B[t, m] = A[t, m] + 1


def test_an_array_passes_that_is_loaded_in_turns_before_those_of_its_stores() -> None:
    s = allo.customize(reversal)
    s.pipeline("in_turn:m")
    s.pipeline("back:n")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    module = build(s, "m_axi")
    assert beside(module) == {"A": "rw"}
    assert not any("starts its next iteration" in note for note in module.report.notes)
    agree(s, module, drawn(int32, (4, 8)))
    late = allo.customize(too_late)
    with pytest.raises(InterfaceError, match="B cannot pass .* another order than loaded, or bef"):
        build(late, {"B": {"kind": "m_axi", "copy": False}, "A": "m_axi"})
    agree(late, build(late, "m_axi"), drawn(int32, (4, 8), (4, 8)))


FAULTS = {
    "a walk": (walker, "(offset, stride, bits)", "(offset, stride + 1, bits)", "walker_module"),
    "the rest of a line": (
        gearbox,
        "text.mux(self.is_last, left, line, common)",
        "line",
        "unpacker_module",
    ),
    "the head of a line": (
        gearbox,
        "behind = text.invert(self.above(now, number, self.offset_bits))",
        "behind = text.const(1, 1)",
        "packer_module",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen(name, monkeypatch) -> None:
    module, old, new, made = FAULTS[name]
    plant(monkeypatch, module, old, new, made)
    schedule = tiles(int16, 3)
    with pytest.raises((AssertionError, AlloError)):
        asked = {"kind": "m_axi", "width": 64, "copy": False}
        made = build(schedule, {"A": asked, "B": asked})
        agree(schedule, made, drawn(int16, (6, 24), (6, 24)))
