"""Every accelerator that a plan tries for a model and a device: what it takes, and the time of a token."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ..analysis.data import Transformer
from ..analysis.engine import Engine, StepTime, step_time, words_of_layer, words_of_logits
from ..config import LINEARS, Architecture
from ..constants import EPS
from ..ternary.capacity import taken as memories_of
from ..wide.cycles import Channel
from ..wide.external.lines import lines_of
from ..wide.external.traffic import CACHE, TABLES, beside_weights
from ..wide.parameters import Wide, WidthError, check_wide
from .merged import Merged, load_merged
from .question import MOST_LANES, Candidate, Question
from .reports import ProcessModels, sizes_of

SHARED = ("channels", "lanes", "vector", "heads", "prefetch", "gelu_interval", "bits")
"""Parameters that an engine of the equations and the accelerator have alike."""
LATENCY_NS = 110.0
"""To the first word of a channel: the HBM2 model of the simulator."""
URAM_WIDTH, URAM_WORDS = 72, 4096
MOST_ELEMENTS = 128
"""Elements with ternary weights that are tried."""
INTERVALS = 1, 2, 4, 8
GROUP = 32
"""Elements of a head that have a step in common, where keys and values have four bits."""
SOME = 4
"""So many times the words that may be ahead are the words of logits that are foretold one by one."""


def candidates(question: Question, models: ProcessModels) -> Iterator[Candidate]:
    """Every accelerator whose parameters fit the model, with what it takes and its time."""
    if question.ternary:
        yield from ternary(question, models)
        return
    if question.cache != "channels" and question.cache_bits == 8:
        found = apart(question, models)
        yield from (one for one in found if question.cache in ("", one.wide.cache))
    if question.cache in ("", "channels"):
        yield from merged(question, models)


def apart(question: Question, models: ProcessModels) -> Iterator[Candidate]:
    """Those that have keys and values on the chip, or behind ports of their own."""
    model, shape = question.model, architecture(question)
    for engine in engines(question):
        sizes = sizes_of(model, engine, question.context)
        taken = models.whole(sizes)
        depths = models.depths(sizes)
        clock = question.clock_mhz or models.clock(sizes, taken["lut"])
        weights = model.layers * sum(words_of_layer(model, engine))
        weights += words_of_logits(model, engine) if model.vocab else 0.0
        for on_chip in (True, False):
            wide = wide_of(engine, on_chip)
            if not _is_legal(shape, wide):
                continue
            cache = beside_weights(shape, wide, question.position, CACHE) / model.layers
            time = step_time(
                model,
                engine,
                depths,
                question.position,
                question.channel_bytes_at(clock),
                LATENCY_NS * clock / 1e3,
                0.0 if on_chip else cache,
            )
            all_taken = dict(taken)
            if on_chip:
                all_taken["uram"] += cache_blocks(question, engine)
            beside = 0.0 if on_chip else model.layers * _cache_bytes(model, question.context)
            all_taken["dram"] = weights * engine.lanes * engine.channels + beside
            yield Candidate(engine, wide, all_taken, time, clock)


def ternary(question: Question, models: ProcessModels) -> Iterator[Candidate]:
    """Those with ternary weights on the chip, and keys and values there, too: nothing comes from outside."""
    model, shape = question.model, architecture(question)
    for channels in _powers(1, MOST_ELEMENTS, model.hidden, model.ffn):
        for trits in _powers(16, MOST_LANES, model.hidden, model.ffn):
            for vector in _powers(4, min(trits, 32), model.head_width):
                for heads in _powers(1, 16, shape.kv_heads):
                    for interval in INTERVALS:
                        engine = Engine(
                            channels, 1, vector, heads, 2, gelu_interval=interval, trits=trits
                        )
                        wide = Wide(
                            channels=channels, trits=trits, vector=vector, heads=heads,
                            gelu_interval=interval, weights="chip",
                        )  # fmt: skip
                        if _is_legal(shape, wide):
                            yield _on_chip(question, models, engine, wide)


def _on_chip(question: Question, models: ProcessModels, engine: Engine, wide: Wide) -> Candidate:
    sizes = sizes_of(question.model, engine, question.context)
    taken = models.whole(sizes)
    clock = question.clock_mhz or models.clock(sizes, taken["lut"])
    held = memories_of(architecture(question), wide, 1, 1)
    taken["uram"] += held.uram
    taken["bram"] += held.bram18
    time = step_time(question.model, engine, models.depths(sizes), question.position)
    return Candidate(engine, wide, taken | {"dram": 0.0}, time, clock)


def merged(question: Question, models: ProcessModels) -> Iterator[Candidate]:
    """Those with one reader a channel, timed by equation (19); :func:`exact` foretells those that matter."""
    model, card, shape = question.model, question.device, architecture(question)
    lanes = model.head_width
    for channels in _powers(1, card.channels, model.hidden, model.ffn):
        for vector in _powers(4, lanes // 4):
            for heads in _powers(1, min(channels, 16), shape.kv_heads):
                for interval in INTERVALS:
                    for prefetch in (1024, 4096):
                        engine = Engine(
                            channels, lanes, vector, heads, prefetch, interval, question.bits
                        )
                        wide = merged_of(engine, shape, question.cache_bits)
                        if _is_legal(shape, wide):
                            yield _merged(question, models, engine, Merged(shape, wide))


def merged_of(engine: Engine, shape: Architecture, cache_bits: int = 8) -> Wide:
    """The accelerator's own parameters of an engine whose channels have one reader each.

    Lines of keys and of values come by turns, so a unit takes half as many keys at once as it has channels.
    Of four bits they come faster than a unit takes them, and those of all of its heads may wait.
    """
    across, room = max(1, engine.channels // engine.heads), shape.context
    if cache_bits == 4:
        room <<= (shape.kv_heads // engine.heads).bit_length()
    return Wide(
        **{name: getattr(engine, name) for name in SHARED},
        cache="channels",
        cache_prefetch=room,
        keys=max(1, across // 2),
        cache_bits=cache_bits,
        cache_group=min(GROUP, engine.lanes),
    )


def _merged(question: Question, models: ProcessModels, engine: Engine, sizes: Merged) -> Candidate:
    model, shape, wide = question.model, sizes.model, sizes.wide
    taken = load_merged().whole(sizes)
    clock = question.clock_mhz or load_merged().clock(sizes, taken["lut"])
    beside = beside_weights(shape, wide, question.position, (*CACHE, *TABLES)) / model.layers
    # The equations know units that take a key of one query a cycle.
    time = step_time(
        model,
        engine,
        models.depths(sizes_of(model, engine, question.context)),
        question.position // (wide.keys * sizes.group),
        question.channel_bytes_at(clock),
        LATENCY_NS * clock / 1e3,
        beside,
    )
    held = float(lines_of(shape, wide).size * wide.lanes * wide.channels)
    return Candidate(engine, wide, taken | {"dram": held}, time, clock, is_exact=False)


def exact(question: Question, found: Candidate) -> Candidate:
    """A candidate with one reader a channel, whose token is foretold line by line.

    All layers but the first take alike, and all logits but the first ones, so a few are gone through.
    """
    if found.is_exact:
        return found
    shape, wide = architecture(question), found.wide
    rate = question.channel_bytes_at(found.clock_mhz)
    channel = Channel(rate, round(LATENCY_NS * found.clock_mhz / 1e3))
    each = wide.channels * wide.last_weights
    few = replace(shape, vocab=min(shape.vocab, SOME * wide.prefetch * each // shape.d))
    times = [
        load_merged().token(Merged(replace(few, layers=n), wide), question.position, channel)
        for n in (2, 3)
    ]
    a_word = max(1.0, wide.word / rate)
    rest = a_word * (_last_lines(shape, wide) - _last_lines(few, wide))
    layers = shape.layers - 2

    def whole(name: str, more: float = 0.0) -> float:
        two, three = (float(getattr(time, name)) for time in times)
        return two + layers * (three - two) + more

    cycles = whole("cycles", rest)
    compute = found.time.compute
    time = StepTime(cycles, compute, whole("memory", rest), whole("pauses"), whole("starved"))
    return replace(found, time=time, is_exact=True)


def _last_lines(shape: Architecture, wide: Wide) -> int:
    """Lines of a channel in the job of the logits: words, and the tables in front of them."""
    held = lines_of(shape, wide)
    return held.tables[-1] + held.words[-1]


def architecture(question: Question) -> Architecture:
    """The model as the accelerator has it: a GPT-2, or a LLaMA where there are gates."""
    model, gated = question.model, question.model.gated
    return Architecture(
        family=model.name,
        layers=model.layers,
        d=model.hidden,
        heads=model.heads,
        kv_heads=model.kv_heads or model.heads,
        head_dim=model.head_width,
        ffn=model.ffn,
        context=question.context,
        vocab=model.vocab or 1,
        activation="silu" if gated else "gelu_tanh",
        eps=EPS,
        rms=gated,
        gated=gated,
        rotary=(1.0,) * (model.head_width // 2) if gated else (),
        biases=() if gated else LINEARS,
    )


def wide_of(engine: Engine, on_chip: bool = True) -> Wide:
    """The accelerator's own parameters of an engine."""
    cache = "chip" if on_chip else "external"
    return Wide(**{name: getattr(engine, name) for name in SHARED}, cache=cache)


