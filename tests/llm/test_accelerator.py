"""The transformer as hardware: it says what the reference says, in the cycles foretold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel
from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.check import check_accumulators
from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.cycles import predict_step
from allo.designs.llm.host import SequenceTooLongError
from allo.designs.llm.layout import ParallelismError
from allo.designs.llm.network.corpus import encode
from allo.designs.llm.network.gpt import init_params
from allo.designs.llm.network.quantize import calibrate, quantize
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights
from allo.errors import AlloError

PROMPT = encode("one day anna went to the")
SMALL = GPTConfig(layers=1, d=32, heads=2, ffn=64, context=24, vocab=32)


@pytest.fixture(scope="module")
def shipped():
    return load_weights(DATA / "char_gpt_w8a8.npz")


@pytest.fixture(scope="module")
def small():
    """An untrained model: its values are as wild as any."""
    params = init_params(SMALL, 3)
    tokens = np.random.default_rng(5).integers(0, SMALL.vocab, 400).astype(np.int32)
    return quantize(params, SMALL, calibrate(params, SMALL, tokens))


def test_the_simulator_says_what_the_reference_says(shipped):
    design = Design(observe=True)
    module = schedule(shipped.config, design).build(target="simulator")
    _, session = memories_and_session(shipped, design, module)
    said = list(PROMPT)
    for step in session.generate(PROMPT, 40):
        assert check_accumulators(session, shipped, np.array(said)).differing == ()
        said.append(step.token)
    assert said[len(PROMPT) :] == QuantizedGPT(shipped).generate(PROMPT, 40).tolist()


def test_hardware_says_what_the_reference_says_in_the_cycles_foretold(small):
    design = Design(lanes=4, block=4, prefetch=8, observe=True)
    module = schedule(SMALL, design).build(target="verilog", simulator="jit")
    _, session = memories_and_session(small, design, module)
    prompt = np.arange(6, dtype=np.int32)
    said = list(prompt)
    for step in session.generate(prompt, 8):
        assert check_accumulators(session, small, np.array(said)).differing == ()
        said.append(step.token)
    assert said[6:] == QuantizedGPT(small).generate(prompt, 8).tolist()
    assert [s.count for s in session.steps] == [4, 2, *[1] * 7]
    for step in session.steps:
        predicted = predict_step(module.report, SMALL, design, step.count, step.start)
        assert abs(predicted.cycles / step.cycles - 1) < 0.05


def test_csim_says_what_the_reference_says(small, tmp_path: Path):
    design = Design(lanes=4, block=4, prefetch=8)
    module = schedule(SMALL, design).build(
        target="vitis_hls", mode="csim", project=str(tmp_path / "llm")
    )
    _, session = memories_and_session(small, design, module)
    prompt = np.arange(6, dtype=np.int32)
    tokens = [step.token for step in session.generate(prompt, 5)]
    assert tokens == QuantizedGPT(small).generate(prompt, 5).tolist()


def decode_cycles(weights, design: Design, **options) -> tuple[int, float]:
    module = schedule(weights.config, design).build(target="verilog", simulator="jit", **options)
    _, session = memories_and_session(weights, design, module)
    session.position = 8
    session.feed(np.zeros(1, np.int32))
    channels = module.traffic.channels.values()
    return module.cycles, max((c.utilisation for c in channels), default=0.0)


@pytest.mark.slow
@pytest.mark.values_elsewhere("cycles alone")
def test_twice_the_multipliers_nearly_halve_the_cycles(shipped):
    slow, _ = decode_cycles(shipped, Design(lanes=2, block=1))
    fast, _ = decode_cycles(shipped, Design(lanes=4, block=1))
    assert slow / fast >= 1.7


@pytest.mark.values_elsewhere("bandwidth alone")
def test_at_the_memory_bound_the_weights_take_the_bandwidth(shipped):
    memory = {"weights": MemoryChannel("hbm", bytes_per_cycle=4, latency=40)}
    _, used = decode_cycles(shipped, Design(lanes=8, block=1, prefetch=512), memory=memory)
    assert used >= 0.8


def test_a_sequence_longer_than_the_cache_is_refused(small):
    ran = []
    design = Design(lanes=4, block=4)
    _, session = memories_and_session(small, design, lambda *arguments: ran.append(arguments))
    with pytest.raises(SequenceTooLongError) as error:
        list(session.generate(np.zeros(20, np.int32), 6))
    assert str(error.value) == (
        "A sequence of 25 tokens does not fit the KV cache of 24.\n"
        "help: shorten it to 24 more tokens, or build a design with a longer context."
    )
    assert not ran


def test_an_empty_prompt_is_refused(small):
    _, session = memories_and_session(small, Design(lanes=4, block=4), lambda *arguments: None)
    with pytest.raises(AlloError, match="The prompt is empty."):
        list(session.generate(np.zeros(0, np.int32), 3))


def test_lanes_that_do_not_divide_are_refused():
    with pytest.raises(
        ParallelismError, match="5 lanes do not divide the 96 outputs of 0.q/0.k/0.v"
    ):
        schedule(SMALL, Design(lanes=5, block=4, prefetch=8))
