"""Quantisers: between the floats that the executor gives and the levels that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allo.dialects.diagnostics import ModelError

from .reading import Array, Node
from .values import Affine, aligned

QUANTISERS = frozenset(
    {"Quant", "IntQuant", "BipolarQuant", "Trunc", "FloatQuant", "MultiThreshold"}
)
_WIDEST = 24  # bits of a level that a float32 holds exactly


@dataclass(frozen=True, slots=True)
class Grid:
    """``scale * level + offset``, levels of ``low`` … ``high``.

    Attributes:
        scale, offset: of the tensor's rank, in float64.
        low, high: bounds of the levels.
        values: the levels that there are, rising, where that are few of those between the bounds.
    """

    scale: Array
    offset: Array
    low: int
    high: int
    values: Array | None = None

    @property
    def affine(self) -> Affine:
        """What a level stands for."""
        return Affine(self.scale, self.offset)

    def levels(self, floats: Array) -> Array:
        """The levels of floats that the quantiser gave, which differ from it by their rounding only."""
        found = np.rint((floats.astype(np.float64) - self.offset) / self.scale)
        return np.clip(found, self.low, self.high).astype(np.int64)


def grid_of(node: Node, given: Sequence[Array | None], rank: int) -> Grid:
    """The grid of a quantiser.

    Args:
        node: the quantiser.
        given: its inputs where they are constant.
        rank: of the tensor that it quantises.

    Raises:
        UnsupportedOperatorError: a form that is not known.
        ModelError: a scale of 0, or levels that a float32 does not hold.
    """
    values = [np.asarray(array) for array in given[1:] if array is not None]
    grid = _BUILDERS[node.op](node, values, rank)
    if not np.all(np.isfinite(grid.scale)) or not np.all(grid.scale):
        raise ModelError(
            f"Node {node.path!r} has a scale of 0, or one that is no number.",
            help="a channel that is always 0 has to have a scale too; 1 does.",
        )
    widest = max(abs(grid.low), abs(grid.high))
    if widest > 1 << _WIDEST:
        raise ModelError(
            f"Node {node.path!r} quantises to levels up to {widest}, which float32 does not hold: the "
            f"executor itself would round them by up to {widest >> _WIDEST} levels.",
            help=f"quantisers of at most {_WIDEST} bits are exact.",
        )
    return grid


def _width(node: Node, array: Array) -> int:
    bits = float(np.asarray(array).reshape(-1)[0])
    if np.unique(array).size != 1 or bits != int(bits) or bits < 1:
        raise node.refusal(
            f"of {bits:g} bits", "one whole number of bits, at least 1, is supported."
        )
    return int(bits)


def _bounds(bits: int, *, signed: bool, narrow: bool) -> tuple[int, int]:
    if signed:
        return -(1 << (bits - 1)) + narrow, (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1 - narrow


def _quant(node: Node, values: Sequence[Array], rank: int) -> Grid:
    scale, zero, width = values[:3]
    bits = _width(node, width)
    signed = bool(node.attributes.get("signed", 1))
    unit = aligned(scale, rank)
    centre = aligned(zero, rank)
    if bits == 1 and signed:  # the executor gives -1 and 1, less the zero point
        return Grid(2 * unit, -unit - centre * unit, 0, 1)
    low, high = _bounds(bits, signed=signed, narrow=bool(node.attributes.get("narrow", 1)))
    return Grid(unit, -centre * unit, low, high)


def _bipolar(node: Node, values: Sequence[Array], rank: int) -> Grid:
    unit = aligned(values[0], rank)
    return Grid(2 * unit, -unit, 0, 1)


def _trunc(node: Node, values: Sequence[Array], rank: int) -> Grid:
    scale, zero = aligned(values[0], rank), aligned(values[1], rank)
    if node.version == 1:
        bits = _width(node, values[3])
        shift = 2.0 ** (_width(node, values[2]) - bits)
        # Nothing is clamped: the levels are as far as those of the input, which the caller knows.
        edge = 1 << (bits + 1)
        return Grid(scale, -zero * scale, -edge, edge if shift >= 1 else edge << 1)
    out, bits = aligned(values[3], rank), _width(node, values[4])
    shrink = 2.0 ** np.rint(np.log2(out / scale))
    signed, narrow = (bool(node.attributes.get(k, d)) for k, d in (("signed", 1), ("narrow", 0)))
    low, high = _bounds(bits, signed=signed, narrow=narrow)
    return Grid(out, -zero / shrink * out, low, high)


def _thresholds(node: Node, values: Sequence[Array], rank: int) -> Grid:
    scale = float(node.attributes.get("out_scale", 1.0))
    offset = float(node.attributes.get("out_bias", 0.0))
    return Grid(
        aligned(np.asarray(scale), rank), aligned(np.asarray(offset), rank), 0, values[0].shape[-1]
    )


def _float(node: Node, values: Sequence[Array], rank: int) -> Grid:
    """A small float is an integer in units of its smallest number."""
    scale, exponents, mantissa, bias, largest = values[:5]
    unit = 2.0 ** (1 - float(bias) - float(mantissa))
    wide = (2.0 - 2.0 ** -float(mantissa)) * 2.0 ** (2.0 ** float(exponents) - 1 - float(bias))
    high = int(min(wide, float(largest)) / unit)
    if not node.attributes.get("saturation", 1):
        raise node.refusal(
            "with saturation=0", "saturation=1 is supported: there are no infinities."
        )
    steps = 1 << int(mantissa)
    numbers = {min(k << s, high) for k in range(2 * steps) for s in range(high.bit_length())}
    found = np.array(sorted({*numbers, *(-n for n in numbers)}), np.int64)
    return Grid(aligned(scale, rank) * unit, aligned(np.zeros(()), rank), -high, high, found)


_BUILDERS = {
    "Quant": _quant,
    "IntQuant": _quant,
    "BipolarQuant": _bipolar,
    "Trunc": _trunc,
    "FloatQuant": _float,
    "MultiThreshold": _thresholds,
}
