"""The wide accelerator with weights of four bits: the same logits from half the words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import IDEAL, Channel, predict_step
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.nibble_words import NibbleError
from allo.designs.llm.wide.parameters import Wide, WidthError, channel_size, check_wide
from allo.designs.llm.wide.random_weights import random_weights

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
FOUR = Wide(channels=2, lanes=16, vector=4, heads=2, prefetch=512, bits=4)
NARROW = Wide(channels=8, lanes=4, vector=4, heads=4, prefetch=32, bits=4)
TOKENS = np.array([3, 29, 0, 17, 17], np.int32)


@pytest.fixture(scope="module")
def weights():
    return random_weights(CONFIG, seed=7, bits=4)


@pytest.fixture(scope="module")
def hardware():
    """At 300 MHz, each channel with 4 bytes a cycle."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(FOUR.channels)]
    return schedule(CONFIG, FOUR).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )


def assert_speaks(module, weights, wide: Wide) -> None:
    memories = make_memories(weights, wide)
    expected = fill_cache(memories, weights, wide, TOKENS)
    got = decode(module, weights, memories, int(TOKENS[-1]), len(TOKENS) - 1)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


def test_logits_on_the_cpu_are_those_of_the_reference(weights):
    """With a word of steps for every four of weights, and jobs that end within one."""
    assert_speaks(schedule(CONFIG, NARROW).build(target="simulator"), weights, NARROW)


def test_logits_of_the_hardware_are_those_of_the_reference(weights, hardware):
    assert_speaks(hardware, weights, FOUR)


@pytest.mark.values_elsewhere("cycles alone")
@pytest.mark.parametrize("channel", [Channel(4, 33), IDEAL], ids=["hbm", "ideal"])
def test_cycles_are_foretold_from_the_report(weights, hardware, channel: Channel):
    module = hardware if channel is not IDEAL else hardware.variant(memory=None)
    memories = make_memories(weights, FOUR)
    for position in (0, 9):
        decode(module, weights, memories, 1, position)
        foretold = predict_step(hardware.report, CONFIG, FOUR, position, channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


def test_a_layer_takes_half_the_words_and_one_for_the_steps_of_as_many_as_a_word_has_bytes():
    config = GPTConfig(layers=1, d=1024, heads=16, ffn=4096, context=16, vocab=32)
    eight, four = (channel_size(config, Wide(bits=bits)) for bits in (8, 4))
    logits = 1024 // 64
    assert eight - logits == 6144
    assert four - logits == 3072 + 3072 // 64


def test_a_model_of_eight_bits_is_refused():
    with pytest.raises(NibbleError, match="do not fit four bits"):
        make_memories(random_weights(CONFIG, seed=7), FOUR)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bits": 5}, "The wide accelerator has weights of 5 bits."),
        (
            {"lanes": 64},
            "The 128 weights of four bits that 64 lanes take do not divide the hidden width, 64.",
        ),
    ],
    ids=["bits", "lanes"],
)
def test_bits_that_do_not_fit_are_refused(changed: dict[str, int], message: str):
    with pytest.raises(WidthError) as error:
        check_wide(CONFIG, dataclasses.replace(FOUR, **changed))
    assert error.value.args[0] == message
