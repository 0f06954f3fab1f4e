"""A design as functions over a block of state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class ArcModel:
    """A design as functions over a block of state.

    Attributes:
        text: functions in the llvm dialect.
        edge, settle: names of the functions of the state for a raised clock and for a low one;
            one and the same where the model could not be split. If it was, the former is one of a
            design that is not in reset.
        resets: byte offset, bits and reset value of registers, where the model was split.
        initial: name of the function that initialises the state, or "".
        size: bytes of state.
        ports: byte offset of each port of the top.
        aliases: for each output the one of equal value that is kept.
        registers: at which bit of the state each named register begins, and its bits.
        memories: byte offset, words, bits and bytes from word to word of each memory.
    """

    text: str
    edge: str
    settle: str
    initial: str
    size: int
    ports: dict[str, int]
    aliases: dict[str, str]
    registers: dict[str, tuple[int, int]]
    memories: list[tuple[int, int, int, int]]
    resets: list[tuple[int, int, int]]

    def registers_of(self, state: np.ndarray, only: str = "") -> dict[str, int]:
        """The value of every register, by hierarchical name, or of one only."""
        chosen = {only: self.registers[only]} if only in self.registers else {}
        return {
            name: int.from_bytes(state[at // 8 : -(-(at + bits) // 8)].tobytes(), "little")
            >> at % 8
            & ((1 << bits) - 1)
            for name, (at, bits) in (chosen if only else self.registers).items()
        }
