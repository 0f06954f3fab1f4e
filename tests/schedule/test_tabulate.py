"""tabulate: elements of few bits as lookup tables, the same bits everywhere."""

import numpy as np
import pytest

import allo
from allo.dialects.tables import network
from allo.dialects.tables.decompose import Decomposer
from allo.dialects.tables.network import ONE, ZERO, Network
from allo.errors import ScheduleError
from allo.ir.types import Fixed, Int, UInt, float16, float32, int8, int16, int32, uint8
from allo.schedule.primitives.tables import tabulate
from tests.schedule import sums
from tests.schedule.support import loops, refused

RNG = np.random.default_rng(34)
PLACES = np.stack([RNG.choice(12, 3, replace=False) for _ in range(10)]).astype(np.int32)
WEIGHTS = RNG.integers(-8, 8, (10, 3)).astype(np.int32)
LEVELS = RNG.integers(-100, 100, 16).astype(np.int8)


def neurons(x: UInt(2)[20, 12], y: UInt(2)[20, 10]):
    """Each reads 3 of 12 inputs of 2 bits."""
    place: int32[10, 3] = PLACES
    w: int32[10, 3] = WEIGHTS
    for t in range(20):
        for j in range(10):
            total: int32 = 2
            for i in range(3):
                total += w[j, i] * x[t, place[j, i]]
            y[t, j] = min(max(total >> 2, 0), 3)


def wide(x: Int(3)[60, 3], y: Int(5)[60, 2], n: UInt(1)[1]):
    """Of 7 and 10 bits, products of data, and wraps."""
    for t in range(60):
        for j in range(2):
            near: int16 = x[t, j] * x[t, j + 1] + n[0]
            y[t, j] = near if near > x[t, j] else near + x[t, 0]


def curve(x: int8[256], y: int8[256], z: float32[256]):
    """Float arithmetic and functions; a float stored."""
    for t in range(256):
        for k in range(1):
            a: float32 = x[t]
            y[t] = allo.tanh(a / 32.0) * 100.0
            z[t] = a / 3.0


def looked_up(x: UInt(4)[16], y: int8[16], h: Int(10)[1], g: int8[1], f: float16[1]):
    """Constant arrays, one of floats, at places that data say and at known ones."""
    T: int8[16] = LEVELS
    F: float32[4] = [0.5, -1.25, 3.0, 7.5]
    for t in range(16):
        y[t] = T[x[t]] + T[T[x[t]] & 7]
    for k in range(1):
        g[k] = 1 if h[k] > F[x[0] & 3] * F[1] else -1
        h[k] = 1 if f[k] > 2.5 else -1


def fixed(x: Fixed(6, 3)[64], y: Fixed(12, 6)[64]):
    for t in range(64):
        for k in range(1):
            y[t] = x[t] * x[t] - 1


