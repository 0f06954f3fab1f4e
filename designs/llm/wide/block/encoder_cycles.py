"""Cycles in which the accelerator for blocks encodes a sequence, predicted from the report and the memory.

The jobs are those of :mod:`cycles`. What differs is attention, which begins when the keys of all blocks
are there, the norms, whose results come back to where residuals are added, and the end: there are
no logits, and the last norm is of all tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...config import Architecture
from ..cycles import IDEAL, Channel, StepPrediction
from ..parameters import Wide, job_words
from ..stages.linear import CALL
from .cycles import Step
from .parameters import Block


@dataclass(slots=True)
class _Encoding(Step):
    """The recurrence of an encoder."""

    def norm(self, ready: float, tokens: int, last: bool = False) -> float:
        """When the norms of a block are there, whose last residual comes at ``ready``.

        Args:
            last: whether this is the last norm, whose results are written and do not come back.
        """
        loops = self.loops
        total: float = tokens * self.config.d // self.wide.vector
        added = max(ready, self.summing.free + total) + loops.depth("collect", "plus")
        first = added + loops.depth("collect", "row") + loops.depth("turning_0", "row")
        normed: float = first + self.norms(tokens) + loops.depth("normalise_rows", "token")
        normed += loops.depth("merging_0", "piece")
        if last:
            self.summing.free = added + total
            return normed + loops.depth("say_block", "out")
        back = max(added + 2 * total, normed) + loops.depth("collect", "again")
        self.summing.free = back + CALL
        return normed + self.arrange("normed")

    def encode(self, keys_there: float, values_there: float) -> list[float]:
        """When attention of each block is arranged, from when the last keys and values are there."""
        loops, wide, config = self.loops, self.wide, self.config
        heads, count = config.heads // wide.heads, sum(self.sizes)
        score, mix = (self.unit(kernel) for kernel in ("score_block", "mix_block"))
        pieces = wide.heads * (config.head_dim // wide.vector)
        depth: float = loops.depth(mix, "key") + loops.depth("collecting_0", "head")
        depth += loops.depth("divide_block", "out") + pieces + self.arrange("attended")
        # A row is mixed when it has been scored, and the values are there.
        scored = keys_there + CALL + loops.depth(score, "key") + count
        at = max(values_there + CALL, scored)
        attended = []
        for size in self.sizes:
            at += heads * size * count + CALL
            attended.append(at + depth)
        return attended


def predict_encoding(
    report: Any,
    config: Architecture,
    wide: Wide,
    block: Block,
    count: int,
    channel: Channel = IDEAL,
) -> StepPrediction:
    """Predict the cycles in which a sequence of ``count`` tokens is encoded.

    Args:
        report: the ``DesignReport`` of the accelerator.
        channel: what each channel of the weights gives.
    """
    step = _Encoding.of(report, config, wide, block, [count] * count, channel)
    loops, sizes = step.loops, step.sizes
    (qkv, projected, up, down), _ = job_words(config, wide)
    embed = config.d // wide.vector + loops.depth("embed_block", "row") + CALL
    there = [step.norm(step.summing.free + size * embed, size) for size in sizes]
    packed = loops.depth("pack_block", "out") + loops.depth("dealing_0", "head") + CALL
    for layer in range(config.layers):
        done = [at + packed for at in step.job(there, qkv)]
        keys_there = done[-1] - qkv * -(-sizes[-1] // block.rows) / 3
        attended = step.encode(keys_there, done[-1])
        summed = step.job(attended, projected)
        there = [step.norm(ready, size) for size, ready in zip(sizes, summed, strict=True)]
        summed = step.job(step.bend(there, up), down)
        last = layer == config.layers - 1
        there = [step.norm(ready, size, last) for size, ready in zip(sizes, summed, strict=True)]
    memory = config.layers * len(sizes) * (qkv + projected + up + down)
    return step.ended(there[-1], memory, channel)
