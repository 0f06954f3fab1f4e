"""The table of float units beside AMD's cores."""

from __future__ import annotations

from benchmarks.float_cores import AMD, FLUSH, KEEP, UNITS, Core, Unit, key_of

from .store import Figures

_NAMES = {"add": " add", "mul": " multiply", "div": " divide", "less": " compare"}


def float_units(figures: Figures) -> str:
    """A row for each core of AMD: the core, our unit of as many cycles, and ours that keeps subnormals."""
    ratio, sizes = "LUT, FF, MHz over AMD's", "LUT / FF / DSP at MHz"
    head = ["core", "cycles", f"AMD, routed: {sizes}", f"flushed here: {sizes}, estimated", ratio]
    head += [f"subnormals kept, cycles: {sizes}, estimated", ratio]
    lines = ["| " + " | ".join(head) + " |", "|---|---:|---:|---:|---:|---:|---:|"]
    for unit in UNITS:
        for latency, core in AMD.get(unit.name, {}).items():
            flushed = _found(figures, unit, latency, FLUSH)
            kept = latency + 1 if _found(figures, unit, latency + 1, KEEP) else latency
            cells = [_title(unit), str(latency), _told(core), *_beside(flushed, core)]
            also = _found(figures, unit, kept, KEEP)
            told, ratio = _beside(also, core)
            lines.append(
                "| " + " | ".join([*cells, f"{kept}: {told}" if also else told, ratio]) + " |"
            )
    return "\n".join(lines)


def _title(unit: Unit) -> str:
    what, _, kinds = unit.name.partition(".")
    return kinds.replace(".", " to ") + _NAMES.get(what, "")


def _found(figures: Figures, unit: Unit, latency: int, subnormals: str) -> Core | None:
    """Our unit, as it was measured; None where it was not."""
    key = key_of(unit.name, latency, subnormals)
    if f"{key}.lut" not in figures.numbers:
        return None
    return Core(*(int(figures.find(f"{key}.{what}")) for what in ("lut", "ff", "dsp", "mhz")))


def _told(core: Core) -> str:
    return f"{core.lut:,} / {core.ff:,} / {core.dsp} at {core.mhz}"


def _beside(ours: Core | None, core: Core) -> tuple[str, str]:
    """Our unit, and what it takes of each for one of AMD's."""
    if ours is None:
        return "–", "–"
    ratios = (ours.lut / core.lut, ours.ff / core.ff, ours.mhz / core.mhz)
    return _told(ours), ", ".join(f"{ratio:.2f}" for ratio in ratios)
