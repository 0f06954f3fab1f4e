"""Generate the driver of a design: clock, start and done, memory ports, streams.

The driver is text in MLIR's llvm dialect, compiled in process, and the same for every engine: an
engine says where the ports lie and how the design is evaluated. LLVM optimises it together with a model
of the in-process engine, so that a table-driven loop in C++ around the model is slower: 1.6 to 2.2 times
for designs with two or three ports, where to raise and lower the clock alone takes longer than all does now
(13.1 ns a cycle for 11.0), and 1.2 times for a gemm of 8 float lanes. Three functions, each of one
pointer to the context (:mod:`.context`):

* ``allo_reset``: hold ``rst`` for two cycles;
* ``allo_start``: raise ``start`` with the scalar inputs (the first cycle of a run);
* ``allo_step``: run up to ``budget`` cycles or until done.

A cycle: with the clock low and everything settled, sample the outputs, look up reads, then do
writes; raise the clock; lower it with the new inputs and settle. After the cycle of
``start`` scalar inputs are complemented, so that a design that does not sample them shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.emit.bounds import BoundsPort

from ..boundary.storage import cell_bits, is_sign_extended, slots_of
from ..boundary.traffic import Outside
from .channels import add_channel, channel_functions
from .context import Context, ContextLayout
from .llvm_text import FunctionText
from .memory_ports import FaultCodes, MemoryPorts
from .port_groups import PortGroups
from .ports import PortMap
from .stream_ports import StreamPorts
from .wires import Evaluation, Wires

RUNNING, DONE, LATE_DONE, LATE_WRITE, OUT_OF_RANGE, WRITE_CONFLICT, WORD_DROPPED = range(7)
# A fault is the number of its port, shifted, and one of the statuses above.
FAULT_SHIFT = 4
RESET_CYCLES = 2


@dataclass(frozen=True, slots=True)
class DriverText:
    """A generated driver: functions, the layout of its context, and first contents of some of its fields."""

    text: str
    context: ContextLayout
    tables: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def make_context(self) -> Context:
        """A context for the functions."""
        made = self.context.make()
        for name, words in self.tables.items():
            made.field(name)[:] = words
        return made


class DriverEmitter:
    """Emits the driver of one design for one engine and one outside."""

    def __init__(
        self, design: HardwareDesign, outside: Outside, ports: PortMap, evaluation: Evaluation
    ) -> None:
        self._design = design
        self._outside = outside
        self._ports = ports
        self._evaluation = evaluation
        self._context = context = ContextLayout()
        for name in ("status", "cycle", "stalls", "budget", "base", "eval", "handle", "fault"):
            context.add(name)
        for scalar in (*design.scalars_in, *design.scalars_out):
            context.add(f"scalar {scalar.name}", slots_of(scalar.dtype))
        if design.bounds is not None:
            context.add("draining")
            context.add("bounds", -(-design.bounds.width // 64))
        for channel in outside.channels.values():
            add_channel(context, channel)
        codes = FaultCodes(OUT_OF_RANGE, WRITE_CONFLICT, LATE_WRITE, FAULT_SHIFT)
        self._memories = MemoryPorts(design, outside, codes)
        self._memories.declare(context)
        self._groups = PortGroups(design, outside, self._memories)
        self._groups.declare(context)
        self._streams = StreamPorts(design, outside, WORD_DROPPED, FAULT_SHIFT)
        self._streams.declare(context)

    def emit(self) -> DriverText:
        """The text of the driver's functions, with the layout of the context they work on."""
        functions = [self._reset(), self._start(), self._step()]
        texts = [f.text() for f in (*functions, *self._groups.functions(self._open))]
        if self._outside.channels or any(s.stall for s in self._outside.streams.values()):
            texts.append(channel_functions())
        tables = self._groups.tables(self._open("tables"))
        return DriverText("\n".join(texts), self._context, tables)

    def _open(self, name: str) -> Wires:
        function = FunctionText(name, [("ctx", "!llvm.ptr")])
        return Wires(function, self._ports, self._context, self._evaluation)

    def _reset(self) -> FunctionText:
        w = self._open("allo_reset")
        f = w.f
        for scalar in self._design.scalars_in:
            w.put(scalar.name, f.constant(0, scalar.width))
        self._streams.silence(w)
        w.put("start", f.constant(0, 1))
        w.put("rst", f.constant(1, 1))
        w.clock(0)
        for _ in range(RESET_CYCLES):
            w.clock(1, resetting=True)
            w.clock(0)
        w.put("rst", f.constant(0, 1))
        w.clock(0)
        self._groups.hold(w)
        f.finish()
        return f

    def _start(self) -> FunctionText:
        w = self._open("allo_start")
        f = w.f
        for name, _, value in self._scalar_inputs(w):
            w.put(name, value)
        self._streams.silence(w)
        w.put("start", f.constant(1, 1))
        w.clock(0)
        f.finish()
        return f

    def _scalar_inputs(self, w: Wires) -> list[tuple[str, int, str]]:
        """Port, width and value of every scalar input, from the context."""
        found = []
        for scalar in self._design.scalars_in:
            bits = cell_bits(scalar.dtype)
            value = w.f.load(w.field(f"scalar {scalar.name}"), bits)
            found.append((scalar.name, scalar.width, w.f.resize(value, bits, scalar.width)))
        return found

    def _step(self) -> FunctionText:
        w = self._open("allo_step")
        f = w.f
        self._memories.open(w)
        scrambled = [
            (name, f.binary("xor", value, f.constant(-1, width), width))
            for name, width, value in self._scalar_inputs(w)
        ]
        one, zero = f.constant(1, 64), f.constant(0, 64)
        first = f.load(w.field("cycle"), 64)
        budget = f.load(w.field("budget"), 64)
        f.branch("cycle", [(first, "i64"), (budget, "i64")])

        f.block("cycle", [("%cycle", "i64"), ("%left", "i64")])
        self._memories.answer(w, "%cycle")
        done = w.get("done")
        cycle, updates, fault = self._serve(w)
        fault = self._streams.sample(w, fault)
        updates += self._streams.updates(w, cycle)
        f.branch_if(done, "capture", "edge")

        f.block("capture")
        self._capture_scalars(w)
        f.branch("edge")

        f.block("edge")
        w.clock(1)
        w.put("start", f.constant(0, 1))
        for name, value in [*scrambled, *updates]:
            w.put(name, value)
        self._groups.drive(w)
        w.clock(0)
        following = f.binary("add", cycle, one, 64)
        left = f.binary("sub", "%left", one, 64)
        faulty = f.compare("ne", fault, zero, 64)
        ended = f.binary("or", done, faulty, 1)
        if self._design.bounds is not None:
            ended = f.binary("or", ended, self._left_bounds(w, self._design.bounds), 1)
        spent = f.compare("eq", left, zero, 64)
        stop = f.binary("or", ended, spent, 1)
        f.branch_if(stop, "stop", "cycle", [(following, "i64"), (left, "i64")])

        f.block("stop")
        f.store(f.select(ended, cycle, following, 64), w.field("cycle"), 64)
        f.store(f.select(done, f.constant(DONE, 64), zero, 64), w.field("status"), 64)
        f.branch_if(done, "after", "report", [(fault, "i64")])

        f.block("after")
        late = (self._groups or self._memories).late_writes(w)
        late = f.select(w.get("done"), f.constant(LATE_DONE, 64), late, 64)
        f.branch("report", [(f.select(faulty, fault, late, 64), "i64")])

        f.block("report", [("%fault", "i64")])
        self._report(w, "%fault")
        if self._design.bounds is not None:
            port, room = self._design.bounds, -(-self._design.bounds.width // 64) * 64
            told = f.resize(w.get(port.name), port.width, room)
            f.store(told, w.field("bounds"), room)
        f.finish()
        return f

    def _serve(self, w: Wires) -> tuple[str, list[tuple[str, str]], str]:
        """Serve the RAM ports: the cycle's number, what ports take after it, the code of a fault."""
        if self._groups:
            return "%cycle", [], self._groups.serve(w)
        self._memories.sample(w)
        cycle = self._held(w, "%cycle")
        updates = self._memories.reads(w)
        return cycle, updates, self._memories.writes(w)

    def _left_bounds(self, w: Wires, port: BoundsPort) -> str:
        """Whether a subscript has been out of range, unless the run goes on for the rest."""
        f = w.f
        failed = f.resize(w.get(port.name), port.width, 1)
        draining = f.compare("ne", f.load(w.field("draining"), 64), f.constant(0, 64), 64)
        return f.binary("and", failed, f.binary("xor", draining, f.constant(1, 1), 1), 1)

    def _capture_scalars(self, w: Wires) -> None:
        """Keep the scalar outputs in the context."""
        for scalar in self._design.scalars_out:
            bits = cell_bits(scalar.dtype)
            signed = is_sign_extended(scalar.dtype)
            value = w.f.resize(w.get(scalar.name), scalar.width, bits, signed=signed)
            w.f.store(value, w.field(f"scalar {scalar.name}"), bits)

    def _report(self, w: Wires, fault: str) -> None:
        """Keep a fault, and where it was found, in the context; 0 is none."""
        f = w.f
        wrong = f.compare("ne", fault, f.constant(0, 64), 64)
        status = f.binary("and", fault, f.constant((1 << FAULT_SHIFT) - 1, 64), 64)
        status = f.select(wrong, status, f.load(w.field("status"), 64), 64)
        f.store(status, w.field("status"), 64)
        f.store(f.binary("lshr", fault, f.constant(FAULT_SHIFT, 64), 64), w.field("fault"), 64)

    def _held(self, w: Wires, cycle: str) -> str:
        """The number of this cycle once external memory has answered."""
        wait = self._memories.wait(w, cycle)
        if wait is None:
            return cycle
        f = w.f
        field = w.field("stalls")
        f.store(f.binary("add", f.load(field, 64), wait, 64), field, 64)
        return f.binary("add", cycle, wait, 64)
