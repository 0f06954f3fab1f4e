"""Netlists from text of hw, comb and seq, for tests that say in a few lines what a module is."""

from __future__ import annotations

import re
from collections.abc import Callable

from allo.backend.rtl.netlist.locations import Location
from allo.backend.rtl.netlist.memories import ArrayCreate, Element, Memory, Read, Write
from allo.backend.rtl.netlist.modules import Module, Netlist, Ports
from allo.backend.rtl.netlist.operations import (
    Compare,
    Concat,
    Constant,
    Extract,
    Gate,
    Instance,
    Mux,
    Operation,
    Register,
    Replicate,
    Wire,
)

_HEAD = re.compile(r"hw\.module (private )?@([\w$.]+)\((.*)\)")
_PORT = re.compile(r"(in|out) %?([\w$.]+) ?: ?(!seq\.clock|i\d+)")
_LINE = re.compile(r"\s*(?:(%[^=]*?) = )?([a-z]+\.[\w.]+)(.*)$")
_NAME = re.compile(r"%[\w$.#-]+")
_INSTANCE = re.compile(r'"([^"]*)" @([\w$.]+)\((.*)\) -> \((.*)\)')
_JOINED = re.compile(r"([\w$.]+): (%[\w$.#-]+): (!seq\.clock|i\d+)")
_RESULT = re.compile(r"([\w$.]+): (i\d+)")
_SIZE = re.compile(r"<(\d+)xi(\d+)>")
_WIDTH = re.compile(r"i(\d+)")
_PLACE = re.compile(r" loc\((#p\d+)\)")


def read_netlist(text: str) -> Netlist:
    """The modules of a text; ``// section b1`` says where what follows belongs, ``loc(#p1)`` is a place."""
    modules: list[Module] = []
    section = ""
    for line in text.splitlines():
        if (head := _HEAD.match(line)) is not None:
            ports = Ports()
            for way, name, kind in _PORT.findall(head[3]):
                if way == "in":
                    ports.inputs.append((name, kind))
                else:
                    ports.outputs.append((name, kind, ""))
            modules.append(Module(head[2], ports, [], bool(head[1])))
            section = ""
        elif "// section" in line:
            section = line.partition("// section")[2].strip()
        elif (found := _LINE.match(line)) is not None:
            _add(modules[-1], found, section)
    return Netlist(modules)


def _add(module: Module, found: re.Match[str], section: str) -> None:
    name, rest = found[2], found[3].partition(" loc(")[0].strip()
    values, _, kinds = rest.partition(" : ")
    if name == "hw.output":
        outputs = zip(module.ports.outputs, _NAME.findall(values), strict=True)
        module.ports.outputs = [(port, kind, value) for (port, kind, _), value in outputs]
        return
    results = _NAME.findall(found[1] or "")
    op = _instance(results, rest) if name == "hw.instance" else None
    op = op or _operation(name, results[0] if results else "", values, kinds)
    op.section = section
    place = _PLACE.search(found[3])
    if place is not None:
        op.location = Location(place[0], place[1])
    module.operations.append(op)


def _instance(results: list[str], rest: str) -> Instance:
    called = _INSTANCE.search(rest)
    assert called is not None, rest
    given = {port: (value, kind) for port, value, kind in _JOINED.findall(called[3])}
    made = zip(results, _RESULT.findall(called[4]), strict=True)
    return Instance(called[1], called[2], given, [(r, port, kind) for r, (port, kind) in made])


def _operation(name: str, result: str, values: str, kinds: str) -> Operation:
    operands = tuple(_NAME.findall(values))
    widths = [int(width) for width in _WIDTH.findall(kinds)]
    if name.startswith("seq.compreg"):
        return _register(result, operands, widths[0], name.endswith(".ce"))
    make = _MAKERS.get(name)
    if make is not None:
        return make(result, operands, values, widths)
    if name.startswith(("seq.", "hw.array")):
        return _memory(name, result, operands, kinds)
    return Gate(name, result, operands, widths[0])


def _register(result: str, operands: tuple[str, ...], width: int, gated: bool) -> Register:
    data, _, *rest = operands
    gate = rest.pop(0) if gated else ""
    return Register(result, data, width, gate, rest[1] if rest else "")


def _constant(result: str, _: tuple[str, ...], text: str, widths: list[int]) -> Operation:
    if text in ("true", "false"):
        return Constant(result, text == "true", 1)
    return Constant(result, int(text, 0), widths[0])


type _Maker = Callable[[str, tuple[str, ...], str, list[int]], Operation]
_MAKERS: dict[str, _Maker] = {
    "hw.constant": _constant,
    "hw.wire": lambda r, o, text, w: Wire(r, o[0], w[0], visible=" sym " in text),
    "comb.mux": lambda r, o, _, w: Mux(r, o, w[0]),
    "comb.icmp": lambda r, o, text, w: Compare(text.split()[0], r, o, w[0]),
    "comb.concat": lambda r, o, _, w: Concat(r, o, tuple(w)),
    "comb.replicate": lambda r, o, _, w: Replicate(r, o[0], w[1], w[0]),
    "comb.extract": lambda r, o, text, w: Extract(r, o[0], int(text.split()[-1]), w[1], w[0]),
    "hw.array_create": lambda r, o, _, w: ArrayCreate(r, o, w[0]),
}


def _memory(name: str, result: str, operands: tuple[str, ...], kinds: str) -> Operation:
    found = _SIZE.search(kinds)
    assert found is not None, f"{name} {kinds}"
    depth, width = int(found[1]), int(found[2])
    bits = max(1, (depth - 1).bit_length())
    match name:
        case "seq.hlmem":
            return Memory(result, depth, width)
        case "seq.read":
            memory, address, enable = operands
            return Read(result, (memory, address, enable), depth, width, bits)
        case "seq.write":
            memory, address, word, enable = operands
            return Write((memory, address, word, enable), depth, width, bits)
        case "hw.array_get":
            array, index = operands
            return Element(result, (array, index), depth, width, bits)
    raise ValueError(f"no reader for {name}")


def lines_of(netlist: Netlist) -> list[str]:
    """The text of a netlist by lines, without what says that it has no places."""
    return netlist.body_text().replace(" loc(unknown)", "").split("\n")
