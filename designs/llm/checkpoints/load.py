"""Read a model from a local folder in Hugging Face's layout.

The folder holds ``config.json``, ``model.safetensors`` or parts of it with an index, and perhaps
``tokenizer.json``. An int8 tensor ``x.weight`` with scales ``x.weight_scale``, one for each output, is
read as their product, so that an int8 checkpoint is a float model whose weights lie on a grid.
``activation_scales`` in the configuration's ``quantization_config`` are the result of a calibration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from allo.errors import AlloError

from ..config import Architecture
from ..language.tokenizer import Tokenizer, load_tokenizer
from .architecture import read_architecture
from .files import read_folder, read_json
from .names import SEGMENTS, Source, sources

SCALE = "_scale"


class CheckpointShapeError(AlloError, ValueError):
    """A tensor that a checkpoint lacks, or whose shape is not what the configuration asks for."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model as it was loaded.

    Attributes:
        model: its architecture.
        params: every parameter of ``model.shapes()``, float32.
        tokenizer: its tokenizer, or None where the folder has none.
        scales: the calibrated scale of every activation, or None.
    """

    model: Architecture
    params: dict[str, np.ndarray]
    tokenizer: Tokenizer | None
    scales: dict[str, float] | None


def load_checkpoint(folder: Path) -> Checkpoint:
    """Load a model of one of the known families.

    Raises:
        CheckpointFileError: a file is missing, truncated or damaged.
        ConfigurationError: the configuration describes a model that is not known here.
        CheckpointShapeError: a tensor is missing, or its shape is not that of the configuration.
        TokenizerError: ``tokenizer.json`` is damaged or of another kind.
    """
    tensors = read_folder(folder)
    model = read_architecture(folder / "config.json")
    places = sources(model)
    params = {
        name: _parameter(folder, tensors, name, shape, places[name])
        for name, shape in model.shapes().items()
    }
    segments = next((tensors[n] for n in SEGMENTS if n in tensors), None)
    if model.family == "bert" and segments is not None:
        params["position"] = params["position"] + segments[0].astype(np.float32)
    tokenizer_file = folder / "tokenizer.json"
    tokenizer = load_tokenizer(tokenizer_file) if tokenizer_file.is_file() else None
    if tokenizer is not None and len(tokenizer) > model.vocab:
        raise CheckpointShapeError(
            f"The tokenizer of {folder} has {len(tokenizer)} tokens, and its model {model.vocab}.",
            help="take tokenizer.json and config.json from the same model.",
        )
    about = read_json(folder / "config.json").get("quantization_config") or {}
    scales = about.get("activation_scales")
    return Checkpoint(model, params, tokenizer, scales)


def _parameter(
    folder: Path,
    tensors: Mapping[str, np.ndarray],
    ours: str,
    shape: tuple[int, ...],
    source: Source,
) -> np.ndarray:
    name = next((n for n in source.names if n in tensors), None)
    if name is None and source.optional:
        return np.zeros(shape, np.float32)
    if name is None:
        raise CheckpointShapeError(
            f"The checkpoint {folder} has no tensor {source.names[0]!r}.",
            help="take config.json and the safetensors files from the same model.",
        )
    found = tensors[name]
    rows = (shape[0] * source.parts + source.skip, *shape[1:])
    wanted = rows[::-1] if source.transposed else rows
    if found.shape != wanted:
        raise CheckpointShapeError(
            f"Tensor {name!r} of {folder} has the shape {list(found.shape)}, and the configuration "
            f"asks for {list(wanted)}.",
            help="take config.json and the safetensors files from the same model.",
        )
    whole = _float(folder, tensors, name, found.T if source.transposed else found)
    first = source.skip + source.part * shape[0]
    return np.ascontiguousarray(whole[first : first + shape[0]])


def _float(
    folder: Path, tensors: Mapping[str, np.ndarray], name: str, whole: np.ndarray
) -> np.ndarray:
    """The values of a tensor whose outputs are first, its scales multiplied in."""
    if whole.dtype != np.int8:
        return whole.astype(np.float32)
    scale = tensors.get(name + SCALE)
    if scale is None or scale.shape != whole.shape[:1]:
        raise CheckpointShapeError(
            f"The int8 tensor {name!r} of {folder} has no {name + SCALE!r} with one scale for each "
            f"of its {len(whole)} outputs.",
            help="write the scales beside the integers, float32.",
        )
    return (whole * scale[:, None].astype(np.float64)).astype(np.float32)
