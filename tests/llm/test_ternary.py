"""Ternary weights: the rule against its paper's formula, bytes against their description and GGUF's."""

from __future__ import annotations

from itertools import product

import gguf
import numpy as np
import pytest

import allo
from allo.designs.llm.checkpoints.quantize import QuantizationError, calibrate, quantize
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.ternary.elements import multiply_trits, schedule_multiply_trits
from allo.designs.llm.ternary.levels import TernaryError, ternary_rows
from allo.designs.llm.ternary.packing import pack_trits, unpack_trits
from allo.designs.llm.ternary.words import ternary_words
from allo.designs.llm.wide.memories import words_of

TINY = GPTConfig(layers=1, d=16, heads=2, ffn=32, context=8, vocab=11)


@pytest.fixture(scope="module")
def params() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in TINY.shapes().items()
    }


@pytest.fixture(scope="module")
def scales(params) -> dict[str, float]:
    return calibrate(TINY, params, [np.arange(8)[None]])


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1, 2, shape).astype(np.int8)


@pytest.mark.parametrize("scale_of", ["matrix", "output"])
def test_levels_are_those_of_the_mean_magnitude(scale_of: str):
    """BitNet b1.58, equations (1) to (3): the weights over gamma, rounded, and clipped to -1 … 1."""
    weight = np.random.default_rng(0).normal(0, 0.1, (6, 40)) * np.arange(1, 7)[:, None]
    gamma = np.mean(np.abs(weight), axis=None if scale_of == "matrix" else 1, keepdims=True)
    expected = np.maximum(-1, np.minimum(1, np.round(weight / gamma)))
    rows, scale = ternary_rows(weight, scale_of)
    assert np.array_equal(rows, expected)
    assert np.allclose(scale[:, None], gamma, rtol=1e-12)


def test_weights_that_are_ternary_keep_their_levels_and_their_scale():
    levels = drawn(1, 5, 30)
    rows, scale = ternary_rows(levels * 0.25)
    assert np.array_equal(rows, levels)
    assert np.array_equal(scale, np.full(5, 0.25))


def digits_by_the_tables(byte: int) -> list[int]:
    """The tables of the module's description, read line by line."""
    f, e, c, g, h = byte & 3, byte >> 2 & 3, byte >> 4 & 1, byte >> 5 & 3, byte >> 7
    if e == 3 and c == 1:
        e, c, pair = g, h, [2, 2]
    else:
        pair = [h, 2] if g == 3 else [g, h]
    if e == 3:
        return [2, f, 2, *pair]
    return [c, e, 2, *pair] if f == 3 else [f, e, c, *pair]


def test_every_five_weights_have_a_byte_of_their_own():
    every = np.array(list(product((-1, 0, 1), repeat=5)), np.int8)
    packed = pack_trits(every)[:, 0]
    assert len(set(packed.tolist())) == 243
    assert np.array_equal([digits_by_the_tables(int(byte)) for byte in packed], every + 1)


