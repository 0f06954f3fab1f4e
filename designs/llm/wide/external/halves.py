# ruff: noqa: B007  (loops have names for the schedule)
"""Keys and values of four bits: quantised behind the words of heads, as :mod:`.nibble_cache` has them.

A word of a key or value then holds its levels, four bits each, and above them the steps of its groups, a byte
each. Queries stay as they are.
"""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, int8

from ...stage import Kernel, Stage, pipelined
from ..stages.linear import CALL
from ..stages.sizes import Sizes


def halve[HD, GROUP, ROUNDS, QUERIES, NEW, LAYERS](
    packed: "Stream[UInt(8 * HD), 4]",
    halved: "Stream[UInt(8 * HD), 4]",
):
    """``QUERIES`` words a layer as they are, and ``NEW`` of keys and values in four bits, a group a cycle.

    A step is the largest magnitude over 7, rounded up, and at least 1. A magnitude has the level l or more
    where twice of it is above ``(2 * l - 1)`` steps, and for an even l also where it is equal: so a tie is
    rounded to the even level. ``1 << ROUNDS`` elements are a group.
    """
    held: UInt(8 * HD) = 0
    levels: UInt(4 * HD) = 0
    steps: UInt(8 * (HD // GROUP)) = 0
    piece: UInt(8) = 0
    head: UInt(8) = 0
    for part in range(LAYERS * (QUERIES + NEW) * (HD // GROUP)):
        word: UInt(8 * HD) = held
        if piece == 0:
            word = packed.get()
        sizes: UInt(7)[GROUP]
        largest: UInt(7)[GROUP]
        for e in range(GROUP):
            value: int8 = word[8 * e : 8 * e + 8]
            size: UInt(7) = -value if value < 0 else value
            sizes[e] = size
            largest[e] = size
        with allo.meta_for(ROUNDS) as r:
            for m in range(GROUP >> (r + 1)):
                largest[m] = max(largest[2 * m], largest[2 * m + 1])
        above: UInt(8) = largest[0] + 6
        found: UInt(5) = (above * 293) >> 11
        step: UInt(5) = 1 if found == 0 else found
        four: UInt(4 * GROUP) = 0
        for n in range(GROUP):
            size_of: UInt(8) = sizes[n]
            twice: UInt(8) = size_of << 1
            level: UInt(3) = 0
            with allo.meta_for(7) as t:
                with allo.meta_if(t % 2 == 0):
                    level += 1 if twice > step * (2 * t + 1) else 0
                with allo.meta_else():
                    level += 1 if twice >= step * (2 * t + 1) else 0
            is_below: UInt(1) = word[8 * n + 7 : 8 * n + 8]
            wide: UInt(4) = level
            four[4 * n : 4 * n + 4] = -wide if is_below == 1 else wide
        upper: UInt(4 * HD) = four
        joined: UInt(4 * HD) = (levels >> (4 * GROUP)) | (upper << (4 * (HD - GROUP)))
        levels = joined
        own: UInt(8 * (HD // GROUP)) = step
        told: UInt(8 * (HD // GROUP)) = (steps >> 8) | (own << (8 * (HD // GROUP) - 8))
        steps = told
        whole: UInt(8 * HD) = told
        short: UInt(8 * HD) = (whole << (4 * HD)) | joined
        is_query: UInt(1) = 1 if head < QUERIES else 0
        held = word >> (8 * GROUP)
        is_last: UInt(1) = 1 if piece == HD // GROUP - 1 else 0
        # A query's first group is gone from what is held: its word is put when it comes.
        if (is_query == 1 and piece == 0) or (is_query == 0 and is_last == 1):
            halved.put(word if is_query == 1 else short)
        following: UInt(8) = 0 if head == QUERIES + NEW - 1 else head + 1
        head = following if is_last == 1 else head
        piece = 0 if is_last == 1 else piece + 1


schedule_halve = pipelined("part", "sizes largest")


def halving(z: Sizes) -> Stage:
    """Behind the words of heads, and in front of what deals them to units."""
    HD, GROUP = z.model.head_dim, z.wide.cache_group
    sizes = HD, GROUP, GROUP.bit_length() - 1, z.heads, 2 * z.kv_heads, z.layers
    kernel = Kernel(halve, sizes, schedule_halve)
    HALVE = kernel.template

    @df.part()
    def part(packed: Stream[UInt(8 * HD), 4], halved: Stream[UInt(8 * HD), 4]):
        @df.kernel(mapping=[1])
        def halving():
            halve[*HALVE](packed, halved)

    return Stage(part, (kernel,), delay=lambda loops: loops.depth("halve", "part") + CALL)
