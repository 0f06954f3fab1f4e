"""What Python does not evaluate is not evaluated, on any target."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Int, Stream, UInt, float32, int8, int32, uint8

from .checked import TARGETS, in_python, on_target

FAR = 100_000_000


def guard(x: int32[8], i: int32) -> int32:
    r: int32 = 0
    if i < 8 and x[i] > 0:
        r = 1
    return r


def guard_or(x: int32[8], i: int32) -> int32:
    r: int32 = 0
    if i >= 8 or i < 0 or x[i] > 2 or x[i + 8 - 8] == 1:
        r = 1
    return r


def ternary(x: int32[8], i: int32) -> int32:
    return x[i] if i < 8 else 0


def ternary_otherwise(x: int32[8], i: int32) -> int32:
    return -1 if i >= 8 else x[i] if x[i] > 2 else x[i] - 7


def chained(x: int32[8], i: int32) -> int32:
    r: int32 = 0
    if 0 <= i < 8 < x[i] + 6 < 11 != x[i]:
        r = 1
    return r


def mixed(x: int32[8], i: int32) -> int32:
    r: int32 = 0
    if (i < 8 and x[i] == 3) or not (i >= 8 or x[i] < 2) or i == 9:
        r = 1
    return r


def in_a_subscript(x: int32[8], i: int32) -> int32:
    return x[x[i] if i < 8 else 3]


def in_a_loop_bound(x: int32[8], i: int32) -> int32:
    r: int32 = 0
    for k in range(x[i] if i < 8 else 5):
        r += k
    return r


def in_min_and_max(x: int32[8], i: int32) -> int32:
    return min(x[i] if i < 8 else 6, 2) + max(x[i] if i < 8 else -6, -2)


def in_an_assertion(x: int32[8], i: int32) -> int32:
    assert i >= 8 or x[i] >= 0
    return i


def in_a_while(x: int32[8], i: int32) -> int32:
    k: int32 = i
    while k < 8 and x[k] > 1:
        k += 1
    return k


KERNELS = [
    guard,
    guard_or,
    ternary,
    ternary_otherwise,
    chained,
    mixed,
    in_a_subscript,
    in_a_loop_bound,
    in_min_and_max,
    in_an_assertion,
    in_a_while,
]
TARGET_IDS = ["cpu", "csim", "jit"]


@pytest.mark.parametrize("target", TARGET_IDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_an_element_outside_the_array_is_not_read(kernel, target):
    module = allo.customize(kernel).build(**TARGETS[target])
    x = np.array([3, 0, 5, 1, 2, 7, 4, 6], np.int32)
    for i in (0, 1, 2, 3, 5, 7, 8, 9, FAR):
        assert on_target(module, x, i)[0] == in_python(kernel, x, i)[0]


@pytest.mark.parametrize("kernel", [guard, ternary, in_a_while], ids=lambda k: k.__name__)
def test_verilator_agrees(kernel):
    module = allo.customize(kernel).build(target="verilog")
    x = np.array([3, 0, 5, 1, 2, 7, 4, 6], np.int32)
    for i in (0, 1, 7, 8, FAR):
        assert on_target(module, x, i)[0] == in_python(kernel, x, i)[0]


def after_break(x: int32[8], y: int32[1]):
    k: int32 = 0
    while x[k] != 0:
        k += 1
        if k == 8:
            break
    y[0] = k


@pytest.mark.parametrize("target", TARGET_IDS)
def test_a_loop_that_was_left_does_not_test_its_condition_again(target):
    module = allo.customize(after_break).build(**TARGETS[target])
    for zero in (0, 5, 8):
        x = np.arange(1, 9, dtype=np.int32)
        x[zero : zero + 1] = 0
        assert on_target(module, x, np.zeros(1, np.int32))[1][1].tolist() == [zero]


def count(calls: int32[2], value: int32) -> int32:
    calls[0] += 1
    calls[1] = (calls[1] * 3 + value) % 1024
    return value


def calls_in_order(a: int32, b: int32, c: int32, calls: int32[2], out: int32[8]):
    out[0] = count(calls, a) > 0 and count(calls, b) > 0 and count(calls, c) > 0
    out[1] = count(calls, a) > 0 or count(calls, b) > 0 or count(calls, c) > 0
    out[2] = count(calls, b) if count(calls, a) > 0 else count(calls, c)
    out[3] = count(calls, a) < count(calls, b) < count(calls, c)
    out[4] = min(calls[0], count(calls, a), calls[0])
    out[5] = (calls[0] if a > 0 else 0) + (count(calls, b) if b > 0 else 0) + calls[0]
    out[count(calls, 6)] = calls[0]
    out[7] = 1 if a < calls[0] < count(calls, b) + 10 else 0


@pytest.mark.parametrize("target", TARGET_IDS)
def test_calls_happen_as_often_as_in_python_and_in_its_order(target):
    module = allo.customize(calls_in_order).build(**TARGETS[target])
    for a, b, c in itertools.product((0, 1, 2), repeat=3):
        zeros = np.zeros(2, np.int32), np.zeros(8, np.int32)
        want = in_python(calls_in_order, a, b, c, *zeros)[1]
        got = on_target(module, a, b, c, *zeros)[1]
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("target", ["simulator", "csim", "jit"])
def test_a_fifo_is_read_only_where_python_would(target):
    @df.region()
    def top(x: int32[8], y: int32[12]):
        pipe: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[x])
        def produce(a: int32[8]):
            for i in range(8):
                pipe.put(a[i])

        @df.kernel(mapping=[1], args=[y])
        def consume(b: int32[12]):
            for i in range(12):
                b[i] = pipe.get() if i % 4 == 1 or (i % 4 == 2 and pipe.get() > 3) else -1

    options = {"target": "simulator"} if target == "simulator" else TARGETS[target]
    module = df.build(top, **options)
    x = np.array([10, 2, 20, 5, 30, 1, 7, 9], np.int32)
    words = iter(x.tolist())
    want = [
        next(words) if i % 4 == 1 or (i % 4 == 2 and next(words) > 3) else -1 for i in range(12)
    ]
    assert next(words, None) is None
    y = np.zeros(12, np.int32)
    module(x, y)
    assert y.tolist() == want


def shown(value: int32) -> int32:
    print("value", value)
    return value


def prints_in_order(a: int32) -> int32:
    r: int32 = 0
    if shown(a) > 0 and shown(a + 1) > 0:
        r = shown(a + 2) if a > 1 else shown(a + 3)
    return r


def test_what_is_not_evaluated_does_not_print(capfd):
    module = allo.customize(prints_in_order).build()
    for a in (0, 1, 2):
        module(a)
    assert capfd.readouterr().out.split() == [
        word for value in (0, 1, 2, 4, 2, 3, 4) for word in ("value", str(value))
    ]


def prints_texts_and_values(n: int32, x: uint8):
    print("{n} =", n, "100%")
    print(n, x)
    print()
    print("done")


@pytest.mark.parametrize("target", ["llvm", "vhls"])
def test_a_print_writes_what_python_writes(target: str, capfd: pytest.CaptureFixture[str]):
    prints_texts_and_values(-3, 200)
    want = capfd.readouterr().out
    s = allo.customize(prints_texts_and_values)
    (s.build() if target == "llvm" else s.build(target=target, mode="csim"))(-3, 200)
    assert capfd.readouterr().out == want == "{n} = -3 100%\n-3 200\n\ndone\n"


# --- arrays ----------------------------------------------------------------------------------------


def doubled(x: int32[4], calls: int32[1]) -> int32[4]:
    calls[0] += 1
    y: int32[4]
    for i in range(4):
        y[i] = x[i] * 2
    return y


def whole_arrays(x: int32[4], c: int32, calls: int32[1]) -> int32[4]:
    return doubled(x, calls) if c > 0 else x


def parts(x: int32[8], k: int32) -> int32[4]:
    return x[k : k + 4] if k <= 4 else x[0:4]


@pytest.mark.parametrize("target", TARGET_IDS)
def test_a_choice_between_arrays_calls_one_side_only(target):
    module = allo.customize(whole_arrays).build(**TARGETS[target])
    x = np.array([1, 2, 3, 4], np.int32)
    for c in (0, 1):
        calls = np.zeros(1, np.int32)
        np.testing.assert_array_equal(module(x, c, calls), x * (c + 1))
        assert calls[0] == c


@pytest.mark.parametrize("target", TARGET_IDS)
def test_a_slice_outside_the_array_is_not_read(target):
    module = allo.customize(parts).build(**TARGETS[target])
    x = np.arange(8, dtype=np.int32)
    for k in (0, 3, 4, 5, FAR):
        start = k if k <= 4 else 0
        np.testing.assert_array_equal(module(x, k), x[start : start + 4])


# --- what it costs ---------------------------------------------------------------------------------


def padded(x: int32[64], y: int32[64]):
    for i in range(64):
        y[i] = (x[i - 1] if i > 0 else 0) + (x[i + 1] if i + 1 < 64 else 0)


def looked_up(x: int32[64], k: int8[64], y: int32[64]):
    for i in range(64):
        y[i] = x[k[i]] if k[i] >= 0 and k[i] < 64 else -1


@pytest.mark.parametrize("kernel", [padded, looked_up], ids=lambda k: k.__name__)
def test_a_guarded_read_costs_a_pipeline_nothing(kernel):
    s = allo.customize(kernel)
    s.pipeline("i")
    module = s.build(target="verilog", simulator="jit")
    rng = np.random.default_rng(3)
    arrays = [rng.integers(-100, 100, 64).astype(np.int32), np.zeros(64, np.int32)]
    if kernel is looked_up:
        arrays.insert(1, rng.integers(-128, 128, 64).astype(np.int8))
    got, want = on_target(module, *arrays)[1], in_python(kernel, *arrays)[1]
    for mine, right in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, right)
    assert [loop.ii for loop in module.report.functions[0].loops] == [1]


def surely_inside(x: int32[8], t: float32[4], k: UInt(3), n: Int(2)) -> int32:
    r: int32 = 0
    for i in range(4):
        for j in range(i, 4):
            r += x[i + j] if n > 0 else x[k]
            r += x[(i * j) % 8] if x[k & 3] > 2 and t[j] > 0.0 else 1
    return r


def test_what_is_surely_inside_is_chosen_not_branched_to():
    text = str(allo.customize(surely_inside).module)
    assert "scf.if" not in text and "affine.if" not in text
    assert text.count("arith.select") == 2


def unreachable[N](x: int32[N], n: int32) -> int32:
    r: int32 = x[9] if N > 9 else x[N - 1]
    if N > 20 and x[20] > 0:
        r += 1
    if N > 30:
        r += x[30]
    for i in range(N - 8):
        r += x[8 + i] + x[8]
    return r


def test_what_a_template_never_executes_is_not_refused():
    for extent in (4, 10, 21, 40):
        x = np.arange(1, extent + 1, dtype=np.int32)
        module = allo.customize(unreachable, instantiate=[extent]).build()
        want = int(x[9] if extent > 9 else x[-1]) + (extent > 20)
        want += int(x[30]) if extent > 30 else 0
        want += sum(int(x[8 + i]) + int(x[8]) for i in range(extent - 8))
        assert module(x, 0) == want
