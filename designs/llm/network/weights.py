"""The W8A8 parameters: what the file holds, read and checked, never trusted."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

from allo.errors import AlloError

from ..checkpoints.quantize import QuantizedModel
from ..config import GPTConfig

_FIELDS = ("layers", "d", "heads", "ffn", "context", "vocab")


class WeightFileError(AlloError):
    """A weight file that is truncated, incomplete or of the wrong shapes."""


def expected_arrays(config: GPTConfig) -> dict[str, tuple[tuple[int, ...], type]]:
    """Shape and element type of every array of a W8A8 model."""
    expected: dict[str, tuple[tuple[int, ...], type]] = {}
    for name, shape in config.shapes().items():
        is_linear = name.endswith(".w")
        expected[name] = (shape, np.int8 if is_linear else np.float32)
        if is_linear:
            expected[name[:-2] + ".s"] = (shape[:1], np.float32)
    for layer in range(config.layers):
        for factor in ("softmax", "attend", "gelu"):
            expected[f"{layer}.{factor}"] = ((1,), np.float32)
    return expected


def save_weights(path: Path, weights: QuantizedModel) -> None:
    """Write a weight file; a reader never sees half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = np.array([getattr(weights.config, field) for field in _FIELDS], np.int32)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".npz")
    os.close(handle)
    arrays = {"config": header, **weights.arrays}
    np.savez_compressed(temporary, allow_pickle=False, **arrays)
    os.replace(temporary, path)


def load_weights(path: Path) -> QuantizedModel:
    """Read a weight file and check every shape and type in it.

    Raises:
        WeightFileError: the file is missing, truncated, incomplete or of wrong shapes.
    """
    arrays = _read(path)
    header = arrays.pop("config", None)
    if header is None or header.shape != (len(_FIELDS),):
        raise WeightFileError(f"The weight file {path} has no valid 'config' entry.", help=_REMEDY)
    config = GPTConfig(*(int(v) for v in header))
    expected = expected_arrays(config)
    missing, extra = (
        sorted(expected.keys() - arrays.keys()),
        sorted(arrays.keys() - expected.keys()),
    )
    if missing or extra:
        raise WeightFileError(
            f"The weight file {path} does not hold the arrays of its configuration: "
            f"missing {missing or 'none'}, unexpected {extra or 'none'}.",
            help=_REMEDY,
        )
    for name, (shape, dtype) in expected.items():
        found = arrays[name]
        if found.shape != shape or found.dtype != dtype:
            raise WeightFileError(
                f"Array {name!r} of {path} is {found.dtype}{list(found.shape)}, "
                f"but the configuration asks for {np.dtype(dtype)}{list(shape)}.",
                help=_REMEDY,
            )
    return QuantizedModel(config, arrays)


_REMEDY = (
    "make the file again with designs/llm/network/train.py and designs/llm/network/quantize.py."
)


def _read(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise WeightFileError(f"There is no weight file {path}.", help=_REMEDY)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError) as error:
        raise WeightFileError(
            f"The weight file {path} is truncated or damaged ({error}).", help=_REMEDY
        ) from error
