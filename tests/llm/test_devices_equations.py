"""Equations (21) to (24): what several devices add to a token."""

from __future__ import annotations

import pytest

from allo.designs.llm.analysis.data import ModelInputError, transformer
from allo.designs.llm.analysis.devices import LinkDepths, Shares, Wire, devices_time, exchange
from allo.designs.llm.analysis.engine import Depths, Engine, step_time, words_of_layer

MODEL, ENGINE = transformer("gpt2-355m"), Engine()
LOOPS = LinkDepths(send=1, add=2, leave=8, enter=1, choose=20, vote=3)
DEPTHS = Depths(7, 2, 19, 2, 192, 123, 23, 2, 6, 58, 34, 55, 8, 1)
FAST, SLOW = Wire(1, 5), Wire(14, 552)


def time(wire: Wire, **devices: int):
    return devices_time(MODEL, ENGINE, DEPTHS, LOOPS, wire, 127, Shares(**devices))


def test_one_device_is_equation_19():
    """But for the way of the token back, which one step of (19) does not have."""
    alone = step_time(MODEL, ENGINE, DEPTHS, 127)
    assert time(FAST).cycles == pytest.approx(alone.cycles, rel=0.001)


def test_shares_have_an_equal_part_of_the_words():
    whole = words_of_layer(MODEL, ENGINE)
    assert words_of_layer(MODEL, ENGINE, 4) == tuple(words / 4 for words in whole)


def test_an_exchange_takes_a_latency_a_hop_and_the_words_that_a_link_is_behind():
    """By hand: 64 words of a job of 512 cycles; send 1, call 3, add 2."""
    assert exchange(64, 512, 1, SLOW, LOOPS) == 0
    assert exchange(64, 512, 2, Wire(1, 138), LOOPS) == 1 + 138 + 2
    assert exchange(64, 512, 2, FAST, LOOPS) == (1 + 3) + 64 + 2
    assert exchange(64, 512, 2, Wire(14, 552), LOOPS) == 1 + (64 * 14 - 512) + 552 + 2
    assert exchange(64, 512, 3, Wire(1, 138), LOOPS) == 1 + 138 + 138 + 2


def test_a_pipeline_multiplies_tokens_and_not_their_speed():
    one = time(FAST)
    alone, full = time(FAST, pipeline=4), time(FAST, pipeline=4, sequences=4)
    assert one.token < alone.token < 1.01 * one.token
    assert full.token == alone.token
    assert 2.5 < one.token / max(full.token / 4, full.stage) < 4


def test_tensor_parallel_shortens_a_token_until_the_link_is_the_limit():
    assert time(FAST, tensor=4).token < 0.6 * time(FAST).token
    assert time(SLOW, tensor=4).token > time(SLOW, tensor=2).token
    assert time(SLOW, tensor=4).exchanges > 0.5 * time(SLOW, tensor=4).token


def test_a_model_that_cannot_be_shared_is_refused():
    with pytest.raises(ModelInputError, match="5 stages do not divide the 24 layers"):
        time(FAST, pipeline=5)
    with pytest.raises(ModelInputError, match="3 devices do not divide the 16 heads"):
        time(FAST, tensor=3)
