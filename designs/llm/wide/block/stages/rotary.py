"""Stages of rotary positions for blocks: angles are looked up, and queries and keys turned by them."""

import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import Kernel, Stage
from ..rotary import rotate_block, schedule_rotate_block, schedule_take_angles, take_angles
from .sizes import BlockSizes


def stages(z: BlockSizes) -> tuple[Stage, Stage]:
    """Both stages, of a family with rotary positions."""
    return taking(z), turning(z)


def taking(z: BlockSizes) -> Stage:
    """Reads the angles of a head at the position of each token."""
    m, V = z.model, z.wide.vector
    WORDS, MOST = m.context * m.head_dim // V, z.block.most
    kernel = Kernel(take_angles, (m.head_dim, V, m.context, MOST), schedule_take_angles)
    TAKE = kernel.template

    @df.part()
    def part(
        positions: int32[MOST], count: int32, position_table: UInt(32 * V)[WORDS],
        angles: Stream[UInt(32 * V), 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[positions, position_table])
        def taking_angles(given_positions: int32[MOST], rows: UInt(32 * V)[WORDS]):
            take_angles[*TAKE](rows, given_positions, count, angles)

    return Stage(part, (kernel,))


def turning(z: BlockSizes) -> Stage:
    """Turns queries and keys."""
    m, V, C, hd = z.model, z.wide.vector, z.wide.channels, z.model.head_dim
    to_turn = (m.heads + m.kv_heads) * hd
    sizes = to_turn, z.qkv, hd, V, C, z.layers, z.block.tokens, z.block.most
    kernel = Kernel(rotate_block, sizes, schedule_rotate_block)
    ROTATE = kernel.template

    @df.part()
    def part(
        count: int32, waves: int32, projected: Stream[float32[V], 4],
        angles: Stream[UInt(32 * V), 4], turned: Stream[float32[V], 4], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def rotating():
            rotate_block[*ROTATE](projected, angles, count, waves, turned, layers)

    return Stage(part, (kernel,))