@pytest.mark.parametrize("count", [1, 5, 64, 257])
def test_packed_weights_come_back(count: int):
    rows = drawn(count, 3, count)
    packed = pack_trits(rows)
    assert packed.shape == (3, -(-count // 5))
    assert np.array_equal(unpack_trits(packed, count), rows)


@pytest.mark.parametrize("kind", ["TQ1_0", "TQ2_0"])
def test_levels_of_blocks_of_gguf_are_found_again(kind: str):
    """llama.cpp's own packing of ternary weights, by the package that its authors publish."""
    rows, scale = drawn(2, 4, 512), np.float32(0.0625)
    form = gguf.GGMLQuantizationType[kind]
    blocks = gguf.quants.quantize(rows * scale, form)
    floats = gguf.quants.dequantize(blocks, form)
    found, scales = ternary_rows(floats)
    assert np.array_equal(unpack_trits(pack_trits(found), 512), rows)
    assert np.array_equal(scales, np.full(4, scale))


def test_a_model_has_ternary_weights_in_all_linear_layers(params, scales):
    weights = quantize(TINY, params, scales, ternary="output")
    linear = [name for name in weights.arrays if name.endswith(".w")]
    assert len(linear) == 7
    for name in linear:
        assert set(np.unique(weights.arrays[name])) <= {-1, 0, 1}
    for name, taken in (("head", "norm"), ("0.f2", "0.gelu"), ("0.f1", "0.norm2")):
        factor = np.abs(params[name + ".w"]).mean(1) * scales[taken]
        assert np.allclose(weights.arrays[name + ".s"], factor, rtol=1e-5)


def test_an_element_adds_by_ternary_weights_and_a_wrong_byte_is_seen():
    """Jobs of every kind in simulated RTL, beside the sums of NumPy."""
    trits, channels, d, ffn, layers, outs = 16, 2, 32, 64, 1, 3
    jobs = [(3 * d, d), (d, d), (ffn, d), (d, ffn)] * layers + [(channels * outs, d)]
    rng = np.random.default_rng(0)
    weights = [drawn(k, rows // channels, depth) for k, (rows, depth) in enumerate(jobs)]
    inputs = [rng.integers(-127, 128, depth).astype(np.int8) for _, depth in jobs]
    expected = np.concatenate([w.astype(int) @ x for w, x in zip(weights, inputs, strict=True)])
    # Beside each word of activations stands the sum of those of its job so far.
    rows = []
    for x in inputs:
        words = x.reshape(-1, trits)
        sums = np.cumsum(words.sum(1, dtype=np.int32)).astype("<i4").view(np.uint8).reshape(-1, 4)
        rows.append(np.concatenate([words.view(np.uint8), sums[:, :3]], axis=1))
    activations = words_of(np.concatenate(rows).reshape(-1), 8 * trits + 24)
    memory = ternary_words(np.concatenate([w.reshape(-1) for w in weights])[None], trits)[0]
    sizes = [trits, 4, channels, d, 3 * d, d, ffn, ffn, layers, outs]
    s = schedule_multiply_trits(allo.customize(multiply_trits, instantiate=sizes))
    build = s.build(target="verilog", simulator="jit")
    sums = np.zeros(len(expected), np.int32)
    build(memory, activations, sums)
    assert np.array_equal(sums, expected)
    # The first weight of the second word, of the first output: another digit changes that sum alone.
    wrong = weights[0].copy()
    wrong[0, trits] = -1 if wrong[0, trits] == 1 else 1
    memory[1] = ternary_words(wrong[:1], trits)[0, 1]
    build(memory, activations, sums)
    off = (int(wrong[0, trits]) - int(weights[0][0, trits])) * int(inputs[0][trits])
    assert off
    assert sums[0] - expected[0] == off
    assert np.array_equal(sums[1:], expected[1:])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: pack_trits(np.array([0, 2, -3], np.int8)),
         "The weight 2 is not ternary, which are -1, 0 and 1, and 1 others are not."),
        (lambda: unpack_trits(np.zeros(2, np.uint8), 11),
         "2 bytes hold 10 ternary weights, and not 11."),
        (lambda: ternary_rows(np.ones((2, 2)), "row"),
         "Ternary weights have no scale of each 'row'."),
        (lambda: unpack_trits(np.array([0, 255], np.uint8), 10),
         "The byte 255 stands for no five ternary weights."),
    ],
    ids=["weights", "short", "rule", "byte"],
)  # fmt: skip
def test_what_is_not_ternary_is_refused(act, message: str):
    with pytest.raises(TernaryError) as error:
        act()
    assert error.value.args[0] == message


def test_ternary_weights_of_four_bits_are_refused(params, scales):
    with pytest.raises(QuantizationError) as error:
        quantize(TINY, params, scales, 4, ternary="matrix")
    assert error.value.args[0] == (
        "Ternary weights have neither 4 bits nor blocks of 0 activations."
    )
