"""The measured figures of ``benchmarks/figures``: one JSON file a family, a figure under one key.

``rtl.processor.registers.ii`` is the figure ``processor.registers.ii`` of the family ``rtl``: ``rtl.json``.
The last word of a key says what is measured, and with it whether less or more is better.
"""

from __future__ import annotations

import difflib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "benchmarks" / "figures"
AUTHOR = "scripts/figures --update"

LESS_IS_BETTER = frozenset(
    "cycles ii interval depth latency units dsp lut ff bram uram srl lutram bytes bits ms percent_off "
    "perplexity refusals".split()
)
MORE_IS_BETTER = frozenset("mhz share rate kernels loops tokens regions".split())
_LAST_WORD = re.compile(r"[a-z]+(?:_off)?$")

Number = int | float


class FigureError(Exception):
    """A figure that is not recorded, that is worse than recorded, or that is recorded wrongly."""


def files_of_tests(root: Path = ROOT) -> list[Path]:
    """The tests that may hold figures: those of ``tests/house`` hold examples."""
    house = root / "tests" / "house"
    return [path for path in sorted((root / "tests").rglob("test_*.py")) if path.parent != house]


def family_of(key: str) -> str:
    """The first word of a key, which names its file."""
    return key.partition(".")[0]


def last_word(key: str) -> str:
    """What is measured: ``"cycles"`` of ``rtl.fir.measured_cycles``; "" if that is no word."""
    found = _LAST_WORD.search(key)
    return found.group() if found else ""


def better(key: str, measured: Number, recorded: Number) -> bool:
    """Whether a figure is better than the recorded one."""
    return measured > recorded if last_word(key) in MORE_IS_BETTER else measured < recorded


def digest(figures: Mapping[str, Any]) -> str:
    """Eight digits over the content of a family: a file that was edited by hand has others."""
    return f"{zlib.crc32(json.dumps(figures, sort_keys=True).encode()):08x}"


def flat(figures: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Number]]:
    """Every number by its key. Lists and texts, which a page may show beside the numbers, have none."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield before + name, value


class Figures:
    """All families of a folder.

    Args:
        folder: where the JSON files are.

    Raises:
        FigureError: a file is no JSON, or not of the form that :meth:`save` writes.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self.families: dict[str, dict[str, Any]] = {}
        self._written: dict[str, str] = {}
        for path in sorted(folder.glob("*.json")):
            self._load(path)
        self._numbers: dict[str, Number] = {}
        for family, figures in self.families.items():
            self._numbers |= {f"{family}.{name}": value for name, value in flat(figures)}

    def _load(self, path: Path) -> None:
        text = path.read_text()
        try:
            content = json.loads(text)
            self.families[path.stem] = dict(content["figures"])
        except (ValueError, KeyError, TypeError) as error:
            raise FigureError(
                f"{path} is no file of figures ({type(error).__name__}: {error}); "
                f"{AUTHOR} --only {path.stem} writes it."
            ) from error
        self._written[path.stem] = text

    @property
    def numbers(self) -> Mapping[str, Number]:
        """Every figure by its whole key."""
        return self._numbers

    def has(self, key: str) -> bool:
        """Whether a figure is recorded."""
        return key in self._numbers

    def find(self, key: str) -> Number:
        """A recorded figure.

        Raises:
            FigureError: there is none of this key.
        """
        if key not in self._numbers:
            near = difflib.get_close_matches(key, self._numbers, n=1, cutoff=0.8)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise FigureError(
                f"No figure {key!r} is recorded in {self.path(key).name}.{hint} "
                f"{AUTHOR} --only {family_of(key)} measures and records it."
            )
        return self._numbers[key]

    def path(self, key: str) -> Path:
        """The file of a key's family."""
        return self.folder / f"{family_of(key)}.json"

    def record(self, key: str, value: Number) -> None:
        """Put a figure under its key, in place of the one before.

        Raises:
            FigureError: the key does not say what is measured.
        """
        if last_word(key) not in LESS_IS_BETTER | MORE_IS_BETTER:
            words = ", ".join(sorted(LESS_IS_BETTER | MORE_IS_BETTER))
            raise FigureError(
                f"The key {key!r} does not say what is measured; its last word is one of {words}."
            )
        family, _, name = key.partition(".")
        self.families.setdefault(family, {})[name] = value
        self._numbers[key] = value

    def drop(self, key: str) -> None:
        """Take out a figure that nothing measures any more."""
        family, _, name = key.partition(".")
        del self.families[family][name], self._numbers[key]

    def replace(self, family: str, figures: Mapping[str, Any]) -> None:
        """Put a whole family, nested as its pages need it, in place of the one before."""
        self.families[family] = dict(figures)
        self._numbers = {k: v for k, v in self._numbers.items() if family_of(k) != family}
        self._numbers |= {f"{family}.{name}": value for name, value in flat(figures)}

    def text(self, family: str) -> str:
        """What the file of a family holds."""
        figures = self.families[family]
        ordered = dict(sorted(figures.items(), key=lambda item: _natural(item[0])))
        content = {"written by": f"{AUTHOR}, {digest(ordered)}", "figures": ordered}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def save(self) -> list[Path]:
        """Write the files that changed, and tell which."""
        changed = []
        for family in self.families:
            text = self.text(family)
            if text != self._written.get(family):
                path = self.folder / f"{family}.json"
                path.write_text(text)
                self._written[family] = text
                changed.append(path)
        return changed

    def faults(self) -> list[str]:
        """Files that are not as :meth:`save` would write them, and keys that do not say what is measured."""
        found = [
            f"{self.folder / family}.json was edited by hand, or merged: "
            f"{AUTHOR} --only {family} measures it again."
            for family in self.families
            if self.text(family) != self._written[family]
        ]
        return found + [
            f"{self.path(key)}: the key {key!r} does not say what is measured."
            for key in self._numbers
            if last_word(key) not in LESS_IS_BETTER | MORE_IS_BETTER
        ]


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """An order in which ``pairs_44`` stands before ``pairs_512``."""
    return tuple(
        (int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)
    )
