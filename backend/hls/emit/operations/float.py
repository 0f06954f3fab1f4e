"""Floating point: arithmetic, comparison, conversion, math functions, bit casts."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of

from ...text import literals
from ...text.ctype import BOOL, CType, Kind
from ..attributes import integer
from ..emitter import FunctionEmitter, Handler
from ..values import Scalar


def _operand(e: FunctionEmitter, value: Scalar) -> str:
    """A float operand; bfloat16 computes in float."""
    if value.ctype.kind is not Kind.BFLOAT:
        return e.text(value)
    if value.const is not None:
        return literals.floating(float(value.const), CType(Kind.FLOAT, 32), e.vendor)
    return f"(float){value.text}"


def as_double(e: FunctionEmitter, value: Scalar) -> str:
    """A float operand as a double; a half that is a class converts to float alone."""
    through = "(float)" if _is_class(e, value.ctype) else ""
    return f"(double){through}{_operand(e, value)}"


def _is_class(e: FunctionEmitter, ctype: CType) -> bool:
    """Whether values of the type are objects, which functions and unions of C++ do not take."""
    return e.vendor.half_class and ctype.kind is Kind.FLOAT and ctype.bits == 16


def _finish(e: FunctionEmitter, op: ir.Operation, expression: str) -> None:
    ctype = e.result_ctype(op)
    if ctype.kind is Kind.BFLOAT:
        expression = f"{e.spell(ctype)}({expression})"
    e.define(op, expression, ctype)


def _binary(symbol: str) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        _finish(e, op, f"{_operand(e, a)} {symbol} {_operand(e, b)}")

    return emit


def _negate(e: FunctionEmitter, op: ir.Operation) -> None:
    (a,) = e.scalars(op)
    _finish(e, op, f"-{_operand(e, a)}")


def _remainder(e: FunctionEmitter, op: ir.Operation) -> None:
    a, b = (_operand(e, v) for v in e.scalars(op))
    ctype = e.result_ctype(op)
    if ctype.bits == 16:
        _finish(e, op, f"({e.spell(ctype)})fmod((float){a}, (float){b})")
        return
    _finish(e, op, f"fmod({a}, {b})")


def _extremum(helper: str) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        ctype = e.result_ctype(op)
        own = "float" if ctype.kind is Kind.BFLOAT else e.spell(ctype)
        call = e.context.helpers.use(helper)
        _finish(e, op, f"{call}<{own}>({_operand(e, a)}, {_operand(e, b)})")

    return emit


def _number_extremum(symbol: str) -> Handler:
    """``maxnumf``/``minnumf``: the number where the other operand is NaN."""

    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = (_operand(e, v) for v in e.scalars(op))
        _finish(e, op, f"({a} {symbol} {b} || {b} != {b}) ? {a} : {b}")

    return emit


_COMPARE = (
    "false",
    "{a} == {b}",
    "{a} > {b}",
    "{a} >= {b}",
    "{a} < {b}",
    "{a} <= {b}",
    "{a} < {b} || {a} > {b}",
    "{a} == {a} && {b} == {b}",
    "!({a} < {b} || {a} > {b})",
    "!({a} <= {b})",
    "!({a} < {b})",
    "!({a} >= {b})",
    "!({a} > {b})",
    "{a} != {b}",
    "{a} != {a} || {b} != {b}",
    "true",
)


def _compare(e: FunctionEmitter, op: ir.Operation) -> None:
    a, b = (_operand(e, v) for v in e.scalars(op))
    e.define(op, _COMPARE[integer(op, "predicate") or 0].format(a=a, b=b), BOOL)


def _convert(e: FunctionEmitter, op: ir.Operation) -> None:
    (a,) = e.scalars(op)
    ctype = e.result_ctype(op)
    if _is_class(e, a.ctype) and ctype.bits == 64:
        e.define(op, as_double(e, a), ctype)
        return
    e.define(op, f"({e.spell(ctype)}){_operand(e, a)}", ctype)


def _from_integer(signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        (a,) = e.scalars(op)
        ctype = e.result_ctype(op)
        own = e.spell(ctype)
        if a.ctype.is_bool:
            one = literals.floating(-1.0 if signed else 1.0, ctype, e.vendor)
            zero = literals.floating(0.0, ctype, e.vendor)
            e.define(op, f"{e.text(a)} ? {one} : {zero}", ctype)
            return
        source = a.ctype.with_sign(signed)
        if a.ctype.bits <= 64:
            wide = "int64_t" if signed else "uint64_t"
            narrow = ctype.kind is Kind.BFLOAT
            cast = f"({wide})" if narrow or not a.ctype.is_native else ""
            through = "(double)" if ctype.bits == 16 and not narrow else ""
            e.define(op, f"({own}){through}{cast}{e.typed(a, source)}", ctype)
            return
        _from_wide_integer(e, op, e.typed(a, source), a.ctype.bits, signed)

    return emit


def _from_wide_integer(
    e: FunctionEmitter, op: ir.Operation, text: str, bits: int, signed: bool
) -> None:
    ctype = e.result_ctype(op)
    unsigned = e.vendor.spell_wide(bits, False)
    call = e.context.helpers.use("tofloat", "to_float")
    own = e.spell(ctype)
    if not signed:
        e.define(op, f"{call}<{own}, {bits}>({unsigned}({text}), false)", ctype)
        return
    magnitude = f"{text} < 0 ? {unsigned}(-{text}) : {unsigned}({text})"
    e.define(op, f"{call}<{own}, {bits}>({magnitude}, {text} < 0)", ctype)


def _to_integer(signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        (a,) = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        sign = "signed" if signed else "unsigned"
        operand = as_double(e, a)
        if ctype.bits > 64:
            call = e.context.helpers.use("towide", f"to_wide_{sign}")
            e.define(op, f"{call}<{ctype.bits}>({operand})", ctype)
            return
        call = e.context.helpers.use("toint", f"to_{sign}")
        kind = e.vendor.spell_wide(1, signed) if ctype.is_bool else e.spell(ctype)
        text = f"{call}<{kind}, {ctype.bits}>({operand})"
        e.define(op, f"{text}[0]" if ctype.is_bool else text, ctype)

    return emit


def _bitcast(e: FunctionEmitter, op: ir.Operation) -> None:
    (a,) = e.scalars(op)
    source = a.ctype
    target = e.result_ctype(op, False)
    if source.kind is Kind.BFLOAT and target.is_integer:
        e.define(op, f"{_bfloat(e, a)}.bits", target)
        return
    if target.kind is Kind.BFLOAT and source.is_integer:
        name = e.names.fresh()
        e.out.line(f"{e.spell(target)} {name};", place_of(op))
        e.out.line(f"{name}.bits = {e.text(a, source.with_sign(False))};")
        e.values[op.results[0]] = Scalar(name, target)
        return
    if source.is_integer == target.is_integer:
        e.define(op, e.text(a), source)
        return
    if _is_class(e, source):
        e.define(op, f"({e.spell(target)})({e.text(a)}).data()", target)
        return
    if _is_class(e, target):
        name = e.names.fresh()
        e.out.line(f"{e.spell(target)} {name};", place_of(op))
        e.out.line(f"{name}.set_data((short){e.text(a)});")
        e.values[op.results[0]] = Scalar(name, target)
        return
    union = e.names.fresh()
    fields = f"{e.spell(source)} from; {e.spell(target)} to;"
    e.out.line(f"union {{ {fields} }} {union};", place_of(op))
    e.out.line(f"{union}.from = {e.text(a)};")
    e.define(op, f"{union}.to", target)


def _bfloat(e: FunctionEmitter, value: Scalar) -> str:
    text = e.text(value)
    return f"({text})" if value.const is not None else text


_FUNCTIONS = {
    "absf": "fabs",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atan2": "atan2",
    "atanh": "atanh",
    "cbrt": "cbrt",
    "ceil": "ceil",
    "copysign": "copysign",
    "cos": "cos",
    "cosh": "cosh",
    "erf": "erf",
    "erfc": "erfc",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "floor": "floor",
    "fma": "fma",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "powf": "pow",
    "round": "round",
    "roundeven": "rint",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}


def _function(name: str) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        values = e.scalars(op)
        ctype = e.result_ctype(op)
        own = _is_class(e, ctype)
        arguments = ", ".join(f"{'(float)' * own}{_operand(e, v)}" for v in values)
        _finish(e, op, f"{f'({e.spell(ctype)})' * own}{e.vendor.math}{name}({arguments})")

    return emit


def _integer_power(e: FunctionEmitter, op: ir.Operation) -> None:
    a, b = e.scalars(op)
    call = e.context.helpers.use("power", "fpow")
    own = "float" if a.ctype.kind is Kind.BFLOAT else e.spell(a.ctype)
    _finish(e, op, f"{call}<{own}, {e.spell(b.ctype)}>({_operand(e, a)}, {e.typed(b)})")


HANDLERS: dict[str, Handler] = {
    "arith.addf": _binary("+"),
    "arith.subf": _binary("-"),
    "arith.mulf": _binary("*"),
    "arith.divf": _binary("/"),
    "arith.remf": _remainder,
    "arith.negf": _negate,
    "arith.minimumf": _extremum("minimum"),
    "arith.maximumf": _extremum("maximum"),
    "arith.maxnumf": _number_extremum(">"),
    "arith.minnumf": _number_extremum("<"),
    "arith.cmpf": _compare,
    "arith.extf": _convert,
    "arith.truncf": _convert,
    "arith.sitofp": _from_integer(True),
    "arith.uitofp": _from_integer(False),
    "arith.fptosi": _to_integer(True),
    "arith.fptoui": _to_integer(False),
    "arith.bitcast": _bitcast,
    "math.fpowi": _integer_power,
    **{f"math.{op}": _function(name) for op, name in _FUNCTIONS.items()},
}
