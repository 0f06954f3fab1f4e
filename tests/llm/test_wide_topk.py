"""The largest logits, kept while they stream: alone, and behind the wide accelerator's logits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.language.sampling import Sampler, SamplingError
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.candidates.largest import largest
from allo.designs.llm.wide.candidates.topk import keep_largest, schedule_keep_largest
from allo.designs.llm.wide.cycles import predict_step
from allo.designs.llm.wide.host import decode, decode_top
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide, lists
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.ir.types import Stream, UInt, float32

V, K, WORDS, VOCAB = 4, 6, 10, 37
CONFIG = GPTConfig(layers=1, d=64, heads=4, ffn=128, context=16, vocab=29)
TOP = Wide(channels=4, lanes=32, vector=4, heads=2, prefetch=32, top=5)
TOKENS = np.array([3, 28, 0], np.int32)


def _drawn(kind: str) -> np.ndarray:
    """Logits of one kind, and what pads them: the largest of all, which do not count."""
    rng = np.random.default_rng(5)
    made = {
        "random": rng.normal(size=VOCAB),
        "ascending": np.arange(VOCAB) - 20.5,
        "descending": 7.0 - np.arange(VOCAB),
        "equal": np.full(VOCAB, -1.5),
        "few values": rng.integers(-3, 0, VOCAB),
        "zeros": np.where(rng.random(VOCAB) < 0.5, -0.0, 0.0) - (rng.random(VOCAB) < 0.8),
        "mostly nan": np.where(rng.random(VOCAB) < 0.9, np.nan, rng.normal(size=VOCAB)),
        "infinite": np.where(rng.random(VOCAB) < 0.9, -np.inf, np.nan),
    }
    return np.concatenate([made[kind], np.full(WORDS * V - VOCAB, 9e9)]).astype(np.float32)


KINDS = (
    "random", "ascending", "descending", "equal", "few values", "zeros", "mostly nan", "infinite",
)  # fmt: skip


@pytest.fixture(scope="module")
def hardware():
    """With one, two and four lists."""
    return {
        p: schedule_keep_largest(
            allo.customize(keep_largest, instantiate=[V, p, K, VOCAB, WORDS])
        ).build(target="verilog", simulator="jit", clock_mhz=300)
        for p in (1, 2, 4)
    }


def _matches(words: np.ndarray, logits: np.ndarray) -> bool:
    expected = largest(logits[:VOCAB], K)
    pairs = words.view(np.uint32).reshape(-1, 2)
    right = np.array_equal(pairs[:, 1], expected.tokens.view(np.uint32))
    return right and np.array_equal(pairs[:, 0], expected.logits.view(np.uint32))


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_are_kept_and_all_data_take_the_same_time(hardware, kind: str):
    logits = _drawn(kind)
    for count, module in hardware.items():
        words = np.zeros(K, np.uint64)
        module(logits.reshape(-1, V), words)
        assert _matches(words, logits), count
        assert module.cycles <= WORDS * V // count + count * K + 10


def test_every_loop_starts_an_iteration_a_cycle(hardware):
    for module in hardware.values():
        loops = [loop for function in module.report.functions for loop in function.loops]
        assert {loop.ii for loop in loops} == {1}
        assert len(loops) >= 2


def test_the_largest_on_the_cpu():
    @df.region()
    def alone(logits: float32[WORDS, V], kept: UInt(64)[K]):
        words: Stream[float32[V], 4]
        found: Stream[UInt(64), 4]

        @df.kernel(mapping=[1], args=[logits])
        def giving(memory: float32[WORDS, V]):
            for row in range(WORDS):
                block: float32[V]
                for v in range(V):
                    block[v] = memory[row, v]
                words.put(block)

        @df.kernel(mapping=[1])
        def ranking():
            keep_largest[V, 2, K, VOCAB, WORDS](words, found)

        @df.kernel(mapping=[1], args=[kept])
        def taking(memory: UInt(64)[K]):
            for place in range(K):
                memory[place] = found.get()

    module = df.build(alone, target="simulator")
    for kind in KINDS:
        logits, kept = _drawn(kind), np.zeros(K, np.uint64)
        module(logits.reshape(WORDS, V), kept)
        assert _matches(kept, logits), kind


@pytest.fixture(scope="module")
def weights():
    return random_weights(CONFIG, seed=7)


@pytest.mark.parametrize("target", ["simulator", "verilog"])
def test_candidates_of_the_accelerator_with_all_logits(weights, target: str):
    options = {"simulator": "jit", "clock_mhz": 300} if target == "verilog" else {}
    module = schedule(CONFIG, TOP).build(target=target, **options)
    memories = make_memories(weights, TOP)
    expected = WideGPT(weights, TOP).forward(TOKENS[None])[0]
    for position, token in enumerate(TOKENS):
        logits = decode(module, weights, memories, int(token), position)
        assert np.array_equal(logits.view(np.uint32), expected[position].view(np.uint32))
        found = decode_top(module, weights, memories, TOP, int(token), position)
        same = largest(logits, TOP.top)
        assert np.array_equal(found.tokens, same.tokens)
        assert np.array_equal(found.logits, same.logits)
    if target == "verilog":
        foretold = predict_step(module.report, CONFIG, TOP, position)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


def test_a_sampler_says_the_same_from_candidates_alone(weights):
    """An accelerator that writes no other logits, and a sampler that has seen all of them."""
    wide = dataclasses.replace(TOP, all_logits=False)
    module = schedule(CONFIG, wide).build(target="simulator")
    memories = make_memories(weights, wide)
    assert memories.logits.size == TOP.top
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    for seed in range(4):
        first, second = Sampler(5, 1.7, seed), Sampler(5, 1.7, seed)
        for position, token in enumerate(TOKENS):
            found = decode_top(module, weights, memories, wide, int(token), position)
            assert first.choose_among(found) == second.choose(expected[position])


def test_a_sampler_refuses_too_few_candidates():
    found = largest(np.arange(30, dtype=np.float32), 4)
    with pytest.raises(SamplingError, match="among 5 tokens, and 4 are given"):
        Sampler(5).choose_among(found)
    assert Sampler(40).choose_among(largest(np.zeros(4, np.float32), 40)) in range(4)


def test_lists_are_as_many_as_logits_end_in_a_cycle():
    large = GPTConfig(layers=1, d=1024, heads=16, ffn=4096, context=16, vocab=50_257)
    assert lists(large, Wide(top=20)) == 2
    assert lists(large, Wide(channels=2, lanes=16, top=20)) == 1
    assert lists(CONFIG, TOP) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"top": 30}, "The wide accelerator keeps the 30 largest of 29 logits."),
        ({"top": 0, "all_logits": False}, "The wide accelerator would write no logits at all."),
        ({"vector": 1}, "A logit and its token do not fit a word of one element."),
    ],
    ids=["vocabulary", "nothing", "vector"],
)
def test_numbers_of_candidates_that_do_not_fit_are_refused(changed, message: str):
    with pytest.raises(WidthError) as error:
        check_wide(CONFIG, dataclasses.replace(TOP, **changed))
    assert error.value.args[0] == message
