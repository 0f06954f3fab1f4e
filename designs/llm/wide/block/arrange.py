# ruff: noqa: B007  (loops have names for the schedule)
"""Bring the activations of a block together: pieces of V, in the order they come, to words of R tokens."""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, int32

from ...stage import pipelined


def arrange[L, V, R, B, WIDTH, RUN, JOBS, FULL, OWN, EXTRA, W](
    come: "Stream[UInt((8 * V + OWN) * W), 4]",
    count: int32,
    waves: int32,
    spoken: int32,
    leave: "Stream[UInt((8 * L + EXTRA) * R), 4]",
    jobs: "UInt(16)",
    full: "UInt(16)",
):
    """Every block of ``JOBS`` jobs, as words of L elements of R tokens beside each other.

    Pieces of V elements come of W tokens beside each other, and in runs: ``RUN`` pieces of W tokens, then as
    many of each next W of the block, then the next of the first ones, until all have ``WIDTH`` elements. From
    job ``FULL`` on, a job has ``spoken`` tokens; where ``JOBS`` is 0, the call says both. Rows without a
    token hold what was there before. ``OWN`` bits above a piece say by how much its levels are finer, and so
    do ``EXTRA`` bits for each token above a word: those of its first piece, or 0. Where L does not divide
    ``WIDTH``, the last word ends with pieces that are not those of a job.
    """
    pieces: UInt(8 * V + OWN)[W, R // W * (L // V), B // R, (WIDTH + L - 1) // L]
    row_of: UInt(8)[B // W]
    turn_of: UInt(8)[B // W]
    for turn in range(B // R):
        for row in range(R // W):
            row_of[turn * (R // W) + row] = row
            turn_of[turn * (R // W) + row] = turn
    for job in range(JOBS if JOBS > 0 else jobs):
        last_pass: UInt(8) = 0 if job >= (FULL if JOBS > 0 else full) else waves - 1
        left: int32 = spoken if job >= (FULL if JOBS > 0 else full) else count
        for wave in range(last_pass + 1):
            last: UInt(8) = min(left, B) - 1
            left = left - B
            last_row: UInt(8) = last // W
            taken: UInt(16) = (last_row + 1) * (WIDTH // V)
            rounds: UInt(8) = ((last * (65536 // R + 1)) >> 16) + 1
            # A piece is a part of a word; a run begins at the first ones.
            part: UInt(8) = 0
            word_at: UInt(16) = 0
            first_part: UInt(8) = 0
            first_word: UInt(16) = 0
            at: UInt(16) = 0
            row_at: UInt(8) = 0
            for take in range(taken):
                bank: UInt(16) = row_of[row_at] * (L // V) + part
                beside: UInt((8 * V + OWN) * W) = come.get()
                with allo.meta_for(W) as w:
                    pieces[w, bank, turn_of[row_at], word_at] = beside[
                        (8 * V + OWN) * w : (8 * V + OWN) * w + 8 * V + OWN
                    ]
                fills: UInt(1) = 1 if part == L // V - 1 else 0
                part = 0 if fills == 1 else part + 1
                word_at = word_at + fills
                if at == RUN - 1:
                    if row_at == last_row:
                        first_part = part
                        first_word = word_at
                    else:
                        part = first_part
                        word_at = first_word
                    row_at = 0 if row_at == last_row else row_at + 1
                at = 0 if at == RUN - 1 else at + 1
            for out in range(rounds):
                for word in range((WIDTH + L - 1) // L):
                    joined: UInt((8 * L + EXTRA) * R) = 0
                    with allo.meta_for(R) as r:  # noqa: SIM117
                        with allo.meta_for(L // V) as p:
                            held: UInt(8 * V + OWN) = pieces[
                                r % W, r // W * (L // V) + p, out, word
                            ]
                            joined[8 * (L * r + V * p) : 8 * (L * r + V * p) + 8 * V] = held[
                                0 : 8 * V
                            ]
                            with allo.meta_if(OWN > 0 and p == 0):
                                above: UInt(OWN) = held[8 * V : 8 * V + OWN]
                                joined[8 * L * R + OWN * r : 8 * L * R + OWN * r + OWN] = above
                    leave.put(joined)


def schedule_arrange(s: Schedule) -> Schedule:
    """V elements a cycle in, words of R tokens out; every piece of a block has a place of its own."""
    s.dependence("pieces", "take")
    s.partition(f"{s.top_func_name}:pieces", dim=2)
    return pipelined("take word", pieces=1)(s)
