"""Memories of the chip that a device of a pipeline takes for its share: weights, and keys and values.

Weights are in blocks of 288 kbit, words of an element side by side; keys and values in blocks of 36 kbit, so
that both kinds are used. What else a device has, FIFOs and tables, its estimate counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from allo.errors import AlloError

from ..analysis.data import Fpga
from ..config import Architecture
from ..wide.parameters import Wide, job_words

WIDE_BITS, WIDE_WORDS = 72, 4096
"""A block of 288 kbit."""
SMALL_BITS, SMALL_WORDS = 72, 512
"""A block of 36 kbit, two of 18."""


class CapacityError(AlloError):
    """A model whose weights, keys and values no number of devices holds."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one device of a pipeline takes.

    Attributes:
        devices: of the pipeline.
        uram: blocks of 288 kbit, for weights.
        bram18: blocks of 18 kbit, for keys and values.
    """

    devices: int
    uram: int
    bram18: int


def taken(config: Architecture, wide: Wide, devices: int, sequences: int) -> Taken:
    """What the last device of a pipeline takes, which has the logits beside its layers.

    Args:
        sequences: whose keys and values it keeps, each of the context's length.
    """
    layers = config.layers // devices
    jobs, logits = job_words(config, wide)
    words = layers * sum(jobs) + logits
    weights = wide.channels * math.ceil(8 * wide.word / WIDE_BITS) * math.ceil(words / WIDE_WORDS)
    keys = sequences * layers * config.kv_heads // wide.heads * config.context
    unit = math.ceil(8 * config.head_dim / SMALL_BITS) * math.ceil(keys / SMALL_WORDS)
    return Taken(devices, weights, 2 * 2 * wide.heads * unit)


def fewest_devices(
    config: Architecture, wide: Wide, card: Fpga, sequences: int = 0, fill: float = 0.85
) -> Taken:
    """The shortest pipeline whose last device has room.

    Args:
        sequences: that the devices keep; 0 for one a device.
        fill: the share of both kinds of blocks that may be taken.

    Raises:
        CapacityError: one layer with the logits is too large, with the blocks that are missing.
    """
    counts = [n for n in range(1, config.layers + 1) if config.layers % n == 0]
    found = [taken(config, wide, n, sequences or n) for n in counts]
    uram, bram18 = fill * card.uram, fill * card.bram18
    for one in found:
        if one.uram <= uram and one.bram18 <= bram18:
            return one
    last = found[-1]
    raise CapacityError(
        f"A device with one of the {config.layers} layers takes {last.uram:,} of {uram:,.0f} blocks of 288 "
        f"kbit and {last.bram18:,} of {bram18:,.0f} of 18 kbit of {card.title}.",
        help="shorten the context, have fewer sequences, or take a larger device.",
    )
