"""Runs a design of the gallery in Verilator: its figures, and the picture of its first cycles."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from allo.designs.gallery.catalogue import Entry

from .vcd import Trace, read_vcd
from .waveform import Row, draw

SEED = 2026
CYCLES = 24
BEFORE_START = 2
"""Clock cycles of reset in the file before that of start."""

Figures = dict[str, Any]


def measure(entry: Entry) -> tuple[Figures, str]:
    """The figures of one run with random inputs, and the SVG of its waveform."""
    module = entry.load()
    hardware = module.schedule().build(target="verilog")
    with tempfile.TemporaryDirectory() as folder:
        wave = Path(folder, f"{entry.name}.vcd")
        hardware(*module.inputs(np.random.default_rng(SEED)), wave=wave)
        picture = _picture(entry, hardware.design, wave)
    return figures_of(hardware.report), picture


def figures_of(report: Any) -> Figures:
    """What a page says of a design, from the report of a run."""
    loops: dict[tuple[Any, ...], list[str]] = {}
    for function in report.functions:
        for loop in _leaves(function.loops):
            line = int(loop.place.split(":")[-2]) if loop.place else None
            interval = loop.ii if loop.pipelined else None
            row = (loop.name, line, loop.trips, interval, loop.depth, loop.limit)
            loops.setdefault(row, []).append(function.name)
    keys = ("loop", "line", "trips", "ii", "depth", "limit")
    return {
        "clock_mhz": report.clock_mhz,
        "measured_cycles": report.measured_cycles,
        "predicted_cycles": report.cycles,
        "notes": [note for note in report.notes if note.startswith("About ")],
        "loops": [
            {"functions": functions, **dict(zip(keys, row, strict=True))}
            for row, functions in loops.items()
        ],
    }


def _leaves(loops: list[Any]) -> Iterator[Any]:
    for loop in loops:
        if loop.children:
            yield from _leaves(loop.children)
        else:
            yield loop


def _picture(entry: Entry, design: Any, wave: Path) -> str:
    rows = [_Bit("start", "TOP.start"), *_port_rows(design)]
    rows += [_register(name, f"TOP.{design.top}.{name}") for name in entry.wave]
    rows.append(_Bit("done", "TOP.done"))
    signals = [name for row in rows for name in row.signals]
    first = BEFORE_START + 1 + entry.wave_from
    trace = read_vcd(wave, signals, first + CYCLES)
    drawn = [row.draw(trace, first) for row in rows]
    return draw(entry.name, [row for row in drawn if _shows(row)], entry.wave_from)


def _shows(row: Row) -> bool:
    """Whether anything happens on a line."""
    return bool(set(row.texts) - {None, "0"} if row.bit else any(row.texts))


class _Bit:
    """A wire."""

    def __init__(self, label: str, signal: str) -> None:
        self.label, self.signals = label, (signal,)

    def draw(self, trace: Trace, first: int) -> Row:
        values = trace.values[self.signals[0]][first:]
        return Row(self.label, tuple(str(v) for v in values), bit=True)


class _Word:
    """A bus, drawn ``late`` cycles after those in which the signals of ``valid`` have these values."""

    def __init__(
        self,
        label: str,
        signal: str,
        valid: Mapping[str, int] | None = None,
        late: int = 0,
        text: Callable[[int, int], str] | None = None,
    ) -> None:
        self.valid = valid or {}
        self.label, self.signals, self.late = label, (signal, *self.valid), late
        self.text = text or hexadecimal

    def draw(self, trace: Trace, first: int) -> Row:
        bus, width = trace.values[self.signals[0]], trace.widths[self.signals[0]]
        texts = [
            self.text(bus[c], width) if self._holds(trace, c - self.late) else None
            for c in range(first, len(bus))
        ]
        return Row(self.label, tuple(texts), bit=width == 1 and not self.valid)

    def _holds(self, trace: Trace, cycle: int) -> bool:
        return all(trace.values[name][cycle] == level for name, level in self.valid.items())


def _register(label: str, signal: str) -> _Word:
    """A signal inside; pins of memories and streams count only while something passes."""
    stem, _, pin = signal.rpartition("_")
    match pin:
        case "addr":
            return _Word(label, signal, {f"{stem}_en": 1}, text=decimal)
        case "rdata":
            return _Word(label, signal, {f"{stem}_en": 1}, late=1)
        case "wdata":
            return _Word(label, signal, {f"{stem}_we": 1})
        case "data":
            return _Word(label, signal, {f"{stem}_valid": 1, f"{stem}_ready": 1})
    return _Word(label, signal)


def hexadecimal(value: int, width: int) -> str:
    """All digits, and a question mark for what is not known yet."""
    return f"{value:0{(width + 3) // 4}x}" if value >= 0 else "?"


def decimal(value: int, width: int) -> str:
    """A number without a sign."""
    return str(value)


def _port_rows(design: Any) -> Iterator[_Word]:
    """The first port of every array that reads or writes: its addresses and its words."""
    for array in design.arrays:
        reads = next((port for port in array.ports if port.reads), None)
        writes = next((port for port in array.ports if port.writes), None)
        many = array.layout.bank_count > 1
        if reads is not None:
            label = f"{array.name}.{reads.bank}" if many else array.name
            asked = {f"TOP.{reads.prefix}_en": 1}
            if reads.writes:
                asked[f"TOP.{reads.prefix}_we"] = 0
            yield from _rows(f"{label} read", reads, "rdata", asked, array.read_latency)
        if writes is not None:
            label = f"{array.name}.{writes.bank}" if many else array.name
            stored = {f"TOP.{writes.prefix}_{pin}": 1 for pin in ("en", "we")}
            yield from _rows(f"{label} write", writes, "wdata", stored, 0)


def _rows(label: str, port: Any, data: str, valid: Mapping[str, int], late: int) -> Iterator[_Word]:
    pin = f"TOP.{port.prefix}_"
    if port.addr_width:
        yield _Word(f"{label} addr", pin + "addr", valid, text=decimal)
    yield _Word(f"{label} data", pin + data, valid, late)
