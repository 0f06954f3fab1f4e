"""CRC-32: the checksum of Ethernet and zip, four bytes a cycle without a table in memory.

The message is a polynomial over one bit, and the checksum is its remainder by a polynomial of degree
32. The remainder is linear: what 32 bits of the message leave behind is the XOR of what each of them
that is one leaves behind alone, and these 32 remainders are constants.

Hardware: a register of 32 bits with the remainder. The next four bytes are XORed to it, every one bit of
the sum selects its constant, and a tree of XORs five levels deep adds the constants up.

Interval: nothing holds it up. The next remainder needs the last one, but the tree fits in one cycle;
eight or 32 single steps of a shift register, each waiting for the last, would not.

Source: W. W. Peterson and D. T. Brown, Cyclic Codes for Error Detection, Proceedings of the IRE, 1961;
IEEE 802.3, clause 3.2.9.

Used in: Ethernet, SATA, zip, PNG
"""

from __future__ import annotations

import zlib

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint8, uint32

N, BYTES, BITS = 256, 4, 32
POLYNOMIAL = 0xEDB88320


def left_behind(rest: int) -> int:
    """The remainder after 32 more bits that are all zero."""
    for _ in range(BITS):
        rest = rest >> 1 ^ (POLYNOMIAL if rest & 1 else 0)
    return rest


remainders = np.array([left_behind(1 << k) for k in range(BITS)], np.uint32)


def crc32(message: uint8[N]) -> uint32:
    """The CRC-32 of a message of ``N`` bytes, as zlib and IEEE 802.3 have it."""
    alone: uint32[BITS] = remainders
    rest: uint32 = 0xFFFFFFFF
    for n in range(N // BYTES):
        for b in range(BYTES):
            rest[8 * b : 8 * b + 8] = rest[8 * b : 8 * b + 8] ^ message[BYTES * n + b]
        part: uint32[BITS]
        for k in range(BITS):
            part[k] = alone[k] if rest[k] else 0
        with allo.meta_for(5) as level:
            for to in range(BITS >> (level + 1)):
                part[to] ^= part[to + (BITS >> (level + 1))]
        rest = part[0]
    return ~rest


def schedule() -> Schedule:
    """Four bytes a cycle, from four banks."""
    s = allo.customize(crc32)
    s.pipeline("n")
    s.partition(s.alone)
    s.partition(s.part)
    s.partition(s.message, partition_type=allo.Partition.Cyclic, dim=1, factor=BYTES)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random message."""
    return (rng.integers(0, 256, N, np.uint8),)


def reference(message: np.ndarray) -> int:
    """zlib's."""
    return zlib.crc32(message.tobytes())
