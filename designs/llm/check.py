"""Compare what the accelerator accumulated in one step with the bit-exact reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .checkpoints.integer_model import QuantizedGPT
from .checkpoints.quantize import QuantizedModel
from .host import Session
from .layout import jobs_of


@dataclass(frozen=True, slots=True)
class AccumulatorCheck:
    """How many int32 accumulators of a step were compared, and the names of those that differ."""

    compared: int
    differing: tuple[str, ...]


def reference_accumulators(weights: QuantizedModel, tokens: np.ndarray) -> dict[str, np.ndarray]:
    """Every accumulator of a whole sequence, by the names :class:`QuantizedGPT` observes."""
    found: dict[str, np.ndarray] = {}
    QuantizedGPT(weights, lambda name, value: found.__setitem__(name, value[0])).forward(
        np.asarray(tokens, np.int32)[None]
    )
    return found


def check_accumulators(
    session: Session, weights: QuantizedModel, tokens: np.ndarray
) -> AccumulatorCheck:
    """Compare the last step of a session, built with ``observe``, in every accumulator.

    Args:
        tokens: the whole sequence up to and including the last step's tokens.
    """
    config, memories, step = weights.config, session.memories, session.steps[-1]
    reference = reference_accumulators(weights, tokens)
    rows = slice(step.start, step.start + step.count)
    compared, differing = 0, []

    def compare(name: str, got: np.ndarray, expected: np.ndarray) -> None:
        nonlocal compared
        compared += expected.size
        if not np.array_equal(got, expected):
            differing.append(name)

    first = 0
    for name in (n for job in jobs_of(config) for n in job.names):
        expected = reference[name][rows]
        compare(
            name, memories.products_seen[: step.count, first : first + expected.shape[1]], expected
        )
        first += expected.shape[1]
    block = len(memories.tokens)
    for layer in range(config.layers):
        for row in range(step.count):
            at, position = layer * block + row, step.start + row
            scores = reference[f"{layer}.scores"][:, position, : position + 1]
            compare(f"{layer}.scores", memories.scores_seen[at, :, : position + 1], scores)
            context = reference[f"{layer}.context"][:, position]
            compare(f"{layer}.context", memories.sums_seen[at], context)
    return AccumulatorCheck(compared, tuple(dict.fromkeys(differing)))
