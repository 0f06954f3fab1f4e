"""The program behind ``scripts/figures``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from allo.designs.llm.analysis import table as systems

from ..pictures import program as pictures
from . import measure
from .check import faults
from .marks import filled, keys_of, pages
from .store import ROOT, FigureError, Figures, family_of
from .tables import TABLES


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, update or write pages; 1 when something is wrong, 2 when figures cannot be read."""
    parser = argparse.ArgumentParser(prog="scripts/figures", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="files, pages and tests agree")
    what.add_argument("--update", action="store_true", help="measure, and write files and pages")
    what.add_argument("--pages", action="store_true", help="write pages from the files")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these families")
    parser.add_argument("--slow", action="store_true", help="also what takes minutes")
    given = parser.parse_args(arguments)
    try:
        if given.check:
            return report(faults(Figures(), TABLES))
        wrong = update(given.only, slow=given.slow) if given.update else []
        write_pages(Figures())
        if given.update and given.only is None:
            pictures.main([])
        return report(wrong)
    except FigureError as error:
        print(error, file=sys.stderr)
        return 2


def report(found: Sequence[str]) -> int:
    """Print what is wrong; the exit status."""
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


def update(only: Sequence[str] | None, *, slow: bool) -> list[str]:
    """Measure some families, or all, and write their files; what went wrong.

    Raises:
        FigureError: a family is unknown.
    """
    known = measure.all_families()
    unknown = sorted(set(only or ()) - set(known))
    if unknown:
        raise FigureError(
            f"There is no family {unknown[0]!r} of figures; there are {', '.join(known)}."
        )
    chosen = list(only or known)
    wrong: list[str] = []
    for family in chosen:
        if family in measure.OWN:
            measure.by_program(family)
    rest = [family for family in chosen if family not in measure.OWN]
    found = [measure.by_tests(rest, slow=slow)]
    for benchmark in measure.BENCHMARKS:
        if set(benchmark.families) & set(rest) and (slow or not benchmark.slow):
            found.append(measure.by_benchmark(benchmark))
    figures, seen = Figures(), set[str]()
    for measured in found:
        wrong += measured.faults
        seen |= set(measured.figures)
        _record(figures, measured, rest)
    stale = sorted(key for key in figures.numbers if family_of(key) in rest and key not in seen)
    for key in set(stale) - _named() if slow and not wrong else ():
        figures.drop(key)
        print(f"dropped, for nothing measures or names it: {key}")
    if stale:
        print(f"{len(stale)} figures of these families were not measured (--slow measures all)")
    for path in figures.save():
        print(f"wrote {path.relative_to(ROOT)}")
    return wrong


def _record(figures: Figures, measured: measure.Measured, families: Sequence[str]) -> None:
    """Record what was measured of some families, and print what changed."""
    for key, value in sorted(measured.figures.items()):
        if family_of(key) not in families:
            continue
        before = figures.numbers.get(key)
        if before != value:
            print(f"{key}: {'new' if before is None else f'{before:,}'} -> {value:,}")
        figures.record(key, value)


def _named() -> set[str]:
    """The figures that pages name."""
    return {key for path in pages() for key in keys_of(path.read_text())}


def write_pages(figures: Figures) -> None:
    """Every page with its figures as recorded.

    Raises:
        FigureError: a page names a figure that there is not.
    """
    for path in pages():
        text = path.read_text()
        now = filled(path, text, figures, TABLES)
        if now != text:
            path.write_text(now)
            print(f"wrote {path.relative_to(ROOT)}")
    page = systems.PAGE.read_text()
    systems.PAGE.write_text(systems.placed(page, systems.markdown(systems.load_systems())))


if __name__ == "__main__":
    sys.exit(main())
