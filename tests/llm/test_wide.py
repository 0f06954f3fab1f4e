"""The wide accelerator whole: logits of the reference, cycles near those of the memory."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import IDEAL, Channel, predict_step
from allo.designs.llm.wide.host import PositionError, decode, fill_cache
from allo.designs.llm.wide.memories import channel_words, logits_of, make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide, padded_vocab
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
SMALL = Wide(channels=2, lanes=16, vector=4, heads=2, prefetch=512)
MORE_CHANNELS = Wide(channels=16, lanes=8, vector=8, heads=4, prefetch=32)
TOKENS = np.array([3, 29, 0, 17, 17], np.int32)


def logits(module, weights, wide: Wide, tokens: np.ndarray) -> np.ndarray:
    """What the design says after each token of a sequence, from an empty cache."""
    memories = make_memories(weights, wide)
    said = []
    for position, token in enumerate(tokens):
        module(int(token), position, *memories.arguments())
        said.append(logits_of(memories, weights.config))
    return np.array(said)


@pytest.fixture(scope="module")
def weights():
    return random_weights(CONFIG, seed=7)


@pytest.fixture(scope="module")
def hardware():
    """The small design at 300 MHz, each of its channels with 4 bytes a cycle."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(SMALL.channels)]
    return schedule(CONFIG, SMALL).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )


@pytest.mark.parametrize("wide", [SMALL, MORE_CHANNELS], ids=["vector", "channels"])
def test_logits_on_the_cpu_are_those_of_the_reference(weights, wide: Wide):
    """With fewer channels than elements of a vector, and with more."""
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    got = logits(schedule(CONFIG, wide).build(target="simulator"), weights, wide, TOKENS)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


def test_logits_of_the_hardware_are_those_of_the_reference(weights, hardware):
    expected = WideGPT(weights, SMALL).forward(TOKENS[None])[0]
    got = logits(hardware, weights, SMALL, TOKENS)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("count", [1, len(TOKENS)], ids=["nothing before", "four before"])
def test_a_cache_filled_from_the_reference_is_as_good(weights, hardware, count):
    memories = make_memories(weights, SMALL)
    expected = fill_cache(memories, weights, SMALL, TOKENS[:count])
    got = decode(hardware, weights, memories, int(TOKENS[count - 1]), count - 1)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


def test_loops_start_an_iteration_a_cycle_at_300_mhz(hardware):
    """All innermost loops but GELU, as asked for; loops over steps hold calls alone."""
    found = [loop for function in hardware.report.functions for loop in _innermost(function.loops)]
    others = {loop.name: loop.ii for loop in found if not loop.name.endswith(("turn", "step"))}
    assert len(others) >= 12
    slower = {name: ii for name, ii in others.items() if ii != 1}
    assert slower == {"S_layer_0.layer*out": SMALL.gelu_interval}


def _innermost(loops) -> list:
    return [one for loop in loops for one in (_innermost(loop.children) or [loop])]


@pytest.mark.values_elsewhere("bandwidth alone")
def test_slow_channels_are_never_idle(weights, hardware):
    """Elements that catch up, and a loader far ahead, leave the channels no pause."""
    memories = make_memories(weights, SMALL)
    decode(hardware, weights, memories, 1, 3)
    channels = hardware.traffic.channels.values()
    assert sum(c.bytes for c in channels) == memories.constant[0].nbytes
    assert min(c.utilisation for c in channels) >= 0.95


@pytest.mark.values_elsewhere("cycles alone")
@pytest.mark.parametrize("channel", [Channel(4, 33), IDEAL], ids=["hbm", "ideal"])
def test_cycles_are_foretold_from_the_report(weights, hardware, channel: Channel):
    """Where the memory is the limit, and where the jobs and the pauses between them are."""
    module = hardware if channel is not IDEAL else hardware.variant(memory=None)
    memories = make_memories(weights, SMALL)
    for position in (0, 9):
        decode(module, weights, memories, 1, position)
        foretold = predict_step(hardware.report, CONFIG, SMALL, position, channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


def test_channels_hold_their_outputs_one_after_the_other():
    weights = random_weights(CONFIG, seed=1)
    words = channel_words(weights, SMALL).view(np.int8).reshape(SMALL.channels, -1)
    q, head = weights.arrays["0.q.w"], weights.arrays["head.w"]
    for channel in range(SMALL.channels):
        assert np.array_equal(words[channel, :128], q[channel : channel + 3 : 2].reshape(-1))
    assert np.array_equal(words[1, -128:-64], head[29])
    assert not words[:, -64:].any()


def test_a_vocabulary_is_padded_to_whole_words():
    config = dataclasses.replace(CONFIG, vocab=50_257)
    assert padded_vocab(config, Wide(channels=32, vector=16)) == 50_272
    assert padded_vocab(config, SMALL) == 50_260


@pytest.mark.parametrize(
    ("wide", "message"),
    [
        ({"channels": 3}, "The wide accelerator has 3 channels, which is no power of two."),
        ({"lanes": 128}, "The 128 lanes do not divide the hidden width, 64."),
        ({"heads": 8}, "The 8 heads at once do not divide the number of heads, 4."),
        ({"vector": 32}, "The 32 elements of a vector do not divide the number of lanes, 16."),
        ({"prefetch": 0}, "The prefetch of the wide accelerator is 0."),
    ],
    ids=["power", "lanes", "heads", "vector", "prefetch"],
)
def test_parameters_that_do_not_fit_are_refused(wide: dict[str, int], message: str):
    with pytest.raises(WidthError) as error:
        check_wide(CONFIG, dataclasses.replace(SMALL, **wide))
    assert error.value.args[0].startswith(message)


def test_a_width_that_does_not_divide_names_the_nearest():
    with pytest.raises(WidthError, match="the largest power of two that does is 64"):
        check_wide(CONFIG, dataclasses.replace(SMALL, lanes=128))


@pytest.mark.parametrize(
    ("token", "position", "message"),
    [
        (30, 0, "The token 30 is not one of the 30 of the model."),
        (0, 16, "The position 16 is not one of the 16 of the model."),
    ],
)
def test_tokens_and_positions_out_of_range_are_refused(weights, token, position, message):
    ran = []
    with pytest.raises(PositionError) as error:
        decode(lambda *given: ran.append(given), weights, None, token, position)
    assert error.value.args[0].startswith(message)
    assert not ran
