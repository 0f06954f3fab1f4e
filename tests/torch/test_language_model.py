"""The training of the speaking model: it goes on where it was cut short, and what it writes is what it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tokenizers
import torch

from allo.designs.llm.checkpoints.float_model import FloatModel
from scripts.language_model import finish, train

TINY = {"layers": 1, "d": 32, "heads": 2, "ffn": 48, "context": 12, "vocab": 40, "batch": 3}


def trained(folder: Path, *limits: int, steps: int = 6):
    """A model trained in so many runs, each up to a number of steps."""
    folder.mkdir()
    rng = np.random.default_rng(4)
    texts = {n: rng.integers(0, 40, 400).astype(np.uint16) for n in ("train", "held", "varied0")}
    np.savez(folder / "tokens.npz", **texts)
    for limit in limits:
        options = train.Options(**TINY, steps=steps, evaluate=2)
        trainer = train.Trainer(folder, options, "cpu", compiled=False)
        trainer.load_state()
        while trainer.step < limit:
            trainer.take_step()
        trainer.save_state()
    return trainer


def test_a_run_that_was_cut_short_goes_on(tmp_path: Path):
    whole = trained(tmp_path / "whole", 6)
    parts = trained(tmp_path / "parts", 1, 4, 6)
    assert parts.step == whole.step == 6
    for name, value in whole.average.items():
        assert torch.equal(parts.average[name], value), name
    other = trained(tmp_path / "other", 5)
    assert not torch.equal(other.average["wte.weight"], whole.average["wte.weight"])


def test_what_is_written_computes_what_was_trained(tmp_path: Path):
    folder = tmp_path / "run"
    trainer = trained(folder, 3)
    for value in trainer.average.values():
        value += 0.1 * torch.randn(value.shape, generator=torch.Generator().manual_seed(3))
    trainer.write_weights(3.5, 1.0)
    assert json.loads((folder / "training.json").read_text())["held_out_loss"] == 3.5
    tensors = dict(np.load(folder / "float-0.npz"))
    words = tokenizers.models.WordLevel({chr(65 + k): k for k in range(40)}, unk_token="A")
    tokenizers.Tokenizer(words).save(str(folder / "tokenizer.json"))
    files = (finish.configuration(TINY), folder / "tokenizer.json")
    single = {name: value.astype(np.float32) for name, value in tensors.items()}
    loaded = finish.write_folder(tmp_path / "float", single, *files)
    model = train.Model(trainer.options).eval()
    model.load_state_dict({k: v.to(torch.float16).float() for k, v in trainer.average.items()})
    tokens = np.random.default_rng(1).integers(0, 40, (2, 12))
    with torch.no_grad():
        expected = model(torch.from_numpy(tokens)).numpy()
    found = FloatModel(loaded.model, loaded.params).forward(tokens)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    small = finish.write_folder(tmp_path / "int8", finish.int8_tensors(tensors), *files)
    error = FloatModel(small.model, small.params).forward(tokens) - expected
    assert 0 < np.sqrt(np.square(error).mean()) < 0.02 * expected.std()


def test_the_time_limit_ends_a_run(tmp_path: Path):
    trainer = trained(tmp_path / "run", 2)
    trainer.train(limit_s=0.0)
    assert trainer.step == 2 and not (tmp_path / "run" / "training.json").exists()
    trainer.train(limit_s=float("inf"))
    assert trainer.step == 6 and [row[0] for row in trainer.history] == [4, 6]
    assert (tmp_path / "run" / "training.json").exists()
