"""Cycles of a step of several tokens, predicted from the compiler's report and the memory.

The elements do one job of one block after the other. A job begins when the elements are free and the
block's activations are there; these come from norms, attention or GELU, each of which serves one block after
the other as well. So the times of a step follow from a recurrence over jobs and blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from ...config import Architecture
from ...stage import Loops
from ..cycles import IDEAL, LEAST_AHEAD, Channel, StepPrediction, _Fifo
from ..external.order import Reader
from ..external.traffic import LINE
from ..parameters import Wide, job_words
from ..stages.linear import CALL
from .parameters import Block, entrance_words, lane_words

KEPT, RUN = 8, 3
"""Cycles of what keeps keys and values, of a block and of each run of them that it reads."""
TURN = 10
"""Cycles between the last word of a block and the first of the next, when its activations are there."""


@dataclass(slots=True)
class _Server:
    """What serves one block after the other: when it is free."""

    free: float = 0.0

    def serve(self, ready: float, cycles: float) -> float:
        """When a block that is there at ``ready`` has been served."""
        self.free = max(self.free, ready) + cycles
        return self.free


@dataclass(slots=True)
class Step:
    """The recurrence: the elements, the units that serve them, and the depths of their pipelines."""

    config: Architecture
    wide: Wide
    block: Block
    loops: Loops
    seen: list[int]
    latency: int
    sizes: list[int]
    fifo: _Fifo
    kept: Channel = IDEAL
    elements: _Server = field(default_factory=_Server)
    summing: _Server = field(default_factory=_Server)
    scoring: _Server = field(default_factory=_Server)
    mixing: _Server = field(default_factory=_Server)
    dividing: _Server = field(default_factory=_Server)
    quantising: _Server = field(default_factory=_Server)
    products: float = 0.0
    starved: float = 0.0

    @classmethod
    def of(
        cls,
        report: Any,
        config: Architecture,
        wide: Wide,
        block: Block,
        seen: list[int],
        channel: Channel,
    ) -> Self:
        """The recurrence before a step of tokens, each of which scans so many keys."""
        count = len(seen)
        sizes = [min(block.tokens, count - first) for first in range(0, count, block.tokens)]
        fifo = _Fifo(channel.bytes_per_cycle / wide.lanes, wide.prefetch)
        fifo.pause(-channel.latency)
        return cls(config, wide, block, Loops(report), seen, channel.latency, sizes, fifo)

    def ended(self, end: float, words: int, channel: Channel) -> StepPrediction:
        """A step that ends so, for which each channel reads ``words``."""
        return StepPrediction(
            round(end),
            round(words * max(1.0, self.wide.lanes / channel.bytes_per_cycle)),
            round(end - self.products - self.starved),
            round(self.starved),
        )

    def job(self, ready: list[float], words: int, taking: float = 0.0) -> list[float]:
        """When the sums of a job of every block are there, whose activations are there at ``ready``.

        Args:
            taking: cycles in which what stands behind the job takes the results of a token.
        """
        blocks = enumerate(zip(self.sizes, ready, strict=True))
        return [self.multiply(at, words, n, wave > 0, n * taking) for wave, (n, at) in blocks]

    def gates(self) -> float:
        """Cycles in which the results of a token are bent, of the third job."""
        words = self.config.ffn / self.wide.vector
        return words * self.wide.gelu_interval

    def bend(self, ready: list[float], words: int) -> list[float]:
        """When the activated results of such a job are arranged."""
        loops, ends = self.loops, self.job(ready, words, self.gates())
        if self.wide.block:
            return [self.quantise(at, n) for n, at in zip(self.sizes, ends, strict=True)]
        if self.config.gated:
            behind = loops.depth("part_block", "word") + loops.depth("gate_block", "out") + CALL
        else:
            behind = loops.depth("bend_block", "out")
        return [at + behind + self.arrange("bent") for at in ends]

    def quantise(self, ready: float, tokens: int) -> float:
        """When gated activations with steps of their own are arranged, whose last sums come at ``ready``."""
        loops, wide, ffn = self.loops, self.wide, self.config.ffn
        known = ready + loops.depth("part_block", "word") + loops.depth("multiply_gates", "out")
        # Of a block of tokens the steps are found, then the shifts, and then all words leave.
        mine = self.block.across(tokens)
        taken = mine * (1 + ffn // wide.block + ffn // wide.vector)
        behind = sum(loops.depth("quantise_gates", loop) for loop in ("first", "whole", "out"))
        behind += loops.depth("joining_lanes_bent_0", "piece")
        if self.block.row_lanes > 1:
            behind += loops.depth("sharing_0", "out")
        return self.quantising.serve(known, taken) + behind + 3 * CALL + self.arrange("bent")

    def multiply(
        self, ready: float, words: int, tokens: int, again: bool = False, taking: float = 0.0
    ) -> float:
        """When the sums of a job of one block are there: ``words`` a channel, each for all tokens.

        Args:
            again: whether another block had the job before, so that its words are read again.
            taking: cycles in which its results are taken.
        """
        rounds = -(-tokens // self.block.rows)
        cycles = words * rounds
        begin = max(self.elements.free + TURN, ready)
        # A loader that goes back to a job's first word has none on their way meanwhile.
        self.fifo.pause(begin - self.elements.free - (self.latency if again else 0))
        taken = self.fifo.take(words, rounds)
        self.products += cycles
        self.starved += taken - cycles
        return self.elements.serve(begin, max(taken, taking)) + self.results(tokens)

    def results(self, tokens: int) -> float:
        """From the last product to the last rescaled result."""
        loops, wide = self.loops, self.wide
        last = (tokens - 1) % self.block.rows + 1
        return (
            loops.depth("multiply_block", "mac")
            + last * wide.channels // wide.vector
            + loops.depth("pregather_0", "one")
            + loops.depth("gather_0", "word")
            + loops.depth(self.of_steps("rescale_block"), "out")
        )

    def enter(self, tokens: int) -> float:
        """When the results of an entrance are there."""
        config, wide = self.config, self.wide
        pieces = lane_words(tokens, config, wide, self.block)
        ready = pieces + self.loops.depth("entering_0", "word") + self.arrange("normed")
        return self.multiply(ready, entrance_words(config, self.wide), tokens)

    def normalise(self, ready: float, tokens: int) -> float:
        """When the norms of a block are arranged, whose last residual comes at ``ready``."""
        loops = self.loops
        rows = self.config.d // self.wide.vector
        ready = max(ready + loops.depth("collect", "plus"), self.summing.free)
        last = self.norms(tokens)
        # Rows of as many tokens leave together as there are lanes.
        self.summing.free = ready + max(self.block.across(tokens) * rows, last - 2 * rows)
        return (
            ready
            + last
            + loops.depth(self.of_steps("normalise_rows"), "token")
            + self.arrange("normed")
        )

    def norms(self, tokens: int) -> int:
        """From the first row of a block to the first row of its last token, at the units of norms."""
        rows = self.config.d // self.wide.vector
        one = self.loops.depth(self.of_steps("normalise_rows"), "token")
        turns = -(-tokens // self.block.norms)
        if self.block.row_lanes > 1:
            return (turns - 1) * one
        # Either the rows come one after the other, or the units take one token after the other.
        taken = (turns - 1) * one + (tokens - 1) % self.block.norms * rows
        return max((tokens - 1) * rows, taken)

    def arrange(self, name: str) -> float:
        """From a block's last piece to its first word at the elements."""
        loops, kernel = self.loops, f"arrange_{name}"
        depth = loops.depth(kernel, "take") + loops.depth(kernel, "word")
        spread = ("spreading_0", "casting_0", "recasting_0")
        return depth + sum(loops.depth(kernel, "word") for kernel in spread)

    def attend(self, keys_there: float, values_there: float, first: int, tokens: int) -> float:
        """When attention of a block is arranged."""
        loops, wide, config, together = self.loops, self.wide, self.config, self.block.queries
        new = config.kv_heads // wide.heads
        keys = [self.scan(n) + (RUN if together else 0) for n in self.passes(first, tokens)]
        steps = new * sum(keys)
        score, mix = (self.unit(kernel) for kernel in self.attention)
        # What keeps keys and values writes all new ones, and then reads.
        written = KEPT if together else 0
        scored = self.scoring.serve(keys_there + written, steps + 2 * CALL)
        scored += loops.depth(score, "key")
        # A query is mixed when all its keys are scored, and the values are there.
        kept = max(values_there, self.mixing.free) + new * CALL + written
        alone = max(kept, scored - steps + keys[0]) + steps
        self.mixing.free = max(alone, scored + keys[-1])
        group = config.heads // config.kv_heads
        of_token = config.head_dim // wide.vector
        depth = loops.depth(mix, "key") + loops.depth("collecting_0", "head")
        depth += loops.depth("divide_block", "out")
        if not together:
            # Of the last heads of every unit, those of one unit are divided after those of another.
            pieces = (1 + (wide.heads - 1) * group) * of_token
            return self.mixing.free + depth + pieces + self.arrange("attended")
        depth += loops.depth("unfolding_0", "lane")
        # The last pass is divided as a whole, and what came of others may still be, too.
        of_pass = wide.heads * group * of_token
        last = self.mixing.free + (1 + (tokens - 1) % together) * of_pass
        divided = self.dividing.serve(self.mixing.free - steps + keys[0], tokens * of_pass * new)
        return max(last, divided) + depth + self.arrange("attended")

    def scan(self, keys: int) -> float:
        """Cycles in which a unit has so many keys of a sequence from the memory that keeps them."""
        kept = self.kept
        word = max(1.0, self.config.head_dim / kept.bytes_per_cycle)
        if not kept.latency:
            return keys * word
        lines = LINE / self.config.head_dim
        reader = Reader(word, lines, kept.latency, kept.lines or LEAST_AHEAD, kept.lost)
        return keys * word + reader.gap

    @property
    def attention(self) -> tuple[str, str]:
        """The kernels that score and mix."""
        return (
            ("score_shared", "mix_shared") if self.block.queries else ("score_block", "mix_block")
        )

    def passes(self, first: int, tokens: int) -> list[int]:
        """Keys that the passes over a head of a unit's keys scan, of a block's tokens."""
        seen, together = self.seen[first : first + tokens], self.block.queries
        if not together:
            return [n for n in seen for _ in range(self.config.heads // self.config.kv_heads)]
        found = list[int]()
        for at, n in enumerate(seen):
            # Tokens of a sequence follow each other in its cache.
            if at % together and n == seen[at - 1] + 1:
                found[-1] = n
            else:
                found.append(n)
        return found

    def of_steps(self, kernel: str) -> str:
        """A kernel, or the one in its place where tokens have steps of their own."""
        return f"{kernel}_tokens" if self.wide.block else kernel

    def unit(self, kernel: str) -> str:
        """A kernel of the units; with several units and memories, each has one of its own."""
        return kernel if kernel in self.loops else f"{kernel}_v0"


def predict_block_step(
    report: Any,
    config: Architecture,
    wide: Wide,
    block: Block,
    count: int,
    start: int = 0,
    channel: Channel = IDEAL,
) -> StepPrediction:
    """Predict the step of ``count`` tokens at position ``start``, and the logits after the last.

    Args:
        report: the ``DesignReport`` of the accelerator.
        channel: what each channel of the weights gives.
    """
    seen = list(range(start + 1, start + count + 1))
    return predict_rows(report, config, wide, block, seen, 1, channel)


def predict_rows(
    report: Any,
    config: Architecture,
    wide: Wide,
    block: Block,
    seen: list[int],
    spoken: int,
    channel: Channel = IDEAL,
    kept: Channel = IDEAL,
) -> StepPrediction:
    """Predict a step of rows, and the logits after the last ``spoken``.

    Args:
        report: the ``DesignReport`` of the accelerator.
        seen: keys that each row scans: one more than its place (:mod:`.rows`). Rows whose places follow each
            other are taken to be of one sequence.
        channel: what each channel of the weights gives.
        kept: what each memory of a unit's keys, and of its values, gives.
    """
    step = Step.of(report, config, wide, block, seen, channel)
    step.kept = kept
    loops, sizes, firsts = step.loops, step.sizes, range(0, len(seen), block.tokens)
    (qkv, projected, up, down), logits = job_words(config, wide)
    rows = config.d // wide.vector
    embed = loops.depth("look_up" if config.rotary else "embed_block", "row") + CALL
    there = []
    taken = 0.0
    for size in sizes:
        # Embedding goes row by row; a block is summed before its rows leave.
        taken = max(taken, step.summing.free) + size * (rows + embed)
        entered = taken
        if block.entrance:
            entered = max(taken, step.enter(size))
        there.append(step.normalise(entered, size))
    packed = loops.depth("pack_block", "out") + loops.depth("dealing_0", "head") + CALL
    packed += loops.depth("rotate_block", "out") if config.rotary else 0
    values = config.kv_heads / (config.heads + 2 * config.kv_heads)
    for layer in range(config.layers):
        attended = []
        for first, size, ready in zip(firsts, sizes, there, strict=True):
            done = step.multiply(ready, qkv, size, first > 0) + packed
            keys_there = done - qkv * -(-size // block.rows) * values
            attended.append(step.attend(keys_there, done, first, size))
        summed = step.job(attended, projected)
        there = [step.normalise(r, n) for n, r in zip(sizes, summed, strict=True)]
        summed = step.job(step.bend(there, up), down)
        if layer < config.layers - 1:
            there = [step.normalise(r, n) for n, r in zip(sizes, summed, strict=True)]
    # The last norm and the logits are those of the last tokens.
    there = [step.normalise(summed[-1], spoken)]
    end = step.multiply(there[0], logits, spoken) + loops.depth("say_block", "out")
    memory = config.layers * len(sizes) * (qkv + projected + up + down) + logits
    memory += entrance_words(config, wide) if block.entrance else 0
    return step.ended(end, memory, channel)
