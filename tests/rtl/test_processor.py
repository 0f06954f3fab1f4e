"""A processor: fetch, decode and execute in a while loop."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import int32, uint32
from tests.figures_plugin import Held

STOP, ADD, SUB, MUL, LOAD, STORE, JUMP, SET, LESS = range(9)


def run(code: uint32[256], data: int32[256]) -> int32:
    """Instructions of 8 bits each: operation, target, first and second register or a number."""
    regs: int32[16] = 0
    pc: int32 = 0
    running: int32 = 1
    steps: int32 = 0
    while running == 1:
        word: uint32 = code[pc]
        op: uint32 = word[24:32]
        to: uint32 = word[16:24]
        number: uint32 = word[0:8]
        a: int32 = regs[word[8:12]]
        b: int32 = regs[word[0:4]]
        pc += 1
        steps += 1
        if op == 0:
            running = 0
        elif op == 1:
            regs[to & 15] = a + b
        elif op == 2:
            regs[to & 15] = a - b
        elif op == 3:
            regs[to & 15] = a * b
        elif op == 4:
            regs[to & 15] = data[(a + number) & 255]
        elif op == 5:
            data[(a + number) & 255] = regs[to & 15]
        elif op == 6:
            if a != 0:
                pc = to
        elif op == 7:
            regs[to & 15] = number
        elif op == 8:
            if a < b:
                pc = to
    return steps


def assembled(*rows: tuple[int, int, int, int]) -> np.ndarray:
    words = [op << 24 | to << 16 | a << 8 | b for op, to, a, b in rows]
    return np.array(words + [0] * (256 - len(words)), np.uint32)


SUM_OF_SQUARES = assembled(
    (SET, 1, 0, 0),
    (SET, 2, 0, 20),
    (SET, 3, 0, 1),
    (SET, 5, 0, 0),
    (LOAD, 4, 1, 0),
    (MUL, 6, 4, 4),
    (ADD, 5, 5, 6),
    (STORE, 5, 1, 100),
    (ADD, 1, 1, 3),
    (LESS, 4, 1, 2),
    (SUB, 7, 5, 4),
    (STORE, 7, 0, 250),
    (STOP, 0, 0, 0),
)


@pytest.mark.parametrize("registers", ["one memory", "each its own"])
def test_an_instruction_takes_as_long_as_a_product_and_its_registers(registers: str, figures: Held):
    s = allo.customize(run)
    if registers == "each its own":
        s.partition("run:regs")
    module, cpu = s.build(target="verilog", simulator="jit"), s.build()
    loop = module.report.functions[-1].loops[-1]
    interval = loop.ii
    figures.hold(f"rtl.processor.{registers.replace(' ', '_')}.ii", interval)
    assert loop.pipelined
    assert loop.limit.startswith(f"II={interval}: regs line ")
    expected = np.random.default_rng(1).integers(-99, 99, 256).astype(np.int32)
    got = expected.copy()
    steps = cpu(SUM_OF_SQUARES, expected)
    assert module(SUM_OF_SQUARES, got) == steps == 4 + 20 * 6 + 3
    assert np.array_equal(expected, got)
    start = 16 if registers == "one memory" else 0
    assert module.cycles - start - interval * steps < 12
