"""A design that has a model and its draft head: a call says which of them it runs, and where that lies.

Weights, tables, keys and values of both lie in the same memories, the model's first. What a call says are
numbers: how many layers it runs and from which on, whether a product enters before them, how many logits
there are, and from which words on weights, factors and gains are read.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ....config import Architecture
from ...host import PositionError
from ...memories import Memories
from ...parameters import Wide, channel_size
from ..parameters import Block
from ..stages.sizes import BlockSizes, block_sizes_of

CALL = (
    "layers", "enters", "last_outs", "first_layer", "words_at", "words_read", "sums_at", "sums_read",
    "gains_at", "gains_read",
)  # fmt: skip
"""What a call says, beside its rows."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A model in a design with several.

    Attributes:
        sizes: its own, as in a design of its own, with the same bits.
        first_layer: the first of its layers, among those of the design.
        words_at: its first word of a channel's weights.
        sums_at, gains_at: its first word of factors, and of gains.
        tokens_at: its first row of embeddings.
    """

    sizes: BlockSizes
    first_layer: int = 0
    words_at: int = 0
    sums_at: int = 0
    gains_at: int = 0
    tokens_at: int = 0

    def behind(self, sizes: BlockSizes) -> Resident:
        """Another one, in what is behind this one in all memories."""
        return Resident(
            sizes,
            self.first_layer + self.sizes.model.layers,
            self.words_at + self.words,
            self.sums_at + self.sums,
            self.gains_at + self.gains,
            self.tokens_at + self.sizes.known,
        )

    @property
    def words(self) -> int:
        """Words of weights of a channel."""
        return self.sizes.entering + channel_size(self.sizes.model, self.sizes.wide)

    @property
    def sums(self) -> int:
        """Words of factors."""
        return self.sizes.sums // self.sizes.wide.vector

    @property
    def gains(self) -> int:
        """Words of gains."""
        return self.sizes.norms * self.sizes.model.d // self.sizes.wide.vector

    @property
    def first_key(self) -> int:
        """Its first key, and value, of those of a unit."""
        return self.first_layer * self.sizes.per_unit * self.sizes.room

    @property
    def keys(self) -> slice:
        """Its keys, and values, of those of a unit."""
        count = self.sizes.model.layers * self.sizes.per_unit * self.sizes.room
        return slice(self.first_key, self.first_key + count)

    def call(self) -> tuple[int, ...]:
        """What a call says, in the order of :data:`CALL`."""
        z = self.sizes
        read = self.words_at, self.words, self.sums_at, self.sums, self.gains_at, self.gains
        return z.model.layers, z.enters, z.outs, self.first_layer, *read

    def check(self, memories: Memories) -> None:
        """Refuse a call that goes beyond the memories of a design.

        Raises:
            PositionError: naming what it asks for, and what there is.
        """
        weights, factors, gains, *_, exponents, _ = memories.constant
        for what, last, there in (
            ("layer", self.first_layer + self.sizes.model.layers, exponents.shape[1]),
            ("word of weights", self.words_at + self.words, weights.shape[1]),
            ("word of factors", self.sums_at + self.sums, len(factors)),
            ("word of gains", self.gains_at + self.gains, gains.shape[1]),
        ):
            if last > there:
                raise PositionError(
                    f"A call runs up to {what} {last} of an accelerator that was built for {there}.",
                    help="run the model or the draft head that it was built for (make_both).",
                )


@dataclass(slots=True)
class Shared(Memories):
    """Memories of a design with several models, as one of these is run with them."""

    resident: Resident = dataclasses.field(kw_only=True)


def residents(config: Architecture, wide: Wide, block: Block) -> tuple[Resident, Resident]:
    """The model of a design, and its draft head."""
    alone = dataclasses.replace(block, draft=0)
    model = Resident(block_sizes_of(config, wide, dataclasses.replace(alone, entrance=0)))
    head = dataclasses.replace(config, layers=1, vocab=block.draft)
    return model, model.behind(block_sizes_of(head, wide, alone))
