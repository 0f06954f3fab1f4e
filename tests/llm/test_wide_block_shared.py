"""Attention of blocks whose queries share a key: the kernels alone, in hardware, beside NumPy."""

from __future__ import annotations

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import allo
from allo import bitexact
from allo.backend.sim import RTLModule
from allo.customize import Schedule
from allo.designs.llm.network.reference import round_clamp
from allo.designs.llm.stage import Loops
from allo.designs.llm.wide.block.cycles import Step
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.shared import heads, kept
from allo.designs.llm.wide.cycles import IDEAL, Channel, _Fifo
from allo.designs.llm.wide.memories import words_of
from allo.designs.llm.wide.parameters import Wide
from benchmarks.llm_batch import LLAMA, simulated

HD, H, GROUP, TOGETHER, ROOM, B = 8, 2, 2, 2, 24, 4
LANES, MASK = GROUP * TOGETHER, 31 + TOGETHER
BASES, PLACES = [0, 0, 12, 0], [4, 5, 3, 6]
"""Two tokens of a sequence, one of another, and one more of the first."""
PASSES = [(0, 2), (2, 3), (3, 4)]
BLIND = (1 << 32) - 1 - 2
"""The second token does not see the first, which is the entry just before its own."""
FACTOR = np.float32(3e-3)


Units = tuple[RTLModule, RTLModule]


def hardware(s: Schedule) -> RTLModule:
    """At 300 MHz, in the in-process engine."""
    return s.build(target="verilog", simulator="jit", clock_mhz=300)


def seen_by(pass_of: tuple[int, int]) -> int:
    """Keys that a pass over the tokens of a sequence scans."""
    return PLACES[pass_of[1] - 1] + 1


