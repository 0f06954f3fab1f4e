"""A processor-like loop: fetch, decode and execute in a ``while``, and the cycles of an instruction."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import UInt, int32, uint32


def processor(imem: uint32[64], dmem: int32[64]) -> int32:
    reg: int32[8] = 0
    pc: UInt(6) = 0
    halted: UInt(1) = 0
    count: int32 = 0
    while halted == 0:
        word: uint32 = imem[pc]
        op: UInt(4) = word[28:32]
        rd: UInt(3) = word[24:27]
        ra: UInt(3) = word[20:23]
        rb: UInt(3) = word[16:19]
        imm: int32 = word[0:8]
        following: UInt(6) = pc + 1
        a: int32 = reg[ra]
        b: int32 = reg[rb]
        if op == 0:
            halted = 1
        elif op == 1:
            reg[rd] = a + b
        elif op == 2:
            reg[rd] = a + imm
        elif op == 3:
            reg[rd] = dmem[a + imm]
        elif op == 4:
            dmem[a + imm] = b
        elif op == 5:
            if a < b:
                following = imm
        pc = following
        count += 1
    return count


def word(op, rd=0, ra=0, rb=0, imm=0):
    return op << 28 | rd << 24 | ra << 20 | rb << 16 | imm


SUMS = [
    word(2, rd=2, imm=40),
    word(3, rd=3, ra=1),
    word(1, rd=4, ra=4, rb=3),
    word(4, ra=1, rb=4),
    word(2, rd=1, ra=1, imm=1),
    word(5, ra=1, rb=2, imm=1),
    word(0),
]
EXECUTED = 1 + 40 * 5 + 1


def memories():
    imem = np.zeros(64, np.uint32)
    imem[: len(SUMS)] = SUMS
    return imem, np.arange(64, dtype=np.int32)


@pytest.mark.parametrize("target", ["llvm", "oracle", "vhls"])
def test_prefix_sums_on_the_processor(target):
    s = allo.customize(processor)
    mod = allo.interpret(processor) if target == "oracle" else s.build(target)
    imem, dmem = memories()
    assert mod(imem, dmem) == EXECUTED
    np.testing.assert_array_equal(dmem[:40], np.cumsum(np.arange(40)))
    np.testing.assert_array_equal(dmem[40:], np.arange(40, 64))


def test_an_instruction_takes_three_cycles_and_a_bit():
    mod = allo.customize(processor).build("verilog", simulator="jit")
    imem, dmem = memories()
    assert mod(imem, dmem) == EXECUTED
    np.testing.assert_array_equal(dmem[:40], np.cumsum(np.arange(40)))
    assert mod.cycles <= 3.2 * EXECUTED
