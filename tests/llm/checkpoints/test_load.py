"""Checkpoints that Hugging Face's library wrote give the values that it computed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints import architecture
from allo.designs.llm.checkpoints.entries import KINDS, MAY_BE_NULL
from allo.designs.llm.checkpoints.files import (
    CheckpointFileError,
    read_tensors,
    write_tensors,
)
from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.load import CheckpointShapeError, load_checkpoint
from allo.designs.llm.conditions import gpt_config
from allo.designs.llm.config import ConfigurationError, GPTConfig
from allo.designs.llm.language.tokenizer import Tokenizer, TokenizerError

ORACLES = Path(__file__).parent / "oracles"
FAMILIES = ("gpt2", "opt", "llama", "llama3", "bert")


def copied(tmp_path: Path, name: str) -> Path:
    return Path(shutil.copytree(ORACLES / name, tmp_path / name))


def change_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))


def change_tensors(folder: Path, change) -> None:
    path = folder / "model.safetensors"
    tensors = {name: np.array(value) for name, value in read_tensors(path).items()}
    change(tensors)
    write_tensors(path, tensors)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_computes_what_its_library_computes(name: str):
    loaded = load_checkpoint(ORACLES / name)
    with np.load(ORACLES / name / "oracle.npz") as oracle:
        values = FloatModel(loaded.model, loaded.params).forward(oracle["tokens"])
        assert values.shape == oracle["values"].shape
        assert np.abs(values - oracle["values"]).max() < 2e-5


def test_a_model_in_parts_is_read_whole():
    parts = sorted((ORACLES / "llama").glob("model-*.safetensors"))
    assert len(parts) == 6
    assert "lm_head.weight" not in read_tensors(parts[0]) or len(read_tensors(parts[0])) < 20


def test_a_gpt2_is_what_the_accelerators_take():
    loaded = load_checkpoint(ORACLES / "gpt2")
    assert gpt_config(loaded.model) == GPTConfig(2, 32, 4, 128, 24, 48)
    assert {n: p.shape for n, p in loaded.params.items()} == gpt_config(loaded.model).shapes()


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("opt", "ReLU without a gate"),
        ("llama", "norms that divide by the root mean square"),
        ("bert", "attention in both directions, as of an encoder"),
    ],
)
def test_another_arithmetic_is_refused_by_the_accelerators(name: str, feature: str):
    with pytest.raises(ConfigurationError) as error:
        gpt_config(load_checkpoint(ORACLES / name).model)
    assert str(error.value) == (
        f"The GPT accelerator does not have {feature}, which this model of the family {name!r} has.\n"
        "help: use a GPT-2 checkpoint, or compute it by its integer reference."
    )


def test_int8_tensors_are_read_with_their_scales(tmp_path: Path):
    folder = copied(tmp_path, "gpt2")
    name = "transformer.h.1.mlp.c_fc.weight"
    rng = np.random.default_rng(1)
    rows = rng.integers(-127, 128, (32, 128)).astype(np.int8)
    scale = rng.uniform(0.001, 0.01, 128).astype(np.float32)
    change_tensors(folder, lambda t: t.update({name: rows, name + "_scale": scale}))
    found = load_checkpoint(folder).params["1.f1.w"]
    assert np.array_equal(found, (rows.T * scale[:, None].astype(np.float64)).astype(np.float32))
    change_tensors(folder, lambda t: t.pop(name + "_scale"))
    with pytest.raises(
        CheckpointShapeError, match=r"no 'transformer.*weight_scale' with one scale"
    ):
        load_checkpoint(folder)


def test_a_shape_that_is_not_the_configurations_is_named(tmp_path: Path):
    folder = copied(tmp_path, "gpt2")
    change_config(folder, n_inner=120)
    with pytest.raises(CheckpointShapeError) as error:
        load_checkpoint(folder)
    assert str(error.value) == (
        f"Tensor 'transformer.h.0.mlp.c_fc.weight' of {folder} has the shape [32, 128], and the "
        "configuration asks for [32, 120].\n"
        "help: take config.json and the safetensors files from the same model."
    )


def test_a_tensor_that_is_not_there_is_named(tmp_path: Path):
    folder = copied(tmp_path, "opt")
    change_config(folder, num_hidden_layers=3)
    with pytest.raises(CheckpointShapeError, match=r"no tensor 'model\.decoder\.layers\.2\.self"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gpt2", {"model_type": "mamba"}, "is of the family 'mamba'"),
        ("gpt2", {"n_head": ...}, "of a gpt2 model has no entry 'n_head'"),
        ("gpt2", {"activation_function": "swish"}, "activation function 'swish' is not known"),
        ("gpt2", {"n_head": 5}, "32 is not a multiple of the 5 attention heads"),
        ("gpt2", {"n_layer": 0}, "Every size of a model is positive"),
        ("opt", {"do_layer_norm_before": False}, "do_layer_norm_before = False, and only True"),
        ("llama", {"num_key_value_heads": 3}, "not a multiple of the 3 heads of keys and values"),
        ("llama", {"rope_parameters": {"rope_type": "yarn"}}, "the type 'yarn' are not known"),
        (
            "gpt2",
            {"n_head": "four"},
            "'n_head' of the .* is 'four', and must be a whole number",
        ),
        ("gpt2", {"n_layer": 1.5}, "is 1.5, and must be a whole number"),
        ("gpt2", {"n_embd": True}, "is True, and must be a whole number"),
        ("bert", {"hidden_size": None}, "'hidden_size' .* is None, and must be a whole number"),
        ("bert", {"model_type": ["bert"]}, "is \\['bert'\\], and must be a text"),
        ("bert", {"is_decoder": "yes"}, "is 'yes', and must be true or false"),
        ("llama", {"rms_norm_eps": -1.0}, "is -1.0, and must be a number above 0"),
        ("llama", {"rms_norm_eps": "1e-5"}, "is '1e-5', and must be a number above 0"),
        ("llama", {"tie_word_embeddings": "no"}, "'tie_word_embeddings' .* must be true or false"),
        (
            "llama3",
            {"rope_parameters": [1]},
            "'rope_parameters' .* is \\[1\\], and must be an object",
        ),
        (
            "llama3",
            {"rope_parameters": {"rope_theta": "big"}},
            "'rope_theta' .* must be a number above 0",
        ),
        ("llama", {"quantization_config": "int8"}, "'quantization_config' .* must be an object"),
    ],
)
def test_an_unknown_configuration_is_refused(tmp_path: Path, name, changes, message):
    folder = copied(tmp_path, name)
    change_config(folder, **changes)
    with pytest.raises(ConfigurationError, match=message):
        load_checkpoint(folder)


def test_a_damaged_or_missing_configuration_is_refused(tmp_path: Path):
    folder = copied(tmp_path, "bert")
    (folder / "config.json").write_text('{"model_type": "be')
    with pytest.raises(CheckpointFileError, match=r"config\.json is truncated or damaged"):
        load_checkpoint(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(CheckpointFileError, match=r"config\.json is no JSON object"):
        load_checkpoint(folder)
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointFileError, match=r"There is no checkpoint file .*config\.json"):
        load_checkpoint(folder)


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path):
    folder = copied(tmp_path, "gpt2")
    Tokenizer.train("to be or not to be " * 2, 260, special=()).save(folder / "tokenizer.json")
    with pytest.raises(CheckpointShapeError, match=r"has 260 tokens, and its model 48\."):
        load_checkpoint(folder)
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(TokenizerError, match="is truncated, damaged or of"):
        load_checkpoint(folder)


def test_every_entry_that_is_read_has_a_kind():
    """The names in the text of the readers are those of the table, but for what must have one value."""
    source = Path(architecture.__file__).read_text()
    read = set(re.findall(r"""(?:\bc|rope)(?:\.get\(|\[)"(\w+)\"""", source))
    known = {name for kind in KINDS for name in kind.entries}
    assert read - known == set() and len(read) > 20
    assert MAY_BE_NULL < known


def test_a_folder_may_be_a_text():
    assert load_checkpoint(str(ORACLES / "gpt2")).model.family == "gpt2"
    with pytest.raises(CheckpointFileError, match=r"There is no folder /nowhere\."):
        load_checkpoint("/nowhere")
