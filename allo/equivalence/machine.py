"""The machine that runs a module on symbols: functions become lists of Python closures, once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import SourcePlace, StepLimitError, UndecidableError
from allo.dialects.streams.endless import ENDLESS

from .memory import Memory, Storage, View
from .processes import Processes
from .terms import Terms, Value, element_name

type Frame = list[Any]
type Step = Callable[[Frame], None]
type Handler = Callable[["FunctionCode", ir.Operation], Step | None]

_TERMINATORS = ("func.return", "affine.yield", "scf.yield", "scf.condition")


@dataclass(frozen=True, slots=True)
class Fault:
    """An access outside an array."""

    message: str
    place: SourcePlace | None


@dataclass(slots=True)
class Block:
    """A block as closures.

    Attributes:
        steps: its operations in order.
        arguments: slots of its arguments.
        yielded: slots of its terminator's operands.
    """

    steps: list[Step]
    arguments: list[int]
    yielded: list[int]
    place: SourcePlace | None


class FunctionCode:
    """A function while it is compiled and after: slots of its values and its block."""

    def __init__(self, machine: Machine, op: ir.Operation) -> None:
        self.machine = machine
        self.op = op
        self._slots: dict[ir.Value, int] = {}
        self.body = self.block(op.regions[0].blocks[0])

    @property
    def size(self) -> int:
        """How many slots a frame has."""
        return len(self._slots)

    def slot(self, value: ir.Value) -> int:
        """The place of a value in the function's frames."""
        return self._slots.setdefault(value, len(self._slots))

    def block(self, block: ir.Block) -> Block:
        """A block's operations as closures."""
        arguments = [self.slot(a) for a in block.arguments]
        steps: list[Step] = []
        yielded: list[int] = []
        place = None
        for child in block.operations:
            op = child.operation
            place = place or place_of(op)
            if op.name in _TERMINATORS:
                yielded = [self.slot(v) for v in op.operands]
                continue
            step = self.machine.handler(op)(self, op)
            if step is not None:
                steps.append(step)
        return Block(steps, arguments, yielded, place)


@dataclass(slots=True)
class Machine:
    """One program under symbolic execution.

    Attributes:
        module: its core IR.
        terms: the table of expressions, shared with the program it is compared with.
        handlers: operation name to what compiles it; the last resort has the name ``""``.
        max_steps: operations it may run.
        faults: accesses outside arrays, in order.
    """

    module: ir.Module
    terms: Terms
    handlers: Mapping[str, Handler]
    max_steps: int
    memory: Memory = field(default_factory=Memory)
    steps: int = 0
    faults: list[Fault] = field(default_factory=list)
    globals: dict[str, View] = field(default_factory=dict)
    definitions: dict[str, ir.Operation] = field(default_factory=dict)
    _functions: dict[str, FunctionCode] = field(default_factory=dict)
    _instances: dict[str, int] = field(default_factory=dict)
    _starting: list[tuple[str, list[Any]]] | None = None
    _processes: Processes | None = None

    def __post_init__(self) -> None:
        for child in self.module.body.operations:
            self.definitions[symbol(child)] = child.operation

    def handler(self, op: ir.Operation) -> Handler:
        """What translates an operation."""
        return self.handlers.get(op.name, self.handlers[""])

    def run(self, block: Block, frame: Frame) -> None:
        """Run a block's closures, and count them."""
        self.steps += len(block.steps) + 1
        if self.steps > self.max_steps:
            raise StepLimitError(
                f"The program runs more than {self.max_steps} operations.",
                block.place,
                help="compare the kernel at a smaller size, or give a higher max_steps.",
            )
        for step in block.steps:
            step(frame)

    def count(self, steps: int) -> None:
        """Count work that is not a block's, such as whole-array operations."""
        self.steps += steps

    def call(self, name: str, args: list[Any]) -> list[Any]:
        """Run a function that has a body."""
        code = self._functions.get(name)
        if code is None:
            code = self._functions[name] = FunctionCode(self, self.definitions[name])
        frame: Frame = [None] * code.size
        for slot, value in zip(code.body.arguments, args, strict=True):
            frame[slot] = value
        if "region" in code.op.attributes:
            self._run_region(code, frame)
        else:
            self.run(code.body, frame)
        return [frame[slot] for slot in code.body.yielded]

    def start(self, name: str, args: list[Any]) -> bool:
        """Keep a call as a process of the region that runs now; False outside regions."""
        if self._starting is None:
            return False
        self._starting.append((name, args))
        return True

    def _run_region(self, code: FunctionCode, frame: Frame) -> None:
        outer, self._starting = self._starting, []
        try:
            self.run(code.body, frame)
            calls = self._starting
        finally:
            self._starting = outer
        outer, self._starting = self._starting, None
        bodies = [(self._body(*c), ENDLESS in self.definitions[c[0]].attributes) for c in calls]
        around, self._processes = self._processes, Processes(bodies)
        try:
            self._processes.run()
        finally:
            self._processes, self._starting = around, outer

    def _body(self, name: str, args: list[Any]) -> Callable[[], Any]:
        def run() -> None:
            with self.module.context, ir.Location.unknown():
                self.call(name, args)

        return run

    def turn(self) -> None:
        """Let the other processes go on, in an iteration of a loop without an end."""
        if self._processes is not None:
            self._processes.turn()

    def await_item(self, fifo: Fifo, op: ir.Operation) -> None:
        """Make sure a stream holds an element.

        Raises:
            UndecidableError: nothing that has run so far put one.
        """
        if fifo.items:
            return
        processes = self._processes
        if processes is not None and processes.wait(lambda: fifo.items):
            return
        raise undecidable(
            op,
            f"This get from {fifo.name} waits for ever, however deep the FIFOs are.",
            "put as many elements into each FIFO as are taken from it.",
        )

    # --- arrays -----------------------------------------------------------------------------

    def symbols(self, name: str, kind: str, shape: tuple[int, ...]) -> View:
        """An array of symbols, one an element."""
        cells: list[Value] = [
            self.terms.make(f"input {element_name(name, p, shape)}", kind)
            for p in range(prod(shape))
        ]
        return View.whole(Storage(name, kind, cells), shape)

    def undefined(self, name: str, kind: str, shape: tuple[int, ...]) -> View:
        """An array nobody has written: every element a value of its own."""
        instance = self._instances[name] = self._instances.get(name, 0) + 1
        label = name if instance == 1 else f"{name}#{instance}"
        cells: list[Value] = [
            self.terms.make(f"undef {element_name(label, p, shape)}", kind)
            for p in range(prod(shape))
        ]
        return View.whole(Storage(name, kind, cells), shape)

    def outside(self, name: str, kind: str, text: str, place: SourcePlace | None) -> Value:
        """Note an access outside an array; the value such a read gives."""
        if not self.memory.guarded:
            self.faults.append(Fault(f"{text} is outside {name}.", place))
        return self.terms.make(f"undef {text}", kind)


def no_step(code: FunctionCode, op: ir.Operation) -> None:
    """The handler of an operation that leaves every value as it is."""


def undecidable(op: ir.Operation, text: str, help: str | None = None) -> UndecidableError:
    """The error for an operation symbols cannot follow."""
    return UndecidableError(text, place_of(op), help=help)


class Fifo:
    """A stream of unlimited depth, as its declaration names it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: deque[Any] = deque()
