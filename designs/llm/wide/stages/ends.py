"""The first and the last stage of an accelerator alone: embedding, and what is said of the logits."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ...stage import Kernel, Loops, Stage
from ..candidates.topk import keep_largest, schedule_keep_largest
from ..families.model import position_row
from ..parameters import lists, said_words
from .sizes import Sizes


def embedding(z: Sizes) -> Stage:
    """The token's row and, of a family with learned positions, the position's row, added."""
    m, V, ROTARY, ROWS = z.model, z.wide.vector, bool(z.model.rotary), z.rows
    ANGLES = m.head_dim // V
    TOKENS, POSITIONS = m.vocab * m.d // V, m.context * position_row(m) // V

    @df.part()
    def part(
        token: int32, start: int32, token_table: UInt(32 * V)[TOKENS],
        position_table: UInt(32 * V)[POSITIONS], embedded: Stream[float32[V], 4],
        angles: Stream[UInt(32 * V), 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[token_table, position_table])
        def embedding(token_rows: UInt(32 * V)[TOKENS], position_rows: UInt(32 * V)[POSITIONS]):
            with allo.meta_if(ROTARY):
                for part in range(ANGLES):
                    angles.put(position_rows[start * ANGLES + part])
            for row in range(ROWS):
                left: UInt(32 * V) = token_rows[token * ROWS + row]
                block: float32[V]
                with allo.meta_if(ROTARY):
                    for w in range(V):
                        bits: UInt(32) = left[32 * w : 32 * w + 32]
                        block[w] = bits.bitcast()
                with allo.meta_else():
                    right: UInt(32 * V) = position_rows[start * ROWS + row]
                    for v in range(V):
                        a_bits: UInt(32) = left[32 * v : 32 * v + 32]
                        b_bits: UInt(32) = right[32 * v : 32 * v + 32]
                        a: float32 = a_bits.bitcast()
                        b: float32 = b_bits.bitcast()
                        block[v] = a + b
                embedded.put(block)

    def delay(loops: Loops) -> float:
        angles = loops.depth("embedding_0", "part") + ANGLES if ROTARY else 0
        return loops.depth("embedding_0", "row") + ROWS + angles

    return Stage(
        part,
        loops=("embedding:row", *(("embedding:part",) if ROTARY else ())),
        registers=("embedding:block",),
        delay=delay,
    )


def ranking(z: Sizes) -> Stage:
    """Keeps the largest logits, of those that ``saying`` passes on or of all."""
    V, wide = z.wide.vector, z.wide
    kernel = Kernel(
        keep_largest,
        (V, lists(z.model, wide), wide.top, z.model.vocab, z.outputs // V),
        schedule_keep_largest,
    )
    KEEP = kernel.template

    @df.part()
    def part(ranked: Stream[float32[V], 4], found: Stream[UInt(64), 4]):
        @df.kernel(mapping=[1])
        def ranking():
            keep_largest[*KEEP](ranked, found)

    def delay(loops: Loops) -> float:
        return (lists(z.model, wide) + 1) * wide.top + loops.depth("keep_largest", "turn")

    return Stage(part, (kernel,), delay=delay)


def saying(z: Sizes) -> Stage:
    """Writes the logits, and with ``top`` the largest of them, which :mod:`..candidates.topk` keeps."""
    V, TOP, EVERY, WORDS = z.wide.vector, z.wide.top, z.wide.all_logits, z.outputs // z.wide.vector
    SAID = said_words(z.model, z.wide)

    @df.part()
    def part(
        logits: UInt(32 * V)[SAID], said: Stream[float32[V], 4], ranked: Stream[float32[V], 4],
        found: Stream[UInt(64), 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[logits])
        def saying(memory: UInt(32 * V)[SAID]):
            with allo.meta_if(EVERY):
                for out in range(WORDS):
                    block: float32[V] = said.get()
                    word: UInt(32 * V) = 0
                    for v in range(V):
                        bits: UInt(32) = block[v].bitcast()
                        word[32 * v : 32 * v + 32] = bits
                    memory[out] = word
                    with allo.meta_if(TOP > 0):
                        ranked.put(block)
            with allo.meta_if(TOP > 0):
                for place in range(TOP):
                    memory[SAID - TOP + place] = found.get()

    loops = (*(("saying:place",) if TOP else ()), *(("saying:out",) if EVERY else ()))
    return Stage(
        part,
        loops=loops,
        registers=("saying:block",) if EVERY else (),
        delay=lambda found: found.depth("saying_0", "out") if EVERY else 0,
    )
