"""The model that speaks: its folder, its prose, what it predicts, and how tokens are chosen."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints.files import read_folder
from allo.designs.llm.checkpoints.integer_model import IntegerModel
from allo.designs.llm.checkpoints.load import SCALE, Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.quantize import activations, quantize
from allo.designs.llm.language.prose import NOVELS, ProseError, load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler, SamplingError
from allo.designs.llm.language.speaker import FOLDER, float_perplexity, integer_perplexity


@cache
def shipped() -> Checkpoint:
    return load_checkpoint(FOLDER)


def test_the_shipped_model_is_large_enough_and_small_enough():
    model = shipped().model
    assert sum(int(np.prod(shape)) for shape in read_shapes().values()) > 10_000_000
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 12_000_000
    assert (model.layers, model.d, model.heads, model.ffn) == (6, 384, 6, 1536)
    assert len(shipped().tokenizer or ()) == model.vocab == 1536


def read_shapes() -> dict[str, tuple[int, ...]]:
    return {k: v.shape for k, v in read_folder(FOLDER).items() if not k.endswith(SCALE)}


def test_its_integers_are_quantised_to_themselves():
    loaded = shipped()
    stored = read_folder(FOLDER)
    weights = quantize(loaded.model, loaded.params, loaded.scales or {}).arrays
    assert np.array_equal(weights["3.f1.w"], stored["transformer.h.3.mlp.c_fc.weight"].T)
    assert np.array_equal(weights["head.w"], stored["transformer.wte.weight"])
    attention = np.concatenate([weights[f"5.{n}.w"] for n in "qkv"])
    assert np.array_equal(attention, stored["transformer.h.5.attn.c_attn.weight"].T)
    assert set(loaded.scales or {}) == set(activations(loaded.model))


def test_it_predicts_prose_it_has_never_seen():
    loaded = shipped()
    assert loaded.tokenizer is not None
    held = np.array(loaded.tokenizer.encode(split_prose(load_prose())[1][6_000:8_000]), np.int32)
    assert len(held) > 2 * 256
    model = quantize(loaded.model, loaded.params, loaded.scales or {})
    before = float_perplexity(model, loaded.params, held)
    after = integer_perplexity(model, held)
    assert before < 30.0
    assert after < 1.02 * before


def test_the_recorded_perplexities_are_those_of_the_documentation():
    found = json.loads((FOLDER / "training.json").read_text())["perplexity"]
    page = (Path(__file__).parents[3] / "docs" / "llm" / "speaker.md").read_text()
    for name in ("float", "W8A8", "W4A8"):
        assert f"{found[name]:.2f}" in page
    assert found["W8A8"] < 1.005 * found["float"] and found["W4A8"] < 1.02 * found["float"]


def test_prose_is_split_without_overlap():
    kept, held = split_prose([f"p{k}" for k in range(450)])
    kept_lines, held_lines = kept.split(), held.split()
    assert len(held_lines) == 24 and len(kept_lines) == 426
    assert sorted(kept_lines + held_lines) == sorted(f"p{k}" for k in range(450))
    assert held_lines[:8] == [f"p{k}" for k in range(192, 200)]


def test_damaged_or_missing_prose_is_refused(tmp_path: Path):
    assert len(load_prose()) == 9973
    with pytest.raises(ProseError, match="There is no prose .*none"):
        load_prose(tmp_path / "none")
    (tmp_path / "half").write_bytes(NOVELS.read_bytes()[:1000])
    with pytest.raises(ProseError, match="half is damaged"):
        load_prose(tmp_path / "half")


def test_greedy_takes_the_lowest_of_equal_tokens():
    assert Sampler().choose(np.array([0.5, 2.0, 1.0, 2.0], np.float32)) == 1


def test_chance_is_the_softmax_of_the_likeliest_tokens():
    logits = np.log(np.array([0.5, 0.1, 0.3, 0.05, 0.05], np.float32))
    sampler = Sampler(candidates=3, seed=5)
    counts = np.bincount([sampler.choose(logits) for _ in range(9_000)], minlength=5) / 9_000
    assert np.abs(counts - np.array([5, 1, 3, 0, 0]) / 9).max() < 0.02
    again = Sampler(candidates=3, seed=5)
    other = Sampler(candidates=3, seed=5)
    assert [again.choose(logits) for _ in range(50)] == [other.choose(logits) for _ in range(50)]


def test_a_low_temperature_takes_the_likeliest():
    sampler = Sampler(candidates=4, temperature=0.01)
    assert {sampler.choose(np.array([0.0, 1.0, 0.5, 0.2])) for _ in range(50)} == {1}


@pytest.mark.parametrize(("candidates", "temperature"), [(0, 1.0), (3, 0.0), (3, float("nan"))])
def test_a_sampler_that_chooses_nothing_is_refused(candidates: int, temperature: float):
    with pytest.raises(SamplingError, match=f"{candidates} candidates at a temperature of"):
        Sampler(candidates, temperature)


def test_it_speaks_english():
    loaded = shipped()
    assert loaded.tokenizer is not None
    session = IntegerModel(quantize(loaded.model, loaded.params, loaded.scales or {}))
    said = loaded.tokenizer.encode("Mr. Darcy looked at")
    logits = session.feed(np.array([said]))
    sampler = Sampler(20, 0.7, 2)
    for _ in range(11):
        said.append(sampler.choose(logits[0, -1]))
        logits = session.feed(np.array([said[-1:]]))
    assert (
        loaded.tokenizer.decode(said)
        == "Mr. Darcy looked at her with an air of surprise. She could"
    )
