"""A pipeline takes a word before it gives one, where nobody can give the first in answer to the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.dialects._mlir import ir
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import functions_of
from allo.dialects.streams.groups import ATTRIBUTE, group_streams
from allo.ir.types import Stream, int32

N = 32


@df.region()
def between(A: int32[N], B: int32[N], C: int32[N]):
    """What ``mid`` puts first goes to a process that nothing joins to the one it gets from."""
    f: Stream[int32, 1]
    g: Stream[int32, 1]
    h: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[N]):
        for i in range(N):
            f.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def mid(b: int32[N]):
        for i in range(N):
            g.put(b[i] * b[i])
            h.put(f.get() + 1)

    @df.kernel(mapping=[1], args=[C])
    def last(c: int32[N]):
        for i in range(N):
            x: int32 = h.get()
            c[i] = g.get() - x


@df.region()
def diamond(A: int32[N], B: int32[N], C: int32[N]):
    """``first`` gives ``mid`` no word until ``last`` has taken one of ``mid``'s."""
    f: Stream[int32, 1]
    g: Stream[int32, 1]
    h: Stream[int32, 1]
    side: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[N]):
        side.put(a[0])
        for i in range(N):
            side.put(a[i])
            f.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def mid(b: int32[N]):
        for i in range(N):
            g.put(b[i] * b[i])
            h.put(f.get() + 1)

    @df.kernel(mapping=[1], args=[C])
    def last(c: int32[N]):
        for i in range(N):
            x: int32 = g.get() - side.get()
            c[i] = x - h.get()
        c[0] += side.get()


def wanted(region: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    squares = b * b
    if region is between:
        return squares - a - 1
    before = np.concatenate([a[:1], a[:-1]])
    c = squares - before - a - 1
    c[0] += a[-1]
    return c


@pytest.mark.parametrize("region", [between, diamond])
def test_every_target_gives_the_same_words(region: Any):
    s = df.customize(region)
    for loop in ("first_0:i", "mid_0:i", "last_0:i"):
        s.pipeline(loop)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-1000, 1000, N).astype(np.int32) for _ in range(2))
    ways: list[dict[str, Any]] = [
        {"target": "simulator"},
        {"target": "vhls", "mode": "csim"},
        {"target": "verilog", "simulator": "jit", "max_cycles": 5_000},
    ]
    for options in ways:
        module, c = s.build(**options), np.zeros(N, np.int32)
        module(a, b, c)
        np.testing.assert_array_equal(c, wanted(region, a, b))
    loop = next(f for f in module.report.functions if f.name == "mid_0").loops[0]
    if region is between:
        assert loop.pipelined and loop.ii == 1 and not loop.limit
        assert module.cycles <= 2 * N + 8  # a FIFO of one word passes one in two cycles
    else:
        assert not loop.pipelined
        assert "f is read" in loop.limit and "after g is written" in loop.limit


def test_tasks_of_a_function_overlap_whichever_fifo_they_write_first():
    def given(a: int32[N], t: int32[N]):
        for i in range(N):
            t[i] = a[i]

    def mid(b: int32[N], t: int32[N], u: int32[N], v: int32[N]):
        for i in range(N):
            u[i] = b[i]
            v[i] = t[i]

    def taken(v: int32[N], u: int32[N], o: int32[N]):
        for i in range(N):
            o[i] = v[i] + u[i]

    def top(a: int32[N], b: int32[N], o: int32[N]):
        t: int32[N]
        u: int32[N]
        v: int32[N]
        given(a, t)
        mid(b, t, u, v)
        taken(v, u, o)

    s = allo.customize(top)
    for name in ("given", "mid", "taken"):
        s.pipeline(f"{name}:i")
    s.dataflow("top")
    a = np.arange(N, dtype=np.int32)
    ways: list[dict[str, Any]] = [
        {"target": "llvm"},
        {"target": "vhls", "mode": "csim"},
        {"target": "verilog", "simulator": "jit"},
    ]
    for options in ways:
        module, o = s.build(**options), np.zeros(N, np.int32)
        module(a, 3 * a, o)
        np.testing.assert_array_equal(o, 4 * a)
    assert module.cycles <= N + 12


@df.region()
def straddled(A: int32[4], B: int32[6]):
    """A put between two others of one FIFO, whose reader takes words of two iterations first."""
    f: Stream[int32, 4]
    g: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[4]):
        for i in range(2):
            f.put(a[i])
            g.put(i + 7)
            f.put(a[i + 2])

    @df.kernel(mapping=[1], args=[B])
    def q(b: int32[6]):
        for i in range(3):
            b[i] = f.get()
        for j in range(2):
            b[j + 3] = g.get()
        b[5] = f.get()


