"""The wide accelerator whose channels hold weights, keys and values, and have one reader each."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.stage import Stage, build_stages
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel, predict_step
from allo.designs.llm.wide.external.attend import score_bits
from allo.designs.llm.wide.external.flow import Attention
from allo.designs.llm.wide.external.lines import lines_of
from allo.designs.llm.wide.external.nibble_cache import reference_of
from allo.designs.llm.wide.external.order import Ordered, Reader
from allo.designs.llm.wide.external.serve import (
    plan,
    schedule_plan,
    schedule_serve,
    schedule_sort,
    serve,
    sort,
)
from allo.designs.llm.wide.external.stages import weighing
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.designs.llm.wide.stages.sizes import sizes_of
from allo.ir.types import Int, Stream, UInt, float32, int32
from benchmarks.llm_channels import measured

from .test_wide_external import CONFIG, LLAMA
from .test_wide_external import TOKENS as PROMPT

WIDE = Wide(
    channels=4,
    lanes=16,
    vector=4,
    heads=2,
    keys=2,
    prefetch=64,
    cache="channels",
    cache_prefetch=16,
)
NIBBLES = dataclasses.replace(WIDE, channels=2, heads=1, cache_bits=4, cache_group=8)
LONGER = np.array([3, 29, 0, 17, 17, 4, 9, 21, 8, 8, 1], np.int32)
START, H, PAGE, ACROSS, LAYERS, TOKEN, PLACE, PLACES, SAID = 2, 2, 12, 2, 2, 2, 1, 5, 3
TABLES = 1, 2, 1, 1, 4
WEIGHTS = 3, 1, 2, 1, 5
JOBS = [table + weight for table, weight in zip(TABLES, WEIGHTS, strict=True)]
PAGES = START + LAYERS * sum(JOBS[:4]) + JOBS[4]
TOKENS = 4


@pytest.mark.parametrize("start", [0, 3, 4])
def test_a_reader_moves_weights_and_cache_in_order(start: int):
    """Two heads of two layers; from 6 lines of each, those in front of the token, and its own is written."""
    cache = LAYERS * H * PAGE
    size = PAGES + cache + TOKENS * TOKEN + PLACES * PLACE + SAID
    runs = START, JOBS[0], sum(JOBS[1:4]), JOBS[4]
    sizes = [32, size, *runs, H, PAGE, LAYERS, TOKEN, PLACE, PLACES, SAID]
    build = schedule_serve(allo.customize(serve, instantiate=sizes)).build(
        target="verilog", simulator="jit"
    )
    memory = np.arange(size, dtype=np.uint32)
    new = np.arange(1000, 1000 + 2 * LAYERS * H, dtype=np.uint32)
    said = np.arange(2000, 2000 + SAID, dtype=np.uint32)
    written = np.concatenate([new, said])
    old = -(-start // ACROSS)
    read = PLACE + TOKEN + PAGES + 2 * LAYERS * H * old
    lines = np.zeros(read, np.uint32)
    token = 3
    newest = 2 * (start // ACROSS)
    build(memory, token, start, 2 * old, 1, newest, newest + 1, written, lines)
    place, row = PAGES + cache + TOKENS * TOKEN + start * PLACE, PAGES + cache + token * TOKEN
    pages = np.arange(PAGES, PAGES + cache, dtype=np.uint32).reshape(LAYERS, H, PAGE // 2, 2)
    kept = [pages[layer, :, :old].ravel() for layer in range(LAYERS)]
    first, layer = START + JOBS[0], sum(JOBS[:4])
    ends = [first, first + layer, PAGES]
    parts = [np.arange(place, place + PLACE), np.arange(row, row + TOKEN), np.arange(first)]
    parts += [kept[0], np.arange(ends[0], ends[1]), kept[1], np.arange(ends[1], ends[2])]
    assert np.array_equal(lines, np.concatenate(parts))
    pages[:, :, start // ACROSS] = new.reshape(LAYERS, H, 2)
    assert np.array_equal(memory[PAGES : PAGES + cache], pages.ravel())
    assert np.array_equal(memory[-SAID:], said)
    sizes = [PLACE + TOKEN + START, *TABLES, *WEIGHTS, H, LAYERS, 0]
    build = schedule_plan(allo.customize(plan, instantiate=sizes), False).build(
        target="verilog", simulator="jit"
    )
    runs = np.zeros(2 * len(TABLES[:4]) * LAYERS + 2 + (LAYERS if old else 0) + 2, np.uint32)
    build(2 * old, 0, runs)
    total = read - 2 * LAYERS * H * old
    build = schedule_sort(allo.customize(sort, instantiate=[32, total, H, LAYERS, 32, 0])).build(
        target="verilog", simulator="jit"
    )
    tables, words = (
        np.zeros(LAYERS * sum(each[:4]) + each[4], np.uint32) for each in (TABLES, WEIGHTS)
    )
    tables = np.zeros(len(tables) + PLACE + TOKEN + START, np.uint32)
    keys, values = (np.zeros(max(1, LAYERS * H * old), np.uint32) for _ in range(2))
    build(2 * old, runs, lines, tables, words, keys, values)
    found_tables, found_words, at = [*parts[0], *parts[1], *range(START)], [], START
    for job in [*(LAYERS * list(range(4))), 4]:
        found_tables += range(at, at + TABLES[job])
        found_words += range(at + TABLES[job], at + JOBS[job])
        at += JOBS[job]
    assert np.array_equal(tables, found_tables)
    assert np.array_equal(words, found_words)
    if old:
        assert np.array_equal(np.stack([keys, values], 1).ravel(), np.concatenate(kept))


@pytest.mark.parametrize(("word", "expected"), [(0.5, 483.0), (2.0, 840.0)])
def test_a_layer_takes_its_pauses_or_what_its_lines_need(word: float, expected: float):
    """Pauses of 10 and jobs of 100, 50, 100 and 50 words; two heads of 30 keys, and as many values.

    Lines that come at one a cycle end the keys of the second head at 219. So its peak is there at 224, its
    values end at 254, the projection begins at 263, and the last job ends at 483. Where each line takes two
    cycles, the 420 of them need 840.
    """
    about = Attention(heads=2, old=30, turns=30, dealt=8, scored=5, ended=9, values=30)
    jobs = [(10.0, 100), (None, 50), (10.0, 100), (10.0, 50)]
    step = Ordered(Reader(word, 1.0, 0.0, 64), jobs, 1000, about)
    step.run()
    assert step.now == pytest.approx(expected, abs=3)
    assert step.pauses + step.starved + 300 == pytest.approx(step.now)


@pytest.mark.parametrize(
    ("waiting", "page", "expected"), [(58, 30, 732), (29, 30, 765), (58, 31, 740.5)]
)
def test_lines_of_a_head_wait_for_the_unit_that_has_the_one_before(
    waiting: int, page: int, expected: float
):
    """Two heads of 29 lines behind one of their steps, a line in 1.5 cycles; a unit takes one in two.

    The first job's 10 words are there at 25. With room for both heads their 60 lines come until 123.5, behind
    a gap of 8.5, and 400 words behind another one until 732. The unit has the first head's keys from 37.5 to
    93.5, and its values until 156.5. With room for one head that is when the last line comes, and the words
    end at 765. Heads whose pages are not full have a gap between them.
    """
    about = Attention(heads=2, old=29, turns=58, dealt=4, scored=5, ended=9, values=0)
    jobs, reader = [(1.0, 10), (None, 400)], Reader(1.5, 1.0, 10.0, 4)
    step = Ordered(reader, jobs, 500, about, each=2, waiting=waiting, page=page, block=32)
    step.run()
    assert step.now == pytest.approx(expected, abs=1)


def test_a_run_of_lines_begins_with_waits():
    """26 cycles each for 1, 2, 2 and 8 lines, of which each comes in 1; and 32 lines that nobody reads."""
    assert Reader(1.0, 1.0, 26, 32).gap == 25
    assert Reader(1.0, 1.0, 26, 32, lost=32).gap == 32 + 4 * 26 - 13


def test_scores_are_handed_on_one_word_a_cycle():
    """Words of 8 scores, of 4 heads with 64 words each: in a memory with two ports a word takes 4 cycles."""
    model = dataclasses.replace(LLAMA, layers=1, d=256, heads=16, kv_heads=8, context=256)
    wide = dataclasses.replace(WIDE, channels=16, lanes=16, heads=2, keys=4, cache_prefetch=256)
    sizes = sizes_of(model, wide)
    units, words, heads = wide.heads, model.context // wide.keys, sizes.per_unit
    group, bits = sizes.group, score_bits(model.head_dim)
    together = group * wide.keys

    @df.part()
    def source(
        start: int32, exponents: Stream[float32, 2][units],
        scores: Stream[Int(bits)[together], words][units], peaks: Stream[Int(bits)[group], 4][units],
    ):  # fmt: skip
        @df.kernel(mapping=[units])
        def scoring():
            u = df.get_pid()
            exponents[u].put(0.001)
            for head in range(heads):
                for word in range(words):
                    dots: Int(bits)[together] = 0
                    tops: Int(bits)[group] = 0
                    scores[u].put(dots)
                    if word == words - 1:
                        peaks[u].put(tops)

    @df.part()
    def sink(
        out: int32[units], shares: Stream[UInt(8 * together), 2][units],
        totals: Stream[UInt(32 * group), 2][units],
    ):  # fmt: skip
        @df.kernel(mapping=[units], args=[out])
        def mixing(found: int32[units]):
            u = df.get_pid()
            sum: int32 = 0
            for head in range(heads):
                for word in range(words):
                    share: UInt(8 * together) = shares[u].get()
                    sum += share[0:8]
                total: UInt(32 * group) = totals[u].get()
                sum += total[0:32]
            found[u] = sum

    each = range(units)
    loops = tuple(f"scoring_{u}:word" for u in each)
    registers = tuple(f"scoring_{u}:{name}" for u in each for name in ("dots", "tops"))
    first = Stage(source, loops=loops, registers=registers)
    last = Stage(sink, loops=tuple(f"mixing_{u}:word" for u in each), banks={"out": 1})
    design = build_stages("weighed", ["start", "out"], [first, weighing(sizes), last])
    module = design.build(target="verilog", simulator="jit", clock_mhz=300)
    out = np.zeros(units, np.int32)
    module(model.context - 1, out)
    assert np.array_equal(out, [heads * words * 255 * (1 + wide.keys)] * units)
    assert (module.cycles or 0) < words * (heads + 1) + 150


@pytest.mark.parametrize(("config", "keys"), [(CONFIG, 2), (LLAMA, 1)], ids=["gpt2", "llama"])
def test_logits_and_cache_of_the_hardware_are_those_of_the_reference(config, keys: int):
    """From an empty cache; a unit takes the lines of its two channels at once, or one after the other."""
    wide = dataclasses.replace(WIDE, keys=keys)
    channels = [
        MemoryChannel(f"hbm[{n}]", 12, latency=33, prefetch=8) for n in range(wide.channels)
    ]
    memory = {"weights": PerBank(channels)}
    hardware = schedule(config, wide).build(
        target="verilog", simulator="jit", clock_mhz=300, memory=memory
    )
    weights = random_weights(config, seed=7)
    memories, filled = make_memories(weights, wide), make_memories(weights, wide)
    expected = WideGPT(weights, wide).forward(PROMPT[None])[0]
    for position, token in enumerate(PROMPT):
        got = decode(hardware, weights, memories, int(token), position)
        assert np.array_equal(got.view(np.uint32), expected[position].view(np.uint32)), position
        foretold = predict_step(hardware.report, config, wide, position, Channel(12, 33, 8))
        assert abs(foretold.cycles / hardware.cycles - 1) < 0.08, (foretold, hardware.cycles)
    fill_cache(filled, weights, wide, np.append(PROMPT, 0))
    left, wanted = (
        of.constant[0].view(np.uint8).reshape(wide.channels, -1) for of in (memories, filled)
    )
    spoken = lines_of(config, wide).said * wide.lanes  # the logits, at the end
    assert np.array_equal(left[:, :-spoken], wanted[:, :-spoken])
    assert memories.keys.size == 0
    (array,) = hardware.design.arrays
    assert {port.bank for port in array.ports} == set(range(wide.channels))


@pytest.mark.parametrize(("config", "keys"), [(CONFIG, 2), (LLAMA, 1)], ids=["gpt2", "llama"])
def test_logits_and_cache_of_four_bits_are_those_of_the_reference(config, keys: int):
    """One unit with two channels, from an empty cache over a block of 4 positions a channel; then faults."""
    wide = dataclasses.replace(NIBBLES, keys=keys)
    channels = [
        MemoryChannel(f"hbm[{n}]", 12, latency=33, prefetch=8) for n in range(wide.channels)
    ]
    hardware = schedule(config, wide).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )
    weights = random_weights(config, seed=7)
    memories, filled = make_memories(weights, wide), make_memories(weights, wide)
    expected = reference_of(weights, wide).forward(LONGER[None])[0]
    for position, token in enumerate(LONGER):
        got = decode(hardware, weights, memories, int(token), position)
        assert np.array_equal(got.view(np.uint32), expected[position].view(np.uint32)), position
        foretold = predict_step(hardware.report, config, wide, position, Channel(12, 33, 8))
        assert abs(foretold.cycles / hardware.cycles - 1) < 0.08, (foretold, hardware.cycles)
    after = fill_cache(filled, weights, wide, np.append(LONGER, 0))
    left, wanted = (
        of.constant[0].view(np.uint8).reshape(wide.channels, -1, wide.lanes)
        for of in (memories, filled)
    )
    held = lines_of(config, wide)
    assert np.array_equal(left[:, : -held.said], wanted[:, : -held.said])
    for line, byte in ((0, 0), (1, 0)):
        # A step of the first position, and two of its levels, that are other than they were.
        wanted[0, held.pages + line, byte] ^= 3
        got = decode(hardware, weights, filled, 0, len(LONGER))
        assert not np.array_equal(got.view(np.uint32), after.view(np.uint32))
        wanted[0, held.pages + line, byte] ^= 3
    got = decode(hardware, weights, filled, 0, len(LONGER))
    assert np.array_equal(got.view(np.uint32), after.view(np.uint32))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"cache_bits": 4, "cache_group": 32},
            "32 elements with a step in common do not divide a head of 16, or are no power of two.",
        ),
        (
            {"cache_bits": 4, "cache": "external"},
            "The wide accelerator has no keys and values of 4 bits in the place called 'external'.",
        ),
        (
            {"keys": 4},
            "2 units with 4 keys at once take a line from each of 8 channels, which do not divide the 4 that "
            "there are.",
        ),
        ({"lanes": 32}, "A line of 32 bytes is no key of a head of 16 elements."),
        ({"vector": 8}, "A line of 16 bytes does not hold rows of 8 numbers of 4 bytes."),
        (
            {"cache_prefetch": 8},
            "The values of a head of 16 tokens wait for the peak of its scores, and only 8 fit.",
        ),
    ],
    ids=["group", "place", "keys", "lanes", "rows", "prefetch"],
)
def test_a_cache_that_does_not_lie_on_the_channels_is_refused(changed, message: str):
    with pytest.raises(WidthError) as error:
        check_wide(CONFIG, dataclasses.replace(WIDE, **changed))
    assert error.value.args[0] == message


@pytest.mark.parametrize(
    "name", ["GPT-2 355M, W8A8", "LLaMA-3.2-1B, W8A8", "LLaMA-3.2-1B, W4A8 KV4"]
)
def test_a_channel_reaches_its_share_of_what_was_measured_on_the_card(name: str):
    """Two channels, each of which moves as much in a layer as one of 32 does for the whole model."""
    rows = measured(name)
    assert all(row.held is not False for row in rows), rows
    assert len([row for row in rows if row.held]) >= 2
