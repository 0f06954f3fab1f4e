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

``sort`` is a process of its own behind the reader, which gives each line to the stream of its kind. So no
signal goes from the memory through the reader to a FIFO of many words in one cycle. What has one line to hand
on puts the line of the iteration before, and takes the next one last: the line is then one register. A get in
front of a put would take a second one, and a choice between both in front of all who read it.
"""

import allo
from allo.customize import Schedule
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
    written: "Stream[UInt(BITS), 2]",
    lines: "Stream[UInt(BITS), 2]",
):
    """All of a channel, for the token at ``start``.

    ``START`` lines of factors are in front, ``FIRST`` and ``REST`` are those of a layer's first job and of
    its others, and ``LAST`` those behind all layers. Behind them come ``PAGE`` lines of keys and values of
    each of ``H`` heads, layer by layer; then ``TOKEN`` lines for each token, ``PLACE`` for each of
    ``PLACES`` positions, and the ``SAID`` lines that are written. ``old`` lines of a head are read. Two new
    lines of each head come where ``writes`` is 1, and are written to its ``first`` and its ``second`` line.
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
        new: int32 = 0 if turn == 0 or writes == 0 else 2 * H
        is_second: UInt(1) = 0
        for fresh in range(new):
            to: int32 = write + (second if is_second == 1 else first)
            memory[to] = written.get()
            write = write + PAGE if is_second == 1 else write
            is_second = 1 - is_second
        kept: int32 = 0 if turn == LAYERS else old * H
        place: int32 = page
        j: int32 = 0
        for line in range(kept):
            lines.put(memory[place + j])
            place = place + PAGE if j == old - 1 else place
            j = 0 if j == old - 1 else j + 1
        page = page + H * PAGE
    for out in range(SAID):
        memory[SIZE - SAID + out] = written.get()


def plan[START, T1, T2, T3, T4, T5, W1, W2, W3, W4, W5, H, LAYERS, BLOCK](
    old: int32, blocks: int32, runs: "Stream[UInt(28), 4]"
):
    """The runs of lines of one kind that a reader brings: lines but one, and above them a bit for their kind.

    ``START`` lines of rows and factors are in front, then ``T1`` lines of tables, the first bit, and ``W1``
    of weights, the second, of a layer's first job; ``old`` lines of each head, the third, if there are any;
    those of the other jobs, and of the next layer. Those of the last job are ``T5`` and ``W5``. With a
    ``BLOCK``, in front of so many lines of a head, which has ``blocks`` of them, stands a line of steps,
    the fourth bit. Two runs that never come are behind them all, which :func:`sort` has taken in its end.
    """
    kept: UInt(24) = old * H
    for job in range(4 * LAYERS + 1):
        is_first: UInt(1) = 1 if (job % 4 == 0 and job != 4 * LAYERS) else 0
        for part in range(2):
            table: UInt(24) = T1 - 1
            weight: UInt(24) = W1 - 1
            if job == 4 * LAYERS:
                table = T5 - 1
                weight = W5 - 1
            elif job == 0:
                table = START + T1 - 1
            elif job % 4 == 1:
                table = T2 - 1
                weight = W2 - 1
            elif job % 4 == 2:
                table = T3 - 1
                weight = W3 - 1
            elif job % 4 == 3:
                table = T4 - 1
                weight = W4 - 1
            told: UInt(28) = table if part == 0 else weight
            told[24:25] = 1 - part
            told[25:26] = part
            runs.put(told)
        with allo.meta_if(BLOCK == 0):
            if is_first == 1 and kept > 0:
                cached: UInt(28) = kept - 1
                cached[26:27] = 1
                runs.put(cached)
        with allo.meta_else():
            rest: UInt(24) = old - 2
            have: int32 = 2 * H * blocks if is_first == 1 else 0
            for block in range(have):
                is_levels: UInt(1) = block & 1
                is_end: UInt(1) = 1 if rest < BLOCK else 0
                few: UInt(24) = rest if is_end == 1 else BLOCK - 1
                of_head: UInt(28) = few if is_levels == 1 else 0
                of_head[26:27] = is_levels
                of_head[27:28] = 1 - is_levels
                runs.put(of_head)
                less: UInt(24) = old - 2 if is_end == 1 else rest - (BLOCK + 1)
                rest = less if is_levels == 1 else rest
    for end in range(2):
        runs.put(0)


def sort[BITS, TOTAL, H, LAYERS, KEPT, BLOCK](
    old: int32,
    runs: "Stream[UInt(28), 4]",
    lines: "Stream[UInt(BITS), 2]",
    tables: "Stream[UInt(BITS), 2]",
    words: "Stream[UInt(BITS), 2]",
    keys: "Stream[UInt(KEPT), 2]",
    values: "Stream[UInt(KEPT), 2]",
):
    """What a reader brings, by its kind: ``TOTAL`` lines, and the ``old`` ones of each head and layer.

    Those are a key and a value by turns; or with a ``BLOCK``, half a line of levels each, with its steps
    above them, which a line in front of so many has told.
    """
    kept: UInt(24) = old * (H * LAYERS)
    held: UInt(BITS) = 0
    told: UInt(BITS) = 0
    # Of what is held: whether tables, weights, a key or a value, or steps.
    holds: UInt(4) = 0
    run: UInt(28) = runs.get()
    kind: UInt(4) = run[24:28]
    left: UInt(24) = run[0:24]
    ends: UInt(1) = 1 if left == 0 else 0
    following: UInt(28) = runs.get()
    is_value: UInt(1) = 1
    for line in range(TOTAL + kept):
        if holds[0:1] == 1:
            tables.put(held)
        if holds[1:2] == 1:
            words.put(held)
        with allo.meta_if(BLOCK == 0):
            if holds[2:3] == 1 and is_value == 0:
                keys.put(held)
            if holds[2:3] == 1 and is_value == 1:
                values.put(held)
        with allo.meta_else():
            if holds[2:3] == 1:
                key: UInt(KEPT) = held[0 : BITS // 2]
                key[BITS // 2 : KEPT] = told[0 : KEPT - BITS // 2]
                keys.put(key)
                value: UInt(KEPT) = held[BITS // 2 : BITS]
                value[BITS // 2 : KEPT] = told[BITS // 2 : KEPT]
                values.put(value)
            moved: UInt(BITS) = told >> (KEPT - BITS // 2)
            if holds[2:3] == 1 or holds[3:4] == 1:
                told = held if holds[3:4] == 1 else moved
        is_last: UInt(1) = ends
        behind: UInt(28) = following
        if is_last == 1:
            following = runs.get()
        held = lines.get()
        holds = kind
        is_value = is_value ^ 1 if kind[2:3] == 1 else 1
        of_next: UInt(24) = behind[0:24]
        begins_last: UInt(1) = 1 if of_next == 0 else 0
        goes_last: UInt(1) = 1 if left == 1 else 0
        ends = begins_last if is_last == 1 else goes_last
        left = of_next if is_last == 1 else left - 1
        kind = behind[24:28] if is_last == 1 else kind
    words.put(held)


schedule_serve = pipelined("row load fresh line out")


def schedule_plan(s: Schedule, blocks: bool) -> Schedule:
    """A run a cycle. ``blocks``: whether lines of steps stand in front of others."""
    return pipelined("part block end" if blocks else "part end")(s)


schedule_sort = pipelined("line")
