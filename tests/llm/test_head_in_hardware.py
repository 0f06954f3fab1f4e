"""A model of one layer that takes what another ended in, as a draft head does: the bits of the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.designs.llm.checkpoints.quantize import QuantizedModel, finest_shift
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.host import ended, make_block_memories, step
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, beside, following
from allo.designs.llm.wide.block.tokens.ended import Ended
from allo.designs.llm.wide.host import PositionError
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from tests.llm.test_wide_block_tokens import BLOCK, EVEN, MODEL, NARROW, WIDE

KNOWN = 40
"""Tokens that have an embedding; 30 of them have logits."""
ONE = dataclasses.replace(BLOCK, most=4, spoken=4, hidden=True, entrance=KNOWN)
LANES = dataclasses.replace(ONE, row_lanes=2, queries=2)


def weights_of(model: object, wide: Wide) -> QuantizedModel:
    """A layer, and an entrance."""
    found = random_weights(dataclasses.replace(model, layers=1, context=24), 5, block=wide.block)
    rng, d = np.random.default_rng(6), found.model.d
    found.arrays["token"] = rng.normal(0, 0.5, (KNOWN, d)).astype(np.float32)
    found.arrays["enter.w"] = rng.integers(-127, 128, (d, d)).astype(np.int8)
    scale = rng.uniform(0.5, 1.5, d) / (70 * d**0.5 * 2.0 ** finest_shift(found.model, 0))
    found.arrays["enter.s"] = scale.astype(np.float32)
    found.arrays["enter.b"] = np.zeros(d, np.float32)
    return found


def given_of(rng: np.random.Generator, count: int, weights: QuantizedModel) -> Ended:
    """Levels of which one block is finer than the others, and one is all zeros."""
    shift, d, block = finest_shift(weights.model, 0), weights.model.d, weights.block
    levels = rng.integers(-127, 128, (count, d)).astype(np.int32) << shift
    levels[:, :block] >>= shift
    levels[0, block : 2 * block] = 0
    steps = rng.uniform(0.005, 0.02, (count, 1)).astype(np.float32)
    return Ended(levels, steps, shift)


def steps_of() -> list[tuple[Rows, int]]:
    """Places of a text, and two levels of a tree behind them; the second sees a part of the first."""
    tokens = [39, 3, 0, 31, 12, 7]
    level = Rows(
        np.array([8, 33, 2]), np.full(3, 6), np.zeros(3, np.int64), np.full(3, 6), np.eye(3, dtype=bool)
    )  # fmt: skip
    left = np.array([[1, 0, 1], [0, 1, 1]], bool)
    below = Rows(
        np.array([5, 35]), np.full(2, 7), np.zeros(2, np.int64), np.full(2, 9), np.eye(2, dtype=bool), left
    )  # fmt: skip
    return [(following(tokens[:4]), 1), (following(tokens[4:], 4), 1), (level, 3), (below, 2)]


@pytest.mark.parametrize(
    ("model", "wide", "block", "target"),
    [
        (MODEL, WIDE, ONE, "simulator"),
        (MODEL, WIDE, LANES, "simulator"),
        (EVEN, NARROW, LANES, "verilog"),
    ],
    ids=["one", "lanes", "verilog"],
)
def test_levels_of_a_head_have_the_bits_of_the_reference(
    model: object, wide: Wide, block: Block, target: str
) -> None:
    """Logits, and what rows end in; in hardware in the cycles that are foretold, within 3 %."""
    hardware = target == "verilog"
    options = {"simulator": "jit", "clock_mhz": 300} if hardware else {"check_dependences": True}
    weights, rng = weights_of(model, wide), np.random.default_rng(7)
    run = schedule_block(weights.config, wide, block).build(target=target, **options)
    memories, reference = make_block_memories(weights, wide, block), RowsGPT(weights, wide, block)
    for rows, spoken in steps_of():
        given = given_of(rng, len(rows), weights)
        got = step(run, weights, wide, block, memories, rows, spoken, given)
        wanted = reference.step(rows, spoken, given)
        assert np.array_equal(got.view(np.uint32), wanted.view(np.uint32))
        told = ended(weights, wide, block, memories, spoken)
        assert reference.ended is not None
        assert np.array_equal(told.levels, reference.ended.levels)
        assert np.array_equal(told.steps, reference.ended.steps)
        if hardware:
            seen = (rows.places + 1).tolist()
            foretold = predict_rows(run.report, weights.config, wide, block, seen, spoken).cycles
            assert abs(foretold / run.cycles - 1) < 0.03, (len(rows), foretold, run.cycles)


def test_another_given_value_or_entry_left_out_gives_other_logits() -> None:
    """What the hardware is compared with takes both in."""
    weights = weights_of(MODEL, WIDE)
    said = []
    for change in range(3):
        model = RowsGPT(weights, WIDE, ONE)
        for rows, spoken in steps_of():
            given = given_of(np.random.default_rng(len(rows)), len(rows), weights)
            if change == 1 and spoken == 2:
                given.levels[0, 40] += 9 << given.shift
            if change == 2 and spoken == 2:
                rows = dataclasses.replace(rows, left=rows.left[::-1])
            logits = model.step(rows, spoken, given)
        said.append(logits)
    assert not np.array_equal(said[0][0], said[1][0])
    assert np.array_equal(said[0][1], said[1][1])
    assert not np.array_equal(said[0], said[2])


def test_refusals() -> None:
    rows, spoken = steps_of()[0]
    weights = weights_of(MODEL, WIDE)
    memories = make_block_memories(weights, WIDE, ONE)
    with pytest.raises(
        PositionError, match="A step of 4 tokens is given values for 0, and the accel"
    ):
        step(None, weights, WIDE, ONE, memories, rows, spoken)
    with pytest.raises(
        PositionError, match="Rows that leave out entries from before the step are to s"
    ):
        beside([rows, steps_of()[3][0]])
    with pytest.raises(PositionError, match="does not tell what its rows end in"):
        ended(weights, WIDE, BLOCK, memories, 1)
    with pytest.raises(WidthError, match="given values in steps of one block, 4, and not of 12"):
        check_block(MODEL, WIDE, dataclasses.replace(ONE, most=12))
    far = dataclasses.replace(steps_of()[3][0], left=np.ones((2, 9), bool), before=np.full(2, 40))
    deep = dataclasses.replace(weights.config, context=64)
    with pytest.raises(
        PositionError, match="is of several sequences|more entries|32 or more"
    ) as error:
        from allo.designs.llm.wide.block.rows import check_rows

        check_rows(dataclasses.replace(far, left=np.ones((2, 33), bool)), 2, deep, ONE)
    assert "32 or more before its own" in str(error.value)
