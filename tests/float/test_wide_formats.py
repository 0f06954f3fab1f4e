"""float32 and float64 units against the host's arithmetic, on a million vectors each."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.rtl.float.formats import FORMATS, FloatFormat
from allo.backend.rtl.operators import OperatorLibrary

from .harness import CompiledUnit, assert_same
from .vectors import HOST, from_host, operand_pairs, specials, to_host

WIDE = [FORMATS["f32"], FORMATS["f64"]]
HOST_OPERATION = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
}


def check_pairs(
    op: str, kind: FloatFormat, library: OperatorLibrary, text: str, count: int
) -> None:
    """One unit over ``count`` operand pairs."""
    unit = CompiledUnit(library.find(op, (kind.name,) * 2, kind.name), text)
    rng = np.random.default_rng(count + kind.width)
    for _ in range(max(1, count // 1_000_000)):
        a, b = operand_pairs(kind, min(count, 1_000_000), rng)
        with np.errstate(all="ignore"):
            expected = HOST_OPERATION[op](to_host(a, kind), to_host(b, kind))
        assert_same(unit(a, b), from_host(expected, kind), a, b)


@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
@pytest.mark.parametrize("op", HOST_OPERATION)
def test_unit_equals_host_on_a_million_pairs(op: str, kind: FloatFormat) -> None:
    check_pairs(op, kind, OperatorLibrary(), "rtl", 1_000_000)


@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
@pytest.mark.parametrize("op", HOST_OPERATION)
def test_native_unit_and_other_device_equal_host(op: str, kind: FloatFormat) -> None:
    check_pairs(op, kind, OperatorLibrary(), "native", 100_000)
    check_pairs(op, kind, OperatorLibrary("ecp5", 60.0), "rtl", 50_000)
    if kind.name == "f32":
        check_pairs(op, kind, OperatorLibrary("xc7", 250.0), "rtl", 50_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
@pytest.mark.parametrize("op", HOST_OPERATION)
def test_unit_equals_host_on_twenty_million_pairs(op: str, kind: FloatFormat) -> None:
    check_pairs(op, kind, OperatorLibrary(), "rtl", 20_000_000)


@pytest.mark.parametrize("text", ["rtl", "native"])
@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
def test_square_root_equals_host(kind: FloatFormat, text: str) -> None:
    unit = CompiledUnit(OperatorLibrary().find("math.sqrt", (kind.name,), kind.name), text)
    values, _ = operand_pairs(kind, 1_000_000, np.random.default_rng(7))
    squares = to_host(values, kind)
    with np.errstate(all="ignore"):
        exact = np.concatenate([squares, np.square(squares)])
        assert_same(
            unit(from_host(exact, kind)), from_host(np.sqrt(exact), kind), from_host(exact, kind)
        )


@pytest.mark.parametrize("text", ["rtl", "native"])
def test_resize_equals_host(text: str) -> None:
    single, double = WIDE
    widen = CompiledUnit(OperatorLibrary().find("arith.extf", ("f32",), "f64"), text)
    narrow = CompiledUnit(OperatorLibrary().find("arith.truncf", ("f64",), "f32"), text)
    rng = np.random.default_rng(3)
    values, _ = operand_pairs(single, 300_000, rng)
    with np.errstate(all="ignore"):
        wide = to_host(values, single).astype(np.float64)
        assert_same(widen(values), from_host(wide, double), values)
        jitter = rng.integers(-2, 3, len(values)) * (rng.random(len(values)) < 0.7)
        ties = (
            from_host(wide, double) + np.uint64(1 << 28) + jitter.astype(np.int64).view(np.uint64)
        )
        anything, _ = operand_pairs(double, 300_000, rng)
        for bits in (ties, anything):
            expected = from_host(to_host(bits, double).astype(np.float32), single)
            assert_same(narrow(bits), expected, bits)


@pytest.mark.parametrize("text", ["rtl", "native"])
@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
@pytest.mark.parametrize("width", [8, 32, 64])
def test_integer_to_float_equals_host(width: int, kind: FloatFormat, text: str) -> None:
    rng = np.random.default_rng(width)
    bits = rng.integers(0, 1 << width, 100_000, dtype=np.uint64)
    bits >>= rng.integers(0, width, len(bits)).astype(np.uint64)
    corners = [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1]
    bits = np.concatenate([bits, np.array(corners, dtype=np.uint64)])
    for op, letter in (("arith.sitofp", "i"), ("arith.uitofp", "u")):
        unit = CompiledUnit(OperatorLibrary().find(op, (f"i{width}",), kind.name), text)
        numbers = bits.astype(f"u{width // 8}").view(f"{letter}{width // 8}")
        expected = numbers.astype(f"f{kind.width // 8}")
        assert_same(unit(bits), from_host(expected, kind), bits)


@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
@pytest.mark.parametrize("width", [8, 32, 64])
def test_float_to_integer_equals_saturated_host(width: int, kind: FloatFormat) -> None:
    rng = np.random.default_rng(width)
    exponents = rng.integers(kind.bias - 4, kind.bias + width + 3, 100_000)
    bits = rng.integers(0, 1 << kind.width, len(exponents), dtype=np.uint64)
    bits &= np.uint64((1 << kind.width) - 1 ^ kind.infinity)
    bits |= exponents.astype(np.uint64) << np.uint64(kind.fraction)
    bits = np.concatenate([bits, specials(kind)])
    values = to_host(bits, kind).astype(np.float64)
    for op, low, high in (
        ("arith.fptosi", -(1 << width - 1), (1 << width - 1) - 1),
        ("arith.fptoui", 0, (1 << width) - 1),
    ):
        unit = CompiledUnit(OperatorLibrary().find(op, (kind.name,), f"i{width}"))
        expected = [
            0 if v != v else low if v <= low else high if v >= high else int(v)
            for v in values.tolist()
        ]
        mask = (1 << width) - 1
        assert_same(unit(bits), np.array([e & mask for e in expected], dtype=np.uint64), bits)


@pytest.mark.parametrize("op,model", [("minimumf", np.minimum), ("maximumf", np.maximum)])
def test_extremes_equal_host(op: str, model: np.ufunc) -> None:
    for kind in WIDE:
        unit = CompiledUnit(OperatorLibrary().find(f"arith.{op}", (kind.name,) * 2, kind.name))
        a, b = operand_pairs(kind, 100_000, np.random.default_rng(5))
        left, right = to_host(a, kind), to_host(b, kind)
        differ = (left != right) | np.isnan(left) | np.isnan(right) | (a == b)
        expected = from_host(model(left, right), kind)
        assert_same(unit(a, b)[differ], expected[differ], a[differ], b[differ])


@pytest.mark.parametrize("kind", WIDE, ids=lambda k: k.name)
def test_rounding_to_integers_equals_host(kind: FloatFormat) -> None:
    rng = np.random.default_rng(9)
    bits, _ = operand_pairs(kind, 100_000, rng)
    halves = from_host((rng.integers(-4000, 4000, 20_000) / 4).astype(HOST[kind.name]), kind)
    near = from_host(rng.normal(0, 1, 50_000) * np.exp2(rng.integers(-3, 55, 50_000)), kind)
    bits = np.concatenate([bits, halves, near])
    values = to_host(bits, kind)

    def away(x: np.ndarray) -> np.ndarray:
        whole = np.trunc(x)
        return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)

    models = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "roundeven": np.rint}
    for mode, model in {**models, "round": away}.items():
        unit = CompiledUnit(OperatorLibrary().find(f"math.{mode}", (kind.name,), kind.name))
        with np.errstate(all="ignore"):
            expected = from_host(np.copysign(model(values), values), kind)
        assert_same(unit(bits), expected, bits)


@pytest.mark.parametrize(
    ("name", "impl", "pairs"),
    [
        ("f16", "iterated", 60_000),
        ("f32", "iterated", 20_000),
        ("f64", "iterated", 2_000),
        ("f16", "pipelined", 60_000),
        pytest.param("f32", "pipelined", 20_000, marks=pytest.mark.slow),
    ],
)
def test_remainder_equals_host(name: str, impl: str, pairs: int) -> None:
    kind = FORMATS[name]
    operator = OperatorLibrary().find("arith.remf", (name, name), name, {"impl": impl})
    assert (operator.initiation_interval == 1) == (impl == "pipelined")
    unit = CompiledUnit(operator)
    a, b = operand_pairs(kind, pairs, np.random.default_rng(13))
    with np.errstate(all="ignore"):
        expected = from_host(np.fmod(to_host(a, kind), to_host(b, kind)), kind)
    assert_same(unit(a, b), expected, a, b)


@pytest.mark.parametrize("text", ["rtl", "native"])
@pytest.mark.parametrize("op", ["arith.addf", "arith.mulf", "arith.divf"])
def test_clock_enable_freezes_the_whole_unit(op: str, text: str) -> None:
    kind = FORMATS["f32"]
    operator = OperatorLibrary().find(op, ("f32", "f32"), "f32")
    unit = CompiledUnit(operator, text)
    rng = np.random.default_rng(11)
    a, b = (x[:4000] for x in operand_pairs(kind, 8000, rng))
    enable = rng.random(len(a)) < 0.6
    found = unit.clock((a, b), enable)
    with np.errstate(all="ignore"):
        exact = from_host(HOST_OPERATION[op](to_host(a, kind), to_host(b, kind)), kind)
    accepted = np.flatnonzero(enable)
    seen = np.cumsum(enable)
    for cycle in np.flatnonzero(seen >= operator.latency):
        source = accepted[seen[cycle] - operator.latency]
        assert found[cycle] == exact[source], cycle


def test_module_ports_are_those_of_the_interface() -> None:
    operator = OperatorLibrary().find("arith.addf", ("f32", "f32"), "f32")
    assert operator.unit_module is not None
    for style in ("rtl", "native"):
        module = operator.unit_module(style)
        assert (module.name, module.private) == (operator.module, True)
        inputs = [("clk", "!seq.clock"), ("ce", "i1"), ("a", "i32"), ("b", "i32")]
        assert module.ports.inputs == inputs
        assert [(name, kind) for name, kind, _ in module.ports.outputs] == [("r", "i32")]
    assert operator.module == f"fadd_f32_l{operator.latency}"
    assert (operator.operand_widths, operator.result_width) == ((32, 32), 32)


def test_faster_clocks_deepen_float_units() -> None:
    kinds = ("f32", "f32")
    depths = [
        OperatorLibrary("xcup", clock).find("arith.addf", kinds, "f32").latency
        for clock in (100.0, 200.0, 300.0, 450.0)
    ]
    assert depths == sorted(set(depths))