@pytest.mark.parametrize(
    ("kernel", "axes", "inputs", "builds"),
    [
        (neurons, ("j",), 4, ("csim", "jit")),
        (wide, ("j",), 6, ("jit",)),
        (curve, ("k",), 6, ("jit",)),
        (looked_up, ("t", "k"), 5, ("jit",)),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_every_target_gives_the_same_bits(kernel, axes, inputs, builds):
    arrays = _arguments(kernel)
    results = []
    for build in ("plain", *builds):
        s = allo.customize(kernel)
        if build != "plain":
            for axis in axes:
                s.tabulate(axis, inputs=inputs)
            assert not any(f"arith.{op}" in str(s.module) for op in ("muli", "mulf", "divf"))
        results.append(sums.run(s, arrays, "cpu" if build == "plain" else build))
    for result in results[1:]:
        for a, b in zip(result, results[0], strict=True):
            assert a.tobytes() == b.tobytes()


def _arguments(kernel):
    """Random words of every type; of 8 bits in 256 elements all."""
    found = []
    for argument in allo.customize(kernel).func_args[kernel.__name__]:
        bits, name = argument.dtype.bits, str(argument.dtype)
        if name.startswith("f"):
            found.append(np.full(argument.shape, 3.25, {16: np.float16, 32: np.float32}[bits]))
            continue
        low = 0 if name.startswith("u") else -(1 << (bits - 1))
        size = max(8, 1 << (bits - 1).bit_length())
        kind = f"{'u' if name.startswith('u') else ''}int{size}"
        if argument.shape == (256,):
            found.append(np.arange(-128, 128).astype(kind))
        else:
            found.append(RNG.integers(low, low + (1 << bits), argument.shape).astype(kind))
    return found


def test_fixed_point():
    s = allo.customize(fixed)
    s.tabulate("k")
    x = np.arange(-32, 32) / 8
    results = []
    for module in (allo.customize(fixed).build(), s.build(target="verilog", simulator="jit")):
        y = np.zeros(64)
        module(x.copy(), y)
        results.append(y.tolist())
    assert results[0] == results[1]


def test_the_hardware_is_tables_alone():
    s = allo.customize(neurons)
    s.tabulate("j")
    s.partition(s.x, dim=2)
    s.partition(s.y, dim=2)
    s.pipeline("t")
    assert loops(s) == ["t"]
    assert "memref.global" not in str(s.module)
    design = s.build(target="verilog", simulator="jit", clock_mhz=500.0)
    (x, y), found = _arguments(neurons), np.zeros((20, 10), np.uint8)
    design(x, found)
    allo.customize(neurons).build()(x, y)
    assert np.array_equal(found, y) and design.cycles == design.report.cycles
    (loop,) = design.report.functions[0].loops
    tables = str(s.module).count("arith.shrui %c")
    assert (loop.ii, loop.depth) == (1, 3)
    # 2 for each neuron, and the control of the loop
    assert tables <= 20 <= design.report.resources["lut"] <= tables + 25


def test_a_wrong_table_is_seen(monkeypatch):
    real = network.packed
    monkeypatch.setattr(network, "packed", lambda function: real(function) ^ 1)
    s, arrays = allo.customize(neurons), _arguments(neurons)
    s.tabulate("j")
    found, wanted = (sums.run(each, arrays, "cpu") for each in (s, allo.customize(neurons)))
    assert any(a.tobytes() != b.tobytes() for a, b in zip(found, wanted, strict=True))


def test_too_many_tables_are_refused(monkeypatch):
    monkeypatch.setattr(tabulate, "MOST_TABLES", 5)
    pattern = r"tabulate j: the elements .* take more than 5 lookup tables\..*help: keep it as"
    s = allo.customize(neurons)
    refused(s, ScheduleError, pattern, lambda: s.tabulate("j"))


# --- functions as networks ------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [4, 5, 6])
def test_functions_taken_apart(inputs):
    rng = np.random.default_rng(inputs)
    for count in (3, 7, 8, 11):
        places = np.arange(1 << count)
        total = sum(int(rng.integers(-9, 9)) * (places >> k & 1) for k in range(count))
        random = rng.integers(0, 2, 1 << min(count, 8)).astype(bool)
        functions = [total > 1, (total >> 2 & 1).astype(bool), np.resize(random, 1 << count)]
        made = Network(count)
        outputs = Decomposer(made, inputs).add(functions, list(range(count)))
        assert all(1 <= len(table.inputs) <= inputs for table in made.tables)
        for bit, function in zip(outputs, functions, strict=True):
            assert np.array_equal(_evaluated(made, places)[bit], function)
        assert len(made.kept(outputs)) == len(made.tables)


def _evaluated(made, places):
    values = {ZERO: places < 0, ONE: places >= 0}
    values |= {k: (places >> k & 1).astype(bool) for k in range(made.count)}
    for k, table in enumerate(made.tables):
        address = sum(values[bit].astype(int) << at for at, bit in enumerate(table.inputs))
        words = np.array([table.words >> at & 1 for at in range(1 << len(table.inputs))], bool)
        values[made.count + k] = words[address]
    return values


def test_what_makes_no_difference_is_left_out():
    made = Network(4)
    places = np.arange(16)
    second = (places >> 1 & 1).astype(bool)
    assert Decomposer(made, 6).add([second, ~second, places < 16, places > 16], [0, 1, 2, 3]) == [
        1,
        4,
        ONE,
        ZERO,
    ]
    assert made.tables[0].inputs == (1,) and made.tables[0].words == 1
    # a variable that occurs twice, and one that is known
    both = (places & 1 == places >> 1 & 1) & (places >> 2 & 1).astype(bool)
    assert made.table([0, 0, ONE, 3], both) == ONE
    assert made.levels([4]) == 1


# --- refusals -------------------------------------------------------------------------------------


def too_many(x: int8[3], n: uint8, y: int32[2]):
    for j in range(2):
        y[j] = x[0] * x[1] + x[2] * n


def by_iterator(x: UInt(2)[4], y: int32[4]):
    for j in range(4):
        for k in range(1):
            y[j] = x[j] + j


def branches(x: int8[3], y: int32[3]):
    for j in range(3):
        if x[j] > 0:
            y[j] = 3


def scattered(x: UInt(2)[3], y: int32[4]):
    for j in range(3):
        y[x[j]] = 1


def run_time_steps(x: UInt(2)[3], y: int32[4], n: int32):
    for j in range(0, 3, (n & 1) + 1):
        y[j] = x[j]


def many(x: UInt(16)[600], y: UInt(16)[600]):
    for j in range(600):
        y[j] = x[j] >> 3


def long(x: UInt(2)[3], y: Int(80)[3]):
    for j in range(3):
        y[j] = x[j] * 3


@pytest.mark.parametrize(
    ("kernel", "axis", "inputs", "pattern"),
    [
        (
            too_many,
            "j",
            6,
            r"tabulate j: an element of y depends on 32 bits, and a table takes up to 16: x\[0\] "
            r"\(8\), x\[1\] \(8\), x\[2\] \(8\), n \(8\)\..*help: give its inputs types of fewer bits",
        ),
        (by_iterator, "k", 6, r"depends on 66 bits.*an iterator from outside of the nest"),
        (branches, "j", 6, r"a branch that data decide cannot stand in a nest that becomes tables"),
        (scattered, "j", 6, r"tabulate j: a subscript or bound here is made of data"),
        (
            run_time_steps,
            "j",
            6,
            r"tabulate j: a loop whose bounds or step are known only when it runs",
        ),
        (many, "j", 6, r"the 600 elements that this nest stores have 39,321,600 values in all"),
        (long, "j", 6, r"an element of y has 80 bits, and a table up to 64\..*help: store it in"),
        (neurons, "j", 3, r"tabulate j: the inputs of a table must be >= 4, got 3\..*4 to 6"),
        (neurons, "j", 7, r"tabulate j: the inputs of a table must be at most 6, got 7\."),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_it_says_why_not(kernel, axis, inputs, pattern):
    s = allo.customize(kernel)
    refused(s, ScheduleError, pattern, lambda: s.tabulate(axis, inputs=inputs))
