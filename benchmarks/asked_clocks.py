"""What the scheduler asks for and what the estimate finds: the clock of every design of three suites.

    scripts/python benchmarks/asked_clocks.py [--suite NAME …] [--only NAME …] [--json FILE]

The designs of the gallery, the loops that wait for themselves and MachSuite at its own sizes, for the family
that no open tool routes and for the first that one does. The scheduler fills a cycle up to the margin of
the family's record; a design agrees where its estimated clock is at most 15 % below the clock asked for. Each
row tells the longest path. Nothing is simulated or routed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from allo.backend.devices import DEFAULT_DEVICE, family, routed
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.machsuite import kernels as machsuite
from allo.errors import AlloWarning
from benchmarks import recurrences
from benchmarks.estimate_halves import TOO_LARGE
from benchmarks.harness import Row, command_line, finish
from benchmarks.recurrent_kernels import RECURRENCES

FAMILIES = (DEFAULT_DEVICE, routed()[0])
WITHIN = 0.15
Maker = Callable[[], Any]


def _of_machsuite(name: str) -> Any:
    kernel = machsuite.load(name)
    return kernel.schedule(kernel.SIZES["full"])


def suites() -> dict[str, dict[str, Maker]]:
    """The makers of the schedules by suite and name; those are left out that take Yosys too long, too."""
    return {
        "gallery": {
            e.name: lambda entry=e: entry.load().schedule()
            for e in ENTRIES
            if e.name not in TOO_LARGE
        },
        "recurrences": {case.kernel.__name__: case.schedule for case in RECURRENCES},
        "machsuite": {
            name: lambda name=name: _of_machsuite(name)
            for name in machsuite.NAMES
            if name not in TOO_LARGE
        },
    }


def asked(suite: str, device: str) -> float:
    """The clock that a suite is built for."""
    if suite == "recurrences":
        return float(recurrences.CLOCKS[device])
    return family(device).usual_mhz


def agrees(found: float, clock: float) -> bool:
    """Whether an estimated clock is near enough to the one asked for, or above it."""
    return found >= (1 - WITHIN) * clock


def key_of(suite: str, name: str, device: str) -> str:
    """What the estimated clock of a row is called."""
    return f"asked.{suite}.{name}.{device}.mhz"


@dataclass(frozen=True, slots=True)
class Group:
    """The designs of a suite on a family.

    Attributes:
        designs: how many; ``near`` of them agree.
        median: of the estimated clock over the asked one; ``least``: the smallest, of the design ``of``.
    """

    suite: str
    device: str
    designs: int
    near: int
    median: float
    least: float
    of: str


def groups(find: Callable[[str], float], known: Callable[[str], bool]) -> list[Group]:
    """The suites on each family, of the estimated clocks by key."""
    found = []
    for suite, makers in suites().items():
        for device in FAMILIES:
            keys = {name: key_of(suite, name, device) for name in makers}
            clocks = {name: find(key) for name, key in keys.items() if known(key)}
            if not clocks:
                continue
            clock = asked(suite, device)
            least = min(clocks, key=lambda name: clocks[name])
            near = sum(agrees(mhz, clock) for mhz in clocks.values())
            ratios = median(clocks.values()) / clock, clocks[least] / clock
            found.append(Group(suite, device, len(clocks), near, *ratios, least))
    return found


def row_of(suite: str, name: str, make: Maker, device: str) -> Row:
    """One design on one family."""
    clock = asked(suite, device)
    report = make().build(target="verilog", device=device, clock_mhz=clock).report
    found = report.fmax_mhz
    path = ", ".join(f"{part.what} {part.delay_ns:.2f}" for part in report.critical_path)
    note = "" if agrees(found, clock) else f"{path} ns; {report.critical_path[-1].place}"
    figures = {key_of(suite, name, device): round(found)}
    return Row(
        f"{name}, {device}", round(found), "MHz", "asked, less 15 %",
        round((1 - WITHIN) * clock), False, note, figures,
    )  # fmt: skip


def main() -> int:
    """Print the table, and write JSON if asked to; 1 where a design does not agree."""
    parser = command_line(__doc__)
    names = list(suites())
    parser.add_argument("--suite", nargs="+", choices=names, default=names)
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AlloWarning)
    rows = [
        row_of(suite, name, make, device)
        for suite, makers in suites().items()
        for name, make in makers.items()
        for device in FAMILIES
        if suite in options.suite and (not options.only or name in options.only)
    ]
    figures = {key: value for row in rows for key, value in row.figures.items()}
    for group in groups(figures.__getitem__, figures.__contains__):
        print(
            f"{group.suite}, {group.device}: {group.near} of {group.designs} agree; found over asked: "
            f"{group.median:.2f} in the middle, {group.least:.2f} at least ({group.of})"
        )
    return finish("asked_clocks", "Clocks asked for and found", rows, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
