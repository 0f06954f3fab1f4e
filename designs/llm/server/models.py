"""Models that a server can have: read, made integer, and given an accelerator that fits."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allo.errors import AlloError, AlloWarning, DTypeWarning

from ..checkpoints.load import Checkpoint, load_checkpoint
from ..checkpoints.packages import SMOLLM2, packaged
from ..checkpoints.quantize import QuantizedModel, calibrate, quantize
from ..config import Architecture
from ..language.prose import load_prose, split_prose
from ..language.speaker import FOLDER
from ..language.tokenizer import Tokenizer
from ..wide.block.build import schedule_block
from ..wide.block.parameters import Block, check_block
from ..wide.build import schedule
from ..wide.parameters import Wide, WidthError, check_wide
from ..wide.quantized import quantize_for
from .batch import BatchEngine, block_for
from .engine import WideEngine
from .served import Served

CALIBRATION_CHARACTERS, CALIBRATION_TOKENS = 4000, 256
TARGETS = {"cpu": {"target": "simulator"}, "rtl": {"target": "verilog", "simulator": "jit"}}
"""How each engine is built: the CPU build of the accelerator, and its RTL in process."""


class ServedModelError(AlloError, ValueError):
    """A model that cannot be served, or an engine that is not known."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model in integers, and the accelerator for it: of one token a step, or for blocks."""

    served: Served
    weights: QuantizedModel
    wide: Wide
    block: Block | None = None

    def engine(self, kind: str) -> WideEngine | BatchEngine:
        """Build the accelerator.

        Raises:
            ServedModelError: there is no engine of this kind.
        """
        if kind not in TARGETS:
            raise ServedModelError(
                f"There is no engine {kind!r}.", help=f"take {' or '.join(sorted(TARGETS))}."
            )
        options: dict[str, Any] = TARGETS[kind]
        with warnings.catch_warnings():
            for ignored in (AlloWarning, DTypeWarning):  # of the accelerator, which is tested
                warnings.simplefilter("ignore", ignored)
            model, wide, block = self.weights.config, self.wide, self.block
            designed = schedule_block(model, wide, block) if block else schedule(model, wide)
            run = designed.build(**options)
        if hasattr(run, "build_model"):
            run.build_model()
        if block:
            return BatchEngine(run, self.weights, wide, block)
        return WideEngine(run, self.weights, wide)


def prepare(name: str, bits: int = 8, context: int | None = None, batch: int = 1) -> Prepared:
    """Read a model, and make it integer.

    Args:
        name: ``speaker``, the model that comes with Allo; ``smollm2``, which is downloaded once; or a folder
            or a file of GGUF, as :func:`load_checkpoint` takes them.
        bits: of the weights.
        context: positions that the caches hold, by default all of the model.
        batch: sequences that share each pass over the weights.

    Raises:
        ServedModelError: the model has no tokenizer, or gives no logits.
        WidthError: no accelerator fits the model.
    """
    known = {"speaker": lambda: FOLDER, "smollm2": lambda: packaged(SMOLLM2)}
    loaded = load_checkpoint(known[name]() if name in known else Path(name))
    tokenizer = loaded.tokenizer
    if tokenizer is None or not loaded.model.has_head:
        what = "tokenizer" if tokenizer is None else "logits"
        raise ServedModelError(
            f"The model {name} has no {what}, so it says nothing.", help="take a decoder with both."
        )
    model = loaded.model
    if context is not None:
        model = dataclasses.replace(model, context=min(context, model.context))
    block = block_for(model, batch) if batch > 1 else None
    wide = fitting(model, bits, own_steps=model.rms and model.gated, block=block)
    weights = _integers(loaded, tokenizer, model, wide)
    label = name if name in known else Path(name).resolve().stem
    served = Served(label, tokenizer, model.context, loaded.ends, loaded.chat)
    return Prepared(served, weights, wide, block)


def fitting(model: Architecture, bits: int, own_steps: bool, block: Block | None = None) -> Wide:
    """The widest accelerator of the usual ones that fits a model.

    Args:
        own_steps: whether activations have a step for each token.
        block: of the accelerator for blocks; None for one token a step.

    Raises:
        WidthError: none fits; what the narrowest lacks.
    """
    lacks: WidthError | None = None
    for wide in _accelerators(model, bits, own_steps):
        try:
            check_block(model, wide, block) if block else check_wide(model, wide)
        except WidthError as error:
            lacks = error
        else:
            return wide
    raise lacks or WidthError("The model has no heads of keys and values.")


def _accelerators(model: Architecture, bits: int, own_steps: bool) -> Iterator[Wide]:
    heads = [n for n in (4, 3, 2, 1) if model.kv_heads % n == 0]
    for channels, lanes, vector, parts in itertools.product(
        (32, 16, 8, 4, 2, 1),
        (64, 32, 16, 8) if bits == 8 else (32, 16, 8),
        (16, 8, 4, 2),
        (8, 4, 2, 1),
    ):
        wide = Wide(channels, lanes, vector, heads[0], parts=parts, bits=bits)
        yield dataclasses.replace(wide, block=lanes if own_steps else 0)


def _integers(
    loaded: Checkpoint, tokenizer: Tokenizer, model: Architecture, wide: Wide
) -> QuantizedModel:
    """The model in integers; calibrated on the repository's prose where its files hold no scales."""
    params, scales = dict(loaded.params), loaded.scales
    if "position" in params:
        params["position"] = params["position"][: model.context]
    text = split_prose(load_prose())[0][:CALIBRATION_CHARACTERS]
    batches = [np.array([tokenizer.encode(text)[: min(CALIBRATION_TOKENS, model.context)]])]
    if wide.block:
        return quantize_for(wide, model, params, batches)
    return quantize(model, params, scales or calibrate(model, params, batches), wide.bits)
