"""Several tokens a step: proposals are verified in the step that would say one token (speculative decoding).

A step takes what the cache does not hold yet, and behind it the proposal, as rows that see those they follow.
The model's choice after the text decides which token of the proposal is right, the choice behind that which
is next, and so on; the first choice that nobody proposed ends the step, and is said as well.

Where nothing of a proposal was left to chance, each choice is the sampler's of the logits that plain decoding
has, in its order: **the same tokens are said, greedy or by a seed**. A token that was drawn from a
distribution of its own is accepted as often as makes what is said have the model's distribution (rejection
sampling: Leviathan et al., ICML 2023; for several branches SpecInfer's form).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..wide.block.rows import WINDOW, Rows, branching, following
from .proposals import Proposal, Propose
from .sampling import Sampler
from .speech import check_speech

RowEngine = Callable[[Rows, int], np.ndarray]
"""Takes rows of a step, and gives the logits after so many of the last ones."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One step: the rows that it took, how many of them had been in a step before, and what it said."""

    rows: int
    again: int
    said: list[int]


def speculate(
    engine: RowEngine,
    prompt: Sequence[int],
    count: int,
    sampler: Sampler,
    context: int,
    propose: Propose,
    most: int,
    spoken: int,
) -> Iterator[Pass]:
    """Take in a prompt, ``most`` tokens a step, and say ``count`` tokens.

    What was accepted and does not lie behind the text in the cache, because another branch lies between, is
    taken again in the next step.

    Args:
        context: the longest sequence of the model.
        most: rows of a step.
        spoken: rows after which a step gives logits.

    Raises:
        PromptError: the prompt is empty, or ``count`` is not positive; nothing is run.
        SequenceTooLongError: prompt and answer do not fit the context; nothing is run.
    """
    check_speech(prompt, count, context)
    return _speculate(engine, list(prompt), count, sampler, context, propose, most, spoken)


def _speculate(
    engine: RowEngine,
    text: list[int],
    count: int,
    sampler: Sampler,
    context: int,
    propose: Propose,
    most: int,
    spoken: int,
) -> Iterator[Pass]:
    kept, taken, end = 0, 0, len(text) + count
    while len(text) - kept > most:
        engine(following(text[kept : kept + most], kept), 1)
        yield Pass(most, 0, [])
        kept += most
    while len(text) < end:
        fresh, said_before = text[kept:], len(text)
        # The last token of an answer is not fed, so no place is needed for it.
        room = min(most - len(fresh), spoken - 1, end - 1 - len(text), context - len(text), WINDOW)
        proposal = propose(text, room)
        size = len(proposal.tokens)
        parents = [*range(-1, len(fresh) - 1), *(len(fresh) + of for of in proposal.parents)]
        rows = branching([*fresh, *proposal.tokens], parents, kept)
        path, said = verify(proposal, engine(rows, 1 + size), sampler)
        text += said[: end - len(text)]
        # The first branch lies behind the text already.
        straight = next((n for n, node in enumerate(path) if node != n), len(path))
        yield Pass(len(rows), max(0, taken - kept), text[said_before:])
        taken, kept = said_before + len(path), said_before + straight


def verify(proposal: Proposal, logits: np.ndarray, sampler: Sampler) -> tuple[list[int], list[int]]:
    """Which tokens of a proposal are right, and what is said: their tokens, and one that follows.

    Args:
        logits: after the text, and after each token of the proposal.
    """
    path: list[int] = []
    said: list[int] = []
    at = -1
    while True:
        children = proposal.children(at)
        of = logits[at + 1]
        if proposal.drawn is None or not children:
            token = sampler.choose(of)
            right = [node for node in children if proposal.tokens[node] == token]
        else:
            offered = [(proposal.tokens[node], proposal.drawn[node]) for node in children]
            token, nth = accept(sampler.distribution(of), offered, sampler.random)
            right = [] if nth is None else [children[nth]]
        said.append(token)
        if not right:
            return path, said
        at = right[0]
        path.append(at)


def accept(
    wanted: np.ndarray, offered: Sequence[tuple[int, np.ndarray]], random: Callable[[], float]
) -> tuple[int, int | None]:
    """A token of a distribution, one of those offered where that can be, and which of them it is.

    Args:
        wanted: the distribution.
        offered: tokens, each drawn from a distribution of its own.
        random: gives numbers from 0 to 1.
    """
    left = wanted.astype(np.float64)
    for nth, (token, drawn) in enumerate(offered):
        if random() * drawn[token] < left[token]:
            return token, nth
        # What is wanted more often than it was offered.
        left = np.maximum(left - drawn, 0.0)
        left /= left.sum()
    sums = np.cumsum(left)
    place = int(np.searchsorted(sums, random() * sums[-1], "right"))
    return min(place, int(np.flatnonzero(left)[-1])), None
