"""The part of the driver that serves the design's RAM ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign

from ..boundary.storage import arrangement, cell_bits, is_sign_extended, slots_of, word_bits
from ..boundary.traffic import TICKS, MemoryChannel, Outside
from .channels import Request, add_port, touch
from .context import ContextLayout
from .wires import Wires


@dataclass(slots=True)
class _Access:
    """One port in the current cycle: SSA names of its enable, write enable and address."""

    array: ArrayInterface
    port: BankPort
    enable: str
    write: str | None
    address: str


@dataclass(frozen=True, slots=True)
class FaultCodes:
    """Statuses the driver reports about writes."""

    out_of_range: int
    conflict: int
    late: int
    shift: int


Port = tuple[ArrayInterface, BankPort]


def write_ports(design: HardwareDesign) -> list[Port]:
    """The ports that write, in the order faults number them."""
    return [(a, p) for a in design.arrays for p in a.ports if p.writes]


class MemoryPorts:
    """Emits reads, writes and waiting of every RAM port."""

    def __init__(self, design: HardwareDesign, outside: Outside, codes: FaultCodes) -> None:
        self._design = design
        self._outside = outside
        self._codes = codes
        self._memories: dict[str, str] = {}
        self._accesses: list[_Access] = []
        self._ready: dict[str, str] = {}

    def declare(self, context: ContextLayout) -> None:
        """Reserve this part's context fields."""
        # Writes that are switched off go to a slot of their own.
        cells = [slots_of(array.dtype) for array in self._design.arrays]
        words = [-(-word_bits(stream.width) // 64) for stream in self._design.streams]
        context.add("scratch", max([1, *cells, *words]))
        for array in self._design.arrays:
            context.add(f"array {array.name}")
            for port in array.ports:
                if port.reads and array.read_latency > 1:
                    slots = slots_of(array.dtype) * (array.read_latency - 1)
                    context.add(f"pipe {port.prefix}", slots)
                if channels := self._outside.route(array.name, port.bank):
                    add_port(context, port.prefix, channels)

    def open(self, w: Wires) -> None:
        """Load what stays the same in all cycles."""
        self._memories = {
            array.name: w.f.load_pointer(w.field(f"array {array.name}"))
            for array in self._design.arrays
        }

    def answer(self, w: Wires, cycle: str) -> None:
        """Tell every port that may wait whether its request of this cycle is served."""
        f = w.f
        self._ready = {}
        for array in self._design.arrays:
            for port in array.ports:
                if not port.waits:
                    continue
                ready = f.constant(1, 1)
                if channels := self._outside.route(array.name, port.bank):
                    late = self._wait_of(w, self._request(w, array, port), cycle, channels)
                    ready = f.compare("eq", late, f.constant(0, 64), 64)
                self._ready[port.prefix] = ready
        for prefix, ready in self._ready.items():
            w.put(f"{prefix}_ready", ready)
        if self._ready:
            w.clock(0)

    def sample(self, w: Wires, ports: Sequence[Port] | None = None) -> None:
        """Read the request of this cycle of some ports, or of all."""
        every = [(array, port) for array in self._design.arrays for port in array.ports]
        chosen = every if ports is None else ports
        self._accesses = [self._request(w, array, port) for array, port in chosen]

    def _request(self, w: Wires, array: ArrayInterface, port: BankPort) -> _Access:
        enable = w.get(f"{port.prefix}_en")
        if port.prefix in self._ready:
            enable = w.f.binary("and", enable, self._ready[port.prefix], 1)
        address = w.f.resize(w.get(f"{port.prefix}_addr"), port.addr_width, 64)
        write = None
        if port.writes:
            write = w.f.binary("and", enable, w.get(f"{port.prefix}_we"), 1)
        return _Access(array, port, enable, write, address)

    # --- waiting for external memory -------------------------------------------------

    def wait(self, w: Wires, cycle: str) -> str | None:
        """Cycles the clock must be held for external memory (i64); None where none is external."""
        waits = [
            self._wait_of(w, access, cycle, channels)
            for access in self._accesses
            if not access.port.waits
            and (channels := self._outside.route(access.array.name, access.port.bank))
        ]
        if not waits:
            return None
        longest = waits[0]
        for wait in waits[1:]:
            longest = w.f.largest(longest, wait, 64)
        return longest

    def _wait_of(
        self, w: Wires, access: _Access, cycle: str, channels: tuple[MemoryChannel, ...]
    ) -> str:
        f = w.f
        now = f.binary("mul", cycle, f.constant(TICKS, 64), 64)
        request = Request(
            access.address,
            access.array.width,
            now,
            access.enable,
            access.write or f.constant(0, 1),
        )
        ready = touch(w, access.port.prefix, channels, request)
        # A read has the port's own latency to answer in.
        patience = access.array.read_latency * TICKS if access.port.reads else 0
        limit = f.binary("add", now, f.constant(patience, 64), 64)
        late = f.compare("ugt", ready, limit, 64)
        ticks = f.binary("sub", ready, limit, 64)
        ticks = f.binary("add", ticks, f.constant(TICKS - 1, 64), 64)
        cycles = f.binary("udiv", ticks, f.constant(TICKS, 64), 64)
        return f.select(late, cycles, f.constant(0, 64), 64)

    # --- reading -------------------------------------------------------------------

    def reads(self, w: Wires) -> list[tuple[str, str]]:
        """Look up every read: (port, value it takes after this cycle)."""
        return [
            (f"{access.port.prefix}_rdata", self._read(w, access))
            for access in self._accesses
            if access.port.reads
        ]

    def _read(self, w: Wires, access: _Access) -> str:
        """The value ``rdata`` takes after this cycle; it holds while the port is not enabled."""
        f, array, port = w.f, access.array, access.port
        bits = cell_bits(array.dtype)
        within = self._within(w, access)
        at = access.address
        if within is not None:
            at = f.select(within, at, f.constant(0, 64), 64)
        value = f.load(self._slot(w, access, at), bits)
        if within is not None:
            value = f.select(within, value, f.constant(0, bits), bits)
        if array.read_latency > 1:
            return self._delay(w, access, value)
        old = w.get(f"{port.prefix}_rdata")
        return f.select(access.enable, f.resize(value, bits, array.width), old, array.width)

    def _delay(self, w: Wires, access: _Access, value: str) -> str:
        """Pass a looked-up cell through the port's further stages."""
        f, array = w.f, access.array
        bits = cell_bits(array.dtype)
        pipe = w.field_offset(f"pipe {access.port.prefix}")
        slots = [pipe + k * 8 * slots_of(array.dtype) for k in range(array.read_latency - 1)]
        held = [f.load(f.offset("%ctx", slot), bits) for slot in slots]
        stages = [f.select(access.enable, value, held[0], bits), *held]
        for slot, stage in zip(slots, stages, strict=False):
            f.store(stage, f.offset("%ctx", slot), bits)
        return f.resize(stages[-1], bits, array.width)

    def _slot(self, w: Wires, access: _Access, at: str) -> str:
        """The address of word ``at`` of the port's bank."""
        f, array = w.f, access.array
        kept = arrangement(array.layout)
        size = cell_bits(array.dtype) // 8
        offset = f.binary("mul", at, f.constant(kept.word_stride * size, 64), 64)
        row = f.index(self._memories[array.name], offset, 8)
        return f.offset(row, access.port.bank * kept.bank_stride * size)

    def _within(self, w: Wires, access: _Access) -> str | None:
        """Whether the address lies in the bank; None where every address does."""
        depth = access.array.layout.bank_depth
        if depth >= 1 << access.port.addr_width:
            return None
        return w.f.compare("ult", access.address, w.f.constant(depth, 64), 64)

    # --- writing -------------------------------------------------------------------

    def writes(self, w: Wires, fault: str, number: int = 0) -> str:
        """Do the cycle's writes; gives ``fault``, or the code of a bad write.

        ``number`` is that of the first port that writes.
        """
        f = w.f
        scratch = w.field("scratch")
        seen: dict[tuple[str, int], tuple[str, str]] = {}
        for access in self._accesses:
            if access.write is None:
                continue
            array, port, enable = access.array, access.port, access.write
            within = self._within(w, access)
            if within is not None:
                outside = f.binary("xor", within, f.constant(1, 1), 1)
                bad = f.binary("and", enable, outside, 1)
                fault = self._fault(w, bad, number, self._codes.out_of_range, fault)
                enable = f.binary("and", enable, within, 1)
            key = (array.name, port.bank)
            if key in seen:
                other, address = seen[key]
                same = f.compare("eq", access.address, address, 64)
                bad = f.binary("and", f.binary("and", enable, other, 1), same, 1)
                fault = self._fault(w, bad, number, self._codes.conflict, fault)
            seen[key] = (enable, access.address)
            target = f.select_pointer(enable, self._slot(w, access, access.address), scratch)
            bits = cell_bits(array.dtype)
            value = w.get(f"{port.prefix}_wdata")
            value = f.resize(value, array.width, bits, signed=is_sign_extended(array.dtype))
            f.store(value, target, bits)
            number += 1
        return fault

    def late_writes(
        self, w: Wires, fault: str, ports: Sequence[Port] | None = None, first: int = 0
    ) -> str:
        """``fault``, or the code of a write that is out after done, of some ports or of all."""
        chosen = write_ports(self._design) if ports is None else ports
        for number, (_, port) in enumerate(chosen, first):
            enable, write = w.get(f"{port.prefix}_en"), w.get(f"{port.prefix}_we")
            late = w.f.binary("and", enable, write, 1)
            fault = self._fault(w, late, number, self._codes.late, fault)
        return fault

    def _fault(self, w: Wires, bad: str, number: int, status: int, fault: str) -> str:
        code = w.f.constant((number << self._codes.shift) + status, 64)
        return w.f.select(bad, code, fault, 64)
