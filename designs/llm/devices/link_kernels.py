# ruff: noqa: B007  (loops have names for the schedule)
"""A link between two devices, as three processes: words are on it for WAIT cycles.

``pace``    lets a word go every INTERVAL cycles (its loop's interval, so the pipeline is the pace).
``depart``  puts something on the line in every cycle: a word, or nothing.
``arrive``  takes something from the line in every cycle, from a cycle on that is WAIT after the first
            was put; so everything is on the line for just as long.

The two ends of the line run freely, a cycle an iteration, and end two iterations after the last word, which a
bit tells. The reader of a link must have room for what may come: a word that finds none would be lost.
"""

from allo.ir.types import Stream, UInt

from ..stage import pipelined

TICKS = 1 << 30
"""More cycles than any run has."""


def pace[W, N](source: "Stream[UInt(W), 4]", paced: "Stream[UInt(W + 1), 2]"):
    """A word every INTERVAL cycles, and whether it is the last."""
    for word in range(N):
        marked: UInt(W + 1) = 0
        marked[0:W] = source.get()
        marked[W : W + 1] = 1 if word == N - 1 else 0
        paced.put(marked)


def depart[W](paced: "Stream[UInt(W + 1), 2]", line: "Stream[UInt(W + 2), 2]"):
    """A marked word with a bit above it, or nothing, in every cycle."""
    over: UInt(1) = 0
    soon: UInt(1) = 0
    for tick in range(TICKS):
        if over == 1:
            break
        word, there = paced.try_get()
        entry: UInt(W + 2) = 0
        entry[0 : W + 1] = word
        entry[W + 1 : W + 2] = there
        line.try_put(entry)
        over = soon
        soon = word[W : W + 1]


def arrive[W, WAIT](line: "Stream[UInt(W + 2), 2]", sink: "Stream[UInt(W), 4]"):
    """What has been on the line for WAIT cycles."""
    over: UInt(1) = 0
    soon: UInt(1) = 0
    for tick in range(TICKS):
        if over == 1:
            break
        last: UInt(1) = 0
        if tick >= WAIT:
            entry, there = line.try_get()
            last = entry[W : W + 1]
            came: UInt(1) = entry[W + 1 : W + 2]
            if came == 1:
                sink.try_put(entry[0:W])
        over = soon
        soon = last


schedule_pace = pipelined("word")
schedule_end = pipelined("tick")
