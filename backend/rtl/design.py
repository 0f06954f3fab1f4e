"""A compiled hardware design: what the RTL compiler hands to simulators and synthesis.

Protocol of the top module (and of every function module inside):

* ports ``clk``, ``rst`` (synchronous, active high), ``start``, ``done``;
* ``start`` is high for one cycle while the module is idle; scalar inputs are sampled in
  that cycle; ``done`` is high for exactly one cycle, in which scalar outputs are valid and
  after which every memory write has been issued (the last write may be issued in the very
  cycle of ``done``);
* **cycles** of a run = (number of the cycle with ``done``) - (number of the cycle with
  ``start``), so a module that answers in the next cycle takes 1;
* ``start`` may be raised again in the cycle after ``done``.

An array is a set of banks, a bank has one or two ports, and a port is a synchronous RAM port:
``<prefix>_addr``, ``_en``, ``_we``, ``_wdata`` leave the module and ``_rdata`` enters it. A read
whose address is out in cycle t has its data in cycle t + ``read_latency``. ``_we`` and ``_wdata``
exist only on ports that write, ``_rdata`` only on ports that read. A bank of one word has
``addr`` of width 1, always 0. In one cycle a read sees the word before a write to it in the
same cycle.

A port of external memory (``waits``) has a further input ``<prefix>_ready``: a request counts only in a
cycle in which it is high, and the module repeats the request until then. It may depend on
``_en``, ``_we`` and ``_addr`` of the same cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from allo.dialects.core.partition import ArrayLayout
from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.later import leave_open

from .emit.bounds import BoundsPort
from .interfaces.board import Board
from .netlist.modules import Netlist
from .regions.predict import Compiled as Regions
from .waiting import ModuleWaits

type Needs = Mapping[str, np.ndarray | None]
"""By array, a cycle of the core for each element, row-major; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Times:
    """When a core uses the elements of arrays that are copied while it runs.

    Attributes:
        needs: the cycle in which it first asks for each.
        ends: the one in which it last writes each, 0 where it never does.
    """

    needs: Needs = field(default_factory=dict)
    ends: Needs = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScalarPort:
    """A scalar input or output: ``name`` is the Verilog port, ``dtype`` the textual type."""

    name: str
    dtype: str
    width: int


@dataclass(frozen=True, slots=True)
class BankPort:
    """One RAM port of a bank; ``waits`` when it may make the module wait."""

    prefix: str
    bank: int
    reads: bool
    writes: bool
    addr_width: int
    waits: bool = False


@dataclass(frozen=True, slots=True)
class ArrayInterface:
    """One array argument or result of the top function.

    Attributes:
        name: the user's name (``res`` or ``res<i>`` for results without one).
        dtype: textual element type; ``width`` its bits in a RAM word.
        shape: extents; element (i, j …) lies in the bank and word ``layout.locate`` gives.
        direction: ``"in"``, ``"out"`` or ``"both"``, by the accesses of the kernel.
        ports: RAM ports, at most two a bank.
        read_latency: cycles from address to data.
    """

    name: str
    dtype: str
    width: int
    shape: tuple[int, ...]
    layout: ArrayLayout
    direction: str
    ports: tuple[BankPort, ...]
    read_latency: int = 1


@dataclass(frozen=True, slots=True)
class StreamInterface:
    """One stream port of the top: ``<name>_data``, ``_valid``, ``_ready``."""

    name: str
    dtype: str
    width: int
    direction: str


@dataclass(frozen=True, slots=True)
class SharedUnit:
    """A module instantiated many times, which simulators should compile once.

    Attributes:
        module: its Verilog name.
        ports: all its port names.
    """

    module: str
    ports: tuple[str, ...]


@dataclass(slots=True)
class HardwareDesign:
    """Everything about one compiled design.

    Attributes:
        top: name of the top module.
        hw_text: the design in CIRCT's hw, comb and seq dialects, real arithmetic units included, as the
            Verilog is exported from it.
        native_hw_text: the same with each float unit as one native operation and a shift
            register of equal latency, for the in-process engine; "" until built.
        netlist: the operations of ``hw_text``, until the resources are estimated.
        verilog: SystemVerilog of the whole design, one file.
        arguments: the user's arguments in order: names of scalars or arrays.
        results: names of returned scalars or arrays, in order.
        modules: function name to module name.
        debug: map from registers and states to Python source (JSON-able).
        bounds: what the top tells of subscripts out of range; None without checks.
        waits: by module, where it can wait for streams.
        compiled: what foretells the cycles of its regions.
        times: when it uses elements of arrays that are copied while it runs.
        endless: whether a run has no end of its own: its words run out.
        board: the outside of the wrapper that ``top`` then is (:mod:`.interfaces`); None without one.
    """

    top: str
    hw_text: str
    verilog: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    scalars_in: tuple[ScalarPort, ...]
    scalars_out: tuple[ScalarPort, ...]
    arrays: tuple[ArrayInterface, ...]
    report: DesignReport
    native_hw_text: str = ""
    netlist: Netlist | None = None
    streams: tuple[StreamInterface, ...] = ()
    shared_units: tuple[SharedUnit, ...] = ()
    modules: dict[str, str] = field(default_factory=dict)
    debug: dict[str, Any] = field(default_factory=dict)
    bounds: BoundsPort | None = None
    waits: dict[str, ModuleWaits] = field(default_factory=dict)
    board: Board | None = None
    endless: bool = False
    compiled: Regions | None = None
    times: Times = field(default_factory=Times)

    def estimate_resources(self) -> None:
        """Fill in the resources of the report, once; a report that has them stays as it is."""
        if self.report.is_open:
            self.report.fill()
        else:
            self._estimate()

    def estimate_later(self) -> None:
        """Have the resources of the report filled in when one of them is first read."""
        from .resources.report import estimated

        if self.netlist is not None and self.report.device and not self.report.is_open:
            leave_open(estimated(self.report), self._estimate)

    def _estimate(self) -> None:
        from .resources.report import add_estimates

        if self.netlist is not None and self.report.device:
            add_estimates(self.report, self.netlist, self.top, self.report.device, self.modules)
            self.netlist = None
