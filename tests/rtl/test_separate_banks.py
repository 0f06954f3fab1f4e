"""Banks of which no port reads a word, for use, in the cycle in which the other port writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.emit.builder import ModuleBuilder
from allo.backend.rtl.emit.memory import memories
from allo.backend.rtl.emit.memory.ram import RamPort, ram_bank
from allo.backend.rtl.graph.linear import bits_unsigned
from allo.backend.rtl.graph.nodes import Array
from allo.ir.types import int32

N = 32


def swap(x: int32[N], y: int32[N]):
    held: int32[N]
    for i in range(N):
        held[i] = x[i]
    for i in range(N // 2):
        a: int32 = held[i]
        b: int32 = held[N - 1 - i]
        held[i] = b
        held[N - 1 - i] = a
    for i in range(N):
        y[i] = held[i]


def replaced(x: int32[N], y: int32[N]):
    held: int32[N]
    for i in range(N):
        held[i] = x[i]
    for i in range(N):
        y[i] = held[i]
        held[i] = i
    for i in range(N):
        x[i] = held[i]


def counted(x: int32[N], y: int32[N]):
    held: int32[N] = 0
    for k in range(N):
        held[x[k] & 7] += x[k]
    for i in range(N):
        y[i] = held[i]


def shifted(x: int32[N], y: int32[N]):
    held: int32[N + 1] = 0
    for k in range(N):
        held[k] = x[k] ^ held[k + 1]
    for i in range(N):
        y[i] = held[i]


def drained(x: int32[N], y: int32[N]):
    held: int32[N] = 0
    for k in range(N):
        held[k] = x[k] * x[k] * x[k]
    for m in range(N):
        y[m] = x[m]
    for i in range(N):
        y[i] += held[i]


def moved(a: int32[N], b: int32[N]):
    for i in range(N // 2):
        b[2 * i] = a[i]
        b[2 * i + 1] = a[i + N // 2]


def called(x: int32[N], y: int32[N]):
    held: int32[N]
    other: int32[N]
    for i in range(N):
        held[i] = x[i]
    moved(held, other)
    moved(other, held)
    for i in range(N):
        y[i] = held[i]


def onto_itself(x: int32[N], y: int32[N]):
    held: int32[N]
    for i in range(N):
        held[i] = x[i]
    moved(held, held)
    for i in range(N):
        y[i] = held[i]


CASES: list[tuple[Callable[..., Any], tuple[str, ...], int]] = [
    (swap, (), 1),
    (replaced, (), 0),
    (counted, ("k",), 1),
    (shifted, ("k",), 0),
    (called, (), 2),
    (onto_itself, (), 1),
]
"""Kernels, the loops pipelined, and how many memories are separate."""


def built(kernel: Callable[..., Any], loops: tuple[str, ...], device: str = "ecp5") -> Any:
    s = allo.customize(kernel)
    for loop in loops:
        s.pipeline(loop)
    return s.build(target="verilog", simulator="jit", device=device, clock_mhz=80)


def spoilt(
    text: ModuleBuilder, array: Array, memory: str, ports: list[RamPort], separate: bool = False
) -> None:
    """A bank of which a separate one gives wrong words where a read meets a write of the other port."""
    made, wrong = [], []
    for port in ports:
        meets = [
            text.all_of(
                other.enable,
                text.compare("eq", port.address, other.address, bits_unsigned(array.depth - 1)),
            )
            for other in ports
            if other is not port and other.enable and port.data and separate
        ]
        if meets:
            word = text.fresh()
            wrong.append((port.data, word, meets[0]))
            port = replace(port, data=word)
        made.append(port)
    ram_bank(text, array, memory, made, separate)
    ones = text.const((1 << array.width) - 1, array.width)
    for name, word, meets in wrong:
        met = text.register(text.named("met"), meets, 1)
        other = text.binary("xor", word, ones, array.width)
        text.alias(name, text.mux(met, other, word, array.width), array.width)


@pytest.mark.parametrize(
    ("kernel", "loops", "separate"), CASES, ids=lambda v: getattr(v, "__name__", None)
)
def test_no_used_word_is_read_where_the_other_port_writes(kernel, loops, separate, monkeypatch):
    """Words that are wrong there change no result."""
    monkeypatch.setattr(memories, "ram_bank", spoilt)
    hardware = built(kernel, loops)
    rng = np.random.default_rng(7)
    x = rng.integers(-(2**31), 2**31, N, np.int32)
    ours, theirs = [x.copy(), np.zeros(N, np.int32)], [x.copy(), np.zeros(N, np.int32)]
    hardware(*ours)
    allo.customize(kernel).build()(*theirs)
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got, want)
    assert str(hardware).count("(* no_rw_check *)") == separate


def test_a_bank_beside_a_body_that_runs_on_is_not_separate():
    """The products of the first loop are stored while the second one goes on."""
    assert "no_rw_check" not in str(built(drained, ("k", "m")))


def test_two_ports_that_read_and_write_are_block_ram_on_ecp5():
    """Where it has to keep the old word, Yosys makes flip-flops of them: 1,024 here."""
    hardware = built(swap, ())
    found, estimate = hardware.synthesize().resources, hardware.report.resources
    assert found["bram"] == estimate["bram"] == 2
    assert found["ff"] < 100
