"""LLaMA and OPT in blocks of tokens: prompts and the tokens behind them have the logits of the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allo
from allo.backend.sim import MemoryChannel, PerBank
from allo.customize import Schedule
from allo.designs.llm.checkpoints.integer_model import activate
from allo.designs.llm.config import LINEARS, Architecture
from allo.designs.llm.network.reference import round_clamp
from allo.designs.llm.wide.block import gated, rotary
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_block_step
from allo.designs.llm.wide.block.host import feed, make_block_memories
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.cycles import IDEAL, Channel
from allo.designs.llm.wide.memories import words_of
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

LLAMA = Architecture(
    family="llama", layers=2, d=64, heads=8, kv_heads=4, head_dim=8, ffn=96, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 8, 2) / 8)).tolist()),
)  # fmt: skip
QWEN2 = dataclasses.replace(LLAMA, family="qwen2", biases=("q", "k", "v"), rotary=LLAMA.rotary[:3])
"""With the biases of Qwen2, and 6 of the 8 elements of a head turned."""
OPT = Architecture(
    family="opt", layers=2, d=64, heads=4, kv_heads=4, head_dim=16, ffn=128, context=16, vocab=30,
    activation="relu", eps=1e-5, biases=LINEARS,
)  # fmt: skip
WIDE = Wide(channels=8, lanes=8, vector=4, heads=2, prefetch=512, gelu_interval=1)
BLOCK = Block(rows=2, tokens=4, most=12, norms=2)
TOKENS = np.array([3, 29, 0, 17, 17, 5, 9, 1, 2, 11, 4, 8, 8, 6], np.int32)


@pytest.fixture(scope="module")
def hardware():
    """LLaMA at 300 MHz, each channel with 4 bytes a cycle."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(WIDE.channels)]
    return schedule_block(LLAMA, WIDE, BLOCK).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )


def int_bits(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint32)


