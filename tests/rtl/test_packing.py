"""Several products in one multiplier block: exact for all values, where and only where factors are shared."""

import itertools
import random

import numpy as np
import pytest

import allo
from allo.backend.rtl.graph.mapping.packing import Factor, Tile
from allo.backend.rtl.graph.nodes import Node
from allo.customize import Partition
from allo.errors import CapacityError
from allo.ir.types import int4, int8, int16, int32

INT8 = np.arange(-128, 128, dtype=np.int64)


def lanes(product: np.ndarray, step: int, widths: list[int], signed: bool) -> list[np.ndarray]:
    """The products in the lanes of one, as the hardware takes them out."""
    found = []
    for place, width in enumerate(widths):
        value = product >> step * place
        if place and signed:
            value = value + (product >> step * place - 1 & 1)
        value = value & (1 << width) - 1
        found.append(value - ((value >> width - 1 & 1) << width) if signed else value)
    return found


def test_two_products_of_int8_are_exact_for_all_values():
    y, a = np.meshgrid(INT8, INT8, indexing="ij")
    for x in INT8:
        low, high = lanes(((y << 16) + x) * a, 16, [16, 16], True)
        assert (low == x * a).all() and (high == y * a).all()


def test_four_products_of_int4_are_exact_for_all_values():
    small = np.arange(-8, 8, dtype=np.int64)
    w0, w1, a0, a1 = np.meshgrid(small, small, small, small, indexing="ij")
    found = lanes(((w1 << 16) + w0) * ((a1 << 8) + a0), 8, [8] * 4, True)
    for value, wanted in zip(found, (w0 * a0, w0 * a1, w1 * a0, w1 * a1), strict=True):
        assert (value == wanted).all()


def _factor(width: int, signed: bool) -> Factor:
    return Factor(Node(0, "arg", width), signed)


@pytest.mark.parametrize(
    ("lefts", "rights", "shape", "fits"),
    [
        ((8, 8), (8,), (26, 17), True),
        ((8, 8), (8,), (24, 17), True),
        ((8, 8), (8,), (18, 18), False),
        ((8, 8), (10,), (26, 17), True),
        ((8, 8), (11,), (26, 17), False),
        ((8, 8, 8), (8,), (26, 17), False),
        ((4, 4, 4), (4,), (26, 17), True),
        ((4, 4), (4, 4), (26, 17), True),
        ((5, 5), (5, 5), (26, 17), True),
        ((6, 6), (6, 6), (26, 17), False),
        ((4, 4), (18,), (26, 17), True),
        ((4, 4), (19,), (26, 17), False),
    ],
)
def test_what_fits_in_a_block(lefts, rights, shape, fits):
    sides = [tuple(_factor(width, True) for width in side) for side in (lefts, rights)]
    assert Tile(*sides, ()).fits(shape) == fits


def test_signed_and_unsigned_factors_share_no_block_of_more_than_two():
    mixed = (_factor(4, True), _factor(4, False), _factor(4, False))
    assert not Tile(mixed, (_factor(4, True),), ()).fits((26, 17))
    assert Tile(mixed[:2], (_factor(4, True),), ()).fits((26, 17))


# --- designs ---------------------------------------------------------------------------------------


def matmul(A: int8[8, 8], B: int8[8, 8], C: int32[8, 8]):
    for i in range(8):
        for j in range(4):
            part: int32[2] = 0
            for k in range(8):
                for h in range(2):
                    part[h] += A[i, k] * B[k, 2 * j + h]
            for h in range(2):
                C[i, 2 * j + h] = part[h]


def matmul_schedule(kernel=matmul):
    s = allo.customize(kernel)
    s.partition(s.A, Partition.Complete, 2)
    s.partition(s.B, Partition.Complete, 0)
    s.partition(s.part, Partition.Complete, 0)
    s.partition(s.C, Partition.Complete, 2)
    s.pipeline("j")
    return s


def corners(kind, shape, rng):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    values = rng.integers(low, high + 1, shape)
    edge = rng.choice([low, low + 1, -1 if low else 0, 0, 1, high - 1, high], shape)
    return np.where(rng.random(shape) < 0.5, edge, values).astype(kind)


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_product_of_int8_matrices(simulator):
    s = matmul_schedule()
    plain = s.build(target="verilog", simulator=simulator)
    s.bind("mul", "packed")
    packed = s.build(target="verilog", simulator=simulator)
    assert (plain.report.resources["dsp"], packed.report.resources["dsp"]) == (16, 8)
    assert "matmul: 16 products are computed in 8 multiplier blocks." in packed.report.notes
    rng = np.random.default_rng(7)
    for _ in range(4):
        a, b = corners(np.int8, (8, 8), rng), corners(np.int8, (8, 8), rng)
        c = np.zeros((8, 8), np.int32)
        packed(a, b, c)
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))
        assert packed.cycles == packed.report.cycles
    assert packed.report.cycles <= plain.report.cycles + 2


def test_yosys_counts_half_the_blocks():
    s = matmul_schedule()
    s.bind("mul", "packed")
    found = s.build(target="verilog", simulator="jit").synthesize()
    assert found.resources["dsp"] == 8


def outer_product(w: int4[2], a: int4[2], r: int16[4]):
    for i in range(2):
        for j in range(2):
            r[2 * i + j] = w[i] * a[j]


