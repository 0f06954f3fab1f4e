"""The accelerator for blocks whole: a prompt in steps of any size gives the logits of the reference.

So do several sequences in one step, and proposals that branch (:mod:`allo.designs.llm.wide.block.rows`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_block_step, predict_rows
from allo.designs.llm.wide.block.host import feed, make_block_memories, step
from allo.designs.llm.wide.block.parameters import Block, check_block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, beside, branching, check_rows, following
from allo.designs.llm.wide.cycles import IDEAL, Channel
from allo.designs.llm.wide.host import PositionError
from allo.designs.llm.wide.parameters import Wide, WidthError, job_words
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
GROUPS = Architecture(
    family="gpt2", layers=2, d=64, heads=8, kv_heads=4, head_dim=8, ffn=128, context=16, vocab=30,
    activation="gelu_tanh", eps=1e-5, biases=(),
)  # fmt: skip
"""Two queries share a head of keys and values, and no layer has a bias."""
WIDE = Wide(channels=4, lanes=8, vector=4, heads=2, prefetch=512, gelu_interval=1)
BLOCK = Block(rows=2, tokens=4, most=12, norms=2, spoken=4, slots=3)
TOKENS = np.array([3, 29, 0, 17, 17, 5, 9, 1, 2, 11, 4, 8], np.int32)


@pytest.fixture(scope="module")
def weights():
    return random_weights(CONFIG, seed=7)


@pytest.fixture(scope="module")
def expected(weights):
    """The logits after every token."""
    return WideGPT(weights, WIDE).forward(TOKENS[None])[0]


@pytest.fixture(scope="module")
def hardware():
    """At 300 MHz, each channel with 4 bytes a cycle."""
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(WIDE.channels)]
    return schedule_block(CONFIG, WIDE, BLOCK).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )


@pytest.fixture(scope="module", params=[0, 2])
def cpu(request):
    """With grouped queries; what the schedule says of memories is checked while it runs."""
    wide, block = (
        dataclasses.replace(WIDE, heads=1),
        dataclasses.replace(BLOCK, queries=request.param),
    )
    return schedule_block(GROUPS, wide, block).build(target="simulator", check_dependences=True)


def assert_speaks(module, weights, expected, wide: Wide, block: Block, steps) -> None:
    """Steps of so many tokens, one after the other, each with the logits of its last token."""
    memories = make_block_memories(weights, wide, block)
    at = 0
    for count in steps:
        got = feed(module, weights, block, memories, TOKENS[at : at + count], at)
        at += count
        assert np.array_equal(got.view(np.uint32), expected[at - 1].view(np.uint32)), at


@pytest.mark.parametrize(
    ("config", "wide", "block"),
    [
        (CONFIG, WIDE, BLOCK),
        pytest.param(
            CONFIG,
            dataclasses.replace(WIDE, channels=8),
            Block(rows=1, tokens=2, most=12, norms=1),
            marks=pytest.mark.slow,
        ),
        (GROUPS, dataclasses.replace(WIDE, heads=1), Block(rows=3, tokens=6, most=12, norms=4)),
        (CONFIG, dataclasses.replace(WIDE, lanes=12), dataclasses.replace(BLOCK, row_lanes=2)),
    ],
    ids=["two", "one", "three", "lanes"],
)
def test_prompts_on_the_cpu_in_steps_of_any_size(config, wide: Wide, block: Block):
    """Rows that divide nothing, blocks that are not full, words that an output fills in part.

    And what the schedule says of memories holds.
    """
    weights = random_weights(config, seed=7)
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    module = schedule_block(config, wide, block).build(target="simulator", check_dependences=True)
    for steps in ([12], [1, 1, 5, 4], [7, 1, 3]):
        assert_speaks(module, weights, expected, wide, block, steps)


def test_prompts_of_the_hardware_in_steps_of_any_size(weights, expected, hardware):
    for steps in ([12], [6, 1, 4]):
        assert_speaks(hardware, weights, expected, WIDE, BLOCK, steps)


def steps_of(module, weights, wide: Wide):
    """Steps of rows on a build with empty caches."""
    memories = make_block_memories(weights, wide, BLOCK)
    return lambda rows, spoken: step(module, weights, wide, BLOCK, memories, rows, spoken)


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    return np.array_equal(got.view(np.uint32), wanted.view(np.uint32))


def alone(weights, tokens) -> np.ndarray:
    """The logits after the last token of a sequence of its own."""
    return WideGPT(weights, WIDE).forward(np.array(tokens)[None])[0, -1]


def beside_each_other(take, weights, rounds: int, seed: int) -> bool:
    """Prompts in parts beside tokens of others, in random order, and new sequences where old ones were.

    Args:
        take: steps of rows.

    Returns:
        Whether the logits of every step are those of each sequence alone.
    """
    rng = np.random.default_rng(seed)
    texts: list[list[int]] = [[] for _ in range(BLOCK.slots)]
    equal = True
    for _ in range(rounds):
        parts = []
        for slot in rng.permutation(BLOCK.slots)[: rng.integers(1, BLOCK.slots + 1)]:
            if len(texts[slot]) > 11:
                texts[slot] = []
            start, count = len(texts[slot]), int(rng.choice([1, 1, 2, 4]))
            texts[slot] += rng.integers(0, CONFIG.vocab, count).tolist()
            parts.append(following(texts[slot][start:], start, int(slot)))
        rows = beside(parts)
        spoken = int(rng.integers(1, min(BLOCK.spoken, len(rows)) + 1))
        for row, got in zip(range(len(rows) - spoken, len(rows)), take(rows, spoken), strict=True):
            before = texts[rows.slots[row]][: rows.positions[row] + 1]
            equal &= same(got, alone(weights, before))
    return equal


def follows_branches(take, weights, seed: int) -> bool:
    """Trees behind a sequence, beside a token of another one, and branches that are fed again when taken."""
    rng = np.random.default_rng(seed)
    text, other = (rng.integers(0, CONFIG.vocab, 3).tolist() for _ in "ab")
    take(beside([following(text, 0, 2), following(other, 0, 0)]), 1)
    equal = True
    for size in (4, 3, 4):
        proposed = rng.integers(0, CONFIG.vocab, size).tolist()
        parents = [int(rng.integers(-1, row)) for row in range(size)]
        other += rng.integers(0, CONFIG.vocab, 1).tolist()
        tree = branching(proposed, parents, len(text), 2)
        got = take(beside([following(other[-1:], len(other) - 1, 0), tree]), size)
        paths: list[list[int]] = []
        for token, parent, logits in zip(proposed, parents, got, strict=True):
            paths.append([*(paths[parent] if parent >= 0 else []), token])
            equal &= same(logits, alone(weights, text + paths[-1]))
        taken = paths[int(rng.integers(size))]
        again = take(following(taken, len(text), 2), 1)
        text += taken
        equal &= same(again[0], alone(weights, text))
    return equal


def test_sequences_beside_each_other_on_the_cpu(cpu):
    weights, wide = random_weights(GROUPS, seed=7), dataclasses.replace(WIDE, heads=1)
    assert beside_each_other(steps_of(cpu, weights, wide), weights, 40, seed=1)
    for seed in range(5):
        assert follows_branches(steps_of(cpu, weights, wide), weights, seed)


def test_sequences_beside_each_other_in_hardware(weights, hardware):
    assert beside_each_other(steps_of(hardware, weights, WIDE), weights, 8, seed=1)
    assert follows_branches(steps_of(hardware, weights, WIDE), weights, seed=0)


def test_the_reference_of_rows_and_a_fault_in_what_rows_see(weights):
    """The other sequence's entries, and branches that are not left out, change logits."""

    def reference():
        return RowsGPT(weights, WIDE, BLOCK).step

    assert beside_each_other(reference(), weights, 40, seed=1)
    assert follows_branches(reference(), weights, seed=0)
    one, two = reference(), reference()
    mistaken = [
        lambda rows, spoken: one(dataclasses.replace(rows, slots=rows.slots * 0), spoken),
        lambda rows, spoken: two(
            dataclasses.replace(rows, sees=np.tril(rows.slots[:, None] == rows.slots)), spoken
        ),
    ]
    with pytest.raises(PositionError, match="do not agree how much of it was there"):
        beside_each_other(mistaken[0], weights, 40, seed=1)
    assert not follows_branches(mistaken[1], weights, seed=0)


