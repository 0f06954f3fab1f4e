"""Subnormal floats as zeros, written out in integers and ordinary arithmetic.

A target whose processor keeps subnormals runs :func:`flush_arithmetic`, so that its results are those of
hardware that has none: each operand below the smallest normal number becomes a zero of its sign, and each
result that is below it after rounding *as if the exponent had no least value*. The processor's own modes
are not used. With them a minimum flushes what it returns, though a selection changes no bits, and LLVM
takes ``x * 1.0`` for ``x``.

Sums, differences and remainders below the smallest normal number are exact, so their bits decide. A product
or a quotient may round up to that number, though it is below it when rounded to as many bits: a product is
rounded again, made larger by a power of two, and a quotient is below it where its operands say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._mlir import ir
from ..affine.loops import walk
from ..checked import module_pass
from ..core.locations import place_of
from ..diagnostics import UnsupportedOpError
from .math.bits import Emitter

FLUSH = "flush"
"""The value of the option ``subnormals`` that asks for it."""
_BITWISE = frozenset({"math.absf", "math.copysign"})
_UNITS = tuple(f"math.{name}" for name in ("sqrt", "floor", "ceil", "trunc", "round", "roundeven"))
_EXTREMES = ("minimumf", "maximumf", "minnumf", "maxnumf")
_CONVERSIONS = frozenset(f"arith.{name}" for name in ("sitofp", "uitofp", "fptosi", "fptoui"))
_NARROW = {"f16": "float16", "bf16": "bfloat16"}
_EQUAL, _LESS = 0, 4
"""Predicates: ``eq`` of ``arith.cmpi``, ``olt`` of ``arith.cmpf``."""


@dataclass(frozen=True, slots=True)
class _Format:
    bits: int
    fraction: int
    least: int
    """The exponent of the smallest normal number."""

    @property
    def field(self) -> int:
        """The bits of the exponent."""
        return (1 << self.bits - 1) - (1 << self.fraction)


_FORMATS = {"f32": _Format(32, 23, -126), "f64": _Format(64, 52, -1022)}


@module_pass
def flush_functions(module: ir.Module) -> None:
    """Give functions such as ``exp`` operands and results without subnormals, in place.

    It comes before :func:`.expand_math.expand_math`, and every target runs it.

    Raises:
        UnsupportedOpError: arithmetic of float16 or bfloat16, or a multiplication fused with a sum.
    """
    refuse_narrow_floats(module)
    for op in list(walk(module.operation)):
        if _is_function(op) and str(op.results[0].type) in _FORMATS:
            _exact(_Flush(op, set()))


@module_pass
def flush_arithmetic(module: ir.Module) -> None:
    """Rewrite float arithmetic, comparisons and conversions, in place. ``math`` functions are expanded."""
    done: set[ir.Value] = set()
    for op in [op for op in walk(module.operation) if op.name in _RULES]:
        if any(str(value.type) in _FORMATS for value in op.operands):
            _RULES[op.name](_Flush(op, done))


def _is_function(op: ir.Operation) -> bool:
    return op.name.startswith("math.") and op.name not in _BITWISE and op.name not in _UNITS


def refuse_narrow_floats(module: ir.Module) -> None:
    """Refuse what has no meaning without subnormals here.

    Raises:
        UnsupportedOpError: arithmetic of float16 or bfloat16, or a multiplication fused with a sum.
    """
    for op in walk(module.operation):
        _refuse(op)


def _refuse(op: ir.Operation) -> None:
    if op.name == "math.fma":
        raise UnsupportedOpError(
            'A product fused with a sum is not there in a design built with subnormals="flush".',
            place_of(op),
            help="write the product and the sum.",
        )
    computes = op.name in _RULES or op.name in _CONVERSIONS or op.name.startswith("math.")
    if not computes or op.name in _BITWISE:
        return
    for value in (*op.operands, *op.results):
        if str(value.type) in _NARROW:
            raise UnsupportedOpError(
                f'subnormals="flush" is for float32 and float64, and this computes with '
                f"{_NARROW[str(value.type)]}.",
                place_of(op),
                help="leave the option out, or compute in float32.",
            )


class _Flush:
    """An operation made anew in front of itself, with what flushes its operands and its result.

    ``done`` holds values that are known to be no subnormals.
    """

    def __init__(self, op: ir.Operation, done: set[ir.Value]) -> None:
        self._op = op
        self._done = done
        self._emitter = Emitter(op)
        self._i1 = ir.IntegerType.get_signless(1, op.context)
        self.operands = [self._operand(value) for value in op.operands]

    def _operand(self, value: ir.Value) -> ir.Value:
        if str(value.type) not in _FORMATS or value in self._done:
            return value
        return self.without_subnormals(value)

    def computed(self, *operands: ir.Value) -> ir.Value:
        """The result for these operands, the flushed ones as a rule."""
        op = self._op
        attributes = {name: op.attributes[name] for name in op.attributes}
        given = operands or self.operands
        return self._emitter.make(op.name, op.results[0].type, given, attributes)

    def finish(self, value: ir.Value) -> None:
        """Put ``value`` in the place of the result."""
        self._op.results[0].replace_all_uses_with(value)
        self._op.erase()
        self._done.add(value)

    def without_subnormals(self, value: ir.Value) -> ir.Value:
        """``value``, or a zero of its sign where no bit of its exponent is set."""
        kind, emitter = _FORMATS[str(value.type)], self._emitter
        integer = emitter.integer(kind.bits)
        bits = emitter.make("arith.bitcast", integer, [value])
        field = emitter.constant(kind.field, kind.bits).value
        zero = emitter.constant(0, kind.bits).value
        found = emitter.make("arith.andi", integer, [bits, field])
        tiny = emitter.make("arith.cmpi", self._i1, [found, zero], self._predicate(_EQUAL))
        return self.zero_where(tiny, value)

    def zero_where(self, tiny: ir.Value, value: ir.Value) -> ir.Value:
        """``value``, or a zero of its sign where ``tiny`` holds."""
        kind, emitter = _FORMATS[str(value.type)], self._emitter
        integer = emitter.integer(kind.bits)
        bits = emitter.make("arith.bitcast", integer, [value])
        sign = emitter.constant(1 << kind.bits - 1, kind.bits).value
        empty = emitter.make("arith.andi", integer, [bits, sign])
        chosen = emitter.make("arith.select", integer, [tiny, empty, bits])
        return emitter.make("arith.bitcast", value.type, [chosen])

    def below(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether the magnitude of ``a`` is less than that of ``b``."""
        sizes = [self._emitter.make("math.absf", a.type, [v]) for v in (a, b)]
        return self._emitter.make("arith.cmpf", self._i1, sizes, self._predicate(_LESS))

    def times(self, value: ir.Value, power: int) -> ir.Value:
        """``value`` times a power of two."""
        return self._emitter.make(
            "arith.mulf", value.type, [value, self.constant(value.type, 2.0**power)]
        )

    def constant(self, kind: ir.Type, number: float) -> ir.Value:
        """A float."""
        value = {"value": ir.FloatAttr.get(kind, number, loc=self._op.location)}
        return self._emitter.make("arith.constant", kind, [], value)

    def _predicate(self, number: int) -> dict[str, ir.Attribute]:
        i64 = ir.IntegerType.get_signless(64, self._op.context)
        return {"predicate": ir.IntegerAttr.get(i64, number)}


