"""The accelerator behind a server: as the CPU build and as RTL, and models that a server can have."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import openai
import pytest

from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speech import accelerator_engine, reference_engine, speak
from allo.designs.llm.server.engine import Engine, WideEngine, Work
from allo.designs.llm.server.models import Prepared, ServedModelError, fitting, prepare
from allo.designs.llm.server.request import Request
from allo.designs.llm.server.scheduler import Scheduler
from allo.designs.llm.server.served import Served
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

from .engines import answers, speaker_tokenizer

TEXTS = ["Mr. Darcy looked at", "She could not", "Mr. Darcy looked at her", "It", "Emma, my dear"]


@pytest.fixture(scope="module")
def speaker() -> Prepared:
    return prepare("speaker", context=64)


@pytest.fixture(scope="module")
def engine(speaker) -> WideEngine:
    return speaker.engine("cpu")


def requests(speaker: Prepared, count: int, longest: int) -> list[Request]:
    """Of random lengths, from the beginnings of sentences."""
    rng, made = np.random.default_rng(4), []
    for n in range(count):
        prompt = speaker.served.tokenizer.encode(TEXTS[n % len(TEXTS)])
        made.append(Request(tuple(prompt), int(rng.integers(1, longest)), 0.7, 20, seed=n))
    return made


def compare(speaker: Prepared, engine: Engine, alone: Callable, count: int, longest: int) -> None:
    """Requests side by side against each alone.

    Args:
        alone: gives an engine of one sequence.
    """
    served = speaker.served
    asked = requests(speaker, count, longest)
    scheduler = Scheduler(engine, served.tokenizer, served.ends, slots=8)
    found = answers(scheduler, asked)
    scheduler.close()
    reused = 0
    for request, each in zip(asked, found, strict=True):
        sampler = Sampler(20, 0.7, request.seed)
        said = []
        for step in speak(alone(), list(request.prompt), request.count, sampler, served.context):
            if step.chosen in served.ends:
                break
            said += [] if step.chosen is None else [step.chosen]
        assert each.text == served.tokenizer.decode(said)
        reused += each.done.reused
    assert reused > 0


def of_its_own(speaker: Prepared, engine: WideEngine) -> Callable:
    """Makes engines of one sequence by the same build."""
    return lambda: accelerator_engine(engine._run, speaker.weights, speaker.wide)


def test_answers_of_the_accelerator_side_by_side_are_those_of_each_alone(speaker, engine):
    compare(speaker, engine, of_its_own(speaker, engine), 12, 6)


def test_answers_of_200_requests(speaker, engine):
    compare(speaker, engine, of_its_own(speaker, engine), 200, 40)


def test_answers_of_200_requests_in_batches(speaker, engine):
    """Eight sequences, and parts of prompts, in each pass over the weights."""
    batched = prepare("speaker", context=64, batch=8)
    assert batched.block is not None
    compare(batched, batched.engine("cpu"), of_its_own(speaker, engine), 200, 40)


def tiny(batch: int) -> Prepared:
    """A model of one layer, whose tokens are those of the speaker."""
    tokenizer = speaker_tokenizer()
    config = GPTConfig(layers=1, heads=2, d=16, ffn=32, context=16, vocab=len(tokenizer))
    block = Block(2, 4, 8, 1, batch, batch) if batch > 1 else None
    wide = Wide(channels=2, lanes=8, vector=2, heads=2, parts=4, prefetch=64)
    return Prepared(Served("tiny", tokenizer, 16), random_weights(config, seed=3), wide, block)


@pytest.mark.parametrize("kind", ["cpu", "rtl"])
def test_batches_of_more_sequences_than_slots(kind: str):
    """A slot that another sequence took comes back with its keys and values; copies go their own ways."""
    prepared = tiny(2)
    engine = prepared.engine(kind)
    rng = np.random.default_rng(5)
    caches = [engine.open() for _ in range(3)]
    texts: list[list[int]] = [[] for _ in caches]
    for _ in range(8 if kind == "cpu" else 3):
        work = []
        for n in rng.permutation(len(caches)):
            if len(texts[n]) + 4 > 16:
                texts[n] = []
            token, *more = rng.integers(0, 1536, rng.integers(1, 1 + engine.chunk)).tolist()
            work.append(Work(caches[n], token, len(texts[n]), tuple(more)))
            texts[n] += [token, *more]
        for each, result in zip(work, engine.step(work), strict=True):
            text = texts[caches.index(each.cache)]
            reference = WideGPT(prepared.weights, prepared.wide).forward(np.array([text]))[0, -1]
            assert np.array_equal(result.logits.view(np.uint32), reference.view(np.uint32))
        del caches[0], texts[0]
        caches.append(engine.copy(caches[0]))
        texts.append(list(texts[0]))


def test_a_cache_is_not_read_behind_its_tokens(speaker, engine):
    """What another sequence left behind the tokens of a cache that is taken over."""
    clean, soiled = engine.open(), engine.open()
    for array in (soiled.keys, soiled.values, soiled.logits):
        array.view(np.uint8)[:] = np.random.default_rng(1).integers(
            0, 256, array.view(np.uint8).shape
        )
    for position, token in enumerate([5, 80, 700]):
        one, other = engine.step([Work(clean, token, position), Work(soiled, token, position)])
        assert np.array_equal(one.logits.view(np.uint32), other.logits.view(np.uint32))


def test_the_hardware_answers_what_the_reference_says():
    prepared = tiny(1)
    weights, tokenizer = prepared.weights, prepared.served.tokenizer
    engine = prepared.engine("rtl")
    asked = [Request((n, 7), 3, 0.0) for n in (3, 900)]
    scheduler = Scheduler(engine, tokenizer)
    found = answers(scheduler, asked)
    scheduler.close()
    for request, each in zip(asked, found, strict=True):
        reference = reference_engine(weights, prepared.wide)
        steps = speak(reference, list(request.prompt), 3, Sampler(), 16)
        assert each.text == tokenizer.decode([s.chosen for s in steps if s.chosen is not None])
        assert each.done.cycles > 100


def test_an_accelerator_is_found_for_any_shape():
    small = Architecture(
        family="llama", layers=1, d=576, heads=9, kv_heads=3, head_dim=64, ffn=1536, context=16, vocab=30,
        activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
        rotary=tuple((10_000.0 ** (-np.arange(0, 64, 2) / 64)).tolist()),
    )  # fmt: skip
    wide = fitting(small, 8, True)
    assert (wide.channels, wide.lanes, wide.heads, wide.block) == (32, 64, 3, 64)
    wide = fitting(small, 4, True)
    assert (wide.channels, wide.lanes, wide.bits, wide.block) == (32, 32, 4, 32)
    odd = dataclasses.replace(small, d=72, head_dim=8, ffn=72, rotary=small.rotary[:4])
    assert fitting(odd, 8, False).channels == 8
    with pytest.raises(WidthError, match="do not divide the"):
        fitting(dataclasses.replace(odd, ffn=73), 8, False)


def test_models_and_engines_that_are_not_there(speaker):
    with pytest.raises(ServedModelError, match="There is no engine 'gpu'") as found:
        speaker.engine("gpu")
    assert "take cpu or rtl" in str(found.value)


def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-u", "-m", "allo.cli", "llm", "serve", "--model", "speaker"]
    server = subprocess.Popen(
        [*command, "--port", "0", "--context", "32"], stdout=subprocess.PIPE, text=True
    )
    try:
        line = next(line for line in server.stdout if "answers at" in line)
        base = line.split("answers at ")[1].split(";")[0]
        with openai.OpenAI(base_url=base, api_key="none") as client:
            said = client.completions.create(
                model="speaker", prompt="Mr. Darcy looked at", max_tokens=4, temperature=0
            )
        assert said.choices[0].text == " her with a sm"
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130  # as shells name an interrupt
