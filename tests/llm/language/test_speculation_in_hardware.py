"""Lookup on the accelerator for blocks in simulated RTL: plain decoding's text, in fewer cycles a token."""

from __future__ import annotations

import numpy as np

from allo.designs.llm.config import GPTConfig
from allo.designs.llm.language.proposals import Lookup, nothing
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import speculate
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.host import make_block_memories, step
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=64, vocab=30)
WIDE = Wide(channels=4, lanes=8, vector=4, heads=2, prefetch=512, gelu_interval=1)
BLOCK = Block(rows=4, tokens=4, most=4, norms=4, spoken=4, row_lanes=4, queries=4)
TOKENS = 32


def test_lookup_says_the_same_text_in_fewer_cycles():
    """A model of random weights soon says the same again, which lookup foretells.

    A pass of four rows takes a tenth more than one of a single row at most, so cycles fall as passes do.
    """
    weights = random_weights(CONFIG, seed=7)
    module = schedule_block(CONFIG, WIDE, BLOCK).build(
        target="verilog", simulator="jit", clock_mhz=300
    )
    texts, cycles, passes = [], [], []
    for propose in (nothing, Lookup()):
        memories, model = make_block_memories(weights, WIDE, BLOCK), RowsGPT(weights, WIDE, BLOCK)
        taken: dict[int, list[int]] = {}

        def engine(rows: Rows, spoken: int, memories=memories, model=model, taken=taken):
            got = step(module, weights, WIDE, BLOCK, memories, rows, spoken)
            wanted = model.step(rows, spoken)
            assert np.array_equal(got.view(np.uint32), wanted.view(np.uint32))
            taken.setdefault(len(rows), []).append(module.cycles)
            return got

        said = list(speculate(engine, [9], TOKENS, Sampler(), 64, propose, 4, 4))
        texts.append([token for one in said for token in one.said])
        cycles.append(sum(sum(of) for of in taken.values()))
        passes.append(len(said))
        if propose is not nothing:
            assert max(taken[4]) <= 1.1 * min(taken[1])
    assert texts[0] == texts[1]
    assert passes[0] / passes[1] > 2
    assert cycles[0] / cycles[1] >= 1.6
    assert cycles[0] / cycles[1] >= 0.95 * passes[0] / passes[1]
