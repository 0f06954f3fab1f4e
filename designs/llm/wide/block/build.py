"""Schedule the accelerator for blocks: the schedules of its kernels, composed, and its own loops."""

from __future__ import annotations

from typing import Any

import allo

from ..activation import schedule_bend
from ..families.model import Model, architecture_of, terms
from ..linear import fetch, schedule_fetch
from ..parameters import Wide, channel_size, padded_vocab
from .arrange import arrange, schedule_arrange
from .heads import (
    mix_block,
    pack_block,
    schedule_mix_block,
    schedule_pack_block,
    schedule_score_block,
    score_block,
)
from .linear import (
    fetch_blocks,
    multiply_block,
    rescale_block,
    schedule_fetch_blocks,
    schedule_multiply_block,
    schedule_rescale_block,
)
from .norm import collect, normalise_rows, schedule_collect, schedule_normalise_rows
from .parameters import Block, said_block_words
from .region import make_block_region
from .vectors import (
    bend_block,
    divide_block,
    embed_block,
    say_block,
    schedule_divide_block,
    schedule_embed_block,
    schedule_say_block,
)


def schedule_block(config: Model, wide: Wide, block: Block) -> Any:
    """The region with its schedule applied, kernels below it first.

    Raises:
        WidthError: the parameters do not fit the model.
    """
    s = make_block_region(config, wide, block)
    d, ffn, layers, hd = config.d, config.ffn, config.layers, config.head_dim
    c, lanes, v, units = wide.channels, wide.lanes, wide.vector, wide.heads
    rows, tokens, most, norms = block.rows, block.tokens, block.most, block.norms
    outputs, per_unit = padded_vocab(config, wide), config.heads // units
    m, gain = architecture_of(config), 32 * terms(config)[1] * v
    encoder = int(m.post_norm)
    logs = v.bit_length() - 1, wide.parts.bit_length() - 1

    def of(kernel: Any, *sizes: int) -> Any:
        return allo.customize(kernel, instantiate=list(sizes))

    groups = min(d, ffn) // lanes
    model = lanes, c, d, ffn, layers
    all_outputs = layers * (5 * d + ffn) + outputs
    s.compose(schedule_fetch(of(fetch, 64 * v, all_outputs // v)), id="affine")
    s.compose(schedule_fetch(of(fetch, gain, (2 * layers + 1) * d // v)), id="gain")
    s.compose(schedule_fetch_blocks(of(fetch_blocks, *model, channel_size(config, wide))))
    s.compose(
        schedule_multiply_block(
            of(multiply_block, *model, outputs // c, rows, tokens), groups, rows
        )
    )
    s.compose(
        schedule_rescale_block(
            of(rescale_block, v, c, d, ffn, layers, outputs, tokens, max(3 * d, ffn) // v),
            wide.rescale_interval,
            c // v,
        )
    )
    s.compose(schedule_embed_block(of(embed_block, d, v, config.context, config.vocab, most)))
    s.compose(schedule_collect(of(collect, d, v, c, layers, tokens, most, encoder), bool(encoder)))
    s.compose(
        schedule_normalise_rows(
            of(normalise_rows, d, v, logs[0], wide.parts, logs[1], layers, tokens, norms, encoder)
        )
    )
    bend = of(bend_block, ffn, v, layers, int(m.activation == "gelu"))
    s.compose(schedule_bend(bend, wide.gelu_interval))
    s.compose(schedule_pack_block(of(pack_block, d, hd, v, c, layers, tokens), c // v))
    unit = hd, per_unit, most if encoder else config.context, layers, tokens, encoder
    s.compose(schedule_score_block(of(score_block, *unit)))
    s.compose(schedule_mix_block(of(mix_block, *unit)))
    said = said_block_words(config, wide, block)
    s.compose(schedule_say_block(of(say_block, v, said)))
    s.compose(schedule_divide_block(of(divide_block, hd, v, config.heads, layers)))
    jobs = 2 * layers + 1
    for name, *sizes in (
        ("normed", d, d // v, jobs - encoder, jobs - 1),
        ("attended", d, units * hd // v, layers, layers),
        ("bent", ffn, c // v, layers, layers),
    ):
        s.compose(schedule_arrange(of(arrange, lanes, v, rows, tokens, *sizes)), id=name)
    for array in ("weights", "exponents", "keys", "values", "norm_table"):
        s.partition(f"block_step:{array}", dim=1)
    for array in (
        "gather_0:held", "gather_0:block", "turning_0:one",
        *(("merging_0:whole", "merging_0:begun") if encoder else ()),
    ):  # fmt: skip
        s.partition(array)
    for loop in (
        "turning_0:row", "merging_0:piece", *(("merging_0:first",) if encoder else ()),
        "spreading_0:word", "gather_0:word", "dealing_0:head",
        "collecting_0:head", "casting_0:word",
        *(f"{name}_{g}:{loop}" for g in range(-(-c // 8))
          for name, loop in (("recasting", "word"), ("pregather", "one"))),
    ):  # fmt: skip
        s.pipeline(loop)
    # What a pass over the outputs keeps, the next takes; a pass is the whole of a block's words.
    if groups > 1:
        s.dependence("spreading_0:kept", "spreading_0:word", "all", groups)
    return s
