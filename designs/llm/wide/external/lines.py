"""What a channel holds where it has one reader: its lines, part by part, in the order in which they are read.

A row is V float32. The rows of tables lie on all channels in turn: a line has as many as fit one behind the
other, and line i is on channel i mod C. The rows of each part fill up whole rounds of lines, so that every
channel has as many of them. Before each job's weights are the gains of the norm in front of it, and the
factors and biases of its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...config import Architecture
from ..families.model import job_sizes, position_row, terms
from ..parameters import Wide, job_words, padded_vocab, page_lines, said_words

FACTORS = 3
"""Factors of a layer's activations, of softmax, attention and GELU: a row each."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a channel.

    Attributes:
        factors: of the factors of all layers' activations.
        tables: of gains, factors and biases, in front of the weights of each job of a layer, and of the last.
        words: of weights, of the same jobs.
        layers: of the model.
        cache: of keys and values.
        token, place: of a token's row, and of a position's.
        tokens, places: of all of them.
        said: of what a step writes: logits, and the largest of them.
    """

    factors: int
    tables: tuple[int, ...]
    words: tuple[int, ...]
    layers: int
    cache: int
    token: int
    place: int
    tokens: int
    places: int
    said: int

    @property
    def pages(self) -> int:
        """Where keys and values begin: behind all weights."""
        layer = sum(self.tables[:-1]) + sum(self.words[:-1])
        return self.factors + self.layers * layer + self.tables[-1] + self.words[-1]

    @property
    def size(self) -> int:
        """All lines of a channel; what a step writes is the end of them."""
        return self.pages + self.cache + self.tokens + self.places + self.said


def per_line(wide: Wide) -> int:
    """Rows in a line."""
    return max(1, wide.lanes // (4 * wide.vector))


def rounds(rows: int, wide: Wide) -> int:
    """Lines of each channel that hold so many rows."""
    return -(-rows // (wide.channels * per_line(wide)))


def lines_waiting(wide: Wide) -> int:
    """Keys, and values, of a channel that may wait for their unit."""
    return max(2, wide.cache_prefetch // wide.across)


def table_rows(config: Architecture, wide: Wide) -> tuple[tuple[int, int], ...]:
    """Rows of gains, and of factors and biases, in front of each job of a layer, and of the last one."""
    per_sum, per_element = terms(config)
    gains = per_element * config.d // wide.vector
    sums = [outputs for outputs, _ in job_sizes(config)] + [padded_vocab(config, wide)]
    rows = zip((gains, 0, gains, 0, gains), sums, strict=True)
    return tuple((gain, per_sum * outputs // wide.vector) for gain, outputs in rows)


def lines_of(config: Architecture, wide: Wide) -> Lines:
    """The lines of each channel."""
    jobs, last = job_words(config, wide)
    per_unit = config.kv_heads // wide.heads
    token = rounds(config.d // wide.vector, wide)
    place = rounds(position_row(config) // wide.vector, wide)
    return Lines(
        factors=rounds(FACTORS * config.layers, wide),
        tables=tuple(rounds(sum(rows), wide) for rows in table_rows(config, wide)),
        words=(*jobs, last),
        layers=config.layers,
        cache=config.layers * per_unit * page_lines(config, wide),
        token=token,
        place=place,
        tokens=config.vocab * token,
        places=config.context * place,
        said=rounds(said_words(config, wide), wide),
    )


def on_channels(parts: Sequence[np.ndarray], wide: Wide) -> np.ndarray:
    """Rows, float32 (rows, V) of each of several parts behind each other, as bytes of each channel."""
    rows = np.concatenate([part.reshape(-1, wide.vector) for part in parts]).astype(np.float32)
    held = rounds(len(rows), wide)
    filled = np.zeros((held * wide.channels * per_line(wide), wide.vector), np.float32)
    filled[: len(rows)] = rows
    turned = filled.reshape(held, wide.channels, -1).transpose(1, 0, 2)
    out: np.ndarray = np.ascontiguousarray(turned).view(np.int8).reshape(wide.channels, -1)
    return out


def table_on_channels(table: np.ndarray, wide: Wide) -> np.ndarray:
    """A table of whose rows a step reads one: each fills whole lines of all channels."""
    rows = table.reshape(len(table), -1).astype(np.float32)
    held = rounds(rows.shape[1] // wide.vector, wide)
    filled = np.zeros((len(rows), held * wide.channels * wide.lanes // 4), np.float32)
    filled[:, : rows.shape[1]] = rows
    turned = filled.reshape(len(rows), held, wide.channels, -1).transpose(2, 0, 1, 3)
    out: np.ndarray = np.ascontiguousarray(turned).view(np.int8).reshape(wide.channels, -1)
    return out


def from_channels(memory: np.ndarray, lines: int, wide: Wide) -> np.ndarray:
    """The numbers in so many lines at the end of each channel, as :func:`on_channels` has dealt them."""
    raw = memory.view(np.int8).reshape(wide.channels, -1, wide.lanes)[:, -lines:]
    out: np.ndarray = np.ascontiguousarray(raw.swapaxes(0, 1)).reshape(-1).view(np.float32)
    return out
