"""``%`` of floats in hardware: a small unit that works on one pair of operands for many cycles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import UnsupportedOpError
from allo.ir.types import Stream, bfloat16, float16, float32, float64

N = 32


def half(a: float16[N], b: float16[N], y: float16[N]):
    for i in range(N):
        y[i] = a[i] % b[i]


def brain(a: bfloat16[N], b: bfloat16[N], y: bfloat16[N]):
    for i in range(N):
        y[i] = a[i] % b[i]


def single(a: float32[N], b: float32[N], y: float32[N]):
    for i in range(N):
        y[i] = a[i] % b[i]


def double(a: float64[N], b: float64[N], y: float64[N]):
    for i in range(N):
        y[i] = a[i] % b[i]


def twice(a: float32[N], b: float32[N], y: float32[N]):
    """Two units, and one in a loop that starts while others drain."""
    for i in range(N):
        y[i] = a[i] % b[i] + b[i] % a[i]
    for j in range(4):
        y[j] = y[j] % b[j]
        for k in range(2):
            y[2 * j + k] += a[k]


KINDS: dict[Callable[..., Any], Any] = {
    half: np.float16,
    single: np.float32,
    double: np.float64,
    twice: np.float32,
}


def numbers(kind: Any, seed: int) -> list[np.ndarray]:
    """Any bits, numbers of like size, and the special ones against each other."""
    rng = np.random.default_rng(seed)
    bits = np.dtype(f"u{np.dtype(kind).itemsize}")
    limits = np.finfo(kind)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, limits.max, limits.tiny]
    special += [limits.smallest_subnormal, 3 * limits.smallest_subnormal, -1.0]
    if seed == 0:
        pairs = rng.choice(np.array(special, kind), (2, N))
    elif seed == 1:
        pairs = (rng.standard_normal((2, N)) * [[100.0], [1.0]]).astype(kind)
    else:
        pairs = rng.integers(0, 1 << 8 * bits.itemsize, (2, N), dtype=bits).view(kind)
    return [*pairs, np.zeros(N, kind)]


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("kernel", KINDS, ids=lambda k: k.__name__)
def test_the_remainder_has_the_bits_of_c(kernel: Callable[..., Any], pipelined: bool):
    s = allo.customize(kernel)
    if pipelined:
        s.pipeline("i")
    rtl, cpu, kind = s.build(target="verilog", simulator="jit"), s.build(), KINDS[kernel]
    for seed in range(4):
        mine, theirs = numbers(kind, seed), numbers(kind, seed)
        rtl(*mine)
        cpu(*theirs)
        np.testing.assert_array_equal(mine[2], theirs[2])
        assert (np.signbit(mine[2]) == np.signbit(theirs[2]))[~np.isnan(mine[2])].all()
        if kernel is not twice:
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(mine[2], np.fmod(mine[0], mine[1]))
        assert rtl.cycles == rtl.report.cycles


def test_bfloat16_too():
    s = allo.customize(brain)
    rtl, cpu = s.build(target="verilog", simulator="jit"), s.build()
    a, b = (np.random.default_rng(n).standard_normal(N).astype(np.float32) for n in (1, 2))
    given = [x.astype(ml_dtypes.bfloat16) for x in (50 * a, b)]
    mine, theirs = (np.zeros(N, ml_dtypes.bfloat16) for _ in range(2))
    rtl(*given, mine)
    cpu(*given, theirs)
    np.testing.assert_array_equal(mine, theirs)
    assert mine.any()


@df.region()
def stalled(A: float32[N], B: float32[8]):
    """The process waits at both ends, so that its unit stands still in between."""
    f: Stream[float32, 1]
    g: Stream[float32, 1]

    @df.kernel(mapping=[1], args=[A])
    def give(a: float32[N]):
        for i in range(N):
            f.put(a[i] * a[i] - 2.0)

    @df.kernel(mapping=[1])
    def work():
        for i in range(8):
            x: float32 = f.get()
            y: float32 = x % 0.75
            z: float32 = f.get()
            z = z % 1.25 + f.get()
            g.put(y + z % (f.get() + 0.5))

    @df.kernel(mapping=[1], args=[B])
    def take(b: float32[8]):
        for i in range(8):
            b[i] = g.get()


@pytest.mark.parametrize("engine", ["jit", "verilator"])
def test_a_unit_that_is_frozen_goes_on(engine: str):
    a = (np.random.default_rng(5).standard_normal(N) * 40).astype(np.float32)
    got, want = np.zeros(8, np.float32), np.zeros(8, np.float32)
    df.build(stalled, target="simulator")(a, want)
    df.build(stalled, target="verilog", simulator=engine)(a, got)
    np.testing.assert_array_equal(got, want)
    assert want.any()


@pytest.mark.parametrize("kernel", [half, single], ids=lambda k: k.__name__)
def test_a_bound_unit_takes_operands_in_every_cycle(kernel: Callable[..., Any]):
    s = allo.customize(kernel)
    s.bind("frem", "pipelined")
    s.pipeline("i")
    rtl, cpu, kind = s.build(target="verilog", simulator="jit"), s.build(), KINDS[kernel]
    for seed in range(4):
        mine, theirs = numbers(kind, seed), numbers(kind, seed)
        rtl(*mine)
        cpu(*theirs)
        np.testing.assert_array_equal(mine[2], theirs[2])
        assert (np.signbit(mine[2]) == np.signbit(theirs[2]))[~np.isnan(mine[2])].all()
    assert rtl.cycles == rtl.report.cycles
    loop = rtl.report.functions[0].loops[0]
    assert (loop.ii, loop.limit) == (1, "")


def test_a_loop_is_bound_apart_from_the_others():
    s = allo.customize(twice)
    s.bind("frem", "pipelined", axis="i")
    operators = s.estimate().functions[0].operators
    assert (operators["frem_f32"], operators["frem_f32_pipelined"]) == (1, 2)


def test_the_limit_names_the_unit_and_the_unit_lifts_it():
    s = allo.customize(half)
    s.pipeline("i")
    assert "`s.bind('frem', 'pipelined')`" in s.estimate().functions[0].loops[0].limit
    s.bind("frem", "pipelined")
    assert s.estimate().functions[0].loops[0].ii == 1
    s.bind("frem", "iterated")
    assert s.estimate().functions[0].loops[0].ii > 1


def test_a_unit_of_too_many_tables_is_refused():
    s = allo.customize(double)
    s.bind("frem", "pipelined")
    with pytest.raises(UnsupportedOpError) as caught:
        s.build(target="verilog")
    message = str(caught.value)
    assert "A pipelined remainder of f64 would take some 250,000 lookup tables." in message
    assert "y[i] = a[i] % b[i]" in message and "^^^^^^^^^^^" in message
    assert caught.value.help == (
        'take the remainder of float32, or bind "frem" to "iterated", a small unit.'
    )


def test_the_unit_of_float32_is_small():
    report = allo.customize(single).estimate(device="xcup")
    assert report.resources["lut"] < 1_000


def test_csim_agrees():
    mine, theirs = numbers(np.float32, 3), numbers(np.float32, 3)
    s = allo.customize(single)
    s.bind("frem", "pipelined")
    csim = s.build(target="vhls", mode="csim")
    assert "bind_op" not in csim.hls_code
    csim(*mine)
    s.build()(*theirs)
    np.testing.assert_array_equal(mine[2], theirs[2])
