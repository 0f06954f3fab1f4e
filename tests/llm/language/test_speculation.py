"""Proposals verified in a step: the text of one token at a time, or by rejection its distribution."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from allo.designs.llm.host import SequenceTooLongError
from allo.designs.llm.language import speculation
from allo.designs.llm.language.proposals import Lookup, Proposal, nothing
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import accept, speculate
from allo.designs.llm.language.speech import PromptError
from allo.designs.llm.wide.block.rows import Rows

CONTEXT = 80


class Following:
    """Logits that follow from the tokens that a row sees, so that a mistaken row or a stale entry shows.

    Args:
        looked: of the last tokens, those that logits follow from; all of them by default.
    """

    def __init__(self, vocab: int, looked: int = CONTEXT) -> None:
        self.vocab = vocab
        self.looked = looked
        self.cache = np.full(CONTEXT, -1)
        self.rows = 0
        self.known: dict[tuple[int, ...], np.ndarray] = {}

    def __call__(self, rows: Rows, spoken: int) -> np.ndarray:
        self.rows += len(rows)
        self.cache[rows.places] = rows.tokens
        given = []
        for row in range(len(rows) - spoken, len(rows)):
            before = self.cache[: rows.before[row]].tolist()
            seen = before + rows.tokens[rows.sees[row]].tolist()
            assert len(seen) == rows.positions[row] + 1
            given.append(self.after(seen))
        return np.array(given, np.float32)

    def after(self, seen: list[int]) -> np.ndarray:
        """Logits behind a text."""
        last = tuple(seen[-self.looked :])
        if last not in self.known:
            rng = np.random.default_rng(zlib.crc32(np.array(last, np.int64).tobytes()))
            self.known[last] = 2 * rng.standard_normal(self.vocab, np.float32)
        return self.known[last]

    def says(self, prompt: list[int], count: int, sampler: Sampler) -> list[int]:
        """A text, token by token."""
        text = list(prompt)
        for _ in range(count):
            text.append(sampler.choose(self.after(text)))
        return text[len(prompt) :]


def by_chance(seed: int, vocab: int):
    """Trees of any form, in which half of the tokens are right more often than not."""
    rng = np.random.default_rng(seed)

    def propose(text, room: int) -> Proposal:
        size = int(rng.integers(0, room + 1)) if room > 0 else 0
        parents = [int(rng.integers(-1, node)) for node in range(size)]
        return Proposal(rng.integers(0, vocab, size).tolist(), parents)

    return propose


@pytest.mark.parametrize("sampler", [lambda: Sampler(), lambda: Sampler(3, 0.9, 7, 0.95)])
@pytest.mark.parametrize(
    ("propose", "repeats"), [(Lookup(), True), (Lookup(2, 1, 5, 3), True), (by_chance(1, 3), False)]
)
def test_the_text_is_that_of_one_token_at_a_time(sampler, propose, repeats: bool):
    """Paths that lie in the cache at once, and such that are taken again, beside prompts in parts."""
    passes, again, said = 0, 0, 0
    for seed in range(12):
        prompt = np.random.default_rng(seed).integers(0, 3, 1 + 3 * seed).tolist()
        engine = Following(3, 2 if repeats else CONTEXT)
        count = CONTEXT + 1 - len(prompt) if seed == 11 else 30
        found = list(speculate(engine, prompt, count, sampler(), CONTEXT, propose, 12, 8))
        text = [token for one in found for token in one.said]
        assert text == engine.says(prompt, count, sampler())
        assert engine.rows == sum(one.rows for one in found)
        passes += sum(bool(one.said) for one in found)
        again += sum(one.again for one in found)
        said += len(text)
    assert passes < said / (1.5 if repeats else 1.2)
    assert again > 0


def test_without_proposals_every_pass_says_one_token():
    found = list(speculate(Following(9), [4], 5, Sampler(), CONTEXT, nothing, 4, 4))
    assert [(one.rows, one.again, len(one.said)) for one in found] == 5 * [(1, 0, 1)]


def test_a_stale_entry_of_the_cache_is_seen():
    """Where branches are taken as if they lay behind the text, the text is another one."""
    engine, sampler = Following(3), Sampler()

    def careless(rows: Rows, spoken: int) -> np.ndarray:
        logits = engine(rows, spoken)
        engine.cache[rows.before[0] : rows.before[0] + len(rows)] = rows.tokens[::-1]
        return logits

    found = speculate(careless, [1, 2], 40, sampler, CONTEXT, by_chance(1, 3), 12, 8)
    assert [t for one in found for t in one.said] != engine.says([1, 2], 40, sampler)


def drawn(rng: np.random.Generator, vocab: int):
    """Two branches of two tokens and one, drawn from a distribution far from the model's."""
    far = np.linspace(3.0, 0.5, vocab)
    far /= far.sum()

    def propose(text, room: int) -> Proposal:
        parents = [-1, 0, -1][: max(room, 0)]
        tokens = rng.choice(vocab, len(parents), p=far).tolist()
        return Proposal(tokens, parents, np.tile(far, (len(parents), 1)))

    return propose


