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
from allo.designs.llm.wide.block.shared import heads
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


def plans(mask: int) -> np.ndarray:
    """What a unit is told of the block."""
    size = 64 + TOGETHER * (MASK + 1)
    words = [H * sum(PLACES[end - 1] + 1 for _, end in PASSES) - 1]
    for head, token in itertools.product(range(H), range(B)):
        words.append(head * ROOM + BASES[token] | PLACES[token] << 32)
    for head, (first, end) in itertools.product(range(H), PASSES):
        top, row = PLACES[end - 1], head * (B // TOGETHER) + first // TOGETHER
        word = head * ROOM + BASES[first] | top << 32 | row << 48
        for token in range(first, end):
            own = (1 << MASK) - (1 << 32) | (mask if token == 1 else (1 << 32) - 1)
            sight = (own << (top - PLACES[token])) & ((1 << MASK) - 1) | 1 << MASK
            word |= sight << (64 + (MASK + 1) * (token % TOGETHER))
        words.append(word)
    padded = -(-size // 8)
    flat = np.frombuffer(b"".join(word.to_bytes(padded, "little") for word in words), np.uint8)
    return words_of(flat.copy(), 8 * padded)


@pytest.fixture(scope="module")
def units() -> Units:
    """What scores and what mixes."""
    sizes = [HD, H, GROUP, ROOM, 1, 1, B, TOGETHER]
    score = allo.customize(heads.score_shared, instantiate=[*sizes, TOGETHER.bit_length() - 1])
    mix = allo.customize(heads.mix_shared, instantiate=sizes)
    return hardware(heads.schedule_score_shared(score)), hardware(heads.schedule_mix_shared(mix))


def run(units: Units, mask: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the weighted values of each head, token and query, and of the weights; in hardware."""
    score, mix = units
    rng = np.random.default_rng(3)
    k, v = rng.integers(-127, 128, (2, H, ROOM, HD)).astype(np.int8)
    q = rng.integers(-127, 128, (H, GROUP, B, HD)).astype(np.int8)
    rows = [base + place for base, place in zip(BASES, PLACES, strict=True)]
    asked = np.concatenate([q.reshape(-1), k[:, rows].reshape(-1)])
    held = [array.copy() for array in (k, v)]
    for array in held:
        array[:, rows] = 0
    keys, values = (words_of(array.reshape(-1, HD), 8 * HD)[:, 0].copy() for array in held)
    scanned = H * sum(PLACES[end - 1] + 1 for _, end in PASSES)
    scores = np.zeros((scanned, LANES), np.int32)
    peaks = np.zeros((H * len(PASSES), LANES), np.int32)
    told = plans(mask)
    new = words_of(v[:, rows].reshape(-1), 8 * HD)
    queries = words_of(asked, 8 * HD)
    score(queries, told, B, 1, keys, scores, peaks, 1)
    size = 32 * (HD + 1) * LANES + TOGETHER
    flat = np.zeros((H * len(PASSES), -(-size // 8)), np.uint8)
    passes = words_of(flat.reshape(-1), 8 * flat.shape[1])
    mix(new, told, scores, peaks, B, 1, np.array([FACTOR]), values, passes, 1, 0)
    assert np.array_equal(keys.view(np.int8).reshape(k.shape)[:, rows], k[:, rows])
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
