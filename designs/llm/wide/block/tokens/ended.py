"""What rows end in behind the last norm, as the elements take it: levels of each row, and its step.

The hardware tells words of V levels of a row in each lane, above which four bits say by how much they are
finer; row r of the last ones lies in lane r mod W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allo.utils import get_np_struct_type

from ....checkpoints.quantize import QuantizedModel, finest_shift
from ....network.reference import F32
from ...parameters import Wide
from ..parameters import Block

FINER = 4
"""Bits above V levels."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What rows end in.

    Attributes:
        levels: whole numbers, of each row times 2 to the power of ``shift``, (rows, width) int32.
        steps: float32, (rows, 1).
    """

    levels: np.ndarray
    steps: np.ndarray
    shift: int

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, rows: int | list[int]) -> Ended:
        """Some of the rows."""
        chosen = np.atleast_1d(rows)
        return Ended(self.levels[chosen], self.steps[chosen], self.shift)

    @property
    def values(self) -> np.ndarray:
        """The values that these stand for, float32."""
        found: np.ndarray = self.levels * F32(2.0**-self.shift) * self.steps
        return found


def beside(parts: Sequence[Ended]) -> Ended:
    """The rows of all, in this order."""
    levels, steps = (np.concatenate([getattr(of, n) for of in parts]) for n in ("levels", "steps"))
    return Ended(levels, steps, parts[0].shift)


def empty_ended(words: int, rows: int, wide: Wide, block: Block) -> tuple[np.ndarray, ...]:
    """Memories for so many words of levels, and the steps of rows."""
    bits = (8 * wide.vector + FINER) * block.row_lanes
    cell = 1 << ((bits - 1) // 8).bit_length()
    word = get_np_struct_type(bits) if bits > 64 else np.dtype(f"u{cell}")
    return np.zeros(words, word), np.zeros(rows, np.float32)


def read_ended(
    told: tuple[np.ndarray, ...], weights: QuantizedModel, wide: Wide, block: Block, rows: int
) -> Ended:
    """What the first ``rows`` of these memories hold."""
    words, steps = told
    v, lanes, d = wide.vector, block.row_lanes, weights.config.d
    raw = words.view(np.uint8).reshape(len(words), -1)
    bits = np.unpackbits(raw, axis=1, bitorder="little")
    # Rows of lanes, pieces, lanes, bits.
    pieces = bits[:, : (8 * v + FINER) * lanes].reshape(-1, d // v, lanes, 8 * v + FINER)
    pieces = pieces.transpose(0, 2, 1, 3).reshape(-1, d // v, 8 * v + FINER)[:rows]
    levels = np.packbits(pieces[..., : 8 * v], axis=-1, bitorder="little").view(np.int8)
    finer = pieces[..., 8 * v :] @ (1 << np.arange(FINER))
    shift = finest_shift(weights.config, wide.group)
    raised = levels.astype(np.int32) << (shift - finer).astype(np.int32)[..., None]
    return Ended(raised.reshape(rows, d), steps[:rows, None].copy(), shift)


def write_given(memories: tuple[np.ndarray, ...], given: Ended, wide: Wide, block: Block) -> None:
    """Put what rows are given into these memories, as rows that ended in it would be told."""
    words, steps = memories
    v, lanes, (rows, d) = wide.vector, block.row_lanes, given.levels.shape
    # The coarsest levels that give the same products; those of a block are alike.
    blocks = given.levels.reshape(rows, -1, wide.block)
    together = np.bitwise_or.reduce(np.abs(blocks), -1)
    trailing = np.log2(np.maximum(together & -together, 1)).astype(np.int64)
    coarser = np.where(together, np.minimum(trailing, given.shift), given.shift)
    levels = (blocks >> coarser[..., None]).astype(np.int8).reshape(rows, d // v, v)
    finer = np.repeat(given.shift - coarser, wide.block // v, axis=1).astype(np.uint8)
    pieces = np.zeros((-(-rows // lanes) * lanes, d // v, 8 * v + FINER), np.uint8)
    pieces[:rows, :, : 8 * v] = np.unpackbits(levels.view(np.uint8), axis=-1, bitorder="little")
    pieces[:rows, :, 8 * v :] = np.unpackbits(finer[..., None], axis=-1, bitorder="little")[
        ..., :FINER
    ]
    bits = pieces.reshape(-1, lanes, d // v, 8 * v + FINER).transpose(0, 2, 1, 3)
    raw = np.packbits(bits.reshape(-1, lanes * (8 * v + FINER)), axis=-1, bitorder="little")
    words.view(np.uint8).reshape(len(words), -1)[: len(raw), : raw.shape[1]] = raw
    steps[:rows] = given.steps[:, 0]
