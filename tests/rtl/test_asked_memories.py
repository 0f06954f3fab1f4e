"""``T[…] @ allo.Memory(resource=…)`` says what a memory of the hardware is made of."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.ir.types import int32

pytestmark = pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")


def kept(A: int32[300], B: int32[300]):
    ultra: int32[300] @ allo.Memory(resource="URAM")
    block: int32[20] @ allo.Memory(resource="BRAM")
    tables: int32[300] @ allo.Memory(resource="LUTRAM")
    free: int32[300]
    for i in range(300):
        ultra[i] = A[i]
        tables[i] = A[i] + 1
        free[i] = A[i] ^ 5
        if i < 20:
            block[i] = A[i]
    for j in range(300):
        B[j] = ultra[299 - j] + tables[j] + free[j]
    for k in range(20):
        B[k] += block[k]


def built(device: str) -> allo.backend.sim.RTLModule:
    s = allo.customize(kept)
    for loop in ("i", "j", "k"):
        s.pipeline(loop)
    return s.build(target="verilog", device=device, simulator="jit")


def styles(mod: allo.backend.sim.RTLModule) -> dict[str, str]:
    """What each memory asks the synthesiser for, by the name of its array."""
    found = re.findall(r'\(\* .*ram_style = "(\w+)" \*\)\s*reg +\[\d+:0\] +(\w+?)_ram\b', str(mod))
    return {name: style for style, name in found}


def test_memories_are_of_the_kind_that_is_asked_for() -> None:
    mod = built("xcup")
    assert styles(mod) == {"ultra": "ultra", "block": "block", "tables": "distributed"}
    taken = mod.report.resources
    # Of the two of 300 words, tables are asked for one; the other is chosen by its size.
    assert (taken["uram"], taken["bram"]) == (1, 2)
    assert taken["lutram"] > 0
    rng = np.random.default_rng(4)
    A = rng.integers(-(2**31), 2**31, 300, dtype=np.int32)
    B, expected = np.zeros(300, np.int32), np.zeros(300, np.int32)
    mod(A, B)
    built_for_cpu = allo.customize(kept).build()
    built_for_cpu(A, expected)
    np.testing.assert_array_equal(B, expected)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(B[20:], (A[::-1] + (A + 1) + (A ^ 5))[20:])


def test_a_device_without_such_blocks_says_so() -> None:
    mod = built("ecp5")
    assert styles(mod) == {"block": "block", "tables": "distributed"}
    (note,) = [note for note in mod.report.notes if "asks for" in note]
    assert re.fullmatch(
        r'ultra \(.*test_asked_memories\.py:\d+:5\) asks for Memory\(resource="URAM"\), which has no '
        r"effect: ecp5 has no blocks of 288 kbit\.",
        note,
    )
    assert "uram" not in mod.report.resources


def shift(A: int32[64], B: int32[64]):
    t: int32[64] @ allo.Memory(resource="SRL")
    for i in range(64):
        t[i] = A[i]
    for j in range(64):
        B[j] = t[j]


def two_reads(A: int32[64], B: int32[64]):
    t: int32[64] @ allo.Memory(resource="URAM")
    for i in range(64):
        t[i] = A[i]
    for j in range(64):
        B[j] = t[j] + t[63 - j]


def two_writes(A: int32[64], B: int32[64]):
    t: int32[64] @ allo.Memory(resource="LUTRAM")
    for i in range(32):
        t[i] = A[i]
        t[63 - i] = A[63 - i]
    for j in range(64):
        B[j] = t[j]


def registers(A: int32[64], B: int32[64]):
    t: int32[1] @ allo.Memory(resource="BRAM")
    for i in range(64):
        t[0] = A[i]
        B[i] = t[0]


def table(A: int32[64], B: int32[64]):
    t: int32[4] @ allo.Memory(resource="BRAM") = [1, 2, 3, 4]
    for i in range(64):
        B[i] = A[i] + t[i % 4]


@pytest.mark.parametrize(
    ("kernel", "resource", "reason"),
    [
        (shift, "SRL", "an array is written at any address, and a shift register only at its end"),
        (two_reads, "URAM", "it needs more than one port to read and one to write"),
        (two_writes, "LUTRAM", "two of its ports write, and lookup tables have one that does"),
        (registers, "BRAM", "each of its banks is one word, a register"),
        (table, "BRAM", "it is a constant table, whose memory the synthesiser chooses"),
    ],
)
def test_a_note_says_why_a_memory_is_of_no_such_kind(kernel, resource, reason) -> None:
    s = allo.customize(kernel)
    for loop in ("i",) if kernel in (registers, table) else ("i", "j"):
        s.pipeline(loop)
    mod = s.build(target="verilog", device="xcup", simulator="jit")
    assert not styles(mod)
    (note,) = [note for note in mod.report.notes if "asks for" in note]
    assert note.endswith(f'Memory(resource="{resource}"), which has no effect: {reason}.')
    A = np.arange(64, dtype=np.int32)
    B, expected = np.zeros(64, np.int32), np.zeros(64, np.int32)
    mod(A, B)
    allo.customize(kernel).build()(A, expected)
    np.testing.assert_array_equal(B, expected)


def stages(A: int32[4, 64], B: int32[4, 64]):
    for t in range(4):
        m: int32[64] @ allo.Memory(resource="LUTRAM")
        for i in range(64):
            m[i] = A[t, i] * 2
        for j in range(64):
            B[t, j] = m[63 - j]


def test_the_two_copies_of_tasks_are_of_the_kind_too() -> None:
    s = allo.customize(stages)
    s.pipeline("i")
    s.pipeline("j")
    s.dataflow(s.get_loops("stages")["S_t_0"]["t"])
    mod = s.build(target="verilog", device="xcup", simulator="jit")
    assert styles(mod) == {"m": "distributed"}
    assert mod.report.resources["lutram"] > 0
    A = np.arange(256, dtype=np.int32).reshape(4, 64)
    B = np.zeros_like(A)
    mod(A, B)
    np.testing.assert_array_equal(B, 2 * A[:, ::-1])
