"""Sizes of the stages for one token a step: an accelerator's width, and its share of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...checkpoints.quantize import finest_shift
from ...config import Architecture
from ...ternary.elements import TOTAL
from ..families.model import job_sizes, terms
from ..parameters import Wide, padded_vocab
from ..tokens.nibbles import MORE


@dataclass(frozen=True, slots=True)
class Device:
    """Which of several devices an accelerator is.

    Attributes:
        stage, part: of the pipeline, and of the devices that share the layers of a stage.
        parts: devices that share a layer.
        stages: of the pipeline.
        sequences, rounds: that a run decodes in turns, and the tokens of each.
    """

    stage: int
    part: int
    parts: int
    stages: int
    sequences: int
    rounds: int

    @property
    def number(self) -> int:
        """Its row of the arrays that all devices share."""
        return self.stage * self.parts + self.part

    @property
    def is_last(self) -> bool:
        """Whether it has the logits."""
        return self.stage == self.stages - 1


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of an accelerator's share of a model, which may be all of it.

    Attributes:
        model: the whole model.
        layers, heads, kv_heads, ffn: of the share.
        inner: width of its heads together, the inputs of the projection.
        qkv, up: outputs of the first and the third job of a layer.
        outputs: logits that it computes; 0 for none.
        device: which one of several it is; None for one alone.
        kind: what stands behind the names of kernels that not all devices have alike.
    """

    model: Architecture
    wide: Wide
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    inner: int
    qkv: int
    up: int
    outputs: int
    device: Device | None = None
    kind: str = ""

    @property
    def d(self) -> int:
        """The hidden width."""
        return self.model.d

    @property
    def rows(self) -> int:
        """Words of V elements of the hidden width."""
        return self.model.d // self.wide.vector

    @property
    def steps(self) -> int:
        """Tokens of a run."""
        return self.device.sequences * self.device.rounds if self.device else 1

    @property
    def jobs(self) -> int:
        """Jobs of a token: four a layer, and the logits."""
        return 4 * self.layers + min(self.outputs, 1)

    @property
    def sums(self) -> int:
        """Sums of a token."""
        return self.layers * (self.qkv + self.d + self.up + self.d) + self.outputs

    @property
    def extra(self) -> int:
        """Bits above a word of activations: by how much a block's levels are finer, with steps of tokens."""
        return 4 if self.wide.block else 0

    @property
    def more(self) -> int:
        """Bits above a word that spreads to the elements.

        They are ``extra``, or of each half also its sum, or with ternary weights the sum of all words so far.
        """
        if self.wide.trits:
            return TOTAL
        return 2 * MORE if self.wide.group else self.extra

    @property
    def shift(self) -> int:
        """By how much they can be finer."""
        return finest_shift(self.model, self.wide.group) if self.wide.block else 0

    @property
    def kept_bits(self) -> int:
        """Bits of a key, or a value, as a unit takes it: with four bits an element, steps above them."""
        width, group = self.model.head_dim, self.wide.kept_group
        return 4 * width + 8 * (width // group) if group else 8 * width

    @property
    def norms(self) -> int:
        """Norms of a token."""
        return 2 * self.layers + min(self.outputs, 1)

    @property
    def terms(self) -> tuple[int, int]:
        """Numbers of the tables for a sum, and for an element of a norm."""
        return terms(self.model)

    @property
    def per_unit(self) -> int:
        """Heads of keys and values that a unit of attention has."""
        return self.kv_heads // self.wide.heads

    @property
    def group(self) -> int:
        """Queries that share a head of keys and values."""
        return self.heads // self.kv_heads

    @property
    def is_outside(self) -> bool:
        """Whether keys and values are in external memory."""
        return self.wide.cache != "chip"

    @property
    def is_merged(self) -> bool:
        """Whether the channels of the weights hold keys and values, and have one reader each."""
        return self.wide.cache == "channels"

    @property
    def tables_ahead(self) -> int:
        """Words of gains, and of factors and biases, that may wait for their processes.

        Where both come in one order, those of a norm's sums come in front of its gains, which it takes at
        the same time where each token has a step.
        """
        return max(64, self.rows) if self.is_merged and self.wide.block else 64

    @property
    def bending(self) -> int:
        """Words that may wait in front of GELU, which takes one in several cycles.

        A single one is a register. More are a memory, whose output would stand in front of the choice of
        an operand.
        """
        return 1 if self.is_merged and self.wide.gelu_interval > 1 else 4

    @property
    def bank(self) -> int:
        """The dimension up to which an array of the units has memories of its own."""
        return 2 if self.device else 1

    def of_device(self, dtype: Any, *shape: int) -> Any:
        """The type of an argument of which every device has a row, if there are several."""
        return dtype[(self.device.parts * self.device.stages, *shape) if self.device else shape]

    @property
    def place(self) -> tuple[bool, int, int, int]:
        """Whether it is alone, its number, and the sequences and rounds of a run."""
        device = self.device
        return (
            (False, device.number, device.sequences, device.rounds) if device else (True, 0, 1, 1)
        )

    def cache(self, dtype: Any) -> Any:
        """The type of keys and of values: of every unit, and with several devices of every sequence."""
        sequences = (self.device.sequences,) if self.device else ()
        return self.of_device(dtype, self.wide.heads, *sequences, self.cached)

    @property
    def cached(self) -> int:
        """Words of a head's width that a unit keeps of keys, and as many of values."""
        return self.layers * self.per_unit * self.model.context


def sizes_of(config: Architecture, wide: Wide) -> Sizes:
    """The sizes of an accelerator that has a whole model."""
    (qkv, _), _, (up, _), _ = job_sizes(config)
    return Sizes(
        config,
        wide,
        config.layers,
        config.heads,
        config.kv_heads,
        config.ffn,
        config.d,
        qkv,
        up,
        padded_vocab(config, wide),
    )
