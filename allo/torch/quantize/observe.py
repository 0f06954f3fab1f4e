"""What calibration sees of every value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array


class Peaks:
    """The largest magnitudes that calibration has seen.

    Attributes:
        of_value: of each float value.
        of_channel: of each place of the last dimension, for the values that were asked for.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self.of_value: dict[str, float] = {}
        self.of_channel: dict[str, Array] = {}
        self._channels = frozenset(channels)

    def see(self, values: dict[str, Any]) -> None:
        """Take the values of one call."""
        for name, tensor in _floats(values):
            magnitude = tensor.abs()
            finite = magnitude[magnitude.isfinite()]
            peak = float(finite.max()) if finite.numel() else 0.0
            self.of_value[name] = max(self.of_value.get(name, 0.0), peak)
            if name in self._channels:
                rows = magnitude.reshape(-1, tensor.shape[-1]).amax(0).numpy()
                self.of_channel[name] = np.maximum(self.of_channel.get(name, rows), rows)


def _floats(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if hasattr(value, "is_floating_point") and value.is_floating_point() and value.numel():
            yield name, value
