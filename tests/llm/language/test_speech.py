"""The speaking model on the wide accelerator: one loop for every engine, and the same bits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import quantize
from allo.designs.llm.host import SequenceTooLongError
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speaker import FOLDER
from allo.designs.llm.language.speech import (
    PromptError,
    accelerator_engine,
    reference_engine,
    speak,
)
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning

WIDE = Wide(channels=16, lanes=64, vector=16, heads=2)
PROMPT = "Mr. Darcy looked at"
SAID = (
    " her with an air of surprise. She could not help thinking whether it was not to be expected."
)


@pytest.fixture(scope="module")
def loaded():
    return load_checkpoint(FOLDER)


@pytest.fixture(scope="module", params=[8, 4], ids=["W8A8", "W4A8"])
def model(request, loaded):
    return quantize(loaded.model, loaded.params, loaded.scales, request.param)


def spoken(engine, loaded, count: int):
    prompt = loaded.tokenizer.encode(PROMPT)
    steps = list(speak(engine, prompt, count, Sampler(20, 0.7, 2), loaded.model.context))
    said = [step.chosen for step in steps if step.chosen is not None]
    assert [step.token for step in steps] == [*prompt, *said[:-1]]
    return said, np.array([step.logits for step in steps])


def compare(module, loaded, model, count: int) -> list[int]:
    expected, logits = spoken(reference_engine(model, WIDE), loaded, count)
    said, found = spoken(accelerator_engine(module, model.gpt_weights(), WIDE), loaded, count)
    assert said == expected
    assert np.array_equal(found.view(np.uint32), logits.view(np.uint32))
    return said


def test_a_reference_with_a_cache_is_the_wide_reference(loaded, model):
    said, logits = spoken(reference_engine(model, WIDE), loaded, 6)
    tokens = [*loaded.tokenizer.encode(PROMPT), *said[:-1]]
    whole = WideGPT(model.gpt_weights(), WIDE).forward(np.array([tokens]))[0]
    assert np.array_equal(logits.view(np.uint32), whole.view(np.uint32))


def test_the_cpu_build_says_what_the_reference_says(loaded, model):
    warnings.simplefilter("ignore", DTypeWarning)
    module = schedule(model.gpt_weights().config, WIDE).build(target="simulator")
    assert len(compare(module, loaded, model, 5)) == 5


@pytest.mark.slow
def test_the_hardware_says_what_the_reference_says(loaded):
    warnings.simplefilter("ignore", DTypeWarning)
    model = quantize(loaded.model, loaded.params, loaded.scales)
    scheduled = schedule(model.gpt_weights().config, WIDE)
    said = compare(scheduled.build(target="verilog", simulator="jit"), loaded, model, 20)
    assert SAID.startswith(loaded.tokenizer.decode(said))


def test_it_says_a_sentence(loaded):
    model = quantize(loaded.model, loaded.params, loaded.scales)
    said, _ = spoken(reference_engine(model, WIDE), loaded, 24)
    assert SAID.startswith(loaded.tokenizer.decode(said)) or loaded.tokenizer.decode(
        said
    ).startswith(SAID)


def test_what_does_not_fit_the_cache_is_refused_before_anything_runs():
    def never(token: int, position: int) -> np.ndarray:
        raise RuntimeError("nothing may run")

    with pytest.raises(SequenceTooLongError) as error:
        speak(never, [1] * 200, 58, Sampler(), 256)
    assert str(error.value) == (
        "A prompt of 200 tokens and 58 more do not fit the KV cache of 256.\n"
        "help: ask for at most 57 tokens, or shorten the prompt."
    )


@pytest.mark.parametrize(("prompt", "count"), [([], 4), ([3], 0)])
def test_nothing_to_say_is_refused(prompt: list[int], count: int):
    with pytest.raises(
        PromptError, match=f"A prompt of {len(prompt)} tokens and an answer of {count}"
    ):
        speak(lambda token, position: np.zeros(4), prompt, count, Sampler(), 256)
