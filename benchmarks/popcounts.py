"""Sums of bits: carry chains that count on their way in, against trees of adders, in tables of Yosys.

scripts/python benchmarks/popcounts.py [--only NAME …] [--family NAME …] [--json FILE]

Words of 16 to 1,024 bits are counted by `allo.popcount`; a layer of ternary weights has 64 sums of 64 ternary
numbers, and a layer of signs 64 counts of agreeing bits of 256, both with constant weights and every sum by
itself. Each kernel is built twice, for the family and for one that is the same but for tables that are told
to be too narrow for counting, so that adders are taken. The whole design, its control included, is simulated
against NumPy and synthesised by Yosys. Beside the layers is the same kernel with `s.constant_multiply`, whose
sums share adders. The clock is 100 MHz.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import allo
from allo.backend import devices
from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.rtl.operators.compressors import INSIDE
from allo.backend.synth import synthesize
from allo.customize import Schedule
from allo.ir.types import Int, UInt, int32
from benchmarks.harness import Row, command_line, finish

VECTORS, ROWS = 8, 64
CLOCK_MHZ = 100.0
COUNTS = (16, 64, 256, 1024)


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel with its inputs and results.

    Attributes:
        shares: the loop of the sums whose adders may be shared; "" where there is one sum.
    """

    name: str
    make: Callable[[], Any]
    given: np.ndarray
    wanted: np.ndarray
    shares: str = ""


def counted(bits: int) -> Case:
    """The ones of a word, in words of 64 bits."""
    each = min(bits, 64)
    words = bits // each

    def count(x: UInt(each)[VECTORS, words], y: int32[VECTORS]):  # type: ignore[valid-type]
        for t in range(VECTORS):
            whole: UInt(bits) = 0
            for k in range(min(words, bits)):
                whole[k * each : k * each + each] = x[t, k]
            y[t] = allo.popcount(whole)

    x = np.random.default_rng(0).integers(0, 1 << each, (VECTORS, words), np.uint64)
    kind = np.uint16 if each == 16 else np.uint64
    return Case(f"count_{bits}", lambda: count, x.astype(kind), np.bitwise_count(x).sum(1))


def ternary(columns: int = 64) -> Case:
    """Sums of ternary numbers with ternary weights."""
    rng = np.random.default_rng(1)
    weights = rng.integers(-1, 2, (ROWS, columns)).astype(np.int8)

    def product(x: Int(2)[VECTORS, columns], y: int32[VECTORS, ROWS]):  # type: ignore[valid-type]
        w: Int(2)[ROWS, columns] = weights
        for t in range(VECTORS):
            for j in range(ROWS):
                total: int32 = 0
                for i in range(columns):
                    total += x[t, i] * w[j, i]
                y[t, j] = total

    x = rng.integers(-1, 2, (VECTORS, columns)).astype(np.int8)
    return Case("ternary_64x64", lambda: product, x, x.astype(int) @ weights.T.astype(int), "j")


def signs(columns: int = 256) -> Case:
    """Counts of the bits that agree with those of the weights."""
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 2, (ROWS, columns)).astype(np.uint8)

    def product(x: UInt(1)[VECTORS, columns], y: int32[VECTORS, ROWS]):  # type: ignore[valid-type]
        w: UInt(1)[ROWS, columns] = weights
        for t in range(VECTORS):
            for j in range(ROWS):
                total: int32 = 0
                for i in range(columns):
                    total += x[t, i] if w[j, i] == 1 else 1 - x[t, i]
                y[t, j] = total

    x = rng.integers(0, 2, (VECTORS, columns)).astype(np.uint8)
    agree = (x[:, None, :] == weights[None]).sum(2)
    return Case("signs_256x64", lambda: product, x, agree, "j")


CASES = {f"count_{n}": (lambda n=n: counted(n)) for n in COUNTS}
CASES |= {"ternary_64x64": ternary, "signs_256x64": signs}


def schedule(case: Case, *, shared: bool) -> Schedule:
    """The kernel, pipelined, with its sums apart or with shared adders."""
    s = allo.customize(case.make())
    if shared:
        s.constant_multiply(case.shares)
    s.partition(s.x, dim=2)
    if case.shares:
        s.partition(s.y, dim=2)
    s.pipeline("t")
    return s


@contextmanager
def with_adders(family: str) -> Iterator[str]:
    """A family whose sums are trees of adders."""
    record = devices.family(family)
    name = f"{family}_of_adders"
    narrow = replace(record.operators, fanin=min(record.operators.fanin, INSIDE))
    devices.register(replace(record, name=name, title=f"{record.title}, adders", operators=narrow))
    try:
        yield name
    finally:
        devices.unregister(name)


def built(case: Case, s: Schedule, device: str, family: str) -> tuple[int, int, float]:
    """The tables of Yosys, those of the estimate, and its clock; every result was compared.

    Raises:
        RuntimeError: a result differs from NumPy's.
    """
    hardware = s.build(target="verilog", simulator="jit", device=device, clock_mhz=CLOCK_MHZ)
    found = np.zeros(case.wanted.shape, np.int32)
    hardware(case.given, found)
    if not np.array_equal(found, case.wanted) or hardware.cycles != hardware.report.cycles:
        raise RuntimeError(f"{case.name}: results or cycles differ")
    made, report = synthesize(hardware.verilog, s.top_func_name, family), hardware.report
    return made.lut, report.resources["lut"], report.registered_mhz or 0.0


def measure(case: Case, families: Sequence[str]) -> list[Row]:
    """The rows of a kernel."""
    rows = []
    for family in families:
        own, estimate, mhz = built(case, schedule(case, shared=False), family, family)
        with with_adders(family) as device:
            adders, guess, slow = built(case, schedule(case, shared=False), device, family)
        key = f"constants.popcount.{case.name}.{family}"
        note = f"estimated {estimate:,} and {guess:,}; {mhz:.0f} and {slow:.0f} MHz"
        figures = {f"{key}.lut": own, f"{key}.peer_lut": adders, f"{key}.estimate.lut": estimate}
        name = f"{case.name}: LUT in Yosys, {family}"
        rows.append(Row(name, own, "LUT", "trees of adders", adders, True, note, figures))
        if case.shares:
            shared, *_ = built(case, schedule(case, shared=True), family, family)
            more = {f"{key}.shared.lut": shared}
            rows.append(Row(f"{name}, the same", own, "LUT", "shared adders", shared, figures=more))
    return rows


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument(
        "--family", nargs="*", default=[DEFAULT_DEVICE], help="devices of the tables"
    )
    given = parser.parse_args()
    rows = [row for name in given.only for row in measure(CASES[name](), given.family)]
    return finish("popcounts", "Sums of bits", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
