"""Arrays of processes in process: words and vectors of all instances have Verilator's cycles and bits."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.circt import in_circt
from allo.backend.sim import StreamModel
from allo.backend.sim.engines.arc import lower, lowered
from allo.backend.sim.engines.arc.packs import model, moves, reading
from allo.backend.sim.engines.arc.packs.nodes import GATHER
from allo.ir.types import Int, Stream, UInt, float16, float32, int8, int32, uint8
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from benchmarks import sim_arrays

PACKED = "allo.backend.sim.engines.arc.packs.model:pack_model"
STAGES, LENGTH = 10, 24


def array(a, b, c, m: int, k: int, n: int):
    s = allo.customize(systolic_array, instantiate=[a, b, c, m, k, n])
    return schedule_systolic_array(s).build(target="verilog")


def is_packed(module) -> bool:
    design = module.design
    return in_circt(PACKED, design.top, design.native_hw_text or design.hw_text) is not None


def compare(module, *arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays after a run in each engine, which agree, as do two runs one after another."""
    results = []
    for engine in ("jit", "verilator"):
        simulated = module.variant(simulator=engine)
        for _ in range(2):
            after = [array.copy() for array in arrays]
            simulated(*after)
            results.append((simulated.cycles, after))
    (cycles, expected), *others = results
    for found, after in others:
        assert found == cycles
        for ours, theirs in zip(after, expected, strict=True):
            assert ours.tobytes() == theirs.tobytes()
    return expected


@pytest.mark.parametrize(
    ("kinds", "shape"),
    [((int32, int32, int32), (4, 9, 5)), ((Int(5), UInt(7), Int(40)), (5, 6, 4))],
    ids=["int32", "odd widths"],
)
def test_a_systolic_array(kinds, shape: tuple[int, int, int]) -> None:
    """Also with odd widths, and lanes that fill no whole vector."""
    module = array(*kinds, *shape)
    assert is_packed(module)
    rng = np.random.default_rng(3)
    m, k, n = shape
    narrow = kinds[0] is not int32
    dtypes = (np.int8, np.uint8, np.int64) if narrow else (np.int32,) * 3
    a = rng.integers(-16, 16, (m, k)).astype(dtypes[0])
    b = rng.integers(0, 16, (k, n)).astype(dtypes[1])
    *_, c = compare(module, a, b, np.zeros((m, n), dtypes[2]))
    assert np.array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


@df.region()
def stages(x: Stream[int32, 2], A: int32[STAGES], B: uint8[STAGES], y: Stream[int32, 2]):
    """Each stage counts, compares and shifts, and hands on what it made of a word."""
    link: Stream[int32, 3][STAGES + 1]
    counts: Stream[int32, 2][STAGES]
    ends: Stream[uint8, 1][STAGES]

    @df.kernel(mapping=[1])
    def enter():
        for _ in range(LENGTH):
            link[0].put(x.get())

    @df.kernel(mapping=[STAGES])
    def stage():
        p = df.get_pid()
        seen: int32 = 0
        last: int8 = 0
        for i in range(LENGTH):
            w: int32 = link[p].get()
            if w > last and (w & 3) != 1:
                seen += w >> (seen & 3)
            elif w < -100:
                seen = seen - last
            last = w ^ i
            link[p + 1].put(w + (seen << 1))
        counts[p].put(seen)
        ends[p].put(last)

    @df.kernel(mapping=[1])
    def leave():
        for _ in range(LENGTH):
            y.put(link[STAGES].get())

    @df.kernel(mapping=[1], args=[A, B])
    def collect(a: int32[STAGES], b: uint8[STAGES]):
        with allo.meta_for(STAGES) as p:
            a[p] = counts[p].get()
            b[p] = ends[p].get()


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_stages_behind_streams_that_stall(stall: float) -> None:
    s = df.customize(stages)
    models = {name: StreamModel(stall=stall) for name in ("x", "y")} if stall else {}
    module = s.build(target="verilog", streams=models)
    assert is_packed(module)
    rng = np.random.default_rng(5)
    x = rng.integers(-300, 300, LENGTH).astype(np.int32)
    places = np.zeros(STAGES, np.int32), np.zeros(STAGES, np.uint8)
    compare(module, x, *places, np.zeros(LENGTH, np.int32))


@pytest.mark.parametrize("seed", range(4))
def test_moves_bring_each_lane_the_bits_of_its_mask(seed: int) -> None:
    """Sparse and dense masks, of a word that is longer or shorter than there are lanes."""
    rng = np.random.default_rng(seed)
    bits, lanes = (40, 24) if seed % 2 else (16, 70)
    chosen = rng.random((lanes, bits)) < rng.choice([0.03, 0.4])
    masks = [sum(1 << at for at in range(bits) if row[at]) for row in chosen]
    made = moves.moves_of(masks)
    seen = [0] * lanes
    for lane in range(lanes):
        for distance, mask in made.by.items():
            if mask >> lane & 1:
                seen[lane] |= 1 << lane - distance
        for bit, mask in made.spread.items():
            seen[lane] |= (mask >> lane & 1) << bit
    assert seen == masks