def test_queries_and_keys_of_every_token_are_turned():
    """Seven tokens in blocks of four and three, by groups of 8 outputs; a head has two groups."""
    hd, v, group, layers, tokens, context = 16, 4, 8, 2, 7, 12
    rng = np.random.default_rng(0)
    results = rng.normal(0, 40, (layers, tokens, 4, hd)).astype(np.float32)
    cosine, sine = np.moveaxis(rng.normal(0, 1, (context, hd // 2, 2)), -1, 0).astype(np.float32)
    low, high = results[:, :, :3, 0::2], results[:, :, :3, 1::2]
    places = np.array([5, 6, 7, 2, 3, 4, 11], np.int32)
    c, s = cosine[places, None], sine[places, None]
    expected = results.copy()
    expected[:, :, :3, 0::2], expected[:, :, :3, 1::2] = low * c - high * s, high * c + low * s

    def in_order(x: np.ndarray) -> np.ndarray:
        """Blocks of a layer, in each groups of outputs, and in each token by token."""
        blocks = [layer[a:b] for layer in x for a, b in ((0, 4), (4, 7))]
        groups = [b.reshape(len(b), -1, group).swapaxes(0, 1).reshape(-1) for b in blocks]
        return np.concatenate(groups).reshape(-1, v)

    rows = words_of(np.stack([cosine, sine], -1).reshape(-1), 32 * v)
    angles = words_of(np.zeros(tokens * hd, np.float32), 32 * v)
    take = allo.customize(rotary.take_angles, instantiate=[hd, v, context, tokens])
    built(rotary.schedule_take_angles(take))(rows, places, tokens, angles)
    turn = allo.customize(
        rotary.rotate_block, instantiate=[3 * hd, 4 * hd, hd, v, group, layers, 4, 12]
    )
    got = np.zeros((results.size // v, v), np.float32)
    built(rotary.schedule_rotate_block(turn))(in_order(results), angles, tokens, 2, got, layers)
    assert np.array_equal(int_bits(got), int_bits(in_order(expected)))


def test_gates_of_every_token_multiply():
    ffn, v, layers, tokens = 16, 4, 2, 3
    gates, others = (
        np.random.default_rng(1).normal(0, 3, (2, layers, tokens * ffn)).astype(np.float32)
    )
    factors = np.array([30, 50], np.float32)
    part = allo.customize(gated.part_block, instantiate=[2 * ffn, v, layers])
    parted = np.zeros((2, gates.size // v, v), np.float32)
    by_turns = np.stack([gates.reshape(-1, v), others.reshape(-1, v)], 1).reshape(-1, v)
    built(gated.schedule_part_block(part))(by_turns, tokens, *parted, layers)
    gate = allo.customize(gated.gate_block, instantiate=[ffn, v, layers])
    small = np.zeros(gates.size // v, np.uint32)
    built(gated.schedule_gate_block(gate, 4))(*parted, factors, tokens, small)
    expected = round_clamp(activate("silu", gates) * others * factors[:, None])
    assert np.array_equal(small.view(np.int8).reshape(expected.shape), expected)


def built(s: Schedule):
    return s.build(target="verilog", simulator="jit", clock_mhz=300)


def assert_speaks(module, model: Architecture, wide: Wide, block: Block, steps) -> None:
    """Steps of so many tokens, one after the other, each with the logits of its last token."""
    weights = random_weights(model, seed=7)
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    memories = make_block_memories(weights, wide, block)
    at = 0
    for count in steps:
        got = feed(module, weights, block, memories, TOKENS[at : at + count], at)
        at += count
        assert np.array_equal(got.view(np.uint32), expected[at - 1].view(np.uint32)), at


@pytest.mark.parametrize(
    ("model", "wide", "block"),
    [
        (LLAMA, WIDE, BLOCK),
        (QWEN2, dataclasses.replace(WIDE, heads=1), Block(rows=3, tokens=6, most=12, norms=4)),
        (OPT, dataclasses.replace(WIDE, heads=4), Block(rows=1, tokens=4, most=8, norms=1)),
    ],
    ids=["llama", "qwen2", "opt"],
)
def test_prompts_and_tokens_on_the_cpu(model: Architecture, wide: Wide, block: Block):
    """A prompt of one token, of a full block, of several; then tokens; and what memories are said to do."""
    module = schedule_block(model, wide, block).build(target="simulator", check_dependences=True)
    for steps in ([1, 1, 5, 4, 1], [block.tokens, 1], [block.most, 1, 1]):
        assert_speaks(module, model, wide, block, steps)


@pytest.mark.parametrize("steps", [[1, 1], [5, 1, 1], [4, 1], [12, 1, 1]])
def test_one_hardware_takes_prompts_in_blocks_and_tokens(hardware, steps: list[int]):
    assert_speaks(hardware, LLAMA, WIDE, BLOCK, steps)


def test_loops_of_llama_start_an_iteration_a_cycle_at_300_mhz(hardware):
    def innermost(loops) -> list:
        return [one for loop in loops for one in (innermost(loop.children) or [loop])]

    found = [loop for function in hardware.report.functions for loop in innermost(function.loops)]
    assert len(found) >= 20
    assert {loop.name: loop.ii for loop in found if loop.ii != 1} == {}


@pytest.mark.values_elsewhere("cycles alone")
@pytest.mark.parametrize("channel", [Channel(4, 33), IDEAL], ids=["hbm", "ideal"])
def test_cycles_of_llama_are_foretold(hardware, channel: Channel):
    module = hardware if channel is not IDEAL else hardware.variant(memory=None)
    weights = random_weights(LLAMA, seed=7)
    for count, start in ((1, 9), (4, 0), (5, 0), (12, 0), (4, 10)):
        memories = make_block_memories(weights, WIDE, BLOCK)
        feed(module, weights, BLOCK, memories, TOKENS[:count], start)
        foretold = predict_block_step(hardware.report, LLAMA, WIDE, BLOCK, count, start, channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


@pytest.mark.parametrize(
    ("model", "wide", "message"),
    [
        ({}, {"channels": 4}, "The 4 channels do not end 4 gates and as many elements that these multiply "
         "together."),
        ({}, {"heads": 8}, "The 8 heads at once do not divide the number of heads of keys and values, 4."),
        ({}, {"vector": 1}, "Rotary positions turn pairs, and a vector has 1 elements."),
        ({"windows": (0, 4)}, {}, "The accelerator for blocks does not have attention to a window of the "
         "last tokens alone, which this model of the family 'llama' has."),
    ],
    ids=["gates", "heads", "vector", "windows"],
)  # fmt: skip
def test_what_blocks_of_llama_do_not_have_is_refused(model: dict, wide: dict, message: str):
    with pytest.raises(WidthError) as error:
        check_block(dataclasses.replace(LLAMA, **model), dataclasses.replace(WIDE, **wide), BLOCK)
    assert error.value.args[0] == message
