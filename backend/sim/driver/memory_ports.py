"""The part of the driver that serves the design's RAM ports."""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign

from ..boundary.storage import arrangement, cell_bits, is_sign_extended, slots_of, word_bits
from ..boundary.traffic import TICKS, MemoryChannel, Outside
from .channels import Request, add_port, touch
from .context import ContextLayout
from .wires import Wires


@dataclass(frozen=True, slots=True)
class Access:
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
        self._accesses: list[Access] = []
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
                    late = self._wait_of(w, self.request(w, array, port), cycle, channels)
                    ready = f.compare("eq", late, f.constant(0, 64), 64)
                self._ready[port.prefix] = ready
        for prefix, ready in self._ready.items():
            w.put(f"{prefix}_ready", ready)
        if self._ready:
            w.clock(0)

    def sample(self, w: Wires) -> None:
        """Read the request of this cycle of every port."""
        self._accesses = [
            self.request(w, array, port) for array in self._design.arrays for port in array.ports
        ]

    def request(self, w: Wires, array: ArrayInterface, port: BankPort) -> Access:
        """The request of a port in this cycle."""
        enable = w.get(f"{port.prefix}_en")
        if port.prefix in self._ready:
            enable = w.f.binary("and", enable, self._ready[port.prefix], 1)
        address = w.f.resize(w.get(f"{port.prefix}_addr"), port.addr_width, 64)
        write = None
        if port.writes:
            write = w.f.binary("and", enable, w.get(f"{port.prefix}_we"), 1)
        return Access(array, port, enable, write, address)

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
        self, w: Wires, access: Access, cycle: str, channels: tuple[MemoryChannel, ...]
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
            (f"{access.port.prefix}_rdata", self.read(w, access))
            for access in self._accesses
            if access.port.reads
        ]

    def read(self, w: Wires, access: Access) -> str:
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

    def _delay(self, w: Wires, access: Access, value: str) -> str:
        """Pass a looked-up cell through the port's further stages."""
        f, array = w.f, access.array
        bits = cell_bits(array.dtype)
        pipe, room = w.field(f"pipe {access.port.prefix}"), 8 * slots_of(array.dtype)
        slots = [f.offset(pipe, k * room) for k in range(array.read_latency - 1)]
        held = [f.load(slot, bits) for slot in slots]
        stages = [f.select(access.enable, value, held[0], bits), *held]
        for slot, stage in zip(slots, stages, strict=False):
            f.store(stage, slot, bits)
        return f.resize(stages[-1], bits, array.width)

    def _slot(self, w: Wires, access: Access, at: str) -> str:
        """The address of word ``at`` of the port's bank."""
        f, array = w.f, access.array
        kept = arrangement(array.layout)
        size = cell_bits(array.dtype) // 8
        offset = f.binary("mul", at, f.constant(kept.word_stride * size, 64), 64)
        if bank := w.place(f"{access.port.prefix} bank"):
            memory = f.load_pointer(w.field(f"{access.port.prefix} array"))
            return f.index(f.index(memory, bank, 8), offset, 8)
        row = f.index(self._memories[array.name], offset, 8)
        return f.offset(row, bank_offset(array, access.port))

    def _within(self, w: Wires, access: Access) -> str | None:
        """Whether the address lies in the bank; None where every address does."""
        depth = access.array.layout.bank_depth
        if depth >= 1 << access.port.addr_width:
            return None
        return w.f.compare("ult", access.address, w.f.constant(depth, 64), 64)

    # --- writing -------------------------------------------------------------------

    def writes(self, w: Wires) -> str:
        """Do the cycle's writes; gives the code of a bad write, or zero."""
        fault = w.f.constant(0, 64)
        seen: dict[tuple[str, int], Access] = {}
        writing = [access for access in self._accesses if access.write is not None]
        for number, access in enumerate(writing):
            key = (access.array.name, access.port.bank)
            fault = self.write(w, access, number, seen.get(key), fault)
            seen[key] = access
        return fault

    def write(
        self, w: Wires, access: Access, number: int, before: Access | None, fault: str
    ) -> str:
        """Do the write of one port; gives ``fault``, or the code of a bad write.

        Args:
            number: of the port, among those that write.
            before: the access of the last port that wrote to this bank; the two must not meet.
        """
        f, array = w.f, access.array
        enable = self._writing(w, access)
        if enable != access.write:
            bad = f.binary("xor", access.write or enable, enable, 1)
            fault = self._fault(w, bad, access.port, number, self._codes.out_of_range, fault)
        if before is not None:
            same = f.compare("eq", access.address, before.address, 64)
            both = f.binary("and", enable, self._writing(w, before), 1)
            bad = f.binary("and", both, same, 1)
            fault = self._fault(w, bad, access.port, number, self._codes.conflict, fault)
        at = self._slot(w, access, access.address)
        target = f.select_pointer(enable, at, w.field("scratch"))
        bits = cell_bits(array.dtype)
        value = w.get(f"{access.port.prefix}_wdata")
        value = f.resize(value, array.width, bits, signed=is_sign_extended(array.dtype))
        f.store(value, target, bits)
        return fault

    def _writing(self, w: Wires, access: Access) -> str:
        """Whether a port that writes does so now, inside its bank."""
        within = self._within(w, access)
        enable = access.write or w.f.constant(0, 1)
        return enable if within is None else w.f.binary("and", enable, within, 1)

    def late_writes(self, w: Wires) -> str:
        """The code of a write that is out after done, or zero."""
        fault = w.f.constant(0, 64)
        for number, (_, port) in enumerate(write_ports(self._design)):
            fault = self.late_write(w, port, number, fault)
        return fault

    def late_write(self, w: Wires, port: BankPort, number: int, fault: str) -> str:
        """``fault``, or the code of a write of one port that is out after done."""
        enable, write = w.get(f"{port.prefix}_en"), w.get(f"{port.prefix}_we")
        late = w.f.binary("and", enable, write, 1)
        return self._fault(w, late, port, number, self._codes.late, fault)

    def _fault(
        self, w: Wires, bad: str, port: BankPort, number: int, status: int, fault: str
    ) -> str:
        code = w.f.constant((number << self._codes.shift) + status, 64)
        if place := w.place(f"{port.prefix} number"):
            kind = w.f.constant(status, 64)
            code = w.f.binary(
                "or", w.f.binary("shl", place, w.f.constant(self._codes.shift, 64), 64), kind, 64
            )
        return w.f.select(bad, code, fault, 64)


def bank_offset(array: ArrayInterface, port: BankPort) -> int:
    """Bytes from an array's first cell to the bank of a port."""
    return port.bank * arrangement(array.layout).bank_stride * (cell_bits(array.dtype) // 8)
