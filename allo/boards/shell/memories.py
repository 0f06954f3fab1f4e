"""The memory of one bank, shared by the core and the host.

The host comes only while the core rests. What it writes goes through a port of the core that writes, because
a block RAM takes one write in a cycle; the word it reads comes through a port that reads.

Where the core writes through two ports, each port has a RAM of its own, and a bit for every word says which
one wrote it last: no family here has a block RAM for two writes that Yosys finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .banks import Bank

_CLOCKED = "  always @(posedge link_clock) if"


@dataclass(frozen=True, slots=True)
class _Write:
    """One write of a cycle: when, where and what."""

    enable: str
    address: str
    data: str


@dataclass(frozen=True, slots=True)
class _Read:
    """One read: when, where, and the port of the core it answers, "" for the host alone."""

    enable: str
    address: str
    core: str


def memory(bank: Bank, here: str, taken: str) -> list[str]:
    """The lines of a bank whose word for the host is its name.

    Args:
        here: whether the host writes a word of this bank.
        taken: that word.
    """
    bits = max([p.addr_width for p in bank.ports], default=1)
    word = f"word[{bits - 1}:0]"
    writes, reads = _writes(bank, here, word, taken), _reads(bank, word)
    lines = [
        f"  // {bank.source}, bank {bank.number}: {bank.depth} words of {bank.width} bits",
        *_rams(bank, bits, writes),
    ]
    for k, read in enumerate(reads):
        lines += _answer(bank, bits, k, read, two=len(writes) > 1)
    return lines


def _writes(bank: Bank, here: str, word: str, taken: str) -> list[_Write]:
    """Those of the core; the host shares the first, or has the only one."""
    cores = [f"core_{port.prefix}" for port in bank.ports if port.writes]
    found = [_Write(f"running && {c}_en && {c}_we", f"{c}_addr", f"{c}_wdata") for c in cores]
    if not bank.written:
        return found
    if not cores:
        return [_Write(here, word, taken)]
    c = cores[0]
    found[0] = _Write(
        f"running ? {c}_en && {c}_we : {here}",
        f"running ? {c}_addr : {word}",
        f"running ? {c}_wdata : {taken}",
    )
    return found


def _reads(bank: Bank, word: str) -> list[_Read]:
    """Those of the core; the host shares the first, or has the only one."""
    cores = [f"core_{port.prefix}" for port in bank.ports if port.reads]
    found = [_Read(f"{c}_en", f"{c}_addr", c) for c in cores]
    if not bank.read:
        return found
    if not cores:
        return [_Read("1'b1", word, "")]
    c = cores[0]
    found[0] = _Read(f"!running || {c}_en", f"running ? {c}_addr : {word}", c)
    return found


def _rams(bank: Bank, bits: int, writes: list[_Write]) -> Iterable[str]:
    """The RAM of each write, and for two of them the bits that say which one was last."""
    name, shape = bank.name, f"[{bank.width - 1}:0]"
    for k, write in enumerate(writes):
        yield f"  wire {name}_we{k} = {write.enable};"
        yield f"  wire [{bits - 1}:0] {name}_wa{k} = {write.address};"
        yield f"  wire {shape} {name}_wd{k} = {write.data};"
    for k in range(max(1, len(writes))):
        yield f"  reg {shape} {name}_ram{k} [0:{bank.depth - 1}];"
        if k < len(writes):
            yield f"{_CLOCKED} ({name}_we{k}) {name}_ram{k}[{name}_wa{k}] <= {name}_wd{k};"
    if len(writes) > 1:
        yield f"  reg [{bank.depth - 1}:0] {name}_second;"
        yield "  always @(posedge link_clock) begin"
        yield f"    if ({name}_we0) {name}_second[{name}_wa0] <= 1'b0;"
        yield f"    if ({name}_we1) {name}_second[{name}_wa1] <= 1'b1;"
        yield "  end"


def _answer(bank: Bank, bits: int, k: int, read: _Read, *, two: bool) -> Iterable[str]:
    """The word of one read, as many cycles later as the core expects."""
    name, shape = bank.name, f"[{bank.width - 1}:0]"
    yield f"  wire {name}_re{k} = {read.enable};"
    yield f"  wire [{bits - 1}:0] {name}_ra{k} = {read.address};"
    for ram in range(2 if two else 1):
        yield f"  reg {shape} {name}_q{k}_{ram};"
        yield f"{_CLOCKED} ({name}_re{k}) {name}_q{k}_{ram} <= {name}_ram{ram}[{name}_ra{k}];"
    got = f"{name}_q{k}_0"
    if two:
        yield f"  reg {name}_last{k};"
        yield f"{_CLOCKED} ({name}_re{k}) {name}_last{k} <= {name}_second[{name}_ra{k}];"
        got = f"({name}_last{k} ? {name}_q{k}_1 : {name}_q{k}_0)"
    for stage in range(1, bank.array.read_latency if bank.array else 1):
        yield f"  reg {shape} {name}_d{k}_{stage};"
        yield f"  always @(posedge link_clock) {name}_d{k}_{stage} <= {got};"
        got = f"{name}_d{k}_{stage}"
    if read.core:
        yield f"  assign {read.core}_rdata = {got};"
    if k == 0 and bank.read:
        yield f"  wire {shape} {name} = {got};"
