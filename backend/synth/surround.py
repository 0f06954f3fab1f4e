"""A netlist for ECP5 between registers, so that its ports need no pins and its paths all count.

Inputs come from a chain of flip-flops that is filled bit by bit; each output goes to a flip-flop and from
there into a chain of exclusive ors. Three pins are left: clock, input and output of the chains.
"""

from __future__ import annotations

from typing import Any

CLOCK = "clk"
STEM = "surround_"
"""How the names of the cells begin that are added."""

_FF = {
    "CEMUX": "1 ",  # a space: without one it would be a number
    "CLKMUX": "CLK",
    "GSR": "DISABLED",
    "LSRMUX": "LSR",
    "REGSET": "RESET",
    "SRMODE": "LSR_OVER_CE",
}
_XOR = "0110" * 4
"""The table of a LUT4: A xor B."""


def surround(netlist: dict[str, Any], top: str) -> None:
    """Give the ports of the top module registers, in place."""
    module = netlist["modules"][top]
    _Surrounding(module).run()


class _Surrounding:
    def __init__(self, module: dict[str, Any]) -> None:
        self._module = module
        self._cells: dict[str, Any] = module["cells"]
        self._clock = module["ports"][CLOCK]["bits"][0]
        bits = [b for net in module["netnames"].values() for b in net["bits"]]
        self._last = max((b for b in bits if isinstance(b, int)), default=1)

    def run(self) -> None:
        ports = self._module["ports"]
        first = before = self._fresh()
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
        self._module["ports"] = {
            CLOCK: ports[CLOCK],
            f"{STEM}in": {"direction": "input", "bits": [first]},
            f"{STEM}out": {"direction": "output", "bits": [chain]},
        }

    def _fresh(self) -> int:
        self._last += 1
        return self._last

    def _cell(
        self, kind: str, parameters: dict[str, str], joined: dict[str, Any], out: str
    ) -> None:
        self._cells[f"{STEM}{len(self._cells)}"] = {
            "hide_name": 0,
            "type": kind,
            "parameters": dict(parameters),
            "attributes": {},
            "port_directions": {port: "output" if port == out else "input" for port in joined},
            "connections": {port: [bit] for port, bit in joined.items()},
        }

    def _flip_flop(self, data: int | str, held: int) -> None:
        self._cell("TRELLIS_FF", _FF, {"CLK": self._clock, "DI": data, "LSR": "0", "Q": held}, "Q")

    def _exclusive_or(self, a: int | str, b: int, result: int) -> None:
        joined = {"A": a, "B": b, "C": "0", "D": "0", "Z": result}
        self._cell("LUT4", {"INIT": _XOR}, joined, "Z")
