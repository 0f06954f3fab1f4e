# ruff: noqa: B007  (loops have names for the schedule)
"""One reader a memory channel, which moves all that is in it in an order that is known beforehand.

``serve`` reads a channel's share of a token: the rows of its position and of the token; then tables and
weights of a layer's q, k and v; then all old keys and values of the layer, line by line in turn; then the
tables and weights of the other jobs. It writes the new keys and values, and in the end its share of the
logits.
The cache of a unit with several channels has rows of lines side by side, one on each channel, and a line
holds a position. What was kept of a head is one run, in which a line of keys and one of values take
turns. Of four bits (:mod:`.halves`) a line holds the levels of both, and steps stand in front of some of
them. So a channel reads two runs a layer and head, and no two masters compete for its rows.

``sort`` is a process of its own behind the reader, which gives each line to the stream of its kind, and
``part_lines`` parts keys from values. So no
signal goes from the memory through the reader to a FIFO of many words in one cycle.
"""

import allo
from allo.ir.types import Stream, UInt, int32

from ...stage import pipelined


def serve[
    BITS,
    SIZE,
    START,
    FIRST,
    REST,
    LAST,
    H,
    PAGE,
    LAYERS,
    TOKEN,
    PLACE,
    PLACES,
    SAID,
](
    memory: "UInt(BITS)[SIZE]",
    token: int32,
    start: int32,
    old: int32,
    writes: int32,
    first: int32,
    second: int32,
    firsts: "Stream[UInt(BITS), 2]",
    seconds: "Stream[UInt(BITS), 2]",
    said: "Stream[UInt(BITS), 2]",
    lines: "Stream[UInt(BITS), 2]",
):
    """All of a channel, for the token at ``start``.

    ``START`` lines of factors are in front, ``FIRST`` and ``REST`` are those of a layer's first job and of
    its others, and ``LAST`` those behind all layers. Behind them come ``PAGE`` lines of keys and values of
    each of ``H`` heads, layer by layer; then ``TOKEN`` lines for each token, ``PLACE`` for each of ``PLACES``
    positions, and the ``SAID`` lines that are written.
    ``old`` lines of a head are read. New lines come where ``writes`` is 1, and are written to the ``first``
    and the ``second`` line of their head.
    """
    places: int32 = SIZE - SAID - PLACES * PLACE + start * PLACE
    pages: int32 = START + LAYERS * (FIRST + REST) + LAST
    tokens: int32 = pages + LAYERS * H * PAGE + token * TOKEN
    for row in range(PLACE + TOKEN):
        from_row: int32 = places + row if row < PLACE else tokens + row - PLACE
        lines.put(memory[from_row])
    at: int32 = 0
    page: int32 = pages
    for turn in range(LAYERS + 1):
        ahead: int32 = REST + FIRST
        if turn == 0:
            ahead = START + FIRST
        elif turn == LAYERS:
            ahead = REST + LAST
        for load in range(ahead):
            lines.put(memory[at + load])
        at = at + ahead
        write: int32 = page - H * PAGE
        heads: int32 = 0 if turn == 0 or writes == 0 else H
        for head in range(heads):
            memory[write + head * PAGE + first] = firsts.get()
            memory[write + head * PAGE + second] = seconds.get()
        kept: int32 = 0 if turn == LAYERS else old * H
        place: int32 = page
        j: int32 = 0
        for line in range(kept):
            lines.put(memory[place + j])
            place = place + PAGE if j == old - 1 else place
            j = 0 if j == old - 1 else j + 1
        page = page + H * PAGE
    for out in range(SAID):
        memory[SIZE - SAID + out] = said.get()


def sort[BITS, START, T1, T2, T3, T4, T5, W1, W2, W3, W4, W5, H, LAYERS](
    old: int32,
    lines: "Stream[UInt(BITS), 2]",
    tables: "Stream[UInt(BITS), 2]",
    words: "Stream[UInt(BITS), 2]",
    kept: "Stream[UInt(BITS), 2]",
):
    """What a reader brings, by its kind.

    ``START`` lines of rows and factors are in front, then ``T1`` lines of tables and ``W1`` of weights of
    a layer's first job, and so on; those of the last job are ``T5`` and ``W5``. ``old`` lines of a head are
    those of keys and values.
    """
    job: UInt(3) = 0
    weighs: UInt(1) = 0
    left: int32 = START + T1 - 1
    for turn in range(LAYERS + 1):
        ahead: int32 = T2 + T3 + T4 + T1 + W2 + W3 + W4 + W1
        if turn == 0:
            ahead = START + T1 + W1
        elif turn == LAYERS:
            ahead = T2 + T3 + T4 + T5 + W2 + W3 + W4 + W5
        for load in range(ahead):
            loaded: UInt(BITS) = lines.get()
            if weighs == 1:
                words.put(loaded)
            else:
                tables.put(loaded)
            following: UInt(3) = job + 1
            if job == 3:
                following = 4 if turn == LAYERS else 0
            table: int32 = T1 - 1
            if following == 1:
                table = T2 - 1
            elif following == 2:
                table = T3 - 1
            elif following == 3:
                table = T4 - 1
            elif following == 4:
                table = T5 - 1
            weight: int32 = W1 - 1
            if job == 1:
                weight = W2 - 1
            elif job == 2:
                weight = W3 - 1
            elif job == 3:
                weight = W4 - 1
            elif job == 4:
                weight = W5 - 1
            is_over: UInt(1) = 1 if left == 0 else 0
            begun: int32 = table if weighs == 1 else weight
            job = following if is_over == 1 and weighs == 1 else job
            left = begun if is_over == 1 else left - 1
            weighs = weighs ^ is_over
        all: int32 = 0 if turn == LAYERS else old * H
        for line in range(all):
            kept.put(lines.get())


def part_lines[BITS, KEPT, H, BLOCK, LAYERS](
    old: int32,
    kept: "Stream[UInt(BITS), 2]",
    keys: "Stream[UInt(KEPT), 2]",
    values: "Stream[UInt(KEPT), 2]",
):
    """A key and a value by turns; or with a ``BLOCK``, half a line of levels each, with its steps above them.

    In front of every ``BLOCK`` lines of a head, and in front of its first, stands the line of their steps.
    """
    which: UInt(8) = 0
    at: int32 = 0
    told: UInt(BITS) = 0
    for line in range(old * (H * LAYERS)):
        word: UInt(BITS) = kept.get()
        with allo.meta_if(BLOCK == 0):
            if which == 0:
                keys.put(word)
            else:
                values.put(word)
            which = 1 - which
        with allo.meta_else():
            if which > 0:
                key: UInt(KEPT) = word[0 : BITS // 2]
                key[BITS // 2 : KEPT] = told[0 : KEPT - BITS // 2]
                keys.put(key)
                value: UInt(KEPT) = word[BITS // 2 : BITS]
                value[BITS // 2 : KEPT] = told[BITS // 2 : KEPT]
                values.put(value)
            told = word if which == 0 else told >> (KEPT - BITS // 2)
            which = 0 if (which == BLOCK or at == old - 1) else which + 1
            at = 0 if at == old - 1 else at + 1


schedule_serve = pipelined("row load head line out")
schedule_sort = pipelined("load line")
schedule_part_lines = pipelined("line")