def plans(mask: int) -> np.ndarray:
    """What a unit is told of the block."""
    size = 32 + TOGETHER * (MASK + 1)
    words = [H * sum(map(seen_by, PASSES)) - 1]
    for head, (first, end) in itertools.product(range(H), PASSES):
        top, row = PLACES[end - 1], head * (B // TOGETHER) + first // TOGETHER
        word = top | row << 16
        for token in range(first, end):
            own = (1 << MASK) - (1 << 32) | (mask if token == 1 else (1 << 32) - 1)
            sight = (own << (top - PLACES[token])) & ((1 << MASK) - 1) | 1 << MASK
            word |= sight << (32 + (MASK + 1) * (token % TOGETHER))
        words.append(word)
    return packed(words, size)


def packed(words: list[int], size: int) -> np.ndarray:
    """Numbers as words of so many bits."""
    padded = -(-size // 8)
    flat = np.frombuffer(b"".join(word.to_bytes(padded, "little") for word in words), np.uint8)
    return words_of(flat.copy(), 8 * padded)


@pytest.fixture(scope="module")
def units() -> Units:
    """What scores and what mixes."""
    score = allo.customize(
        heads.score_shared,
        instantiate=[HD, H, GROUP, 1, B, TOGETHER, TOGETHER.bit_length() - 1],
    )
    mix = allo.customize(heads.mix_shared, instantiate=[HD, H, GROUP, 1, 1, B, TOGETHER])
    return hardware(heads.schedule_score_shared(score)), hardware(heads.schedule_mix_shared(mix))


def run(units: Units, mask: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the weighted values of each head, token and query, and of the weights; in hardware."""
    score, mix = units
    rng = np.random.default_rng(3)
    k, v = rng.integers(-127, 128, (2, H, ROOM, HD)).astype(np.int8)
    q = rng.integers(-127, 128, (H, GROUP, B, HD)).astype(np.int8)
    rows = [base + place for base, place in zip(BASES, PLACES, strict=True)]
    new_keys, new_values = (words_of(array[:, rows].reshape(-1), 8 * HD) for array in (k, v))
    keys, values = (
        words_of(
            np.concatenate(
                [
                    array[head, BASES[one[0]] : BASES[one[0]] + seen_by(one)]
                    for head, one in itertools.product(range(H), PASSES)
                ]
            ).reshape(-1),
            8 * HD,
        )
        for array in (k, v)
    )
    scores = np.zeros((len(keys), LANES), np.int32)
    peaks = np.zeros((H * len(PASSES), LANES), np.int32)
    told = plans(mask)
    queries = words_of(np.concatenate([q.reshape(-1), k[:, rows].reshape(-1)]), 8 * HD)
    handed = np.zeros_like(new_keys)
    score(queries, told, B, 1, handed, keys, scores, peaks, 1)
    assert np.array_equal(handed, new_keys)
    size = 32 * (HD + 1) * LANES + TOGETHER
    flat = np.zeros((H * len(PASSES), -(-size // 8)), np.uint8)
    passes = words_of(flat.reshape(-1), 8 * flat.shape[1])
    handed[...] = 0
    mix(new_values, told, scores, peaks, B, 1, np.array([FACTOR]), handed, values, passes, 1, 0)
    assert np.array_equal(handed, new_values)
    flat = passes.view(np.uint8).reshape(flat.shape)
    sums = flat[:, : 4 * (HD + 1) * LANES].copy().view(np.int32)
    got = sums.reshape(H, len(PASSES), TOGETHER, GROUP, HD + 1)
    lived = flat[:, 4 * (HD + 1) * LANES].reshape(H, len(PASSES))
    found = [
        got[:, turn, token % TOGETHER]
        for turn, (first, end) in enumerate(PASSES)
        for token in range(first, end)
    ]
    for turn, (first, end) in enumerate(PASSES):
        assert (lived[:, turn] == sum(1 << token % TOGETHER for token in range(first, end))).all()
    return np.stack(found, 1), expected(k, v, q, mask)


def expected(k: np.ndarray, v: np.ndarray, q: np.ndarray, mask: int) -> np.ndarray:
    """The same in NumPy, (heads, tokens, queries, sums and their weights)."""
    wanted = np.zeros((H, B, GROUP, HD + 1), np.int64)
    for head, token, of in itertools.product(range(H), range(B), range(GROUP)):
        seen = slice(BASES[token], BASES[token] + PLACES[token] + 1)
        sees = np.ones(PLACES[token] + 1, bool)
        if token == 1 and not mask & 2:
            sees[-2] = False
        dots = k[head, seen].astype(int) @ q[head, of, token].astype(int)
        below = (dots - dots[sees].max()).astype(np.float32)
        levels = round_clamp(bitexact.exp(below * FACTOR) * np.float32(255), 0, 255)
        levels = np.where(sees, levels, 0)
        wanted[head, token, of] = [*(levels @ v[head, seen].astype(int)), levels.sum()]
    return wanted


@pytest.mark.parametrize("mask", [(1 << 32) - 1, BLIND], ids=["all", "branch"])
def test_tokens_of_a_pass_see_their_own_keys(units: Units, mask: int):
    got, wanted = run(units, mask)
    assert np.array_equal(got, wanted)


def test_new_keys_are_kept_before_the_passes_are_read():
    """A token that ends no pass is told a run of no words; a run costs three cycles beside its words."""
    s = kept.schedule_keep_shared(
        allo.customize(kept.keep_shared, instantiate=[HD, H, ROOM, 1, 1, B])
    )
    keep = hardware(s)
    new = np.arange(1000, 1000 + H * B, dtype=np.uint64)
    rows = [head * ROOM + b + at for head in range(H) for b, at in zip(BASES, PLACES, strict=True)]
    read = [
        (head * ROOM + BASES[first], seen_by((first, end)) if token == end - 1 else 0)
        for head, (first, end) in itertools.product(range(H), PASSES)
        for token in range(first, end)
    ]
    memory = np.arange(H * ROOM, dtype=np.uint64)
    wanted = memory.copy()
    wanted[rows] = new
    words = [wanted[begin : begin + size] for begin, size in read]
    got = np.zeros(sum(map(len, words)), np.uint64)
    runs = packed([row | 1 << 32 for row in rows] + [at | size << 32 for at, size in read], 64)
    keep(new, runs.view(np.uint64), B, 1, memory, got, 1)
    assert np.array_equal(memory, wanted)
    assert np.array_equal(got, np.concatenate(words))
    assert keep.cycles == 3 * H * B + len(got) + 3 * H * B + 7


def test_keys_come_as_their_memory_gives_them():
    """100 keys of a line each, two cycles a line, behind the ten cycles of the first less its own two."""
    loops, fifo = Loops(SimpleNamespace(functions=())), _Fifo(1.0, 4)
    step = Step(LLAMA, Wide(), Block(), loops, [], 0, [], fifo, Channel(32, 10, 4))
    assert step.scan(100) == 208
    assert dataclasses.replace(step, kept=IDEAL).scan(100) == 100


def test_a_batch_on_channels_that_caches_share_is_foretold():
    """A narrow LLaMA with one and eight sequences, all logits equal, within 3 %."""
    rows = simulated(8, 255)
    assert [row.held for row in rows] == [True, True], rows
