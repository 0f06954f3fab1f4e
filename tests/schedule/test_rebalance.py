"""rebalance: chains and unrolled reductions as balanced trees, the same bits on every target."""

import importlib.util
import random

import numpy as np
import pytest

import allo
from allo.equivalence.compare import compare
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import float32, int8, int16, int32, uint8
from tests.schedule import sums
from tests.schedule.support import check_golden, loops, refused


def wide(x: int32[8, 16], y: int32[8, 16], z: int32[1]):
    for i in range(8):
        for k in range(16):
            z[0] += x[i, k] * y[i, k]


def wide_floats(x: float32[8, 10], y: float32[8, 10], z: float32[1]):
    for i in range(8):
        for k in range(10):
            z[0] += x[i, k] * y[i, k] - y[i, 0] - 1.5


def several(x: int16[40], z: int32[4]):
    for k in range(3, 16, 2):
        if x[k] > 0:
            z[0] += x[k]
        z[1] -= x[k]
        z[2] += x[k]
        z[2] += x[k + 1]
        z[3] = max(z[3], x[k])


def _pipelined(s):
    s.pipeline("i")
    s.rebalance("k")


def _in_lanes(s):
    _pipelined(s)
    s.interleave("i", 3)


def _unrolled(s):
    s.unroll("k")
    s.rebalance("k")


def _body(s):
    s.rebalance("i")
    s.pipeline("i")


