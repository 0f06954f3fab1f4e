"""The pins of records against the packages amaranth-boards and litex-boards, which are read, not imported."""

from __future__ import annotations

import ast
import importlib.util
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from allo import boards

AMARANTH = {
    "ulx3s-12f": "ulx3s",
    "ulx3s-45f": "ulx3s",
    "ulx3s-85f": "ulx3s",
    "orangecrab-25f": "orangecrab_r0_2",
    "orangecrab-85f": "orangecrab_r0_2",
    "ecpix5-45f": "ecpix5",
    "ecpix5-85f": "ecpix5",
    "icebreaker": "icebreaker",
    "upduino-3": "upduino_v3",
    "tang-nano-9k": "tang_nano_9k",
}
LITEX = {
    "ulx3s-12f": "radiona_ulx3s",
    "ulx3s-45f": "radiona_ulx3s",
    "ulx3s-85f": "radiona_ulx3s",
    "orangecrab-25f": "gsd_orangecrab",
    "orangecrab-85f": "gsd_orangecrab",
    "ecpix5-45f": "lambdaconcept_ecpix5",
    "ecpix5-85f": "lambdaconcept_ecpix5",
    "icebreaker": "icebreaker",
    "tang-nano-9k": "sipeed_tang_nano_9k",
    "tang-nano-20k": "sipeed_tang_nano_20k",
    "arty-a7-35": "digilent_arty",
    "arty-a7-100": "digilent_arty",
    "nexys-video": "digilent_nexys_video",
}

TABLES = {
    "_io", "_io_common", "_io_r0_2", "resources", "connectors", "_connectors_r0_2", "feather_serial",
}  # fmt: skip
"""Their names in the files; the OrangeCrab's are those of its revision 0.2."""


def _called(function: str, /, *given, **named):
    """What a call of the platform's file says; `*LEDResources(…)` gives it as the only one of its kind."""
    return [SimpleNamespace(function=function, given=given, named=named)]


class _Name(SimpleNamespace):
    """A function of the platform's file, or a class whose tables a later one takes over."""

    def __call__(self, *given, **named):
        return _called(self.name, *given, **named)


class _Recorder(dict):
    def __missing__(self, name: str):
        return _Name(name=name, resources=[], connectors=[])


def _pins(package: str, folder: str, module: str) -> tuple[dict[str, list[str]], set[str]]:
    """The sites by `resource.signal`, lowest bit first, and the resources that are active at 0."""
    place = importlib.util.find_spec(package).submodule_search_locations[0]
    tree = ast.parse((Path(place) / folder / f"{module}.py").read_text())
    sites: dict[str, list[str]] = defaultdict(list)
    inverted: set[str] = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.List)):
            continue
        if ast.unparse(node.targets[0]) not in TABLES:
            continue
        code = compile(ast.Expression(node.value), module, "eval")
        for entry in eval(code, _Recorder()):
            _gather(entry, sites, inverted)
    return sites, inverted


def _gather(entry, sites: dict[str, list[str]], inverted: set[str]) -> None:
    if isinstance(entry, tuple) and isinstance(entry[1], str):  # LiteX: ("GPIO", "N17 M18")
        sites[entry[0]] += entry[1].split()
        return
    if isinstance(entry, tuple):  # LiteX: ("serial", 0, Subsignal("rx", Pins("6")), …)
        entry = _called("Resource", *entry)
    entry = entry[0] if isinstance(entry, list) else entry
    parts = [p[0] for p in entry.given if isinstance(p, list)]
    if entry.function == "Resource":
        name = entry.given[0]
    else:  # of Amaranth: UARTResource(0, rx="6", tx="9"), LEDResources(pins="11 37", invert=True)
        name = next((g for g in entry.given if isinstance(g, str)), None) or (
            entry.function.removesuffix("s").removesuffix("Resource").lower()
        )
    if entry.function == "Connector":
        pins = entry.given[2]
        sites["connector"] += pins.split() if isinstance(pins, str) else pins.values()
        return
    for signal, value in entry.named.items():
        if isinstance(value, str | dict):
            sites[f"{name}.{signal}"] += value.split() if isinstance(value, str) else value.values()
    if entry.named.get("invert"):
        inverted.add(name)
    for part in parts:
        if part.function in ("Pins", "PinsN"):
            sites[name] += " ".join(map(str, part.given)).split()
        if part.function == "Subsignal":
            for pins in (p[0] for p in part.given if isinstance(p, list)):
                if pins.function in ("Pins", "PinsN"):  # not the pairs of HDMI
                    sites[f"{name}.{part.given[0]}"] += " ".join(map(str, pins.given)).split()