def test_a_put_behind_one_with_a_buffer_does_not_hold_back_its_iteration():
    s = df.customize(straddled)
    s.pipeline("p_0:i")
    a, b = np.arange(4, dtype=np.int32) * 5 + 1, np.zeros(6, np.int32)
    s.build(target="verilog", simulator="jit", max_cycles=2_000)(a, b)
    assert b.tolist() == [a[0], a[2], a[1], 7, 8, a[3]]


PROCESS = """
  func.func @{name}(%x: index, %y: index) attributes {{arg_names = ["x", "y"],
      arg_types = ["stream<i32, 1>", "stream<i32, 1>"], otypes = "__", res_types = []}} {{
    %c = arith.constant 1 : i32
    "allo.put"(%x, %c) : (index, i32) -> ()
    %w = "allo.get"(%y) : (index) -> i32
    return
  }}
"""
END = """
  func.func @{name}(%x: index, %m: memref<4xi32>) attributes {{arg_names = ["x", "m"],
      arg_types = ["stream<i32, 1>", "i32"], otypes = "__", res_types = []}} {{
    %c = arith.constant 1 : i32
    affine.store %c, %m[0] : memref<4xi32>
    {use}
    return
  }}
"""
PUT = '"allo.put"(%x, %c) : (index, i32) -> ()'
GET = '%w = "allo.get"(%x) : (index) -> i32'
STREAM = '%{0} = "allo.stream"() {{name = "{0}", dtype = "i32", depth = 1 : i32}} : () -> index'


def groups(top: str, *processes: str) -> dict[str, list[int]]:
    """The marks of a module."""
    module = parse_module("module {" + "".join(processes) + top + "}")
    group_streams(module, "top")
    return {
        name: list(ir.DenseI64ArrayAttr(function.attributes[ATTRIBUTE]))
        for name, function in functions_of(module).items()
        if ATTRIBUTE in function.attributes
    }


def region(body: str, arguments: str = "", names: str = "", types: str = "") -> str:
    """A region of one body; ``f`` and ``g`` are FIFOs where it declares them."""
    return (
        f"func.func @top({arguments}) attributes {{region, arg_names = [{names}], "
        f'arg_types = [{types}], otypes = "", res_types = []}} {{ {body}\n return }}'
    )


FIFOS = STREAM.format("f") + "\n" + STREAM.format("g") + "\n"
MEMORIES = "%m: memref<4xi32>, %n: memref<4xi32>"
ASK = "func.call @p(%f, %g) : (index, index) -> ()\n"


def ends(first: str, second: str, after: str = "") -> str:
    """A consumer of ``f`` and a producer of ``g``, each with a memory that it writes."""
    return (
        f"func.call @taker(%f, %{first}) : (index, memref<4xi32>) -> ()\n"
        f"func.call @giver(%g, %{second}) {after} : (index, memref<4xi32>) -> ()\n"
    )


@pytest.mark.parametrize(
    ("second", "after", "expected"),
    [("n", "", [0, 1]), ("m", "", [0, 0]), ("n", "{after = array<i32: 1>}", [0, 0])],
    ids=["apart", "a memory", "an order of starts"],
)
def test_what_joins_the_processes_around_one(second: str, after: str, expected: list[int]):
    top = region(FIFOS + ASK + ends("m", second, after), MEMORIES, '"m", "n"', '"i32", "i32"')
    found = groups(
        top,
        PROCESS.format(name="p"),
        END.format(name="taker", use=GET),
        END.format(name="giver", use=PUT),
    )
    assert found["p"] == expected


def test_the_outside_may_answer():
    streams = '"stream<i32, 1>", "stream<i32, 1>"'
    top = region(ASK, "%f: index, %g: index", '"f", "g"', streams)
    assert groups(top, PROCESS.format(name="p")) == {"p": [0, 0], "top": [0, 0]}


def test_a_function_called_twice_has_what_both_calls_join():
    """The second pair of FIFOs joins two calls to each other, and so each call's ends."""
    chained = region(
        FIFOS + STREAM.format("h") + "\n" + ASK + "func.call @p(%g, %h) : (index, index) -> ()"
    )
    assert groups(chained, PROCESS.format(name="p"))["p"] == [0, 1]
    crossed = region(FIFOS + ASK + "func.call @p(%g, %f) : (index, index) -> ()")
    assert groups(crossed, PROCESS.format(name="p"))["p"] == [0, 0]
