"""The options of ``torch.compile(model, backend="allo", options=…)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import OptionError
from allo.dialects.text.near import did_you_mean
from allo.dialects.text.shown import shown

_BUILDS: dict[str, tuple[str, dict[str, Any]]] = {
    "llvm": ("Allo's CPU build", {}),
    "jit": ("simulated hardware (jit)", {"target": "verilog", "simulator": "jit"}),
    "verilator": (
        "simulated hardware (verilator)",
        {"target": "verilog", "simulator": "verilator"},
    ),
}
_NAMES = ("target", "schedule", "op_dtypes")


@dataclass(frozen=True, slots=True)
class Settings:
    """How graphs are built.

    Attributes:
        target: ``"llvm"``, or the simulator of the hardware: ``"jit"`` or ``"verilator"``.
        schedule: applied to the schedule of each graph before it is built.
        op_dtypes: element types, as ``from_pytorch`` takes them.
    """

    target: str = "llvm"
    schedule: Callable[[Any], Any] | None = None
    op_dtypes: Mapping[str, Any] | None = None

    @property
    def where(self) -> str:
        """Where graphs run, in words."""
        return _BUILDS[self.target][0]

    def built(self, schedule: Any) -> Any:
        """The schedule of a graph, scheduled and built."""
        if self.schedule is not None:
            self.schedule(schedule)
        return schedule.build(**_BUILDS[self.target][1])


def settings_of(options: Mapping[str, Any] | None) -> Settings:
    """The options of a call of ``torch.compile``.

    Raises:
        OptionError: an option that there is not, or a value that it does not take.
    """
    given = dict(options or {})
    for name in given:
        if name not in _NAMES:
            raise OptionError(
                f"torch.compile with backend='allo' has no option {name!r}.",
                help=f"{did_you_mean(name, _NAMES)}its options are {', '.join(_NAMES)}.",
            )
    target = given.get("target", "llvm")
    if target not in _BUILDS:
        raise OptionError(
            f"The option target is {shown(target)}, and graphs of torch.compile run on {', '.join(_BUILDS)}.",
            help="llvm is the CPU; jit and verilator simulate the hardware.",
        )
    if given.get("schedule") is not None and not callable(given["schedule"]):
        raise OptionError(
            f"The option schedule is {shown(given['schedule'])}, and no function.",
            help='give a function of the graph\'s schedule, such as lambda s: s["**"].pipeline().',
        )
    return Settings(**given)
