"""Text from a model on any engine: the prompt goes in token by token, and each answer follows.

An engine is a function of a token and its position, which gives the logits after it. So the reference, the
CPU build and simulated hardware speak by the same loop, and all their logits can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.errors import AlloError

from ..checkpoints.quantize import QuantizedModel
from ..host import SequenceTooLongError
from ..wide.host import decode
from ..wide.memories import make_memories
from ..wide.parameters import Wide
from ..wide.reference import WideGPT
from .sampling import Sampler

Engine = Callable[[int, int], np.ndarray]


class PromptError(AlloError, ValueError):
    """A prompt without a token, or a number of tokens to say that is not positive."""


def reference_engine(model: QuantizedModel, wide: Wide) -> Engine:
    """The bit-exact reference of the wide accelerator, which steps through one sequence."""
    session = WideGPT(model, wide)

    def step(token: int, position: int) -> np.ndarray:
        logits: np.ndarray = session.feed(np.array([[token]]))[0, -1]
        return logits

    return step


def accelerator_engine(run: Callable[..., Any], weights: QuantizedModel, wide: Wide) -> Engine:
    """The wide accelerator with an empty cache.

    Args:
        run: the built region.
    """
    memories = make_memories(weights, wide)
    return lambda token, position: decode(run, weights, memories, token, position)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the token taken in, the logits after it, and the token chosen, if one was."""

    token: int
    logits: np.ndarray
    chosen: int | None


def speak(
    engine: Engine, prompt: list[int], count: int, sampler: Sampler, context: int
) -> Iterator[Step]:
    """Take in a prompt and say ``count`` tokens.

    Args:
        context: the longest sequence of the model.

    Raises:
        PromptError: the prompt is empty, or ``count`` is not positive; nothing is run.
        SequenceTooLongError: prompt and answer do not fit the context; nothing is run.
    """
    check_speech(prompt, count, context)
    return _speak(engine, prompt, count, sampler)


def check_speech(prompt: Sequence[int], count: int, context: int) -> None:
    """Refuse what cannot be said.

    Raises:
        PromptError: the prompt is empty, or ``count`` is not positive.
        SequenceTooLongError: prompt and answer do not fit the context.
    """
    if not prompt or count < 1:
        raise PromptError(
            f"A prompt of {len(prompt)} tokens and an answer of {count} give nothing to say.",
            help="give a prompt, and ask for at least one token.",
        )
    if len(prompt) + count - 1 > context:
        raise SequenceTooLongError(
            f"A prompt of {len(prompt)} tokens and {count} more do not fit the KV cache of {context}.",
            help=f"ask for at most {max(context + 1 - len(prompt), 0)} tokens, or shorten the prompt.",
        )


def _speak(engine: Engine, prompt: list[int], count: int, sampler: Sampler) -> Iterator[Step]:
    token = prompt[0]
    for position in range(len(prompt) + count - 1):
        logits = engine(token, position)
        if position + 1 < len(prompt):
            yield Step(token, logits, None)
            token = prompt[position + 1]
            continue
        chosen = sampler.choose(logits)
        yield Step(token, logits, chosen)
        token = chosen
