"""Equation (20): a block of tokens on one linear engine with one vector unit (prefill).

The small accelerator (``designs/llm/accelerator.py``) takes b tokens a step. A word of L weights is used
for all of them, so the engine takes b cycles for it, and the vector unit does norms, attention and
activations of the block between two jobs, an element a cycle. Time is in cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

from .data import Transformer
from .engine import StepTime, time_of_words

GROUP = 4
"""Activations in a word from the vector unit to the engine."""


@dataclass(frozen=True, slots=True)
class BlockDepths:
    """Cycles of one iteration of the loops, as the compiler's report has them.

    ``norm`` is that of a token; ``attend`` is that of a token without its keys.
    """

    multiply: float
    rescale: float
    embed: float
    norm: float
    attend: float
    qkv: float
    gelu: float
    take: float


def block_time(
    model: Transformer,
    lanes: int,
    prefetch: int,
    depths: BlockDepths,
    count: int,
    start: int,
    bytes_per_cycle: float = float("inf"),
    latency: float = 0.0,
) -> StepTime:
    """(20) T = b d + d_e + sum of (P_j + t_j) for ``count`` tokens b from position ``start`` l on.

    Before a job of d_j inputs its activations are sent, b d_j / 4 cycles. Before q, k and v and before
    the first feed-forward product stands a norm, b d_norm cycles; before the projection attention,
    b d_att + 2 heads sum over r < b of (l + r + 1). Behind each job the pipelines empty: d_mac + L +
    d_rescale, and the depth of the loop that takes the results.
    """
    rate = min(1.0, bytes_per_cycle / lanes)
    keys = sum(start + row + 1 for row in range(count))
    attention = count * depths.attend + 2 * model.heads * keys
    norm = count * depths.norm
    d, ffn = model.hidden, model.ffn
    layer = (
        (norm, d, 3 * d, depths.qkv),
        (attention, d, d, depths.take),
        (norm, d, ffn, depths.gelu),
        (0.0, ffn, d, depths.take),
    )
    jobs = [*(model.layers * layer), (norm, d, model.vocab, depths.take)]
    embedded = count * d + depths.embed
    ahead = min(float(prefetch), rate * max(0.0, embedded - latency))
    pauses, taken, total = embedded, 0.0, 0.0
    emptied = 0.0
    for before, inputs, outputs, taking in jobs:
        pause = emptied + before + count * inputs / GROUP
        ahead = min(float(prefetch), ahead + rate * pause)
        words = inputs * outputs / lanes
        cycles, ahead = time_of_words(words, ahead, rate, count)
        emptied = depths.multiply + lanes + depths.rescale + taking
        pauses += pause
        taken += cycles
        total += words
    memory = total * lanes / bytes_per_cycle
    return StepTime(pauses + taken + emptied, total * count, memory, pauses, taken - total * count)
