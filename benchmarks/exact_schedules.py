"""How far schedules are from the best ones: the loops of all suites, each scheduled exactly afterwards.

    scripts/python benchmarks/exact_schedules.py [--only SUITE …] [--json FILE]

The designs are those of PolyBench with their schedules, those of MachSuite at their small size, those of
the gallery, and the recurrences. OR-tools' CP-SAT is asked for the least initiation interval of each loop of
at most 150 operations, then for the fewest cycles, then for the least area (flip-flops that keep values, and
cells of shared units). Nothing is simulated here; tests simulate designs that were made so.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from statistics import geometric_mean
from typing import Any

from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.rtl.compile import NO_LIMITS, compile_module
from allo.backend.rtl.plan.exact.proof import Figure, Proof
from allo.backend.rtl.plan.exact.search import EXACT
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.machsuite import kernels
from allo.designs.polybench.open.cases import CASES
from allo.dialects.core.parse import parse_module
from allo.dialects.passes.run_time_checks import NO_CHECKS
from allo.errors import AlloError
from benchmarks.harness import Row, command_line, finish
from benchmarks.recurrent_kernels import RECURRENCES
from tests.designs.by_hand import NAMES, load

CLOCK_MHZ = 300.0
SIZE = "mini"
PAIRS = 8
"""Multiplier-adder pairs of the designs of PolyBench: their loops are then small enough for a search."""


def polybench() -> Iterator[tuple[str, Any]]:
    """The designs that somebody scheduled by hand, of float32."""
    for name in NAMES:
        made = load(name)
        yield name, made.schedule(made.SIZES[SIZE], PAIRS)


def open_polybench() -> Iterator[tuple[str, Any]]:
    """Kernels of int32 as open flows publish them."""
    for case in CASES:
        yield case.name, case.scheduled()


def machsuite() -> Iterator[tuple[str, Any]]:
    """MachSuite at its small size."""
    for name in kernels.NAMES:
        made = kernels.load(name)
        yield name, made.schedule(made.SIZES["tiny"])


def gallery() -> Iterator[tuple[str, Any]]:
    """The designs of the gallery."""
    for entry in ENTRIES:
        yield entry.name, entry.load().schedule()


def recurrences() -> Iterator[tuple[str, Any]]:
    """Loops that wait for themselves, but for the sum whose words do not."""
    for case in (case for case in RECURRENCES if not case.exact):
        yield case.kernel.__name__, case.schedule()


SUITES: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "PolyBench": polybench,
    "open PolyBench": open_polybench,
    "MachSuite": machsuite,
    "gallery": gallery,
    "recurrences": recurrences,
}


def proofs_of(schedule: Any) -> list[Proof]:
    """What an exact search says of each pipeline of a design."""
    compiler, _, _ = compile_module(
        parse_module(str(schedule.module)),
        schedule.top_func_name,
        checks=NO_CHECKS,
        overlap_loops=False,
        limits=NO_LIMITS,
        subnormals="keep",
        effort=EXACT,
        clock_mhz=CLOCK_MHZ,
        device=DEFAULT_DEVICE,
        external=(),
    )
    exact = compiler.exact
    return [proof for proof in exact.proofs if proof.name] if exact is not None else []


def key_of(suite: str) -> str:
    """The word of a suite in the keys of its figures."""
    return suite.lower().replace(" ", "_")


def measure(suite: str) -> list[Row]:
    """The rows of one suite."""
    began, proofs, without = time.process_time(), [], 0
    for name, schedule in SUITES[suite]():
        try:
            found = proofs_of(schedule)
        except AlloError as error:
            raise AlloError(f"{suite}, {name}: {error.message}") from error
        proofs += [proof for proof in found if not proof.without]
        without += sum(bool(proof.without) for proof in found)
    spent = time.process_time() - began
    note = (
        f"{without} loops not searched: too large, waiting for streams, or timed as lookup tables"
    )
    key = f"exact.{key_of(suite)}"
    figures: dict[str, float] = {
        f"{key}.searched.kernels": len(proofs),
        f"{key}.all.kernels": len(proofs) + without,
    }
    rows = []
    for what in ("ii", "depth", "area"):
        each: list[Figure] = [getattr(proof, what) for proof in proofs]
        proved = sum(figure.proved for figure in each)
        worse = [figure for figure in each if figure.first > figure.found]
        ratio = geometric_mean((f.first or 1) / (f.found or 1) for f in each) if each else 1.0
        figures |= {
            f"{key}.{what}.proved.kernels": proved,
            f"{key}.{what}.best.kernels": len(each) - len(worse),
            f"{key}.{what}.percent_off": round(100 * (ratio - 1), 1),
        }
        rows.append(
            Row(f"{suite}, {what}", len(each) - len(worse), "loops at the best found", "searched",
                len(each), None, f"{proved} proved; first schedules take {ratio:.3f} × the best found"
            )
        )  # fmt: skip
    rows.append(Row(f"{suite}, search", spent, "CPU s", "loops", len(proofs), None, note, figures))
    return rows


def main() -> int:
    """Run from the command line."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", choices=SUITES, default=list(SUITES))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for suite in given.only for row in measure(suite)]
    title = f"First schedules beside the best ones, {DEFAULT_DEVICE}, 300 MHz"
    return finish("exact_schedules", title, rows, given.json)


if __name__ == "__main__":
    raise SystemExit(main())
