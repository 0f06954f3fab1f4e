"""Making the operations of a module, values named once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace

from ..netlist.locations import Locations
from ..netlist.modules import Module, Ports
from ..netlist.operations import (
    CLOCK_TYPE,
    RESET,
    Compare,
    Concat,
    Constant,
    Extract,
    Gate,
    Instance,
    Mux,
    Operation,
    Register,
    Replicate,
    Wire,
)
from ..waiting import PROBED, PROBING

GROUP = 8
"""Bits that the conjunctions of a row's prefixes have in common."""
LONGEST = 80
"""Characters of an identifier. A port has a suffix, and Verilator gives names beyond 127 others."""
_ENCODED = 5
"""Characters that Verilator adds where two underscores stand."""

KEYWORDS = frozenset(
    """accept_on alias always always_comb always_ff always_latch and assert assign assume
    automatic before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell
    chandle checker class clocking cmos config const constraint context continue cover covergroup
    coverpoint cross deassign default defparam design disable dist do edge else end endcase
    endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface
    endmodule endpackage endprimitive endprogram endproperty endsequence endspecify endtable
    endtask enum event eventually expect export extends extern final first_match for force foreach
    forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins
    illegal_bins implements implies import incdir include initial inout input inside instance int
    integer interconnect interface intersect join join_any join_none large let liblist library
    local localparam logic longint macromodule matches medium modport module nand negedge nettype
    new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed
    parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown
    pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real
    realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1
    s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
    showcancelled signed small soft solve specify specparam static string strong strong0 strong1
    struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout
    time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type
    type_option typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within
    wor xnor xor
    define in loop mailbox pull semaphore supply clk rst start done ce""".split()
)
"""What no identifier may be: keywords of IEEE 1800-2017; words of tools; ports of every module."""


def identifier(name: str) -> str:
    """A Verilog identifier for a user's name, of a length that tools take with a suffix behind it."""
    plain = name.isascii() and name.isidentifier()
    clean = name if plain else re.sub(r"[^A-Za-z0-9_]", "_", name) or "v"
    if len(clean) + _ENCODED * clean.count("__") > LONGEST:
        digest = hashlib.sha256(clean.encode()).hexdigest()[:8]
        clean = f"{re.sub('_+', '_', clean)[: LONGEST - 9]}_{digest}"
    if clean[0].isdigit():
        clean = f"v{clean}"
    return f"{clean}_" if clean in KEYWORDS else clean


@dataclass(slots=True)
class Wiring:
    """What the ports of an instance are joined to, by port name."""

    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)


