"""The wide accelerator with a step for each token: logits of the reference, on the CPU and in hardware."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import predict_step
from allo.designs.llm.wide.host import decode
from allo.designs.llm.wide.memories import make_memories, paired
from allo.designs.llm.wide.parameters import Wide, WidthError, channel_size, check_wide
from allo.designs.llm.wide.quantized import quantize_for
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

MODEL = Architecture(
    family="llama", layers=1, d=48, heads=6, kv_heads=3, head_dim=8, ffn=96, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 8, 2) / 8)).tolist()),
)  # fmt: skip
"""SmolLM2's proportions: three heads of keys and values, and widths with a factor of 3."""
WIDE = Wide(channels=2, lanes=16, vector=4, heads=3, parts=4, prefetch=64, block=16)
FOUR = dataclasses.replace(WIDE, lanes=8, block=8, bits=4)
"""Two groups of four-bit weights with offsets in a word, and a word of steps for every two words."""
TOKENS = [3, 29, 0, 17]


@pytest.mark.parametrize(
    ("wide", "target"),
    [
        pytest.param(WIDE, "simulator", id="int8-simulator"),
        pytest.param(WIDE, "verilog", marks=pytest.mark.slow, id="int8-verilog"),
        pytest.param(FOUR, "simulator", id="four-simulator"),
        pytest.param(FOUR, "verilog", marks=pytest.mark.slow, id="four-verilog"),
    ],
)
def test_logits_are_those_of_the_reference(wide: Wide, target: str):
    options = {"simulator": "jit", "clock_mhz": 300} if target == "verilog" else {}
    run = schedule(MODEL, wide).build(target=target, **options)
    weights = random_weights(MODEL, seed=7, bits=wide.bits, block=wide.block)
    # One block of the embedding is small, so that its levels are finer.
    weights.arrays["token"][:, 16:32] *= np.float32(0.02)
    session, memories = WideGPT(weights, wide), make_memories(weights, wide)
    for position, token in enumerate(TOKENS):
        expected = session.feed(np.array([[token]]))[0, -1]
        got = decode(run, weights, memories, token, position)
        assert np.array_equal(got.view(np.uint32), expected.view(np.uint32)), position
        if target == "verilog":
            foretold = predict_step(run.report, MODEL, wide, position).cycles
            assert abs(foretold / run.cycles - 1) < 0.03, (foretold, run.cycles)
    coarse = dataclasses.replace(weights, block=48)
    assert not np.array_equal(WideGPT(coarse, wide).feed(np.array([TOKENS]))[0, -1], expected)


def test_offsets_that_are_one_off_are_seen_in_the_logits():
    """What the hardware is compared with tells a group's offset."""
    weights = random_weights(MODEL, seed=7, bits=4, block=8)
    expected = WideGPT(weights, FOUR).feed(np.array([TOKENS]))
    weights.arrays["0.q.w"][0, :8] += 1
    assert not np.array_equal(WideGPT(weights, FOUR).feed(np.array([TOKENS])), expected)


def test_words_of_steps_stand_in_front_of_their_words():
    weights = random_weights(MODEL, seed=7, bits=4, block=8)
    words = make_memories(weights, FOUR).constant[0].view(np.uint8).reshape(2, -1, 8)
    assert words.shape[1] == channel_size(MODEL, FOUR)
    arrays = weights.arrays
    row = paired(arrays["0.q.q"], MODEL.head_dim)[0].view(np.uint8) & 15
    steps, offsets = (
        paired(arrays[f"0.q.{part}"], MODEL.head_dim)[0].view(np.uint8) for part in "dm"
    )
    assert list(words[0, 0]) == [*np.stack([steps, offsets], -1)[:4].reshape(-1)]
    assert np.array_equal(words[0, 1], row[:8] | row[8:16] << 4)
    assert np.array_equal(words[0, 2], row[16:24] | row[24:32] << 4)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"block": 8}, "A block of 8 activations is not a word of the elements, which has 16"),
        (
            {"bits": 4, "lanes": 8},
            "A block of 16 activations is not a group of weights of four bits, which has 8",
        ),
        (
            {"bits": 4, "lanes": 2, "vector": 2},
            "A word of 2 bytes does not hold the steps and offsets",
        ),
    ],
)
def test_what_does_not_fit_is_said(changes: dict[str, int], text: str):
    with pytest.raises(WidthError, match=text):
        check_wide(MODEL, dataclasses.replace(WIDE, **changes))


def test_a_model_with_other_steps_is_refused():
    with pytest.raises(WidthError, match=r"in blocks of 0, and those of the accelerator of 16"):
        make_memories(random_weights(MODEL), WIDE)


@pytest.mark.parametrize(
    ("wide", "bits"), [(FOUR, 8), (dataclasses.replace(WIDE, lanes=8, block=8), 4)]
)
def test_a_model_of_other_weights_is_refused(wide: Wide, bits: int):
    groups = (0, 8) if bits == 8 else (8, 0)
    text = "have offsets for groups of {}, and those of the accelerator for groups of {}".format(
        *groups
    )
    with pytest.raises(WidthError, match=text):
        make_memories(random_weights(MODEL, bits=bits, block=8), wide)


def test_a_model_is_quantised_as_its_accelerator_takes_it():
    oracle = Path(__file__).parent / "checkpoints" / "oracles" / "llama"
    loaded, tokens = load_checkpoint(oracle), np.arange(20)[None]
    expected = FloatModel(loaded.model, loaded.params).forward(tokens)
    for wide in (dataclasses.replace(WIDE, heads=2), dataclasses.replace(FOUR, heads=2)):
        weights = quantize_for(wide, loaded.model, loaded.params, [tokens])
        assert make_memories(weights, wide).keys.shape[0] == wide.heads
        said = WideGPT(weights, wide).forward(tokens)
        off = float(np.sqrt(np.square(said - expected).mean()) / expected.std())
        assert off < (0.06 if wide.bits == 8 else 0.3)
    with pytest.raises(
        WidthError, match="The accelerator has static steps of activations, block=0."
    ):
        quantize_for(dataclasses.replace(WIDE, block=0), loaded.model, loaded.params, [tokens])
