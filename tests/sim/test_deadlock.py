"""Hardware that hangs says why, at once, on both engines; hardware that only waits is left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import MemoryChannel, StreamModel
from allo.errors import DeadlockError, SimulationError
from allo.ir.types import Stream, int32, uint32

ENGINES = ["jit", "verilator"]


@df.region()
def stuck(x: int32[8], y: int32[8]):
    p: Stream[int32, 1]
    q: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def fork(lx: int32[8]):
        for i in range(8):
            p.put(lx[i])
        for k in range(8):
            q.put(lx[k])

    @df.kernel(mapping=[1], args=[y])
    def join(ly: int32[8]):
        for i in range(8):
            a: int32 = p.get()
            b: int32 = q.get()
            ly[i] = a + b


def pass_on(source: Stream[int32, 1], target: Stream[int32, 1], n: int32):
    for k in range(n):
        word: int32 = source.get()
        target.put(word)


@df.region()
def grid(x: int32[8], y: int32[8]):
    """Arrays of FIFOs, one kernel in several places, a function that is handed streams."""
    pipes: Stream[int32, 2][3]

    @df.kernel(mapping=[1], args=[x])
    def feed(lx: int32[8]):
        for i in range(7):
            pipes[0].put(lx[i])

    @df.kernel(mapping=[2])
    def stage():
        i = df.get_pid()
        pass_on(pipes[i], pipes[i + 1], 8)

    @df.kernel(mapping=[1], args=[y])
    def drain(ly: int32[8]):
        for i in range(8):
            ly[i] = pipes[2].get()


@df.region()
def inner(a: int32[4], b: int32[4]):
    words: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[a])
    def send(la: int32[4]):
        for i in range(3):
            words.put(la[i])

    @df.kernel(mapping=[1], args=[b])
    def receive(lb: int32[4]):
        for i in range(4):
            lb[i] = words.get()


@df.region()
def nested(x: int32[4], y: int32[4]):
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def first(lx: int32[4]):
        z: int32[4] = 0
        inner(lx, z)
        go.put(z[0])

    @df.kernel(mapping=[1], args=[y])
    def second(ly: int32[4]):
        ly[0] = go.get()


@df.region()
def twins(x: int32[4], y: int32[4]):
    """Two kernels that are one module: each is named at its own line."""
    p: Stream[int32, 1]
    q: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def one(lx: int32[4]):
        for i in range(4):
            lx[i] = p.get()

    @df.kernel(mapping=[1], args=[y])
    def two(ly: int32[4]):
        for i in range(4):
            ly[i] = q.get()

    @df.kernel(mapping=[1])
    def both():
        for i in range(2):
            p.put(i)
            q.put(i)


CASES = {"stuck": (stuck, 8), "grid": (grid, 8), "nested": (nested, 4), "twins": (twins, 4)}


def message(module, size: int) -> str:
    with pytest.raises(DeadlockError) as caught:
        module(np.arange(size, dtype=np.int32), np.zeros(size, np.int32))
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_hardware_says_what_the_simulator_says(case: str):
    region, size = CASES[case]
    s = df.customize(region)
    want = message(s.build(target="simulator"), size)
    assert "waits to" in want
    module = s.build(target="verilog")
    for engine in ENGINES:
        tried = module.variant(simulator=engine)
        for _ in range(2):
            assert message(tried, size) == want


def test_the_message_in_full():
    here = __file__
    got = message(df.customize(stuck).build(target="verilog", simulator="jit"), 8)
    lines = [line for line in got.splitlines() if not line.startswith("   ")]
    assert [line.replace(here, "k.py") for line in lines] == [
        "k.py:20:5: stuck deadlocks: 2 processes wait and none of the 2 that have not finished can go on.",
        "note: k.py:27:19: fork_0 waits to put into FIFO p (1 of 1 filled); its reader join_0 waits to "
        "get from FIFO q.",
        "note: k.py:35:24: join_0 waits to get from FIFO q (0 of 1 filled); its writer fork_0 waits to "
        "put into FIFO p.",
        "help: FIFO p needs a depth of 7: with it this call ends. Or take from it earlier.",
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pipelined_loop_is_named(engine: str):
    s = df.customize(stuck)
    for loop in ("fork_0:i", "join_0:i"):
        s.pipeline(loop)
    got = message(s.build(target="verilog", simulator=engine), 8)
    assert (
        "join_0 waits to get from FIFO q (0 of 1 filled) in front of pipelined loop i; its writer"
        in got
    )
    assert (
        "fork_0 waits to put into FIFO p (1 of 1 filled) in front of pipelined loop i; its reader"
        in got
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_port_that_is_fed_too_little(engine: str):
    def echo(x: Stream[int32, 2], y: Stream[int32, 2]):
        for i in range(10):
            word: int32 = x.get()
            y.put(word)

    options = {"simulator": engine, "streams": {"x": StreamModel(stall=0.5)}}
    module = allo.customize(echo).build(target="verilog", **options)
    y = np.zeros(10, np.int32)
    module(np.arange(10, dtype=np.int32), y)
    assert y.tolist() == list(range(10))
    with pytest.raises(DeadlockError) as caught:
        module(np.arange(7, dtype=np.int32), y)
    assert "echo waits to get from stream x; its outside fed 7 of 7 words." in str(caught.value)


@df.region()
def slow(x: int32[4], y: int32[4]):
    """A process that computes 100,000 cycles between two puts."""
    p: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def think(lx: int32[4]):
        for i in range(4):
            total: uint32 = 1
            for k in range(100_000):
                total = total ^ (total << 1)
            word: int32 = lx[i] + (total & 0)
            p.put(word)

    @df.kernel(mapping=[1], args=[y])
    def take(ly: int32[4]):
        for i in range(4):
            ly[i] = p.get()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_computation_is_no_deadlock(engine: str):
    module = df.customize(slow).build(target="verilog", simulator=engine)
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    module(x, y)
    np.testing.assert_array_equal(y, x)
    assert module.cycles > 400_000


@df.region()
def copy(x: int32[64], y: int32[64]):
    p: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[x])
    def load(lx: int32[64]):
        for i in range(64):
            p.put(lx[(i * 17) % 64])

    @df.kernel(mapping=[1], args=[y])
    def store(ly: int32[64]):
        for i in range(64):
            ly[i] = p.get()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("latency", [300, 9000])
def test_a_memory_of_long_latency_is_no_deadlock(engine: str, latency: int):
    far = MemoryChannel("far", 1, latency=latency, stall=0.3, stall_cycles=50, line_bytes=16)
    module = df.customize(copy).build(
        target="verilog", simulator=engine, memory={"x": far, "y": far}
    )
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    module(x, y, stall_seed=3)
    np.testing.assert_array_equal(y, x[np.arange(64) * 17 % 64])
    assert module.cycles > 20 * latency


def endless(x: int32[4]) -> int32:
    n: int32 = 0
    while x[0] > 0:
        n = n & 1
    return n


def patient(x: int32[4]) -> int32:
    """Its registers come back again and again, but its memory counts."""
    while x[0] < 20_000:
        x[0] = x[0] + 1
    return x[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_that_changes_nothing_is_found_out(engine: str):
    module = allo.customize(endless).build(target="verilog", simulator=engine)
    assert module(np.zeros(4, np.int32)) == 0
    with pytest.raises(SimulationError) as caught:
        module(np.ones(4, np.int32))
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("endless never ends: by cycle ")
    assert first.endswith(" it repeats the same cycle and changes nothing.")
    assert int(first.split("by cycle ")[1].split()[0]) < 10_000
    assert rest[-1] == "help: its loop waits for a condition that nothing in it changes."
    if engine == "jit":
        line = next(
            n
            for n, t in enumerate(Path(__file__).read_text().splitlines(), 1)
            if "while x[0] > 0" in t
        )
        assert rest[0] == f"note: it runs while loop ({__file__}:{line}:11)."


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_that_counts_in_memory_goes_on(engine: str):
    module = allo.customize(patient).build(target="verilog", simulator=engine)
    assert module(np.zeros(4, np.int32)) == 20_000


def test_a_run_given_up_says_what_waits():
    module = df.customize(slow).build(target="verilog", simulator="jit", max_cycles=5_000)
    with pytest.raises(SimulationError) as caught:
        module(np.arange(4, dtype=np.int32), np.zeros(4, np.int32))
    assert not isinstance(caught.value, DeadlockError)
    text = str(caught.value)
    assert "slow was not done after 5000 cycles." in text
    assert "loop k (" in text
    assert "take_0 waits to get from FIFO p (0 of 1 filled); its writer think_0 is running." in text