def test_four_products_of_int4_in_one_block():
    s = allo.customize(outer_product)
    for array in (s.w, s.a, s.r):
        s.partition(array, Partition.Complete, 0)
    s.unroll("i")
    s.unroll("j")
    s.bind("mul", "packed")
    mod = s.build(target="verilog", simulator="jit")
    assert "outer_product: 4 products are computed in 1 multiplier blocks." in mod.report.notes
    assert mod.report.resources["dsp"] == 1
    small = np.arange(-8, 8, dtype=np.int8)
    for w0, w1, a0, a1 in itertools.product(small[::3], small[::5], small[::2], (-8, -1, 7)):
        r = np.zeros(4, np.int16)
        w, a = np.array([w0, w1], np.int8), np.array([a0, a1], np.int8)
        mod(w, a, r)
        np.testing.assert_array_equal(r, np.outer(w, a).astype(np.int16).ravel())


def alone(x: int8[16], y: int8[16], r: int32[1]):
    for i in range(16):
        r[0] += x[i] * y[i]


def test_products_that_share_nothing_stay():
    s = allo.customize(alone)
    s.pipeline("i")
    s.bind("mul", "packed")
    report = s.build(target="verilog", simulator="jit").report
    assert report.resources["dsp"] == 1
    assert (
        "alone: none of 1 products shares a factor with another one in its iteration, so that none is "
        "packed." in report.notes
    )


def in_order(x: int8[8], r: int16[8]):
    for i in range(4):
        r[i] = x[i] * x[0]
        x[i + 4] = x[i] + 1
        r[i + 4] = x[i + 4] * x[0]


def test_products_around_a_store_that_they_need():
    s = allo.customize(in_order)
    s.unroll("i")
    s.bind("mul", "packed")
    mod = s.build(target="verilog", simulator="jit")
    x = np.array([-128, 127, 5, -1, 0, 0, 0, 0], np.int8)
    wanted, got = x.copy(), x.copy()
    r, s_r = np.zeros(8, np.int16), np.zeros(8, np.int16)
    s.build()(wanted, s_r)
    mod(got, r)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(r, s_r)


def _random_kernel(rng: random.Random) -> tuple[str, list[str]]:
    kinds = [f"{rng.choice(('int', 'uint'))}{rng.choice((2, 3, 4, 5, 8, 8, 9))}" for _ in range(5)]
    names = "abcde"
    lines = []
    for k in range(rng.randint(3, 9)):
        x, y = rng.choice(names), rng.choice(names)
        extra = rng.choice(("", "", f" + r[{rng.randint(0, 8)}]", f" - {rng.choice(names)}[i]"))
        lines.append(f"        r[{k}] = {x}[i] * {y}[i]{extra}")
        if rng.random() < 0.15:
            lines.append(f"        {x}[i] = r[{k}]")
    arguments = ", ".join(f"{n}: {k}[4]" for n, k in zip(names, kinds, strict=True))
    text = f"def f({arguments}, r: int32[9]):\n    for i in range(4):\n" + "\n".join(lines) + "\n"
    return text, kinds


@pytest.mark.parametrize("seed", range(12))
def test_random_products(seed, tmp_path):
    from tests.schedule.test_rebalance import _kernel

    rng = random.Random(seed)
    text, kinds = _random_kernel(rng)
    s = allo.customize(_kernel(text, tmp_path / f"packed_{seed}.py"))
    s.partition(s.r, Partition.Complete, 0)
    if rng.random() < 0.5:
        s.pipeline("i")
    reference = s.build()
    s.bind("mul", "packed")
    mod = s.build(target="verilog", simulator="jit")
    numbers = np.random.default_rng(seed)
    for _ in range(3):
        inputs = []
        for kind in kinds:
            bits, signed = int(kind.lstrip("uint")), kind[0] == "i"
            low = -(1 << bits - 1) if signed else 0
            values = numbers.choice([low, low + 1, 0, 1, low + (1 << bits) - 1], 4)
            store = (
                (np.int8 if bits <= 8 else np.int16)
                if signed
                else (np.uint8 if bits <= 8 else np.uint16)
            )
            inputs.append(values.astype(store))
        expected, got = [a.copy() for a in inputs], [a.copy() for a in inputs]
        r, q = np.zeros(9, np.int32), np.zeros(9, np.int32)
        reference(*expected, r)
        mod(*got, q)
        for left, right in zip((*expected, r), (*got, q), strict=True):
            np.testing.assert_array_equal(left, right)


# --- a limit on multiplier blocks ----------------------------------------------------------------------


@pytest.mark.parametrize(("most", "used"), [(16, 16), (12, 12), (8, 8), (5, 5), (0, 0)])
def test_a_limit_is_met(most, used):
    mod = matmul_schedule().build(target="verilog", simulator="jit", configs={"max_dsp": most})
    assert mod.report.resources.get("dsp", 0) == used
    rng = np.random.default_rng(most)
    a, b = corners(np.int8, (8, 8), rng), corners(np.int8, (8, 8), rng)
    c = np.zeros((8, 8), np.int32)
    mod(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_an_estimate_keeps_to_the_limit():
    assert matmul_schedule().estimate(max_dsp=5).resources["dsp"] == 5


def test_a_limit_that_cannot_be_met():
    s = matmul_schedule()
    s.bind("mul", "dsp")
    with pytest.raises(
        CapacityError,
        match=r"test_packing\.py:\d+:\d+: The design takes 16 multiplier blocks, 13 more than max_dsp=3 "
        r"allows, and nothing more of it can be made of lookup tables\. Its largest users are matmul "
        r"\(16\)\.(?s:.)*help: allow more blocks, or take back a bind to them",
    ):
        s.build(target="verilog", simulator="jit", max_dsp=3)
