"""The loaders of a design with several models, which read what a call names."""

import allo.dataflow as df
from allo.ir.types import Stream, UInt, int32

from ....stage import Kernel, Stage, pipelined
from ..stages.sizes import BlockSizes
from .resident import residents


def fetch_some[BITS, WORDS](
    memory: "UInt(BITS)[WORDS]",
    begin: int32,
    count: int32,
    words: "Stream[UInt(BITS), 2]",
):
    """``count`` words of a memory from ``begin`` on, as far ahead of their use as the stream is deep."""
    for load in range(count):
        words.put(memory[begin + load])


def fetching(bits: int, words: int, name: str) -> Kernel:
    """A loader of some of so many words."""
    return Kernel(fetch_some, (bits, words), pipelined("load"), name)


def loading(z: BlockSizes) -> Stage:
    """One loader a channel."""
    C, L, PREFETCH = z.wide.channels, z.wide.lanes, z.wide.prefetch
    WORDS = sum(one.words for one in residents(z.model, z.wide, z.block))
    kernel = fetching(8 * L, WORDS, "weights")
    FETCH = kernel.template

    @df.part()
    def part(
        words_at: int32, words_read: int32, weights: UInt(8 * L)[C, WORDS],
        words: Stream[UInt(8 * L), PREFETCH][C],
    ):  # fmt: skip
        @df.kernel(mapping=[C], args=[weights])
        def loader(memory: UInt(8 * L)[C, WORDS]):
            c = df.get_pid()
            fetch_some[*FETCH](memory[c], words_at, words_read, words[c])

    return Stage(part, (kernel,), banks={"weights": 1})


def factors_loading(z: BlockSizes) -> Stage:
    """The loader of factors and biases of the sums."""
    BITS = 32 * z.terms[0] * z.wide.vector
    WORDS = sum(one.sums for one in residents(z.model, z.wide, z.block))
    kernel = fetching(BITS, WORDS, "affine")
    FETCH = kernel.template

    @df.part()
    def part(
        sums_at: int32, sums_read: int32, affine: UInt(BITS)[WORDS], affines: Stream[UInt(BITS), 64]
    ):
        @df.kernel(mapping=[1], args=[affine])
        def affine_loader(memory: UInt(BITS)[WORDS]):
            fetch_some[*FETCH](memory, sums_at, sums_read, affines)

    return Stage(part, (kernel,))


def gains_loading(z: BlockSizes) -> Stage:
    """A loader for each unit of norms."""
    BITS, N = z.gain, z.block.norms
    WORDS = sum(one.gains for one in residents(z.model, z.wide, z.block))
    kernel = fetching(BITS, WORDS, "gain")
    FETCH = kernel.template

    @df.part()
    def part(
        gains_at: int32, gains_read: int32, norm_table: UInt(BITS)[N, WORDS],
        gains: Stream[UInt(BITS), 64][N],
    ):  # fmt: skip
        @df.kernel(mapping=[N], args=[norm_table])
        def norm_loader(memory: UInt(BITS)[N, WORDS]):
            u = df.get_pid()
            fetch_some[*FETCH](memory[u], gains_at, gains_read, gains[u])

    return Stage(part, (kernel,), banks={"norm_table": 1})
