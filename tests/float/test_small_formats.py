"""Every operation of two 8-bit formats on all operands, against exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.rtl.float.formats import FORMATS, FloatFormat
from allo.backend.rtl.operators import OperatorLibrary

from . import soft
from .harness import CompiledUnit, assert_same

SMALL = [FORMATS["f8E4M3"], FORMATS["f8E5M2"]]
LIBRARY = OperatorLibrary("xcup", 300.0)
BYTES = np.arange(256, dtype=np.uint64)
LEFT, RIGHT = (x.ravel() for x in np.meshgrid(BYTES, BYTES, indexing="ij"))
PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
VALUES = {kind: np.array([soft.to_float(a, kind) for a in range(256)]) for kind in SMALL}
ORDERED = {
    "eq": np.equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal
}  # fmt: skip


def _unordered(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.isnan(a) | np.isnan(b)


HOST_COMPARE = {
    "false": lambda a, b: np.zeros(a.shape, bool),
    "true": lambda a, b: np.ones(a.shape, bool),
    "uno": _unordered,
    "ord": lambda a, b: ~_unordered(a, b),
    "one": lambda a, b: (a != b) & ~_unordered(a, b),
    "une": np.not_equal,
    **{f"o{name}": model for name, model in ORDERED.items()},
    **{
        f"u{name}": lambda a, b, model=model: model(a, b) | _unordered(a, b)
        for name, model in ORDERED.items()
    },
}


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
@pytest.mark.parametrize("op", soft.ARITHMETIC)
def test_arithmetic_on_all_pairs(op: str, kind: FloatFormat) -> None:
    unit = CompiledUnit(LIBRARY.find(op, (kind.name,) * 2, kind.name))
    model = soft.ARITHMETIC[op]
    expected = [model(a, b, kind) for a in range(256) for b in range(256)]
    assert_same(unit(LEFT, RIGHT), expected, LEFT, RIGHT)


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparison_on_all_pairs(predicate: str, kind: FloatFormat) -> None:
    operator = LIBRARY.find("arith.cmpf", (kind.name,) * 2, "i1", {"predicate": predicate})
    number = {"predicate": PREDICATES.index(predicate)}
    assert LIBRARY.find("arith.cmpf", (kind.name,) * 2, "i1", number).name == operator.name
    some = range(0, 1 << 16, 7)
    expected = HOST_COMPARE[predicate](VALUES[kind][LEFT], VALUES[kind][RIGHT]).astype(int).tolist()
    model = [soft.compare(predicate, i >> 8, i & 255, kind) for i in some]
    assert model == [expected[i] for i in some]
    assert_same(CompiledUnit(operator)(LEFT, RIGHT), expected, LEFT, RIGHT)


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
@pytest.mark.parametrize("name", ["minimumf", "maximumf", "minnumf", "maxnumf"])
def test_extremes_on_all_pairs(name: str, kind: FloatFormat) -> None:
    unit = CompiledUnit(LIBRARY.find(f"arith.{name}", (kind.name,) * 2, kind.name))
    expected = [soft.extremum(name, a, b, kind) for a in range(256) for b in range(256)]
    assert_same(unit(LEFT, RIGHT), expected, LEFT, RIGHT)


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
def test_one_operand_operations_on_all_values(kind: FloatFormat) -> None:
    def unit(op: str) -> CompiledUnit:
        return CompiledUnit(LIBRARY.find(op, (kind.name,), kind.name))

    root = [soft.square_root(a, kind) for a in range(256)]
    assert_same(unit("math.sqrt")(BYTES), root, BYTES)
    assert_same(unit("arith.negf")(BYTES), [a ^ 0x80 for a in range(256)], BYTES)
    assert_same(unit("math.absf")(BYTES), [a & 0x7F for a in range(256)], BYTES)
    for mode in ("floor", "ceil", "trunc", "round", "roundeven"):
        rounded = [soft.round_to_integral(mode, a, kind) for a in range(256)]
        assert_same(unit(f"math.{mode}")(BYTES), rounded, BYTES)
    copysign = CompiledUnit(LIBRARY.find("math.copysign", (kind.name,) * 2, kind.name))
    expected = [a & 0x7F | b & 0x80 for a in range(256) for b in range(256)]
    assert_same(copysign(LEFT, RIGHT), expected, LEFT, RIGHT)


@pytest.mark.parametrize(
    "source,target",
    [
        ("f8E4M3", "f8E5M2"),
        ("f8E5M2", "f8E4M3"),
        ("f8E4M3", "f16"),
        ("f8E5M2", "f16"),
        ("f16", "f8E4M3"),
        ("f16", "f8E5M2"),
        ("bf16", "f16"),
        ("f16", "bf16"),
    ],
)
def test_conversion_of_all_values(source: str, target: str) -> None:
    op = "arith.extf" if FORMATS[target].width > FORMATS[source].width else "arith.truncf"
    unit = CompiledUnit(LIBRARY.find(op, (source,), target))
    step = 1 if target.startswith("f8") else 5
    values = np.arange(0, 1 << FORMATS[source].width, step, dtype=np.uint64)
    expected = [soft.convert(int(a), FORMATS[source], FORMATS[target]) for a in values]
    assert_same(unit(values), expected, values)


def test_widening_of_all_half_and_brain_floats() -> None:
    bits = np.arange(1 << 16, dtype=np.uint64)
    single = FORMATS["f32"]
    for name in ("f16", "bf16"):
        values = bits.astype(np.uint16).view(np.float16).astype(np.float32)
        if name == "bf16":
            values = (bits.astype(np.uint32) << 16).view(np.float32)
        expected = np.where(np.isnan(values), single.nan, values.view(np.uint32))
        found = CompiledUnit(LIBRARY.find("arith.extf", (name,), "f32"))(bits)
        assert_same(found, expected.astype(np.uint64).tolist(), bits)


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
@pytest.mark.parametrize("width", [1, 2, 5, 9, 14, 20])
def test_float_to_integer_saturates(width: int, kind: FloatFormat) -> None:
    for op, signed in (("arith.fptosi", True), ("arith.fptoui", False)):
        unit = CompiledUnit(LIBRARY.find(op, (kind.name,), f"i{width}"))
        expected = [soft.to_integer(a, kind, width, signed=signed) for a in range(256)]
        assert_same(unit(BYTES), expected, BYTES)


@pytest.mark.parametrize("kind", SMALL, ids=lambda k: k.name)
@pytest.mark.parametrize("width", [1, 3, 8, 12])
def test_integer_to_float_of_all_values(width: int, kind: FloatFormat) -> None:
    values = np.arange(1 << width, dtype=np.uint64)
    for op, signed in (("arith.sitofp", True), ("arith.uitofp", False)):
        unit = CompiledUnit(LIBRARY.find(op, (f"i{width}",), kind.name))
        half = 1 << width - 1
        numbers = [int(v) - (2 * half if signed and v >= half else 0) for v in values]
        expected = [soft.encode(soft.Fraction(v), kind) for v in numbers]
        assert_same(unit(values), expected, values)
