"""MachSuite aes: AES-256 of one block in ECB mode, the key schedule computed on the way."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint8

SIZES = {"tiny": (), "full": ()}
ROUNDS = 14
POLYNOMIAL = 0x1B


def times_x(x: int) -> int:
    """x times the generator of the field of 256 elements."""
    return (x << 1 ^ (POLYNOMIAL if x & 0x80 else 0)) & 0xFF


def field_product(a: int, b: int) -> int:
    """The product of two elements of the field."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = times_x(a), b >> 1
    return product


def substitute(x: int) -> int:
    """The S-box: the inverse in the field (x to the power 254), then an affine map of its bits."""
    inverse = 1
    for _ in range(254):
        inverse = field_product(inverse, x)
    word = inverse * 0x101
    return (inverse ^ word >> 4 ^ word >> 5 ^ word >> 6 ^ word >> 7) & 0xFF ^ 0x63


sbox = np.array([substitute(x) for x in range(256)], np.uint8)


def xtime(x: uint8) -> uint8:
    """``x`` times the generator of the field."""
    y: uint8 = (x << 1) ^ (((x >> 7) & 1) * POLYNOMIAL)
    return y


def sub_bytes(buf: uint8[16]):
    """The S-box on every byte of the state."""
    table: uint8[256] = sbox
    for i in range(16, name="sub"):
        buf[i] = table[buf[i]]


def add_round_key(buf: uint8[16], key: uint8[16]):
    """The state XOR half of the key."""
    for i in range(16, name="add"):
        buf[i] ^= key[i]


def shift_rows(buf: uint8[16]):
    """Row r of the state turns left by r bytes; the state lies column by column."""
    for r in range(1, 4, name="rows"):
        row: uint8[4]
        for c in range(4):
            row[c] = buf[r + 4 * c]
        for d in range(4):
            buf[r + 4 * d] = row[(d + r) & 3]


def mix_columns(buf: uint8[16]):
    """Every column of the state times a fixed polynomial."""
    for i in range(0, 16, 4, name="mix"):
        a: uint8 = buf[i]
        b: uint8 = buf[i + 1]
        c: uint8 = buf[i + 2]
        d: uint8 = buf[i + 3]
        e: uint8 = a ^ b ^ c ^ d
        buf[i] ^= e ^ xtime(a ^ b)
        buf[i + 1] ^= e ^ xtime(b ^ c)
        buf[i + 2] ^= e ^ xtime(c ^ d)
        buf[i + 3] ^= e ^ xtime(d ^ a)


def expand_key(k: uint8[32], rc: uint8) -> uint8:
    """The next 32 bytes of the key schedule in place; returns the next round constant."""
    table: uint8[256] = sbox
    for h in range(4, name="head"):
        k[h] ^= table[k[28 + ((h + 1) & 3)]]
    k[0] ^= rc
    for i in range(4, 16, name="low"):
        k[i] ^= k[i - 4]
    for m in range(16, 20, name="middle"):
        k[m] ^= table[k[m - 4]]
    for j in range(20, 32, name="high"):
        k[j] ^= k[j - 4]
    return xtime(rc)


def encrypt_ecb(k: uint8[32], buf: uint8[16]):
    """Encrypts ``buf`` in place under the key ``k``."""
    key: uint8[32] = k
    rcon: uint8 = 1
    add_round_key(buf, key[0:16])
    for i in range(1, ROUNDS, name="rounds"):
        sub_bytes(buf)
        shift_rows(buf)
        mix_columns(buf)
        if i & 1 == 1:
            add_round_key(buf, key[16:32])
        else:
            rcon = expand_key(key, rcon)
            add_round_key(buf, key[0:16])
    sub_bytes(buf)
    shift_rows(buf)
    rcon = expand_key(key, rcon)
    add_round_key(buf, key[0:16])


def schedule(size: tuple[int, ...] = ()) -> Schedule:
    """Every loop over bytes is a pipeline."""
    s = allo.customize(encrypt_ecb)
    for loop in ("sub_bytes:i", "add_round_key:i", "mix_columns:i"):
        s.pipeline(loop)
    for loop in ("h", "i", "m", "j"):
        s.pipeline(f"expand_key:{loop}")
    s.unroll("shift_rows:c")
    s.unroll("shift_rows:d")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """A random key and a random block."""
    return rng.integers(0, 256, 32, np.uint8), rng.integers(0, 256, 16, np.uint8)


def round_keys(key: np.ndarray) -> np.ndarray:
    """The keys of all rounds, by FIPS 197's schedule of words."""
    words = [row.astype(int) for row in key.reshape(8, 4)]
    constant = 1
    for i in range(8, 4 * (ROUNDS + 1)):
        word = words[-1]
        if i % 8 == 0:
            word = sbox[np.roll(word, -1)] ^ np.array([constant, 0, 0, 0])
            constant = times_x(constant)
        elif i % 8 == 4:
            word = sbox[word]
        words.append(words[i - 8] ^ word)
    return np.array(words).reshape(ROUNDS + 1, 16)


def pairs(row: np.ndarray, column: np.ndarray) -> list[tuple[int, int]]:
    """Facing elements of a row and a column."""
    return list(zip(row.tolist(), column.tolist(), strict=True))


def reference(k: np.ndarray, buf: np.ndarray) -> None:
    """FIPS 197, on matrices of the field."""
    matrix = [np.roll([2, 3, 1, 1], r) for r in range(4)]
    keys = round_keys(k)
    state = buf ^ keys[0]
    for number in range(1, ROUNDS + 1):
        square = sbox[state].reshape(4, 4).T.astype(int)
        square = np.array([np.roll(row, -r) for r, row in enumerate(square)])
        if number < ROUNDS:
            products = [
                [[field_product(m, x) for m, x in pairs(row, column)] for column in square.T]
                for row in matrix
            ]
            square = np.bitwise_xor.reduce(np.array(products), axis=2)
        state = square.T.reshape(16) ^ keys[number]
    buf[:] = state
