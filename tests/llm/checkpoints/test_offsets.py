"""Four-bit weights with offsets: the blocks of GGUF's Q4_1 as they are, and heads made even for them."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from allo.designs.llm.checkpoints.blocks import most_shift
from allo.designs.llm.checkpoints.float_model import FloatModel, Params
from allo.designs.llm.checkpoints.integer_model import IntegerModel
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.offsets import MOST_PRODUCT, quantize_offsets
from allo.designs.llm.checkpoints.quantize import QuantizationError, calibrate, quantize
from allo.designs.llm.checkpoints.rotation import evened

ORACLES = Path(__file__).parent / "oracles"
KIND = gguf.GGMLQuantizationType.Q4_1


def test_blocks_of_q4_1_are_taken_as_they_are():
    """Levels are those that the package ``gguf`` stored, steps and offsets the nearest of 8 bits."""
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((24, 96), np.float32) * rng.uniform(0.01, 3, (24, 1)) + 0.02
    stored = gguf.quantize(weight.astype(np.float32), KIND)
    blocks = stored.reshape(24, 3, 20)
    step, low = (np.ascontiguousarray(blocks[..., at : at + 2]).view(np.float16)[..., 0].astype(np.float64)
                 for at in (0, 2))  # fmt: skip
    levels = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], axis=-1).astype(int)
    found = quantize_offsets(gguf.dequantize(stored, KIND))
    assert np.array_equal(found.q.reshape(levels.shape) + 8, levels)
    unit = found.scale[:, None]
    assert np.all(np.abs(found.steps * unit - step) <= 0.501 * unit)
    assert np.all(np.abs(found.offsets * unit - (low + 8 * step)) <= 0.501 * unit)
    assert np.array_equal(
        found.rows(), found.q * found.steps.repeat(32, 1).astype(int) + found.offsets.repeat(32, 1)
    )


def test_a_group_of_equal_weights_and_a_row_of_zeros():
    weight = np.full((2, 64), 0.5, np.float32)
    weight[1] = 0
    found = quantize_offsets(weight)
    assert found.rows()[0] * found.scale[0] == pytest.approx(0.5)
    assert not found.rows()[1].any() and np.all(found.scale > 0)


@pytest.mark.parametrize(("inputs", "shift"), [(576, 4), (1536, 3), (8192, 0)])
def test_sums_fit_32_bits(inputs: int, shift: int):
    assert most_shift(inputs, MOST_PRODUCT) == shift
    assert (
        inputs * 127 * MOST_PRODUCT << shift < 1 << 31 <= inputs * 127 * MOST_PRODUCT << shift + 1
    )


@pytest.fixture(name="loaded", scope="module")
def loaded_once():
    found = load_checkpoint(ORACLES / "llama")
    with np.load(ORACLES / "llama" / "oracle.npz") as oracle:
        return found.model, found.params, oracle["tokens"], oracle["values"]


def test_a_model_of_these_weights_is_as_near_as_the_weights_are(loaded):
    model, params, tokens, _ = loaded
    scales = calibrate(model, params, [tokens])
    weights = quantize(model, params, scales, weight_bits=4, group=8, block=8, offsets=True)
    assert weights.group == 8 and weights.arrays["0.q.w"].dtype == np.int16
    taken = dict(params)
    for name, (outputs, _) in model.linears().items():
        for layer in range(model.layers):
            found = quantize_offsets(params[f"{layer}.{name}.w"], 8)
            assert found.q.shape[0] == outputs
            taken[f"{layer}.{name}.w"] = (found.rows() * found.scale[:, None]).astype(np.float32)
    expected = FloatModel(model, taken).forward(tokens)
    off = np.sqrt(np.square(IntegerModel(weights).forward(tokens) - expected).mean())
    assert off < 0.06 * expected.std()
    weights.arrays["0.q.w"][:, :8] += 20  # a fault: one group's offset
    wrong = np.sqrt(np.square(IntegerModel(weights).forward(tokens) - expected).mean())
    assert wrong > 2 * off


@pytest.mark.parametrize("group", [1, 4])
def test_uneven_heads_cost_nothing_behind_an_evening(loaded, group: int):
    """A pair of a head's keys is made 30 times as large, and its queries as small; so are values."""
    model, params, tokens, values = loaded
    planted = {name: value.copy() for name, value in params.items()}
    shared, width, factor = model.heads // model.kv_heads, model.head_dim, np.float32(30.0)
    queries, pair = np.arange(shared)[:, None] * width, np.array([1, 1 + width // 2])
    for rows, name, by in ((pair, "0.k", factor), ((queries + pair).ravel(), "0.q", 1 / factor)):
        planted[name + ".w"][rows] *= by
        planted[name + ".b"][rows] *= by
    planted["0.v.w"][:4] *= factor
    planted["0.v.b"][:4] *= factor
    planted["0.p.w"][:, (queries + np.arange(4)).ravel()] /= factor
    other = evened(model, planted, [tokens], group)
    assert np.abs(FloatModel(model, other).forward(tokens) - values).max() < 1e-4

    def off(params: Params) -> float:
        scales = calibrate(model, params, [tokens])
        found = quantize(model, params, scales, weight_bits=4, group=4, block=8, offsets=True)
        said = IntegerModel(found).forward(tokens)
        return float(np.sqrt(np.square(said - values).mean()))

    assert off(planted) > 1.5 * off(params) and off(other) < 1.2 * off(params)


def test_what_offsets_do_not_take_is_said(loaded):
    model, params, tokens, _ = loaded
    scales = calibrate(model, params, [tokens])
    with pytest.raises(QuantizationError, match="of weights of 4 bits, and not of 8"):
        quantize(model, params, scales, offsets=True)
    with pytest.raises(
        QuantizationError, match="Groups of 32 inputs do not divide layers of 32 and 48"
    ) as error:
        quantize(model, params, scales, weight_bits=4, group=32, offsets=True)
    assert "16 is the largest number that divides all" in str(error.value)
