"""Bits at constant positions are wires: shifts, masks, words made and read slice by slice."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl import compile_design
from allo.ir.types import UInt, int8, int32

from .differential import compare, function

WIDTHS = (5, 8, 33, 64, 96)


def _program(rng: np.random.Generator, width: int) -> str:
    """Random shifts, masks, casts and disjunctions of two words, all at constant positions."""
    kind, lines, values = f"i{width}", [], ["%a", "%b"]

    def new(text: str, constant: int | None = None) -> str:
        name = f"%v{len(lines)}"
        lines.append(f"{name} = {text}")
        if constant is None:
            values.append(name)
        return name

    def const(value: int) -> str:
        name = f"%c{len(lines)}"
        value &= (1 << width) - 1
        lines.append(f"{name} = arith.constant {value - (value >> (width - 1) << width)} : {kind}")
        return name

    for _ in range(20):
        x, y = (str(rng.choice(values)) for _ in range(2))
        low = int(rng.integers(0, width))
        bits = int(rng.integers(1, width - low + 1))
        field = (1 << bits) - 1
        match int(rng.integers(0, 9)):
            case 7:
                holes = int.from_bytes(rng.bytes(16), "little")
                new(f"arith.{rng.choice(['andi', 'ori'])} {x}, {const(holes)} : {kind}")
            case 8:
                new(f"arith.{rng.choice(['andi', 'ori'])} {x}, {const(low)} : {kind}")
            case 0 | 1:
                op = str(rng.choice(["shli", "shrui", "shrsi"]))
                new(f"arith.{op} {x}, {const(low)} : {kind}")
            case 2:
                new(f"arith.andi {x}, {const(field << low)} : {kind}")
            case 3:
                new(f"arith.ori {x}, {y} : {kind}")
            case 4 if bits < width:
                part = new(f"arith.trunci {x} : {kind} to i{bits}", 0)
                new(f"arith.{rng.choice(['extui', 'extsi'])} {part} : i{bits} to {kind}")
            case _ if bits < width:
                hole = new(f"arith.andi {x}, {const(~(field << low))} : {kind}")
                part = new(f"arith.trunci {y} : {kind} to i{bits}", 0)
                wide = new(f"arith.extui {part} : i{bits} to {kind}")
                moved = new(f"arith.shli {wide}, {const(low)} : {kind}")
                new(f"arith.ori {hole}, {moved} : {kind}")
    return _function(lines, values, width)


def _function(lines: list[str], values: list[str], width: int) -> str:
    """A function of two words of at most 64 bits that stores the halves of all values."""
    narrow = min(width, 64)
    kind, port = f"i{width}", f"i{narrow}"
    ends = [("%a", "%in_a"), ("%b", "%in_b")]
    extend = (
        f"arith.extui {{}} : {port} to {kind}" if narrow < width else "arith.ori {0}, {0} : " + kind
    )
    lines = [f"{name} = {extend.format(given)}" for name, given in ends] + lines
    lines.append(f"%above = arith.constant {width - narrow} : {kind}")
    memory = f"memref<{len(values)}x2x{port}>"
    for position, value in enumerate(values):
        lines.append(f"%h{position} = arith.shrui {value}, %above : {kind}")
        for half, word in enumerate((value, f"%h{position}")):
            if narrow < width:
                lines.append(f"%o{position}_{half} = arith.trunci {word} : {kind} to {port}")
                word = f"%o{position}_{half}"
            lines.append(f"affine.store {word}, %out[{position}, {half}] : {memory}")
    lines.append("return")
    unsigned = f"ui{narrow}"
    words = {"in_a": (port, unsigned), "in_b": (port, unsigned)}
    return function("\n".join(lines), {**words, "out": (memory, unsigned)})


@pytest.mark.parametrize("width", WIDTHS)
def test_random_words(width: int) -> None:
    rng = np.random.default_rng(width)
    for seed in range(5):
        compare(_program(rng, width), "f", runs=2, seed=seed)


def test_random_words_in_verilator() -> None:
    compare(_program(np.random.default_rng(7), 96), "f", runs=4, simulator="verilator")


def linear[P](x: int8[16], w: UInt(8 * P)[16], o: UInt(32 * P)[16]):
    acc: int32[P] = 0
    for k in range(16):
        word: UInt(8 * P) = w[k]
        out: UInt(32 * P) = 0
        for p in range(P):
            weight: int8 = word[8 * p : 8 * p + 8]
            acc[p] += x[k] * weight
            out[32 * p : 32 * p + 32] = acc[p]
        o[k] = out


def _linear(lanes: int) -> Any:
    s = allo.customize(linear, instantiate=[lanes])
    s.partition(s.acc)
    s.unroll("p")
    s.pipeline("k")
    return s


def _words(rng: np.random.Generator, lanes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = rng.integers(-128, 128, (16, lanes), dtype=np.int8)
    x = rng.integers(-128, 128, 16, dtype=np.int8)
    words = [int.from_bytes(row.tobytes(), "little") for row in weights]
    sums = np.cumsum(x[:, None].astype(np.int32) * weights, axis=0, dtype=np.int32)
    expected = [int.from_bytes(row.tobytes(), "little") for row in sums]
    return x, np.array(words, object), np.array(expected, object)


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_word_of_sixteen_lanes_is_one_concatenation(simulator: str) -> None:
    s = _linear(16)
    module = s.build(target="verilog", simulator=simulator)
    x, words, expected = _words(np.random.default_rng(1), 16)
    out = np.zeros(16, object)
    module(x, words, out)
    np.testing.assert_array_equal(out, expected)
    assert module.cycles == module.report.cycles
    assert "|" not in re.sub(r"//.*|\|\|", "", str(module).split("o_0_p0_wdata =")[1])


def reverse(w: UInt(287)[4], o: UInt(287)[4]):
    for i in range(4):
        word: UInt(287) = w[i]
        out: UInt(287) = 0
        for p in range(41):
            out[7 * p : 7 * p + 7] = word[7 * (40 - p) : 7 * (40 - p) + 7]
        o[i] = out


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_slices_that_cross_the_words_of_a_machine(simulator: str) -> None:
    s = allo.customize(reverse)
    s.unroll("p")
    s.pipeline("i")
    module = s.build(target="verilog", simulator=simulator)
    rng = np.random.default_rng(8)
    digits = rng.integers(0, 128, (4, 41)).tolist()
    words = np.array([sum(d << 7 * k for k, d in enumerate(row)) for row in digits], object)
    out = np.zeros(4, object)
    module(words, out)
    expected = [sum(d << 7 * k for k, d in enumerate(reversed(row))) for row in digits]
    np.testing.assert_array_equal(out, np.array(expected, object))
    assert module.cycles == module.report.cycles


def ends(x: int32[4], o: UInt(16384)[4]):
    for i in range(4):
        out: UInt(16384) = 0
        out[0:32] = x[i]
        out[16352:16384] = x[i]
        o[i] = out


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_words_beyond_the_digits_python_prints(simulator: str) -> None:
    """The masks of 16,384 bits have over 4,300 decimal digits, more than Python turns into text."""
    module = allo.customize(ends).build(target="verilog", simulator=simulator)
    x = np.array([1, -1, 1 << 30, -(1 << 31)], np.int32)
    out = np.zeros(4, object)
    module(x, out)
    words = [int(value) for value in x.view(np.uint32)]
    np.testing.assert_array_equal(out, np.array([w | w << 16352 for w in words], object))
    assert module.cycles == module.report.cycles


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_text_grows_linearly_with_lanes() -> None:
    sizes = [len(str(_linear(lanes).build(target="systemverilog"))) for lanes in (32, 128)]
    assert sizes[1] < 4.2 * sizes[0]


def test_a_rotation_is_wires() -> None:
    text = function(
        """%c7 = arith.constant 7 : i32
        %c25 = arith.constant 25 : i32
        %h = arith.shli %a, %c7 : i32
        %l = arith.shrui %a, %c25 : i32
        %r = arith.ori %h, %l : i32
        return %r : i32""",
        {"a": ("i32", "ui32")},
        ("i32", "ui32"),
    )
    assert "{a_held[24:0], a_held[31:25]}" in compile_design(text, "f").verilog
    compare(text, "f", runs=4)
