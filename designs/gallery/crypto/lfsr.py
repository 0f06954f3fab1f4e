"""LFSR: the pseudo-random bits of PRBS-31, sixteen a cycle.

A linear feedback shift register makes the next bit of its sequence as the XOR of the bits 28 and 31
places back. As both lie further back than 16, the next sixteen bits are one XOR of two fields of the
state. From any state but zero the sequence repeats after 2^31 - 1 bits.

Hardware: a register of 31 bits and 16 XOR gates.

Interval: nothing holds it up; the state of the next cycle is one gate away.

Source: S. W. Golomb, Shift Register Sequences, 1967; the polynomial x^31 + x^28 + 1 is that of ITU-T
O.150.

Used in: tests of serial links, scramblers, built-in self test
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import UInt, uint16, uint32

N, BITS = 256, 16
LONG, SHORT = 31, 28
State = UInt(LONG)


def lfsr(seed: uint32) -> uint16[N]:
    """The next ``N`` words of PRBS-31, the first bit of a word its highest.

    ``seed`` holds the last 31 bits of the sequence, the newest lowest, and is not zero.
    """
    words: uint16[N]
    state: State = seed
    for n in range(N):
        word: uint16 = (state >> (LONG - BITS)) ^ (state >> (SHORT - BITS))
        state = (state << BITS) | word
        words[n] = word
    return words


def schedule() -> Schedule:
    """A word a cycle."""
    s = allo.customize(lfsr)
    s.pipeline("n")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.uint32]:
    """A random state that is not zero."""
    return (np.uint32(rng.integers(1, 2**LONG)),)


def reference(seed: int) -> np.ndarray:
    """Bit by bit; the first bit of a word is its highest."""
    bits = [int(seed) >> (LONG - 1 - k) & 1 for k in range(LONG)]
    for _ in range(N * BITS):
        bits.append(bits[-LONG] ^ bits[-SHORT])
    made = np.array(bits[LONG:], np.uint32).reshape(N, BITS)
    return (made << np.arange(BITS - 1, -1, -1)).sum(axis=1).astype(np.uint16)
