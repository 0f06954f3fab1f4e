"""What does not wait in other tools' text: Icarus reads the Verilog, and vendors' C++ has their words."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import BuildError
from allo.ir.types import Stream, int32, uint1
from tests.compatibility.everywhere import EVERYWHERE, results
from tests.dataflow.tries.programs import MERGES, N, balanced, drops
from tests.fuzz.runner.icarus import fault_of_bench
from tests.verilog.readers import with_icarus

A = np.arange(1, N + 1, dtype=np.int32)
B = np.arange(101, 101 + N, dtype=np.int32)
EMPTY = np.zeros(2 * N, np.int32)


@with_icarus
@pytest.mark.parametrize("name", MERGES)
def test_icarus_agrees_in_every_cycle(name, tmp_path):
    module = df.build(MERGES[name], "verilog", simulator="jit")
    module.write_testbench(A, B, EMPTY.copy(), path=tmp_path / "bench")
    assert fault_of_bench(tmp_path / "bench") == ""


WORDS = {
    "vhls": ["pipe.write_nb(v", "pipe.read_nb(v", "last.read_nb(v"],
    "vitis_hls": ["pipe.write_nb(v", "pipe.read_nb(v", "last.read_nb(v"],
    "tapa": ["pipe.try_write(v", "pipe.try_read(v", "last.try_read(v"],
    "catapult": ["pipe.nb_write(v", "pipe.nb_read(v", "last.nb_read(v"],
}
FULL = {
    "vhls": "queues_0.full()",
    "vitis_hls": "queues_0.full()",
    "tapa": "queues_0.full()",
    "catapult": "!queues_0.num_free()",
}


@pytest.mark.parametrize("vendor", WORDS)
def test_every_vendor_has_its_own_words(vendor):
    text = str(df.customize(drops).build(target=vendor))
    for word in WORDS[vendor]:
        assert f"bool v{text.split(word)[0].rsplit('bool v', 1)[1]}{word}" in text
    assert FULL[vendor] in str(df.customize(balanced).build(target=vendor))


def test_xls_refuses_streams():
    with pytest.raises(BuildError, match="STREAM_TYPE: FIFOs between kernels are not supported"):
        df.customize(drops).build(target="xls")


def poll_a_port(s: "Stream[int32, 4]", a: int32[8]):  # noqa: UP037
    n: int32 = 0
    while n < 8:
        v, ok = s.try_get()
        if ok:
            a[n] = v
            n += 1


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_stream_that_is_a_port_of_the_top(simulator):
    given, got = np.arange(8, dtype=np.int32) * 3, np.zeros(8, np.int32)
    allo.customize(poll_a_port).build("verilog", simulator=simulator)(given, got)
    np.testing.assert_array_equal(got, given)


@df.region()
def inner(x: int32[N], y: int32[N]):
    words: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def feed(a: int32[N]):
        i: int32 = 0
        while i < N:
            if words.try_put(a[i] + 1):
                i += 1

    @df.kernel(mapping=[1], args=[y])
    def drain(b: int32[N]):
        i: int32 = 0
        while i < N:
            v, ok = words.try_get()
            if ok:
                b[i] = v
                i += 1


@df.region()
def outer(x: int32[N], y: int32[N], z: int32[N]):
    ready: Stream[uint1, 1]

    @df.kernel(mapping=[1], args=[x, y])
    def first(a: int32[N], b: int32[N]):
        inner(a, b)
        ready.put(1)

    @df.kernel(mapping=[1], args=[y, z])
    def second(b: int32[N], c: int32[N]):
        polls: int32 = 0
        told: uint1 = 0
        while not told:
            go, told = ready.try_get()
            polls += 1
        for i in range(N):
            c[i] = b[i] * 2 if polls > 0 else 0


@pytest.mark.parametrize("target", EVERYWHERE)
def test_regions_inside_kernels(target, tmp_path):
    zeros = np.zeros(N, np.int32)
    _, y, z = results(outer, target, tmp_path, A, zeros, zeros)
    np.testing.assert_array_equal(y, A + 1)
    np.testing.assert_array_equal(z, 2 * (A + 1))
