"""SHA-256: the hash of a padded message of four blocks, a round a cycle.

Each block of 16 words is stretched to 64 by a recurrence, and each of 64 rounds mixes one of them and a
constant into eight words of state. After a block its state is added to that of the block before.

Hardware: seven registers of state that shift, and a window of 16 words that shifts too, so that the word
of a round is computed from those two, seven, 15 and 16 rounds back. The round constants are a ROM.

Interval: nothing holds it up, as it is written. A round as the standard states it has four additions in
a row, which do not fit in a cycle. Here the first word of the state is kept as a difference to the fifth,
`rest`, and added in the next round; what does not depend on the last round, `early`, is added up before;
and so no more than three operations with carries follow one another from one round to the next.

Source: NIST FIPS 180-4, Secure Hash Standard.

Used in: TLS, signatures, secure boot
"""

from __future__ import annotations

import hashlib
from itertools import count, islice
from math import isqrt

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint32

BLOCKS, ROUNDS = 4, 64

primes = list(islice((n for n in count(2) if all(n % d for d in range(2, isqrt(n) + 1))), ROUNDS))


def cube_root(number: int) -> int:
    """The largest integer whose cube is not above ``number``."""
    root = 0
    for bit in range(number.bit_length() // 3, -1, -1):
        root += 1 << bit if (root + (1 << bit)) ** 3 <= number else 0
    return root


def fraction_bits(root: int) -> int:
    """The first 32 fraction bits of a root that was scaled by 2^32."""
    return root % 2**32


round_constants = np.array([fraction_bits(cube_root(p << 96)) for p in primes], np.uint32)
first_state = np.array([fraction_bits(isqrt(p << 64)) for p in primes[:8]], np.uint32)


def turn(x: uint32, by: uint32) -> uint32:
    """``x`` rotated right by ``by`` bits, from 1 to 31."""
    return (x >> by) | (x << (32 - by))


def sha256(message: uint32[BLOCKS, 16]) -> uint32[8]:
    """The hash of a padded message (FIPS 180-4, section 6.2), as eight words.

    A word holds four bytes, the highest first; the caller has padded the message to ``BLOCKS`` blocks.
    """
    constant: uint32[ROUNDS] = round_constants
    start: uint32[8] = first_state
    total: uint32[8]
    state: uint32[8]
    w: uint32[16]
    digest: uint32[8]
    for i in range(8):
        total[i] = start[i]
    for block in range(BLOCKS):
        for j in range(8):
            state[j] = total[j]
        rest: uint32 = total[0] - total[4]
        for t in range(ROUNDS):
            low: uint32 = turn(w[1], 7) ^ turn(w[1], 18) ^ (w[1] >> 3)
            high: uint32 = turn(w[14], 17) ^ turn(w[14], 19) ^ (w[14] >> 10)
            word: uint32 = (w[0] + w[9]) + (low + high)
            if t < 16:
                word = message[block, t % 16]
            for m in range(15):
                w[m] = w[m + 1]
            w[15] = word
            e: uint32 = state[4]
            a: uint32 = e + rest
            choice: uint32 = (e & state[5]) ^ (~e & state[6])
            majority: uint32 = (a & state[1]) ^ (a & state[2]) ^ (state[1] & state[2])
            early: uint32 = (state[3] + state[7]) + (constant[t] + word)
            late: uint32 = choice + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25))
            rest = majority - state[3] + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22))
            state[0] = a
            for s in range(7, 0, -1):
                state[s] = state[s - 1]
            state[4] = early + late
        state[0] = state[4] + rest
        for k in range(8):
            total[k] += state[k]
    for d in range(8):
        digest[d] = total[d]
    return digest


def schedule() -> Schedule:
    """Rounds overlap as far as the state allows; what is done to all words is done at once."""
    s = allo.customize(sha256)
    s.pipeline("t")
    for loop in ("i", "j", "k"):
        s.unroll(loop)
    s.pipeline("d")
    for array in (s.start, s.total, s.state, s.w):
        s.partition(array)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random message of 192 to 247 bytes, padded to four blocks with a one and its length in bits."""
    length = int(rng.integers(64 * BLOCKS - 64, 64 * BLOCKS - 8))
    text = rng.integers(0, 256, length, np.uint8).tobytes() + b"\x80"
    padded = text.ljust(64 * BLOCKS - 8, b"\0") + (8 * length).to_bytes(8, "big")
    return (np.frombuffer(padded, ">u4").astype(np.uint32).reshape(BLOCKS, 16),)


def reference(message: np.ndarray) -> np.ndarray:
    """hashlib's hash of the message without its padding."""
    padded = message.astype(">u4").tobytes()
    length = int.from_bytes(padded[-8:], "big") // 8
    return np.frombuffer(hashlib.sha256(padded[:length]).digest(), ">u4").astype(np.uint32)