def _ours(name: str) -> dict[str, list[str]]:
    sites: dict[str, list[str]] = defaultdict(list)
    for role, pin in boards.board(name).pins.items():
        sites[role.partition("[")[0]].append(pin.site)
    return sites


def _colours(theirs: dict[str, list[str]], name: str) -> list[str]:
    """Red, green and blue of one LED after the other."""
    three = (theirs[f"{name}.{colour}"] for colour in "rgb")
    return [site for led in zip(*three, strict=True) for site in led]


def _memory(ours: dict[str, list[str]]) -> list[str]:
    return [role for role in ours if role.startswith("sdram_") and role != "sdram_clk"]


@pytest.mark.parametrize("name", AMARANTH)
def test_pins_are_those_of_amaranth_boards(name: str) -> None:
    board, ours = boards.board(name), _ours(name)
    theirs, inverted = _pins("amaranth_boards", "", AMARANTH[name])
    assert ours["clock"] == (theirs[f"clk{board.oscillator_mhz:.0f}"] or theirs["clk"])
    if "uart.rx" in theirs:
        assert ours["serial_rx"] == theirs["uart.rx"] and ours["serial_tx"] == theirs["uart.tx"]
    else:  # pins for an adapter
        assert {*ours["serial_rx"], *ours["serial_tx"]} <= set(theirs["connector"])
    fifo = {site for role, sites in ours.items() if role.startswith("fifo_") for site in sites}
    assert fifo <= set(theirs["connector"])  # pins of a header, for an FT232H
    inverted |= {"led"} & {name.removeprefix("rgb") for name in inverted}
    assert ours["led"] == (theirs["led.pins"] or _colours(theirs, "rgbled"))
    assert ours["button"] == theirs["button.pins"]
    for key, pin in board.pins.items():
        role = key.partition("[")[0]
        assert pin.low == (role in inverted) or role not in ("led", "button"), key
    for role in _memory(ours):
        assert ours[role] == theirs[f"sdram.{role.removeprefix('sdram_')}"], role


@pytest.mark.parametrize("name", LITEX)
def test_pins_are_those_of_litex_boards(name: str) -> None:
    board, ours = boards.board(name), _ours(name)
    theirs, _ = _pins("litex_boards", "platforms", LITEX[name])
    assert ours["clock"] == theirs[f"clk{board.oscillator_mhz:.0f}"]
    for ours_of, theirs_of in (("serial_rx", "serial.rx"), ("serial_tx", "serial.tx")):
        connector, _, place = theirs[theirs_of][0].rpartition(":")
        assert ours[ours_of] == [theirs[connector][int(place)] if connector else place]
    leds = theirs["user_led"] or theirs["user_led_n"] or theirs["led_n"]
    if leds:
        assert ours["led"] == leds
    else:  # the same in another order
        assert sorted(ours["led"]) == sorted(_colours(theirs, "rgb_led"))
    buttons = theirs["user_btn"] or theirs["user_btn_n"] or theirs["btn"] or theirs["usr_btn"]
    # LiteX counts the ULX3S's switch for its power as a button, and the Nexys Video's reset.
    assert ours["button"] == [site for site in buttons if site not in ("D6", "G4")]
    for role in _memory(ours):
        key = {"sdram_dqm": "sdram.dm"}.get(role, f"sdram.{role.removeprefix('sdram_')}")
        assert ours[role] == theirs[key], role
    if "sdram_clk" in ours:
        assert ours["sdram_clk"] == theirs["sdram_clock"]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("arty-a7-35", "digilent_arty"),
        ("arty-a7-100", "digilent_arty"),
        ("pynq-z2", "tul_pynq_z2"),
        ("kv260", "xilinx_kv260"),
    ],
)
def test_parts_are_those_of_litex_boards(name: str, module: str) -> None:
    place = importlib.util.find_spec("litex_boards").submodule_search_locations[0]
    text = (Path(place) / "platforms" / f"{module}.py").read_text()
    assert f'"{boards.board(name).part.lower()}"' in text.lower()


def test_a_wrong_pin_would_be_seen() -> None:
    theirs, inverted = _pins("amaranth_boards", "", "icebreaker")
    assert theirs["uart.rx"] == ["6"] and theirs["led.pins"][:2] == ["11", "37"]
    assert {"led", "button"} <= inverted
