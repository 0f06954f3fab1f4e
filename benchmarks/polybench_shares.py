"""Speed-up for the share of a device: designs of PolyBench beside those of Stream-HLS.

A design takes a share of a U280, the larger of those of its lookup tables and its DSPs. Twice as fast on
twice the share is no gain. Times of ours are cycles at the estimated clock, or at the clock asked for where
the estimate is above it; those of Stream-HLS (FPGA'25, RTL cycles, LUT and DSP of its artifact) are cycles at
the 300 MHz that it asks for, as if these were met.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from allo.backend.devices import DEFAULT_DEVICE, resources_of

PEER_MHZ = 300.0
SHARED = {kind: resources_of(DEFAULT_DEVICE)[kind] for kind in ("lut", "dsp")}
"""What a U280 has of the two resources that the designs fill."""
WANTED = (2.0, 1.6, 1.4)
"""The geometric means that are asked for at the three budgets."""


@dataclass(frozen=True, slots=True)
class Taken:
    """One design: the time of a run in microseconds, and what it takes."""

    us: float
    lut: float
    dsp: float

    @property
    def share(self) -> float:
        """Of a U280."""
        return max(self.lut / SHARED["lut"], self.dsp / SHARED["dsp"])


def _peers(*designs: tuple[int, float, int]) -> tuple[Taken, ...]:
    return tuple(Taken(cycles / PEER_MHZ, 1000 * lut, dsp) for cycles, lut, dsp in designs)


STREAM_HLS = {
    "gemm": _peers((330_053, 12.6, 194), (24_051, 150.8, 2_552), (7_100, 492.9, 8_304)),
    "two_mm": _peers((378_254, 15.9, 222), (36_352, 159.8, 1_942), (11_832, 640.8, 7_435)),
    "three_mm": _peers((601_511, 17.5, 227), (49_092, 159.9, 2_507), (14_357, 602.6, 8_026)),
    "atax": _peers((15_855, 17.0, 202), (2_180, 105.6, 1_502), (2_180, 105.6, 1_502)),
    "bicg": _peers((8_033, 13.0, 201), (1_112, 89.7, 1_501), (1_112, 89.7, 1_501)),
    "mvt": _peers((8_041, 17.2, 202), (667, 197.8, 2_306), (550, 324.0, 3_582)),
    "gesummv": _peers((3_177, 14.7, 218), (673, 75.8, 922), (673, 75.8, 922)),
}
"""By kernel: at most 220, 2,560 and 9,024 DSPs."""


def microseconds(cycles: float, fmax_mhz: float, asked_mhz: float) -> float:
    """The time of so many cycles at the estimated clock, as far as it was asked for."""
    return cycles / min(fmax_mhz, asked_mhz)


def gain(ours: Taken, theirs: Taken) -> float:
    """How many times the peer's speed for a share of the device this is."""
    return theirs.us * theirs.share / (ours.us * ours.share)


def mean(gains: Iterable[float]) -> float:
    """The geometric mean."""
    found = list(gains)
    return float(prod(found) ** (1 / len(found)))
