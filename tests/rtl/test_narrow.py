"""Constants fold, products by constants are sums, operations have the bits that count."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.operators.library import OperatorLibrary
from allo.backend.rtl.operators.netlist import evaluate
from allo.dialects.sums.digits import signed_digits
from allo.ir.types import int32

from .differential import bits, compare, function

ENGINES = pytest.mark.parametrize("simulator", ["jit", "verilator"])
TAPS = np.array([3, -5, 7, 0, 100, -77, 9, 1], np.int32)


def three(x: int32[16], o: int32[16]):
    for i in range(16):
        o[i] = 3 * x[i]


def negative(x: int32[16], o: int32[16]):
    for i in range(16):
        o[i] = x[i] * -5 - 7 * x[i]


def masked(x: int32[16], o: int32[16]):
    for i in range(16):
        o[i] = (x[i] & 255) * (x[i] >> 24)


def square(x: int32[16], o: int32[16]):
    for i in range(16):
        o[i] = x[i] * x[i]


def by_index(x: int32[16], o: int32[16]):
    for i in range(16):
        y: int32 = i * i * 3
        o[i] = x[i] + y


def fir(x: int32[16], o: int32[16]):
    taps: int32[8] = TAPS
    for i in range(9):
        s: int32 = 0
        for k in range(8):
            s += taps[k] * x[i + k]
        o[i] = s


# Kernel, units of the report, most multiplier blocks; before, fir had 2 units and 8 blocks.
CASES: dict[str, tuple[Any, dict[str, int], int]] = {
    "three": (three, {}, 0),
    "negative": (negative, {}, 0),
    "masked": (masked, {}, 1),
    "square": (square, {}, 3),
    "by_index": (by_index, {}, 1),
    "fir": (fir, {}, 0),
}


@ENGINES
@pytest.mark.parametrize("name", CASES)
def test_products_take_what_their_values_need(name: str, simulator: str) -> None:
    kernel, units, blocks = CASES[name]
    s = allo.customize(kernel)
    s.pipeline("i")
    module = s.build(target="verilog", simulator=simulator)
    x = np.random.default_rng(3).integers(-(1 << 31), 1 << 31, 16).astype(np.int32)
    ours, theirs = np.zeros(16, np.int32), np.zeros(16, np.int32)
    module(x, ours)
    s.build()(x, theirs)
    assert bits(ours) == bits(theirs)
    assert theirs.any()
    assert module.cycles == module.report.cycles
    assert module.report.functions[-1].operators == units
    assert module.report.resources.get("dsp", 0) <= blocks


def test_a_table_read_at_known_places_is_no_memory() -> None:
    s = allo.customize(fir)
    s.pipeline("i")
    text = str(s.build(target="systemverilog"))
    assert "taps" not in text
    assert not re.search(r"\w \* ", text)


def outside(x: int32[4], o: int32[4]):
    taps: int32[4] = TAPS[:4]
    for i in range(4):
        for k in range(8):
            if k < 4:
                o[i] = o[i] + taps[k] * x[k]


def test_what_is_never_read_is_no_word_of_a_table() -> None:
    s = allo.customize(outside)
    s.pipeline("i")
    x, ours = np.arange(4, dtype=np.int32) + 5, np.zeros(4, np.int32)
    s.build(target="verilog", simulator="jit")(x, ours)
    np.testing.assert_array_equal(ours, np.full(4, (TAPS[:4] * x).sum()))


def strided(x: int32[4000], n: int32, o: int32[6, 16]):
    for i in range(16):
        o[0, i] = x[3 * i + n * 5]
        o[1, i] = x[7 * n + 100 - 6 * i]
        o[2, i] = x[23 * i + 1]
        o[3, i] = x[2000 - 15 * n]
        o[4, i] = x[170 * i + n]
        o[5, i] = x[i * 119 + 1023 - 9 * n]


@ENGINES
def test_strides_are_shifted_copies(simulator: str) -> None:
    s = allo.customize(strided)
    s.pipeline("i")
    module = s.build(target="verilog", simulator=simulator)
    x = np.random.default_rng(4).integers(-(1 << 31), 1 << 31, 4000).astype(np.int32)
    for n in (0, 1, 9, 100):
        ours, theirs = np.zeros((6, 16), np.int32), np.zeros((6, 16), np.int32)
        module(x, n, ours)
        s.build()(x, n, theirs)
        assert bits(ours) == bits(theirs)
        assert module.cycles == module.report.cycles
    assert not re.search(r"\w \* ", re.sub(r"//.*", "", str(module)))


@pytest.mark.parametrize("value", [0, 1, -1, 3, -5, 7, 85, 0x7FFFFFFF, -0x80000000, 123456789])
def test_digits_of_a_constant(value: int) -> None:
    digits = signed_digits(value)
    assert sum(digit << place for place, digit in digits) == value
    places = [place for place, _ in digits]
    assert all(b - a > 1 for a, b in zip(places, places[1:], strict=False))
    assert {digit for _, digit in digits} <= {1, -1}


@pytest.mark.parametrize("device", ["xcup", "xc7", "ecp5", "generic"])
@pytest.mark.parametrize("extended", [None, ("s", 7), ("u", 7)])
def test_products_by_all_small_constants(device: str, extended: tuple[str, int] | None) -> None:
    """All constants of eight bits, with operands whose extension is known, at a slow and a fast clock."""
    rng = np.random.default_rng(1)
    for clock in (100.0, 600.0):
        library = OperatorLibrary(device, clock)
        for constant in range(256):
            attributes: dict[str, Any] = {"constants": (None, constant)}
            if extended is not None:
                attributes["extended"] = (extended, None)
            operator = library.find("arith.muli", ("i8", "i8"), "i8", attributes)
            for value in (0, 1, 255, 128, *rng.integers(0, 256, 4).tolist()):
                value = int(value)
                if extended is not None:
                    value &= 127
                    value |= 128 if extended[0] == "s" and value >> 6 else 0
                want = value * constant & 255
                assert evaluate(operator.netlist, {"a": value, "b": constant}) == want


def test_a_dense_constant_keeps_its_multiplier() -> None:
    library = OperatorLibrary("xcup", 200.0)

    def blocks(constant: int) -> int:
        attributes = {"constants": (None, constant)}
        return library.find("arith.muli", ("i32", "i32"), "i32", attributes).resources.dsp

    assert [blocks(c) for c in (3, 5, 0x00FF00FF)] == [0, 0, 0]
    assert blocks(0x55555555) > 0


def _program(rng: np.random.Generator) -> str:
    """Products, sums and differences of masked, shifted and constant words, cut to a few bits."""
    width = int(rng.choice([7, 16, 32, 33, 64, 90, 130]))
    kind, lines = f"i{width}", ["affine.for %i = 0 to 8 {"]
    values: list[str] = []

    def new(text: str) -> str:
        values.append(f"%v{len(lines)}")
        lines.append(f"%v{len(lines)} = {text}")
        return values[-1]

    def const() -> str:
        value = int.from_bytes(rng.bytes(17), "little") % (1 << int(rng.integers(1, width + 1)))
        lines.append(
            f"%v{len(lines)} = arith.constant {value - (value >> (width - 1) << width)} : {kind}"
        )
        return f"%v{len(lines) - 1}"

    for j in range(3):
        lines.append(f"%w{j} = affine.load %in[%i, {j}] : memref<8x3xi64>")
        if width == 64:
            values.append(f"%w{j}")
        elif width < 64:
            new(f"arith.trunci %w{j} : i64 to {kind}")
        else:
            new(f"arith.{rng.choice(['extsi', 'extui'])} %w{j} : i64 to {kind}")
    for _ in range(10):
        x, y = (str(rng.choice(values[-5:])) for _ in range(2))
        match int(rng.integers(0, 6)):
            case 0:
                new(f"arith.andi {x}, {const()} : {kind}")
            case 1:
                by = int(rng.integers(0, width))
                lines.append(f"%v{len(lines)} = arith.constant {by} : {kind}")
                op = rng.choice(["shrui", "shrsi", "shli"])
                new(f"arith.{op} {x}, %v{len(lines) - 1} : {kind}")
            case 2:
                new(f"arith.muli {x}, {const()} : {kind}")
            case 3:
                names = ["maxui", "minsi", "remui"] if width < 34 else ["maxui", "minsi"]
                new(f"arith.{rng.choice(names)} {x}, {const()} : {kind}")
            case _:
                new(f"arith.{rng.choice(['muli', 'addi', 'subi', 'muli'])} {x}, {y} : {kind}")
    for position, value in enumerate(values[-4:]):
        size = int(rng.integers(1, min(width, 64) + 1))
        word = f"%o{position}"
        if size < width:
            lines.append(f"{word}c = arith.trunci {value} : {kind} to i{size}")
            value = f"{word}c"
        if size < 64:
            lines.append(
                f"{word} = arith.{rng.choice(['extsi', 'extui'])} {value} : i{size} to i64"
            )
            value = word
        lines.append(f"affine.store {value}, %out[%i, {position}] : memref<8x4xi64>")
    lines += ['} {loop_name = "i", op_name = "S_i_0", pipeline_ii = 1 : ui32}', "return"]
    arguments = {"in": ("memref<8x3xi64>", "ui64"), "out": ("memref<8x4xi64>", "ui64")}
    return function("\n".join(lines), arguments)


@pytest.mark.parametrize("seed", range(16))
def test_random_words(seed: int) -> None:
    compare(_program(np.random.default_rng(seed)), "f", runs=2, seed=seed)


def test_random_words_in_verilator() -> None:
    compare(_program(np.random.default_rng(100)), "f", runs=4, simulator="verilator")
