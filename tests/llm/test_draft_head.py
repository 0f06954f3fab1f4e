"""A draft head beside a model: what is said stays what plain decoding says, and fewer steps say it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import calibrate, quantize
from allo.designs.llm.draft.drafting import Drafting
from allo.designs.llm.draft.head import DraftHead, DraftHeadError, Node
from allo.designs.llm.language.proposals import Lookup, Propose, nothing
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import Pass, speculate
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import beside, following
from allo.designs.llm.wide.parameters import Wide
from benchmarks.llm_cupy import Device, RowsOnDevice

LLAMA = load_checkpoint(Path(__file__).parent / "checkpoints" / "oracles" / "llama")
MODEL = dataclasses.replace(LLAMA.model, context=64)
EMBEDDING = LLAMA.params["token"]
WIDE = Wide(channels=2, lanes=8, vector=4, heads=1, block=8)
TOKENS, MOST, SPOKEN = 24, 12, 8


def target() -> RowsGPT:
    batches = [np.random.default_rng(1).integers(0, MODEL.vocab, (2, 16))]
    scales = calibrate(MODEL, LLAMA.params, batches)
    weights = quantize(MODEL, LLAMA.params, scales, block=WIDE.block)
    return RowsGPT(weights, WIDE, Block(rows=2, tokens=MOST, most=MOST, spoken=SPOKEN, slots=2))


def tensors() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(2)
    d, inner = MODEL.d, MODEL.kv_heads * MODEL.head_dim
    shapes = {"q": (d, d), "p": (d, d), "k": (inner, d), "v": (inner, d), "gate": (MODEL.ffn, d),
              "f1": (MODEL.ffn, d), "f2": (d, MODEL.ffn)}  # fmt: skip
    found = {f"block.{n}.weight": draw.normal(0, 0.1, s) for n, s in shapes.items()}
    found |= {name: np.ones(d) for name in ("norm", "block.norm1", "block.norm2")}
    return {**found, "join.weight": draw.normal(0, 0.1, (d, 2 * d))}


def said(engine: RowsGPT | Drafting, propose: Propose, prompt: list[int]) -> list[Pass]:
    sampler = Sampler(1, 1.0, 0)
    return list(
        speculate(engine.step, prompt, TOKENS, sampler, MODEL.context, propose, MOST, SPOKEN)
    )


@pytest.mark.parametrize("lookup", [None, Lookup(shortest=2, branches=1)])
def test_what_is_said_is_what_plain_decoding_says(lookup: Propose | None) -> None:
    prompt = np.random.default_rng(3).integers(0, MODEL.vocab, 15).tolist()
    plain = [token for each in said(target(), nothing, prompt) for token in each.said]
    drafting = Drafting(target(), DraftHead(MODEL, tensors(), EMBEDDING), lookup)
    passes = said(drafting, drafting.propose, prompt)
    assert [token for each in passes for token in each.said] == plain
    assert max(each.rows for each in passes[2:]) >= SPOKEN
    assert drafting.head.places >= len(prompt) + TOKENS - MOST


class Oracle(DraftHead):
    """Proposes what is said, with a wrong branch in front."""

    answer: list[int] = []
    room = 3

    def grow(self, room: int) -> list[Node]:
        right = self.answer[self.places + 1 :][: self.room]
        wrong = Node((right[0] + 1) % MODEL.vocab if right else 0, -1, 0.0)
        return [wrong, *(Node(t, at if at else -1, 0.0) for at, t in enumerate(right))][:room]


def test_right_proposals_save_steps_and_hidden_values_stay_those_of_the_text() -> None:
    prompt = np.random.default_rng(4).integers(0, MODEL.vocab, 7).tolist()
    plain = [token for each in said(target(), nothing, prompt) for token in each.said]
    head = Oracle(MODEL, tensors(), EMBEDDING)
    head.answer = [*prompt, *plain]
    drafting = Drafting(target(), head)
    passes = said(drafting, drafting.propose, prompt)
    assert [token for each in passes for token in each.said] == plain
    assert len(passes) < TOKENS / 2
    # What the head has taken is what one step of the whole text gives.
    other = DraftHead(MODEL, tensors(), EMBEDDING)
    whole, text = target(), [*prompt, *plain]
    hidden = []
    for start in range(0, head.places, MOST):
        whole.step(following(text[start : min(start + MOST, head.places)], start), 1)
        hidden.append(whole.hidden)
    following_tokens = np.array(text[1 : head.places + 1])
    other.take(np.concatenate(hidden), following_tokens)
    assert np.abs(scores(head) - scores(other)).max() < 1e-4
    wrong = DraftHead(MODEL, tensors(), EMBEDDING)
    wrong.take(np.roll(np.concatenate(hidden), 1, axis=0), following_tokens)
    assert np.abs(scores(head) - scores(wrong)).max() > 1e-3


def scores(head: DraftHead) -> np.ndarray:
    """Of the likeliest nodes: nodes that are as likely as others may stand in another order."""
    return np.array([node.score for node in DraftHead.grow(head, 9)])


def test_refusals() -> None:
    with pytest.raises(DraftHeadError, match=r"'join\.weight' of the draft head is \(3, 3\), and"):
        DraftHead(MODEL, {**tensors(), "join.weight": np.zeros((3, 3))}, EMBEDDING)
    head = DraftHead(MODEL, tensors(), EMBEDDING)
    with pytest.raises(DraftHeadError, match="that has taken no place is asked for proposals"):
        head.grow(4)
    drafting = Drafting(target(), head)
    with pytest.raises(DraftHeadError, match="rows of several sequences, and it follows one"):
        drafting.step(beside([following([1]), following([2], slot=1)]), 1)
    head.take(np.ones((3, MODEL.d), np.float32), np.array([1, 2, 3]))
    with pytest.raises(
        DraftHeadError, match="has taken 3 places, and proposals are asked behind 2 t"
    ):
        drafting.propose([1, 2], 4)


def test_rows_on_a_device_have_the_bits_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows that leave something out and of others, on a device that refuses what is no array."""
    device, rows = Device(gpu=False), following(np.arange(9))
    monkeypatch.setattr(Device, "put", lambda _, values: memoryview(values) and values)
    there, here = RowsOnDevice(device, target()), target()
    assert np.array_equal(there.step(rows, 4), here.step(rows, 4))
    left = np.array([[True, False, True]])
    after = dataclasses.replace(following(np.array([5]), 9), left=left)
    assert np.array_equal(there.step(after, 1), here.step(after, 1))
    assert np.array_equal(there.hidden, here.hidden)
