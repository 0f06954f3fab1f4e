"""The model of dynamic memory against published measurements of an Alveo U280: Shuhai (FCCM 2020), and AMD.

scripts/bench memory_model

What lies across the switch between channels of HBM is in `memory_switch.py`, with its sources.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from dataclasses import dataclass

import numpy as np

from allo.backend.sim.dram.channel import DramChannel
from allo.backend.sim.dram.devices import DDR4_2400, DEVICES, HBM2, Device
from benchmarks import memory_switch as switch
from benchmarks.harness import Row, command_line, finish

SEQUENTIAL, STRIDED = 0.05, 0.15
PATTERN = "T[i] = (i * S) mod W, bursts of B bytes"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure and the model's.

    Attributes:
        limit: the deviation that is allowed, as a part; 0 where the source gives no exact figure.
    """

    what: str
    unit: str
    published: float
    modelled: float
    limit: float

    @property
    def deviation(self) -> float:
        """Of the model from the measurement, as a part of the latter."""
        return self.modelled / self.published - 1


def throughput(device: Device, stride: int, window: int, count: int) -> float:
    """GB/s of bursts of the device's size, as many under way as the controller takes."""
    ends = DramChannel(device).replay(np.arange(count) * stride % window, outstanding=device.queue)
    return float(count * device.burst_bytes / (ends[-1] * 1e3 / device.mhz))


def latencies(device: Device, stride: int) -> tuple[float, float]:
    """Of single reads in ns: the most common one, and that of the first after a refresh."""
    times = np.arange(200, dtype=np.uint64) * device.cycles(500) + 37
    ends = DramChannel(device).replay(np.arange(200) * stride % (1 << 28), times, outstanding=1)
    values, counts = np.unique(ends - times, return_counts=True)
    common = values[counts.argmax()]
    rest = values[(values != common) & (counts >= 2)]
    return float(common * 1e3 / device.mhz), float(rest.min() * 1e3 / device.mhz)


def figures(count: int = 60_000) -> list[Figure]:
    """Every published figure with the model's."""
    found = []
    for name, device, row, published in (
        ("HBM", HBM2, 1 << 20, (106.7, 122.2, 137.8)),
        ("DDR4", DDR4_2400, 1 << 21, (73.3, 89.9, 106.6)),
    ):
        hit, closed = latencies(device, 0)
        conflict, _ = latencies(device, row)
        kinds = ("row hit", "row closed", "row conflict")
        found += [
            Figure(f"{name} idle latency, {kind}", "ns", told, ours, STRIDED)
            for kind, told, ours in zip(kinds, published, (hit, closed, conflict), strict=True)
        ]
    whole = 1 << 28
    one = throughput(HBM2, 32, whole, count)
    near = throughput(HBM2, 1024, whole, count)
    by_bank = dataclasses.replace(HBM2, mapping="2G 2B 14R 5C")
    found += [
        Figure("HBM channel, sequential", "GB/s", 13.27, one, SEQUENTIAL),
        Figure("HBM, 32 channels, sequential", "GB/s", 425, 32 * one, SEQUENTIAL),
        Figure(
            "DDR4 channel, sequential",
            "GB/s",
            18,
            throughput(DDR4_2400, 64, whole, count),
            SEQUENTIAL,
        ),
        Figure("HBM B=32 S=4K W=8K", "GB/s", 6.7, throughput(HBM2, 4096, 8192, count), STRIDED),
        Figure("HBM B=32 S=4K W=256M", "GB/s", 2.4, throughput(HBM2, 4096, whole, count), STRIDED),
        Figure(
            "HBM B=32 S=1K, default map / bank-row-column",
            "x ('almost 10')",
            10,
            near / throughput(by_bank, 1024, whole, count),
            0,
        ),
    ]
    return found


def across(count: int = 1500) -> list[Figure]:
    """Published figures of the switch between channels of HBM, with the model's.

    Args:
        count: transactions of each random pattern.
    """
    found = []
    for hops, told in switch.LATENCIES.items():
        kinds = ("row hit", "row closed", "row conflict")
        for kind, cycles, ours in zip(kinds, told, switch.latencies(4 * hops), strict=True):
            what = f"switch, {hops} mini-switches away, {kind}"
            found.append(Figure(what, "cycles of 450 MHz", cycles, ours, STRIDED))
    for one_id, table in ((True, switch.RANDOM), (False, switch.ANY_ORDER)):
        for channels, sizes in table.items():
            for size, told in sizes.items():
                order = "one id" if one_id else "any order"
                what = f"random, {size} bytes, {channels} channels of one master, {order}"
                ours = switch.random_rate(channels, size, ids=not one_id, count=count)
                found.append(Figure(what, "GB/s", told, ours, STRIDED))
    shared, apart = switch.lateral_rate((0, 1), count), switch.lateral_rate((0, 2), count)
    found.append(Figure("two masters of one lateral link", "GB/s", switch.LATERAL, shared, STRIDED))
    found.append(Figure("two masters of two of them", "GB/s", 2 * 13.27, apart, STRIDED))
    return found


def main() -> int:
    """Measure, print, write; 1 when a figure is out of its limit."""
    target = command_line(__doc__).parse_args().json
    held = [*figures(), *across()]
    rows = [
        Row(
            each.what,
            each.modelled,
            each.unit,
            "published",
            each.published,
            note=f"{each.deviation:+.1%}"
            + ("" if each.limit else ", no limit: not an exact figure"),
        )
        for each in held
    ]
    worst = {
        limit: max(abs(f.deviation) for f in held if f.limit == limit)
        for limit in (SEQUENTIAL, STRIDED)
    }
    rows += [
        Row(
            "largest deviation, sequential", worst[SEQUENTIAL] * 100, "%", "limit", 5, at_most=True
        ),
        Row("largest deviation, others", worst[STRIDED] * 100, "%", "limit", 15, at_most=True),
    ]
    at = np.random.default_rng(1).integers(0, 1 << 20, 60_000)
    for kind, device in DEVICES.items():
        began = time.process_time()
        ends = DramChannel(device).replay(at * device.burst_bytes, outstanding=device.queue)
        spent = (time.process_time() - began) / len(at)
        rate = len(at) * device.burst_bytes / (ends[-1] * 1e3 / device.mhz)
        rows += [
            Row(
                f"{kind}, random bursts of {device.burst_bytes} bytes",
                float(rate),
                "GB/s",
                "peak",
                device.peak,
            ),
            Row(f"{kind}, host time of a request", spent * 1e6, "µs", "limit", 1.0, at_most=True),
        ]
    return finish("memory_model", f"Dynamic memory against measurements, {PATTERN}", rows, target)


if __name__ == "__main__":
    sys.exit(main())
