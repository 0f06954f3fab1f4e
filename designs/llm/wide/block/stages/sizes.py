"""Sizes of the stages for blocks of tokens: an accelerator's width, and the model."""

from __future__ import annotations

from dataclasses import dataclass

from ....checkpoints.quantize import finest_shift
from ....config import Architecture
from ...families.model import all_sums, job_sizes, terms
from ...parameters import Wide, padded_vocab
from ..parameters import (
    Block,
    cached_words,
    entrance_words,
    held_layers,
    lane_words,
    said_block_words,
)


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """The sizes of an accelerator for blocks.

    Attributes:
        model, wide, block: what they follow from.
    """

    model: Architecture
    wide: Wide
    block: Block

    @property
    def encoder(self) -> int:
        """1 for an encoder: all tokens are normed in the end, and it keeps a layer's keys and values."""
        return int(self.model.post_norm)

    @property
    def norms(self) -> int:
        """Norms of a token."""
        return 2 * self.model.layers + 1

    @property
    def layers(self) -> int:
        """Layers of every call; 0 where a call says how many."""
        return 0 if self.block.draft else self.model.layers

    @property
    def held(self) -> int:
        """Layers that have keys and values: the model's, and that of its draft head."""
        return held_layers(self.model, self.block)

    @property
    def known(self) -> int:
        """Rows of embeddings: of an entrance, or of the vocabulary; or of both."""
        own = self.model.vocab if self.block.draft or not self.block.entrance else 0
        return own + self.block.entrance

    @property
    def room(self) -> int:
        """Keys of a head that a unit keeps in a layer: of all its sequences, or an encoder's step."""
        return self.block.most if self.encoder else self.block.slots * self.model.context

    @property
    def scores(self) -> int:
        """Scores of a query at most."""
        return self.block.most if self.encoder else self.model.context

    @property
    def qkv(self) -> int:
        """Outputs of the first job of a layer."""
        return job_sizes(self.model)[0][0]

    @property
    def up(self) -> int:
        """Outputs of the third job of a layer."""
        return job_sizes(self.model)[2][0]

    @property
    def terms(self) -> tuple[int, int]:
        """Numbers of the tables for a sum, and for an element of a norm."""
        return terms(self.model)

    @property
    def per_unit(self) -> int:
        """Heads of keys and values that a unit of attention has."""
        return self.model.kv_heads // self.wide.heads

    @property
    def group(self) -> int:
        """Queries that share a head of keys and values."""
        return self.model.heads // self.model.kv_heads

    @property
    def asked(self) -> int:
        """Queries and keys of a block that a unit has."""
        return self.per_unit * (self.group + 1) * self.block.tokens

    @property
    def given(self) -> int:
        """Values of two blocks that a unit has."""
        return 2 * self.per_unit * self.block.tokens

    @property
    def plan(self) -> int:
        """Bits of what a unit of attention whose queries share a key is told of a pass."""
        return 32 + self.block.queries * (32 + self.block.queries)

    @property
    def plans(self) -> int:
        """Words of these that may wait: its passes of a block are told before its first key is read."""
        return max(16, self.per_unit * self.block.tokens)

    @property
    def passed(self) -> int:
        """Bits that it gives of a pass: sums, and which tokens there are."""
        tokens = self.block.queries
        return 32 * (self.model.head_dim + 1) * self.group * tokens + tokens

    @property
    def outputs(self) -> int:
        """Logits, padded to whole words."""
        return padded_vocab(self.model, self.wide)

    @property
    def outs(self) -> int:
        """Logits of a channel."""
        return self.outputs // self.wide.channels

    @property
    def sums(self) -> int:
        """Sums of a token."""
        return all_sums(self.model, self.outputs) + self.enters * self.model.d

    @property
    def layer_sums(self) -> int:
        """Sums of a token in a layer."""
        return all_sums(self.model, 0) // self.model.layers

    @property
    def gain(self) -> int:
        """Bits of a word of the norms' table."""
        return 32 * self.terms[1] * self.wide.vector

    @property
    def both(self) -> int:
        """Bits of V results of a norm: quantised, and of an encoder in float32, too."""
        return (40 if self.encoder else 8) * self.wide.vector + self.extra

    @property
    def extra(self) -> int:
        """Bits above activations: by how much their levels are finer, with steps of tokens."""
        return 4 if self.wide.block else 0

    @property
    def shift(self) -> int:
        """By how much they can be finer."""
        return finest_shift(self.model, self.wide.group) if self.wide.block else 0

    def words(self, width: int) -> int:
        """Words of L activations that so many fill, the last one in part."""
        return -(-width // self.wide.lanes)

    @property
    def word(self) -> int:
        """Bits of a word of L activations of R tokens."""
        return (8 * self.wide.lanes + self.extra) * self.block.rows

    @property
    def lanes(self) -> int:
        """Tokens that residuals, norms and their arranging take beside each other."""
        return self.block.row_lanes

    @property
    def joined(self) -> tuple[str, ...]:
        """Activations that are arranged of what lanes of rows give."""
        names = {"normed": self.lanes > 1, "bent": self.wide.block > 0}
        return tuple(name for name, joined in names.items() if joined)

    @property
    def log_lanes(self) -> int:
        """Their logarithm."""
        return self.lanes.bit_length() - 1

    @property
    def rounds(self) -> int:
        """Words of R tokens that a step has at most."""
        return -(-self.block.most // self.block.tokens) * (self.block.tokens // self.block.rows)

    @property
    def inverse(self) -> int:
        """The inverse of R, in steps of 1 / 65536."""
        return 65536 // self.block.rows + 1

    @property
    def groups(self) -> int:
        """Groups of elements that the words of activations are given to, and sums taken from."""
        return -(-self.wide.channels // 8)

    @property
    def cached(self) -> int:
        """Words of a head's width that a unit keeps of keys, and of values."""
        return cached_words(self.model, self.wide, self.block)

    @property
    def enters(self) -> int:
        """1 where a product goes before the layers."""
        return int(self.block.entrance > 0)

    @property
    def entering(self) -> int:
        """Words of a channel in the job of an entrance."""
        return self.enters * entrance_words(self.model, self.wide)

    @property
    def given_words(self) -> int:
        """Words of V levels of a token in each lane that a step is given."""
        return lane_words(self.block.most, self.model, self.wide, self.block)

    @property
    def ended(self) -> int:
        """Words of V levels of a token in each lane that a step tells of what it ends in."""
        return lane_words(self.block.spoken, self.model, self.wide, self.block)

    @property
    def piece(self) -> int:
        """Bits of V levels of a token in each lane of rows."""
        return (8 * self.wide.vector + self.extra) * self.lanes

    @property
    def said(self) -> int:
        """Words of V float32 that a step writes."""
        return said_block_words(self.model, self.wide, self.block)


def block_sizes_of(config: Architecture, wide: Wide, block: Block) -> BlockSizes:
    """The sizes of an accelerator for blocks."""
    return BlockSizes(config, wide, block)
