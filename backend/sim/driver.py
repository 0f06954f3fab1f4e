"""Generate the driver of a design: clock, start and done, memory ports, streams.

The driver is text in MLIR's llvm dialect, compiled in process, and the same for every engine: an
engine says where the ports lie and how the design is evaluated. Three functions, each of one
pointer to the context (:mod:`.context`):

* ``allo_reset``: hold ``rst`` for two cycles;
* ``allo_start``: raise ``start`` with the scalar inputs (the first cycle of a run);
* ``allo_step``: run up to ``budget`` cycles or until done.

A cycle: with the clock low and everything settled, sample the outputs, look up reads, then do
writes; raise the clock; lower it with the new inputs and settle. After the cycle of
``start`` scalar inputs are complemented, so that a design that does not sample them shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign

from .context import ContextLayout
from .llvm_text import FunctionText
from .ports import PortMap
from .storage import cell_bits, is_sign_extended

RUNNING, DONE, LATE_DONE, LATE_WRITE, OUT_OF_RANGE, WRITE_CONFLICT = range(6)
RESET_CYCLES = 2


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How the driver evaluates the design.

    Attributes:
        symbol: function of the same module to call with the base address, or
            "" to call the function whose address the context holds.
    """

    symbol: str = ""


@dataclass(frozen=True, slots=True)
class DriverText:
    """A generated driver: functions, and the layout of its context."""

    text: str
    context: ContextLayout


@dataclass(slots=True)
class _Write:
    port: BankPort
    enable: str
    address: str


