"""Levenshtein distance: 64 letters against 128, a letter a cycle.

The distance is the least number of letters to insert, delete or change. In the table of distances between
beginnings of both words, neighbours differ by at most one, so a column of 64 is two words of 64 bits:
where it grows and where it falls. The next column follows from them, and from the places where the letter
occurs, by a few logic operations and one addition, whose carries run down the column.

Hardware: two registers of 64 bits, an adder of 64 bits, a counter, and a register for each of the four
letters with the places where it occurs.

Interval: nothing holds it up; the addition and the logic around it fit in one cycle.

Source: G. Myers, A Fast Bit-Vector Algorithm for Approximate String Matching Based on Dynamic
Programming, Journal of the ACM, 1999; the form is that of H. Hyyrö, 2003.

Used in: spelling correction, genomics, duplicate detection
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int16, uint2, uint64

WORD, TEXT, LETTERS = 64, 128, 4
ALL = 2**64 - 1


def levenshtein(word: uint2[WORD], text: uint2[TEXT]) -> int16:
    """The least number of letters to insert, delete or change to make ``text`` of ``word``.

    Letters are 0 to 3. Bit ``i`` of ``grows`` (``falls``) is set where the distance of ``i + 1`` letters of
    the word is one more (less) than that of ``i``.
    """
    occurs: uint64[LETTERS] = 0
    for w in range(WORD):
        for letter in range(LETTERS):
            occurs[letter][w] = word[w] == letter
    grows: uint64 = ALL
    falls: uint64 = 0
    distance: int16 = WORD
    for t in range(TEXT):
        equal: uint64 = occurs[text[t]]
        carries: uint64 = (equal & grows) + grows
        diagonal: uint64 = (carries ^ grows) | equal
        up: uint64 = falls | ~(diagonal | grows)
        down: uint64 = grows & diagonal
        if up[WORD - 1] == 1:
            distance += 1
        if down[WORD - 1] == 1:
            distance -= 1
        up = (up << 1) | 1
        down = down << 1
        level: uint64 = equal | falls
        grows = down | ~(level | up)
        falls = up & level
    return distance


def schedule() -> Schedule:
    """A letter a cycle."""
    s = allo.customize(levenshtein)
    s.pipeline("w")
    s.pipeline("t")
    s.partition(s.occurs)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random text, and every second letter of it with some changed."""
    text = rng.integers(0, LETTERS, TEXT, np.uint8)
    word = text[::2].copy()
    word[rng.integers(0, WORD, 8)] = rng.integers(0, LETTERS, 8)
    return word, text


def reference(word: np.ndarray, text: np.ndarray) -> int:
    """The table, row by row."""
    row = list(range(TEXT + 1))
    for i, a in enumerate(word, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(text, 1):
            cost = min(row[j] + 1, row[j - 1] + 1, diagonal + int(a != b))
            diagonal, row[j] = row[j], cost
    return row[-1]
