"""The kernels of the wide accelerator, each alone, as hardware, bit for bit against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo import bitexact
from allo.customize import Schedule
from allo.designs.llm.network.reference import gelu, round_clamp
from allo.designs.llm.wide import heads
from allo.designs.llm.wide.activation import bend, schedule_bend
from allo.designs.llm.wide.linear import multiply, rescale, schedule_multiply, schedule_rescale
from allo.designs.llm.wide.memories import words_of
from allo.designs.llm.wide.nibble_words import NibbleError, pack_nibbles
from allo.designs.llm.wide.nibbles import lane_bits, multiply_nibbles, schedule_multiply_nibbles
from allo.designs.llm.wide.norm import normalise, schedule_normalise
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.reference import normalise as expected_norm

D, FFN, HD, V, LANES, CHANNELS = 32, 64, 8, 4, 8, 2
LAYERS, HEADS, CTX = 2, 4, 12
F32 = np.float32


def hardware(s: Schedule):
    return s.build(target="verilog", simulator="jit")


def int8s(rng, *shape: int) -> np.ndarray:
    return rng.integers(-127, 128, shape).astype(np.int8)


def test_an_element_multiplies_the_outputs_of_its_channel():
    outs = 3
    sizes = [LANES, CHANNELS, D, 3 * D, D, FFN, FFN, LAYERS, outs]
    s = allo.customize(multiply, instantiate=[*sizes, 0, 0])
    rng = np.random.default_rng(0)
    jobs = [(3 * D, D), (D, D), (FFN, D), (D, FFN)] * LAYERS + [(CHANNELS * outs, D)]
    weights = [int8s(rng, rows // CHANNELS, depth) for rows, depth in jobs]
    inputs = [int8s(rng, depth) for _, depth in jobs]
    expected = np.concatenate(
        [w.astype(np.int32) @ x for w, x in zip(weights, inputs, strict=True)]
    )
    words = words_of(np.concatenate([w.reshape(-1) for w in weights]), 8 * LANES)
    activations = words_of(np.concatenate(inputs), 8 * LANES)
    build = hardware(schedule_multiply(s))
    sums = np.zeros(len(expected), np.int32)
    build(words, activations, sums)
    assert np.array_equal(sums, expected)


def test_an_element_multiplies_weights_of_four_bits_by_their_steps():
    """Jobs of nibbles behind their steps, some of them with a last word of steps half used; then int8."""
    outs = 3
    sizes = [LANES, CHANNELS, D, 3 * D, FFN, FFN, LAYERS, outs, lane_bits(LANES)]
    s = allo.customize(multiply_nibbles, instantiate=sizes)
    rng = np.random.default_rng(0)
    jobs = [(3 * D, D), (D, D), (FFN, D), (D, FFN)] * LAYERS + [(CHANNELS * outs, D)]
    inputs = [int8s(rng, depth) for _, depth in jobs]
    weights = []
    for rows, depth in jobs[:-1]:
        q = rng.integers(-7, 8, (rows // CHANNELS, depth // (2 * LANES), 2 * LANES))
        steps = rng.integers(1, 19, q.shape[:2])[..., None]
        weights.append((q * steps).reshape(-1, depth).astype(np.int8))
    words = [pack_nibbles(w.reshape(1, -1), w.shape[1], LANES).reshape(-1) for w in weights]
    weights.append(int8s(rng, jobs[-1][0] // CHANNELS, D))
    expected = np.concatenate(
        [w.astype(np.int32) @ x for w, x in zip(weights, inputs, strict=True)]
    )
    memory = words_of(np.concatenate([*words, weights[-1].reshape(-1)]), 8 * LANES)
    build = hardware(schedule_multiply_nibbles(s))
    sums = np.zeros(len(expected), np.int32)
    build(memory, words_of(np.concatenate(inputs), 8 * LANES), sums)
    assert np.array_equal(sums, expected)


def test_weights_of_eight_bits_are_no_products_of_steps():
    rows = np.array([[1, 2, 3, 9, 1, 1, 1, 1]], np.int8)
    with pytest.raises(NibbleError) as error:
        pack_nibbles(rows, 4, 2)
    assert error.value.args[0] == (
        "Weights from 1 to 9 in steps of their group do not fit four bits."
    )


def test_rescaled_sums_go_where_their_job_goes():
    outputs = 8
    s = allo.customize(rescale, instantiate=[V, D, 3 * D, FFN, LAYERS, outputs, 2])
    rng = np.random.default_rng(1)
    sizes = [3 * D, D, FFN, D] * LAYERS + [outputs]
    sums = rng.integers(-(2**24), 2**24, sum(sizes)).astype(np.int32)
    factor, bias = rng.normal(0, 1, (2, len(sums))).astype(F32)
    results = np.split(sums.astype(F32) * factor + bias, np.cumsum(sizes)[:-1])
    places = [results[0:-1:4], results[1:-1:2], results[2:-1:4], results[-1:]]
    expected = [np.concatenate(place) for place in places]
    table = words_of(np.stack([factor, bias], -1).reshape(-1), 64 * V)
    build = hardware(schedule_rescale(s, 2))
    got = [np.zeros((len(e) // V, V), F32) for e in expected]
    build(sums.reshape(-1, V), table, *got)
    for one, wanted in zip(got, expected, strict=True):
        assert np.array_equal(one.reshape(-1).view(np.uint32), wanted.view(np.uint32))


def test_norms_add_deltas_and_quantise():
    norms, wide = 2 * LAYERS + 1, Wide(vector=V)
    s = allo.customize(normalise, instantiate=[D, V, 2, wide.parts, 3, norms, 2])
    rng = np.random.default_rng(2)
    first = rng.normal(0.5, 2, D).astype(F32)
    deltas = rng.normal(0, 1, (norms - 1, D)).astype(F32)
    gain, shift = rng.normal(0, 30, (2, norms, D)).astype(F32)
    x, expected = first, []
    for n in range(norms):
        x = x + deltas[n - 1] if n else x
        expected.append(expected_norm(x[None], gain[n], shift[n], wide)[0])
    table = words_of(np.stack([gain.reshape(-1), shift.reshape(-1)], -1).reshape(-1), 64 * V)
    build = hardware(schedule_normalise(s))
    small = np.zeros(norms * D // V, np.uint32)
    build(first.reshape(-1, V), deltas.reshape(-1, V), table, 1e-5, small)
    assert np.array_equal(small.view(np.int8).reshape(norms, D), np.array(expected))


def test_gelu_is_quantised_by_its_layers_factor():
    s = allo.customize(bend, instantiate=[FFN, V, LAYERS])
    rng = np.random.default_rng(3)
    hidden = rng.normal(0, 2, (LAYERS, FFN)).astype(F32)
    factors = np.array([30, 50], F32)
    expected = round_clamp(gelu(hidden) * factors[:, None])
    build = hardware(schedule_bend(s, 4))
    small = np.zeros(LAYERS * FFN // V, np.uint32)
    build(hidden.reshape(-1, V), factors, small)
    assert np.array_equal(small.view(np.int8).reshape(expected.shape), expected)


def test_results_are_packed_to_words_of_a_head():
    s = allo.customize(heads.pack, instantiate=[3 * D, HD, V, LAYERS])
    results = np.random.default_rng(4).normal(0, 90, LAYERS * 3 * D).astype(F32)
    build = hardware(heads.schedule_pack(s))
    words = np.zeros(LAYERS * 3 * D // HD, np.uint64)
    build(results.reshape(-1, V), words)
    assert np.array_equal(words.view(np.int8), round_clamp(results))


@pytest.mark.parametrize(("start", "group"), [(0, 1), (5, 1), (CTX - 1, 1), (0, 3), (5, 2)])
def test_scores_levels_and_quotients_of_a_token(start: int, group: int):
    """Units of attention hand each other what NumPy computes: scores, sums of values, outputs.

    ``group`` queries share each head of keys and values.
    """
    per_unit, n = 2, start + 1
    score = allo.customize(heads.score, instantiate=[HD, per_unit, group, CTX, LAYERS])
    mix = allo.customize(heads.mix, instantiate=[HD, per_unit, group, CTX, LAYERS])
    divide = allo.customize(heads.divide, instantiate=[HD, V, per_unit * group, LAYERS])
    rng = np.random.default_rng(start)
    shape = (LAYERS, per_unit, CTX, HD)
    k, v, q = int8s(rng, *shape), int8s(rng, *shape), int8s(rng, LAYERS, per_unit * group, HD)
    factors, attends = np.array([[2e-4, 4e-4], [0.5, 0.3]], F32)
    shared = [np.repeat(t[:, :, :n].astype(int), group, axis=1) for t in (k, v)]
    scores = np.einsum("lhc,lhjc->lhj", q.astype(int), shared[0])
    peaks = scores.max(-1)
    below = (scores - peaks[..., None]).astype(F32)
    levels = round_clamp(bitexact.exp(below * factors[:, None, None]) * F32(255), 0, 255)
    sums = np.einsum("lhj,lhjc->lhc", levels, shared[1])
    inverse = attends[:, None] / levels.sum(-1).astype(F32)
    outputs = round_clamp(sums.astype(F32) * inverse[..., None])

    def cache(full: np.ndarray) -> np.ndarray:
        """Without the token's own row, which arrives on a stream."""
        held = full.copy()
        held[:, :, start] = 0
        return words_of(held.reshape(-1, HD), 8 * HD)[:, 0].copy()

    asked = np.concatenate([q, k[:, :, start]], axis=1).reshape(-1)
    on_score = hardware(heads.schedule_score(score))
    on_mix = hardware(heads.schedule_mix(mix))
    on_divide = hardware(heads.schedule_divide(divide))
    keys, values = cache(k), cache(v)
    got = np.zeros(scores.size, np.int32), np.zeros(peaks.size, np.int32)
    on_score(words_of(asked, 8 * HD), start, keys, *got)
    assert np.array_equal(got[0], scores.reshape(-1))
    assert np.array_equal(got[1], peaks.reshape(-1))
    assert np.array_equal(keys.view(np.int8).reshape(shape), k)
    mixed = np.zeros((sums.size // HD, HD), np.int32), np.zeros(peaks.size, np.int32)
    new = words_of(v[:, :, start].reshape(-1), 8 * HD)
    on_mix(new, *got, start, factors, values, *mixed)
    assert np.array_equal(mixed[0].reshape(-1), sums.reshape(-1))
    assert np.array_equal(mixed[1], levels.sum(-1).reshape(-1))
    assert np.array_equal(values.view(np.int8).reshape(shape), v)
    small = np.zeros(outputs.size // V, np.uint32)
    on_divide(*mixed, attends, small)
    assert np.array_equal(small.view(np.int8), outputs.reshape(-1))
