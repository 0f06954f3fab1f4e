"""Integer models: against the float model, against the accelerator's reference, and in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints.groups import FourBits, GroupError, quantize_groups
from allo.designs.llm.checkpoints.integer_model import IntegerModel, QuantizedGPT, TokenRangeError
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import (
    QuantizationError,
    QuantizedModel,
    activations,
    calibrate,
    quantize,
)
from allo.designs.llm.host import SequenceTooLongError

ORACLES = Path(__file__).parent / "oracles"
FAMILIES = ("gpt2", "opt", "llama", "llama3", "bert")


def quantized(name: str, bits: int = 8, group: int = 16) -> tuple[QuantizedModel, np.ndarray]:
    loaded = load_checkpoint(ORACLES / name)
    with np.load(ORACLES / name / "oracle.npz") as oracle:
        tokens = oracle["tokens"]
    scales = calibrate(loaded.model, loaded.params, [tokens])
    return quantize(loaded.model, loaded.params, scales, bits, group), tokens


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("bits", "most"), [(8, 0.06), (4, 0.4)])
def test_integers_stay_near_the_float_values(name: str, bits: int, most: float):
    model, tokens = quantized(name, bits)
    with np.load(ORACLES / name / "oracle.npz") as oracle:
        values = oracle["values"]
    error = IntegerModel(model).feed(tokens) - values
    assert np.sqrt(np.square(error).mean()) < most * values.std()


@pytest.mark.parametrize("bits", [8, 4])
def test_a_gpt2_is_bit_for_bit_the_accelerators_reference(bits: int):
    model, tokens = quantized("gpt2", bits)
    expected = QuantizedGPT(model.gpt_weights()).forward(tokens)
    assert np.array_equal(IntegerModel(model).feed(tokens), expected)


@pytest.mark.parametrize("name", [f for f in FAMILIES if f != "bert"])
def test_a_sequence_in_parts_gives_the_same_bits(name: str):
    model, tokens = quantized(name)
    whole = IntegerModel(model).feed(tokens)
    session = IntegerModel(model)
    parts = [session.feed(tokens[:, a:b]) for a, b in ((0, 6), (6, 7), (7, 20))]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    session.reset()
    assert np.array_equal(session.feed(tokens), whole)


def test_accumulators_are_those_of_plain_integers():
    model, tokens = quantized("llama")
    seen: dict[str, np.ndarray] = {}
    IntegerModel(model, lambda name, value: seen.__setitem__(name, value)).feed(tokens)
    assert len(seen) == 2 * 7 + 1
    assert all(value.dtype == np.int32 for value in seen.values())
    rows = model.arrays["0.k.w"]
    bound = 127 * np.abs(rows.astype(np.int64)).sum(1)
    assert (np.abs(seen["0.k"]) <= bound).all()


def test_four_bit_weights_are_nibbles_and_steps():
    model, _ = quantized("opt", 4, 16)
    assert set(model.packed) == {
        f"{i}.{n}" for i in range(2) for n in ("q", "k", "v", "p", "f1", "f2")
    }
    for name, packed in model.packed.items():
        rows = model.arrays[name + ".w"]
        assert np.array_equal(packed.rows(), rows)
        assert packed.steps.shape == (rows.shape[0], rows.shape[1] // 16)
        assert packed.nibbles.nbytes == rows.size // 2
        parts = rows.reshape(len(rows), -1, 16).astype(int)
        assert (parts % packed.steps[..., None] == 0).all()
        assert np.abs(parts // packed.steps[..., None]).max() <= 7


@pytest.mark.parametrize("inputs", [128, 130, 300])
def test_groups_follow_weights_of_different_sizes(inputs: int):
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(6, inputs)) * np.repeat([1.0, 0.3, 0.5], 128)[:inputs]
    packed = quantize_groups(weight)
    near = packed.rows() * packed.scale[:, None]
    error = np.sqrt(np.square(near - weight).mean(0))
    assert (error[:128].mean() < 0.17) and (inputs < 256 or error[128:256].mean() < 0.06)
    with pytest.raises(GroupError, match=r"The steps of 6 outputs .* shape \[6, 9\], and not"):
        replace(packed, steps=np.ones((6, 9), np.uint8)).rows()


def test_packed_nibbles_of_another_shape_are_refused():
    packed = FourBits(np.zeros((2, 3), np.uint8), np.ones((2, 1), np.uint8), np.ones(2), 8)
    with pytest.raises(GroupError) as error:
        packed.rows()
    assert str(error.value) == (
        "The nibbles of 2 outputs and 8 inputs in groups of 128 have the shape [2, 3], and not "
        "[2, 4].\nhelp: pack the layer again with pack_groups."
    )


def test_other_bits_and_other_scales_are_refused():
    loaded = load_checkpoint(ORACLES / "llama")
    with pytest.raises(QuantizationError, match="Weights of 3 bits are not known"):
        quantize(loaded.model, loaded.params, {}, 3)
    scales = dict.fromkeys(activations(loaded.model), 0.1)
    del scales["1.o"]
    with pytest.raises(QuantizationError, match=r"The activation '1\.o' has no scale"):
        quantize(loaded.model, loaded.params, scales)


def test_a_sequence_longer_than_the_context_is_refused():
    model, tokens = quantized("llama")
    session = IntegerModel(model)
    session.feed(tokens)
    with pytest.raises(SequenceTooLongError) as error:
        session.feed(tokens[:, :5])
    assert str(error.value) == (
        "A sequence of 25 tokens does not fit the context of 24.\n"
        "help: shorten it to 4 more tokens."
    )
    assert session.position == 20


def test_unknown_tokens_and_parts_for_an_encoder_are_refused():
    model, tokens = quantized("bert")
    session = IntegerModel(model)
    with pytest.raises(TokenRangeError, match="Token 48 is not in the model's table of 48 tokens"):
        session.feed(np.array([[3, 48]]))
    session.feed(tokens)
    with pytest.raises(SequenceTooLongError, match="An encoder sees its sequence whole"):
        session.feed(tokens[:, :2])
