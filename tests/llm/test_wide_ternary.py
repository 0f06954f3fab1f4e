"""The wide accelerator with ternary weights on the chip: logits of the reference, foretold cycles."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.analysis.data import Transformer, fpga
from allo.designs.llm.analysis.engine import Engine, words_of_layer, words_of_logits
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.devices.build import schedule as schedule_devices
from allo.designs.llm.devices.link import Pace
from allo.designs.llm.devices.memories import deal
from allo.designs.llm.devices.memories import logits_of as logits_of_devices
from allo.designs.llm.devices.parameters import Devices
from allo.designs.llm.ternary.capacity import CapacityError, Taken, fewest_devices
from allo.designs.llm.ternary.levels import TernaryError
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel, predict_step
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, channel_size, check_wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

CONFIG = GPTConfig(layers=1, d=32, heads=4, ffn=64, context=16, vocab=30)
TRITS = Wide(channels=2, trits=8, vector=4, heads=2, parts=4, weights="chip")
LLAMA = Architecture(
    family="llama", layers=1, d=32, heads=4, kv_heads=2, head_dim=8, ffn=64, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(), rotary=(1.0, 0.5, 0.2, 0.1),
)  # fmt: skip
TOKENS = np.array([3, 29, 0, 17, 17], np.int32)


def assert_speaks(module, config, wide: Wide) -> None:
    weights = random_weights(config, seed=7, ternary=True)
    memories = make_memories(weights, wide)
    expected = fill_cache(memories, weights, wide, TOKENS)
    got = decode(module, weights, memories, int(TOKENS[-1]), len(TOKENS) - 1)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("config", [CONFIG, LLAMA], ids=["gpt2", "llama"])
def test_logits_on_the_cpu_are_those_of_the_reference(config):
    """With words of 16 weights in 4 bytes, of which 4 weights are not used."""
    wide = dataclasses.replace(TRITS, trits=16)
    assert_speaks(schedule(config, wide).build(target="simulator"), config, wide)


def test_logits_of_the_hardware_are_those_of_the_reference_and_its_cycles_are_foretold():
    """Nothing that a channel gives matters to weights on the chip, and the elements have no multipliers."""
    wide = dataclasses.replace(TRITS, channels=1)
    module = schedule(CONFIG, wide).build(target="verilog", simulator="jit", clock_mhz=300)
    assert_speaks(module, CONFIG, wide)
    foretold = predict_step(module.report, CONFIG, wide, len(TOKENS) - 1, Channel(1, 33))
    assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)
    assert foretold.starved == 0
    element = next(f for f in module.report.functions if f.name == "multiply_trits")
    assert element.resources.get("dsp", 0) == 0
    assert [loop.ii for loop in element.loops[0].children] == [1, 1]


def test_ternary_weights_may_come_from_channels_that_are_waited_for():
    """A word of two bytes in two cycles."""
    wide = dataclasses.replace(TRITS, weights="channels", prefetch=32)
    channels = [MemoryChannel(f"hbm[{n}]", 1, latency=33) for n in range(wide.channels)]
    module = schedule(CONFIG, wide).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )
    assert_speaks(module, CONFIG, wide)


def test_logits_of_verilator_are_those_of_the_reference():
    module = schedule(CONFIG, TRITS).build(target="verilog", simulator="verilator", clock_mhz=300)
    assert_speaks(module, CONFIG, TRITS)


def test_a_channel_holds_five_weights_a_byte():
    config = GPTConfig(layers=1, d=1024, heads=16, ffn=4096, context=16, vocab=4096)
    wide = Wide(channels=128, trits=128, vector=32, heads=16, weights="chip")
    assert wide.word == 26
    assert channel_size(config, wide) == (12 + 4) * 1024 * 1024 // (128 * 128)


LARGE = GPTConfig(layers=24, d=1024, heads=16, ffn=4096, context=128, vocab=32_000)
FULL = Wide(channels=64, trits=128, vector=16, heads=8, weights="chip")


def test_the_equations_count_the_words_of_the_accelerator():
    model = Transformer("large", "Large", 24, 16, 1024, 4096, 128, 32_000)
    engine = Engine(channels=64, lanes=26, trits=128, vector=16, heads=8)
    words = 24 * sum(words_of_layer(model, engine)) + words_of_logits(model, engine)
    assert words == channel_size(LARGE, FULL)


def test_the_fewest_devices_hold_weights_keys_and_values():
    """8 layers and the logits are 16,288 words of 208 bits in each of 64 memories: 3 blocks wide, 4 deep.

    A unit keeps 16 heads of 128 keys of 512 bits for each of three sequences, 6,144 words: 8 blocks of 72
    bits wide and 12 of 512 words deep, for keys and for values.
    """
    card = fpga("u280")
    assert fewest_devices(LARGE, FULL, card) == Taken(3, 64 * 3 * 4, 2 * 8 * 2 * 8 * 12)
    assert fewest_devices(LARGE, FULL, card, sequences=1).bram18 == 2 * 8 * 2 * 8 * 4


def test_a_context_that_no_number_of_devices_holds_is_refused():
    endless = dataclasses.replace(LARGE, context=65_536)
    with pytest.raises(CapacityError) as error:
        fewest_devices(endless, FULL, fpga("u280"), sequences=1)
    assert error.value.args[0] == (
        "A device with one of the 24 layers takes 384 of 816 blocks of 288 kbit and 65,536 of 3,427 of 18 "
        "kbit of AMD Alveo U280."
    )


def test_devices_in_a_pipeline_say_what_one_says():
    """Two sequences in turns, each with keys and values of its own, on the CPU build."""
    config, devices = dataclasses.replace(CONFIG, layers=2), Devices(1, 2, 2, 2)
    wide = dataclasses.replace(TRITS, heads=1)
    weights = random_weights(config, seed=7, ternary=True)
    memories = deal(weights, wide, devices)
    module = schedule_devices(config, wide, devices, Pace(2, 12)).build(target="simulator")
    module(np.array([[3, 20]], np.int32), 0, *memories.arguments())
    sequences, expected = [[3], [20]], []
    for _ in range(devices.rounds):
        for sequence in sequences:
            expected.append(WideGPT(weights, wide).forward(np.array([sequence]))[0, -1])
            sequence.append(int(np.argmax(expected[-1])))
    got = logits_of_devices(memories, config.vocab, devices.steps)
    assert np.array_equal(got.view(np.uint32), np.array(expected).view(np.uint32))


def test_a_model_of_eight_bits_is_refused():
    with pytest.raises(TernaryError, match="is not ternary, which are -1, 0 and 1, and"):
        make_memories(random_weights(CONFIG, seed=7), TRITS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trits": 24}, "A word has 24 ternary weights, which is no power of two, or less than 4."),
        ({"trits": 64}, "The 64 ternary weights of a word do not divide the hidden width, 32."),
        ({"bits": 4}, "Ternary weights have no 4 bits."),
        ({"weights": "board"}, "The wide accelerator has no place called 'board' for weights."),
        (
            {"cache": "external"},
            "With weights on the chip, keys and values are not in 'external' memory.",
        ),
    ],
    ids=["trits", "width", "bits", "place", "cache"],
)
def test_what_does_not_fit_is_refused(changed: dict[str, object], message: str):
    with pytest.raises(WidthError) as error:
        check_wide(CONFIG, dataclasses.replace(TRITS, **changed))
    assert error.value.args[0] == message
