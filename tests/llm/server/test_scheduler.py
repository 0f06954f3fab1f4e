"""Requests side by side: each answer is that of the request alone, and none is lost."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speech import speak
from allo.designs.llm.server.engine import Work
from allo.designs.llm.server.errors import BusyError, ContextLengthError, EngineError, RequestError
from allo.designs.llm.server.request import Request
from allo.designs.llm.server.scheduler import Scheduler

from .engines import Collected, Remembering, answers, speaker_tokenizer

TOKENIZER = speaker_tokenizer()
VOCAB = len(TOKENIZER)


@pytest.fixture
def engine():
    return Remembering(VOCAB)


@pytest.fixture
def scheduler(engine):
    found = Scheduler(engine, TOKENIZER, slots=8)
    yield found
    found.close()


def alone(request: Request) -> str:
    """The text by the loop that has no server, and a fresh cache."""
    engine, cache = Remembering(VOCAB), []
    greedy = request.temperature == 0
    sampler = Sampler(
        1 if greedy else VOCAB, request.temperature or 1.0, request.seed, request.share
    )
    steps = speak(
        lambda token, position: engine.step([Work(cache, token, position)])[0].logits,
        list(request.prompt), request.count, sampler, engine.context,
    )  # fmt: skip
    return TOKENIZER.decode([step.chosen for step in steps if step.chosen is not None])


def requests(count: int, seed: int = 1) -> list[Request]:
    """Of random lengths; a third begin as an earlier one does."""
    rng, made = np.random.default_rng(seed), []
    for n in range(count):
        prompt = rng.integers(1, VOCAB, rng.integers(1, 30)).tolist()
        if n % 3 == 2:
            other = made[rng.integers(len(made))].prompt
            prompt = [*other[: rng.integers(1, len(other) + 1)], *prompt][:40]
        temperature = float(rng.choice([0.0, 0.7, 1.3]))
        made.append(
            Request(tuple(prompt), int(rng.integers(1, 20)), temperature, share=0.9, seed=n)
        )
    return made


def test_answers_side_by_side_are_those_of_each_alone(engine, scheduler):
    asked = requests(60)
    found = answers(scheduler, asked)
    assert [each.text for each in found] == [alone(request) for request in asked]
    assert [each.done.said for each in found] == [request.count for request in asked]
    assert {each.done.reason for each in found} == {"length"}
    assert engine.most_at_once == 8
    steps = sum(
        len(r.prompt) + r.count - 1 - e.done.reused for r, e in zip(asked, found, strict=True)
    )
    assert engine.steps == steps < sum(len(r.prompt) + r.count - 1 for r in asked)
    assert all(each.done.cycles % 10 == 0 and each.done.cycles > 0 for each in found)


def test_prompts_in_parts_have_the_same_answers():
    engine = Remembering(VOCAB, chunk=3)
    scheduler, asked = Scheduler(engine, TOKENIZER, slots=8), requests(30)
    found = answers(scheduler, asked)
    scheduler.close()
    assert [each.text for each in found] == [alone(request) for request in asked]
    alone_steps = sum(
        len(r.prompt) + r.count - 1 - e.done.reused for r, e in zip(asked, found, strict=True)
    )
    assert engine.steps < alone_steps


def test_a_cache_that_is_mixed_up_is_seen(engine, scheduler, monkeypatch):
    shared = []
    monkeypatch.setattr(engine, "copy", lambda cache: shared)
    first = Request(tuple(range(1, 20)), 4, 0.0)
    later = [Request((*range(1, 15), n), 4, 0.0) for n in range(30, 34)]
    answers(scheduler, [first])
    with pytest.raises(EngineError, match="failed in the middle of an answer"):
        answers(scheduler, later)


def test_a_conversation_goes_on_where_it_ended(engine, scheduler):
    [first] = answers(scheduler, [Request((5, 6, 7), 5, 0.0)])
    said = TOKENIZER.encode(first.text, special=False)
    before = engine.steps
    prompt = (5, 6, 7, *said, 9)
    [second] = answers(scheduler, [Request(prompt, 3, 0.0)])
    assert second.text == alone(Request(prompt, 3, 0.0))
    assert second.done.reused >= 3
    assert engine.steps - before == len(prompt) + 2 - second.done.reused


def test_a_text_that_ends_an_answer_is_not_said(scheduler):
    asked = Request((11, 12, 13), 40, 0.0)
    whole = alone(asked)
    stop = whole[30:35]
    place = whole.find(stop)
    [found] = answers(scheduler, [Request((11, 12, 13), 40, 0.0, stops=("\u2603", stop))])
    assert found.text == whole[:place] and found.done.reason == "stop"
    [other] = answers(scheduler, [Request((11, 12, 13), 40, 0.0, stops=(whole[-1:] + "\u2603",))])
    assert other.text == whole, "what might have been a stop is said in the end"


def test_a_token_that_ends_an_answer_is_not_said(engine):
    cache = []
    greedy = [int(np.argmax(engine.step([Work(cache, 3, 0)])[0].logits))]
    greedy.append(int(np.argmax(engine.step([Work(cache, greedy[0], 1)])[0].logits)))
    scheduler = Scheduler(engine, TOKENIZER, ends=greedy[1:])
    [found] = answers(scheduler, [Request((3,), 9, 0.0)])
    scheduler.close()
    assert found.text == TOKENIZER.decode(greedy[:1])
    assert (found.done.reason, found.done.said) == ("stop", 2)


def test_log_probabilities_are_those_of_the_logits(engine, scheduler):
    [found] = answers(scheduler, [Request((8, 9), 3, 0.0, likeliest=2)])
    cache = []
    engine.step([Work(cache, 8, 0)])
    logits = engine.step([Work(cache, 9, 1)])[0].logits.astype(np.float64)
    every = logits - np.log(np.exp(logits).sum())
    best = np.argsort(-every)[:2]
    first = found.scored[0]
    assert len(found.scored) == 3 and "".join(each.text for each in found.scored) == found.text
    assert first.log_probability == pytest.approx(every.max())
    assert [text for text, _ in first.likeliest] == [TOKENIZER.decode([n]) for n in best]
    assert [score for _, score in first.likeliest] == pytest.approx(every[best])


@pytest.mark.parametrize(
    ("presence", "frequency"), [(0.0, 0.0), (1.5, 0.0), (0.0, 1.5), (-2.0, 0.5)]
)
def test_penalties_are_taken_from_logits_of_what_was_said(scheduler, presence, frequency):
    engine, cache, said = Remembering(6), [], [3]
    for position in range(30):
        logits = engine.step([Work(cache, said[-1], position)])[0].logits.astype(np.float64)
        for token in set(said[1:]):
            logits[token] -= presence + frequency * said[1:].count(token)
        said.append(int(np.argmax(logits)))
    small = Scheduler(Remembering(6), TOKENIZER)
    [found] = answers(small, [Request((3,), 30, 0.0, presence=presence, frequency=frequency)])
    small.close()
    assert found.text == TOKENIZER.decode(said[1:])


def test_what_does_not_fit_the_context_is_refused(scheduler):
    with pytest.raises(
        ContextLengthError, match="has 65 tokens; with these a sequence does not fit"
    ):
        scheduler.submit(Request((1,) * 65), Collected())
    with pytest.raises(ContextLengthError, match="with these and 20 of the answer"):
        scheduler.submit(Request((1,) * 50, 20), Collected())
    with pytest.raises(RequestError, match="The prompt has no token"):
        scheduler.submit(Request(()), Collected())
    [found] = answers(scheduler, [Request((1,) * 60, None, 0.0)])
    assert found.done.said == 5, "without a number the answer fills the context"


def test_requests_wait_and_those_beyond_are_refused():
    engine = Remembering(VOCAB, pause_s=0.01)
    scheduler = Scheduler(engine, TOKENIZER, slots=1, waiting=2)
    found = [Collected() for _ in range(3)]
    tickets = [scheduler.submit(Request((4,), 30, 0.0), found[0])]
    while scheduler.load != (1, 0):
        pass
    tickets += [scheduler.submit(Request((n,), 2, 0.0), found[n]) for n in (1, 2)]
    with pytest.raises(BusyError, match="2 requests wait for an answer already"):
        scheduler.submit(Request((5,), 2), Collected())
    tickets[0].cancel()
    assert [each.wait().done.reason for each in found] == ["cancelled", "length", "length"]
    assert found[0].done.said < 30
    scheduler.close()
    with pytest.raises(BusyError, match="is being stopped"):
        scheduler.submit(Request((5,), 2), Collected())
    with pytest.raises(RequestError, match="A server with 0 slots answers nothing"):
        Scheduler(engine, TOKENIZER, slots=0)


def test_an_engine_that_fails_ends_its_answers_and_not_the_server(engine, scheduler):
    engine.broken = True
    with pytest.raises(EngineError, match=r"in the middle of an answer \(the board is gone\)"):
        answers(scheduler, [Request((4,), 2)])
    engine.broken = False
    asked = Request((4,), 2, 0.0)
    assert answers(scheduler, [asked])[0].text == alone(asked)


def test_closing_ends_what_is_under_way_and_what_waits():
    scheduler = Scheduler(Remembering(VOCAB, pause_s=0.01), TOKENIZER, slots=1)
    found = [Collected() for _ in range(3)]
    for collected in found:
        scheduler.submit(Request((4,), 30), collected)
    scheduler.close()
    assert [each.wait().done.reason for each in found] == ["cancelled"] * 3
