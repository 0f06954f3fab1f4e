"""The draft head of SmolLM2 in integers, on the model's own text: it foretells what the float one does."""

from __future__ import annotations

import dataclasses

import numpy as np

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.draft.head import load_head
from allo.designs.llm.draft.integer import quantize_head
from benchmarks.llm_draft_integer import CONTEXT, MEASURED, WIDE, Tried, recorded
from benchmarks.llm_speculation import integers

TOKENS, SAID = 32, (4096, 49152)


def test_its_proposals_are_nearly_as_often_right_as_those_of_the_head_in_float() -> None:
    loaded = load_checkpoint(packaged(SMOLLM2))
    loaded = dataclasses.replace(loaded, model=dataclasses.replace(loaded.model, context=CONTEXT))
    assert loaded.tokenizer is not None and loaded.chat is not None
    words = [{"role": "user", "content": MEASURED["corrections"][1]}]
    prompt = loaded.tokenizer.encode(loaded.chat.render(words))
    weights = integers(loaded, WIDE.block)
    known = recorded(weights, loaded.ends[0], TOKENS, ("corrections", prompt))
    head = load_head(loaded.model, loaded.params["token"])
    sample = known.floats[: known.first], np.array(known.text[1 : known.first + 1])
    heads = {said: quantize_head(head, [sample], WIDE.block, said) for said in SAID}
    passes = {said: Tried(head, of, 5, None).rate(known)[1] for said, of in heads.items()}
    float_passes = Tried(head, None, 5, None).rate(known)[1]
    assert float_passes < TOKENS / 1.5
    assert passes[49152] <= 1.15 * float_passes
    assert passes[4096] <= 1.3 * float_passes
