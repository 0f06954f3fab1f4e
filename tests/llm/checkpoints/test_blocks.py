"""Steps of tokens and shifts of blocks: their arithmetic, and their worth where a channel is large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints.blocks import in_blocks, most_shift
from allo.designs.llm.checkpoints.float_model import FloatModel, Params
from allo.designs.llm.checkpoints.integer_model import IntegerModel
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import QuantizationError, calibrate, quantize
from allo.designs.llm.checkpoints.rotation import smoothed, turned
from allo.designs.llm.config import ConfigurationError

ORACLES = Path(__file__).parent / "oracles"


def test_levels_are_the_nearest_of_their_block():
    rng = np.random.default_rng(1)
    values = (rng.standard_normal((50, 64)) * 10.0 ** rng.uniform(-3, 3, (50, 64))).astype(
        np.float32
    )
    found = in_blocks(values, block=16, most=5)
    finest = found.peak / 127.0 / 32
    for token, levels in zip(values.astype(np.float64), found.levels, strict=True):
        peak = np.abs(token).max()
        for block in range(4):
            part = slice(16 * block, 16 * block + 16)
            ratio = peak / np.abs(token[part]).max()
            coarser = 2.0 ** (5 - min(5, int(np.floor(np.log2(ratio)))))
            assert np.all(levels[part] % coarser == 0)
            assert np.abs(levels[part]).max() <= 127 * coarser
            off = levels[part] * (peak / 127 / 32) - token[part]
            assert np.abs(off).max() <= 0.501 * coarser * peak / 127 / 32
    assert np.all(finest > 0) and len(set((found.levels != 0).sum(1))) > 1


def test_a_token_of_zeros_has_levels_of_zero():
    found = in_blocks(np.zeros((2, 32), np.float32), block=8, most=3)
    assert not found.levels.any() and np.isfinite(found.peak).all()


@pytest.mark.parametrize(("inputs", "shift"), [(576, 7), (1536, 6), (4096, 5), (11008, 3)])
def test_sums_fit_32_bits(inputs: int, shift: int):
    assert most_shift(inputs) == shift
    assert inputs * 127 * 127 << shift < 1 << 31 and (
        shift == 7 or inputs * 127**2 << (shift + 1) >= 1 << 31
    )


def outlier(params: Params, factor: float, channel: int = 5) -> Params:
    """The same function with one channel of the norms' results so many times as large."""
    found = {name: value.copy() for name, value in params.items()}
    for name in params:
        if name.endswith(("norm1.g", "norm2.g", "norm.g")):
            found[name][channel] *= factor
        if name.endswith(("q.w", "k.w", "v.w", "gate.w", "f1.w", "head.w")):
            found[name][:, channel] /= np.float32(factor)
    return found


@pytest.fixture(name="loaded", scope="module")
def loaded_once():
    found = load_checkpoint(ORACLES / "llama")
    with np.load(ORACLES / "llama" / "oracle.npz") as oracle:
        return found.model, found.params, oracle["tokens"], oracle["values"]


def test_turned_and_smoothed_models_compute_the_same(loaded):
    model, params, tokens, values = loaded
    other = smoothed(model, outlier(params, 100.0), [tokens])
    assert np.abs(other["0.f2.w"] - params["0.f2.w"]).max() > 0.01
    for changed in (other, turned(model, other)):
        assert np.abs(FloatModel(model, changed).forward(tokens) - values).max() < 1e-4
    gains = [v for n, v in turned(model, other).items() if n.endswith(("norm1.g", "norm2.g"))]
    assert all(np.all(gain == 1.0) for gain in gains)


@pytest.mark.parametrize("factor", [20.0, 100.0])
def test_a_large_channel_costs_nothing_behind_a_turn(loaded, factor: float):
    """With static steps it ruins the logits; with steps of tokens in blocks it spoils its own block."""
    model, params, tokens, values = loaded

    def off(params: Params, block: int) -> float:
        scales = calibrate(model, params, [tokens])
        said = IntegerModel(quantize(model, params, scales, block=block)).forward(tokens)
        return float(np.sqrt(np.square(said - values).mean()) / values.std())

    planted = outlier(params, factor)
    plain, static, blocks = off(params, 0), off(planted, 0), off(planted, 8)
    mended = off(turned(model, planted), 8)
    assert static > 3 * plain and blocks < static / 1.5
    assert mended < 1.2 * off(params, 8)


def test_what_steps_of_tokens_do_not_take_is_said(loaded):
    model, params, tokens, _ = loaded
    scales = calibrate(model, params, [tokens])
    with pytest.raises(QuantizationError, match=r"Blocks of 12 activations do not divide"):
        quantize(model, params, scales, block=12)
    gpt = load_checkpoint(ORACLES / "gpt2")
    scales = calibrate(gpt.model, gpt.params, [tokens])
    with pytest.raises(QuantizationError, match="a model of the family 'gpt2' has others"):
        quantize(gpt.model, gpt.params, scales, block=8)
    with pytest.raises(ConfigurationError, match="of the family 'gpt2' cannot be turned"):
        turned(gpt.model, gpt.params)
