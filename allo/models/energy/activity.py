"""The bits that change in a simulated run, counted from its waveform."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

NET, PRODUCT, READ = "net", "product", "read"
_CLOCKS = frozenset(("clk", "ap_clk", "clock"))
_VARIABLE = re.compile(r"\s*\$var\s+\w+\s+\d+\s+(\S+)\s+(\w+)")
_ARRAY = re.compile(r"\breg\b[^;=]*?(\w+)\s*\[0:\d+\]")
_ASSIGNED = re.compile(r"\b(\w+)\s*<?=([^;=]*);")


@dataclass(frozen=True, slots=True)
class Activity:
    """Changes of bits in a run, the clock's left out.

    Attributes:
        nets: bits of logic and registers.
        products: bits of products.
        reads: bits at the ports at which memories are read.
    """

    nets: int
    products: int = 0
    reads: int = 0


def kinds_of(verilog: str) -> Mapping[str, str]:
    """The names in a design that are products or words of memories."""
    text = re.sub(r"//.*", "", verilog)
    arrays = set(_ARRAY.findall(text))
    found: dict[str, str] = {}
    for name, value in _ASSIGNED.findall(text):
        if " * " in value:
            found[name] = PRODUCT
        elif any(read in arrays for read in re.findall(r"(\w+)\[", value)):
            found[name] = READ
    return found


def activity(wave: Iterable[str], kinds: Mapping[str, str]) -> Activity:
    """The bits that change in a waveform.

    Args:
        wave: the lines of a VCD. A net that goes through several modules is one there, and counts once.
        kinds: names that are no plain nets.
    """
    kind_of: dict[str, str] = {}
    known: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for line in wave:
        variable = _VARIABLE.match(line)
        if variable:
            code, name = variable.groups()
            if name in _CLOCKS:
                kind_of[code] = ""
            elif kind_of.get(code) in (None, NET):
                kind_of[code] = kinds.get(name, NET)
            continue
        change = _change(line.strip())
        if change is None or not kind_of.get(change[0]):
            continue
        code, value = change
        if code in known:
            counts[kind_of[code]] += (known[code] ^ value).bit_count()
        known[code] = value
    return Activity(counts[NET], counts[PRODUCT], counts[READ])


def _change(line: str) -> tuple[str, int] | None:
    """The net of a line and its new value, unknown bits as 0; None for what is no change of one."""
    if line[:1] in "01xz" and len(line) > 1:
        return line[1:], int(line[0] == "1")
    if line[:1] == "b":
        bits, _, code = line[1:].partition(" ")
        return code, int(re.sub("[xz]", "0", bits), 2)
    return None
