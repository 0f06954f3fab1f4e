"""Keys and values of four bits, with a step for each group of a head and token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
from allo.designs.llm.checkpoints.integer_model import IntegerModel
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import quantize
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.speaker import FOLDER, perplexity
from allo.designs.llm.wide.external.halves import halve, schedule_halve
from allo.designs.llm.wide.external.nibble_cache import NibbleCacheModel, NibbleWide, in_nibbles
from allo.designs.llm.wide.memories import words_of
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights

CONFIG = GPTConfig(layers=1, d=32, heads=2, ffn=64, context=16, vocab=30)


def test_levels_times_steps_are_within_half_a_step():
    kept = np.random.default_rng(0).integers(-127, 128, (3, 5, 64)).astype(np.float64)
    kept[0, 0], kept[0, 1, 0] = 0.0, 127.0
    levels, steps = in_nibbles(kept, 32)
    assert np.abs(levels).max() == 7 and steps.min() == 1 and steps.max() == 19
    off = np.abs(levels * np.repeat(steps, 32, axis=-1) - kept)
    assert (off <= np.repeat(steps, 32, axis=-1) / 2).all()


def test_the_hardware_quantises_as_the_reference():
    """Two queries, which stay, then keys and values with every largest magnitude."""
    width, group, queries, count = 16, 8, 2, 130
    rng = np.random.default_rng(0)
    heads = rng.integers(-127, 128, (queries + count, width)).astype(np.int8)
    for largest in range(128):
        heads[queries + largest] = rng.integers(-largest, largest + 1, width)
        heads[queries + largest, [3, 12]] = largest, -largest
    sizes = [width, group, 3, queries, count, 1]
    build = schedule_halve(allo.customize(halve, instantiate=sizes)).build(
        target="verilog", simulator="jit"
    )
    halved = words_of(np.zeros_like(heads), 8 * width).reshape(-1).copy()
    build(words_of(heads, 8 * width).reshape(-1).copy(), halved)
    got = halved.view(np.uint8).reshape(-1, width)
    assert np.array_equal(got[:queries], heads[:queries].view(np.uint8))
    levels, steps = in_nibbles(heads[queries:].astype(np.float64), group)
    four = levels.astype(np.int8).view(np.uint8) & 15
    assert np.array_equal(got[queries:, :8], four[:, 0::2] | four[:, 1::2] << 4)
    assert np.array_equal(got[queries:, 8:10], steps.astype(np.uint8))


@pytest.mark.parametrize("group", [16, 8])
def test_the_model_keeps_what_a_step_times_levels_gives(group: int):
    """Also keys and values of tokens that come one by one, of which queries see nothing else."""
    weights, tokens = random_weights(CONFIG, seed=3), np.array([3, 29, 0, 17, 5, 5], np.int32)
    whole, plain = NibbleCacheModel(weights, group), IntegerModel(weights)
    logits = whole.forward(tokens[None])
    plain.forward(tokens[None])
    levels, steps = in_nibbles(plain.kept("0.k"), group)
    assert np.array_equal(whole.kept("0.k"), levels * np.repeat(steps, group, axis=-1))
    whole.reset()
    one_by_one = [whole.feed(tokens[None, [n]])[:, 0] for n in range(len(tokens))]
    assert np.array_equal(np.stack(one_by_one, 1), logits)


def test_the_speaker_predicts_prose_as_well(path: Path = FOLDER):
    """768 tokens that it has never seen; four bits cost nothing that so many tokens show."""
    loaded = load_checkpoint(path)
    assert loaded.tokenizer is not None
    held = np.array(loaded.tokenizer.encode(split_prose(load_prose())[1][6_000:9_000]), np.int32)
    model = quantize(loaded.model, loaded.params, loaded.scales or {})
    eight, four = (
        perplexity(lambda rows, kind=kind: kind(model).feed(rows), held, loaded.model.context)
        for kind in (IntegerModel, NibbleCacheModel)
    )
    assert four < 1.01 * eight


def test_a_reference_that_goes_on_behind_drawn_keys_has_levels_and_steps_of_all():
    """What they stand for is what it goes on with; a step that is lost is seen."""
    wide = Wide(
        channels=2, lanes=16, vector=4, heads=2, cache="channels", cache_bits=4, cache_group=8
    )
    rng = np.random.default_rng(4)
    drawn = {f"0.{name}": rng.integers(-127, 128, (1, 2, 5, 16)).astype(float) for name in "kv"}
    model = NibbleWide(random_weights(CONFIG, seed=3), wide)
    model.resume(drawn, 5)
    model.feed(np.array([[7]], np.int32))
    for name, before in drawn.items():
        levels, steps = model.levels[name], model.steps[name]
        assert levels.shape == (1, 2, 6, 16) and steps.shape == (1, 2, 6, 2)
        stands = levels * np.repeat(steps, 8, axis=-1)
        assert np.array_equal(stands, model.kept(name))
        assert (
            np.abs(stands[:, :, :5] - before) <= np.repeat(steps[:, :, :5], 8, axis=-1) / 2
        ).all()
        assert not np.array_equal(levels, model.kept(name))
