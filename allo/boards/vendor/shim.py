"""The top of an IP: Vivado's packager takes no SystemVerilog there (UG1118)."""

from __future__ import annotations

from allo.backend.rtl.interfaces.board import CLOCK, LITE, RESET
from allo.backend.rtl.interfaces.board import Board as Wrapper

_TEXT = """\
// {kernel}: {top} in Verilog for Vivado's packager, with the names of its buses. Written by Allo.
module {kernel} (
{ports}
);
  {top} wrapper (
{wired}
  );
endmodule
"""


def shim(wrapper: Wrapper, kernel: str) -> str:
    """A module in Verilog around a wrapper, whose attributes name buses, clock, reset and interrupt."""
    buses = ":".join([LITE, *(m.prefix for m in wrapper.masters)])
    attributes = {
        CLOCK: f'X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF {buses}, ASSOCIATED_RESET {RESET}"',
        RESET: 'X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW"',
        "interrupt": 'X_INTERFACE_INFO = "xilinx.com:signal:interrupt:1.0 interrupt INTERRUPT"',
    }
    wires = [(CLOCK, 1, False), (RESET, 1, False)]
    wires += [(w.name, w.width, w.output) for w in wrapper.wires]
    ports = []
    for name, width, output in wires:
        bits = f" [{width - 1}:0]" if width > 1 else ""
        lead = f"  (* {attributes[name]} *)\n" if name in attributes else ""
        ports.append(f"{lead}  {'output' if output else 'input'}{bits} {name}")
    wired = [f"    .{name}({name})" for name, _, _ in wires]
    return _TEXT.format(
        kernel=kernel, top=wrapper.top, ports=",\n".join(ports), wired=",\n".join(wired)
    )
