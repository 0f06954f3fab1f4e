"""The reader and writer of safetensors, and what they say of damaged files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints.files import (
    CheckpointFileError,
    read_folder,
    read_tensors,
    write_tensors,
)

ORACLES = Path(__file__).parent / "oracles"


def tensors():
    rng = np.random.default_rng(0)
    return {
        "a": rng.normal(size=(3, 5)).astype(np.float32),
        "b": rng.integers(-128, 128, (4, 2, 3)).astype(np.int8),
        "c": np.array(7, np.int64),
        "d": rng.normal(size=6).astype(np.float16),
        "e": np.zeros((0, 4), np.uint8),
    }


def packed(header: dict, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def test_what_is_written_is_read(tmp_path: Path):
    write_tensors(tmp_path / "m.safetensors", tensors(), {"format": "pt"})
    found = read_tensors(tmp_path / "m.safetensors")
    assert sorted(found) == sorted(tensors())
    for name, value in tensors().items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        assert np.array_equal(found[name], value)


def test_bfloat16_comes_as_float32(tmp_path: Path):
    values = np.array([1.0, -2.5, 3.140625, 2.0**100], np.float32)
    halves = (values.view(np.uint32) >> 16).astype("<u2")
    header = {"x": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}
    (tmp_path / "m").write_bytes(packed(header, halves.tobytes()))
    found = read_tensors(tmp_path / "m")["x"]
    assert found.dtype == np.float32
    assert np.array_equal(found, values.reshape(2, 2))


@pytest.mark.parametrize("keep", [0, 5, 8, 200, 113_000])
def test_a_truncated_file_is_refused(tmp_path: Path, keep: int):
    whole = (ORACLES / "gpt2" / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[:keep])
    with pytest.raises(CheckpointFileError, match="is truncated or damaged"):
        read_folder(tmp_path)


def test_what_is_wrong_with_a_file_is_said_whole(tmp_path: Path):
    whole = (ORACLES / "gpt2" / "model.safetensors").read_bytes()
    path = tmp_path / "model.safetensors"
    path.write_bytes(whole[:-1])
    with pytest.raises(CheckpointFileError) as error:
        read_tensors(path)
    assert str(error.value) == (
        f"The checkpoint file {path} is truncated or damaged (Error while deserializing header: "
        "incomplete metadata, file not fully covered).\n"
        "help: copy the file again from where the model came from."
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}, "type F8_E4M3, which is not"),
        (
            {"dtype": "F32", "shape": [4], "data_offsets": [0, 4]},
            "invalid shape, data type, or offset",
        ),
        ({"dtype": "U8", "shape": [-4], "data_offsets": [8, 4]}, "integer `-4`"),
        ({"dtype": "F32", "shape": [1]}, "missing field `data_offsets`"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path: Path, entry: dict, message: str):
    (tmp_path / "m").write_bytes(packed({"x": entry}, bytes(8)))
    with pytest.raises(CheckpointFileError, match=message):
        read_tensors(tmp_path / "m")


def test_a_header_that_is_no_json_is_refused(tmp_path: Path):
    (tmp_path / "m").write_bytes((4).to_bytes(8, "little") + b"{{{{")
    with pytest.raises(
        CheckpointFileError, match="checkpoint file .* is truncated or damaged .*header"
    ):
        read_tensors(tmp_path / "m")


def test_missing_folders_and_files_are_named(tmp_path: Path):
    with pytest.raises(CheckpointFileError, match="There is no folder .*none"):
        read_folder(tmp_path / "none")
    with pytest.raises(CheckpointFileError, match=r"no checkpoint file .*model\.safetensors"):
        read_folder(tmp_path)


def test_parts_are_put_together_and_a_lost_one_is_named(tmp_path: Path):
    one, two = {"a": tensors()["a"]}, {"b": tensors()["b"]}
    write_tensors(tmp_path / "1.safetensors", one)
    write_tensors(tmp_path / "2.safetensors", two)
    places = {"a": "1.safetensors", "b": "2.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    found = read_folder(tmp_path)
    assert all(np.array_equal(found[k], v) for k, v in (one | two).items()) and len(found) == 2
    index.write_text(json.dumps({"weight_map": places | {"c": "2.safetensors"}}))
    with pytest.raises(CheckpointFileError, match=r"looks for 'c' in 2\.safetensors"):
        read_folder(tmp_path)
    (tmp_path / "2.safetensors").unlink()
    with pytest.raises(CheckpointFileError, match=r"no checkpoint file .*2\.safetensors"):
        read_folder(tmp_path)


def test_a_type_without_a_place_is_refused(tmp_path: Path):
    with pytest.raises(CheckpointFileError, match="tensors cannot be written .* dtype .object"):
        write_tensors(tmp_path / "m", {"x": np.zeros(2, object)})
    assert not (tmp_path / "m").exists()
