"""Reads a waveform: what signals held in each clock cycle of a VCD file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PERIOD = 10_000
"""A clock period in the file's unit, picoseconds; rising edges stand at half of it."""


@dataclass(frozen=True)
class Trace:
    """Values by cycle.

    Attributes:
        widths: width in bits of each signal.
        values: the value of each signal in each cycle, as it was when the cycle ended; -1 where it
            had none yet.
    """

    widths: Mapping[str, int]
    values: Mapping[str, tuple[int, ...]]


def read_vcd(path: Path, signals: Iterable[str], cycles: int) -> Trace:
    """The first ``cycles`` clock cycles of some signals.

    Args:
        path: the file.
        signals: full names, scopes joined by dots (``TOP.fir.start``).
        cycles: how many to read; fewer where the file ends before.

    Raises:
        KeyError: when the file has no such signal.
    """
    with path.open() as lines:
        widths, names = _header(lines, set(signals))
        samples = list(_samples(lines, names, cycles))
    return Trace(widths, {name: tuple(s[name] for s in samples) for name in widths})


def _header(lines: Iterator[str], wanted: set[str]) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Widths of the signals, and the signals each short code of the file stands for."""
    scopes: list[str] = []
    widths: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for line in lines:
        match line.split():
            case ["$scope", _, scope, "$end"]:
                scopes.append(scope)
            case ["$upscope", "$end"]:
                scopes.pop()
            case ["$var", _, width, code, name, *_] if (
                full := ".".join([*scopes, name])
            ) in wanted:
                widths[full] = int(width)
                names.setdefault(code, []).append(full)
            case ["$enddefinitions", "$end"]:
                break
    missing = sorted(wanted - set(widths))
    if missing:
        raise KeyError(f"The waveform has no signal {missing[0]}.")
    return widths, names


def _samples(
    lines: Iterator[str], names: Mapping[str, list[str]], cycles: int
) -> Iterator[dict[str, int]]:
    """The signals' values at the end of each cycle, which is when its last change has been made."""
    now = {name: -1 for group in names.values() for name in group}
    done = 0
    for line in lines:
        if line.startswith("#"):
            ended = (int(line[1:]) + PERIOD // 2) // PERIOD
            while done < min(ended, cycles):
                yield dict(now)
                done += 1
            if done == cycles:
                return
            continue
        value, code = _change(line.strip())
        for name in names.get(code, ()):
            now[name] = value
    if done < cycles:
        yield dict(now)


def _change(line: str) -> tuple[int, str]:
    """A new value and the code of its signal; no code for a line that is no change."""
    if line.startswith(("b", "B")):
        digits, code = line[1:].split()
        return int(digits, 2), code
    if line[:1] in ("0", "1"):
        return int(line[0]), line[1:]
    return 0, ""
