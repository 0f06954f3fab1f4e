"""The float model's gradients, and the bit-exact reference against plain formulas."""

from __future__ import annotations

import numpy as np

from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.network import gpt
from allo.designs.llm.network.quantize import quantized_perplexity
from allo.designs.llm.network.reference import LANES, lane_sum, norm_quantize, round_clamp
from allo.designs.llm.network.train import DATA, held_out_tokens, perplexity
from allo.designs.llm.network.weights import load_weights


def shipped_model():
    return load_weights(DATA / "char_gpt_w8a8.npz")


def test_gradients_agree_with_finite_differences():
    config = GPTConfig(layers=2, d=8, heads=2, ffn=16, context=6, vocab=5)
    rng = np.random.default_rng(0)
    params = {
        k: v.astype(np.float64) + rng.normal(0, 0.1, v.shape)
        for k, v in gpt.init_params(config, 0).items()
    }
    tokens, targets = rng.integers(0, 5, (2, 3, 6))
    _, grads = gpt.loss_and_grads(params, tokens, targets, config)
    for name, value in params.items():
        at = tuple(rng.integers(0, extent) for extent in value.shape)
        kept, step = value[at], 1e-5
        value[at] = kept + step
        above = gpt.loss_and_grads(params, tokens, targets, config)[0]
        value[at] = kept - step
        below = gpt.loss_and_grads(params, tokens, targets, config)[0]
        value[at] = kept
        assert abs((above - below) / (2 * step) - grads[name][at]) < 1e-6, name


def test_quantisation_costs_less_than_two_percent_of_perplexity():
    with np.load(DATA / "char_gpt_f32.npz") as stored:
        params = {k: stored[k] for k in stored.files}
    weights, tokens = shipped_model(), held_out_tokens()[:4_000]
    before = perplexity(params, weights.config, tokens)
    assert before < 1.3
    assert quantized_perplexity(weights, tokens) < 1.02 * before


def test_lane_sum_is_the_interleaved_order():
    x = np.random.default_rng(1).normal(size=64).astype(np.float32)
    part = [np.float32(0)] * LANES
    for j, value in enumerate(x):
        part[j % LANES] = part[j % LANES] + value
    left = (part[0] + part[1]) + (part[2] + part[3])
    right = (part[4] + part[5]) + (part[6] + part[7])
    assert lane_sum(x)[0] == left + right


def test_round_clamp_rounds_to_even_and_saturates():
    x = np.array([-1000, -127.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.4999998, 126.5, 4e5], np.float32)
    assert round_clamp(x).tolist() == [-127, -127, -2, -2, 0, 0, 2, 2, 126, 127]


def test_norm_is_a_norm():
    rng = np.random.default_rng(2)
    x = rng.normal(3, 2, (5, 64)).astype(np.float32)
    g, b = rng.normal(20, 5, (2, 64)).astype(np.float32)
    exact = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) * g + b
    assert np.abs(norm_quantize(x, g, b) - np.clip(exact, -127, 127)).max() <= 0.51


def test_a_prefix_does_not_depend_on_what_follows():
    rng = np.random.default_rng(3)
    tokens = rng.integers(0, 32, (2, 40)).astype(np.int32)
    model = QuantizedGPT(shipped_model())
    assert np.array_equal(model.forward(tokens)[:, :25], model.forward(tokens[:, :25]))


def test_generation_is_greedy():
    model = QuantizedGPT(shipped_model())
    prompt = held_out_tokens()[:16]
    out = model.generate(prompt, 5)
    whole = np.concatenate([prompt, out])[None]
    assert np.array_equal(out, model.forward(whole)[0, 15:-1].argmax(-1))
