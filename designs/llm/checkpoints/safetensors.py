"""Read and write ``.safetensors``: eight bytes of length, a JSON header, then the tensors' bytes."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allo.errors import AlloError

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
_MOST_HEADER = 100_000_000
_INDEX = "model.safetensors.index.json"
_REMEDY = "copy the file again from where the model came from."


class CheckpointFileError(AlloError, ValueError):
    """A file of a checkpoint that is missing, truncated or damaged."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a tensor lies: its element type, its shape, and its bytes behind the header."""

    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Every tensor of a file, by name; bfloat16 comes as float32.

    The arrays are views of the mapped file: what is not used is not read.

    Raises:
        CheckpointFileError: the file is missing, truncated or damaged.
    """
    if not path.is_file():
        raise CheckpointFileError(f"There is no checkpoint file {path}.", help=_REMEDY)
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little") if size >= 8 else size
        if size < 8 + length or length > _MOST_HEADER:
            raise CheckpointFileError(
                f"The checkpoint file {path} of {size} bytes ends inside its header.", help=_REMEDY
            )
        entries = _header(path, file.read(length))
    needed = 8 + length + max((e.end for e in entries.values()), default=0)
    if size < needed:
        raise CheckpointFileError(
            f"The checkpoint file {path} is truncated: its header names {needed} bytes, "
            f"and it has {size}.",
            help=_REMEDY,
        )
    raw = np.memmap(path, np.uint8, "r", offset=8 + length, shape=(size - 8 - length,))
    return {name: _tensor(raw[e.start : e.end], e) for name, e in entries.items()}


def read_folder(folder: Path) -> dict[str, np.ndarray]:
    """Every tensor of a model: ``model.safetensors``, or the parts that its index names.

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
    return {tensor: parts[part][tensor] for tensor, part in places.items()}


def write_tensors(
    path: Path, tensors: Mapping[str, np.ndarray], about: Mapping[str, str] | None = None
) -> None:
    """Write a file of tensors; a reader never sees half of it.

    Args:
        about: text for the header, by name, e.g. ``{"format": "pt"}``.

    Raises:
        CheckpointFileError: an array's element type has no place in the format.
    """
    kinds = {np.dtype(code): kind for kind, code in _TYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(about)} if about else {}
    place = 0
    for name, array in tensors.items():
        kind = kinds.get(array.dtype)
        if kind is None:
            raise CheckpointFileError(
                f"Tensor {name!r} of type {array.dtype} cannot be written to {path}.",
                help=f"make it one of {', '.join(str(k) for k in kinds)}.",
            )
        end = place + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
    with os.fdopen(handle, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
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


def _header(path: Path, text: bytes) -> dict[str, _Entry]:
    try:
        header = json.loads(text)
        entries = {
            name: _Entry(e["dtype"], tuple(map(int, e["shape"])), *map(int, e["data_offsets"]))
            for name, e in header.items()
            if name != "__metadata__"
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointFileError(
            f"The header of the checkpoint file {path} is damaged ({error}).", help=_REMEDY
        ) from error
    for name, e in entries.items():
        width = 2 if e.kind == "BF16" else np.dtype(_TYPES.get(e.kind, "V0")).itemsize
        if not width:
            raise CheckpointFileError(
                f"Tensor {name!r} of {path} has elements of type {e.kind}, which is not read.",
                help=f"convert the model to one of {', '.join([*_TYPES, 'BF16'])}.",
            )
        if min((0, e.start, *e.shape)) < 0 or e.end - e.start != math.prod(e.shape) * width:
            raise CheckpointFileError(
                f"Tensor {name!r} of {path} is {e.kind}{list(e.shape)}, and has "
                f"{e.end - e.start} bytes.",
                help=_REMEDY,
            )
    return entries


def _tensor(raw: np.ndarray, entry: _Entry) -> np.ndarray:
    if entry.kind != "BF16":
        return np.frombuffer(raw, dtype=_TYPES[entry.kind]).reshape(entry.shape)
    wide = np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16
    return wide.view(np.float32).reshape(entry.shape)
