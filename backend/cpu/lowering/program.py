"""What the dataflow parts of a module are: its FIFOs, processes, and the puts and gets they wait at.

Generated code knows these by number; this module gives the numbers their names and places, and
says which process is at which end of which FIFO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.core.bounds import CHECKS, Site, site_of
from allo.dialects.core.fifos import GETS, PUTS, declared_stream
from allo.dialects.core.locations import place_of
from allo.dialects.core.prints import PRINT, printed_of
from allo.dialects.core.signature import callee_of, entry_of, functions_of, has_body, signature_of
from allo.dialects.diagnostics import BuildError, SourcePlace, UnsupportedOpError
from allo.dialects.fibers import FifoEnds, Network
from allo.dialects.passes.merge_instances import INSTANCE
from allo.dialects.streams.endless import starts_endless
from allo.dialects.types import Stream, parse_type

PUT, GET = "put", "get"
_DIRECTIONS = dict.fromkeys(PUTS, PUT) | dict.fromkeys(GETS, GET)
_EVENTS = frozenset((PRINT, "allo.assert", *CHECKS))


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One ``allo.stream``: ``producers`` and ``consumers`` are numbers of calls, -1 for the region itself."""

    name: str
    dtype: Stream
    place: SourcePlace | None
    producers: tuple[int, ...]
    consumers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EventInfo:
    """One ``allo.print``, ``allo.assert`` or check.

    Attributes:
        text: the message, or what is printed before the value.
        after: what is printed after the value.
        value: declared type name and shape (None for a scalar) of a printed value.
        site: what is checked.
    """

    kind: str
    place: SourcePlace | None
    text: str = ""
    after: str = ""
    value: tuple[str, tuple[int, ...] | None] | None = None
    site: Site | None = None


@dataclass(slots=True)
class Program:
    """The dataflow of a module, numbered.

    Attributes:
        calls: the names of the processes.
        endless: numbers of those that never end.
        sites: the places of puts and gets.
        ports: by position of each stream argument of the top, its number among the streams.
    """

    top: str
    place: SourcePlace | None
    streams: list[StreamInfo] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    endless: set[int] = field(default_factory=set)
    sites: list[SourcePlace | None] = field(default_factory=list)
    events: list[EventInfo] = field(default_factory=list)
    ports: dict[int, int] = field(default_factory=dict)

    def network(self, outside: Mapping[str, str]) -> Network:
        """What the numbers in the records of a run stand for; ``outside``: what each port has passed."""
        ports = set(self.ports.values())
        fifos = [
            FifoEnds(
                s.name, s.producers, s.consumers, outside=outside[s.name] if n in ports else ""
            )
            for n, s in enumerate(self.streams)
        ]
        return Network(self.top, self.place, self.calls, self.sites, fifos)


@dataclass(slots=True)
class ProgramOps:
    """The operations behind the numbers of a :class:`Program`; they die when lowered."""

    streams: list[ir.Operation] = field(default_factory=list)
    calls: list[ir.Operation] = field(default_factory=list)
    sites: list[ir.Operation] = field(default_factory=list)
    events: list[ir.Operation] = field(default_factory=list)
    regions: list[ir.Operation] = field(default_factory=list)


def read_program(module: ir.Module, top: str) -> tuple[Program, ProgramOps] | None:
    """Number the dataflow of a module, or None when it has none.

    Raises:
        BuildError: a FIFO with two producers or two consumers; a kernel that returns a value.
    """
    functions = functions_of(module)
    ops = ProgramOps()
    for function in functions.values():
        _collect(function, ops)
    if not (ops.streams or ops.calls or ops.sites or ops.events):
        return None
    for call in ops.calls:
        _refuse_results(call)
    ends = _Ends(functions)
    numbers = {call: i for i, call in enumerate(ops.calls)}
    program = Program(top, place_of(functions[top]) if top in functions else None)
    program.calls = [_text(call, INSTANCE, callee_of(call)) for call in ops.calls]
    program.endless = {i for call, i in numbers.items() if starts_endless(call, functions)}
    program.sites = [place_of(op) for op in ops.sites]
    program.events = [_event(op) for op in ops.events]
    program.streams = [_stream(op, ends, numbers) for op in ops.streams]
    _add_ports(program, functions[top], ends, numbers)
    return program, ops


def is_region(function: ir.Operation) -> bool:
    """Whether the calls of a function are processes that run together."""
    return "region" in function.attributes


