"""What the host does in a run: the registers it writes, the start, the wait, and what it reads back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from allo.backend.rtl.interfaces.board import (
    CONTROL,
    ENABLE,
    GLOBAL_ENABLE,
    STATUS,
    Board,
    Register,
)

ALL_BYTES = 0xF


class Action(IntEnum):
    """The actions of a host's script, numbered as in ``cpp/host.hpp``."""

    WRITE = 0
    READ = 1
    START = 2
    WAIT = 3
    POLL = 4


@dataclass(slots=True)
class Script:
    """A host's script.

    Attributes:
        steps: rows of action, address, data and strobes.
        expected: what the reads must find, with the mask that counts, or None; in order.
        results: the first of the reads that hold a register's words, by name.
    """

    steps: list[tuple[int, int, int, int]] = field(default_factory=list)
    expected: list[tuple[int, int, str] | None] = field(default_factory=list)
    results: dict[str, tuple[int, int]] = field(default_factory=dict)

    def write(self, address: int, data: int, strobes: int = ALL_BYTES) -> None:
        """Write a word, or some bytes of it."""
        self.steps.append((Action.WRITE, address, data, strobes))

    def write_by_bytes(self, address: int, data: int) -> None:
        """Write a word in three parts: the opposite of all, then every other byte, then the rest."""
        opposite = data ^ 0xFFFFFFFF
        self.write(address, opposite)
        self.write(address, data & 0x00FF00FF | opposite & 0xFF00FF00, 0b0101)
        self.write(address, data & 0xFF00FF00 | opposite & 0x00FF00FF, 0b1010)

    def read(self, address: int, expected: tuple[int, int, str] | None = None) -> None:
        """Read a word; ``expected`` is a value, the bits that count, and what the word is."""
        self.steps.append((Action.READ, address, 0, 0))
        self.expected.append(expected)

    def rows(self) -> np.ndarray:
        """The steps as the models take them."""
        return np.array(self.steps, np.uint64).reshape(-1, 4)


def run_script(board: Board, values: Mapping[str, int], *, interrupts: bool, check: bool) -> Script:
    """The script of one run; an empty one where runs are started by ports.

    Args:
        values: of scalars and addresses, by register.
        interrupts: whether the host waits for the interrupt, else it polls.
        check: whether it reads back what it writes.
    """
    script = Script()
    if board.registers is None:
        return script
    done, idle, ready = 0b0010, 0b0100, 0b1000
    registers = board.registers
    if check:
        script.read(CONTROL, (idle, 0xF, "the control register before a run"))
    for register in registers:
        if register.written:
            for word, value in _words(register, values[register.name]):
                (script.write_by_bytes if check else script.write)(word, value)
    if check:
        for register in registers:
            if register.written:
                for word, value in _words(register, values[register.name]):
                    script.read(word, (value, 0xFFFFFFFF, f"register {register.name}"))
    if interrupts:
        script.write(GLOBAL_ENABLE, 1)
        script.write(ENABLE, 1)
    script.steps.append((Action.START, CONTROL, 1, ALL_BYTES))
    if interrupts:
        script.steps.append((Action.WAIT, 0, 0, 0))
        script.read(STATUS, (1, 3, "the interrupt's status"))
        script.write(STATUS, 1)
        script.read(STATUS, (0, 3, "the interrupt's status once it was toggled"))
        finished = done | idle | ready
        script.read(CONTROL, (finished, 0x20F, "the control register after a run"))
        script.write(GLOBAL_ENABLE, 0)
        script.write(ENABLE, 0)
    else:
        script.steps.append((Action.POLL, CONTROL, 0, 0))
    if check:
        script.read(CONTROL, (idle, 0x20F, "the control register once it was read"))
    for register in registers:
        if not register.written:
            script.results[register.name] = (len(script.expected), register.words)
            for number in range(register.words):
                script.read(register.offset + 4 * number)
    return script


def _words(register: Register, value: int) -> list[tuple[int, int]]:
    """Offsets and contents of the words of a register."""
    kept = value & ((1 << register.width) - 1)
    return [(register.offset + 4 * n, kept >> (32 * n) & 0xFFFFFFFF) for n in range(register.words)]