def _exact(flush: _Flush) -> None:
    """An operation whose result has no other bits where it is tiny."""
    flush.finish(flush.without_subnormals(flush.computed()))


def _normal(flush: _Flush) -> None:
    """An operation whose result is no subnormal where its operands are none."""
    flush.finish(flush.computed())


def _product(flush: _Flush) -> None:
    a, b = flush.operands
    kind = _FORMATS[str(a.type)]
    # Where the product is about the smallest normal number, the first operand is at most 1.
    power = kind.fraction + 1
    larger = flush.computed(flush.times(a, power), b)
    tiny = flush.below(larger, flush.constant(a.type, 2.0 ** (kind.least + power)))
    flush.finish(flush.zero_where(tiny, flush.computed()))


def _quotient(flush: _Flush) -> None:
    a, b = flush.operands
    # The quotient of two significands is less than 1 by more than rounding to their bits adds.
    tiny = flush.below(a, flush.times(b, _FORMATS[str(a.type)].least))
    flush.finish(flush.zero_where(tiny, flush.computed()))


def _narrowed(flush: _Flush) -> None:
    (wide,) = flush.operands
    value = flush.computed()
    kind = _FORMATS[str(value.type)]
    half = 2.0 ** (kind.least - kind.fraction - 2)
    tiny = flush.below(wide, flush.constant(wide.type, 2.0**kind.least - half))
    flush.finish(flush.zero_where(tiny, value))


_RULES: dict[str, Callable[[_Flush], None]] = {
    "arith.addf": _exact,
    "arith.subf": _exact,
    "arith.remf": _exact,
    "arith.mulf": _product,
    "arith.divf": _quotient,
    "arith.truncf": _narrowed,
    "arith.extf": _normal,
    "arith.cmpf": _normal,
    **dict.fromkeys((f"arith.{name}" for name in _EXTREMES), _normal),
    **dict.fromkeys(_UNITS, _normal),
}
