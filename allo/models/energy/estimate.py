"""The energy of a run, from its activity and published energies."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import ModelError

from .activity import Activity, activity, kinds_of
from .published import NET_PJ, PRODUCT_PJ, READ_PJ

NOTE = "estimated from simulated activity and published energies; not measured on a board"
UNKNOWN = "static power is not known: give that of the part's data sheet"


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of a run, without the clock's network, pins and what is outside.

    Attributes:
        activity: the bits that change.
        cycles, clock_mhz: how long it takes.
        static_mw: power of the part in which nothing changes, as it was given; None where it was not.
    """

    activity: Activity
    cycles: int
    clock_mhz: float
    static_mw: float | None = None

    @property
    def dynamic_nj(self) -> float:
        """Of the bits that change."""
        found = self.activity
        taken = found.nets * NET_PJ + found.products * PRODUCT_PJ + found.reads * READ_PJ
        return taken / 1000

    @property
    def static_nj(self) -> float | None:
        """Of the time that the run takes; None where the static power is not known."""
        return None if self.static_mw is None else self.static_mw * self.cycles / self.clock_mhz

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, with what they are."""
        found = self.activity
        return {
            "dynamic_nj": self.dynamic_nj,
            "static_nj": self.static_nj,
            "static_mw": self.static_mw,
            "changed_bits": {
                "nets": found.nets,
                "products": found.products,
                "reads": found.reads,
            },
            "note": NOTE if self.static_mw is not None else f"{NOTE}; {UNKNOWN}",
        }

    def __str__(self) -> str:
        found = self.activity
        static = UNKNOWN
        if self.static_nj is not None:
            static = (
                f"static {self.static_nj:,.1f} nJ, at the {self.static_mw:g} mW that were given"
            )
        return (
            f"Energy of a sample, {NOTE}: dynamic {self.dynamic_nj:,.1f} nJ ({found.nets:,} changed bits "
            f"of nets, {found.products:,} of products, {found.reads:,} at memories); {static}. The clock's "
            "network is in neither."
        )


def energy_of(module: Any, *inputs: Any, static_mw: float | None = None) -> Energy:
    """The energy of a call: every net is watched by Verilator.

    Args:
        module: of the target ``verilog``.
        inputs: of the call.
        static_mw: power of the part in which nothing changes, from its data sheet.

    Raises:
        ModelError: a static power that is none.
    """
    if static_mw is not None and not 0 <= static_mw < float("inf"):
        raise ModelError(
            f"The static power is {static_mw!r} mW, and no power.",
            help="give the milliwatts of the part's data sheet.",
        )
    with tempfile.TemporaryDirectory() as folder:
        wave = Path(folder) / "run.vcd"
        module(*inputs, wave=wave)
        with open(wave) as lines:
            found = activity(lines, kinds_of(module.verilog))
    return Energy(found, module.cycles, module.report.clock_mhz, static_mw)
