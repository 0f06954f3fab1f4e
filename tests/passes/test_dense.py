"""Dense constants are read as MLIR writes them: as numbers, as bytes, as one number for all."""

from __future__ import annotations

import pytest

from allo.dialects._mlir import ir, make_context
from allo.dialects.core.dense import constant_bits, dense_values, dense_words, float_bits, float_of

LONG = 150
"""Elements from which MLIR writes bytes."""


def attribute(kind: str, texts: list[str]) -> tuple[ir.Attribute, ir.Type]:
    body = f"[{', '.join(texts)}]" if len(texts) > 1 else texts[0]
    shape = f"{len(texts)}x" if len(texts) > 1 else "5x"
    return ir.Attribute.parse(f"dense<{body}> : tensor<{shape}{kind}>"), ir.Type.parse(kind)


@pytest.mark.parametrize("count", [1, 7, LONG])
@pytest.mark.parametrize(
    "kind", ["i1", "i7", "i8", "i12", "i24", "i32", "i33", "i64", "i65", "i200", "index"]
)
def test_integers_of_any_width(kind: str, count: int):
    width = 64 if kind == "index" else int(kind[1:])
    low = 0 if width == 1 else -(1 << (width - 1))
    numbers = [low + (k * 0x9E3779B97F4A7C15F39CC0605CEDC834 % (1 << width)) for k in range(count)]
    with make_context():
        given, element = attribute(kind, [str(n) for n in numbers])
        expected = numbers if count > 1 else numbers * 5
        assert dense_values(given, element, len(expected)) == expected
        assert dense_words(given, element, len(expected)) == [n % (1 << width) for n in expected]


@pytest.mark.parametrize("count", [1, 7, LONG])
@pytest.mark.parametrize("kind", ["bf16", "f16", "f32", "f64"])
def test_floats_and_their_bits(kind: str, count: int):
    numbers = [(k - 3) * 0.25 for k in range(count)]
    width = int(kind.lstrip("bf"))
    bits = [float_bits(n, 32) >> 16 if kind == "bf16" else float_bits(n, width) for n in numbers]
    with make_context():
        given, element = attribute(kind, [f"{n:.3e}" for n in numbers])
        repeats = 1 if count > 1 else 5
        assert dense_values(given, element, count * repeats) == numbers * repeats
        assert dense_words(given, element, count * repeats) == bits * repeats


def test_what_is_not_a_number_keeps_its_bits():
    with make_context():
        given, element = attribute("f32", ["0x7FC00001", "0xFF800000", "-0.0", "1.0e-45"])
        assert dense_words(given, element, 4) == [0x7FC00001, 0xFF800000, 0x80000000, 1]
        assert dense_values(given, element, 4)[1] == float("-inf")
    assert float_of(float_bits(-1.5, 16), 16) == -1.5


def test_other_attributes_are_refused():
    with make_context(), pytest.raises(ValueError, match='not a dense attribute: "text"'):
        dense_values(ir.StringAttr.get("text"), ir.Type.parse("i8"), 1)


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_every_finite_number_of_16_bits_keeps_its_bits(kind: str):
    """MLIR writes as many digits as the format needs, so the text may lie below the number."""
    bf16 = kind == "bf16"
    exponent = 0x7F80 if bf16 else 0x7C00
    words = [w for w in range(1 << 16) if w & exponent != exponent]
    size = 64  # written as numbers
    with make_context(), ir.Location.unknown():
        for start in range(0, len(words), size):
            part = words[start : start + size]
            numbers = [float_of(w << 16, 32) if bf16 else float_of(w, 16) for w in part]
            given, element = attribute(kind, [f"{n:.24e}" for n in numbers])
            assert dense_words(given, element, size) == part
            single = ir.FloatAttr.get(element, numbers[1])
            assert constant_bits(single) == part[1], single
