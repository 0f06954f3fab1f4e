"""BERT on the accelerator for blocks: hidden values of every token are those of the reference."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import calibrate, quantize
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.encoder_cycles import predict_encoding
from allo.designs.llm.wide.block.host import encode, feed, make_block_memories
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.cycles import IDEAL, Channel
from allo.designs.llm.wide.host import PositionError
from allo.designs.llm.wide.parameters import Wide, WidthError, channel_size
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

ORACLES = Path(__file__).parent / "checkpoints" / "oracles"
BERT = Architecture(
    family="bert", layers=2, d=64, heads=4, kv_heads=4, head_dim=16, ffn=128, context=16, vocab=30,
    activation="gelu", eps=1e-12, post_norm=True, causal=False, has_head=False,
)  # fmt: skip
GPT = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
WIDE = Wide(channels=4, lanes=8, vector=4, heads=2, prefetch=512, gelu_interval=1)
BLOCK = Block(rows=2, tokens=4, most=12, norms=2)
TOKENS = np.array([3, 29, 0, 17, 17, 5, 9, 1, 2, 11, 4, 8], np.int32)


@pytest.fixture(scope="module")
def weights():
    return random_weights(BERT, seed=7)


@pytest.fixture(scope="module")
def hardware():
    """At 300 MHz, each channel with 4 bytes a cycle."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(WIDE.channels)]
    return schedule_block(BERT, WIDE, BLOCK).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )


def assert_encodes(run, weights, wide: Wide, block: Block, tokens: np.ndarray) -> np.ndarray:
    """All hidden values of a sequence, bit for bit; which are given back."""
    memories = make_block_memories(weights, wide, block)
    got = encode(run, weights, block, memories, tokens)
    expected = WideGPT(weights, wide).feed(tokens[None])[0]
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))
    return got


def test_sequences_of_any_length_in_hardware(weights, hardware):
    """Full and partial blocks; and cycles within 2 % of what the report foretells."""
    for count in (12, 1, 7):
        assert_encodes(hardware, weights, WIDE, BLOCK, TOKENS[:count])
        foretold = predict_encoding(hardware.report, BERT, WIDE, BLOCK, count, Channel(4, 33))
        assert abs(foretold.cycles / hardware.cycles - 1) < 0.02, (foretold, hardware.cycles)


def test_every_token_sees_every_other(weights, hardware):
    """The last token changes what the first becomes, and is changed by it."""
    before = assert_encodes(hardware, weights, WIDE, BLOCK, TOKENS)
    for changed, seen in ((-1, 0), (0, -1)):
        tokens = TOKENS.copy()
        tokens[changed] = 20
        after = assert_encodes(hardware, weights, WIDE, BLOCK, tokens)
        assert (after[seen] != before[seen]).mean() > 0.9


def test_innermost_loops_start_an_iteration_a_cycle(hardware):
    def innermost(loops) -> list:
        return [one for loop in loops for one in (innermost(loop.children) or [loop])]

    found = [loop for function in hardware.report.functions for loop in innermost(function.loops)]
    assert {loop.name: loop.ii for loop in found if loop.ii and loop.ii != 1} == {}
    assert len(found) >= 20


@pytest.mark.slow
def test_a_checkpoint_goes_from_its_folder_to_hidden_values():
    """With the hidden values that `transformers` computed; heads of three units, three rows."""
    loaded = load_checkpoint(ORACLES / "bert")
    with np.load(ORACLES / "bert" / "oracle.npz") as oracle:
        tokens, values = oracle["tokens"], oracle["values"]
    model = quantize(loaded.model, loaded.params, calibrate(loaded.model, loaded.params, [tokens]))
    wide = Wide(channels=4, lanes=8, vector=4, heads=4, prefetch=64)
    block = Block(rows=3, tokens=9, most=20, norms=4)
    run = schedule_block(loaded.model, wide, block).build(
        target="simulator", check_dependences=True
    )
    for sequence, oracle_values in zip(tokens, values, strict=True):
        got = assert_encodes(run, model, wide, block, sequence)
        error = np.sqrt(np.square(got - oracle_values).mean()) / oracle_values.std()
        assert error < 0.06