def _is_legal(shape: Architecture, wide: Wide) -> bool:
    try:
        check_wide(shape, wide)
    except WidthError:
        return False
    return True


def engines(question: Question) -> Iterator[Engine]:
    """Parameters that the accelerator takes for the model, with keys and values on the chip or beside it."""
    model, card, shape = question.model, question.device, architecture(question)
    for channels in _powers(1, card.channels, model.hidden, model.ffn):
        for lanes in _powers(8, MOST_LANES):
            for vector in _powers(4, min(lanes, 64), model.head_width):
                for heads in _powers(1, 16, shape.kv_heads):
                    one = Engine(channels, lanes, vector, heads, bits=question.bits)
                    if not _is_legal(shape, wide_of(one)):
                        continue
                    for gelu in INTERVALS:
                        for prefetch in (64, 256, 1024, 4096):
                            yield replace(one, gelu_interval=gelu, prefetch=prefetch)


def cache_blocks(question: Question, engine: Engine) -> float:
    """(3) for the caches in URAM: two for each unit, a word of a head's width for each key."""
    model = question.model
    kept = max(1, (model.kv_heads or model.heads) // engine.heads)
    wide = math.ceil(8 * model.head_width / URAM_WIDTH)
    deep = math.ceil(model.layers * kept * question.context / URAM_WORDS)
    return 2.0 * engine.heads * wide * deep


def _powers(low: int, high: int, *wholes: int) -> list[int]:
    """Powers of two within bounds that divide all of ``wholes``."""
    found = [1 << n for n in range(high.bit_length()) if low <= 1 << n <= high]
    return [n for n in found if not any(whole % n for whole in wholes)]


def _cache_bytes(model: Transformer, tokens: int) -> float:
    """Keys and values of a layer, one byte each."""
    return 2.0 * model.kv_width * tokens
