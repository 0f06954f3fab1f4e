"""The whole wrapper of a design: its modules, of which the last is the board's top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allo.backend.devices.cards import check_masters
from allo.backend.devices.fields.card import Card
from allo.dialects.diagnostics import InterfaceError
from allo.dialects.interfaces.transfers import Transfer

from ..design import HardwareDesign
from ..emit.builder import ModuleBuilder
from ..netlist.locations import Locations
from ..netlist.modules import Module, Ports
from ..netlist.operations import CLOCK_TYPE, Constant, Gate, Instance, Operation
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
        deep: what stands for some of the parts in hardware, by name.
    """

    board: Board
    parts: tuple[ModuleBuilder, ...]
    shell: ModuleBuilder
    deep: Mapping[str, ModuleBuilder]

    @property
    def directives(self) -> list[str]:
        """Comments that tools obey, for the head of the Verilog."""
        if self.board.registers is None:
            return []
        return [
            "/* verilator lint_off SYMRSVDWORD */  // interrupt is the name of the port on boards"
        ]

    def modules(self, *, native: bool, without: frozenset[str] = frozenset()) -> list[Module]:
        """Every module but those whose names are in ``without``, the top last."""
        kept = [part for part in self.parts if part.name not in without]
        drawn = kept if native else [self.deep.get(part.name, part) for part in kept]
        made = [part.module(private=True, native=native) for part in (*drawn, self.shell)]
        return [*made, self._top(native=native)]

    def _top(self, *, native: bool) -> Module:
        """The top: clock and reset as boards name them, around the shell."""
        inputs = [(w.name, f"i{w.width}") for w in self.board.wires if not w.output]
        outputs = [(w.name, f"i{w.width}", f"%{w.name}_out") for w in self.board.wires if w.output]
        if native:
            inputs.append((PROBING, "i1"))
            outputs.insert(0, (PROBED, "i1", f"%{PROBED}"))
        given = {"clk": (f"%{CLOCK}", CLOCK_TYPE), "rst": ("%reset", "i1")}
        given |= {name: (f"%{name}", kind) for name, kind in inputs}
        made = [(value, name, kind) for name, kind, value in outputs]
        body: list[Operation] = [
            Constant("%true", 1, 1),
            Gate("comb.xor", "%reset", (f"%{RESET}", "%true"), 1),
            Instance("shell", self.shell.name, given, made),
        ]
        ports = Ports([(CLOCK, CLOCK_TYPE), (RESET, "i1"), *inputs], outputs)
        return Module(self.board.top, ports, body, private=False)


def wrap(
    design: HardwareDesign,
    ports: Ports,
    interface: str | Mapping[str, Any],
    known: Known,
    transfers: Mapping[int, Transfer],
    locations: Locations,
    card: Card | None = None,
) -> Wrapper:
    """The wrapper of a design.

    Args:
        ports: those of the design's top, which becomes the core.
        interface: what the user asks for.
        known: the arguments of its function.
        transfers: those that pass while the core runs, by position.
        card: whose number of masters is kept to.

    Raises:
        PlacementError: more masters than the card takes.
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
    told = design.report.cycles
    core = Core(
        design.top,
        ports,
        design.arrays,
        design.streams,
        design.scalars_in,
        design.scalars_out,
        design.report.about if told is None else told,
        known.early,
        known.waits,
    )
    arguments = known.of(design, transfers)
    board = plan_board(core, read_interface(interface, arguments), arguments)
    bundles = [master.bundle for master in board.masters]
    check_masters(card, bundles, known.signature.top, known.signature.place)
    made = Made()
    shell = shell_module(core, board, made, locations)
    return Wrapper(board, tuple(made.modules.values()), shell, made.deep)