def test_loops_start_an_iteration_a_cycle_at_300_mhz(hardware):
    """All innermost loops but what collects the results of the heads, which come seldom."""
    found = [loop for function in hardware.report.functions for loop in _innermost(function.loops)]
    asked = [loop for loop in found if loop.ii and not loop.name.endswith("turn")]
    assert len(asked) >= 20
    assert {loop.name: loop.ii for loop in asked if loop.ii != 1} == {}


def _innermost(loops) -> list:
    return [one for loop in loops for one in (_innermost(loop.children) or [loop])]


@pytest.mark.values_elsewhere("bytes alone")
@pytest.mark.parametrize(("count", "blocks"), [(1, 1), (4, 1), (5, 2), (12, 3)])
def test_a_weight_is_read_once_a_block(weights, hardware, count: int, blocks: int):
    memories = make_block_memories(weights, WIDE, BLOCK)
    feed(hardware, weights, BLOCK, memories, TOKENS[:count])
    jobs, logits = job_words(CONFIG, WIDE)
    words = CONFIG.layers * sum(jobs) * blocks + logits
    moved = sum(c.bytes for c in hardware.traffic.channels.values())
    assert moved == WIDE.channels * WIDE.lanes * words


@pytest.mark.values_elsewhere("cycles alone")
@pytest.mark.parametrize("channel", [Channel(4, 33), IDEAL], ids=["hbm", "ideal"])
def test_cycles_are_foretold_from_the_report(weights, hardware, channel: Channel):
    module = hardware if channel is not IDEAL else hardware.variant(memory=None)
    for count, start in ((1, 9), (4, 0), (8, 0), (12, 0)):
        memories = make_block_memories(weights, WIDE, BLOCK)
        feed(module, weights, BLOCK, memories, TOKENS[:count], start if count == 1 else 0)
        foretold = predict_block_step(hardware.report, CONFIG, WIDE, BLOCK, count, start, channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)
    for lengths in ((9, 5, 15), (14, 14)):
        memories = make_block_memories(weights, WIDE, BLOCK)
        batch = [following([token], at, token) for token, at in enumerate(lengths)]
        rows, seen = beside(batch), [at + 1 for at in lengths]
        step(module, weights, WIDE, BLOCK, memories, rows, len(seen))
        foretold = predict_rows(hardware.report, CONFIG, WIDE, BLOCK, seen, len(seen), channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


@pytest.mark.parametrize(
    ("wide", "block", "message"),
    [
        ({}, {"rows": 3}, "The 3 rows do not divide the tokens of a block, 4."),
        ({"channels": 32}, {}, "The 32 channels do not divide the width of a head, 16."),
        ({"bits": 4}, {}, "Blocks of tokens take weights of 8 bits, and not of 4."),
        ({}, {"most": 49}, "A step of 49 tokens does not fit the context of 16 of 3 sequences."),
        ({}, {"norms": 3}, "The wide accelerator has 3 units of norms, which is no power of two."),
        ({}, {"spoken": 5}, "Logits after 5 tokens are asked for, and a block has 4."),
        ({"vector": 8}, {}, "The 8 elements of a vector do not divide the channels, 4."),
        ({"lanes": 10}, {}, "The 4 elements of a vector do not divide the number of lanes, 10."),
        (
            {},
            {"row_lanes": 4},
            "The 4 lanes of rows are no power of two that divides the 2 rows of an element.",
        ),
        ({}, {"queries": 3}, "The queries of 3 tokens are to meet a key together."),
        ({}, {"row_lanes": 2, "norms": 4}, "There are 4 units of norms for 2 lanes of rows."),
    ],
    ids=[
        "rows",
        "channels",
        "bits",
        "most",
        "norms",
        "spoken",
        "vector",
        "word",
        "lanes",
        "queries",
        "units",
    ],
)
def test_blocks_that_do_not_fit_are_refused(wide, block, message: str):
    with pytest.raises(WidthError) as error:
        check_block(CONFIG, dataclasses.replace(WIDE, **wide), dataclasses.replace(BLOCK, **block))
    assert error.value.args[0] == message


@pytest.mark.parametrize(
    ("tokens", "start", "message"),
    [
        ([1, 30], 0, "The token 30 is not one of the 30 of the model."),
        ([], 0, "A step of 0 tokens is asked for, and this accelerator takes 1 to 12."),
        ([1] * 13, 0, "A step of 13 tokens is asked for, and this accelerator takes 1 to 12."),
        ([1, 2], 15, "The positions 15 to 16 are not all among the 16 of the model."),
    ],
    ids=["token", "none", "many", "cache"],
)
def test_steps_that_do_not_fit_are_refused(weights, tokens, start: int, message: str):
    ran: list[object] = []
    with pytest.raises(PositionError) as error:
        feed(lambda *given: ran.append(given), weights, BLOCK, None, np.array(tokens), start)
    assert error.value.args[0] == message
    assert not ran


def changed(**arrays) -> Rows:
    """Four rows of a tree at position 3 of the second sequence, with other arrays."""
    rows = branching([1, 2, 3, 4], [-1, 0, 0, 2], 3, 1)
    return dataclasses.replace(rows, **{name: np.array(of) for name, of in arrays.items()})


@pytest.mark.parametrize(
    ("rows", "spoken", "message"),
    [
        (changed(), 5, "Logits after the last 5 of 4 tokens are asked for, and this accelerator gives "
         "those of 1 to 4."),
        (changed(slots=[3] * 4), 1, "The sequence 3 is not one of the 3 of the accelerator."),
        (changed(positions=[16] * 4), 1, "The position 16 is not one of the 16 of the model."),
        (changed(before=[3, 3, 3, 2]), 1,
         "Rows of one sequence do not agree how much of it was there before the step."),
        (changed(sees=np.ones((4, 4), bool)), 1,
         "A row does not see itself, or sees a later row or one of another sequence."),
    ],
    ids=["logits", "sequence", "position", "before", "later"],
)  # fmt: skip
def test_rows_that_do_not_fit_are_refused(rows: Rows, spoken: int, message: str):
    with pytest.raises(PositionError) as error:
        check_rows(rows, spoken, CONFIG, BLOCK)
    assert error.value.args[0] == message


def test_a_branch_leaves_out_what_is_near_alone():
    config, block = dataclasses.replace(CONFIG, context=64), dataclasses.replace(BLOCK, most=64)
    chain = [-1, -1, *range(1, 33)]
    check_rows(branching(range(29), chain[:29], 8), 1, config, block)
    with pytest.raises(PositionError) as error:
        check_rows(branching([1] * 34, chain, 8), 1, config, block)
    assert error.value.args[0] == (
        "Row 32 of a step is to leave out row 0, which is 32 entries before it in its cache."
    )
