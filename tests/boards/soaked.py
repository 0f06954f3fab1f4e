"""The designs that are called many times over a bad line, each with calls that know what they must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import Stateful, Stream, int8, int16, int32


@dataclass
class Calls:
    """A design, and calls of it.

    Attributes:
        module: the design.
        begin: the core is in its first state.
        draw: the arguments of the next call, and what they and its result must be after it.
        patience: seconds that a reply may take beside its time on the line.
    """

    module: Any
    begin: Callable[[], None]
    draw: Callable[[np.random.Generator], tuple[list[Any], list[Any], Any]]
    patience: float = 0.05


def scaled(A: int8[16, 8], B: int8[8], C: int32[16], gain: int32) -> int32:
    last: int32 = 0
    for i in range(16):
        sum: int32 = C[i]
        for j in range(8):
            sum += A[i, j] * B[j]
        last = sum * gain
        C[i] = last
    return last


def arrays(link: str = "uart") -> Calls:
    """Arrays in RAM of the device, and scalars."""
    schedule = allo.customize(scaled)
    cpu = schedule.build()

    def draw(rng: np.random.Generator) -> tuple[list[Any], list[Any], Any]:
        A, B = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((16, 8), 8))
        C, gain = rng.integers(-1000, 1000, 16, dtype=np.int32), int(rng.integers(-9, 9))
        expected = C.copy()
        return [A, B, C, gain], [A, B, expected, gain], cpu(A, B, expected, gain)

    module = schedule.build(target="verilog", clock_mhz=100, device="ecp5", link=link)
    return Calls(module, lambda: None, draw)


@df.region()
def sums(n: int32[1], X: Stream[int8[4], 2], Y: Stream[int32, 2], last: int32[1]):
    total: int32[4] @ Stateful = 0

    @df.kernel(mapping=[1], args=[n, last])
    def add(count: int32[1], end: int32[1]):
        for i in range(count[0]):
            x: int8[4] = X.get()
            for k in range(4):
                total[k] += x[k]
            Y.put(total[0] + total[1] + total[2] + total[3])
        end[0] = total[0]


def streams(link: str = "uart") -> Calls:
    """Streams of blocks and of scalars, an array, and sums that live on between calls."""
    kept = [0, 0]

    def draw(rng: np.random.Generator) -> tuple[list[Any], list[Any], Any]:
        count, more = int(rng.integers(0, 40)), int(rng.integers(0, 9))
        X = rng.integers(-128, 128, (count + more, 4), dtype=np.int8)
        Y, last = np.zeros(count + more, np.int32), np.zeros(1, np.int32)
        n, expected = np.array([count], np.int32), Y.copy()
        expected[:count] = kept[0] + np.cumsum(X[:count].sum(axis=1, dtype=np.int32))
        kept[0] += int(X[:count].sum(dtype=np.int64))
        kept[1] += int(X[:count, 0].sum(dtype=np.int64))
        end = np.array([kept[1]], np.int32)
        return [n, X, Y, last], [n, X, expected, end], None

    module = df.build(sums, target="verilog", clock_mhz=100, device="ecp5", link=link)
    return Calls(module, lambda: kept.__setitem__(slice(2), [0, 0]), draw)


def axpy(a: int32, X: int16[300], Y: int32[300], Z: int8[7]) -> int32:
    sum: int32 = 0
    for i in range(300):
        Y[i] = Y[i] + a * X[i]
        sum += Y[i]
    for i in range(7):
        Z[6 - i] = Z[i] + 1
    return sum


def memory(link: str = "uart") -> Calls:
    """Arrays in the board's memory, over buses of two widths, and scalars in registers."""
    schedule = allo.customize(axpy)
    cpu = schedule.build()
    kept = np.arange(300, dtype=np.int16)

    def draw(rng: np.random.Generator) -> tuple[list[Any], list[Any], Any]:
        for changed in range(int(rng.integers(0, 3))):  # the rest is not sent again
            kept[rng.integers(0, 300)] = rng.integers(-999, 999) + changed
        X, a = kept.copy(), int(rng.integers(-9, 9))
        Y, Z = rng.integers(-999, 999, 300, np.int32), rng.integers(-99, 99, 7, np.int8)
        filled = [Y.copy(), Z.copy()]
        return [a, X, Y, Z], [a, X, *filled], cpu(a, X, *filled)

    buses = {"X": "m_axi", "Y": {"kind": "m_axi", "width": 64}, "Z": "m_axi"}
    ports = {"interface": buses}
    module = schedule.build(target="verilog", board="ulx3s-85f", configs=ports, link=link)
    return Calls(module, lambda: None, draw, patience=0.5)


DESIGNS: dict[str, Callable[[], Calls]] = {
    "arrays": arrays,
    "streams": streams,
    "memory": memory,
}
