"""Marks for what nothing reads, so that ``verilator --lint-only -Wall`` is silent.

A sum of which the high bits count has low bits that nothing reads; of a subscript that a RAM takes, the
upper bits are not used; a probe is read by simulators alone. Each such signal stands between a pair of
``lint_off`` and ``lint_on``, with the bits that are not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from .comments import comment_of

_DECLARED = re.compile(
    r"^  (?:(input|output|wire|reg|logic)\b *)?(?:\[(\d+):0\] *)?([A-Za-z_]\w*)(\[\d+:\d+\])?"
    r"(?:,|;| =|$|(?=\s*//))"
)
_DECLARING = ("  input", "  output", "  wire", "  reg", "  logic")
_LINE_COMMENT = re.compile(r"//.*$", re.M)
_PART = re.compile(r"([A-Za-z_]\w*)\[(\d+)(?::(\d+))?\]")
_WORD = re.compile(r"(?<![.\w$'])[A-Za-z_]\w*")
_APART = str.maketrans(dict.fromkeys("(){};,=<>?~&|^+-*/%!@#\n\t", " "))
"""What stands between signals with their bits; ``.pin``, ``8'h0`` and ``$signed`` are words like others."""
_ASSIGNED = re.compile(r" *(?:assign )?([A-Za-z_]\w*)(?:\[.*?\])? <?=(?: |$)")
_EMPTY = "/* unused */"
_EMPTY_PIN = re.compile(r"^( *)(\.\w+ *\()/\* unused \*/(\s*\),?)", re.M)
_OFF = "/* verilator lint_off UNUSEDSIGNAL */"
_ON = "/* verilator lint_on UNUSEDSIGNAL */"


@dataclass(slots=True)
class _Signal:
    """A declared signal: the number of its line, and its bits; ``joined`` to the output of an instance.

    A memory is read whole or not at all.
    """

    name: str
    line: int
    width: int
    joined: bool
    memory: bool


def mark_unread(module: str) -> str:
    """A module in which everything that is not read is marked."""
    bare = _LINE_COMMENT.sub("", module)
    lines, code = module.split("\n"), bare.split("\n")
    assignments = (_ASSIGNED.match(line) for line in code if "=" in line)
    assigned = [found[1] for found in assignments if found is not None]
    signals = _signals(code, set(assigned))
    read, parts = _reads(bare)
    read.subtract(assigned)
    read.subtract(signal.name for signal in signals)
    read.subtract(signal.name for signal in signals if signal.joined)
    marks: dict[int, str] = {}
    for signal in signals:
        reason = _reason(signal, read[signal.name], parts.get(signal.name, []))
        if reason:
            marks[signal.line] = reason
    marked = "\n".join(_marked(lines, marks))
    return _EMPTY_PIN.sub(_open_pin, marked) if _EMPTY in marked else marked


def _signals(code: list[str], assigned: set[str]) -> list[_Signal]:
    """What a module declares and may leave unread: inputs, wires, registers."""
    found: list[_Signal] = []
    kind, width, head = "", 1, True
    for number, line in enumerate(code):
        if line.startswith(");"):
            head = False
            continue
        if not line.startswith("  " if head else _DECLARING):
            continue
        match = _DECLARED.match(line if not head else f"  {line.strip()}")
        if match is None or (not head and match[1] is None):
            continue
        if match[1]:
            kind, width = match[1], int(match[2]) + 1 if match[2] else 1
        if kind != "output":
            joined = kind == "wire" and " =" not in line and match[3] not in assigned
            found.append(_Signal(match[3], number, width, joined, bool(match[4])))
    return found


def _reads(code: str) -> tuple[Counter[str], dict[str, list[tuple[int, int]]]]:
    """How often each name stands in a text, and the bits (highest, lowest) that stand by themselves."""
    found: Counter[str] = Counter()
    parts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for word, times in Counter(code.translate(_APART).split()).items():
        if "[" not in word:
            found[word] += times
            continue
        for name in _WORD.findall(word):
            found[name] += times
        for name, high, low in _PART.findall(word):
            parts[name] += [(int(high), int(low or high))] * times
    return found, parts


def _reason(signal: _Signal, reads: int, parts: list[tuple[int, int]]) -> str:
    """Why a signal is marked, "" where all of it is read."""
    if reads <= 0:
        return f"{signal.name} is not read"
    if signal.memory or reads > len(parts):
        return ""
    left = set(range(signal.width))
    for high, low in parts:
        left.difference_update(range(low, high + 1))
    if not left:
        return ""
    return f"{signal.name}: {_listed(sorted(left))} not read"


def _listed(bits: list[int]) -> str:
    """``bits 31:5 are``."""
    runs: list[list[int]] = []
    for bit in reversed(bits):
        if runs and runs[-1][1] == bit + 1:
            runs[-1][1] = bit
        else:
            runs.append([bit, bit])
    listed = ", ".join(str(high) if high == low else f"{high}:{low}" for high, low in runs)
    return f"bit {listed} is" if len(bits) == 1 else f"bits {listed} are"


def _marked(lines: list[str], marks: dict[int, str]) -> list[str]:
    """The lines with a mark before and behind each declaration that has one."""
    if not marks:
        return lines
    result: list[str] = []
    until_end = False
    for number, line in enumerate(lines):
        if number in marks:
            result.append(f"  {_OFF}  {comment_of(marks[number])}")
            until_end = True
        result.append(line)
        if until_end and _ends(line, lines[number + 1]):
            result.append(f"  {_ON}")
            until_end = False
    return result


def _ends(line: str, following: str) -> bool:
    """Whether a declaration ends with a line."""
    code = _LINE_COMMENT.sub("", line).rstrip()
    return code.endswith((";", ",")) or following.startswith(");")


def _open_pin(pin: re.Match[str]) -> str:
    """An output of an instance that is left open on purpose."""
    space = pin[1]
    return (
        f"{space}/* verilator lint_off PINCONNECTEMPTY */\n"
        f"{space}{pin[2]}{_EMPTY}{pin[3].strip()}\n"
        f"{space}/* verilator lint_on PINCONNECTEMPTY */"
    )
