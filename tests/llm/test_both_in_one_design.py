"""A model and its draft head in one design: calls of either give the bits of the reference, in any order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.host import cached_pairs, ended, feed, make_both, step
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, branching, following
from allo.designs.llm.wide.block.tokens.ended import Ended
from allo.designs.llm.wide.block.tokens.resident import CALL, Resident, Shared, residents
from allo.designs.llm.wide.host import PositionError
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from tests.llm.test_head_in_hardware import LANES, given_of, steps_of, weights_of
from tests.llm.test_wide_block_tokens import EVEN, MODEL, NARROW, WIDE

BOTH = dataclasses.replace(LANES, draft=22)
"""Two lanes of rows, and a draft head with the logits of 22 of 30 tokens."""
ONE_LANE = dataclasses.replace(BOTH, row_lanes=1, queries=1)
HEAD_STEPS = steps_of()
MODEL_STEPS = [
    (following([29, 3, 0, 11]), 2),
    (following([12], 4), 1),
    (branching([8, 2, 5], [-1, 0, 0], 5), 3),
    (following([1, 2], 8), 2),
]
HEAD_FIRST = [1, 0, 1, 1, 0, 0, 1, 0]
MODEL_FIRST = [0, 1, 0, 1, 1, 0, 0, 1]


def pair(model: Any, wide: Wide) -> tuple[QuantizedModel, QuantizedModel]:
    """A model of two layers, and a head of it."""
    whole = random_weights(dataclasses.replace(model, context=24), 4, block=wide.block)
    return whole, weights_of(dataclasses.replace(model, vocab=BOTH.draft), wide)


class Calls:
    """The calls of a model and of its head in one design, each compared with its own reference."""

    def __init__(self, run: Callable[..., Any], model: Any, wide: Wide, block: Block) -> None:
        self.run, self.wide, self.block, self.weights = run, wide, block, pair(model, wide)
        self.memories = make_both(*self.weights, wide, block)
        self.references = [
            RowsGPT(weights, wide, memories.resident.sizes.block)
            for weights, memories in zip(self.weights, self.memories, strict=True)
        ]
        self.steps = iter(MODEL_STEPS), iter(HEAD_STEPS)
        self.rng = np.random.default_rng(7)

    def call(self, which: int) -> tuple[int, int]:
        """The next step of the model (0) or the head (1); cycles, and those foretold, in hardware.

        Logits, ends, and the keys and values of both are compared.
        """
        rows, spoken = next(self.steps[which])
        weights, memories = self.weights[which], self.memories[which]
        given = given_of(self.rng, len(rows), weights) if which else None
        got = step(self.run, weights, self.wide, self.block, memories, rows, spoken, given)
        self.same(which, rows, spoken, given, got)
        cycles = getattr(self.run, "cycles", None)
        if cycles is None:
            return 0, 0
        own, seen = memories.resident.sizes.block, (rows.places + 1).tolist()
        report = getattr(self.run, "report", None)
        return cycles, predict_rows(report, weights.config, self.wide, own, seen, spoken).cycles

    def same(
        self, which: int, rows: Rows, spoken: int, given: Ended | None, got: np.ndarray
    ) -> None:
        """Compare a step with the reference, whose state of the other one has to be as it was."""
        reference, weights = self.references[which], self.weights[which]
        wanted = reference.step(rows, spoken, given)
        assert np.array_equal(got.view(np.uint32), wanted.view(np.uint32))
        told = ended(weights, self.wide, self.block, self.memories[which], spoken)
        assert reference.ended is not None
        assert np.array_equal(told.levels, reference.ended.levels)
        assert np.array_equal(told.steps, reference.ended.steps)
        for memories, model in zip(self.memories, self.references, strict=True):
            for mine, theirs in cached_pairs(memories, self.wide, self.block, model):
                assert np.array_equal(mine, theirs)


def moved(memories: Shared, **changed: int) -> Shared:
    """The same memories, with a call that looks elsewhere."""
    return dataclasses.replace(memories, resident=dataclasses.replace(memories.resident, **changed))


@pytest.mark.parametrize("block", [BOTH, ONE_LANE], ids=["lanes", "one_lane"])
def test_calls_in_any_order_have_the_bits_of_the_reference(block: Block) -> None:
    """And a call that looks for the gains or the layer of the other one has not."""
    run = schedule_block(pair(MODEL, WIDE)[0].config, WIDE, block).build(
        target="simulator", check_dependences=True
    )
    for order in (MODEL_FIRST, HEAD_FIRST):
        calls = Calls(run, MODEL, WIDE, block)
        for which in order:
            calls.call(which)
    for changed in ({"gains_at": 0}, {"first_layer": 0}, {"tokens_at": 0}, {"words_at": 0}):
        calls = Calls(run, MODEL, WIDE, block)
        calls.call(0)
        calls.memories = calls.memories[0], moved(calls.memories[1], **changed)
        with pytest.raises(AssertionError):
            calls.call(1)


@pytest.mark.parametrize("order", [MODEL_FIRST, HEAD_FIRST], ids=["model_first", "head_first"])
def test_hardware_runs_either_in_the_cycles_that_are_foretold(order: list[int]) -> None:
    """Within 3 %."""
    run = schedule_block(pair(EVEN, NARROW)[0].config, NARROW, BOTH).build(
        target="verilog", simulator="jit", clock_mhz=300
    )
    calls = Calls(run, EVEN, NARROW, BOTH)
    for which in order:
        cycles, foretold = calls.call(which)
        assert abs(foretold / cycles - 1) < 0.03, (which, foretold, cycles)


def test_both_lie_in_the_same_memories_one_behind_the_other() -> None:
    model, head = pair(MODEL, WIDE)
    first, second = make_both(model, head, WIDE, BOTH)
    assert all(a is b for a, b in zip(first.arguments(), second.arguments(), strict=True))
    said = [dict(zip(CALL, one.resident.call(), strict=True)) for one in (first, second)]
    assert [one["layers"] for one in said] == [2, 1]
    assert [one["enters"] for one in said] == [0, 1]
    assert [one["last_outs"] * WIDE.channels for one in said] == [32, 24]
    assert said[1]["first_layer"] == 2
    for at, read, there in (
        ("words_at", "words_read", first.constant[0].shape[1]),
        ("sums_at", "sums_read", len(first.constant[1])),
        ("gains_at", "gains_read", first.constant[2].shape[1]),
    ):
        assert said[0][at] == 0
        assert said[1][at] == said[0][read]
        assert said[1][at] + said[1][read] == there
    for part in (first.keys, first.values):
        assert part.shape[1] == 3 * 24 * MODEL.kv_heads // WIDE.heads


def test_what_a_design_was_not_built_for_is_refused() -> None:
    model, head = pair(MODEL, WIDE)
    whole = make_both(model, head, WIDE, BOTH)[0]
    deep = random_weights(dataclasses.replace(model.config, layers=4), 4, block=WIDE.block)
    sizes = residents(deep.config, WIDE, BOTH)[0].sizes
    with pytest.raises(PositionError) as layers:
        deeper = dataclasses.replace(whole, resident=Resident(sizes))
        feed(lambda *given: None, deep, BOTH, deeper, np.array([1]))
    assert str(layers.value).splitlines() == [
        "A call runs up to layer 4 of an accelerator that was built for 3.",
        "help: run the model or the draft head that it was built for (make_both).",
    ]
    far = moved(whole, gains_at=40)
    with pytest.raises(PositionError, match="up to word of gains 100 of an accelerator .* for 96"):
        feed(lambda *given: None, model, BOTH, far, np.array([1]))
    with pytest.raises(WidthError, match="The draft head has the shape .*, and the design one of"):
        make_both(model, model, WIDE, BOTH)
    with pytest.raises(WidthError, match="tells what rows end in, has an entrance, and queries"):
        check_block(model.config, WIDE, dataclasses.replace(BOTH, queries=0))
    with pytest.raises(WidthError, match="draft head of 31 logits is asked for, and the model has"):
        check_block(model.config, WIDE, dataclasses.replace(BOTH, draft=31))
    many = dataclasses.replace(model.config, layers=255)
    with pytest.raises(WidthError, match="how many layers it runs, and cannot say 256"):
        check_block(many, WIDE, BOTH)
