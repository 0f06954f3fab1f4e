"""``allo.verify``: run two schedules on symbols and compare what they leave."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Protocol

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import BoundaryError, BuildError, SourcePlace

from . import arrays, compute, control
from .interface import Interface, Port, check_interfaces, read_interface
from .machine import Machine
from .memory import Storage, View
from .normal import Forms
from .terms import Term, Terms, Value, describe, element_name

MAX_STEPS = 20_000_000
_HANDLERS = {**compute.HANDLERS, **arrays.HANDLERS, **control.HANDLERS}


class Scheduled(Protocol):
    """What can be compared: a ``Schedule``."""

    module: ir.Module
    top_func_name: str

    def build(self, target: str | None = None) -> Any:
        """The program for a target."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of comparing two programs; true when they are equal.

    Attributes:
        equal: whether every live-out value is the same for all inputs.
        message: which value differs first, how, and where it was written; "" when equal.
        place: where the second program wrote it.
        differing, elements: live-out values that differ, and all of them.
        reassociated: whether they are equal once float sums may be taken in any order.
        diff: unified diff of the two programs as HLS C++; "" when equal.
    """

    equal: bool
    message: str = ""
    place: SourcePlace | None = None
    differing: int = 0
    elements: int = 0
    reassociated: bool = False
    diff: str = ""

    def __bool__(self) -> bool:
        return self.equal


@dataclass(frozen=True, slots=True)
class _LiveOut:
    """One value a program leaves."""

    name: str
    kind: str
    value: Value
    place: SourcePlace | None


def verify(
    schedule_a: Scheduled,
    schedule_b: Scheduled,
    *,
    reassociate: bool = False,
    max_steps: int = MAX_STEPS,
) -> bool:
    """Whether two schedules leave the same values in results and arrays, for all inputs.

    Integers are compared by algebra modulo their width: a sum or product may be taken in another
    order. Floats are compared as bits: a sum in another order is a different value, unless
    ``reassociate`` is set. Where they differ, the first value that does and a unified diff of the
    two programs are printed. See :func:`compare` for arguments and errors.
    """
    outcome = compare(schedule_a, schedule_b, reassociate=reassociate, max_steps=max_steps)
    if not outcome:
        _show(outcome)
    return outcome.equal


def compare(
    schedule_a: Scheduled,
    schedule_b: Scheduled,
    *,
    reassociate: bool = False,
    max_steps: int = MAX_STEPS,
) -> Comparison:
    """Compare two schedules on symbolic inputs; ``True`` is a proof, for the sizes they have.

    Args:
        reassociate: treat sums and products of floats as exact, so that their order is free.
        max_steps: operations each program may run.

    Raises:
        SignatureMismatchError: the programs do not take and return the same things.
        UndecidableError: a loop's bounds depend on data, or a construct has no symbolic meaning.
        StepLimitError: a program runs more than ``max_steps`` operations.
        BoundaryError: an argument is no schedule.
    """
    for position, schedule in enumerate((schedule_a, schedule_b)):
        _check_schedule(schedule, position)
    terms = Terms()
    first = _read(schedule_a)
    second = _read(schedule_b)
    check_interfaces(first, second)
    symbols = _symbols(terms, first)
    left = _run(schedule_a, first, first, symbols, terms, max_steps)
    right = _run(schedule_b, second, first, symbols, terms, max_steps)
    outcome = _judge(left, right, reassociate)
    if outcome:
        return outcome
    message = f"{first.top} and {second.top} are not equivalent: {outcome.message}"
    return Comparison(
        False,
        message,
        outcome.place,
        outcome.differing,
        outcome.elements,
        outcome.reassociated,
        _diff(schedule_a, schedule_b),
    )


def _check_schedule(schedule: Any, position: int) -> None:
    if isinstance(getattr(schedule, "module", None), ir.Module) and hasattr(
        schedule, "top_func_name"
    ):
        return
    raise BoundaryError(
        f"verify compares schedules; argument {position + 1} is a {type(schedule).__name__}.",
        help="pass what allo.customize returns.",
    )


def _read(schedule: Scheduled) -> Interface:
    with schedule.module.context:
        return read_interface(schedule.module, schedule.top_func_name)


def _symbols(terms: Terms, interface: Interface) -> list[list[Value]]:
    """One symbol an element of each argument and stateful variable, in order."""
    ports = [*interface.arguments, *(port for _, port, _ in interface.state)]
    return [
        [
            terms.make(f"input {element_name(port.name, p, port.shape or ())}", port.kind)
            for p in range(port.elements)
        ]
        for port in ports
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    live_out: list[_LiveOut]
    machine: Machine


def _run(
    schedule: Scheduled,
    own: Interface,
    named: Interface,
    symbols: list[list[Value]],
    terms: Terms,
    max_steps: int,
) -> _Run:
    """Run a program; ``named`` gives the names under which its values are reported."""
    with schedule.module.context, ir.Location.unknown():
        machine = Machine(schedule.module, terms, _HANDLERS, max_steps)
        count = len(own.arguments)
        args = [_bound(p, cells) for p, cells in zip(own.arguments, symbols[:count], strict=True)]
        for (name, port, _), cells in zip(own.state, symbols[count:], strict=True):
            machine.globals[name] = _bound(port, cells)
        returned = machine.call(own.top, args)
    arrays_left = [*args, *(machine.globals[name] for name, _, _ in own.state)]
    ports = [*named.arguments, *(port for _, port, _ in named.state)]
    live_out = [
        x for port, value in zip(ports, arrays_left, strict=True) for x in _left(port, value)
    ]
    for port, value in zip(named.results, returned, strict=True):
        live_out += _left(port, value, result=True)
    return _Run(live_out, machine)


def _bound(port: Port, cells: list[Value]) -> Any:
    if port.shape is None:
        return cells[0]
    return View.whole(Storage(port.name, port.kind, list(cells)), port.shape)


def _left(port: Port, value: Any, result: bool = False) -> list[_LiveOut]:
    if not isinstance(value, View):
        return [_LiveOut(port.name, port.kind, value, None)] if result else []
    name = value.storage.name if result else port.name
    return [
        _LiveOut(
            element_name(name, count, port.shape or ()),
            port.kind,
            value.storage.cells[position],
            value.storage.writers[position],
        )
        for count, position in enumerate(value.positions())
    ]


# --- the verdict ---------------------------------------------------------------------------


def _judge(left: _Run, right: _Run, reassociate: bool) -> Comparison:
    for which, run in (("first", left), ("second", right)):
        if run.machine.faults:
            fault = run.machine.faults[0]
            where = f" ({fault.place})" if fault.place else ""
            return Comparison(False, f"in the {which}, {fault.message}{where}", fault.place)
    pairs = list(zip(left.live_out, right.live_out, strict=True))
    forms = Forms(reassociate)
    differing = [(a, b) for a, b in pairs if not _same(forms, a, b)]
    if not differing:
        return Comparison(True, elements=len(pairs))
    loose = Forms(reassociate=True)
    reassociated = not reassociate and all(_same(loose, a, b) for a, b in differing)
    a, b = differing[0]
    text = (
        f"{len(differing)} of {len(pairs)} values differ, the first is {a.name}:\n"
        f"  first:  {describe(a.value)}{_where(a)}\n  second: {describe(b.value)}{_where(b)}"
    )
    if reassociated:
        text += (
            "\nhelp: they are equal if float sums may be taken in any order: "
            "allo.verify(a, b, reassociate=True)."
        )
    return Comparison(False, text, b.place or a.place, len(differing), len(pairs), reassociated)


def _same(forms: Forms, a: _LiveOut, b: _LiveOut) -> bool:
    if _undefined(a.value) and _undefined(b.value):
        return True
    return forms.same(a.value, b.value, a.kind)


def _undefined(value: Value) -> bool:
    return isinstance(value, Term) and value.op.startswith("undef ")


def _where(value: _LiveOut) -> str:
    return f"   [{value.place}]" if value.place else ""


def _diff(schedule_a: Scheduled, schedule_b: Scheduled) -> str:
    first, second = (_text(s).splitlines() for s in (schedule_a, schedule_b))
    return "\n".join(difflib.unified_diff(first, second, "first", "second", lineterm=""))


def _text(schedule: Scheduled) -> str:
    """The program as HLS C++, or as core IR where the C++ back end cannot take it."""
    try:
        code: str = schedule.build(target="vhls").hls_code
        return code
    except BuildError:
        return str(schedule.module)


def _show(outcome: Comparison) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, soft_wrap=True)
    console.print(outcome.message)
    if outcome.diff:
        console.print(outcome.diff)
