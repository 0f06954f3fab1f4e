"""The host side of the accelerator: fills its memories, runs prefill and decode, picks tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from allo.errors import AlloError

from .checkpoints.quantize import QuantizedModel
from .config import Architecture
from .layout import layer_factors, norm_tables, output_scales, weight_words


class SequenceTooLongError(AlloError):
    """A prompt, or a prompt and what is to follow it, that the KV cache cannot hold."""


@dataclass(slots=True)
class Step:
    """One run of the accelerator.

    Attributes:
        count: tokens taken in.
        start: position of the first.
        token: the token chosen after the last of them.
        cycles: clock cycles, None where the target has no clock.
    """

    count: int
    start: int
    token: int
    cycles: int | None


@dataclass(slots=True)
class Memories:
    """The accelerator's argument arrays after ``count`` and ``start``, in the order of the region."""

    tokens: np.ndarray
    weights: np.ndarray
    tables: tuple[np.ndarray, ...]
    cache: np.ndarray
    logits: np.ndarray
    products_seen: np.ndarray
    scores_seen: np.ndarray
    sums_seen: np.ndarray

    def arguments(self) -> tuple[np.ndarray, ...]:
        """The arrays in the order in which the region declares its arguments."""
        return (
            self.tokens,
            self.weights,
            *self.tables,
            self.products_seen,
            self.scores_seen,
            self.sums_seen,
            self.cache,
            self.logits,
        )


def word_array(words: list[int], bits: int) -> np.ndarray:
    """Words of ``bits`` bits in the NumPy form the Python boundary takes."""
    if bits <= 64:
        native = next(n for n in (8, 16, 32, 64) if n >= bits)
        return np.array(words, dtype=f"uint{native}")
    from allo.utils import get_np_struct_type

    size = bits // 8
    raw = b"".join(word.to_bytes(size, "little") for word in words)
    return np.frombuffer(raw, dtype=get_np_struct_type(bits)).copy()


def make_memories(
    weights: QuantizedModel, lanes: int, block: int, observe: bool = False
) -> Memories:
    """Memories with the weights in streaming order and an empty cache."""
    config = weights.config
    cache = (2, config.layers, config.heads, config.context, config.head_dim)
    scale, bias = output_scales(weights)
    tables = (
        weights.arrays["token"],
        weights.arrays["position"],
        scale,
        bias,
        norm_tables(weights),
        layer_factors(weights),
    )
    rows = config.layers * block if observe else 1
    return Memories(
        tokens=np.zeros(block, np.int32),
        weights=word_array(weight_words(weights, lanes), 8 * lanes),
        tables=tuple(np.ascontiguousarray(t) for t in tables),
        cache=np.zeros(cache, np.int8),
        logits=np.zeros((block, config.vocab), np.float32),
        products_seen=np.zeros((block if observe else 1, len(scale)), np.int32),
        scores_seen=np.zeros((rows, config.heads, config.context), np.int32),
        sums_seen=np.zeros((rows, config.heads, config.head_dim), np.int32),
    )


@dataclass(slots=True)
class Session:
    """A sequence on the accelerator: what was said so far lives in its cache.

    Args:
        run: the built region; called with ``count``, ``start`` and the memories.
        cycles_of: reads the cycles of the last run, or None.
    """

    config: Architecture
    run: Callable[..., Any]
    memories: Memories
    cycles_of: Callable[[], int | None] = lambda: None
    position: int = 0
    steps: list[Step] = field(default_factory=list)

    def feed(self, tokens: np.ndarray) -> Step:
        """Take in up to a block of tokens and choose the next one (lowest token on a tie).

        Raises:
            SequenceTooLongError: when the cache has no room for them.
        """
        self._check_room(len(tokens))
        memories = self.memories
        memories.tokens[: len(tokens)] = tokens
        self.run(len(tokens), self.position, *memories.arguments())
        chosen = int(np.argmax(memories.logits[len(tokens) - 1]))
        step = Step(len(tokens), self.position, chosen, self.cycles_of())
        self.position += len(tokens)
        self.steps.append(step)
        return step

    def generate(self, prompt: np.ndarray, count: int) -> Iterator[Step]:
        """Prefill block by block, then decode; yields the steps that chose one of ``count`` tokens.

        Raises:
            SequenceTooLongError: when prompt and output do not fit the cache; nothing is run.
        """
        if len(prompt) == 0:
            raise AlloError("The prompt is empty.", help="give at least one character.")
        self._check_room(len(prompt) + count - 1)
        block = len(self.memories.tokens)
        step = self.feed(np.asarray(prompt[:block]))
        for first in range(block, len(prompt), block):
            step = self.feed(np.asarray(prompt[first : first + block]))
        for _ in range(count - 1):
            yield step
            step = self.feed(np.array([step.token], np.int32))
        yield step

    def _check_room(self, count: int) -> None:
        room = self.config.context - self.position
        if count <= room:
            return
        raise SequenceTooLongError(
            f"A sequence of {self.position + count} tokens does not fit the KV cache of "
            f"{self.config.context}.",
            help=f"shorten it to {room} more tokens, or build a design with a longer context.",
        )
