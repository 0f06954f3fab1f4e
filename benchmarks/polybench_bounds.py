"""The utilisation that the size of a PolyBench kernel allows so many float units, by arithmetic.

A kernel is a row of phases that depend on one another. A phase takes at least the cycles in which its
multipliers and its adders do their work, and then those in which its last result passes through the pipeline:

    cycles = max(multiplications / multipliers, additions / adders) + 2 + m + a * levels

(a load and a store, a multiplier, adders one after the other), and as many as a division or a root takes.
An element takes its next addition a + 1 cycles later, so at most ``elements / (a + 1)`` are added to at once,
and each takes the sum of a tree of ``(a + 1) * multipliers / elements`` products: ``levels`` is 1 and the
logarithm of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, inf, log2

from allo.backend.rtl.operators.library import OperatorLibrary

CLOCK, LOWER = 450.0, 400.0
"""Megahertz that are asked for: more than the peers' 300, for the wires of designs of this size are longer
than those that units are pipelined for. Units are as quick as these wires at the second one, and have a
cycle more at the first."""
AT_LOWER = frozenset({("correlation", 9024), ("trmm", 9024)})
"""Kernels and DSPs for which the second one takes less time, as measured."""
LOAD_AND_STORE = 2
"""Cycles of a load and a store."""
MULTIPLIERS_AMONG = {"jacobi_2d": 1 / 5}
"""The share of multipliers among the units, where it is not a half: that of the operations."""

REASONS = {
    "f": "phases fill and drain: their latencies are a large share of so few cycles",
    "b": "a phase has more multiplications than additions, or the other way round",
    "": "the size can feed the units",
}
"""What a bound below ``FED`` comes from."""
FED = 0.95
"""A bound from which on the size can feed the units."""


def asked_mhz(kernel: str, dsps: int) -> float:
    """The clock that the design of a kernel for so many DSPs is compiled for."""
    return LOWER if (kernel, dsps) in AT_LOWER else CLOCK


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles of the units of float32 at a clock; an element's next addition is one later than a sum."""

    adder: int
    multiplier: int
    divider: int
    root: int


@cache
def latencies(clock_mhz: float) -> Latencies:
    """Those of the operator library, where subnormals are flushed."""
    library = OperatorLibrary(clock_mhz=clock_mhz, subnormals="flush")

    def of(op: str, operands: int = 2) -> int:
        return library.find(op, ("f32",) * operands, "f32").latency

    return Latencies(of("arith.addf"), of("arith.mulf"), of("arith.divf"), of("math.sqrt", 1))


@dataclass(frozen=True, slots=True)
class Phase:
    """What one phase does.

    Attributes:
        elements: which sums are added up in turn; infinite where none is.
        levels: additions one after the other, beside those of a sum.
        others: cycles of other operations before or behind these: division and square root.
    """

    multiplications: int
    additions: int
    elements: float = inf
    levels: int = 0
    others: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The utilisation that a size allows, and the key of ``REASONS`` why it is below ``FED``."""

    utilisation: float
    reason: str


def _matrix_products(*products: tuple[int, int]) -> Phase:
    """Products at once, each of so many elements and terms of each."""
    work = sum(elements * terms for elements, terms in products)
    return Phase(work, work, sum(elements for elements, _ in products))


def _correlation(unit: Latencies, m: int, n: int) -> list[Phase]:
    table = m * n
    return [
        Phase(0, table, m, others=unit.divider),
        Phase(table, 2 * table, m, levels=1, others=unit.divider + unit.root),
        Phase(table, table, levels=1, others=unit.multiplier + unit.divider),
        _matrix_products((m * (m - 1) // 2, n)),
    ]


def _dots(unit: Latencies, elements: int, terms: int) -> Phase:
    """Dot products of so many terms, each weighed and added to a weighed value at once."""
    return Phase(
        elements * (terms + 2), elements * terms, elements, levels=1, others=unit.multiplier
    )


PHASES: dict[str, Callable[..., list[Phase]]] = {
    "gemm": lambda _, p, q, r: [_matrix_products((p * r, q)), Phase(2 * p * r, p * r)],
    "two_mm": lambda u, p, r, q, s: [
        _matrix_products((p * r, q)),
        _matrix_products((p * s, r)),
        Phase(2 * p * s, p * s),
    ],
    "three_mm": lambda u, p, r, q, t, s: [
        _matrix_products((p * r, q), (r * t, s)),
        _matrix_products((p * t, r)),
    ],
    "atax": lambda u, m, n: [_matrix_products((m, n)), _matrix_products((n, m))],
    "bicg": lambda u, m, n: [_matrix_products((m, n), (n, m))],
    "mvt": lambda u, n: [_matrix_products((n, n), (n, n))],
    "gesummv": lambda u, n: [_matrix_products((n, n), (n, n)), Phase(2 * n, n, levels=1)],
    "jacobi_2d": lambda u, steps, n: [Phase((n - 2) ** 2, 4 * (n - 2) ** 2, levels=4)] * 2 * steps,
    "correlation": _correlation,
    "symm": lambda u, m, n: [_matrix_products((m * n, m)), Phase(2 * m * n, m * n)],
    "syrk": lambda u, m, n: [_dots(u, n * (n + 1) // 2, m)],
    "syr2k": lambda u, m, n: [_dots(u, n * (n + 1) // 2, 2 * m)],
    "trmm": lambda u, m, n: [
        Phase(m * (m - 1) * n // 2, m * (m - 1) * n // 2, m * n),
        Phase(m * n, m * n),
    ],
}


def bound(
    name: str, size: tuple[int, ...], units: int, operations: int, clock_mhz: float = CLOCK
) -> Bound:
    """The largest utilisation of so many multipliers and adders.

    Args:
        operations: float operations of one run.
        clock_mhz: what the units are made for.
    """
    unit = latencies(clock_mhz)
    multipliers = max(1.0, units * MULTIPLIERS_AMONG.get(name, 1 / 2))
    adders = units - multipliers
    lost = {"f": 0.0, "b": 0.0}
    cycles = 0
    for phase in PHASES[name](unit, *size):
        work = max(phase.multiplications / multipliers, phase.additions / adders)
        tree = ceil(log2(max(1.0, (unit.adder + 1) * multipliers / phase.elements)))
        levels = phase.levels + (1 + tree if phase.elements < inf else 0)
        fill = LOAD_AND_STORE + unit.multiplier + unit.adder * levels + phase.others
        useful = (phase.multiplications + phase.additions) / units
        lost["f"] += fill
        lost["b"] += work - useful
        cycles += ceil(work) + fill
    utilisation = min(1.0, operations / (units * cycles))
    return Bound(utilisation, "" if utilisation >= FED else max(lost, key=lambda key: lost[key]))
