"""ChaCha20: one 64-byte block of the key stream in every cycle.

The cipher's state is 4 × 4 words: constants, key, counter, nonce. Ten double rounds mix first the
columns and then the diagonals by quarter rounds, which add, XOR and rotate. The sum of the mixed and the
first state is the key stream; the counter gives every block a state of its own.

Hardware: all 80 quarter rounds in a pipeline, 336 adders; rotations are wires. A block enters in every
cycle, which is 102 Gbit/s at 200 MHz.

Interval: nothing holds it up, because blocks do not depend on each other.

Source: D. J. Bernstein, ChaCha, a variant of Salsa20, 2008; RFC 8439.

Used in: TLS, WireGuard, disk encryption
"""

from __future__ import annotations

import struct

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32, uint32

BLOCKS, WORDS, DOUBLE_ROUNDS = 32, 16, 10

constants = np.frombuffer(b"expand 32-byte k", np.uint32)


def quarter(x: uint32[WORDS], a: int32, b: int32, c: int32, d: int32):
    """Mix the words ``a``, ``b``, ``c`` and ``d`` of the state ``x`` in place: RFC 8439, section 2.1."""
    x[a] += x[b]
    x[d] ^= x[a]
    x[d] = (x[d] << 16) | (x[d] >> 16)
    x[c] += x[d]
    x[b] ^= x[c]
    x[b] = (x[b] << 12) | (x[b] >> 20)
    x[a] += x[b]
    x[d] ^= x[a]
    x[d] = (x[d] << 8) | (x[d] >> 24)
    x[c] += x[d]
    x[b] ^= x[c]
    x[b] = (x[b] << 7) | (x[b] >> 25)


def chacha20(key: uint32[8], nonce: uint32[3], counter: uint32, stream: uint32[BLOCKS, WORDS]):
    """Write ``BLOCKS`` blocks of the key stream, the first one of number ``counter`` (RFC 8439, section 2.3).

    A word holds four bytes, the lowest first; ``counter + BLOCKS`` must fit in 32 bits.
    """
    magic: uint32[4] = constants
    first: uint32[WORDS]
    for k in range(4):
        first[k] = magic[k]
        first[k + 4] = key[k]
        first[k + 8] = key[k + 4]
    for n in range(3):
        first[n + 13] = nonce[n]
    for block in range(BLOCKS):
        x: uint32[WORDS]
        for i in range(WORDS):
            x[i] = first[i]
        count: uint32 = counter + block
        x[12] = count
        for _ in range(DOUBLE_ROUNDS):
            for column in range(4):
                quarter(x, column, column + 4, column + 8, column + 12)
            for diagonal in range(4):
                quarter(
                    x,
                    diagonal,
                    (diagonal + 1) % 4 + 4,
                    (diagonal + 2) % 4 + 8,
                    (diagonal + 3) % 4 + 12,
                )
        for j in range(WORDS):
            stream[block, j] = x[j] + (count if j == 12 else first[j])


def schedule() -> Schedule:
    """A block a cycle: every word of the state, and of a block, in a bank of its own."""
    s = allo.customize(chacha20)
    s.pipeline("block")
    s.partition(s.first)
    s.partition(s.x)
    s.partition(s.magic)
    s.partition(s.stream, dim=2)
    s.unroll("k")
    s.unroll("n")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray | np.uint32, ...]:
    """Random key, nonce and counter."""
    key, nonce = (rng.integers(0, 2**32, words, np.uint32) for words in (8, 3))
    counter = np.uint32(rng.integers(0, 2**32 - BLOCKS))
    return key, nonce, counter, np.zeros((BLOCKS, WORDS), np.uint32)


def reference(key: np.ndarray, nonce: np.ndarray, counter: int, stream: np.ndarray) -> None:
    """RFC 8439's pseudo-code on Python's integers."""
    for block in range(BLOCKS):
        head = struct.unpack("<4I", b"expand 32-byte k")
        state = [*head, *map(int, key), int(counter) + block, *map(int, nonce)]
        mixed = list(state)
        for _ in range(DOUBLE_ROUNDS):
            for shift in (0, 1):
                for i in range(4):
                    places = [4 * row + (i + shift * row) % 4 for row in range(4)]
                    mix(mixed, places)
        stream[block] = [(m + s) % 2**32 for m, s in zip(mixed, state, strict=True)]


def mix(state: list[int], places: list[int]) -> None:
    """A quarter round on four words: twice two steps, the rotations 16, 12, 8 and 7."""
    a, b, c, d = places
    for rotations in ((16, 12), (8, 7)):
        for to, by, turn, amount in ((a, b, d, rotations[0]), (c, d, b, rotations[1])):
            state[to] = (state[to] + state[by]) % 2**32
            word = state[turn] ^ state[to]
            state[turn] = (word << amount | word >> 32 - amount) % 2**32
