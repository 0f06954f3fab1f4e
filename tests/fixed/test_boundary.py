"""Fixed point between Python and a kernel: arrays and scalars, in, out and in place."""

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.dialects.diagnostics import BoundaryError
from allo.ir.types import Fixed, Stream, UFixed

from .model import from_python, in_type, samples, to_python
from .targets import build

N = 24
TARGETS = ["cpu", "csim", "jit"]
TYPES = [Fixed(8, 3), UFixed(9, 9), Fixed(48, 20), UFixed(100, 70), Fixed(16, 30), Fixed(64, 1)]


def exact(values, dtype):
    return to_python(from_python(values, dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_arrays_and_scalars_are_scaled_both_ways(target, T, tmp_path):
    def copy(A: T[3, 8], x: T, B: T[3, 8], C: T[24]):
        for i, j in allo.grid(3, 8):
            B[i, j] = A[i, j]
            C[8 * i + j] += x

    module = build(allo.customize(copy), target, tmp_path)
    rng = np.random.default_rng(T.bits)
    values, start = samples(rng, T).reshape(3, 8), samples(rng, T)
    x = float(exact(samples(rng, T), T)[0])
    out, total = np.empty((3, 8)), start.copy()
    module(values, x, out, total)
    np.testing.assert_array_equal(out, exact(values, T).reshape(3, 8))
    (step,) = from_python(np.array([x]), T)
    want = [in_type(v + step, T, int) for v in from_python(start, T)]
    np.testing.assert_array_equal(total, to_python(want))


@pytest.mark.parametrize("given", [np.float32, np.int64, np.uint8, np.bool_, object])
def test_any_numeric_array_is_taken_and_kept_in_its_dtype(given):
    T = Fixed(12, 2)

    def halve(A: T[N], B: T[N]):
        for i in range(N):
            B[i] = A[i] >> 1

    rng = np.random.default_rng(4)
    values = rng.integers(0, 2 if given is np.bool_ else 250, N).astype(given)
    back = np.zeros(N, np.float32 if given is object else given)
    allo.customize(halve).build()(values, back)
    want = exact(values, T) / 2
    np.testing.assert_array_equal(back, want.astype(back.dtype))


@pytest.mark.parametrize("target", ["cpu", "jit", "verilator"])
def test_results_are_floats(target, tmp_path):
    T, U = UFixed(10, 4), Fixed(18, 9)

    def scaled(A: T[N], x: U) -> U[N]:
        B: U[N]
        for i in range(N):
            B[i] = A[i] * x
        return B

    rng = np.random.default_rng(5)
    values, x = samples(rng, T), -1.7
    got = build(allo.customize(scaled), target, tmp_path)(values, x)
    assert got.dtype == np.float64
    (factor,) = from_python(np.array([x]), U)
    want = [
        in_type(v * factor, U, lambda r: r.numerator // r.denominator)
        for v in from_python(values, T)
    ]
    np.testing.assert_array_equal(got, to_python(want))


@pytest.mark.parametrize("target", ["cpu", "jit"])
@pytest.mark.parametrize("T", [Fixed(8, 3), UFixed(8, 8), Fixed(90, 60)], ids=str)
def test_a_scalar_result_is_a_python_float(target, T, tmp_path):
    def negated(x: T) -> T:
        return -x

    module = build(allo.customize(negated), target, tmp_path)
    signed = [np.float32(-0.3), 1, True] if isinstance(T, Fixed) else []
    for x in (0.625, np.array(0.4), *signed):
        got = module(x)
        assert type(got) is float
        (held,) = from_python(np.array([float(x)]), T)
        assert got == in_type(-held, T, int)


@df.region()
def chain(A: Fixed(12, 5)[N], B: Fixed(20, 9)[N], gain: UFixed(6, 4)):
    pipe: Stream[Fixed(18, 9), 4]
    rows: Stream[Fixed(18, 9)[4], 2]

    @df.kernel(mapping=[1], args=[A])
    def scale(a: Fixed(12, 5)[N]):
        for i in range(N):
            v: Fixed(18, 9) = a[i] * gain
            pipe.put(v)

    @df.kernel(mapping=[1])
    def gather():
        for i in range(N // 4):
            row: Fixed(18, 9)[4]
            for j in range(4):
                row[j] = pipe.get()
            rows.put(row)

    @df.kernel(mapping=[1], args=[B])
    def store(b: Fixed(20, 9)[N]):
        for i in range(N // 4):
            row: Fixed(18, 9)[4] = rows.get()
            for j in range(4):
                b[4 * i + j] = row[j] - 1


@pytest.mark.parametrize("target", ["simulator", "csim", "jit"])
def test_streams_carry_fixed_point(target, tmp_path):
    if target == "simulator":
        module = df.build(chain, target="simulator")
    elif target == "csim":
        module = df.build(chain, target="vitis_hls", mode="csim", project=str(tmp_path / "p"))
    else:
        module = df.build(chain, target="verilog", configs={"simulator": "jit"})
    rng = np.random.default_rng(6)
    values, out = samples(rng, Fixed(12, 5)), np.empty(N)
    module(values, out, 2.72)
    (gain,) = from_python(np.array([2.72]), UFixed(6, 4))
    want = [in_type(v * gain, Fixed(18, 9), int) - 1 for v in from_python(values, Fixed(12, 5))]
    np.testing.assert_array_equal(out, to_python(want))


def test_print_shows_the_numbers(capfd):
    def show(A: Fixed(8, 3)[2], x: UFixed(8, 4)):
        print("first", A[0], "x", x)

    allo.customize(show).build()(np.array([-1.625, 2.0]), 3.5)
    assert capfd.readouterr().out.split() == ["first", "-1.625", "x", "3.5"]


def summed(A: Fixed(8, 3)[4], x: UFixed(9, 4)) -> Fixed(20, 4):
    total: Fixed(20, 4) = x
    for i in range(4):
        total += A[i]
    return total


@pytest.mark.parametrize(
    ("array", "scalar", "said"),
    [
        (
            [np.nan, 0, 0, 0],
            1.0,
            "Argument A of summed, declared fixed(8, 3)[4]: NaN or infinity cannot become",
        ),
        ([0, -np.inf, 0, 0], 1.0, "NaN or infinity cannot become fixed(8, 3)."),
        ([1j, 0, 0, 0], 1.0, "An array of complex128 has no values of type fixed(8, 3)."),
        (["1", "2", "3", "4"], 1.0, "An array of <U1 has no values of type fixed(8, 3)."),
        ([1.0, 2.0], 1.0, "got an array of shape (2,)."),
        ([[1.0, 2.0, 3.0, 4.0]], 1.0, "got an array of shape (1, 4)."),
        (
            [0, 0, 0, 0],
            float("nan"),
            "Argument x of summed, declared ufixed(9, 4): nan cannot become ufixed",
        ),
        ([0, 0, 0, 0], float("inf"), "inf cannot become ufixed(9, 4)."),
        ([0, 0, 0, 0], "3", "expected a number, got str."),
        ([0, 0, 0, 0], 2j, "expected a number, got complex."),
    ],
)
def test_a_wrong_argument_is_named(array, scalar, said):
    module = allo.customize(summed).build()
    with pytest.raises(BoundaryError) as caught:
        module(np.array(array), scalar)
    assert said in str(caught.value)
    assert "def summed" in str(caught.value)
    assert module(np.array([1.5, -2.0, 0.125, 0]), np.int16(3)) == 2.625


def test_a_read_array_may_hold_no_nan_where_a_result_may():
    def running(A: Fixed(8, 3)[4], B: Fixed(8, 3)[4]):
        for i in range(4):
            B[i] = A[i]
            A[i] += 1

    module = allo.customize(running).build()
    first, second = np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, np.nan)
    module(first, second)
    np.testing.assert_array_equal(second, [1, 2, 3, 4])
    np.testing.assert_array_equal(first, [2, 3, 4, 5])
    with pytest.raises(BoundaryError, match="Argument A of running.*NaN or infinity"):
        module(np.full(4, np.nan), second)


def test_an_integer_array_of_a_scale_beyond_its_bits():
    T = UFixed(70, 66)

    def same(A: T[3]) -> T[3]:
        B: T[3] = A
        return B

    got = allo.customize(same).build()(np.array([3, 17, -1], np.int16))
    np.testing.assert_array_equal(got, [3.0, 1.0, 15.0])


def test_print_in_csim_shows_the_numbers(capfd, tmp_path):
    def show(A: Fixed(8, 3)[2], x: UFixed(8, 4)):
        print("first", A[0], "x", x)

    build(allo.customize(show), "csim", tmp_path)(np.array([-1.625, 2.0]), 3.5)
    assert "first -1.625 x 3.5" in capfd.readouterr().out


def test_hls_text_declares_fixed_point():
    def scale(A: Fixed(8, 3)[4], x: UFixed(12, 4), B: Fixed(20, 9)[4]):
        bias: Fixed(20, 9) = -1.5
        for i in range(4):
            B[i] = A[i] * x + bias

    text = str(allo.customize(scale).build(target="vhls"))
    declared = ["ap_fixed<8, 5> A[4]", "ap_ufixed<12, 8> x", "ap_fixed<20, 11> B[4]"]
    assert all(part in text for part in declared)
    assert "ap_fixed<20, 11> bias;" in text
    assert "bias = -1.5;" in text
