"""Read a model from a local folder in Hugging Face's layout.

The folder holds ``config.json``, ``model.safetensors`` or parts of it with an index, and perhaps
``tokenizer.json``. An int8 tensor ``x.weight`` with scales ``x.weight_scale``, one for each output, is
read as their product, so that an int8 checkpoint is a float model whose weights lie on a grid.
``activation_scales`` in the configuration's ``quantization_config`` are the result of a calibration.

A file of GGUF is one model with all of this in it, its weights perhaps quantised in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from allo.errors import AlloError

from ..config import Architecture
from ..language.chat import ChatTemplate, load_chat
from ..language.tokenizer import Tokenizer, load_tokenizer
from .architecture import architecture_of, read_architecture
from .files import CheckpointFileError, read_folder, read_json
from .gguf.entries import as_config
from .gguf.files import GGUFTensors
from .gguf.tokenizer import read_chat, read_tokenizer
from .names import SEGMENTS, Source, is_aside, sources, unread

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
        aside: tensors of the files that stand behind what the model ends in, and were not read: BERT's
            pooler, and the heads that an encoder was trained with.
        chat: its chat template, or None.
        ends: the tokens that end a text or an answer.
    """

    model: Architecture
    params: dict[str, np.ndarray]
    tokenizer: Tokenizer | None
    scales: dict[str, float] | None
    aside: tuple[str, ...] = ()
    chat: ChatTemplate | None = None
    ends: tuple[int, ...] = ()


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Load a model of one of the known families.

    Args:
        path: a folder in Hugging Face's layout, or a file of GGUF.

    Raises:
        CheckpointFileError: a file is missing, truncated or damaged.
        ConfigurationError: the configuration describes a model that is not known here.
        CheckpointShapeError: a tensor is missing, its shape is not that of the configuration, or nothing
            of the model is read from it.
        TokenizerError: the tokenizer is damaged or of another kind.
        ToolMissingError: a package that reads the files is not installed.
    """
    path = Path(path)
    return load_gguf(path) if path.suffix == ".gguf" else _load_folder(path)


def load_gguf(path: Path) -> Checkpoint:
    """Load a model from a file of GGUF, as :func:`load_checkpoint` does.

    Weights in blocks are taken apart to float32, which holds every one of them.
    """
    if not path.is_file():
        raise CheckpointFileError(
            f"There is no checkpoint file {path}.", help="name a local file of GGUF."
        )
    tensors = GGUFTensors(path)
    biased = any(name.endswith("q_proj.bias") for name in tensors)
    model = architecture_of(path, as_config(path, tensors.entries, biased))
    divided = tensors.rotation()
    if divided is not None:
        angles = (np.array(model.rotary) / divided).tolist()
        model = replace(model, rotary=tuple(angles))
    params, aside = _parameters(path, model, tensors, sources(model))
    tokenizer = read_tokenizer(path, tensors.entries)
    chat = read_chat(tensors.entries)
    named = [tensors.entries.get(f"tokenizer.ggml.{end}_token_id") for end in ("eos", "eot", "eom")]
    return Checkpoint(model, params, tokenizer, None, aside, chat, _ends(named, tokenizer))


def _load_folder(folder: Path) -> Checkpoint:
    tensors = read_folder(folder)
    model = read_architecture(folder / "config.json")
    places, about = sources(model), read_json(folder / "config.json")
    if model.has_head and about.get("tie_word_embeddings") is False:
        places["head.w"] = replace(places["head.w"], names=places["head.w"].names[:1])
    params, aside = _parameters(folder, model, tensors, places)
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
    scales = (about.get("quantization_config") or {}).get("activation_scales")
    generation = folder / "generation_config.json"
    more = read_json(generation).get("eos_token_id") if generation.is_file() else None
    ends = _ends([about.get("eos_token_id"), more], tokenizer)
    return Checkpoint(model, params, tokenizer, scales, aside, load_chat(folder), ends)


def _ends(named: Iterable[object], tokenizer: Tokenizer | None) -> tuple[int, ...]:
    """The tokens that end a text: those that the files name, or else that which GPT-2 gave this meaning."""
    found: set[int] = set()
    for each in named:
        found |= {
            int(n) for n in (each if isinstance(each, list) else [each]) if isinstance(n, int)
        }
    if not found and tokenizer is not None:
        found |= {n for n in [tokenizer.whole.token_to_id("<|endoftext|>")] if n is not None}
    return tuple(sorted(found))


def _parameters(
    where: Path, model: Architecture, tensors: Mapping[str, np.ndarray], places: dict[str, Source]
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Every parameter of a model, and the tensors that stand behind what it ends in."""
    aside = _aside(where, model, tensors, places.values())
    params = {
        name: _parameter(where, tensors, shape, places[name])
        if name in places
        else np.zeros(shape, np.float32)
        for name, shape in model.shapes().items()
    }
    return params, aside


def _aside(
    folder: Path, model: Architecture, tensors: Mapping[str, np.ndarray], places: Iterable[Source]
) -> tuple[str, ...]:
    """The tensors that are not read, which are all behind what the model ends in."""
    taken = (next((n for n in place.names if n in tensors), "") for place in places)
    read = {*taken, *SEGMENTS}
    read |= {name + SCALE for name in read}
    left = unread(tensors, read)
    foreign = [name for name in left if not is_aside(model, name)]
    if foreign:
        raise CheckpointShapeError(
            f"Nothing of a {model.family} model with this configuration is read from the tensor "
            f"{foreign[0]!r} of {folder}"
            + (f", nor from {len(foreign) - 1} others." if foreign[1:] else "."),
            help="take config.json and the safetensors files from the same model; one with other layers "
            "than its family has is not known here.",
        )
    return tuple(left)


def _parameter(
    folder: Path,
    tensors: Mapping[str, np.ndarray],
    shape: tuple[int, ...],
    source: Source,
) -> np.ndarray:
    name = next((n for n in source.names if n in tensors), None)
    if name is None:
        raise CheckpointShapeError(
            f"The checkpoint {folder} has no tensor {source.names[0]!r}.",
            help="take config.json and the safetensors files from the same model.",
        )
    found = tensors[name]
    last = source.first + shape[0]
    rows = (source.rows or last, *shape[1:])
    wanted = rows[::-1] if source.transposed else rows
    if found.shape != wanted:
        raise CheckpointShapeError(
            f"Tensor {name!r} of {folder} has the shape {list(found.shape)}, and the configuration "
            f"asks for {list(wanted)}.",
            help="take config.json and the safetensors files from the same model.",
        )
    whole = _float(folder, tensors, name, found.T if source.transposed else found)
    part = whole[source.first : last] * np.float32(source.factor) + np.float32(source.plus)
    return np.ascontiguousarray(part)


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
