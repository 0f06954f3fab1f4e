"""Schedule the wide accelerator: the schedules of its kernels, composed, and its own loops."""

from __future__ import annotations

from typing import Any

import allo

from .activation import bend, schedule_bend
from .candidates.topk import keep_largest, schedule_keep_largest
from .external.attend import (
    keep,
    mix_ahead,
    schedule_keep,
    schedule_mix_ahead,
    schedule_score_ahead,
    score_ahead,
)
from .families.gated import gate, part, schedule_gate, schedule_part
from .families.model import Model, all_sums, architecture_of, job_sizes, terms
from .families.relu import cut, schedule_cut
from .families.rotary import rotate, schedule_rotate
from .heads import (
    divide,
    mix,
    pack,
    schedule_divide,
    schedule_mix,
    schedule_pack,
    schedule_score,
    score,
)
from .linear import fetch, multiply, rescale, schedule_fetch, schedule_multiply, schedule_rescale
from .nibbles import multiply_nibbles, schedule_multiply_nibbles
from .norm import normalise, schedule_normalise
from .parameters import Wide, channel_size, lists, padded_vocab
from .region import make_region


def schedule(config: Model, wide: Wide) -> Any:
    """The region with its schedule applied, kernels below it first.

    Raises:
        WidthError: the parameters do not fit the model.
    """
    s = make_region(config, wide)
    d, ffn, layers, hd = config.d, config.ffn, config.layers, config.head_dim
    c, lanes, v, units = wide.channels, wide.lanes, wide.vector, wide.heads
    m, outputs = architecture_of(config), padded_vocab(config, wide)
    (qkv, _), _, (up, _), _ = job_sizes(config)
    per_sum, per_element = terms(config)
    unit = hd, m.kv_heads // units, m.heads // m.kv_heads, config.context, layers
    logs = v.bit_length() - 1, wide.parts.bit_length() - 1

    def of(kernel: Any, *sizes: int) -> Any:
        return allo.customize(kernel, instantiate=list(sizes))

    for name, bits, count in (
        ("weights", 8 * lanes, channel_size(config, wide)),
        ("affine", 32 * per_sum * v, all_sums(config, outputs) // v),
        ("gain", 32 * per_element * v, (2 * layers + 1) * d // v),
    ):
        s.compose(schedule_fetch(of(fetch, bits, count)), id=name)
    jobs = up, ffn, layers, outputs // c
    if wide.bits == 4:
        s.compose(schedule_multiply_nibbles(of(multiply_nibbles, lanes, c, d, qkv, *jobs)))
    else:
        s.compose(schedule_multiply(of(multiply, lanes, c, d, qkv, d, *jobs)))
    sums = v, d, qkv, up, layers, outputs, per_sum
    s.compose(schedule_rescale(of(rescale, *sums), wide.rescale_interval))
    norm = d, v, logs[0], wide.parts, logs[1], 2 * layers + 1, per_element
    s.compose(schedule_normalise(of(normalise, *norm)))
    if m.gated:
        s.compose(schedule_part(of(part, layers * up // v, v)))
        s.compose(schedule_gate(of(gate, ffn, v, layers), wide.gelu_interval))
    elif m.activation == "relu":
        s.compose(schedule_cut(of(cut, ffn, v, layers)))
    else:
        s.compose(schedule_bend(of(bend, ffn, v, layers), wide.gelu_interval))
    if m.rotary:
        s.pipeline("embedding_0:part")
        s.compose(schedule_rotate(of(rotate, (m.heads + m.kv_heads) * hd, qkv, hd, v, layers)))
    s.compose(schedule_pack(of(pack, qkv, hd, v, layers)))
    if wide.cache == "external":
        for name in ("keys", "values"):
            s.compose(schedule_keep(of(keep, *unit)), id=name)
        s.compose(schedule_score_ahead(of(score_ahead, *unit[:3], layers)))
        s.compose(schedule_mix_ahead(of(mix_ahead, *unit[:3], layers)))
    else:
        s.compose(schedule_score(of(score, *unit)))
        s.compose(schedule_mix(of(mix, *unit)))
    s.compose(schedule_divide(of(divide, hd, v, config.heads, layers)))
    if wide.top:
        kept = v, lists(config, wide), wide.top, config.vocab, outputs // v
        s.compose(schedule_keep_largest(of(keep_largest, *kept)))
        s.pipeline("saying_0:place")
    if wide.all_logits:
        s.partition("saying_0:block")
        s.pipeline("saying_0:out")
    for array in ("weights", "exponents", "keys", "values"):
        s.partition(f"wide_step:{array}", dim=1)
    for array in ("gather_0:held", "gather_0:block", "embedding_0:block", "collecting_0:block"):
        s.partition(array)
    for loop in (
        "embedding_0:row", "spreading_0:word",
        "gather_0:word", "dealing_0:head", "collecting_0:turn",
    ):  # fmt: skip
        s.pipeline(loop)
    return s
