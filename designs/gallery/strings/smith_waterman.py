"""Smith-Waterman: the best local alignment of 16 letters with 128, a diagonal a cycle.

The score of the best alignment that ends at letters i and j is the best of: nothing; the score before
both, plus two if the letters are equal and minus one if not; the scores before one of them, minus one for
the gap. All cells of an antidiagonal can be computed at once, for they need only the last two.

Hardware: 16 cells in a row, one for each letter of the query. The text moves past them, a letter a
cycle. A cell keeps its last two scores, which its right neighbour reads, and its best.

Interval: nothing holds it up: two maxima and a subtraction lead from one diagonal to the next. They are
done in eight bits, which the scores never leave; constants are cast, `Score(GAP)`, because a plain number
has 32 bits and would make the comparisons as wide, too slow for one cycle.

Source: T. F. Smith and M. S. Waterman, Identification of Common Molecular Subsequences, Journal of
Molecular Biology, 1981; the array is that of R. J. Lipton and D. Lopresti, 1985.

Used in: search in genomes and proteins
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int8, uint8

QUERY, TEXT = 16, 128
EQUAL, OTHER, GAP = 2, -1, 1
NO_LETTER = 255
Score = int8


def smith_waterman(query: uint8[QUERY], text: uint8[TEXT]) -> Score:
    """The score of the best local alignment of ``query`` and ``text``, whose letters are 0 to 254.

    Equal letters count ``EQUAL``, different ones ``OTHER``, and a letter left out ``-GAP``.
    """
    letter: uint8[QUERY]
    passing: uint8[QUERY + 1] = NO_LETTER
    last: Score[QUERY + 1] = 0
    before: Score[QUERY + 1] = 0
    best: Score[QUERY] = 0
    for q in range(QUERY):
        letter[q] = query[q]
    for t in range(TEXT + QUERY - 1):
        passing[0] = NO_LETTER
        if t < TEXT:
            passing[0] = text[t]
        for j in range(QUERY - 1, -1, -1):
            step: Score = EQUAL if passing[j] == letter[j] else OTHER
            gap: Score = max(last[j], last[j + 1]) - Score(GAP)
            score: Score = max(max(before[j] + step, Score(0)), gap)
            best[j] = max(best[j], score)
            before[j + 1] = last[j + 1]
            last[j + 1] = score
            passing[j + 1] = passing[j]
    most: Score = 0
    for b in range(QUERY):
        most = max(most, best[b])
    return most


def schedule() -> Schedule:
    """A letter of the text a cycle: all cells at once."""
    s = allo.customize(smith_waterman)
    s.pipeline("q")
    s.pipeline("t")
    s.pipeline("b")
    for array in (s.letter, s.passing, s.last, s.before, s.best):
        s.partition(array)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random text of four letters, and a part of it with some letters changed."""
    text = rng.integers(0, 4, TEXT, np.uint8)
    start = int(rng.integers(0, TEXT - QUERY))
    query = text[start : start + QUERY].copy()
    query[rng.integers(0, QUERY, 4)] = rng.integers(0, 4, 4)
    return query, text


def reference(query: np.ndarray, text: np.ndarray) -> int:
    """The whole table, row by row."""
    score = np.zeros((QUERY + 1, TEXT + 1), int)
    for i in range(QUERY):
        for j in range(TEXT):
            step = EQUAL if query[i] == text[j] else OTHER
            gap = max(score[i, j + 1], score[i + 1, j]) - GAP
            score[i + 1, j + 1] = max(0, score[i, j] + step, gap)
    return int(score.max())
