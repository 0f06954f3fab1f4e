"""``python -m tests.mutants [NAME ...] [--nightly] [--json FILE]``: which mutants the tests find."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("mutants.toml")
LIMIT_S = 1800.0
_UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTEST_CURRENT_TEST")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the product.

    Attributes:
        old, new: the text that is there once, and what replaces it.
        tests: the folders and files of tests that are run, in order.
    """

    name: str
    area: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a mutant: ``found``, ``missed``, ``no end`` or ``stale``, and the first that failed."""

    name: str
    area: str
    outcome: str
    test: str
    cpu_seconds: float


def mutants() -> list[Mutant]:
    """Those of the file."""
    content = tomllib.loads(FILE.read_text())["mutant"]
    return [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in content]


@contextmanager
def copy_of_the_repository() -> Iterator[Path]:
    """A work tree of the last commit, with the environment of this one."""
    with tempfile.TemporaryDirectory(prefix="allo_mutants_") as folder:
        place = Path(folder) / "allo"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def try_mutant(
    mutant: Mutant, place: Path, options: list[str], limit_s: float = LIMIT_S
) -> Verdict:
    """Change the copy, run the tests until one fails, and change it back."""
    file = place / mutant.file
    text = file.read_text() if file.exists() else ""
    if text.count(mutant.old) != 1:
        return Verdict(mutant.name, mutant.area, "stale", "", 0.0)
    file.write_text(text.replace(mutant.old, mutant.new))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *options, *mutant.tests],
            cwd=place,
            env={name: value for name, value in os.environ.items() if name not in _UNSET},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        failed = FAILED.search(done.stdout)
        outcome = "missed" if done.returncode == 0 else "found"
    except subprocess.TimeoutExpired:
        failed, outcome = None, "no end"
    finally:
        file.write_text(text)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Verdict(mutant.name, mutant.area, outcome, failed[1] if failed else "", round(spent, 1))


def main() -> int:
    """Try the mutants that are named, or all; 1 where one is missed or no longer fits."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--nightly", action="store_true", help="run what is left to the night too")
    parser.add_argument("--json", type=Path, help="write the verdicts to a file")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for one mutant")
    given = parser.parse_args()
    options = ["-m", "not slow"] if given.nightly else []
    found = []
    with copy_of_the_repository() as place:
        for mutant in mutants():
            if given.names and mutant.name not in given.names:
                continue
            found.append(try_mutant(mutant, place, options, given.limit))
            v = found[-1]
            row = f"{v.name:<28}{v.area:<16}{v.outcome:<8}{v.cpu_seconds:>7.1f} s  {v.test}"
            print(row, flush=True)
            if given.json:
                given.json.write_text(json.dumps([asdict(v) for v in found], indent=1) + "\n")
    return 0 if all(v.outcome == "found" for v in found) else 1


if __name__ == "__main__":
    sys.exit(main())
