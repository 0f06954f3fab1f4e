"""Blocks of tokens whose activations have steps of their own: the logits of the reference, on CPU and RTL."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.host import (
    cached_pairs,
    ended,
    feed,
    make_block_memories,
    put_cache,
    step,
)
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import following
from allo.designs.llm.wide.block.tokens.ended import Ended
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

MODEL = Architecture(
    family="llama", layers=2, d=48, heads=6, kv_heads=3, head_dim=8, ffn=96, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 8, 2) / 8)).tolist()),
)  # fmt: skip
"""SmolLM2's proportions: three heads of keys and values, and widths with a factor of 3."""
WIDE = Wide(
    channels=8, lanes=16, vector=4, heads=3, parts=4, prefetch=64, block=16, gelu_interval=1
)
EVEN = dataclasses.replace(
    MODEL, d=64, heads=8, kv_heads=4, rotary=tuple((10_000.0 ** (-np.arange(0, 8, 2) / 8)).tolist())
)
NARROW = dataclasses.replace(WIDE, lanes=8, heads=2, parts=8, prefetch=512, block=8)
"""Of an even model; its results do not come faster than rescaling takes them."""
BLOCK = Block(rows=2, tokens=4, most=12, norms=2)
LANES = dataclasses.replace(BLOCK, row_lanes=2, queries=2, spoken=3, hidden=True)
TELLING = dataclasses.replace(BLOCK, spoken=3, hidden=True)
TOKENS = np.array([3, 29, 0, 17, 17, 5, 9, 1, 2, 11, 4, 8, 8, 6], np.int32)


def weights_of(model: Architecture, wide: Wide) -> QuantizedModel:
    """One block of the embedding is small, so that its levels are finer."""
    found = random_weights(model, seed=7, block=wide.block)
    found.arrays["token"][:, 16:32] *= np.float32(0.02)
    return found


@pytest.mark.parametrize(
    ("model", "wide", "block", "target"),
    [
        (MODEL, WIDE, TELLING, "simulator"),
        (EVEN, NARROW, BLOCK, "verilog"),
        (MODEL, WIDE, LANES, "simulator"),
        (EVEN, NARROW, LANES, "verilog"),
    ],
    ids=["simulator", "verilog", "lanes-simulator", "lanes-verilog"],
)
def test_prompts_and_tokens_with_steps_of_their_own(
    model: Architecture, wide: Wide, block: Block, target: str
):
    """In hardware every step takes what is foretold, within 3 %, also where it tells what rows end in."""
    hardware = target == "verilog"
    options = {"simulator": "jit", "clock_mhz": 300} if hardware else {"check_dependences": True}
    weights = weights_of(model, wide)
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    run = schedule_block(model, wide, block).build(target=target, **options)
    for steps in ([1, 5, 4, 2], [4, 1, 1], [12, 1, 1]):
        memories, at = make_block_memories(weights, wide, block), 0
        rows = RowsGPT(weights, wide, block)
        for count in steps:
            spoken = min(count, block.spoken)
            if block.hidden:
                taken = following(TOKENS[at : at + count], at)
                got = step(run, weights, wide, block, memories, taken, spoken)[-1]
                rows.step(taken, spoken)
                same_ends(ended(weights, wide, block, memories, spoken), rows)
            else:
                got = feed(run, weights, block, memories, TOKENS[at : at + count], at)
            if hardware:
                seen = list(range(at + 1, at + count + 1))
                foretold = predict_rows(run.report, model, wide, block, seen, spoken).cycles
                assert abs(foretold / run.cycles - 1) < 0.03, (count, at, foretold, run.cycles)
            at += count
            assert np.array_equal(got.view(np.uint32), expected[at - 1].view(np.uint32)), at
        if block.hidden:
            for mine, theirs in cached_pairs(memories, wide, block, rows):
                assert theirs[:, :, :at].any()
                assert np.array_equal(mine, theirs)
    if block.hidden and not hardware:
        others = make_block_memories(weights, wide, block)
        for resumed in (False, True):
            if resumed:
                put_cache(others, wide, block, rows)
            again = step(run, weights, wide, block, others, taken, spoken)[-1]
            assert np.array_equal(again.view(np.uint32), got.view(np.uint32)) == resumed


def same_ends(told: Ended, model: RowsGPT) -> None:
    """What is told is what the reference quantised, and stands for what it ended in, within half a level."""
    wanted = model.ended
    assert wanted is not None
    assert told.shift == wanted.shift
    assert np.array_equal(told.levels, wanted.levels)
    assert np.array_equal(told.steps.view(np.uint32), wanted.steps.view(np.uint32))
    whole = model.hidden[-len(told.levels) :]
    assert (np.abs(told.values - whole) <= 0.501 * told.steps).all()


def test_steps_of_another_block_give_other_logits():
    """What the hardware is compared with tells how many activations share a power of two."""
    weights = weights_of(MODEL, WIDE)
    fine, coarse = (
        WideGPT(found, WIDE).forward(TOKENS[None])[0, -1]
        for found in (weights, dataclasses.replace(weights, block=48))
    )
    assert not np.array_equal(fine, coarse)


@pytest.mark.parametrize(
    ("wide", "message"),
    [
        ({"block": 8}, "A block of 8 activations is not a word of the elements, which has 16."),
        ({"lanes": 2, "block": 2, "vector": 2}, "The 8 channels end 4 gated activations together, and a "
         "block that shares a power of two has 2."),
    ],
    ids=["block", "channels"],
)  # fmt: skip
def test_steps_that_do_not_fit_are_refused(wide: dict, message: str):
    with pytest.raises(WidthError) as error:
        check_block(MODEL, dataclasses.replace(WIDE, **wide), BLOCK)
    assert error.value.args[0] == message
