"""The accelerator for blocks whole: a prompt in steps of any size gives the logits of the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_block_step
from allo.designs.llm.wide.block.host import feed, make_block_memories
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.cycles import IDEAL, Channel
from allo.designs.llm.wide.host import PositionError
from allo.designs.llm.wide.parameters import Wide, WidthError, job_words
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
GROUPS = Architecture(
    family="gpt2", layers=2, d=64, heads=8, kv_heads=4, head_dim=8, ffn=128, context=16, vocab=30,
    activation="gelu_tanh", eps=1e-5, biases=(),
)  # fmt: skip
"""Two queries share a head of keys and values, and no layer has a bias."""
WIDE = Wide(channels=4, lanes=8, vector=4, heads=2, prefetch=512, gelu_interval=1)
BLOCK = Block(rows=2, tokens=4, most=12, norms=2)
TOKENS = np.array([3, 29, 0, 17, 17, 5, 9, 1, 2, 11, 4, 8], np.int32)


@pytest.fixture(scope="module")
def weights():
    return random_weights(CONFIG, seed=7)


@pytest.fixture(scope="module")
def expected(weights):
    """The logits after every token."""
    return WideGPT(weights, WIDE).forward(TOKENS[None])[0]


@pytest.fixture(scope="module")
def hardware():
    """At 300 MHz, each channel with 4 bytes a cycle."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(WIDE.channels)]
    return schedule_block(CONFIG, WIDE, BLOCK).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )


def assert_speaks(module, weights, expected, wide: Wide, block: Block, steps) -> None:
    """Steps of so many tokens, one after the other, each with the logits of its last token."""
    memories = make_block_memories(weights, wide, block)
    at = 0
    for count in steps:
        got = feed(module, weights, block, memories, TOKENS[at : at + count], at)
        at += count
        assert np.array_equal(got.view(np.uint32), expected[at - 1].view(np.uint32)), at


@pytest.mark.parametrize(
    ("config", "wide", "block"),
    [
        (CONFIG, WIDE, BLOCK),
        pytest.param(
            CONFIG,
            dataclasses.replace(WIDE, channels=8),
            Block(rows=1, tokens=2, most=12, norms=1),
            marks=pytest.mark.slow,
        ),
        (GROUPS, dataclasses.replace(WIDE, heads=1), Block(rows=3, tokens=6, most=12, norms=4)),
    ],
    ids=["two", "one", "three"],
)
def test_prompts_on_the_cpu_in_steps_of_any_size(config, wide: Wide, block: Block):
    """Rows that divide nothing, blocks that are not full; and what the schedule says of memories holds."""
    weights = random_weights(config, seed=7)
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    module = schedule_block(config, wide, block).build(target="simulator", check_dependences=True)
    for steps in ([12], [1, 1, 5, 4], [7, 1, 3]):
        assert_speaks(module, weights, expected, wide, block, steps)


def test_prompts_of_the_hardware_in_steps_of_any_size(weights, expected, hardware):
    for steps in ([12], [6, 1, 4]):
        assert_speaks(hardware, weights, expected, WIDE, BLOCK, steps)


def test_loops_start_an_iteration_a_cycle_at_300_mhz(hardware):
    """All innermost loops but what collects the results of the heads, which come seldom."""
    found = [loop for function in hardware.report.functions for loop in _innermost(function.loops)]
    asked = [loop for loop in found if loop.ii and not loop.name.endswith("turn")]
    assert len(asked) >= 20
    assert {loop.name: loop.ii for loop in asked if loop.ii != 1} == {}


def _innermost(loops) -> list:
    return [one for loop in loops for one in (_innermost(loop.children) or [loop])]


@pytest.mark.values_elsewhere("bytes alone")
@pytest.mark.parametrize(("count", "blocks"), [(1, 1), (4, 1), (5, 2), (12, 3)])
def test_a_weight_is_read_once_a_block(weights, hardware, count: int, blocks: int):
    memories = make_block_memories(weights, WIDE, BLOCK)
    feed(hardware, weights, BLOCK, memories, TOKENS[:count])
    jobs, logits = job_words(CONFIG, WIDE)
    words = CONFIG.layers * sum(jobs) * blocks + logits
    moved = sum(c.bytes for c in hardware.traffic.channels.values())
    assert moved == WIDE.channels * WIDE.lanes * words


@pytest.mark.values_elsewhere("cycles alone")
@pytest.mark.parametrize("channel", [Channel(4, 33), IDEAL], ids=["hbm", "ideal"])
def test_cycles_are_foretold_from_the_report(weights, hardware, channel: Channel):
    module = hardware if channel is not IDEAL else hardware.variant(memory=None)
    for count, start in ((1, 9), (4, 0), (8, 0), (12, 0)):
        memories = make_block_memories(weights, WIDE, BLOCK)
        feed(module, weights, BLOCK, memories, TOKENS[:count], start if count == 1 else 0)
        foretold = predict_block_step(hardware.report, CONFIG, WIDE, BLOCK, count, start, channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


@pytest.mark.parametrize(
    ("wide", "block", "message"),
    [
        ({}, {"rows": 3}, "The 3 rows do not divide the tokens of a block, 4."),
        ({"channels": 32}, {}, "The 32 channels do not divide the width of a head, 16."),
        ({"bits": 4}, {}, "Blocks of tokens take weights of 8 bits, and not of 4."),
        ({}, {"most": 17}, "A step of 17 tokens does not fit the context of 16."),
        ({}, {"norms": 3}, "The wide accelerator has 3 units of norms, which is no power of two."),
        ({"vector": 8}, {}, "The 8 elements of a vector do not divide the channels, 4."),
    ],
    ids=["rows", "channels", "bits", "most", "norms", "vector"],
)
def test_blocks_that_do_not_fit_are_refused(wide, block, message: str):
    with pytest.raises(WidthError) as error:
        check_block(CONFIG, dataclasses.replace(WIDE, **wide), dataclasses.replace(BLOCK, **block))
    assert error.value.args[0] == message


@pytest.mark.parametrize(
    ("tokens", "start", "message"),
    [
        ([1, 30], 0, "The token 30 is not one of the 30 of the model."),
        ([], 0, "A step of 0 tokens is asked for, and this accelerator takes 1 to 12."),
        ([1] * 13, 0, "A step of 13 tokens is asked for, and this accelerator takes 1 to 12."),
        ([1, 2], 15, "The positions 15 to 16 are not all among the 16 of the model."),
    ],
    ids=["token", "none", "many", "cache"],
)
def test_steps_that_do_not_fit_are_refused(weights, tokens, start: int, message: str):
    ran: list[object] = []
    with pytest.raises(PositionError) as error:
        feed(lambda *given: ran.append(given), weights, BLOCK, None, np.array(tokens), start)
    assert error.value.args[0] == message
    assert not ran
