"""The wide accelerator with everything in external memory: keys, values and tables beside the weights.

A unit takes two keys a cycle; of LLaMA, with both queries that share them, which are read once.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel, predict_step
from allo.designs.llm.wide.external.traffic import CACHE, TABLES, step_bytes
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
LLAMA = Architecture(
    family="llama", layers=2, d=64, heads=4, kv_heads=2, head_dim=16, ffn=96, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 16, 2) / 16)).tolist()),
)  # fmt: skip
WIDE = Wide(
    channels=2,
    lanes=16,
    vector=4,
    heads=2,
    prefetch=512,
    cache="external",
    keys=2,
    cache_prefetch=16,
)
TOKENS = np.array([3, 29, 0, 17, 17], np.int32)
OUTSIDE = (*TABLES, *CACHE)
CHANNEL = Channel(4, 33)


@pytest.fixture(scope="module", params=[CONFIG, LLAMA], ids=["gpt2", "llama"])
def config(request):
    return request.param


@pytest.fixture(scope="module")
def weights(config):
    return random_weights(config, seed=7)


@pytest.fixture(scope="module")
def hardware(config):
    """Two channels of 4 bytes a cycle hold the weights, and the lines of all else in turn."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33, prefetch=8) for n in range(WIDE.channels)]
    memory = dict.fromkeys(OUTSIDE, channels) | {"weights": PerBank(channels)}
    return schedule(config, WIDE).build(
        target="verilog", simulator="jit", clock_mhz=300, memory=memory
    )


def assert_says(module, weights) -> None:
    """From an empty cache; new keys and values are written behind those read ahead."""
    memories, filled = make_memories(weights, WIDE), make_memories(weights, WIDE)
    expected = WideGPT(weights, WIDE).forward(TOKENS[None])[0]
    for position, token in enumerate(TOKENS):
        got = decode(module, weights, memories, int(token), position)
        assert np.array_equal(got.view(np.uint32), expected[position].view(np.uint32)), position
    fill_cache(filled, weights, WIDE, np.append(TOKENS, 0))
    assert np.array_equal(memories.keys, filled.keys)
    assert np.array_equal(memories.values, filled.values)


def test_logits_and_cache_on_the_cpu_are_those_of_the_reference(config, weights):
    assert_says(schedule(config, WIDE).build(target="simulator"), weights)


def test_logits_and_cache_of_the_hardware_are_those_of_the_reference(weights, hardware):
    assert_says(hardware, weights)


@pytest.mark.values_elsewhere("cycles alone")
def test_cycles_are_foretold_and_all_bytes_counted(config, weights, hardware):
    memories = make_memories(weights, WIDE)
    for position in (0, 1, 8, 14):
        decode(hardware, weights, memories, 1, position)
        foretold = predict_step(hardware.report, config, WIDE, position, CHANNEL, OUTSIDE)
        assert abs(foretold.cycles / hardware.cycles - 1) < 0.03, (foretold, hardware.cycles)
        moved = sum(channel.bytes for channel in hardware.traffic.channels.values())
        counted = sum(step_bytes(config, WIDE, position).values())
        assert counted <= moved <= 1.1 * counted


def test_loops_start_an_iteration_a_cycle_at_300_mhz(hardware):
    found = [
        loop
        for function in hardware.report.functions
        if function.name.startswith(
            ("keep", "score_ahead", "weigh_ahead", "mix_ahead", "collecting")
        )
        for loop in _innermost(function.loops)
    ]
    assert {loop.ii for loop in found} == {1}
    assert {"old", "head", "hk", "hv", "key", "query"} <= {
        loop.name.split("*")[-1].split(".")[-1] for loop in found
    }


def _innermost(loops) -> list:
    return [one for loop in loops for one in (_innermost(loop.children) or [loop])]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cache": "disk"}, "The wide accelerator has no place called 'disk' for keys and values."),
        ({"cache_prefetch": 0}, "The cache_prefetch of the wide accelerator is 0."),
        (
            {"cache": "chip"},
            "A unit takes one key a cycle from the memories of the chip, and not 2.",
        ),
    ],
    ids=["place", "prefetch", "keys"],
)
def test_places_that_do_not_exist_are_refused(changed, message: str):
    with pytest.raises(WidthError) as error:
        check_wide(CONFIG, dataclasses.replace(WIDE, **changed))
    assert error.value.args[0] == message
