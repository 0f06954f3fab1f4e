"""Game of Life: 64 cells a cycle, a row of the board in a word.

A cell lives on with two or three neighbours alive, and a dead one comes to life with three. A row of
the board is a word of 64 bits, and all its cells are counted at once: the eight neighbours are eight
words (three rows, each also turned one place left and right), added bit by bit. The board is a torus.

Hardware: three registers of 64 bits with the rows above, here and below, and for every cell a handful
of gates: full adders that count in three bits, cut off at the top since eight neighbours die as none.

Interval: nothing holds it up inside a generation: a row is read and a row is written in a cycle. The
next generation begins when the last row has been written, because it changes the same board.

Source: M. Gardner, The fantastic combinations of John Conway's new solitaire game "life", Scientific
American, 1970.

Used in: cellular automata, morphology on binary images
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint64

ROWS, GENERATIONS = 64, 4


def next_row(above: uint64, here: uint64, below: uint64) -> uint64:
    """The next generation of the row ``here``, a cell a bit; its ends are neighbours.

    The words ``one``, ``two`` and ``four`` count the neighbours of all cells at once, modulo eight. A
    cell lives on with two or three neighbours, and comes to life with three.
    """
    one: uint64 = 0
    two: uint64 = 0
    four: uint64 = 0
    around: uint64[8]
    around[0] = above
    around[1] = (above << 1) | (above >> 63)
    around[2] = (above >> 1) | (above << 63)
    around[3] = (here << 1) | (here >> 63)
    around[4] = (here >> 1) | (here << 63)
    around[5] = below
    around[6] = (below << 1) | (below >> 63)
    around[7] = (below >> 1) | (below << 63)
    for n in range(8):
        carry: uint64 = one & around[n]
        one = one ^ around[n]
        four = four ^ (two & carry)
        two = two ^ carry
    return two & ~four & (one | here)


def life(board: uint64[ROWS]):
    """Replace a board of ``ROWS`` rows of 64 cells by what it is ``GENERATIONS`` generations later.

    Bit 63 of a word is its leftmost cell, and the first and the last row are neighbours.
    """
    for _ in range(GENERATIONS):
        first: uint64 = board[0]
        above: uint64 = board[ROWS - 1]
        here: uint64 = first
        for y in range(ROWS):
            below: uint64 = first
            if y < ROWS - 1:
                below = board[y + 1]
            board[y] = next_row(above, here, below)
            above = here
            here = below


def schedule() -> Schedule:
    """A row a cycle."""
    s = allo.customize(life)
    s.unroll("next_row:n")
    s.partition("next_row:around")
    s.pipeline("y")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A board on which a third of the cells live."""
    cells = rng.random((ROWS, 64)) < 1 / 3
    return (np.packbits(cells, axis=1).view(">u8").astype(np.uint64).reshape(ROWS),)


def reference(board: np.ndarray) -> None:
    """Cell by cell, neighbours by turning the board."""
    cells = np.unpackbits(board.astype(">u8").view(np.uint8)).reshape(ROWS, 64)
    for _ in range(GENERATIONS):
        turns = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]
        count = sum(np.roll(cells, turn, (0, 1)) for turn in turns)
        cells = ((count == 3) | (cells & (count == 2))).astype(np.uint8)
    board[:] = np.packbits(cells).view(">u8").astype(np.uint64)
