"""constant_multiply: constant weights as adders that all sums share, the same bits everywhere."""

import numpy as np
import pytest

import allo
from allo.dialects.sums import adders
from allo.errors import ScheduleError
from allo.ir.types import Fixed, Int, UInt, float32, int8, int16, int32, uint8
from allo.schedule.constants.emit import Emitter
from tests.schedule import sums
from tests.schedule.support import check_golden, loops, refused

RNG = np.random.default_rng(4)
WEIGHTS = RNG.integers(-32, 32, (5, 6)).astype(np.int32)
BIASES = RNG.integers(-200, 200, 5).astype(np.int32)
LARGE = RNG.integers(-(1 << 31), 1 << 31, (10, 100)).astype(np.int32)
ACTIVE = np.array([[1, 0, 5], [0, 0, 0], [-7, 0, 0], [2, 4, -1]], dtype=np.int32)


def layer(x: Int(6)[3, 6], y: Int(6)[3, 5]):
    W: Int(6)[5, 6] = WEIGHTS
    b: Int(12)[5] = BIASES
    for t in range(3):
        for j in range(5):
            acc: Int(16) = b[j]
            for i in range(6):
                acc += x[t, i] * W[j, i]
            y[t, j] = min(max(acc >> 4, 0), 31)


def wraps(x: int8[6], y: int8[5]):
    """Sums that are longer than their accumulator: every bit that falls off does so as before."""
    W: Int(6)[5, 6] = WEIGHTS
    for j in range(5):
        acc: Int(9) = 0
        for i in range(6):
            acc += x[i] * W[j, i]
        y[j] = acc >> 1


def unsigned(x: uint8[3], u: UInt(3)[4], y: int32[4], z: uint8[4]):
    W: Int(4)[4, 3] = ACTIVE
    for j in range(4):
        s: UInt(20) = 0
        for i in range(j, 3):
            if i + j < 4:
                s += x[i] * W[j, i] + i * u[j] - j
        y[j] = s
        z[j] = s + y[j] * 3


def fixed(x: Fixed(8, 4)[6], y: Fixed(20, 8)[5]):
    W: Fixed(8, 2)[5, 6] = WEIGHTS
    for j in range(5):
        acc: Fixed(20, 8) = 0
        for i in range(6):
            acc += x[i] * W[j, i]
        y[j] = acc


def filters(x: int16[12], y: int32[12]):
    """Two taps before, in place of what other iterations load."""
    w: Int(8)[3] = [3, -5, 7]
    for t in range(2, 12):
        for k in range(3):
            y[t] += w[k] * x[t - k]
        y[t] = abs(y[t]) * y[t] + 2 * x[t]


def logic(x: int8[4], u: uint8[4], y: int32[4], z: uint8[4]):
    """What is no sum, in no more bits than its operands need: signs, masks, comparisons of both kinds."""
    w: Int(4)[4] = [3, -5, 7, 1]
    for j in range(4):
        s: int32 = 0
        v: int32 = 0
        for i in range(4):
            s += x[i] * w[i] - 3 * j
            v += u[i] * (i + 1)
        big: uint8 = 1 if u[j] > 3 * j + 2 else 0
        even: int32 = (s >> 3) << 1 if (s & 3) == 0 else s >> 2
        y[j] = ((even & -2) | 5) + (s ^ v) - (7 if s < v else -9) + big
        z[j] = max(min(s >> (j + 1), 200), -3) + (v & 63)


