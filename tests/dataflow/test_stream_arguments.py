"""Functions that kernels hand their streams to: equal on every back end."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import BuildError
from allo.ir.types import Stream, UInt, int32

ROWS, COLS = 5, 8


def send(words: Stream[int32, 4], a: int32[ROWS, COLS], row: int32, count: int32):
    for i in range(count):
        words.put(a[row, i])


def take[STEP](words: Stream[int32, 1], b: int32[ROWS, COLS], row: int32):
    for j in range(COLS):
        b[row, j] = words.get() + STEP


def pass_on(source: Stream[int32, 2], target: Stream[int32, 2], n: int32):
    for k in range(n):
        word: int32 = source.get()
        target.put(word)


@df.region()
def crossing(A: int32[ROWS, COLS], B: int32[ROWS, COLS], C: int32[ROWS, COLS]):
    pipes: Stream[int32, 9][2]
    slow: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def producer(a: int32[ROWS, COLS]):
        for r in range(ROWS):
            send(pipes[0], a, r, COLS)
            send(pipes[1], a, r, COLS)

    @df.kernel(mapping=[1])
    def between():
        pass_on(pipes[0], slow, ROWS * COLS)

    @df.kernel(mapping=[1], args=[B, C])
    def consumer(b: int32[ROWS, COLS], c: int32[ROWS, COLS]):
        for r in range(ROWS):
            take[1](pipes[1], c, r)
            take[2](slow, b, r)


@df.region()
def packed(A: UInt(8)[16], B: UInt(8)[16]):
    wide: Stream[UInt(32), 3]

    @df.kernel(mapping=[1], args=[A])
    def pack(a: UInt(8)[16]):
        def push(words: Stream[UInt(32), 3], bytes_of: UInt(8)[16], at: int32):
            word: UInt(32) = 0
            for k in range(4):
                word[8 * k : 8 * k + 8] = bytes_of[4 * at + k]
            words.put(word)

        for w in range(4):
            push(wide, a, w)

    @df.kernel(mapping=[1], args=[B])
    def unpack(b: UInt(8)[16]):
        for w in range(4):
            word: UInt(32) = wide.get()
            for k in range(4):
                b[4 * w + k] = word[8 * k : 8 * k + 8]


def _module(top, how: str, tmp_path):
    if how == "simulator":
        return df.build(top, target="simulator")
    if how == "csim":
        project = str(tmp_path / "project")
        return df.build(top, target="vitis_hls", mode="csim", project=project)
    return df.build(top, target="verilog", simulator=how)


@pytest.mark.parametrize("how", ["simulator", "csim", "jit", "verilator"])
def test_streams_go_through_functions(how: str, tmp_path):
    module = _module(crossing, how, tmp_path)
    a = np.random.default_rng(3).integers(-(2**31), 2**31 - 3, (ROWS, COLS)).astype(np.int32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    module(a, b, c)
    np.testing.assert_array_equal(c, a + 1)
    np.testing.assert_array_equal(b, a + 2)


def test_both_rtl_engines_take_the_same_cycles():
    cycles = set()
    for engine in ("jit", "verilator"):
        module = df.build(crossing, target="verilog", simulator=engine)
        a = np.arange(ROWS * COLS, dtype=np.int32).reshape(ROWS, COLS)
        b, c = np.zeros_like(a), np.zeros_like(a)
        module(a, b, c)
        np.testing.assert_array_equal(b, a + 2)
        np.testing.assert_array_equal(c, a + 1)
        cycles.add(module.cycles)
    assert len(cycles) == 1


def test_calls_of_one_kernel_share_one_copy():
    text = df.customize(crossing).build(target="systemverilog")
    producer = str(text).split("module producer_0(")[1].split("endmodule")[0]
    assert producer.count("send send (") == 1


def test_a_scheduled_function_on_a_stream():
    s = df.customize(crossing)
    s.pipeline("send:i")
    module = s.build(target="verilog", simulator="jit")
    plain = df.build(crossing, target="verilog", simulator="jit")
    a = np.arange(ROWS * COLS, dtype=np.int32).reshape(ROWS, COLS)
    for built in (module, plain):
        b, c = np.zeros_like(a), np.zeros_like(a)
        built(a, b, c)
        np.testing.assert_array_equal(b, a + 2)
        np.testing.assert_array_equal(c, a + 1)
    assert module.cycles <= plain.cycles


@pytest.mark.parametrize("how", ["simulator", "jit"])
def test_a_function_inside_a_kernel_takes_a_stream(how: str, tmp_path):
    module = _module(packed, how, tmp_path)
    a = np.random.default_rng(4).integers(0, 256, 16).astype(np.uint8)
    b = np.zeros_like(a)
    module(a, b)
    np.testing.assert_array_equal(b, a)


def doubled(x: Stream[int32, 4], y: Stream[int32, 4]):
    for _ in range(8):
        word: int32 = x.get() * 2
        y.put(word)


@df.region()
def streamed(x: Stream[int32, 4], y: Stream[int32, 4]):
    @df.kernel(mapping=[1])
    def process():
        for _ in range(8):
            word: int32 = x.get() * 2
            y.put(word)


def test_a_region_takes_streams():
    """A kernel by itself does not: nothing runs beside it."""
    got = np.zeros(8, np.int32)
    df.build(streamed, target="simulator")(np.arange(8, dtype=np.int32), got)
    np.testing.assert_array_equal(got, 2 * np.arange(8))


@pytest.mark.parametrize("options", [{}, {"target": "vhls", "mode": "csim"}], ids=["cpu", "csim"])
def test_python_passes_no_stream(options: dict[str, str]):
    """The wrapper of csim was C++ that g++ refused."""
    with pytest.raises(BuildError, match="Argument x of doubled is a stream, which Python cannot"):
        allo.customize(doubled).build(**options)([1], [2])