@df.region()
def stuck(B: int32[8]):
    """Each waits for its neighbour in a ring."""
    ring: Stream[int32, 2][8]
    told: Stream[int32, 2][8]

    @df.kernel(mapping=[8])
    def node():
        p = df.get_pid()
        word: int32 = ring[p].get()
        ring[(p + 1) % 8].put(word)
        told[p].put(word)

    @df.kernel(mapping=[1], args=[B])
    def collect(b: int32[8]):
        with allo.meta_for(8) as p:
            b[p] = told[p].get()


def test_a_deadlock_names_the_same_processes() -> None:
    """The probes of packs are lanes of words."""
    module = df.customize(stuck).build(target="verilog")
    assert is_packed(module)
    said = []
    for engine in ("jit", "verilator"):
        with pytest.raises(allo.errors.DeadlockError) as caught:
            module.variant(simulator=engine)(np.zeros(8, np.int32))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert all(f"node_{p} waits" in said[0] for p in range(8))


def test_random_first_contents_make_no_difference() -> None:
    module = array(int8, int8, int32, 4, 5, 4)
    a, b = np.full((4, 5), 3, np.int8), np.full((5, 4), -2, np.int8)
    for seed in (None, 1, 2):
        c = np.zeros((4, 4), np.int32)
        simulated = module.variant(simulator="jit", randomize=seed)
        simulated(a, b, c)
        assert np.array_equal(c, np.full((4, 4), -30))


def test_what_packs_do_not_know_is_simulated_as_before() -> None:
    """Float processes, and a design of one process."""
    module = array(float32, float32, float32, 2, 3, 2)
    assert not is_packed(module)
    a, b = np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)
    c = np.zeros((2, 2), np.float32)
    module.variant(simulator="jit")(a, b, c)
    assert np.array_equal(c, a @ b)


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs for every design, in this process and past the cache."""

    def in_this_process(function: str, top: str, text: str, timeout: float | None = None):
        assert function.endswith(":lower_text")
        return lower.lower_text(top, text)

    monkeypatch.setattr(lowered, "in_circt", in_this_process)
    monkeypatch.setattr(lowered, "cached_text", lambda folder, key, make: make())
    monkeypatch.setattr(reading, "SHARE", -1.0)


def counted(A: int32[16], B: int32[16]):
    for i in range(16):
        x: int32 = A[i]
        while x > 3:
            x = x - (x >> 2)
        B[i] = x * A[15 - i]


def test_a_wrong_lane_is_seen(forced: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: two lanes of what is handed from instance to instance are exchanged."""

    def planted(top: str, text: str):
        with monkeypatch.context():
            packed = reading.read_packs(model.parse_hw(text), top)
            gather = next(
                node
                for register in packed.registers
                for node in register.value.args
                if node.kind == GATHER and node.lanes > 4 and len(set(node.taken)) == node.lanes
            )
            gather.taken[0], gather.taken[1] = gather.taken[1], gather.taken[0]
            return model._model(top, packed)

    module = array(int8, int8, int32, 4, 5, 4)
    rng = np.random.default_rng(2)
    a = rng.integers(-9, 9, (4, 5)).astype(np.int8)
    b = rng.integers(-9, 9, (5, 4)).astype(np.int8)
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    c = np.zeros((4, 4), np.int32)
    module.variant(simulator="jit")(a, b, c)
    assert np.array_equal(c, wanted)
    monkeypatch.setattr(lower, "pack_model", planted)
    c[:] = 0
    try:
        module.variant(simulator="jit", max_cycles=2000)(a, b, c)
    except allo.errors.SimulationError:
        return
    assert not np.array_equal(c, wanted)


def test_a_single_process_as_packs(forced: None) -> None:
    """Packs of one lane are scalars."""
    s = allo.customize(counted)
    module = s.build(target="verilog")
    rng = np.random.default_rng(1)
    compare(module, rng.integers(-50, 90, 16).astype(np.int32), np.zeros(16, np.int32))


def test_the_benchmark_measures_both_engines() -> None:
    row = sim_arrays.measure(2, 8, runs=1)
    assert row.value > 0
    assert row.reference > 0


def test_a_reset_sets_what_a_multiplexer_gives() -> None:
    """The register of the addresses begins at 2, which is no reset of the register itself."""

    def downwards(X: float16[5], F: int8[20], Y: float16[5]):
        for i in range(4):
            for j in range(2, -1, -1):
                F[4 * i + j] = 1
        for k in range(3):
            Y[k] = 1 + X[k] - (1 + X[k + 1]) + 2

    s = allo.customize(downwards)
    s.pipeline("k")
    module = s.build(target="verilog", simulator="jit", randomize=3)
    assert is_packed(module)
    for _ in range(2):
        flags, y = np.zeros(20, np.int8), np.zeros(5, np.float16)
        module(np.ones(5, np.float16), flags, y)
        assert list(flags) == 4 * [1, 1, 1, 0] + 4 * [0]
        assert list(y) == [2, 2, 2, 0, 0]
        module.reset()
