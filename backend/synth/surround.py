"""A netlist between registers, so that its ports need no pins and its paths all count.

Inputs come from a chain of flip-flops that is filled bit by bit; each output goes to a flip-flop and from
there into a chain of exclusive ors. Three pins are left: clock, input and output of the chains.
"""

from __future__ import annotations

from typing import Any

from allo.backend.devices import CellUse, Routing

CLOCK = "clk"
STEM = "surround_"
"""How the names of the cells begin that are added."""


def surround(netlist: dict[str, Any], top: str, routing: Routing) -> None:
    """Give the ports of the top module registers, in place, of the cells of a family."""
    _Surrounding(netlist["modules"][top], routing).run()


class _Surrounding:
    def __init__(self, module: dict[str, Any], routing: Routing) -> None:
        self._module, self._routing = module, routing
        self._cells: dict[str, Any] = module["cells"]
        self._clock = module["ports"][CLOCK]["bits"][0]
        bits = [b for net in module["netnames"].values() for b in net["bits"]]
        self._last = max((b for b in bits if isinstance(b, int)), default=1)

    def run(self) -> None:
        ports = self._module["ports"]
        first = before = self._fresh()
        pin = (
            first if self._routing.input_pin is None else self._pin(self._routing.input_pin, first)
        )
        for name, port in ports.items():
            if port["direction"] != "input" or name == CLOCK:
                continue
            for bit in port["bits"]:
                self._flip_flop(before, bit)
                before = bit
        chain: int | str = "0"
        for port in ports.values():
            if port["direction"] != "output":
                continue
            for bit in port["bits"]:
                held, mixed, kept = self._fresh(), self._fresh(), self._fresh()
                self._flip_flop(bit, held)
                self._exclusive_or(chain, held, mixed)
                self._flip_flop(mixed, kept)
                chain = kept
        last: int | str = chain
        clock = self._clock
        if self._routing.output_pin is not None and self._routing.input_pin is not None:
            last = self._pin(self._routing.output_pin, chain)
            clock = self._pin(self._routing.input_pin, self._clock)
        self._module["ports"] = {
            CLOCK: {"direction": "input", "bits": [clock]},
            f"{STEM}in": {"direction": "input", "bits": [pin]},
            f"{STEM}out": {"direction": "output", "bits": [last]},
        }

    def _pin(self, use: CellUse, signal: int | str) -> int:
        """The net of a pin whose cell drives a signal, or is driven by it."""
        pin = self._fresh()
        inside, outside = ("result", "pin") if "result" in use.ports.values() else ("data", "pin")
        out = "result" if inside == "result" else "pin"
        self._cell(use, {inside: signal, outside: pin}, out)
        return pin

    def _fresh(self) -> int:
        self._last += 1
        return self._last

    def _cell(self, use: CellUse, signals: dict[str, int | str], out: str) -> None:
        self._cells[f"{STEM}{len(self._cells)}"] = {
            "hide_name": 0,
            "type": use.kind,
            "parameters": dict(use.parameters),
            "attributes": {},
            "port_directions": {
                port: "output" if signal == out else "input" for port, signal in use.ports.items()
            },
            "connections": {
                port: [signals.get(signal, signal)] for port, signal in use.ports.items()
            },
        }

    def _flip_flop(self, data: int | str, held: int) -> None:
        signals = {"clock": self._clock, "data": data, "held": held}
        self._cell(self._routing.flip_flop, signals, "held")

    def _exclusive_or(self, a: int | str, b: int, result: int) -> None:
        self._cell(self._routing.exclusive_or, {"a": a, "b": b, "result": result}, "result")