class ModuleBuilder:
    """A module that is being made.

    ``enable`` names the value that freezes every register when low, or is "" for none; ``moves`` the bits
    whose conjunction with it has a name of its own. A module that is ``probed`` has the ports of
    :mod:`allo.backend.rtl.waiting` for the in-process simulator.
    """

    def __init__(self, name: str, locations: Locations, *, probed: bool = False) -> None:
        self.name = name
        self.ports = Ports([("clk", CLOCK_TYPE), ("rst", "i1")])
        self.enable = ""
        self.moves: dict[str, str] = {}
        self._probed = probed
        self._probes: list[str] = []
        self._locations = locations
        self._section = ""
        self._made: list[Operation | tuple[Operation | None, Operation | None]] = []
        """Operations; a pair has that of the Verilog, and that of the in-process simulator."""
        self._count = 0
        self._names: dict[str, int] = {"clk": 1, "rst": 1}
        self._constants: dict[tuple[int, int], str] = {}
        self._shared: dict[tuple[object, ...], str] = {}

    # --- names -------------------------------------------------------------------

    def fresh(self) -> str:
        """A new anonymous value."""
        self._count += 1
        return f"%{self._count}"

    def named(self, hint: str) -> str:
        """A new value whose name appears in the Verilog."""
        base = identifier(hint)
        number = self._names.get(base, 0) + 1
        name = base if number == 1 else f"{base}_{number}"
        while number > 1 and name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names[base] = number
        if number > 1:
            self._names[name] = 1
        return f"%{name}"

    def reserve(self, name: str) -> None:
        """Keep a port's name from being taken."""
        self._names.setdefault(name, 1)

    # --- operations ----------------------------------------------------------------

    def add(self, op: Operation, place: SourcePlace | Sequence[SourcePlace] | None = None) -> None:
        """Append one operation."""
        op.section = self._section
        op.location = self._locations.of(place)
        self._made.append(op)

    def styled(
        self,
        rtl: Operation | None,
        native: Operation | None,
        place: SourcePlace | Sequence[SourcePlace] | None = None,
    ) -> None:
        """Append one operation that is another one, or none, for the in-process simulator."""
        location = self._locations.of(place)
        for op in (rtl, native):
            if op is not None:
                op.section, op.location = self._section, location
        self._made.append((rtl, native))

    def rtl_only(self, op: Operation, place: SourcePlace | None = None) -> None:
        """Append one operation that the in-process simulator does without."""
        self.styled(op, None, place)

    def native_only(self, op: Operation, place: SourcePlace | None = None) -> None:
        """Append one operation that only the in-process simulator has."""
        self.styled(None, op, place)

    def section(self, name: str = "") -> None:
        """Say to which part of the module what follows belongs; the estimate of resources reads it."""
        self._section = name

    def native_all_of(self, *values: str) -> str:
        """Conjunction of bits that only the in-process simulator has; "" does not count."""
        return self._native_gate("comb.and", values)

    def native_any_of(self, *values: str) -> str:
        """Disjunction of bits that only the in-process simulator has."""
        return self._native_gate("comb.or", values)

    def _native_gate(self, name: str, values: tuple[str, ...]) -> str:
        kept = sorted({value for value in values if value})
        if len(kept) < 2:
            return kept[0] if kept else ""
        key = ("native", name, *kept)
        if key not in self._shared:
            self._shared[key] = self.fresh()
            self.native_only(Gate(name, self._shared[key], tuple(kept), 1))
        return self._shared[key]

    # --- logic --------------------------------------------------------------------

    def const(self, value: int, width: int) -> str:
        """A constant."""
        value &= (1 << width) - 1
        key = (value, width)
        if key not in self._constants:
            name = self.fresh()
            self.add(Constant(name, value, width))
            self._constants[key] = name
        return self._constants[key]

    def _gate(
        self, name: str, operands: tuple[str, ...], width: int, place: SourcePlace | None = None
    ) -> str:
        """A gate, once for the same operands."""
        key = (name, *operands)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.fresh()
            self.add(Gate(name, found, operands, width), place)
        return found

    def alias(self, name: str, value: str, width: int) -> None:
        """Give a value that was promised a name."""
        self.styled(Wire(name, value, width), Gate("comb.or", name, (value,), width))

    def all_of(self, *values: str) -> str:
        """Conjunction of bits."""
        true = self._constants.get((1, 1))
        kept = list(dict.fromkeys(v for v in values if v != true))
        if not kept:
            return self.const(1, 1)
        return kept[0] if len(kept) == 1 else self._gate("comb.and", tuple(kept), 1)

    def all_before(self, values: list[str]) -> str:
        """Conjunction of bits of which each prefix is wanted, "" for none of them: groups are shared."""
        whole = len(values) - len(values) % GROUP
        groups = [self.all_of(*values[k : k + GROUP]) for k in range(0, whole, GROUP)]
        return self.all_of(*groups, *values[whole:]) if values else ""

    def any_of(self, *values: str) -> str:
        """Disjunction of bits."""
        false = self._constants.get((0, 1))
        kept = list(dict.fromkeys(v for v in values if v != false))
        if not kept:
            return self.const(0, 1)
        return kept[0] if len(kept) == 1 else self._gate("comb.or", tuple(kept), 1)

    def invert(self, value: str) -> str:
        """The opposite of a bit."""
        return self._gate("comb.xor", (value, self.const(1, 1)), 1)

    def mux(self, condition: str, then: str, other: str, width: int) -> str:
        """``condition ? then : other``."""
        if then == other:
            return then
        key = ("mux", condition, then, other)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.fresh()
            self.add(Mux(found, (condition, then, other), width))
        return found

    def compare(self, kind: str, a: str, b: str, width: int) -> str:
        """An integer comparison."""
        key = (kind, a, b)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.fresh()
            self.add(Compare(kind, found, (a, b), width))
        return found

    def binary(
        self, kind: str, a: str, b: str, width: int, place: SourcePlace | None = None
    ) -> str:
        """``add``, ``sub``, ``mul``, ``and``, ``or`` …"""
        return self._gate(f"comb.{kind}", (a, b), width, place)

    def slice(self, value: str, low: int, width: int, source: int) -> str:
        """Bits ``low`` … ``low + width - 1``."""
        if width == source:
            return value
        key = ("extract", value, low, width)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.fresh()
            self.add(Extract(found, value, low, width, source))
        return found

    def extend(self, value: str, source: int, width: int, *, signed: bool) -> str:
        """A value at a larger width."""
        extra = width - source
        if extra <= 0:
            return self.slice(value, 0, width, source)
        if signed:
            top = self.slice(value, source - 1, 1, source)
            fill = self._repeated(top, extra) if extra > 1 else top
        else:
            fill = self.const(0, extra)
        key = ("concat", fill, value)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.fresh()
            self.add(Concat(found, (fill, value), (extra, source)))
        return found

    def _repeated(self, bit: str, times: int) -> str:
        key = ("replicate", bit, times)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.fresh()
            self.add(Replicate(found, bit, times))
        return found

    def concat(
        self,
        parts: Sequence[tuple[str, int]],
        place: SourcePlace | None = None,
        *,
        name: str = "",
    ) -> str:
        """Values with their widths side by side, the highest first; ``name`` was promised it, "" if none."""
        result = name or self.fresh()
        values, widths = tuple([v for v, _ in parts]), tuple([w for _, w in parts])
        self.add(Concat(result, values, widths), place)
        return result

    def choose(self, users: list[tuple[str, str]], width: int) -> str:
        """The value of the one condition that holds; any value when none does."""
        if len(users) == 1 or len({v for _, v in users}) == 1:
            return users[0][1]
        half = len(users) // 2
        left, right = users[:half], users[half:]
        condition = self.any_of(*(c for c, _ in left))
        return self.mux(condition, self.choose(left, width), self.choose(right, width), width)

    def moving(self, *conditions: str) -> str:
        """High when one of the conditions holds in a cycle in which the module is not frozen."""
        known = [self.moves[c] for c in conditions if c in self.moves]
        others = [c for c in conditions if c not in self.moves]
        if others:
            known.append(self.all_of(self.any_of(*others), *([self.enable] if self.enable else [])))
        return self.any_of(*known)

    # --- state ---------------------------------------------------------------------

    def register(
        self,
        name: str,
        following: str,
        width: int,
        *,
        enable: str = "",
        reset: int | None = None,
        free: bool = False,
        busy: tuple[str, ...] = (),
        place: SourcePlace | None = None,
    ) -> str:
        """A register called ``name`` (from :meth:`named`) that takes ``following``.

        ``free`` registers move even while the module is frozen. ``busy`` are bits that the in-process
        simulator alone has; while one is low, the register would not move or does not matter.
        """
        if not free and enable in self.moves:
            gates = [self.moves[enable]]
        else:
            gates = [g for g in (enable, "" if free else self.enable) if g]
        gate = self.all_of(*gates) if gates else ""
        moving, cleared = self.native_all_of(gate, *busy) if busy else gate, ""
        if reset:
            # Resets to other than zero are written as data: CIRCT's arc knows no other.
            following = self.mux(RESET, self.const(reset, width), following, width)
            gate = self.any_of(RESET, gate) if gate else ""
            moving = self.native_any_of(RESET, moving) if moving else ""
        elif reset is not None:
            cleared = self.const(reset, width)
        plain = Register(name, following, width, gate, cleared)
        if not busy:
            self.add(plain, place)
            return name
        self.styled(plain, Register(name, following, width, moving, cleared), place)
        return name

    def instance(
        self,
        label: str,
        module: str,
        ports: Ports,
        wiring: Wiring,
        place: SourcePlace | None = None,
    ) -> None:
        """An instance of a probed module with the given ports; ``clk`` and ``rst`` are joined."""
        joined = {"clk": "%clk", "rst": RESET, **wiring.inputs}
        inputs = {name: (joined[name], kind) for name, kind in ports.inputs}
        outputs = [(wiring.outputs.get(n) or self.fresh(), n, kind) for n, kind, _ in ports.outputs]
        self._probes.append(self.fresh())
        self.styled(
            Instance(label, module, inputs, outputs),
            Instance(
                label,
                module,
                {**inputs, PROBING: (f"%{PROBING}", "i1")},
                [(self._probes[-1], PROBED, "i1"), *outputs],
            ),
            place,
        )

    def signal(self, hint: str, value: str, width: int, place: SourcePlace | None = None) -> str:
        """A value with a name of its own in the Verilog; the in-process simulator does without.

        What chooses an element needs one: Icarus Verilog does not wrap sums in the brackets to their
        width, and takes no bits of an element whose place varies.
        """
        if value in self._constants.values():
            return value
        name = self.named(hint)
        self.rtl_only(Wire(name, value, width, visible=True), place)
        return name

    def probe(self, hint: str, value: str, place: SourcePlace | None) -> str:
        """Let a bit be seen by simulators; the signal's name."""
        name = self.named(hint)
        native = Register(name, value, 1, f"%{PROBING}")
        self.styled(Wire(name, value, 1, visible=True), native, place)
        self._probes.append(name)
        return name[1:]

    # --- the whole ------------------------------------------------------------------

    def input(self, name: str, kind: str) -> str:
        """An input port."""
        self.ports.inputs.append((name, kind))
        return f"%{name}"

    def output(self, name: str, kind: str, value: str) -> None:
        """An output port and its value."""
        self.ports.outputs.append((name, kind, value))

    def module(
        self, *, private: bool, place: SourcePlace | None = None, native: bool = False
    ) -> Module:
        """The module; ``native`` for the in-process simulator."""
        ports = Ports(list(self.ports.inputs), list(self.ports.outputs))
        chosen = (op if isinstance(op, Operation) else op[native] for op in self._made)
        body = [op for op in chosen if op is not None]
        if native and self._probed:
            ports.inputs.append((PROBING, "i1"))
            ports.outputs.insert(0, (PROBED, "i1", f"%{PROBED}"))
            body += self._keep_probes()
        return Module(self.name, ports, body, private, self._locations.of(place))

    def _keep_probes(self) -> list[Operation]:
        """An output that depends on every probe, without which none of them would be kept."""
        seen, all_seen = tuple(self._probes), f"%{PROBED}_all"
        any_of = Gate("comb.or", all_seen, seen, 1) if seen else Constant(all_seen, 0, 1)
        return [any_of, Register(f"%{PROBED}", all_seen, 1, f"%{PROBING}")]
