"""The accelerator for blocks behind a server: all sequences under way share each pass over the weights."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checkpoints.quantize import QuantizedModel
from ..config import Architecture
from ..wide.block.host import make_block_memories, step
from ..wide.block.parameters import Block
from ..wide.block.rows import Rows, beside, following
from ..wide.parameters import Wide
from .engine import Result, Work

LEAST_TOKENS = 32
"""Tokens of a step that prompts have room for, beside others."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Kept:
    """Keys and values of a sequence: in a slot of the accelerator, or kept by the host."""

    slot: int | None = None
    saved: tuple[np.ndarray, ...] = ()


def block_for(model: Architecture, batch: int) -> Block:
    """A step with the next tokens of ``batch`` sequences, and room for parts of prompts."""
    rows = min(batch, 8)
    tokens = rows * -(-max(batch, LEAST_TOKENS) // rows)
    return Block(rows, tokens, min(tokens, batch * model.context), 2, batch, batch)


class BatchEngine:
    """The accelerator for blocks, as CPU build or simulated RTL, with a sequence in each of its slots.

    There may be more sequences than slots: those that step need one, and what was used longest ago goes to
    the host's memory.

    Args:
        run: the built region.
    """

    def __init__(
        self, run: Callable[..., Any], weights: QuantizedModel, wide: Wide, block: Block
    ) -> None:
        self.context = weights.config.context
        self.chunk = max(1, block.most // block.slots)
        self._run = run
        self._weights = weights
        self._wide = wide
        self._block = block
        self._memories = make_block_memories(weights, wide, block)
        m = weights.config
        shape = wide.heads, m.layers, m.kv_heads // wide.heads, block.slots, m.context, m.head_dim
        memories = self._memories.keys, self._memories.values
        self._views = [memory.view(np.int8).reshape(shape) for memory in memories]
        self._held: list[weakref.ref[Kept] | None] = [None] * block.slots
        self._used = [0] * block.slots
        self._steps = 0

    def open(self) -> Kept:
        """A sequence without keys and values, which has no slot yet."""
        return Kept()

    def copy(self, cache: Kept) -> Kept:
        """Another sequence with the same keys and values."""
        return Kept(None, cache.saved if cache.slot is None else self._read(cache.slot))

    def step(self, work: Sequence[Work]) -> list[Result]:
        """The steps, as many at once as there are slots."""
        batches = itertools.batched(work, self._block.slots)
        return [result for batch in batches for result in self._at_once(batch)]

    def _at_once(self, work: Sequence[Work]) -> list[Result]:
        self._steps += 1
        for each in work:
            if each.cache.slot is not None:
                self._used[each.cache.slot] = self._steps
        rows = _last_behind([self._rows_of(each) for each in work])
        taken = self._weights, self._wide, self._block, self._memories
        logits = step(self._run, *taken, rows, len(work))
        cycles = getattr(self._run, "cycles", None)
        return [Result(each, cycles) for each in logits]

    def _rows_of(self, work: Work) -> Rows:
        slot = self._seat(work.cache)
        return following((work.token, *work.more), work.position, slot)

    def _seat(self, cache: Kept) -> int:
        """The slot of a sequence, which gets one where it has none."""
        if cache.slot is None:
            slot = min(range(len(self._held)), key=self._last_use)
            self._leave(slot)
            if cache.saved:
                for view, saved in zip(self._views, cache.saved, strict=True):
                    view[:, :, :, slot] = saved
            cache.slot, cache.saved = slot, ()
            self._held[slot] = weakref.ref(cache)
            self._used[slot] = self._steps
        return cache.slot

    def _last_use(self, slot: int) -> int:
        """The step that used a slot last; before all for one that nobody needs."""
        held = self._held[slot]
        return -1 if held is None or held() is None else self._used[slot]

    def _leave(self, slot: int) -> None:
        held = self._held[slot]
        owner = held() if held is not None else None
        if owner is not None:
            owner.saved, owner.slot = self._read(slot), None

    def _read(self, slot: int) -> tuple[np.ndarray, ...]:
        return tuple(view[:, :, :, slot].copy() for view in self._views)


def _last_behind(parts: Sequence[Rows]) -> Rows:
    """Sequences beside each other; the last row of each, whose logits are asked for, behind all others."""
    rows = beside(parts)
    ends = np.cumsum([len(part) for part in parts]) - 1
    order = np.concatenate([np.setdiff1d(np.arange(len(rows)), ends), ends])
    return Rows(
        rows.tokens[order],
        rows.positions[order],
        rows.slots[order],
        rows.before[order],
        rows.sees[np.ix_(order, order)],
    )
