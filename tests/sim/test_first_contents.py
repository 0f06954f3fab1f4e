"""What memories hold before anything is written: initial values on every engine, random words, model keys."""

from dataclasses import fields, replace

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.design import HardwareDesign
from allo.backend.sim.boundary.traffic import Outside
from allo.backend.sim.engines.interface import BuildOptions
from allo.backend.sim.engines.verilator.compile import ModelRequest, model_request
from allo.backend.sim.engines.verilator.tools import find_verilator
from allo.dialects.core.partition import Partition
from allo.ir.types import Int, Stateful, Stream, float32, int32

from . import designs

INT = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int32)
FLOAT = (INT / 8).astype(np.float32)
NARROW = INT.astype(np.int8)

PARTITIONS = (None, (Partition.Complete, 0), (Partition.Cyclic, 2), (Partition.Block, 4))


def unrolled(x: int32[8]) -> int32[8]:
    c: int32[8] = INT
    y: int32[8]
    for i in range(8):
        y[i] = c[i] * x[i]
    return y


def looked_up(x: int32[8]) -> int32[8]:
    c: int32[8] = INT
    y: int32[8]
    for i in range(8):
        y[i] = c[x[i]]
    return y


def floats(x: int32[8]) -> float32[8]:
    c: float32[8] = FLOAT
    y: float32[8]
    for i in range(8):
        y[i] = c[x[i]] + c[7 - i]
    return y


def narrow(x: int32[8]) -> int32[8]:
    c: Int(7)[8] = NARROW
    y: int32[8]
    for i in range(8):
        y[i] = c[x[i]] + c[i]
    return y


def picked(c: int32[8], x: int32[8], y: int32[8]):
    for i in range(8):
        y[i] = c[x[i]] - c[7 - i]


def passed(x: int32[8]) -> int32[8]:
    c: int32[8] = INT
    y: int32[8]
    picked(c, x, y)
    return y


def counted(x: int32[8]) -> int32[8]:
    c: int32[8] @ Stateful = 5
    n: int32 @ Stateful = -3
    y: int32[8]
    for i in range(8):
        c[x[i]] += n
        y[i] = c[x[i]]
    n += 1
    return y


X = np.array([7, 0, 3, 3, 1, 5, 2, 6], np.int32)
WANTED = {
    unrolled: INT * X,
    looked_up: INT[X],
    floats: FLOAT[X] + FLOAT[::-1],
    narrow: INT[X] + INT,
    passed: INT[X] - INT[::-1],
}


def _schedule(kernel, partition, loop):
    s = allo.customize(kernel)
    if partition is not None:
        kind, factor = partition
        s.partition(s.c, partition_type=kind, factor=factor)
    if loop is not None and kernel is not passed:
        getattr(s, loop)("i")
    return s


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
@pytest.mark.parametrize("kernel", WANTED)
def test_constants_in_the_first_call(kernel, partition):
    for loop in ("pipeline", "unroll"):
        mod = _schedule(kernel, partition, loop).build(target="verilog", simulator="jit")
        for seed in (None, 1):
            tried = mod.variant(randomize=seed)
            for call in range(2):
                got = tried(X)
                np.testing.assert_array_equal(got, WANTED[kernel], f"{loop} {seed} call {call}")


@pytest.mark.parametrize("kernel", [looked_up, passed])
def test_constants_in_verilator(kernel):
    mod = _schedule(kernel, (Partition.Complete, 0), "pipeline").build(target="verilog")
    for seed in (None, 1):
        np.testing.assert_array_equal(mod.variant(randomize=seed)(X), WANTED[kernel], str(seed))


def _state_after(calls):
    c, n, found = np.full(8, 5), -3, []
    for _ in range(calls):
        y = np.zeros(8, np.int32)
        for i, k in enumerate(X):
            c[k] += n
            y[i] = c[k]
        n += 1
        found.append(y)
    return found


@pytest.mark.parametrize(
    ("partition", "simulator"),
    [*((p, "jit") for p in PARTITIONS), (None, "verilator"), (PARTITIONS[1], "verilator")],
    ids=str,
)
def test_stateful_variables_start_at_their_initial_values(partition, simulator):
    mod = _schedule(counted, partition, None).build(target="verilog", simulator=simulator)
    for seed in (None, 1):
        tried = mod.variant(randomize=seed)
        for _ in range(2):
            for want in _state_after(3):
                np.testing.assert_array_equal(tried(X), want, str(seed))
            tried.reset()


@df.region()
def processes(x: int32[8], y: int32[8]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[x])
    def first(a: int32[8]):
        c: int32[8] = INT
        for i in range(8):
            pipe.put(c[a[i]])

    @df.kernel(mapping=[1], args=[y])
    def second(b: int32[8]):
        d: int32[8] = INT
        for i in range(8):
            b[i] = pipe.get() * d[7 - i]


def test_constants_of_processes():
    s = df.customize(processes)
    s.partition("first_0:c")
    s.partition("second_0:d")
    mod = s.build(target="verilog", simulator="jit")
    for seed in (None, 1):
        y = np.zeros(8, np.int32)
        mod.variant(randomize=seed)(X, y)
        np.testing.assert_array_equal(y, INT[X] * INT[::-1])


def unwritten(x: int32[4]) -> int32[4]:
    y: int32[4]
    if x[0] == 5:
        y[0] = 1
    return y


def unwritten_inside(x: int32[4]) -> int32:
    t: int32[4]
    if x[0] == 5:
        t[0] = 1
    r: int32 = 0
    for i in range(4):
        r += t[i]
    return r


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("kernel", [unwritten, unwritten_inside])
def test_a_design_that_reads_what_it_never_wrote_shows(kernel, simulator):
    x = np.zeros(4, np.int32)
    mod = allo.customize(kernel).build(target="verilog", simulator=simulator)
    assert np.array_equal(mod(x), np.zeros_like(mod(x)))
    found = {np.asarray(mod.variant(randomize=seed)(x)).tobytes() for seed in (1, 2, 3)}
    assert len(found) == 3


# Another value for each option, and whether the model is another one.
OPTIONS = {
    "wave": ("vcd", True),
    "outside": (Outside({}, {"s": object()}), False),  # of the driver, which is made for each build
    "timeout": (1.0, False),
    "randomize": (1, True),
    "stalls": (0.5, False),  # of the models of buses, which are told at each run
}
DESIGN = {"top": "other", "verilog": "module m; endmodule", "shared_units": ()}


def _request(design, options=BuildOptions(), runtime="key"):
    return model_request(design, options, find_verilator(), runtime)


def test_the_name_of_a_model_is_of_every_option():
    assert set(OPTIONS) == {f.name for f in fields(BuildOptions)}
    design = designs.scalar_adder(13)
    plain = _request(design)
    for name, (value, matters) in OPTIONS.items():
        other = _request(design, replace(BuildOptions(), **{name: value}))
        assert (other.key() != plain.key()) == matters, name
    assert _request(design, runtime="newer").key() != plain.key()


def test_the_name_of_a_model_is_of_every_field():
    plain = _request(designs.scalar_adder(13))
    changed = {f.name: "changed" for f in fields(ModelRequest)} | {"settings": ("changed",)}
    keys = {replace(plain, **{name: value}).key() for name, value in changed.items()}
    assert len(keys) == len(fields(ModelRequest)) and plain.key() not in keys
    other = replace(designs.scalar_adder(13), **DESIGN)
    assert isinstance(other, HardwareDesign) and _request(other).key() != plain.key()
