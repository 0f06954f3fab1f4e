# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Reading processes: they keep the keys and the values of each unit of attention, and read them ahead.

A unit that reads its memory itself holds up the stream in front of it in the cycle in which the memory makes
it wait. A process between both waits alone: a FIFO, whose ready is a register, has what it read.
"""

import allo.dataflow as df
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, int32

from ....stage import Kernel, Stage, pipelined
from ..stages.sizes import BlockSizes

AHEAD = 2
"""Words that may wait in front of a reading process, and behind it: two, whose FIFO is registers alone."""
RUN = 49
"""Bits of a run of words: the first one, and how many there are."""


def keep_shared[HD, H, ROOM, LAYERS, HELD, B](
    new: "Stream[UInt(8 * HD), 4]",
    runs: "Stream[UInt(49), 4]",
    count: int32,
    waves: int32,
    memory: "UInt(8 * HD)[HELD * H * ROOM]",
    kept: "Stream[UInt(8 * HD), 4]",
    layers: "UInt(8)",
):
    """Keeps the new words of each block, then reads those of every pass, in the order in which they are used.

    ``runs`` says of a block where each new word goes; then, for each of these, the first word that is read
    and how many are, which may be none. They are taken before the memory is used: so a loop that the memory
    may hold up waits for new words at most, and reads without waiting but for room.
    """
    begins: UInt(32)[2 * H * B]
    sizes: UInt(17)[2 * H * B]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        left: int32 = count
        for wave in range(last_wave + 1):
            n: UInt(16) = min(left, B)
            left = left - B
            come: UInt(16) = H * n
            both: UInt(16) = 2 * come
            for of in range(both):
                told: UInt(49) = runs.get()
                begins[of] = told[0:32]
                sizes[of] = told[32:49]
            for fresh in range(come):
                memory[begins[fresh]] = new.get()
            for run in range(come):
                begin: UInt(32) = begins[come + run]
                size: UInt(17) = sizes[come + run]
                for word in range(size):
                    kept.put(memory[begin + word])


def schedule_keep_shared(s: Schedule) -> Schedule:
    """A word a cycle."""
    return pipelined("of fresh word")(s)


def keeping(z: BlockSizes) -> Stage:
    """Two a unit, one for its keys and one for its values."""
    U, HD, CACHE = z.wide.heads, z.model.head_dim, z.cached
    sizes = HD, z.per_unit, z.room, z.layers, z.held, z.block.tokens
    kernels = (
        Kernel(keep_shared, sizes, schedule_keep_shared, "keys"),
        Kernel(keep_shared, sizes, schedule_keep_shared, "values"),
    )
    KEYS, VALUES = (kernel.template for kernel in kernels)

    @df.part()
    def part(
        count: int32, waves: int32, keys: UInt(8 * HD)[U, CACHE], values: UInt(8 * HD)[U, CACHE],
        new_keys: Stream[UInt(8 * HD), AHEAD][U], new_values: Stream[UInt(8 * HD), AHEAD][U],
        key_runs: Stream[UInt(RUN), AHEAD][U], value_runs: Stream[UInt(RUN), AHEAD][U],
        kept_keys: Stream[UInt(8 * HD), AHEAD][U], kept_values: Stream[UInt(8 * HD), AHEAD][U],
        layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[keys])
        def keeping_keys(cache: UInt(8 * HD)[U, CACHE]):
            u = df.get_pid()
            keep_shared[*KEYS](
                new_keys[u], key_runs[u], count, waves, cache[u], kept_keys[u], layers
            )

        @df.kernel(mapping=[U], args=[values])
        def keeping_values(cache: UInt(8 * HD)[U, CACHE]):
            u = df.get_pid()
            keep_shared[*VALUES](
                new_values[u], value_runs[u], count, waves, cache[u], kept_values[u], layers
            )

    return Stage(part, kernels, banks={"keys": 1, "values": 1})
