"""The initiation intervals of loops that wait for themselves, on UltraScale+ and ECP5.

    scripts/python benchmarks/recurrences.py [--only NAME …] [--route] [--json FILE]

Each is simulated, and its results are compared with those of the CPU build. ``--route`` asks nextpnr for the
clock on ECP5, the median of three seeds, with the array arguments in block RAM beside the design, so that the
paths to and from them count. Without it, and where no open tool routes, the clock is the estimate of the
build, for which those memories are outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE, routed
from allo.backend.synth.run import synthesize
from allo.errors import AlloError
from benchmarks.block_memories import TOP, with_memories
from benchmarks.harness import Row, command_line, finish
from benchmarks.recurrent_kernels import RECURRENCES, Recurrence

CLOCKS = {DEFAULT_DEVICE: 300, routed()[0]: 100}
"""Megahertz that are asked for; the second family is the first that an open tool routes."""
SEEDS = (1, 2, 3)
LEFT = 0.5
"""The least share of the estimated lookup tables that a routed design must have."""


def loops_of(report: Any) -> Iterator[Any]:
    """Every loop of a report, those inside others too."""
    waiting = [loop for function in report.functions for loop in function.loops]
    while waiting:
        loop = waiting.pop()
        yield loop
        waiting += loop.children


def interval(report: Any, name: str) -> Any:
    """The report of the pipelined loop of a name."""
    found = [loop for loop in loops_of(report) if name in loop.name.split(".")[-1].split("*")]
    return next(loop for loop in found if loop.ii)


def check(case: Recurrence, module: Any) -> None:
    """Raise where the simulated hardware and the CPU build give other results."""
    arguments = case.arguments(np.random.default_rng(0))
    expected = [a.copy() for a in arguments]
    result, reference = module(*arguments), case.schedule().build()(*expected)
    same = all(a.tobytes() == b.tobytes() for a, b in zip(arguments, expected, strict=True))
    if not same or np.asarray(result).tobytes() != np.asarray(reference).tobytes():
        raise AlloError(f"{case.kernel.__name__}: simulated hardware and CPU build differ.")


def routed_with_memories(module: Any, device: str) -> int:
    """The clock in MHz that nextpnr reaches for a design and the memories of its arguments."""
    text, asked = with_memories(module.design), CLOCKS[device]
    each = [synthesize(text, TOP, device, clock_mhz=asked, route=True, seed=seed) for seed in SEEDS]
    tables, estimate = each[0].resources.get("lut", 0), module.report.resources.get("lut", 0)
    if tables < LEFT * estimate:
        raise AlloError(
            f"Of {estimate} lookup tables synthesis leaves {tables}: nobody reads what is computed."
        )
    return round(median(found.fmax_mhz or 0.0 for found in each))


def measure(case: Recurrence, device: str, *, route: bool) -> list[Row]:
    """The interval and the clock of one loop on one family."""
    clock = CLOCKS[device]
    module = case.schedule().build(
        target="verilog", configs={"device": device, "clock_mhz": clock, "simulator": "jit"}
    )
    check(case, module)
    report = module.report
    loop = interval(report, case.loop)
    name = f"{case.kernel.__name__}, {device}"
    reached, how = round(report.fmax_mhz), "estimated"
    key = f"recurrences.{case.kernel.__name__}.{device}"
    figures = {f"{key}.ii": loop.ii, f"{key}.lut": report.resources.get("lut", 0)}
    clocks = {f"{key}.mhz": reached}
    if route and device in routed():
        reached, how = routed_with_memories(module, device), "routed"
        clocks[f"{key}.memories.mhz"] = reached
    note = f"{report.measured_cycles:,} cycles measured, {report.resources.get('lut', 0):,} LUT"
    if loop.limit:
        note += f"; {loop.limit}"
    return [
        Row(name, loop.ii, "II", "wanted", case.ii[clock], None, note, figures),
        Row(name, reached, f"MHz {how}", "asked", clock, False, figures=clocks),
    ]


def main() -> int:
    parser = command_line(__doc__)
    names = [case.kernel.__name__ for case in RECURRENCES]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--route", action="store_true", help="ask nextpnr for the clock on ECP5")
    options = parser.parse_args()
    rows = [
        row
        for device in CLOCKS
        for case in RECURRENCES
        if case.kernel.__name__ in options.only
        for row in measure(case, device, route=options.route)
    ]
    return finish("recurrences", "Loops that wait for themselves", rows, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
