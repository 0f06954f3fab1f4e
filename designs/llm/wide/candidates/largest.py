"""The largest logits of a step with their tokens: what :mod:`topk` keeps, in NumPy, and as it is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...config import Architecture
from ..memories import Memories
from ..parameters import Wide, said_words
from .topk import QUIET_NAN


@dataclass(frozen=True, slots=True)
class Candidates:
    """The likeliest tokens, int32, and their logits, float32; the likeliest first.

    Attributes:
        of: tokens of the vocabulary.
    """

    tokens: np.ndarray
    logits: np.ndarray
    of: int


def largest(logits: np.ndarray, top: int) -> Candidates:
    """The reference of :func:`topk.keep_largest`, bit for bit: ties to the smaller token, NaN last."""
    tokens = np.argsort(-logits, kind="stable")[:top].astype(np.int32)
    found = logits[tokens] + np.float32(0)
    found[np.isnan(found)] = np.array(QUIET_NAN, np.uint32).view(np.float32)
    return Candidates(tokens, found, len(logits))


def candidates_of(memories: Memories, config: Architecture, wide: Wide) -> Candidates:
    """The candidates that a step has written behind its logits."""
    end = said_words(config, wide) * wide.vector
    words = memories.written()[:end].reshape(-1, wide.vector)[-wide.top :]
    tokens = np.ascontiguousarray(words[:, 1]).view(np.int32)
    logits = np.ascontiguousarray(words[:, 0])
    return Candidates(tokens, logits, config.vocab)
