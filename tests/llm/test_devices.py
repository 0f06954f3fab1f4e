"""Several devices: links that are exact, logits of one device, and models that cannot be shared."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.devices.build import schedule
from allo.designs.llm.devices.link import (
    AURORA_100G,
    SHORTEST,
    Link,
    LinkError,
    Pace,
    check_exact,
    pace_of,
)
from allo.designs.llm.devices.link_kernels import arrive, depart, pace
from allo.designs.llm.devices.memories import deal, logits_of
from allo.designs.llm.devices.parameters import DeviceError, Devices, share_of
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.ir.types import Stream, UInt, int32

CONFIG = GPTConfig(layers=2, d=32, heads=4, ffn=64, context=8, vocab=21)
WIDE = Wide(channels=2, lanes=8, vector=4, heads=1, prefetch=32, parts=4)
FOUR = dataclasses.replace(CONFIG, layers=4, d=64, ffn=128)
CLOCK_MHZ = 200
WORDS, CYCLES = 12, 200


def arrivals(speed: Pace | None, gap: int) -> np.ndarray:
    """The cycles in which words that are put every ``gap`` cycles come through a link, or through a FIFO."""
    N, BITS, SPAN, LINKED = WORDS, 64, WORDS * gap, speed is not None
    WAIT = speed.wait if speed else 0
    LINE = WAIT + 16

    @df.region()
    def link(a: UInt(BITS)[N], b: UInt(BITS)[N], got_at: int32[N]):
        out: Stream[UInt(BITS), N]
        into: Stream[UInt(BITS), N]

        @df.kernel(mapping=[1], args=[a])
        def send(x: UInt(BITS)[N]):
            pause: UInt(8) = 0
            k: UInt(8) = 0
            for now in range(SPAN):
                word: UInt(BITS) = x[k]
                if pause == 0:
                    with allo.meta_if(LINKED):
                        out.put(word)
                    with allo.meta_else():
                        into.put(word)
                k = k + 1 if pause == 0 else k
                pause = gap - 1 if pause == 0 else pause - 1

        with allo.meta_if(LINKED):
            paced: Stream[UInt(BITS + 1), 2]
            line: Stream[UInt(BITS + 2), LINE]

            @df.kernel(mapping=[1])
            def pacing():
                pace[BITS, N](out, paced)

            @df.kernel(mapping=[1])
            def departing():
                depart[BITS](paced, line)

            @df.kernel(mapping=[1])
            def arriving():
                arrive[BITS, WAIT](line, into)

        @df.kernel(mapping=[1], args=[b, got_at])
        def take(y: UInt(BITS)[N], when: int32[N]):
            k: UInt(8) = 0
            for now in range(CYCLES):
                word, ok = into.try_get()
                if ok:
                    y[k] = word
                    when[k] = now
                k += ok

    s = df.customize(link)
    loops = ["send_0:now", "take_0:now"]
    if speed:
        s.pipeline("pace:word", initiation_interval=speed.interval)
        loops += ["depart:tick", "arrive:tick"]
    for loop in loops:
        s.pipeline(loop)
    module = s.build(target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ)
    check_exact(module.report)
    # The processes of the test count cycles, too.
    assert all(
        loop.ii == 1
        for f in module.report.functions
        for loop in f.loops
        if loop.name.endswith("now")
    )
    sent = np.arange(1, WORDS + 1, dtype=np.uint64) << np.uint64(40)
    got, got_at = np.zeros_like(sent), np.zeros(WORDS, np.int32)
    module(sent, got, got_at)
    assert np.array_equal(got, sent)
    return got_at


@pytest.mark.parametrize("speed", [Pace(1, 33), Pace(3, 25), Pace(4, SHORTEST)])
def test_a_word_can_be_got_its_latency_after_it_was_put(speed: Pace):
    """Through a FIFO, it is one cycle."""
    gap = 5
    assert np.array_equal(arrivals(speed, gap) - arrivals(None, gap), [speed.latency - 1] * WORDS)


@pytest.mark.parametrize("interval", [2, 7])
def test_words_that_come_faster_leave_at_the_pace_of_the_link(interval: int):
    at = arrivals(Pace(interval, 20), 1)
    assert at[0] == arrivals(None, 1)[0] + 19
    assert np.array_equal(np.diff(at), [interval] * (WORDS - 1))


def decoded(module, weights, devices: Devices, wide: Wide) -> tuple[np.ndarray, np.ndarray]:
    """Logits and tokens of a run from empty caches, and what the reference of one device gives."""
    config = weights.config
    tokens = np.array([3, 20, 0, 17][: devices.sequences], np.int32)
    memories = deal(weights, wide, devices)
    module(np.tile(tokens, (devices.tensor, 1)), 0, *memories.arguments())
    model = WideGPT(weights, wide)
    sequences, expected = [[int(token)] for token in tokens], []
    for _ in range(devices.rounds):
        for sequence in sequences:
            expected.append(model.forward(np.array([sequence]))[0, -1])
            sequence.append(int(np.argmax(expected[-1])))
    assert list(memories.chosen) == [int(np.argmax(row)) for row in expected]
    return logits_of(memories, config.vocab, devices.steps), np.array(expected)


@pytest.mark.parametrize(
    "devices",
    [Devices(2, 1, 1, 2), pytest.param(Devices(1, 2, 2, 2), marks=pytest.mark.slow)],
    ids=["tensor", "pipeline"],
)
def test_logits_on_the_cpu_are_those_of_one_device(devices: Devices):
    weights = random_weights(CONFIG, seed=7)
    module = schedule(CONFIG, WIDE, devices, Pace(2, 12)).build(target="simulator")
    got, expected = decoded(module, weights, devices, WIDE)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


def test_a_pipeline_of_devices_takes_as_many_channels_as_elements_of_a_word():
    devices, wide = Devices(1, 2, 2, 2), dataclasses.replace(WIDE, channels=WIDE.vector)
    weights = random_weights(CONFIG, seed=11)
    module = schedule(CONFIG, wide, devices, Pace(2, 12)).build(target="simulator")
    got, expected = decoded(module, weights, devices, wide)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.slow
@pytest.mark.parametrize(
    "devices",
    [
        Devices(1, 2, 1, 2),
        Devices(1, 2, 2, 2),
        Devices(1, 4, 4, 2),
        Devices(2, 1, 1, 2),
        Devices(4, 1, 2, 2),
        Devices(2, 2, 2, 2),
    ],
    ids=lambda d: f"p1={d.tensor}-p2={d.pipeline}-{d.sequences}",
)
def test_logits_of_the_hardware_are_those_of_one_device(devices: Devices):
    weights = random_weights(FOUR, seed=7)
    module = schedule(FOUR, WIDE, devices, Pace(2, 40)).build(
        target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ
    )
    check_exact(module.report)
    got, expected = decoded(module, weights, devices, WIDE)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


def test_a_link_in_cycles_is_never_faster_than_the_link():
    assert pace_of(AURORA_100G, 200, 32) == Pace(1, 100)
    assert pace_of(AURORA_100G, 300, 64) == Pace(2, 150)
    assert pace_of(Link("slow", 1e9, 2e-6), 200, 64) == Pace(13, 400)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Link("cut", 0.0, 1e-6), "The link 'cut' has a bandwidth of 0 bytes a second."),
        (Link("early", 1e9, -1e-6), "The link 'early' has a latency of -1e-06 seconds."),
    ],
)
def test_a_link_that_carries_nothing_is_refused(link: Link, message: str):
    with pytest.raises(LinkError) as error:
        pace_of(link, 200, 32)
    assert error.value.args[0] == message


@pytest.mark.parametrize(
    ("config", "devices", "message"),
    [
        (CONFIG, Devices(1, 4), "The 4 stages of a pipeline do not divide the 2 layers."),
        (CONFIG, Devices(3, 1), "The 3 devices that share a layer do not divide the 4 heads."),
        (
            dataclasses.replace(CONFIG, ffn=66),
            Devices(4, 1),
            "The 4 devices that share a layer do not divide the 66 elements of the feed-forward layer.",
        ),
        (CONFIG, Devices(1, 1, 0), "There are 0 sequences of several devices."),
    ],
)
def test_a_model_that_cannot_be_shared_is_refused(config, devices: Devices, message: str):
    with pytest.raises(DeviceError) as error:
        share_of(config, WIDE, devices)
    assert error.value.args[0] == message


@pytest.mark.parametrize(
    ("wide", "message"),
    [
        ({"bits": 4}, "Several devices have weights of 8 bits, not of 4."),
        ({"cache": "external"}, "Several devices keep keys and values on the chip"),
    ],
)
def test_a_device_with_what_only_one_has_is_refused(wide: dict, message: str):
    with pytest.raises(DeviceError) as error:
        share_of(CONFIG, dataclasses.replace(WIDE, **wide), Devices(2, 1))
    assert error.value.args[0].startswith(message)


def test_a_device_too_wide_for_its_share_is_refused():
    with pytest.raises(
        WidthError, match="The 16 lanes do not divide the width of a share's heads, 8"
    ):
        share_of(CONFIG, dataclasses.replace(WIDE, lanes=16), Devices(4, 1))