@pytest.mark.parametrize(
    ("kernel", "loop", "builds"),
    [
        (logic, "j", ("cpu", "jit")),
        (layer, "j", ("cpu", "csim", "jit")),
        (layer, "t", ("cpu", "jit")),
        (wraps, "j", ("cpu", "jit")),
        (unsigned, "j", ("cpu", "csim", "jit")),
        (filters, "k", ("cpu", "jit")),
        (filters, "t", ("cpu", "jit")),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_every_target_gives_the_same_bits(kernel, loop, builds):
    arrays = _arguments(kernel)
    results = []
    for build in ("plain", *builds):
        s = allo.customize(kernel)
        if build != "plain":
            s.constant_multiply(loop)
        results.append(sums.run(s, arrays, "cpu" if build == "plain" else build))
    for result in results[1:]:
        for a, b in zip(result, results[0], strict=True):
            assert a.tobytes() == b.tobytes()


def _arguments(kernel):
    """Random words of every type that the kernel declares, the ends of each among them."""
    found = []
    for argument in allo.customize(kernel).func_args[kernel.__name__]:
        bits, unsigned = argument.dtype.bits, str(argument.dtype).startswith("u")
        low, high = (
            (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        )
        made = RNG.integers(low, high, argument.shape, endpoint=True)
        made.flat[:2] = low, high
        size = max(8, 1 << (bits - 1).bit_length())
        found.append(made.astype(f"{'u' if unsigned else ''}int{size}"))
    return found


def test_fixed_point():
    plain, s = allo.customize(fixed), allo.customize(fixed)
    s.constant_multiply("j")
    assert "muli" not in str(s.module)
    x = RNG.integers(-128, 128, 6) / 16
    results = []
    for module in (plain.build(), s.build(), s.build(target="verilog", simulator="jit")):
        y = np.zeros(5)
        module(x.copy(), y)
        results.append(y.tolist())
    assert results[0] == results[1] == results[2] != [0.0] * 5


def test_the_module_after_it():
    s = allo.customize(layer)
    s.constant_multiply("j")
    s.pipeline("t")
    assert loops(s) == ["t"]
    assert "arith.muli" not in str(s.module) and "memref.global" not in str(s.module)
    check_golden(s, "constant_multiply")


def test_a_digit_that_the_planner_loses_is_seen(monkeypatch):
    real = adders.signed_digits
    monkeypatch.setattr(adders, "signed_digits", lambda value: real(value)[:2])
    s = allo.customize(layer)
    s.constant_multiply("j")
    x = RNG.integers(-32, 32, (3, 6)).astype(np.int8)
    found = []
    for each in (allo.customize(layer), s):
        y = np.zeros((3, 5), np.int8)
        each.build()(x, y)
        found.append(y.tolist())
    assert found[0] != found[1]


def test_a_bit_that_an_operation_loses_is_seen(monkeypatch):
    real = Emitter._narrow
    monkeypatch.setattr(Emitter, "_narrow", lambda *a: (w := real(*a)) and max(w - 1, 2))
    s, arrays = allo.customize(logic), _arguments(logic)
    s.constant_multiply("j")
    found, wanted = (sums.run(each, arrays, "cpu") for each in (s, allo.customize(logic)))
    assert any(a.tobytes() != b.tobytes() for a, b in zip(found, wanted, strict=True))


def test_a_depth_is_kept():
    for depth in (4, 5, 6):
        plan = adders.plan_adders(_rows(), [(-32, 31)] * 6, depth, BIASES.tolist())
        assert plan.depth <= depth
        _check(plan, _rows(), BIASES.tolist(), [(-32, 31)] * 6)


def _rows():
    return [{i: int(w) for i, w in enumerate(row) if w} for row in WEIGHTS]


def _check(plan, rows, constants, inputs):
    """Every node and output is what the weights say, in the bits and depth that it has."""
    rng = np.random.default_rng(1)
    distinct = [n.values[0] for n in plan.nodes[len(inputs) :] if n.is_input]
    for _ in range(20):
        x = [int(rng.choice([low, high, rng.integers(low, high + 1)])) for low, high in inputs]
        values = [*x, *distinct]
        for node in plan.nodes[len(values) :]:
            (a, s), (b, t) = node.left, node.right
            values.append((values[a] << s) + node.sign * (values[b] << t))
            assert node.values[0] <= values[-1] <= node.values[1]
            assert node.depth == 1 + max(plan.nodes[a].depth, plan.nodes[b].depth)
        for row, constant, out in zip(rows, constants, plan.outputs, strict=True):
            wanted = sum(w * x[i] for i, w in row.items()) + constant
            assert wanted == (0 if out is None else values[out[0]] << out[1])


def test_random_matrices():
    rng = np.random.default_rng(2)
    for _ in range(40):
        n, m, bits = rng.integers(1, 8), rng.integers(1, 8), rng.integers(1, 12)
        weights = rng.integers(-(1 << bits), (1 << bits) + 1, (m, n))
        rows = [{i: int(w) for i, w in enumerate(row) if w} for row in weights]
        constants = [int(c) for c in rng.integers(-50, 50, m) * rng.integers(0, 2, m)]
        inputs = [tuple(sorted(int(v) for v in rng.integers(-40, 90, 2))) for _ in range(n)]
        least = adders.least_depth(rows, constants)
        for depth in (None, least, least + 1):
            plan = adders.plan_adders(rows, inputs, depth, constants)
            _check(plan, rows, constants, inputs)
            assert depth is None or plan.depth <= depth
        digits = sum(len(adders.signed_digits(w)) for row in rows for w in row.values())
        assert plan.adders <= digits + len(constants)


def test_equal_rows_are_added_up_once():
    plan = adders.plan_adders([{0: 5, 1: 3}, {0: 10, 1: 6}, {0: -5, 1: -3}], [(0, 7)] * 2)
    assert plan.adders == 5  # 3 for the row, 2 for its negative, no deeper; twice the row is wires


# --- refusals -------------------------------------------------------------------------------------


def of_floats(x: float32[3], y: float32[2]):
    W: float32[2, 3] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    for j in range(2):
        for i in range(3):
            y[j] += x[i] * W[j, i]


def run_time_weights(x: int8[3], W: int8[2, 3], y: int32[2]):
    for j in range(2):
        for i in range(3):
            y[j] = x[i] * W[j, i]


def run_time_bounds(x: int8[8], y: int32[2], n: int32):
    w: Int(4)[8] = [1, 2, 3, 4, 5, 6, 7, 1]
    for j in range(2):
        for i in range(n):
            y[j] += x[i] * w[i]


def run_time_steps(x: int8[8], y: int32[8], n: int32):
    for j in range(0, 8, (n & 3) + 1):
        for i in range(7, -1, -(n & 3) - 1):
            y[j] += x[i] * 3


def branches(x: int8[3], y: int32[2]):
    for j in range(2):
        for i in range(3):
            if x[i] > 0:
                y[j] += x[i] * 3


def scattered(x: int8[3], p: uint8[2], y: int32[256]):
    for j in range(2):
        for i in range(3):
            y[p[j]] += x[i] * 3


def moving(x: int8[9], y: int32[20]):
    for t in range(4):
        for i in range(3):
            y[2 * t + i] = y[t] * 5 + x[i] * 3


def copied(x: int8[3], y: int8[3]):
    for i in range(3):
        y[i] = x[2 - i]


def large(x: int8[100], y: int32[10]):
    W: int32[10, 100] = LARGE
    for j in range(10):
        for i in range(100):
            y[j] += x[i] * W[j, i]


@pytest.mark.parametrize(
    ("kernel", "loop", "depth", "pattern"),
    [
        (
            of_floats,
            "j",
            None,
            r"constant_multiply j: the products of this nest are of floats, whose sums depend on "
            r"their order\..*help: declare the weights and the inputs as integers or fixed point",
        ),
        (
            run_time_weights,
            "j",
            None,
            r"constant_multiply j: neither factor of this product is known when the kernel is "
            r"compiled\..*help: make the weights a constant array",
        ),
        (
            run_time_bounds,
            "j",
            None,
            r"constant_multiply j: of the nest alone the bounds of this loop cannot be told\..*help: name",
        ),
        *(
            (
                run_time_steps,
                axis,
                None,
                rf":\d+:\d+: constant_multiply {axis}: a loop whose bounds or step are known only when it "
                r"runs cannot stand in a nest that becomes sums\..*help: the nest may hold loops of constant",
            )
            for axis in "ji"
        ),
        (branches, "j", None, r"constant_multiply j: a branch that data decide cannot stand in a"),
        (scattered, "j", None, r"a subscript or bound here is made of data\..*when it compiles"),
        (
            moving,
            "i",
            None,
            r"whether this element of y is one that the nest has stored is not known\..*help: let all "
            r"subscripts",
        ),
        (copied, "i", None, r"constant_multiply i: this nest adds up no products by constants\."),
        (
            large,
            "j",
            None,
            r"the nest adds up 1,010 terms, whose digits make [\d,]+ pairs; up to "
            r"3,000,000 are.*help: split the loop",
        ),
        (
            layer,
            "j",
            2,
            r"a sum of this nest needs \d additions one after the other, and depth=2 allows fewer\."
            r".*help: give depth=\d or more",
        ),
        (layer, "j", 0, r"constant_multiply j: the depth must be positive, got 0"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_it_says_why_not(kernel, loop, depth, pattern):
    s = allo.customize(kernel)
    refused(s, ScheduleError, pattern, lambda: s.constant_multiply(loop, depth=depth))
