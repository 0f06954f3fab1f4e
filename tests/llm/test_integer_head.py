"""A draft head in integers: levels of trees are what each path alone gives, and texts stay the model's."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.draft.drafting import Drafting
from allo.designs.llm.draft.growth import Node
from allo.designs.llm.draft.head import DraftHead, DraftHeadError
from allo.designs.llm.draft.integer import HeadEngine, IntegerHead, Whole, quantize_head
from allo.designs.llm.language.proposals import nothing
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, following
from allo.designs.llm.wide.block.tokens.ended import Ended, beside
from tests.llm.test_draft_head import EMBEDDING, MODEL, TOKENS, WIDE, said, target, tensors

SAID = 24
BLOCK = Block(rows=2, tokens=8, most=8, spoken=8, hidden=True, entrance=MODEL.vocab)


def weights() -> QuantizedModel:
    model, tokens = target(), np.random.default_rng(8).integers(0, MODEL.vocab, 13)
    model.step(following(tokens[:12]), 1)
    head = DraftHead(MODEL, tensors(), EMBEDDING)
    return quantize_head(head, [(model.hidden, tokens[1:])], WIDE.block, SAID)


def engine_of(found: QuantizedModel) -> HeadEngine:
    model = RowsGPT(found, WIDE, BLOCK)

    def engine(rows: Rows, given: Ended, spoken: int) -> tuple[np.ndarray, Ended]:
        logits = model.step(rows, spoken, given)
        assert model.ended is not None
        return logits, model.ended

    return engine


def places(count: int) -> tuple[list[Ended], np.ndarray]:
    """What the model ends in at the first places of a text, and the tokens that follow."""
    model, tokens = target(), np.random.default_rng(9).integers(0, MODEL.vocab, count + 1)
    model.step(following(tokens[:count]), 8)
    assert model.ended is not None
    return [model.ended[at] for at in range(8)], tokens[count - 7 :]


def test_a_level_of_a_tree_gives_what_each_path_alone_does() -> None:
    found = weights()
    hidden, tokens = places(11)
    head = IntegerHead(engine_of(found), BLOCK, beam=3, depth=1)
    head.take(hidden, tokens)
    nodes = [Node(4, -1, 0.0), Node(9, -1, 0.0), Node(1, -1, 0.0)]
    head.grow(3)
    head._level(nodes, [0, 1, 2], [0, 0, 0])
    nodes += [Node(7, 2, 0.0), Node(7, 0, 0.0), Node(3, 2, 0.0)]
    tree = head._level(nodes, [3, 4, 5], [2, 0, 2])
    for row, path in enumerate(([1, 7], [4, 7], [1, 3])):
        engine = engine_of(found)
        _, ended = engine(following(tokens), beside(hidden), 1)
        for at, token in enumerate(path):
            logits, ended = engine(following([token], 8 + at), ended, 1)
        assert np.array_equal(tree[row].view(np.uint32), logits[0].view(np.uint32))
    assert head.steps == [(8, 1), (3, 3), (3, 3)]


def test_it_is_near_to_the_head_in_float32() -> None:
    hidden, tokens = places(11)
    head = IntegerHead(engine_of(weights()), BLOCK)
    head.take(hidden, tokens)
    whole = DraftHead(MODEL, tensors(), EMBEDDING)
    whole.take(np.concatenate([each.values for each in hidden]), tokens)
    assert head._last is not None and whole._last is not None
    near, wanted = head._last[0][0], whole._logits(whole._last)[:SAID]
    assert np.abs(near - wanted).max() < 0.05 * np.ptp(wanted)
    wrong = IntegerHead(engine_of(weights()), BLOCK)
    wrong.take(hidden[::-1], tokens)
    assert wrong._last is not None
    assert np.abs(wrong._last[0][0] - wanted).max() > 0.2 * np.ptp(wanted)


def test_what_is_said_is_what_plain_decoding_says() -> None:
    prompt = np.random.default_rng(3).integers(0, MODEL.vocab, 7).tolist()
    plain = [token for each in said(target(), nothing, prompt) for token in each.said]
    block = Block(rows=2, tokens=12, most=12, spoken=12)
    model = RowsGPT(target().weights, WIDE, block)
    drafting = Drafting(Whole(model), IntegerHead(engine_of(weights()), BLOCK, beam=3, depth=3))
    passes = said(drafting, drafting.propose, prompt)
    assert [token for each in passes for token in each.said] == plain
    assert drafting.head.places >= len(prompt) + TOKENS - 8


def test_refusals() -> None:
    with pytest.raises(DraftHeadError, match="that has taken no place is asked for proposals"):
        IntegerHead(engine_of(weights()), BLOCK).grow(4)
