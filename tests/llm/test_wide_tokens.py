"""The wide accelerator with a step for each token: logits of the reference, on the CPU and in hardware."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.host import decode
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

MODEL = Architecture(
    family="llama", layers=1, d=48, heads=6, kv_heads=3, head_dim=8, ffn=96, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 8, 2) / 8)).tolist()),
)  # fmt: skip
"""SmolLM2's proportions: three heads of keys and values, and widths with a factor of 3."""
WIDE = Wide(channels=2, lanes=16, vector=4, heads=3, parts=4, prefetch=64, block=16)
TOKENS = [3, 29, 0, 17]


@pytest.mark.parametrize("target", [pytest.param("simulator", marks=pytest.mark.slow), "verilog"])
def test_logits_are_those_of_the_reference(target: str):
    options = {"simulator": "jit", "clock_mhz": 300} if target == "verilog" else {}
    run = schedule(MODEL, WIDE).build(target=target, **options)
    weights = random_weights(MODEL, seed=7, block=16)
    # One block of the embedding is small, so that its levels are finer.
    weights.arrays["token"][:, 16:32] *= np.float32(0.02)
    session, memories = WideGPT(weights, WIDE), make_memories(weights, WIDE)
    for position, token in enumerate(TOKENS):
        expected = session.feed(np.array([[token]]))[0, -1]
        got = decode(run, weights, memories, token, position)
        assert np.array_equal(got.view(np.uint32), expected.view(np.uint32)), position
    coarse = dataclasses.replace(weights, block=48)
    assert not np.array_equal(WideGPT(coarse, WIDE).feed(np.array([TOKENS]))[0, -1], expected)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"block": 8}, "A block of 8 activations is not a word of the elements, which has 16"),
        ({"bits": 4, "lanes": 8}, "are built for weights of 8 bits"),
    ],
)
def test_what_does_not_fit_is_said(changes: dict[str, int], text: str):
    with pytest.raises(WidthError, match=text):
        check_wide(MODEL, dataclasses.replace(WIDE, **changes))


def test_a_model_with_other_steps_is_refused():
    with pytest.raises(WidthError, match=r"in blocks of 0, and those of the accelerator of 16"):
        make_memories(random_weights(MODEL), WIDE)