def chi_squared(rounds: int) -> float:
    """How far the texts of two tokens out of three are from the model's distribution; 8 are free."""
    vocab, sampler = 3, Sampler(3, 0.7, 5)
    propose = drawn(np.random.default_rng(3), vocab)
    engine = Following(vocab)
    counts = dict.fromkeys(itertools.product(range(vocab), repeat=2), 0)
    for _ in range(rounds):
        found = speculate(engine, [2], 2, sampler, CONTEXT, propose, 8, 8)
        counts[tuple(t for one in found for t in one.said)] += 1
    total = 0.0
    for text, seen in counts.items():
        chance = 1.0
        for at, token in enumerate(text):
            chance *= sampler.distribution(engine.after([2, *text[:at]]))[token]
        total += (seen - rounds * chance) ** 2 / (rounds * chance)
    return total


def test_drawn_proposals_leave_the_distribution_as_it_is(monkeypatch):
    """A fair draw is beyond 40 once in 300,000 times; one that forgets what was offered is seen."""
    assert chi_squared(900) < 40.0

    def unfair(wanted, offered, random):
        token, nth = accept(wanted, offered, random)
        if nth is None:
            token = int(np.searchsorted(np.cumsum(wanted), random(), "right"))
        return token, nth

    monkeypatch.setattr(speculation, "accept", unfair)
    assert chi_squared(900) > 40.0


def test_places_that_are_looked_up():
    """The longest match first, the latest place first; branches share what they have in common."""
    text = [1, 2, 3, 9, 8, 1, 2, 4, 5, 6, 2, 7, 0, 1, 2]
    found = Lookup(longest=2, branches=3, depth=3)(text, 16)
    assert found.tokens == [4, 5, 6, 3, 9, 8, 7, 0, 1]
    assert found.parents == [-1, 0, 1, -1, 3, 4, -1, 6, 7]
    assert Lookup(longest=2, shortest=2, branches=3, depth=3)(text, 4).tokens == [4, 5, 6, 3]
    shared = Lookup(longest=1, branches=2, depth=2)([1, 2, 3, 1, 2, 5, 1], 8)
    assert (shared.tokens, shared.parents) == ([2, 5, 3], [-1, 0, 0])
    assert Lookup()([5], 8).tokens == []
    assert Lookup()([5, 5], 0).tokens == []


@pytest.mark.parametrize(
    ("prompt", "count", "error", "message"),
    [
        ([], 3, PromptError, "A prompt of 0 tokens and an answer of 3 give nothing to say."),
        ([1] * 70, 12, SequenceTooLongError,
         "A prompt of 70 tokens and 12 more do not fit the KV cache of 80."),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_refused_before_a_step(prompt, count: int, error, message: str):
    engine = Following(3)
    with pytest.raises(error) as found:
        speculate(engine, prompt, count, Sampler(), CONTEXT, nothing, 4, 4)
    assert found.value.args[0] == message
    assert engine.rows == 0
