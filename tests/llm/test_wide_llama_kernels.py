"""The kernels that LLaMA and OPT have of their own, each alone, as hardware, bit for bit against NumPy."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.designs.llm.checkpoints.float_model import rotate as expected_rotation
from allo.designs.llm.checkpoints.integer_model import activate
from allo.designs.llm.network.reference import round_clamp
from allo.designs.llm.wide.families.gated import gate, part, schedule_gate, schedule_part
from allo.designs.llm.wide.families.relu import cut, schedule_cut
from allo.designs.llm.wide.families.rotary import rotate, schedule_rotate
from allo.designs.llm.wide.linear import rescale, schedule_rescale
from allo.designs.llm.wide.memories import by_turns, paired, words_of
from allo.designs.llm.wide.norm import normalise, schedule_normalise
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.reference import normalise as expected_norm

D, FFN, HD, V, LAYERS = 32, 48, 8, 4, 2
F32 = np.float32


def hardware(s: Schedule):
    return s.build(target="verilog", simulator="jit", clock_mhz=300)


def innermost(loops) -> list:
    return [one for loop in loops for one in (innermost(loop.children) or [loop])]


def intervals(build) -> set[int]:
    """Cycles between the iterations of all innermost loops."""
    return {loop.ii for f in build.report.functions for loop in innermost(f.loops)}


def test_queries_and_keys_are_turned_and_values_pass():
    queries, keys = 4 * HD, 2 * HD
    qkv = queries + 2 * keys
    s = allo.customize(rotate, instantiate=[queries + keys, qkv, HD, V, LAYERS])
    rng = np.random.default_rng(0)
    results = rng.normal(0, 40, (LAYERS, qkv // HD, HD)).astype(F32)
    angle = rng.uniform(0, 7, HD // 2)
    cosine, sine = np.cos(angle).astype(F32), np.sin(angle).astype(F32)
    expected = results.copy()
    expected[:, :6] = expected_rotation(results[:, :6], cosine, sine)
    # The hardware has the two of a pair beside each other.
    given, wanted = (
        np.stack([paired(head, HD) for head in x.reshape(-1, HD)]).reshape(x.shape)
        for x in (results, expected)
    )
    given[:, 6:], wanted[:, 6:] = results[:, 6:], results[:, 6:]
    table = words_of(np.stack([cosine, sine], -1).reshape(-1), 32 * V)
    build = hardware(schedule_rotate(s))
    got = np.zeros((results.size // V, V), F32)
    build(given.reshape(-1, V), table, got)
    assert np.array_equal(got.reshape(-1).view(np.uint32), wanted.reshape(-1).view(np.uint32))
    assert intervals(build) == {1}


def test_gates_multiply_and_the_products_are_quantised():
    s = allo.customize(gate, instantiate=[FFN, V, LAYERS])
    rng = np.random.default_rng(1)
    gates, others = rng.normal(0, 3, (2, LAYERS, FFN)).astype(F32)
    factors = np.array([30, 50], F32)
    expected = round_clamp(activate("silu", gates) * others * factors[:, None])
    build = hardware(schedule_gate(s, 4))
    small = np.zeros(LAYERS * FFN // V, np.uint32)
    build(gates.reshape(-1, V), others.reshape(-1, V), factors, small)
    assert np.array_equal(small.view(np.int8).reshape(expected.shape), expected)
    assert np.abs(expected).max() == 127
    assert intervals(build) == {4}


def test_what_is_below_zero_is_cut():
    s = allo.customize(cut, instantiate=[FFN, V, LAYERS])
    hidden = np.random.default_rng(1).normal(0, 3, (LAYERS, FFN)).astype(F32)
    factors = np.array([10, 50], F32)
    expected = round_clamp(activate("relu", hidden) * factors[:, None])
    build = hardware(schedule_cut(s))
    small = np.zeros(LAYERS * FFN // V, np.uint32)
    build(hidden.reshape(-1, V), factors, small)
    assert np.array_equal(small.view(np.int8).reshape(expected.shape), expected)
    assert intervals(build) == {1}


def test_words_of_gates_and_of_others_are_parted():
    s = allo.customize(part, instantiate=[2 * FFN // V, V])
    gates, others = np.random.default_rng(1).normal(0, 3, (2, FFN)).astype(F32)
    build = hardware(schedule_part(s))
    got = np.zeros((2, FFN // V, V), F32)
    build(by_turns(gates, others, V).reshape(-1, V), *got)
    assert np.array_equal(got.reshape(2, FFN), [gates, others])
    assert intervals(build) == {1}


def test_norms_of_one_term_divide_by_the_root_of_the_mean_square():
    norms, wide, eps = 2 * LAYERS + 1, Wide(vector=V), 1e-6
    s = allo.customize(normalise, instantiate=[D, V, 2, wide.parts, 3, norms, 1])
    rng = np.random.default_rng(2)
    first = rng.normal(0.5, 2e-3, D).astype(F32)
    deltas = rng.normal(0, 1e-3, (norms - 1, D)).astype(F32)
    gain = rng.normal(0, 30, (norms, D)).astype(F32)
    x, expected = first, []
    for n in range(norms):
        x = x + deltas[n - 1] if n else x
        expected.append(expected_norm(x[None], gain[n], None, wide, eps)[0])
    build = hardware(schedule_normalise(s))
    small = np.zeros(norms * D // V, np.uint32)
    table = words_of(gain.reshape(-1), 32 * V)
    build(first.reshape(-1, V), deltas.reshape(-1, V), table, eps, small)
    assert np.array_equal(small.view(np.int8).reshape(norms, D), np.array(expected))
    exact = first.astype(float) / np.sqrt(np.square(first.astype(float)).mean() + eps) * gain[0]
    assert np.abs(np.clip(exact, -127, 127) - expected[0]).max() <= 0.5 + 1e-3


def test_sums_without_biases_are_multiplied_by_their_factor():
    qkv, up, outputs = 2 * D, 2 * FFN, 8
    s = allo.customize(rescale, instantiate=[V, D, qkv, up, LAYERS, outputs, 1])
    rng = np.random.default_rng(3)
    sizes = [qkv, D, up, D] * LAYERS + [outputs]
    sums = rng.integers(-(2**24), 2**24, sum(sizes)).astype(np.int32)
    factor = rng.normal(0, 1, len(sums)).astype(F32)
    results = np.split(sums.astype(F32) * factor, np.cumsum(sizes)[:-1])
    places = [results[0:-1:4], results[1:-1:2], results[2:-1:4], results[-1:]]
    expected = [np.concatenate(place) for place in places]
    build = hardware(schedule_rescale(s, 1))
    got = [np.zeros((len(e) // V, V), F32) for e in expected]
    build(sums.reshape(-1, V), words_of(factor, 32 * V), *got)
    for one, wanted in zip(got, expected, strict=True):
        assert np.array_equal(one.reshape(-1).view(np.uint32), wanted.view(np.uint32))
