# ruff: noqa: B007  (loops have names for the schedule)
"""One reader a memory channel, which moves weights, keys and values in an order that is known beforehand.

``serve`` reads a channel's share of a token: the weights of a layer's q, k and v, then all old keys and
values of the layer, line by line in turn, then the other weights. It writes the new lines.
The cache of a unit with several channels has rows of lines side by side, one on each channel, and a line
holds a position. What was kept of a head is one run, in which a line of keys and one of values take
turns. So a channel reads two runs a layer and head, and no two masters compete for its rows.
"""

from allo.ir.types import Stream, UInt, int32

from ...stage import pipelined


def serve[BITS, SIZE, FIRST, REST, LAST, H, KEPT, ACROSS, LAYERS](
    memory: "UInt(BITS)[SIZE]",
    start: int32,
    writes: int32,
    new_keys: "Stream[UInt(BITS), 2]",
    new_values: "Stream[UInt(BITS), 2]",
    words: "Stream[UInt(BITS), 2]",
    keys: "Stream[UInt(BITS), 2]",
    values: "Stream[UInt(BITS), 2]",
):
    """All of a channel, for the token at ``start``.

    ``FIRST`` and ``REST`` are the words of weights of a layer's first job and of its others, ``LAST`` those
    behind all layers. Behind the weights come ``KEPT`` lines of keys and as many of values of each of ``H``
    heads, layer by layer. ``ACROSS`` positions of a head lie side by side on all channels of its unit. New
    lines come, and are written, where ``writes`` is 1.
    """
    pages: int32 = SIZE - LAYERS * H * KEPT * 2
    newest: int32 = (start // ACROSS) * 2
    old: int32 = ((start + ACROSS - 1) // ACROSS) * 2
    at: int32 = 0
    page: int32 = pages
    for turn in range(LAYERS + 1):
        ahead: int32 = REST + FIRST
        if turn == 0:
            ahead = FIRST
        elif turn == LAYERS:
            ahead = REST + LAST
        for load in range(ahead):
            words.put(memory[at + load])
        at = at + ahead
        write: int32 = page - H * KEPT * 2 + newest
        heads: int32 = 0 if turn == 0 or writes == 0 else H
        for head in range(heads):
            memory[write + head * KEPT * 2] = new_keys.get()
            memory[write + head * KEPT * 2 + 1] = new_values.get()
        lines: int32 = 0 if turn == LAYERS else old * H
        row: int32 = page
        j: int32 = 0
        for line in range(lines):
            word: UInt(BITS) = memory[row + j]
            if j % 2 == 0:
                keys.put(word)
            else:
                values.put(word)
            row = row + KEPT * 2 if j == old - 1 else row
            j = 0 if j == old - 1 else j + 1
        page = page + H * KEPT * 2


schedule_serve = pipelined("load head line")