@pytest.mark.slow
def test_verilator_gives_the_same_bits_in_the_same_cycles(weights, hardware):
    slow = schedule_block(BERT, WIDE, BLOCK).build(
        target="verilog", simulator="verilator", clock_mhz=300
    )
    ideal = hardware.variant(memory=None)
    for count in (12, 5):
        for module in (slow, ideal):
            assert_encodes(module, weights, WIDE, BLOCK, TOKENS[:count])
        assert slow.cycles == ideal.cycles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wide", "block", "within"),
    [
        (dataclasses.replace(WIDE, channels=8), Block(rows=1, tokens=2, most=12, norms=1), 0.1),
        (dataclasses.replace(WIDE, heads=1), Block(rows=3, tokens=12, most=12, norms=4), 0.03),
        (dataclasses.replace(WIDE, heads=4), Block(rows=4, tokens=4, most=16, norms=2), 0.03),
    ],
    ids=["one", "whole", "four"],
)
def test_other_parameters_in_hardware(weights, wide: Wide, block: Block, within: float):
    """A row alone, a block that holds the whole sequence, a unit for each head; cycles are foretold.

    Where one unit of norms serves blocks of two tokens, elements wait for sums, which is not foretold.
    """
    run = schedule_block(BERT, wide, block).build(target="verilog", simulator="jit", clock_mhz=300)
    for count in (12, 3):
        assert_encodes(run, weights, wide, block, TOKENS[:count])
        foretold = predict_encoding(run.report, BERT, wide, block, count, IDEAL)
        assert abs(foretold.cycles / run.cycles - 1) < within, (foretold, run.cycles)


def test_bert_base_has_the_words_of_its_weights():
    """By hand: 85 million weights in the layers of BERT-base, and none of logits."""
    base = dataclasses.replace(
        BERT,
        layers=12,
        d=768,
        heads=12,
        kv_heads=12,
        head_dim=64,
        ffn=3072,
        context=512,
        vocab=30_522,
    )
    wide = Wide(heads=12, gelu_interval=1)
    check_block(base, wide, Block(rows=4, tokens=32, most=128))
    assert channel_size(base, wide) * 32 * 64 == 12 * (4 * 768 * 768 + 2 * 768 * 3072)


@pytest.mark.parametrize(
    ("shape", "wide", "block", "message"),
    [
        ({}, {}, {"most": 17}, "A step of 17 tokens does not fit the context of 16."),
        ({}, {"heads": 3}, {}, "The 3 heads at once do not divide the number of heads, 4."),
        ({}, {"bits": 4}, {}, "Blocks of tokens take weights of 8 bits, and not of 4."),
        ({}, {"cache": "external"}, {}, "Blocks of tokens have no external place for keys and values."),
        ({}, {"top": 3}, {}, "Blocks of tokens do not rank logits, and the 3 largest are asked for."),
        ({"causal": True}, {}, {}, "The accelerator for blocks does not have norms behind the sums of a "
         "causal decoder, which this model of the family 'bert' has."),
        ({"rms": True}, {}, {}, "The accelerator for blocks does not have an encoder with shared keys, "
         "rotary positions, gates, or norms that subtract no mean, which this model of the family 'bert' "
         "has."),
    ],
    ids=["most", "heads", "bits", "cache", "top", "causal", "rms"],
)  # fmt: skip
def test_what_does_not_fit_is_refused(shape: dict, wide: dict, block: dict, message: str):
    with pytest.raises(WidthError) as error:
        check_block(
            dataclasses.replace(BERT, **shape),
            dataclasses.replace(WIDE, **wide),
            dataclasses.replace(BLOCK, **block),
        )
    assert error.value.args[0] == message


def test_sequences_that_do_not_fit_and_the_other_kind_of_model_are_refused(weights):
    ran: list[object] = []

    def refused(call, model, tokens) -> str:
        with pytest.raises(PositionError) as error:
            call(lambda *given: ran.append(given), model, BLOCK, None, np.array(tokens))
        return str(error.value)

    assert refused(encode, weights, [1] * 13) == (
        "A sequence of 13 tokens is given, and this accelerator takes 1 to 12.\nhelp: an encoder sees its "
        "sequence whole: build the accelerator with a larger most, at most the 16 tokens of the model's "
        "context."
    )
    assert refused(encode, weights, [1, 30]).startswith("The token 30 is not one of the 30")
    assert refused(feed, weights, [1]) == (
        "An encoder has no logits of a next token, and cannot be fed in parts.\n"
        "help: give its sequence whole to encode, which returns the hidden values of every token."
    )
    assert refused(encode, random_weights(GPT), [1]) == (
        "A model of the family 'gpt2' is a decoder, which gives logits.\nhelp: feed its tokens by feed."
    )
    assert not ran