def slots_of(dtype: str) -> int:
    """64-bit slots a cell takes in the context."""
    return -(-cell_bits(dtype) // 64)


class DriverEmitter:
    """Emits the driver of one design for one engine."""

    def __init__(self, design: HardwareDesign, ports: PortMap, evaluation: Evaluation) -> None:
        self._design = design
        self._ports = ports
        self._evaluation = evaluation
        self._context = ContextLayout()
        for name in ("status", "cycle", "budget", "base", "eval", "handle", "fault"):
            self._context.add(name)
        # Writes that are switched off go to a slot of their own.
        self._context.add("scratch", max([8, *(slots_of(a.dtype) for a in design.arrays)]))
        for scalar in (*design.scalars_in, *design.scalars_out):
            self._context.add(f"scalar {scalar.name}", slots_of(scalar.dtype))
        for array in design.arrays:
            self._context.add(f"array {array.name}")
            slots = slots_of(array.dtype)
            for port in array.ports:
                if port.reads and array.read_latency > 1:
                    self._context.add(f"pipe {port.prefix}", slots * (array.read_latency - 1))

    def emit(self) -> DriverText:
        functions = (self._reset(), self._start(), self._step())
        return DriverText("\n".join(f.text() for f in functions), self._context)

    # --- small steps -------------------------------------------------------------

    def _open(self, name: str) -> FunctionText:
        """A function with the fixed context fields at hand as %base, %eval and %handle."""
        f = FunctionText(name, [("ctx", "!llvm.ptr")])
        self._base = f.load_pointer(f.offset("%ctx", self._context.offset("base")))
        if not self._evaluation.symbol:
            self._eval = f.load_pointer(f.offset("%ctx", self._context.offset("eval")))
            self._handle = f.load_pointer(f.offset("%ctx", self._context.offset("handle")))
        return f

    def _evaluate(self, f: FunctionText) -> None:
        if self._evaluation.symbol:
            f.call(self._evaluation.symbol, [(self._base, "!llvm.ptr")])
        else:
            f.call_pointer(self._eval, self._handle)

    def _field(self, f: FunctionText, name: str) -> str:
        return f.offset("%ctx", self._context.offset(name))

    def _get(self, f: FunctionText, port: str) -> str:
        """The value of a port, in its own width."""
        width = self._ports.widths[port]
        bits = self._ports.container(width)
        value = f.load(f.offset(self._base, self._ports.offsets[port]), bits)
        return f.resize(value, bits, width)

    def _put(self, f: FunctionText, port: str, value: str) -> None:
        """Drive a port with a value of its width."""
        width = self._ports.widths[port]
        bits = self._ports.container(width)
        address = f.offset(self._base, self._ports.offsets[port])
        f.store(f.resize(value, width, bits), address, bits)

    def _clock(self, f: FunctionText, level: int) -> None:
        self._put(f, "clk", f.constant(level, 1))
        self._evaluate(f)

    # --- functions ---------------------------------------------------------------

    def _reset(self) -> FunctionText:
        f = self._open("allo_reset")
        for scalar in self._design.scalars_in:
            self._put(f, scalar.name, f.constant(0, scalar.width))
        self._put(f, "start", f.constant(0, 1))
        self._put(f, "rst", f.constant(1, 1))
        self._clock(f, 0)
        for _ in range(RESET_CYCLES):
            self._clock(f, 1)
            self._clock(f, 0)
        self._put(f, "rst", f.constant(0, 1))
        self._clock(f, 0)
        f.finish()
        return f

    def _start(self) -> FunctionText:
        f = self._open("allo_start")
        for scalar in self._design.scalars_in:
            bits = cell_bits(scalar.dtype)
            value = f.load(self._field(f, f"scalar {scalar.name}"), bits)
            self._put(f, scalar.name, f.resize(value, bits, scalar.width))
        self._put(f, "start", f.constant(1, 1))
        self._clock(f, 0)
        f.finish()
        return f

    def _step(self) -> FunctionText:
        f = self._open("allo_step")
        memories = {
            array.name: f.load_pointer(self._field(f, f"array {array.name}"))
            for array in self._design.arrays
        }
        scrambled = []
        for scalar in self._design.scalars_in:
            bits = cell_bits(scalar.dtype)
            value = f.load(self._field(f, f"scalar {scalar.name}"), bits)
            value = f.resize(value, bits, scalar.width)
            ones = f.constant(-1, scalar.width)
            scrambled.append((scalar.name, f.binary("xor", value, ones, scalar.width)))
        one, zero = f.constant(1, 64), f.constant(0, 64)
        first = f.load(self._field(f, "cycle"), 64)
        budget = f.load(self._field(f, "budget"), 64)
        f.branch("cycle", [(first, "i64"), (budget, "i64")])

        f.block("cycle", [("%cycle", "i64"), ("%left", "i64")])
        done = self._get(f, "done")
        updates, writes = self._sample_reads(f, memories)
        fault = self._do_writes(f, memories, writes)
        f.branch_if(done, "capture", "edge")

        f.block("capture")
        for scalar in self._design.scalars_out:
            bits = cell_bits(scalar.dtype)
            signed = is_sign_extended(scalar.dtype)
            value = f.resize(self._get(f, scalar.name), scalar.width, bits, signed=signed)
            f.store(value, self._field(f, f"scalar {scalar.name}"), bits)
        f.branch("edge")

        f.block("edge")
        self._clock(f, 1)
        self._put(f, "start", f.constant(0, 1))
        for name, value in [*scrambled, *updates]:
            self._put(f, name, value)
        self._clock(f, 0)
        following = f.binary("add", "%cycle", one, 64)
        left = f.binary("sub", "%left", one, 64)
        faulty = f.compare("ne", fault, zero, 64)
        spent = f.compare("eq", left, zero, 64)
        stop = f.binary("or", f.binary("or", done, faulty, 1), spent, 1)
        f.branch_if(stop, "stop", "cycle", [(following, "i64"), (left, "i64")])

        f.block("stop")
        status = f.select(done, f.constant(DONE, 64), f.constant(RUNNING, 64), 64)
        status = f.select(faulty, f.binary("and", fault, f.constant(7, 64), 64), status, 64)
        f.store(f.binary("lshr", fault, f.constant(3, 64), 64), self._field(f, "fault"), 64)
        f.store(status, self._field(f, "status"), 64)
        ended = f.binary("or", done, faulty, 1)
        f.store(f.select(ended, "%cycle", following, 64), self._field(f, "cycle"), 64)
        f.branch_if(done, "after", "end")

        f.block("after")
        self._check_quiet(f, faulty)
        f.branch("end")
        f.block("end")
        f.finish()
        return f

    # --- memories ----------------------------------------------------------------

    def _slot(
        self,
        f: FunctionText,
        array: ArrayInterface,
        port: BankPort,
        memory: str,
        at: str,
    ) -> str:
        bits = cell_bits(array.dtype)
        first = port.bank * array.layout.bank_depth
        position = f.binary("add", at, f.constant(first, 64), 64) if first else at
        return f.index(memory, f.binary("mul", position, f.constant(bits // 8, 64), 64), 8)

    def _within(
        self, f: FunctionText, array: ArrayInterface, port: BankPort, at: str
    ) -> str | None:
        """Whether an address lies in the bank; None where every address does."""
        depth = array.layout.bank_depth
        if depth >= 1 << port.addr_width:
            return None
        return f.compare("ult", at, f.constant(depth, 64), 64)

    def _sample_reads(
        self, f: FunctionText, memories: dict[str, str]
    ) -> tuple[list[tuple[str, str]], list[tuple[ArrayInterface, _Write]]]:
        """Look up every read: the new inputs by port, and the writes still to be done."""
        updates, writes = [], []
        for array in self._design.arrays:
            for port in array.ports:
                enable = self._get(f, f"{port.prefix}_en")
                at = f.resize(self._get(f, f"{port.prefix}_addr"), port.addr_width, 64)
                if port.reads:
                    value = self._read(f, array, port, memories[array.name], enable, at)
                    updates.append((f"{port.prefix}_rdata", value))
                if port.writes:
                    write = f.binary("and", enable, self._get(f, f"{port.prefix}_we"), 1)
                    writes.append((array, _Write(port, write, at)))
        return updates, writes

    def _read(
        self,
        f: FunctionText,
        array: ArrayInterface,
        port: BankPort,
        memory: str,
        enable: str,
        at: str,
    ) -> str:
        """The value ``rdata`` takes after this cycle; it holds while the port is not enabled."""
        bits = cell_bits(array.dtype)
        within = self._within(f, array, port, at)
        safe = at if within is None else f.select(within, at, f.constant(0, 64), 64)
        value = f.load(self._slot(f, array, port, memory, safe), bits)
        if within is not None:
            value = f.select(within, value, f.constant(0, bits), bits)
        value = f.resize(value, bits, array.width)
        if array.read_latency == 1:
            old = self._get(f, f"{port.prefix}_rdata")
            return f.select(enable, value, old, array.width)
        return self._delay(f, array, port, enable, f.resize(value, array.width, bits))

    def _delay(
        self,
        f: FunctionText,
        array: ArrayInterface,
        port: BankPort,
        enable: str,
        value: str,
    ) -> str:
        bits = cell_bits(array.dtype)
        pipe = self._context.offset(f"pipe {port.prefix}")
        slots = [pipe + k * max(8, bits // 8) for k in range(array.read_latency - 1)]
        held = [f.load(f.offset("%ctx", slot), bits) for slot in slots]
        stages = [f.select(enable, value, held[0], bits), *held]
        for slot, stage in zip(slots, stages, strict=False):
            f.store(stage, f.offset("%ctx", slot), bits)
        return f.resize(stages[-1], bits, array.width)

    def _do_writes(
        self,
        f: FunctionText,
        memories: dict[str, str],
        writes: list[tuple[ArrayInterface, _Write]],
    ) -> str:
        """Do the cycle's writes; gives 0, or the fault (number of the port * 8 + status)."""
        fault = f.constant(0, 64)
        scratch = self._field(f, "scratch")
        seen: dict[tuple[str, int], tuple[str, str]] = {}
        for number, (array, write) in enumerate(writes):
            port, enable = write.port, write.enable
            within = self._within(f, array, port, write.address)
            if within is not None:
                outside = f.binary("and", enable, f.binary("xor", within, f.constant(-1, 1), 1), 1)
                code = f.constant(number * 8 + OUT_OF_RANGE, 64)
                fault = f.select(outside, code, fault, 64)
                enable = f.binary("and", enable, within, 1)
            key = (array.name, port.bank)
            if key in seen:
                other_enable, other_address = seen[key]
                same = f.compare("eq", write.address, other_address, 64)
                both = f.binary("and", f.binary("and", enable, other_enable, 1), same, 1)
                code = f.constant(number * 8 + WRITE_CONFLICT, 64)
                fault = f.select(both, code, fault, 64)
            seen[key] = (enable, write.address)
            bits = cell_bits(array.dtype)
            slot = self._slot(f, array, port, memories[array.name], write.address)
            target = f.select_pointer(enable, slot, scratch)
            value = self._get(f, f"{port.prefix}_wdata")
            signed = is_sign_extended(array.dtype)
            f.store(f.resize(value, array.width, bits, signed=signed), target, bits)
        return fault

    def _check_quiet(self, f: FunctionText, faulty: str) -> None:
        """In the cycle after done, done must be low and no write may be out."""
        quiet = f.load(self._field(f, "status"), 64)
        number = 0
        for array in self._design.arrays:
            for port in (p for p in array.ports if p.writes):
                enable = self._get(f, f"{port.prefix}_en")
                late = f.binary("and", enable, self._get(f, f"{port.prefix}_we"), 1)
                quiet = f.select(late, f.constant(number * 8 + LATE_WRITE, 64), quiet, 64)
                number += 1
        quiet = f.select(self._get(f, "done"), f.constant(LATE_DONE, 64), quiet, 64)
        old = f.load(self._field(f, "status"), 64)
        code = f.binary("and", quiet, f.constant(7, 64), 64)
        f.store(f.select(faulty, old, code, 64), self._field(f, "status"), 64)
        place = f.binary("lshr", quiet, f.constant(3, 64), 64)
        fault = f.load(self._field(f, "fault"), 64)
        f.store(f.select(faulty, fault, place, 64), self._field(f, "fault"), 64)


def write_ports(design: HardwareDesign) -> list[tuple[ArrayInterface, BankPort]]:
    """The ports that write, in the order faults number them."""
    return [(a, p) for a in design.arrays for p in a.ports if p.writes]
