"""Five ternary weights in a byte, in a code that few lookup tables read.

A weight is a digit, itself plus one: 0, 1 or 2. Three digits are five bits, f (2), e (2) and c (1), lowest
first, and two digits are the three above, g (2) and h (1). A digit lies in its own field, but that a field of
3 says of a digit behind it that it is 2, and lends its room:

===================  ======  ======  ======
three digits         d0      d1      d2
===================  ======  ======  ======
e < 3 and f < 3      f       e       c
e < 3 and f = 3      c       e       2
e = 3                2       f       2
===================  ======  ======  ======

===================  ======  ======
two digits           d3      d4
===================  ======  ======
g < 3                g       h
g = 3                h       2
===================  ======  ======

Eight pairs fit so. The ninth, 2 and 2, is said by e = 3 with c = 1, which no three digits have: then g and h
stand for e and c. So 3 ** 5 = 243 of 256 bytes are used; a number to the base of three would take a table of
eight inputs for each bit of a digit.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from .levels import TernaryError, check_ternary

FIVE = 5
"""Weights of a byte."""


def byte_of(d0: int, d1: int, d2: int, d3: int, d4: int) -> int:
    """The byte of five digits."""
    if d2 < 2:
        f, e, c = d0, d1, d2
    elif d0 < 2:
        f, e, c = 3, d1, d0
    else:
        f, e, c = d1, 3, 0
    if (d3, d4) == (2, 2):
        e, c, g, h = 3, 1, e, c
    elif d4 == 2:
        g, h = 3, d3
    else:
        g, h = d3, d4
    return f | e << 2 | c << 4 | g << 5 | h << 7


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """The byte of every five digits, and the weights of every byte, 2 for one that has none."""
    codes = np.zeros((3,) * FIVE, np.uint8)
    weights = np.full((256, FIVE), 2, np.int8)
    for digits in product(range(3), repeat=FIVE):
        byte = byte_of(*digits)
        codes[digits] = byte
        weights[byte] = np.array(digits) - 1
    return codes, weights


CODES, WEIGHTS = _tables()


def bytes_of(count: int) -> int:
    """Bytes of so many weights."""
    return -(-count // FIVE)


def pack_trits(rows: np.ndarray) -> np.ndarray:
    """Weights as bytes over the last axis, uint8; behind the last weight are zeros.

    Args:
        rows: int8 of -1, 0 and 1.

    Raises:
        TernaryError: other weights.
    """
    check_ternary(rows)
    count = rows.shape[-1]
    behind = [(0, 0)] * (rows.ndim - 1) + [(0, -count % FIVE)]
    digits = (np.pad(rows, behind) + 1).reshape(*rows.shape[:-1], -1, FIVE)
    packed: np.ndarray = CODES[tuple(np.moveaxis(digits, -1, 0))]
    return packed


def unpack_trits(packed: np.ndarray, count: int) -> np.ndarray:
    """The first ``count`` weights of bytes, int8 over the last axis.

    Raises:
        TernaryError: fewer bytes than the weights need, or a byte that is none of the code.
    """
    if packed.shape[-1] < bytes_of(count):
        raise TernaryError(
            f"{packed.shape[-1]} bytes hold {packed.shape[-1] * FIVE} ternary weights, and not {count}.",
            help="pack the weights again with pack_trits.",
        )
    rows: np.ndarray = WEIGHTS[packed].reshape(*packed.shape[:-1], -1)[..., :count]
    if rows.size and rows.max() > 1:
        bad = packed[(WEIGHTS[packed] > 1).any(-1)]
        raise TernaryError(
            f"The byte {int(bad[0])} stands for no five ternary weights.",
            help="pack the weights again with pack_trits.",
        )
    return rows