@pytest.mark.parametrize(
    ("kernel", "schedule", "exact"),
    [
        (wide, _pipelined, True),
        (wide, _in_lanes, True),
        (wide_floats, _pipelined, False),
        (wide_floats, _in_lanes, False),
        (several, _unrolled, True),
        (sums.filtered, _body, True),
        (sums.mixed, _unrolled, True),
        (sums.floats, _unrolled, False),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_every_target_gives_the_same_bits(kernel, schedule, exact):
    builds = sums.BUILDS if schedule == _in_lanes or kernel is sums.filtered else sums.QUICK
    sums.check_all(kernel, schedule, exact=exact, builds=builds)


def test_a_float_sum_of_16_products_waits_for_one_adder_and_then_for_none():
    """A chain of 10 adders is in the recurrence, one adder, and none with partial results beside."""

    def chain(s):
        s.pipeline("i")

    def parts(s):
        _pipelined(s)
        s.interleave("i", 8)

    found = []
    arrays = sums.arguments(wide_floats)
    for schedule in (chain, _pipelined, parts):
        s = allo.customize(wide_floats)
        schedule(s)
        for array in (s.x, s.y):
            s.partition(array, dim=2)
        module = s.build(target="verilog", simulator="jit")
        module(*[a.copy() for a in arrays])
        assert module.cycles == module.report.cycles
        found.append(module.report.functions[0].loops[0].ii)
    assert found[0] > 5 * found[1] and found[1] > 1 and found[2] == 1


def test_the_module_after_it():
    s = allo.customize(wide_floats)
    _pipelined(s)
    assert loops(s) == ["i", "k"]
    check_golden(s, "rebalance")


def test_verify_proves_integers_and_says_what_became_of_floats():
    for kernel, schedule in ((wide, _pipelined), (sums.mixed, _unrolled)):
        s = allo.customize(kernel)
        schedule(s)
        assert compare(allo.customize(kernel), s), kernel.__name__
    s = allo.customize(wide_floats)
    _pipelined(s)
    outcome = compare(allo.customize(wide_floats), s)
    assert not outcome and outcome.reassociated
    assert compare(allo.customize(wide_floats), s, reassociate=True)


def test_a_tree_takes_as_many_terms_as_the_refusal_of_a_longer_loop_says():
    def most(x: int32[4096], z: int32[1]):
        for k in range(4096):
            z[0] += x[k]

    s = allo.customize(most)
    s.unroll("k")
    s.rebalance("k")
    assert str(s.module).count("arith.addi") == 4096


# --- random chains -------------------------------------------------------------------------------

KINDS = {"int8": "a", "uint8": "b", "int16": "c", "int32": "d"}


def _chain(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice([f"{rng.choice('abcd')}[i]", f"{rng.randint(-9, 9)}", "r[i]"])
    left, right = (_chain(rng, rng.randint(0, depth - 1)) for _ in "xy")
    return f"({left} {rng.choice('+++--*&|^')} {right})"


def _kernel(text: str, path):
    source = "from allo.ir.types import *\n\n\n" + text
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("seed", range(6))
def test_random_integer_chains_keep_their_values(seed, tmp_path):
    rng = random.Random(seed)
    lines, changed = [], 0
    for _ in range(8):
        target = rng.choice("rs")
        terms = [_chain(rng, rng.randint(0, 3)) for _ in range(rng.randint(2, 7))]
        text = terms[0]
        for term in terms[1:]:
            text += f" {rng.choice('++++-*')} {term}" if rng.random() < 0.8 else f" + ({term})"
        lines.append(f"        {target}[i] = {text}")
    head = ", ".join(f"{name}: {kind}[20]" for kind, name in KINDS.items())
    result = rng.choice(["int8", "uint8", "int16", "int32"])
    text = f"def f({head}, r: {result}[20], s: int32[20]):\n    for i in range(20):\n"
    kernel = _kernel(text + "\n".join(lines) + "\n", tmp_path / f"chains_{seed}.py")
    s = allo.customize(kernel)
    before = str(s.module)
    s.rebalance("i")
    changed += str(s.module) != before
    for trial in range(3):
        arrays = sums.arguments(kernel, trial)
        want = sums.run(allo.customize(kernel), arrays, "cpu")
        for a, b in zip(sums.run(s, arrays, "cpu"), want, strict=True):
            np.testing.assert_array_equal(a, b)
    assert changed


# --- what is refused -----------------------------------------------------------------------------


def single(x: int32[16], z: int32[1]):
    for k in range(16):
        z[0] += x[k]


def horner(x: int32[16], z: int32[1]):
    for k in range(16):
        z[0] = z[0] * 3 + x[k]


def long(x: int8[5000], z: int32[1]):
    for k in range(5000):
        z[0] += x[k]


def run_time(x: int8[16], n: int32, z: uint8[1]):
    for i in range(4):
        for k in range(n):
            z[0] ^= x[k]


def plain(x: float32[16], z: float32[16]):
    for k in range(16):
        z[k] = x[k] + 1.0


def balanced(x: int32[16], z: int32[1]):
    for k in range(4):
        z[0] += (x[k] + x[k + 4]) + (x[k + 8] + x[k + 12])


@pytest.mark.parametrize(
    ("kernel", "mark", "error", "pattern"),
    [
        (
            single,
            None,
            ScheduleError,
            r":5: rebalance k: the loop is not unrolled, and its body holds no chain of three or more "
            r'operands that is not balanced already\..*help: call s\.unroll\("k"\) first',
        ),
        (balanced, None, ScheduleError, r"not balanced already"),
        (
            horner,
            "unroll",
            IllegalTransformError,
            r":9: Cannot rebalance k: loop k carries no reduction; this store of z is no update",
        ),
        (
            plain,
            "unroll",
            IllegalTransformError,
            r":9: Cannot rebalance k: loop k carries no reduction; the iterations store to several "
            r"elements of z",
        ),
        (
            long,
            "unroll",
            ScheduleError,
            r"rebalance k: the loop has 5000 iterations; a tree takes a constant number of terms up "
            r"to 4096\..*split the loop",
        ),
        (
            run_time,
            "pipeline",
            ScheduleError,
            r"rebalance k: the loop has bounds that only a run knows; a tree takes",
        ),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_refused(kernel, mark, error, pattern):
    s = allo.customize(kernel)
    if mark == "unroll":
        s.unroll("k")
    elif mark == "pipeline":
        s.pipeline("i")
    refused(s, error, pattern, lambda: s.rebalance("k"))


# --- factors ---------------------------------------------------------------------------------


def scaled(a: float32[6, 8], b: float32[6], y: float32[6, 8]):
    for i in range(6):
        for j in range(8):
            y[i, j] += a[i, j] * 1.5 * b[i]


def grouped(a: float32[6, 8], b: float32[6], y: float32[6, 8]):
    for i in range(6):
        for j in range(8):
            y[i, j] += (1.5 * b[i]) * a[i, j]


def test_factors_that_a_loop_does_not_change_are_multiplied_first():
    """Eight iterations side by side have one product of them, and nine multipliers in place of sixteen."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, 8), 6))
    multipliers = {}
    for rebalanced in (False, True):
        s = allo.customize(scaled)
        if rebalanced:
            s.rebalance("j")
        s.pipeline("i")
        for array in (s.a, s.y):
            s.partition(array, dim=2)
        multipliers[rebalanced] = s.estimate().resources["dsp"]
        y = np.ones((6, 8), np.float32)
        wanted = (
            y + (np.float32(1.5) * b)[:, None] * a
            if rebalanced
            else y + a * np.float32(1.5) * b[:, None]
        )
        s.build()(a, b, y)
        assert (y == wanted).all()
    assert multipliers[True] * 16 == multipliers[False] * 9


def test_a_product_that_is_grouped_already_stays():
    with pytest.raises(ScheduleError, match="holds no chain"):
        allo.customize(grouped).rebalance("j")


def test_integer_factors_keep_their_bits():
    def product(a: int32[6, 8], b: int32[6], y: int32[6, 8]):
        for i in range(6):
            for j in range(8):
                y[i, j] = a[i, j] * b[i] * b[5 - i]

    s = allo.customize(product)
    before = str(s.module)
    with pytest.raises(ScheduleError):  # products widen from one to the next
        s.rebalance("j")
    assert str(s.module) == before
