"""Read and write the files of a checkpoint: tensors by Hugging Face's ``safetensors``, and JSON."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - NumPy has no type bfloat16 without it
import numpy as np

from allo.errors import AlloError

from .libraries import library

_INDEX = "model.safetensors.index.json"
_REMEDY = "copy the file again from where the model came from."
_KINDS = frozenset("F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL".split())


class CheckpointFileError(AlloError, ValueError):
    """A file of a checkpoint that is missing, truncated or damaged."""


class Tensors(Mapping[str, np.ndarray]):
    """Tensors by name; each is read when it is asked for, and bfloat16 comes as float32.

    Attributes:
        files: of each tensor, the opened file that holds it.
    """

    def __init__(self, files: Mapping[str, Any]) -> None:
        self.files = files

    def __getitem__(self, name: str) -> np.ndarray:
        found: np.ndarray = self.files[name].get_tensor(name)
        return found.astype(np.float32) if found.dtype.name == "bfloat16" else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


def read_tensors(path: Path) -> Tensors:
    """The tensors of a file.

    Raises:
        CheckpointFileError: the file is missing, truncated or damaged.
        ToolMissingError: the package ``safetensors`` is not installed.
    """
    if not path.is_file():
        raise CheckpointFileError(f"There is no checkpoint file {path}.", help=_REMEDY)
    reader = library("safetensors")
    try:
        file = reader.safe_open(path, framework="numpy")
    except reader.SafetensorError as error:
        raise CheckpointFileError(
            f"The checkpoint file {path} is truncated or damaged ({error}).", help=_REMEDY
        ) from error
    kinds = {name: file.get_slice(name).get_dtype() for name in file.offset_keys()}
    for name, kind in kinds.items():
        if kind not in _KINDS:
            raise CheckpointFileError(
                f"Tensor {name!r} of {path} has elements of type {kind}, which is not read.",
                help=f"convert the model to one of {', '.join(sorted(_KINDS))}.",
            )
    return Tensors(dict.fromkeys(kinds, file))


def read_folder(folder: Path) -> Tensors:
    """The tensors of a model: ``model.safetensors``, or the parts that its index names.

    Raises:
        CheckpointFileError: a file is missing, truncated or damaged, or a part lacks a tensor
            that the index says it has.
    """
    if not folder.is_dir():
        raise CheckpointFileError(
            f"There is no folder {folder}.",
            help="name a local folder with config.json and model.safetensors.",
        )
    index = folder / _INDEX
    if not index.is_file():
        return read_tensors(folder / "model.safetensors")
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict):
        raise CheckpointFileError(f"The index {index} has no weight_map.", help=_REMEDY)
    parts = {name: read_tensors(folder / name) for name in sorted(set(places.values()))}
    lost = sorted(tensor for tensor, part in places.items() if tensor not in parts[part])
    if lost:
        raise CheckpointFileError(
            f"The index {index} looks for {lost[0]!r} in {places[lost[0]]}, which has no such "
            f"tensor.",
            help=_REMEDY,
        )
    return Tensors({tensor: parts[part].files[tensor] for tensor, part in places.items()})


def write_tensors(
    path: Path, tensors: Mapping[str, np.ndarray], about: Mapping[str, str] | None = None
) -> None:
    """Write a file of tensors; a reader never sees half of it.

    Args:
        about: text for the header, by name, e.g. ``{"format": "pt"}``.

    Raises:
        CheckpointFileError: an array's element type has no place in the format.
        ToolMissingError: the package ``safetensors`` is not installed.
    """
    writer = library("safetensors")
    held = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    try:
        raw = library("safetensors.numpy").save(held, dict(about) if about else None)
    except writer.SafetensorError as error:
        raise CheckpointFileError(
            f"The tensors cannot be written to {path} ({error}).",
            help="give them types that safetensors has, as float32 and int8.",
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
    with os.fdopen(handle, "wb") as file:
        file.write(raw)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        CheckpointFileError: the file is missing, damaged, or no object.
    """
    if not path.is_file():
        raise CheckpointFileError(f"There is no checkpoint file {path}.", help=_REMEDY)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointFileError(
            f"The checkpoint file {path} is truncated or damaged ({error}).", help=_REMEDY
        ) from error
    if not isinstance(found, dict):
        raise CheckpointFileError(f"The checkpoint file {path} is no JSON object.", help=_REMEDY)
    return found
