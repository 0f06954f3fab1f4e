"""The emitter: walks one module of core IR and prints C++.

A handler a construct, in one table (``HANDLERS`` of the ``emit_*`` files); a
:class:`FunctionEmitter` holds what the handlers of one function share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of
from allo.dialects.diagnostics import SourcePlace, UnsupportedOpError, VerificationError

from ..csim.simulation import Simulation
from ..text import literals
from ..text.ctype import CType, Kind, ctype_of
from ..text.index import AffinePrinter
from ..text.writer import Names, Writer
from ..vendors.tables import Vendor
from .helpers import Helpers
from .pragmas import operation_pragmas
from .signature import Signature
from .values import Bound, Buffer, Scalar, StreamRef

Handler = Callable[["FunctionEmitter", ir.Operation], None]


@dataclass(slots=True)
class ModuleContext:
    """What all functions of a module share.

    Attributes:
        signatures: C++ signature of every function, by symbol.
        globals: ``memref.global`` operations, by symbol.
        passed_globals: symbols of constants that are passed to functions (so not ``const``).
        access: ``in``, ``out`` or ``both`` for each argument of every function.
        simulation: what csim must know of streams and processes; None in a vendor's text.
        shared_globals: symbols of variables that several functions use, mapped to their C++ name.
    """

    vendor: Vendor
    handlers: Mapping[str, Handler]
    signatures: dict[str, Signature]
    globals: dict[str, ir.Operation]
    passed_globals: set[str] = field(default_factory=set)
    shared_globals: dict[str, str] = field(default_factory=dict)
    access: dict[str, list[str]] = field(default_factory=dict)
    simulation: Simulation | None = None
    helpers: Helpers = field(default_factory=Helpers)

    def is_flat(self, call: ir.Operation) -> bool:
        """Whether the function a call names takes flat arrays."""
        return self.signatures[callee_of(call)].flat


@dataclass(frozen=True, slots=True)
class Started:
    """A process of a region: its number in csim, its call, and whether the region does not wait for it."""

    number: int
    call: str
    place: SourcePlace | None
    endless: bool


def value_of(e: FunctionEmitter, name: str, ctype: CType) -> Scalar:
    """A variable read as a value, wherever it is used."""
    if not ctype.is_fixed:
        return Scalar(name, ctype)
    return Scalar(f"(({e.spell(ctype.raw)}){loaded(e, name, ctype)})", ctype.raw)


def stored(e: FunctionEmitter, lvalue: str, ctype: CType) -> str:
    """What of a variable of a type is assigned: the bits of fixed point."""
    if not ctype.is_fixed or not e.vendor.fixed_bits.startswith("allo_"):
        return loaded(e, lvalue, ctype)
    e.context.helpers.use("ac_bits")
    return f"allo_assigned({lvalue})"


def loaded(e: FunctionEmitter, lvalue: str, ctype: CType) -> str:
    """What a variable of a type gives as a value: the bits of fixed point."""
    if not ctype.is_fixed:
        return lvalue
    if e.vendor.fixed_bits.startswith("allo_"):
        e.context.helpers.use("ac_bits")
    return e.vendor.fixed_bits.format(name=lvalue)


class FunctionEmitter:
    """Prints the body of one function."""

    def __init__(self, context: ModuleContext, out: Writer, signature: Signature) -> None:
        self.context = context
        self.vendor = context.vendor
        self.out = out
        self.signature = signature
        self.names = Names({s.name for s in context.signatures.values()})
        self.values: dict[ir.Value, Bound] = {}
        self.results: list[Bound] = []
        self.region: list[Started] | None = None
        self.affine = AffinePrinter(context.helpers.use)

    # --- walking --------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        """Print every operation of a block."""
        for op in block.operations:
            self.operation(op.operation)

    def operation(self, op: ir.Operation) -> None:
        """Print one operation by its handler; UnsupportedOpError if there is none."""
        handler = self.context.handlers.get(op.name)
        if handler is None:
            raise self.unsupported(op)
        handler(self, op)

    def unsupported(self, op: ir.Operation, why: str = "") -> UnsupportedOpError:
        """The error that an operation cannot be printed, for the caller to raise."""
        reason = f": {why}" if why else ""
        return UnsupportedOpError(
            f"The HLS back end cannot print the operation {op.name}{reason}.",
            place_of(op),
            help="build with target='llvm', or report this operation to the Allo developers.",
        )

    # --- values ---------------------------------------------------------------

    def scalar(self, value: ir.Value) -> Scalar:
        """What a scalar value is in C++; VerificationError if the value is something else."""
        return self._bound(value, Scalar)

    def buffer(self, value: ir.Value) -> Buffer:
        """What an array is in C++; VerificationError if the value is something else."""
        return self._bound(value, Buffer)

    def stream(self, value: ir.Value) -> StreamRef:
        """What a stream is in C++; VerificationError if the value is something else."""
        return self._bound(value, StreamRef)

    def _bound[T: (Scalar, Buffer, StreamRef)](self, value: ir.Value, kind: type[T]) -> T:
        found = self.values[value]
        if not isinstance(found, kind):
            raise VerificationError(
                f"The value {value.get_name()} is a {type(found).__name__}, not a {kind.__name__}."
            )
        return found

    def scalars(self, op: ir.Operation) -> list[Scalar]:
        """What each operand of an operation is in C++, all being scalars."""
        return [self.scalar(v) for v in op.operands]

    def spell(self, ctype: CType) -> str:
        """The C++ name of a type; the class of bfloat16 is printed if it is needed."""
        if ctype.kind is Kind.BFLOAT:
            self.context.helpers.use("bfloat")
        return self.vendor.spell(ctype)

    def text(self, value: Scalar, ctype: CType | None = None) -> str:
        """A scalar as a C++ operand, cast when ``ctype`` has another signedness."""
        ctype = ctype or value.ctype
        if value.const is not None:
            if ctype.kind is Kind.BFLOAT:
                self.context.helpers.use("bfloat")
            return literals.scalar(value.const, ctype, self.vendor)
        if ctype.is_integer and ctype.signed != value.ctype.signed and not ctype.is_bool:
            return f"({self.spell(ctype)}){value.text}"
        return value.text

    def plain(self, value: Scalar, ctype: CType | None = None) -> str:
        """Like :meth:`text`, as an operand that plain C++ integers take, its high bits lost."""
        text, bits = self.text(value, ctype), value.ctype.bits
        wide = value.ctype.kind is Kind.INT and bits > 64
        if value.const is not None or not wide or not self.vendor.word_literals:
            return text
        return f"({text}).to_int64()"

    def typed(self, value: Scalar, ctype: CType | None = None) -> str:
        """Like :meth:`text`, and a constant carries its type."""
        ctype = ctype or value.ctype
        text = self.text(value, ctype)
        if value.const is None or not ctype.is_integer or ctype.is_bool:
            return text
        return f"({self.spell(ctype)}){text}"

    def typed_bits(self, value: Scalar, ctype: CType) -> str:
        """A scalar as the right side of a store into a variable of a type."""
        if not ctype.is_fixed:
            return self.text(value, ctype)
        raw = ctype.raw
        if value.const is None and value.ctype == raw and not raw.is_native:
            return value.text
        wide = self.vendor.spell_wide(raw.bits, raw.signed)
        return f"({wide}){self.typed(value, raw)}"

    def fixed_point(self, value: Scalar, ctype: CType, place: SourcePlace | None) -> str:
        """A fixed-point variable of this integer, declared here."""
        name = self.names.fresh()
        self.out.line(f"{self.spell(ctype)} {name};", place)
        self.out.line(f"{stored(self, name, ctype)} = {self.typed_bits(value, ctype)};", place)
        return name

    def define(
        self,
        op: ir.Operation,
        expression: str,
        ctype: CType,
        *,
        need: int = 0,
        bounds: tuple[int | None, int | None] = (None, None),
    ) -> Scalar:
        """Declare a variable for the operation's result: ``T v3 = expression;``.

        An expression of a fixed-point type gives the integer behind it.
        """
        expression, ctype = loaded(self, expression, ctype), ctype.raw
        name = self.names.fresh()
        self.out.line(f"{self.spell(ctype)} {name} = {expression};", place_of(op))
        for pragma in operation_pragmas(self.vendor, name, op):
            self.out.line(pragma)
        full = ctype.bits + (not ctype.signed)
        scalar = Scalar(name, ctype, None, min(need or full, full), *bounds)
        self.values[op.results[0]] = scalar
        return scalar

    def index_operands(self, values: Sequence[ir.Value]) -> list[Scalar]:
        """What each of the values is in C++, all being scalars."""
        return [self.scalar(v) for v in values]

    def result_ctype(self, op: ir.Operation, signed: bool = True) -> CType:
        """The C++ type of the first result; UnsupportedOpError if there is none for it."""
        try:
            return ctype_of(op.results[0].type, signed)
        except TypeError as error:
            raise self.unsupported(op, str(error)) from error


def source_of(op: ir.Operation) -> SourcePlace | None:
    """The operation's place in the user's Python."""
    return place_of(op)
