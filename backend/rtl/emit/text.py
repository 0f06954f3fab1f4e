"""Writing hw, comb and seq text: one module at a time, values named once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.text.quoting import mlir_string, one_line

from ..operators.hw_text import constant_text
from ..resources.parse import SECTION
from ..waiting import PROBED, PROBING

GROUP = 8
"""Bits that the conjunctions of a row's prefixes have in common."""
LONGEST = 80
"""Characters of an identifier. A port has a suffix, and Verilator gives names beyond 127 others."""
_ENCODED = 5
"""Characters that Verilator adds where two underscores stand."""

KEYWORDS = frozenset(
    """alias always and assert assign assume automatic before begin bind bit break buf byte case
    cell chandle checker class clocking config const constraint context continue cover cross deassign
    default define design disable dist do edge else end endcase endfunction endmodule enum event expect
    export extends extern final first_match for force foreach forever fork function generate genvar
    global if iff import in include initial inout input inside instance int integer interface
    intersect join large let library local localparam logic longint loop mailbox matches medium
    modport module nand negedge new nor not null or output package packed parameter posedge primitive
    priority program property protected pull pure rand randc real ref reg release repeat restrict
    return scalared semaphore sequence shortint signed small soft solve specify static string strong
    struct super supply table task this throughout time timeprecision timeunit tran tri type typedef
    union unique unsigned until use var vectored virtual void wait wand weak while wildcard wire with
    within wor xnor xor clk rst start done ce""".split()
)


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


class Locations:
    """Location aliases of a whole design.

    Attributes:
        files: the files of all places that were written.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._aliases: dict[SourcePlace, int] = {}
        self._last: tuple[SourcePlace | None, str] = None, ""
        """The last place, which many lines have one after the other, and what it was written as."""

    def suffix(self, place: SourcePlace | Sequence[SourcePlace] | None) -> str:
        """`` loc(#p3)``; for no place one that leaves no comment in the Verilog."""
        if not place:
            return " loc(unknown)"
        if place is self._last[0]:
            return self._last[1]
        if isinstance(place, SourcePlace):
            number = self._aliases.setdefault(place, len(self._aliases))
            self._last = place, f" loc(#p{number})"
            return self._last[1]
        if len(place) == 1:
            return self.suffix(place[0])
        return f" loc(fused[{', '.join(map(self._written, place))}])"

    def definitions(self) -> list[str]:
        """The alias lines that end a module's text."""
        lines = []
        for place, number in self._aliases.items():
            lines.append(f"#p{number} = loc({self._written(place)})")
        return lines

    def _written(self, place: SourcePlace) -> str:
        file = one_line(place.file)
        self.files.add(file)
        return f"{mlir_string(file)}:{place.line}:{place.col}"


@dataclass(slots=True)
class Ports:
    """Ports of a module in order."""

    inputs: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Wiring:
    """What the ports of an instance are joined to, by port name."""

    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)


