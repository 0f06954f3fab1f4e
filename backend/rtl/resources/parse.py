"""The text of a design in hw, comb and seq, read back into operations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SECTION = "// section "
"""How a line begins that names the part of a module which the lines after it belong to."""

_HEAD = re.compile(r"hw\.module (?:private )?@([\w$.]+)\((.*)\)")
_PORT = re.compile(r"(in|out) %?([\w$.]+) ?: ?(!seq\.clock|i\d+)")
_LINE = re.compile(r"\s*(?:(%[^=]*?) = )?([a-z]+\.[\w.]+)(.*)$")
_NAME = re.compile(r"%[\w$.#-]+")
_INSTANCE = re.compile(r'"[^"]*" @([\w$.]+)\((.*)\) -> \((.*)\)')
_JOINED = re.compile(r"([\w$.]+): (%[\w$.#-]+): (!seq\.clock|i\d+)")
_RESULT = re.compile(r"([\w$.]+): i(\d+)")
_PLACE = re.compile(r' loc\((#p\d+|fused\["(?!-)[^"]*":\d+:\d+)')
_FUSED = re.compile(r'fused\["(.*)":(\d+):(\d+)$')
_DEFINED = re.compile(r'^(#p\d+) = loc\("(.*)":(\d+):(\d+)\)$', re.MULTILINE)
_WIDTH = re.compile(r"i(\d+)>?\s*$")


def section_of(body: int) -> str:
    """The name of the part of a module that is a body of the program."""
    return f"b{body}"


@dataclass(slots=True)
class Op:
    """One operation: its name, results and operands, the width of its result, and the rest of its text.

    ``place`` names its place in Python (:func:`places`).
    """

    name: str
    results: list[str]
    operands: list[str]
    width: int
    rest: str
    section: str = ""
    place: str = ""


@dataclass(slots=True)
class Instance:
    """A module inside a module: what it is joined to, by port, and its place in Python (:class:`Op`)."""

    module: str
    inputs: dict[str, str]
    outputs: list[tuple[str, str, int]]
    section: str = ""
    place: str = ""

    def numbered(self) -> dict[str, int]:
        """Its inputs without the clock, numbered in order."""
        ports = (port for port, value in self.inputs.items() if value != "%clk")
        return {port: number for number, port in enumerate(ports)}


@dataclass(slots=True)
class ModuleOps:
    """A module: ports with their widths (0 for a clock), operations, instances, outputs."""

    name: str
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    output_values: list[str] = field(default_factory=list)


def read_modules(text: str) -> Iterator[ModuleOps]:
    """The modules of a text that this compiler wrote, in order."""
    module, section = ModuleOps(""), ""
    for line in text.splitlines():
        if line.startswith("hw.module"):
            module, section = _head(line), ""
        elif line.startswith("}"):
            yield module
        elif SECTION in line:
            section = line.partition(SECTION)[2].strip()
        elif (found := _LINE.match(line)) is not None:
            _add(module, found, section)


def places(text: str) -> dict[str, str]:
    """The places in Python that a text names, as ``file:line:col``."""
    defined = _DEFINED.findall(text)
    return {name: f"{file}:{line}:{col}" for name, file, line, col in defined if file != "-"}


def written_place(place: str, known: Mapping[str, str]) -> str:
    """A place of an operation as ``file:line:col``: the first of several, or "" where none is in Python."""
    fused = _FUSED.match(place)
    return ":".join(fused.groups()) if fused else known.get(place, "")


def _head(line: str) -> ModuleOps:
    found = _HEAD.match(line)
    module = ModuleOps(found[1] if found else "")
    for way, name, kind in _PORT.findall(found[2] if found else ""):
        ports = module.inputs if way == "in" else module.outputs
        ports[f"%{name}" if way == "in" else name] = 0 if kind[0] == "!" else int(kind[1:])
    return module


def _add(module: ModuleOps, found: re.Match[str], section: str) -> None:
    name, rest = found[2], found[3].partition(" loc(")[0]
    place = _PLACE.search(found[3])
    results = _NAME.findall(found[1] or "")
    if name == "hw.output":
        module.output_values = _NAME.findall(rest.partition(" : ")[0])
    elif name == "hw.instance":
        called = _INSTANCE.search(rest)
        if called is None:
            return
        joined = {port: value for port, value, _ in _JOINED.findall(called[2])}
        outputs = [
            (r, p, int(w)) for r, (p, w) in zip(results, _RESULT.findall(called[3]), strict=False)
        ]
        where = place[1] if place else ""
        module.instances.append(Instance(called[1], joined, outputs, section, where))
    elif name != "sv.initial":
        width = 1 if name == "comb.icmp" else _width(name, rest)
        where = place[1] if place else ""
        module.ops.append(Op(name, results, _NAME.findall(rest), width, rest, section, where))


def _width(name: str, rest: str) -> int:
    if name == "comb.concat":
        return sum(int(w) for w in re.findall(r"i(\d+)", rest.rpartition(" : ")[2]))
    found = _WIDTH.search(rest)
    return int(found[1]) if found else 1
