"""The kernels of the accelerator for blocks, each alone, as hardware, bit for bit against NumPy.

A step has seven tokens in blocks of four and three, and the logits after the last three are asked for;
R = 2, so that the last row of a block is half used.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import allo
from allo import bitexact
from allo.customize import Schedule
from allo.designs.llm.network.reference import gelu, round_clamp
from allo.designs.llm.wide.activation import schedule_bend
from allo.designs.llm.wide.block import arrange as arranging
from allo.designs.llm.wide.block import heads, linear, norm, vectors
from allo.designs.llm.wide.memories import words_of
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.reference import normalise

D, FFN, HD, V, LANES, C = 32, 64, 16, 4, 8, 8
LAYERS, CTX = 2, 12
COUNT, B, R, WAVES, SPOKEN = 7, 4, 2, 2, 3
BLOCKS = [(0, 4), (4, 7)]
"""First token of each block, and the one behind its last."""
SIZES = [(3 * D, D), (D, D), (FFN, D), (D, FFN)] * LAYERS
OUTPUTS = 16
F32 = np.float32


def hardware(s: Schedule):
    return s.build(target="verilog", simulator="jit", clock_mhz=300)


def int8s(rng, *shape: int) -> np.ndarray:
    return rng.integers(-127, 128, shape).astype(np.int8)


def by_groups(results: np.ndarray) -> np.ndarray:
    """(tokens, outputs) in the order of the elements: groups of C outputs, in each token by token."""
    tokens, outputs = results.shape
    return results.reshape(tokens, outputs // C, C).transpose(1, 0, 2).reshape(-1)


def test_a_loader_reads_a_job_again_for_every_block():
    sizes = [a * b // (C * LANES) for a, b in SIZES]
    last = OUTPUTS * D // (C * LANES)
    s = allo.customize(linear.fetch_blocks, instantiate=[LANES, *sizes[:4], LAYERS, last, 0])
    build = hardware(linear.schedule_fetch_blocks(s))
    words = sum(sizes) + last
    memory = np.arange(words, dtype=np.uint64)
    jobs = np.split(memory, np.cumsum(sizes))
    expected = np.concatenate([np.tile(job, WAVES) for job in jobs[:-1]] + [jobs[-1]])
    got = np.zeros(len(expected), np.uint64)
    build(memory, WAVES, got)
    assert np.array_equal(got, expected)
    once = np.zeros(words, np.uint64)
    build(memory, 1, once)
    assert np.array_equal(once, memory)


def test_an_element_takes_a_word_once_for_a_block():
    outs = OUTPUTS // C
    s = allo.customize(
        linear.multiply_block,
        instantiate=[LANES, C, D, 3 * D, FFN, FFN, LAYERS, outs, R, B, 0, 0, 0],
    )
    rng = np.random.default_rng(0)
    words, tokens, sums = [], [], []
    for rows, depth in [*SIZES, (OUTPUTS, D)]:
        weights = int8s(rng, rows // C, depth)
        x = int8s(rng, COUNT, depth)
        last = (rows, depth) == (OUTPUTS, D)
        for first, end in [(0, SPOKEN)] if last else BLOCKS:
            part = x[first:end]
            padded = np.zeros((-(-len(part) // R) * R, depth), np.int8)
            padded[: len(part)] = part
            # One round is R tokens beside each other, word by word.
            lines = padded.reshape(-1, R, depth // LANES, LANES).transpose(0, 2, 1, 3)
            words.append(weights)
            tokens.append(np.tile(lines.reshape(-1), len(weights)))
            dots = weights.astype(np.int32) @ padded.T.astype(np.int32)
            sums.append(dots.reshape(-1))
    expected = np.concatenate(sums).reshape(-1, R)
    build = hardware(linear.schedule_multiply_block(s, D // LANES, R))
    got = np.zeros(len(expected), np.uint64)
    memory = words_of(np.concatenate([w.reshape(-1) for w in words]), 8 * LANES)
    taken = words_of(np.concatenate(tokens), 8 * LANES * R)
    build(memory, taken, COUNT, WAVES, SPOKEN, got, LAYERS, 0, outs)
    assert np.array_equal(got.view(np.int32).reshape(-1, R), expected)
    assert build.report.functions[-1].loops[0].children[0].children[0].ii == 1


@pytest.mark.parametrize(("rows", "saved"), [(1, 0), (2, LANES), (3, LANES), (4, 2 * LANES)])
def test_two_rows_have_the_products_of_a_weight_in_one_multiplier_block(rows: int, saved: int):
    """Without a cycle more; an odd row has blocks of its own."""
    sizes = [LANES, C, D, 3 * D, FFN, FFN, LAYERS, OUTPUTS // C, rows, rows, 0, 0, 0]
    s = allo.customize(linear.multiply_block, instantiate=sizes)
    packed = linear.schedule_multiply_block(s, 1, rows).estimate(clock_mhz=300)
    s.bind("mul", "dsp", axis="mac")
    apart = s.estimate(clock_mhz=300)
    assert apart.resources["dsp"] - packed.resources["dsp"] == saved
    loops = [found.functions[-1].loops[0].children[0].children[0] for found in (packed, apart)]
    assert [(loop.ii, loop.depth) for loop in loops] == [(1, loops[1].depth)] * 2


def test_the_values_of_a_key_have_two_products_in_a_multiplier_block():
    s = heads.schedule_mix_block(
        allo.customize(heads.mix_block, instantiate=[HD, 2, 1, CTX, LAYERS, B, 0])
    )
    packed = s.estimate(clock_mhz=300)
    s.bind("mul", "dsp", axis="c")
    apart = s.estimate(clock_mhz=300)
    assert apart.resources["dsp"] - packed.resources["dsp"] == HD // 2


@pytest.mark.parametrize("terms", [2, 1])
def test_a_table_is_taken_once_for_all_tokens(terms: int):
    """Factors and biases, or factors alone."""
    rng = np.random.default_rng(1)
    sizes = [V, C, D, 3 * D, FFN, LAYERS, OUTPUTS, terms, B]
    s = allo.customize(linear.rescale_block, instantiate=sizes)
    places: list[list[np.ndarray]] = [[], [], [], []]
    sums, table = [], []
    for job, outputs in enumerate([*(rows for rows, _ in SIZES), OUTPUTS]):
        acc = rng.integers(-(2**24), 2**24, (COUNT, outputs)).astype(np.int32)
        factor, bias = rng.normal(0, 1, (2, outputs)).astype(F32)
        bias *= terms - 1
        table.append(np.stack([factor, bias][:terms], -1).reshape(-1))
        last = job == len(SIZES)
        for first, end in [(0, SPOKEN)] if last else BLOCKS:
            results = acc[first:end].astype(F32) * factor + bias
            sums.append(by_groups(acc[first:end]))
            places[3 if last else (0, 1, 2, 1)[job % 4]].append(by_groups(results))
    expected = [np.concatenate(place) for place in places]
    build = hardware(linear.schedule_rescale_block(s, 1, C // V))
    got = [np.zeros((len(e) // V, V), F32) for e in expected]
    memory = words_of(np.concatenate(table), 32 * terms * V)
    build(np.concatenate(sums).reshape(-1, V), memory, COUNT, WAVES, SPOKEN, *got)
    for one, wanted in zip(got, expected, strict=True):
        assert np.array_equal(one.reshape(-1).view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("lanes", [1, 2])
def test_residuals_leave_in_lanes_and_at_the_end_the_last_ones_alone(lanes: int):
    """The third token from the end is in the first lane at the end, whichever lane it was added in."""
    sizes = [D, V, C, LAYERS, B, CTX, 0, lanes, lanes.bit_length() - 1, 0]
    s = allo.customize(norm.collect, instantiate=sizes)
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, (COUNT, D)).astype(F32)
    deltas = rng.normal(0, 1, (2 * LAYERS, COUNT, D)).astype(F32)
    expected, current = [x[a:b] for a, b in BLOCKS], x
    for delta in deltas:
        current = current + delta
        expected += [current[a:b] for a, b in BLOCKS]
    expected[-2:] = [current[-SPOKEN:]]
    taken = np.concatenate([by_groups(d[a:b]) for d in deltas for a, b in BLOCKS])
    build = hardware(norm.schedule_collect(s))
    turns = [-(-len(part) // lanes) for part in expected]
    got = np.zeros((sum(turns) * (D // V), lanes * V), F32)
    build(x.reshape(-1, V), taken.reshape(-1, V), COUNT, WAVES, SPOKEN, got, LAYERS, 0)
    ends = np.cumsum(turns)[:-1] * (D // V)
    for part, words in zip(expected, np.split(got, ends), strict=True):
        rows = words.reshape(-1, D // V, lanes, V).transpose(0, 2, 1, 3).reshape(-1, D)
        assert np.array_equal(rows[: len(part)].view(np.uint32), part.view(np.uint32))


@pytest.mark.parametrize(("unit", "terms"), [(0, 2), (1, 1)])
def test_a_unit_of_norms_takes_every_other_token(unit: int, terms: int):
    """Layer norms, and norms by the root mean square alone."""
    wide, norms = Wide(vector=V), 2 * LAYERS + 1
    sizes = [D, V, 2, wide.parts, 3, LAYERS, B, 2, terms]
    s = allo.customize(norm.normalise_rows, instantiate=sizes)
    rng = np.random.default_rng(3)
    gain, shift = rng.normal(0, 30, (2, norms, D)).astype(F32)
    rows, expected = [], []
    for n in range(norms):
        x = rng.normal(0.5, 2, (COUNT, D)).astype(F32)
        for first, end in [(0, SPOKEN)] if n == norms - 1 else BLOCKS:
            mine = x[first:end][unit::2]
            rows.append(mine.reshape(-1))
            moved = shift[n] if terms == 2 else None
            expected.append(normalise(mine, gain[n], moved, wide).reshape(-1))
    parts = [gain.reshape(-1), shift.reshape(-1)][:terms]
    table = words_of(np.stack(parts, -1).reshape(-1), 32 * terms * V)
    build = hardware(norm.schedule_normalise_rows(s))
    wanted = np.concatenate(expected)
    small = np.zeros(len(wanted) // V, np.uint32)
    build(np.concatenate(rows).reshape(-1, V), table, unit, COUNT, WAVES, SPOKEN, 1e-5, small)
    assert np.array_equal(small.view(np.int8), wanted)


@pytest.mark.parametrize(
    ("run", "lanes", "word"), [(1, 1, LANES), (2, 2, 3 * V), (FFN // V, 1, LANES)]
)
def test_pieces_become_words_of_several_tokens(run: int, lanes: int, word: int):
    """Of 12 elements, too, of which the last word has four."""
    jobs, full, across = 3, 2, -(-FFN // word)
    sizes = [word, V, R, B, FFN, run, jobs, full, 0, 0, lanes]
    s = allo.customize(arranging.arrange, instantiate=sizes)
    rng = np.random.default_rng(run)
    come, leave = [], []
    for job in range(jobs):
        x = int8s(rng, COUNT, FFN)
        for first, end in [(0, SPOKEN)] if job >= full else BLOCKS:
            part = x[first:end]
            rows = -(-len(part) // lanes)
            padded = np.zeros((rows * lanes, FFN), np.int8)
            padded[: len(part)] = part
            pieces = padded.reshape(rows, lanes, -1, run, V).transpose(2, 0, 3, 1, 4)
            come.append(pieces.reshape(-1))
            leave.append(part)
    build = hardware(arranging.schedule_arrange(s))
    rounds = sum(-(-len(part) // R) for part in leave)
    out = np.zeros((rounds * across, 8 * word * R // 32), np.uint32)
    words = words_of(out.reshape(-1), 8 * word * R)
    taken = words_of(np.concatenate(come), 8 * V * lanes)
    build(taken, COUNT, WAVES, SPOKEN, words, jobs, full)
    got = words.view(np.int8).reshape(rounds, across, R, word).transpose(0, 2, 1, 3)
    at = 0
    for part in leave:
        size = -(-len(part) // R)
        rows = got[at : at + size].reshape(size * R, across * word)[:, :FFN]
        assert np.array_equal(rows[: len(part)], part)
        at += size


def test_results_are_packed_to_words_of_a_head_for_each_token():
    s = allo.customize(heads.pack_block, instantiate=[3 * D, HD, V, C, LAYERS, B])
    results = np.random.default_rng(4).normal(0, 90, (LAYERS, COUNT, 3 * D)).astype(F32)
    build = hardware(heads.schedule_pack_block(s, C // V))
    blocks = [layer[a:b] for layer in results for a, b in BLOCKS]
    words = words_of(np.zeros(results.size, np.int8), 8 * HD)
    taken = np.concatenate([by_groups(block) for block in blocks])
    build(taken.reshape(-1, V), COUNT, WAVES, words, LAYERS)
    small = [round_clamp(b).reshape(len(b), -1, HD).transpose(1, 0, 2).reshape(-1) for b in blocks]
    assert np.array_equal(words.view(np.int8), np.concatenate(small))


def plan_word(base: int, last: int, mask: int) -> list[int]:
    """What a unit is told of a token, as bytes: 32, 16 and 32 bits."""
    words = ((base, 4), (last, 2), (mask, 4))
    return [byte for value, size in words for byte in value.to_bytes(size, "little")]


def visible(place: int, mask: int) -> np.ndarray:
    """Which keys up to its own a token sees."""
    return np.array([place - at > 31 or mask >> (place - at) & 1 for at in range(place + 1)], bool)


@pytest.mark.parametrize(("branches", "group"), [(False, 1), (True, 1), (False, 3), (True, 2)])
def test_every_token_sees_its_own_keys(branches: bool, group: int):
    """One sequence at position 5; or two of them, whose tokens see some of the others by chance.

    A head of keys has one query, or some that share it: these leave behind each other.
    """
    per_unit, rng = 2, np.random.default_rng(int(branches))
    room = 2 * CTX
    if branches:
        bases, places = [0, CTX, 0, CTX, CTX, 0, 0], [4, 0, 5, 1, 2, 6, 7]
        masks = [int(rng.integers(1 << 32)) | 1 for _ in range(COUNT)]
    else:
        bases, places = [0] * COUNT, list(range(5, 5 + COUNT))
        masks = [(1 << 32) - 1] * COUNT
    rows = [base + place for base, place in zip(bases, places, strict=True)]
    shape = (LAYERS, per_unit, room, HD)
    k, v = int8s(rng, *shape), int8s(rng, *shape)
    q = int8s(rng, LAYERS, per_unit, group, COUNT, HD)
    factors = np.array([2e-4, 4e-4], F32)
    asked, given, scores, peaks, sums, totals, plans = [], [], [], [], [], [], []
    for layer in range(LAYERS):
        for first, end in BLOCKS:
            new = rows[first:end]
            asked += [
                q[layer, :, :, first:end].reshape(-1),
                k[layer, :, new].swapaxes(0, 1).reshape(-1),
            ]
            given.append(v[layer, :, new].swapaxes(0, 1).reshape(-1))
            every = sum(place + 1 for place in places[first:end])
            plans.append(plan_word(per_unit * group * every - 1, 0, 0))
            for times in (1, group):
                for head, t in itertools.product(range(per_unit), range(first, end)):
                    base = (layer * per_unit + head) * room + bases[t]
                    plans += times * [plan_word(base, places[t], masks[t])]
            for head, token in itertools.product(range(per_unit), range(first, end)):
                for query in q[layer, head, :, token].astype(int):
                    seen = slice(bases[token], rows[token] + 1)
                    row = k[layer, head, seen].astype(int) @ query
                    sees = visible(places[token], masks[token])
                    peak = row[sees].max()
                    below = (row - peak).astype(F32)
                    levels = round_clamp(bitexact.exp(below * factors[layer]) * F32(255), 0, 255)
                    levels = np.where(sees, levels, 0)
                    scores.append(row)
                    peaks.append(peak)
                    sums.append(levels @ v[layer, head, seen].astype(int))
                    totals.append(levels.sum())

    def cache(full: np.ndarray) -> np.ndarray:
        """Without the rows of the step, which arrive on a stream."""
        held = full.copy()
        held[:, :, rows] = 0
        return words_of(held.reshape(-1, HD), 8 * HD)[:, 0].copy()

    sizes = [HD, per_unit, group, room, LAYERS, B, 0]
    score = allo.customize(heads.score_block, instantiate=sizes)
    mix = allo.customize(heads.mix_block, instantiate=sizes)
    keys, values = cache(k), cache(v)
    flat, told = np.concatenate(scores), words_of(np.array(plans, np.uint8), 80)[:, 0]
    got = np.zeros(len(flat), np.int32), np.zeros(len(peaks), np.int32)
    words = words_of(np.concatenate(asked), 8 * HD)
    hardware(heads.schedule_score_block(score))(words, told, COUNT, WAVES, keys, *got)
    assert np.array_equal(got[0], flat)
    assert np.array_equal(got[1], peaks)
    totalled = np.zeros((len(sums), HD), np.int32)
    mixed = words_of(totalled.reshape(-1), 32 * HD), np.zeros(len(sums), np.int32)
    new_values = words_of(np.concatenate(given), 8 * HD)
    hardware(heads.schedule_mix_block(mix))(
        new_values, told, *got, COUNT, WAVES, factors, values, *mixed
    )
    assert np.array_equal(mixed[0].view(np.int32).reshape(totalled.shape), sums)
    assert np.array_equal(mixed[1], totals)
    for cached, full in ((keys, k), (values, v)):
        assert np.array_equal(cached.view(np.int8).reshape(shape), full)


def test_gelu_and_quotients_of_every_token():
    rng = np.random.default_rng(5)
    hidden = rng.normal(0, 2, (LAYERS, COUNT, FFN)).astype(F32)
    factors = np.array([30, 50], F32)
    bend = allo.customize(vectors.bend_block, instantiate=[FFN, V, LAYERS, 0])
    small = np.zeros(hidden.size // V, np.uint32)
    hardware(schedule_bend(bend, 2))(hidden.reshape(-1, V), factors, COUNT, small)
    bent = round_clamp(gelu(hidden) * factors[:, None, None])
    assert np.array_equal(small.view(np.int8), bent.reshape(-1))
    sums = rng.integers(-(2**15), 2**15, (LAYERS, COUNT, 4, HD)).astype(np.int32)
    totals = rng.integers(255, 2000, sums.shape[:-1]).astype(np.int32)
    divide = allo.customize(vectors.divide_block, instantiate=[HD, V, 4, LAYERS, LAYERS])
    inverse = factors[:, None, None] / totals.astype(F32)
    quotients = round_clamp(sums.astype(F32) * inverse[..., None])
    small = np.zeros(sums.size // V, np.uint32)
    build = hardware(vectors.schedule_divide_block(divide))
    words = words_of(sums.reshape(-1), 32 * HD)
    build(words, totals.reshape(-1), factors, COUNT, small, LAYERS, 0)
    assert np.array_equal(small.view(np.int8), quotients.reshape(-1))