class ModuleText:
    """The text of one hw.module.

    ``enable`` names the value that freezes every register when low, or is "" for none; ``moves`` the bits
    whose conjunction with it has a name of its own. A module that
    is ``probed`` has the ports of :mod:`allo.backend.rtl.waiting` in the in-process simulator's text.
    """

    def __init__(self, name: str, locations: Locations, *, probed: bool = False) -> None:
        self.name = name
        self.ports = Ports([("clk", "!seq.clock"), ("rst", "i1")])
        self.enable = ""
        self.moves: dict[str, str] = {}
        self._probed = probed
        self._probes: list[str] = []
        self._locations = locations
        self._lines: list[str | tuple[str, str]] = []
        self._count = 0
        self._names: dict[str, int] = {"clk": 1, "rst": 1}
        self._constants: dict[tuple[int, int], str] = {}
        self._shared: dict[tuple[str, ...], str] = {}

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

    def line(self, text: str, place: SourcePlace | None = None) -> None:
        """Append one operation."""
        self._lines.append(f"  {text}{self._locations.suffix(place)}")

    def section(self, name: str = "") -> None:
        """Say to which part of the module the next lines belong; the estimate of resources reads it."""
        self._lines.append(f"  {SECTION}{name}")

    def suffix(self, place: SourcePlace | None) -> str:
        """What gives an operation inside a line its place: :meth:`line` gives it to the line's own."""
        return self._locations.suffix(place)

    def styled(
        self, rtl: str, native: str, place: SourcePlace | Sequence[SourcePlace] | None = None
    ) -> None:
        """Append one operation that the in-process simulator wants written in another way."""
        suffix = self._locations.suffix(place)
        self._lines.append((f"  {rtl}{suffix}", f"  {native}{suffix}"))

    def rtl_line(self, text: str, place: SourcePlace | None = None) -> None:
        """Append one operation that the in-process simulator does without."""
        self._lines.append((f"  {text}{self._locations.suffix(place)}", ""))

    def native_line(self, text: str, place: SourcePlace | None = None) -> None:
        """Append one operation that only the in-process simulator has."""
        self._lines.append(("", f"  {text}{self._locations.suffix(place)}"))

    def native_all_of(self, *values: str) -> str:
        """Conjunction of bits that only the in-process simulator has; "" does not count."""
        return self._native_gate("and", values)

    def native_any_of(self, *values: str) -> str:
        """Disjunction of bits that only the in-process simulator has."""
        return self._native_gate("or", values)

    def _native_gate(self, kind: str, values: tuple[str, ...]) -> str:
        kept = sorted({value for value in values if value})
        if len(kept) < 2:
            return kept[0] if kept else ""
        key = ("native", kind, *kept)
        if key not in self._shared:
            self._shared[key] = self.fresh()
            self.native_line(f"{self._shared[key]} = comb.{kind} {', '.join(kept)} : i1")
        return self._shared[key]

    # --- logic --------------------------------------------------------------------

    def const(self, value: int, width: int) -> str:
        """A constant."""
        value &= (1 << width) - 1
        key = (value, width)
        if key not in self._constants:
            name = self.fresh()
            if width == 1:
                self.line(f"{name} = hw.constant {'true' if value else 'false'}")
            else:
                self.line(f"{name} = hw.constant {constant_text(value, width)} : i{width}")
            self._constants[key] = name
        return self._constants[key]

    def _once(self, text: str, place: SourcePlace | None = None) -> str:
        key = (text,)
        if key not in self._shared:
            name = self.fresh()
            self.line(f"{name} = {text}", place)
            self._shared[key] = name
        return self._shared[key]

    def alias(self, name: str, value: str, width: int) -> None:
        """Give a value that was promised a name."""
        self.styled(f"{name} = hw.wire {value} : i{width}", f"{name} = comb.or {value} : i{width}")

    def all_of(self, *values: str) -> str:
        """Conjunction of bits."""
        true = self._constants.get((1, 1))
        kept = list(dict.fromkeys(v for v in values if v != true))
        if not kept:
            return self.const(1, 1)
        return kept[0] if len(kept) == 1 else self._once(f"comb.and {', '.join(kept)} : i1")

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
        return kept[0] if len(kept) == 1 else self._once(f"comb.or {', '.join(kept)} : i1")

    def invert(self, value: str) -> str:
        """The opposite of a bit."""
        return self._once(f"comb.xor {value}, {self.const(1, 1)} : i1")

    def mux(self, condition: str, then: str, other: str, width: int) -> str:
        """``condition ? then : other``."""
        if then == other:
            return then
        return self._once(f"comb.mux {condition}, {then}, {other} : i{width}")

    def compare(self, kind: str, a: str, b: str, width: int) -> str:
        """An integer comparison."""
        return self._once(f"comb.icmp {kind} {a}, {b} : i{width}")

    def binary(
        self, kind: str, a: str, b: str, width: int, place: SourcePlace | None = None
    ) -> str:
        """``add``, ``sub``, ``mul``, ``and``, ``or`` …"""
        return self._once(f"comb.{kind} {a}, {b} : i{width}", place)

    def slice(self, value: str, low: int, width: int, source: int) -> str:
        """Bits ``low`` … ``low + width - 1``."""
        if width == source:
            return value
        return self._once(f"comb.extract {value} from {low} : (i{source}) -> i{width}")

    def extend(self, value: str, source: int, width: int, *, signed: bool) -> str:
        """A value at a larger width."""
        extra = width - source
        if extra <= 0:
            return self.slice(value, 0, width, source)
        if signed:
            top = self.slice(value, source - 1, 1, source)
            fill = self._once(f"comb.replicate {top} : (i1) -> i{extra}") if extra > 1 else top
        else:
            fill = self.const(0, extra)
        return self._once(f"comb.concat {fill}, {value} : i{extra}, i{source}")

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

        ``free`` registers move even while the module is frozen. ``busy`` are bits of the in-process
        simulator's text alone; while one is low, the register would not move or does not matter.
        """
        if not free and enable in self.moves:
            gates = [self.moves[enable]]
        else:
            gates = [g for g in (enable, "" if free else self.enable) if g]
        gate = self.all_of(*gates) if gates else ""
        moving, tail = self.native_all_of(gate, *busy) if busy else gate, ""
        if reset:
            # Resets to other than zero are written as data: CIRCT's arc knows no other.
            following = self.mux("%rst", self.const(reset, width), following, width)
            gate = self.any_of("%rst", gate) if gate else ""
            moving = self.native_any_of("%rst", moving) if moving else ""
        elif reset is not None:
            tail = f" reset %rst, {self.const(reset, width)}"
        plain = _register(name, following, gate, tail, width)
        if not busy:
            self.line(plain, place)
            return name
        native = _register(name, following, moving, tail, width)
        self.styled(plain, native, place)
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
        joined = {"clk": "%clk", "rst": "%rst", **wiring.inputs}
        inputs = ", ".join(f"{name}: {joined[name]}: {kind}" for name, kind in ports.inputs)
        results = [wiring.outputs.get(name) or self.fresh() for name, _, _ in ports.outputs]
        outputs = ", ".join(f"{name}: {kind}" for name, kind, _ in ports.outputs)
        self._probes.append(self.fresh())
        called = f'hw.instance "{label}" @{module}({inputs}'
        self.styled(
            f"{', '.join(results)} = {called}) -> ({outputs})",
            f"{', '.join([self._probes[-1], *results])} = {called}, {PROBING}: %{PROBING}: i1) -> "
            f"({', '.join([f'{PROBED}: i1', *([outputs] if outputs else [])])})",
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
        self.rtl_line(f"{name} = hw.wire {value} sym @{name[1:]} : i{width}", place)
        return name

    def probe(self, hint: str, value: str, place: SourcePlace | None) -> str:
        """Let a bit be seen by simulators; the signal's name."""
        name = self.named(hint)
        self.styled(
            f"{name} = hw.wire {value} sym @{name[1:]} : i1",
            f"{name} = seq.compreg.ce {value}, %clk, %{PROBING} : i1",
            place,
        )
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

    def render(
        self, *, private: bool, place: SourcePlace | None = None, native: bool = False
    ) -> str:
        """The module; ``native`` for the in-process simulator."""
        where = self._locations.suffix(None)
        ports = [f"in %{n} : {k}{where}" for n, k in self.ports.inputs]
        outputs = [(name, kind, value) for name, kind, value in self.ports.outputs]
        if native and self._probed:
            ports += [f"in %{PROBING} : i1{where}", f"out {PROBED} : i1{where}"]
            outputs.insert(0, (PROBED, "i1", f"%{PROBED}"))
        ports += [f"out {n} : {k}{where}" for n, k, _ in self.ports.outputs]
        head = "hw.module private" if private else "hw.module"
        body = (line if isinstance(line, str) else line[native] for line in self._lines)
        lines = [f"{head} @{self.name}({', '.join(ports)}) {{", *(line for line in body if line)]
        if native and self._probed:
            lines += self._keep_probes(where)
        if outputs:
            values = ", ".join(v for _, _, v in outputs)
            kinds = ", ".join(k for _, k, _ in outputs)
            lines.append(f"  hw.output {values} : {kinds}{where}")
        lines.append("}" + self._locations.suffix(place))
        return "\n".join(lines)

    def _keep_probes(self, where: str) -> list[str]:
        """An output that depends on every probe, without which none of them would be kept."""
        seen, all_seen = ", ".join(self._probes), f"%{PROBED}_all"
        any_of = f"comb.or {seen} : i1" if seen else "hw.constant false"
        return [
            f"  {all_seen} = {any_of}{where}",
            f"  %{PROBED} = seq.compreg.ce {all_seen}, %clk, %{PROBING} : i1{where}",
        ]


def _register(name: str, following: str, gate: str, tail: str, width: int) -> str:
    if gate:
        return f"{name} = seq.compreg.ce {following}, %clk, {gate}{tail} : i{width}"
    return f"{name} = seq.compreg {following}, %clk{tail} : i{width}"
