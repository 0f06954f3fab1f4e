"""What computes the logits of a server: steps of several sequences, each with keys and values of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..checkpoints.quantize import QuantizedModel
from ..wide.host import decode
from ..wide.memories import Memories, make_memories
from ..wide.parameters import Wide


@dataclass(frozen=True, slots=True)
class Work:
    """One step of one sequence: its cache, and the token that it takes in at a position.

    Attributes:
        more: tokens of a prompt that it takes in behind that one; the logits are those after the last.
    """

    cache: Any
    token: int
    position: int
    more: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The logits after a step, float32, and the clock cycles that it took; None where nothing counts them."""

    logits: np.ndarray
    cycles: int | None = None


class Engine(Protocol):
    """What a server runs on. An accelerator that takes several sequences at once has this form too.

    Attributes:
        context: positions that a cache holds.
        chunk: tokens of a sequence that a step takes at most.
    """

    context: int
    chunk: int

    def open(self) -> Any:
        """A cache for a sequence of its own."""

    def copy(self, cache: Any) -> Any:
        """Another cache with the same keys and values."""

    def step(self, work: Sequence[Work]) -> list[Result]:
        """One step of each of some sequences, none of them twice."""


class WideEngine:
    """The wide accelerator, as CPU build or simulated RTL: one token of one sequence a step.

    All sequences share the memories of the weights, and each has memories of keys and values, so that the
    accelerator goes from one to another by the addresses that a step is given.

    Args:
        run: the built region.
    """

    def __init__(self, run: Callable[..., Any], weights: QuantizedModel, wide: Wide) -> None:
        self.context = weights.config.context
        self.chunk = 1
        self._run = run
        self._weights = weights
        self._empty = make_memories(weights, wide)

    def open(self) -> Memories:
        """Memories with an empty cache."""
        return self.copy(self._empty)

    def copy(self, cache: Memories) -> Memories:
        """Memories with the same keys and values."""
        return dataclasses.replace(
            cache, keys=cache.keys.copy(), values=cache.values.copy(), logits=cache.logits.copy()
        )

    def step(self, work: Sequence[Work]) -> list[Result]:
        """The steps, one after another."""
        return [self._one(each) for each in work]

    def _one(self, work: Work) -> Result:
        logits = decode(self._run, self._weights, work.cache, work.token, work.position)
        return Result(logits, getattr(self._run, "cycles", None))
