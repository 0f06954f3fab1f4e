"""What two programs take and return, held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import signature_of, symbol
from allo.dialects.diagnostics import SignatureMismatchError, SourcePlace, UndecidableError
from allo.dialects.text import differences


@dataclass(frozen=True, slots=True)
class Port:
    """An argument, a result or a stateful variable.

    Attributes:
        name: the user's name.
        declared: textual declared type, which the core IR gives with every argument and result.
        kind: MLIR type of the value or of an element.
        shape: extents; None for a scalar.
    """

    name: str
    declared: str
    kind: str
    shape: tuple[int, ...] | None

    @property
    def elements(self) -> int:
        """How many values it is."""
        return prod(self.shape or ())

    def fits(self, other: Port) -> bool:
        """Whether values of one are values of the other; a reshaped array fits."""
        same_form = (self.shape is None) == (other.shape is None)
        return same_form and (self.declared, self.kind, self.elements) == (
            other.declared,
            other.kind,
            other.elements,
        )

    def __str__(self) -> str:
        dims = "" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f"{self.name}: {self.declared or self.kind}{dims}"


@dataclass(frozen=True, slots=True)
class Interface:
    """The ports of a top function."""

    top: str
    arguments: tuple[Port, ...]
    results: tuple[Port, ...]
    state: tuple[tuple[str, Port, str], ...]
    place: SourcePlace | None


def read_interface(module: ir.Module, top: str) -> Interface:
    """The ports of function ``top`` and the module's stateful variables, in order."""
    definitions = {symbol(op): op.operation for op in module.body.operations}
    op = definitions[top]
    signature = signature_of(op)
    for position, declared in enumerate(signature.declared):
        if declared.startswith("stream<"):
            raise UndecidableError(
                f"Argument {signature.name(position)} of {top} is a stream, of which any number of words "
                "may pass.",
                place_of(op),
                help="compare regions that take arrays, with a process that puts their elements into the "
                "stream.",
            )
    for kind in (*signature.inputs, *signature.results):
        if isinstance(kind, ir.MemRefType) and not kind.has_static_shape:
            raise UndecidableError(
                f"{top} takes or returns an array without a fixed size, {kind}.",
                place_of(op),
                help="compare kernels whose arrays have numbers as extents.",
            )
    arguments = _ports(signature.inputs, signature.names, signature.declared, "arg")
    unnamed = ("",) * len(signature.results)
    results = _ports(signature.results, unnamed, signature.returned, "result")
    state = tuple(
        (name, _state_port(name, d), str(d.attributes["initial_value"]))
        for name, d in definitions.items()
        if d.name == "memref.global" and "constant" not in d.attributes
    )
    return Interface(top, arguments, results, state, place_of(op))


def _state_port(name: str, definition: ir.Operation) -> Port:
    kind = ir.MemRefType(ir.TypeAttr(definition.attributes["type"]).value)
    return Port(name, "", str(kind.element_type), tuple(kind.shape))


def _ports(
    kinds: Sequence[ir.Type], names: Sequence[str], declared: Sequence[str], default: str
) -> tuple[Port, ...]:
    called = [
        name or (default if len(kinds) == 1 else f"{default} {position}")
        for position, name in enumerate(names)
    ]
    return tuple(map(_port, called, declared, kinds))


def _port(name: str, declared: str, kind: ir.Type) -> Port:
    if isinstance(kind, ir.MemRefType):
        return Port(name, declared, str(kind.element_type), tuple(kind.shape))
    return Port(name, declared, str(kind), None)


def check_interfaces(a: Interface, b: Interface) -> None:
    """Refuse programs whose ports do not correspond one to one.

    Raises:
        SignatureMismatchError: the first pair that does not fit, with both declarations.
    """
    _check(a, b, "arguments", a.arguments, b.arguments)
    _check(a, b, "results", a.results, b.results)
    first, second = ([(p, i) for _, p, i in side.state] for side in (a, b))
    _check(a, b, "stateful variables", [p for p, _ in first], [p for p, _ in second])
    for (port, initial), (other, other_initial) in zip(first, second, strict=True):
        if initial != other_initial:
            raise SignatureMismatchError(
                f"The stateful variables {port.name} and {other.name} start with different values.",
                a.place,
            )


def _check(
    a: Interface, b: Interface, what: str, first: Sequence[Port], second: Sequence[Port]
) -> None:
    if len(first) != len(second):
        raise _mismatch(a, b, f"{a.top} has {len(first)} {what} and {b.top} has {len(second)}.")
    for mine, other in zip(first, second, strict=True):
        if not mine.fits(other):
            raise _mismatch(a, b, f"{a.top} has {mine} where {b.top} has {other}.")


def _mismatch(a: Interface, b: Interface, text: str) -> SignatureMismatchError:
    note = (f"the other is {b.top}.", b.place) if b.place else f"the other is {b.top}."
    return SignatureMismatchError(
        f"The programs cannot be compared: {text}",
        a.place,
        help="compare schedules of kernels that take and return the same types and sizes, in the "
        "same order.",
        notes=(note, differences.VERIFY),
    )
