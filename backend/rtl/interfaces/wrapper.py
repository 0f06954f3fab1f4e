"""The whole wrapper of a design: its modules, of which the last is the board's top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import InterfaceError

from ..design import HardwareDesign
from ..emit.text import Locations, ModuleText, Ports
from ..waiting import PROBED, PROBING
from .arguments import Known
from .board import CLOCK, RESET, Board
from .choose import plan_board, read_interface
from .parts import Made
from .shell import Core, shell_module


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The modules around a core.

    Attributes:
        board: what the top shows to the outside.
        parts: modules the shell is made of; ``shell`` holds the core.
    """

    board: Board
    parts: tuple[ModuleText, ...]
    shell: ModuleText

    @property
    def directives(self) -> list[str]:
        """Comments that tools obey, for the head of the Verilog."""
        if self.board.registers is None:
            return []
        return [
            "/* verilator lint_off SYMRSVDWORD */  // interrupt is the name of the port on boards"
        ]

    def render(self, *, native: bool, without: frozenset[str] = frozenset()) -> list[str]:
        """The text of every module but those whose names are in ``without``, the top last."""
        kept = [part for part in self.parts if part.name not in without]
        texts = [part.render(private=True, native=native) for part in (*kept, self.shell)]
        return [*texts, self._top(native=native)]

    def _top(self, *, native: bool) -> str:
        """The top: clock and reset as boards name them, around the shell."""
        wires = self.board.wires
        ports = [f"in %{CLOCK} : !seq.clock", f"in %{RESET} : i1"]
        given = [f"clk: %{CLOCK}: !seq.clock", "rst: %reset: i1"]
        ports += [f"in %{w.name} : i{w.width}" for w in wires if not w.output]
        given += [f"{w.name}: %{w.name}: i{w.width}" for w in wires if not w.output]
        outputs = [(w.name, w.width, f"%{w.name}_out") for w in wires if w.output]
        if native:
            ports.append(f"in %{PROBING} : i1")
            given.append(f"{PROBING}: %{PROBING}: i1")
            outputs.insert(0, (PROBED, 1, f"%{PROBED}"))
        ports += [f"out {name} : i{width}" for name, width, _ in outputs]
        values = ", ".join(value for _, _, value in outputs)
        kinds = ", ".join(f"i{width}" for _, width, _ in outputs)
        made = ", ".join(f"{name}: i{width}" for name, width, _ in outputs)
        return "\n".join(
            [
                f"hw.module @{self.board.top}({', '.join(ports)}) {{",
                "  %true = hw.constant true",
                f"  %reset = comb.xor %{RESET}, %true : i1",
                f'  {values} = hw.instance "shell" @{self.shell.name}({", ".join(given)}) -> ({made})',
                f"  hw.output {values} : {kinds}",
                "}",
            ]
        )


def wrap(
    design: HardwareDesign,
    ports: Ports,
    interface: str | Mapping[str, Any],
    known: Known,
    locations: Locations,
) -> Wrapper:
    """The wrapper of a design.

    Args:
        ports: those of the design's top, which becomes the core.
        interface: what the user asks for.
        known: the arguments of its function.

    Raises:
        InterfaceError: an interface that an argument cannot have.
    """
    if design.bounds is not None:
        raise InterfaceError(
            f"{known.signature.top} is built with interfaces and with checks, which have no way out "
            "of the wrapper.",
            known.signature.place,
            help="run it with check_bounds or check_dependences first, and without them for a board.",
        )
    waiting = next((a.name for a in design.arrays if any(p.waits for p in a.ports)), None)
    if waiting is not None:
        raise InterfaceError(
            f"{waiting} is external= and {known.signature.top} has interfaces.",
            known.signature.place,
            help=f"leave it out of external=, and give {waiting} the interface 'm_axi'.",
        )
    core = Core(
        design.top, ports, design.arrays, design.streams, design.scalars_in, design.scalars_out
    )
    arguments = known.of(design)
    board = plan_board(core, read_interface(interface, arguments), arguments)
    made = Made()
    shell = shell_module(core, board, made, locations)
    return Wrapper(board, tuple(made.modules.values()), shell)