def _collect(function: ir.Operation, ops: ProgramOps) -> None:
    region = is_region(function)
    has_stream = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal has_stream
        if op.name == "allo.stream":
            has_stream = True
            ops.streams.append(op)
        elif op.name in _DIRECTIONS:
            ops.sites.append(op)
        elif op.name in _EVENTS:
            ops.events.append(op)
        elif region and op.name == "func.call":
            ops.calls.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    if region or has_stream:
        ops.regions.append(function)


def _refuse_results(call: ir.Operation) -> None:
    if len(call.results):
        raise UnsupportedOpError(
            f"Kernel {callee_of(call)} of a region returns a value.",
            place_of(call),
            help="store results into an array argument, or put them into a stream.",
        )


def _text(op: ir.Operation, attribute: str, default: str = "") -> str:
    return op.attributes[attribute].value if attribute in op.attributes else default


class _Ends:
    """Which direction a function uses a stream argument in, helpers included."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self._functions = functions
        self._known: dict[tuple[str, int], dict[str, SourcePlace | None]] = {}

    def of_argument(self, name: str, position: int) -> dict[str, SourcePlace | None]:
        """The directions in which a function uses an argument, each with a place of its use."""
        key = (name, position)
        if key not in self._known:
            self._known[key] = {}
            function = self._functions.get(name)
            if function is not None and has_body(function):
                argument = entry_of(function).arguments[position]
                self._known[key] = self._of_value(argument)
        return self._known[key]

    def _of_value(self, value: ir.Value) -> dict[str, SourcePlace | None]:
        found: dict[str, SourcePlace | None] = {}
        for _, directions in self.uses(value):
            for direction, place in directions.items():
                found.setdefault(direction, place)
        return found

    def uses(self, value: ir.Value) -> Iterator[tuple[ir.Operation, dict[str, SourcePlace | None]]]:
        """Each operation that uses a handle, with the directions and a place of each."""
        for use in value.uses:
            op = use.owner.operation
            if op.name in _DIRECTIONS and use.operand_number == 0:
                yield op, {_DIRECTIONS[op.name]: place_of(op)}
            elif op.name == "func.call":
                yield op, self.of_argument(callee_of(op), use.operand_number)


def _stream(op: ir.Operation, ends: _Ends, numbers: dict[ir.Operation, int]) -> StreamInfo:
    declared = declared_stream(op)
    name, dtype = declared.name, declared.kind
    by_direction: dict[str, dict[int, SourcePlace | None]] = {PUT: {}, GET: {}}
    for user, directions in ends.uses(op.results[0]):
        number = numbers.get(user, -1)
        for direction, place in directions.items():
            by_direction[direction].setdefault(number, place)
    _refuse_shared_end(name, op, "producers", "put into", by_direction[PUT])
    _refuse_shared_end(name, op, "consumers", "got from", by_direction[GET])
    return StreamInfo(name, dtype, place_of(op), tuple(by_direction[PUT]), tuple(by_direction[GET]))


def _add_ports(
    program: Program, top: ir.Operation, ends: _Ends, numbers: dict[ir.Operation, int]
) -> None:
    """The streams that are arguments of the top."""
    signature = signature_of(top)
    for position, declared in enumerate(signature.declared):
        kind = parse_type(declared) if declared else None
        if not isinstance(kind, Stream):
            continue
        argument = entry_of(top).arguments[position]
        users = {PUT: set[int](), GET: set[int]()}
        for user, directions in ends.uses(argument):
            for direction in directions:
                users[direction].add(numbers.get(user, -1))
        program.ports[position] = len(program.streams)
        info = StreamInfo(
            signature.name(position), kind, place_of(top), tuple(users[PUT]), tuple(users[GET])
        )
        program.streams.append(info)


def _refuse_shared_end(
    name: str,
    op: ir.Operation,
    what: str,
    verb: str,
    users: dict[int, SourcePlace | None],
) -> None:
    if len(users) < 2:
        return
    notes = [(f"{verb} here", place) for place in users.values() if place]
    raise BuildError(
        f"FIFO {name} has {len(users)} {what}; it may have one.",
        place_of(op),
        help="give each pair of kernels a stream of its own: Stream[T, depth][n].",
        notes=tuple(notes),
    )


def _event(op: ir.Operation) -> EventInfo:
    if op.name in CHECKS:
        return EventInfo("check", place_of(op), site=site_of(op))
    if op.name == "allo.assert":
        return EventInfo("assert", place_of(op), _text(op, "message"))
    printed = printed_of(op)
    value = printed.value
    if value is None:
        return EventInfo("print", place_of(op), printed.before, printed.after)
    shape = tuple(value.type.shape) if isinstance(value.type, ir.MemRefType) else None
    shown = printed.declared, shape
    return EventInfo("print", place_of(op), printed.before, printed.after, shown)
