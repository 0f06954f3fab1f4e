"""Integer arithmetic: exact widths on C++ integers and on a vendor's arbitrary-width classes.

A result is the operation's exact value reduced to its width. Plain C++ integers overflow
where that is undefined, so a signed sum whose operands may need more bits than
the C++ operation has is computed unsigned and cast back.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir

from ...text import literals
from ...text.ctype import BOOL, CType, Kind, index_ctype
from ..attributes import integer
from ..emitter import FunctionEmitter, Handler
from ..values import Scalar
from . import index_ops as index

_SIGNED, _UNSIGNED = True, False


def joint_sign(*operands: Scalar) -> bool:
    """Signed unless an operand is unsigned and no variable among them is signed."""
    variables = [v for v in operands if v.const is None]
    return not variables or any(v.ctype.signed for v in variables)


def need_of(value: Scalar) -> int:
    """Bits of two's complement that hold every value of the operand."""
    if value.const is not None:
        number = int(value.const)
        return (number if number >= 0 else ~number).bit_length() + 1
    if value.low is not None and value.high is not None:
        return max(need_of_number(value.low), need_of_number(value.high))
    return value.need or value.ctype.bits + (not value.ctype.signed)


def _need_as(value: Scalar, ctype: CType) -> int:
    """Like :func:`need_of`, for a constant as it is printed in an operation of type ``ctype``."""
    if value.const is None or ctype.kind is Kind.INDEX:
        return need_of(value)
    return need_of_number(literals.wrap(int(value.const), ctype.bits, ctype.signed))


def need_of_number(number: int) -> int:
    """The bits that a number needs in two's complement, its sign included."""
    return (number if number >= 0 else ~number).bit_length() + 1


def _operation_width(ctype: CType) -> int:
    """Bits in which C++ computes on operands of this type."""
    return 64 if ctype.kind is Kind.INT and ctype.bits > 32 else 32


def _result(e: FunctionEmitter, op: ir.Operation, *operands: Scalar) -> CType:
    return e.result_ctype(op, joint_sign(*operands))


def _both(e: FunctionEmitter, a: Scalar, b: Scalar, ctype: CType) -> tuple[str, str]:
    if a.const is not None and b.const is not None:
        return e.typed(a, ctype), e.text(b, ctype)
    return e.text(a, ctype), e.text(b, ctype)


def _sum_handler(symbol: str, bit_symbol: str, growth: Callable[[int, int], int]) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        ctype = _result(e, op, a, b)
        if ctype.is_bool:
            e.define(op, f"{e.text(a, ctype)} {bit_symbol} {e.text(b, ctype)}", ctype)
            return
        if ctype.kind is Kind.INDEX:
            index.arithmetic(e, op, symbol, a, b)
            return
        need = growth(_need_as(a, ctype), _need_as(b, ctype))
        left, right = _both(e, a, b, ctype)
        expression = f"{left} {symbol} {right}"
        width = _operation_width(ctype)
        modular = not ctype.signed and ctype.bits >= 32
        if ctype.is_native and need > width and not modular:
            wide = f"uint{width}_t"
            own = e.spell(ctype)
            expression = f"({own})(({wide}){left} {symbol} ({wide}){right})"
        e.define(op, expression, ctype, need=need)

    return emit


def _bitwise_handler(symbol: str) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        ctype = _result(e, op, a, b)
        if ctype.kind is Kind.INDEX:
            index.bitwise(e, op, symbol, a, b)
            return
        left, right = _both(e, a, b, ctype)
        need = max(need_of(a), need_of(b)) if ctype.signed else 0
        e.define(op, f"{left} {symbol} {right}", ctype, need=need)

    return emit


def _shift_left(e: FunctionEmitter, op: ir.Operation) -> None:
    a, amount = e.scalars(op)
    ctype = _result(e, op, a)
    if ctype.kind is Kind.INDEX:
        index.shift_left(e, op, a, amount)
        return
    unsigned = ctype.with_sign(False)
    own, wide = e.spell(ctype), e.spell(unsigned)
    if ctype.is_bool:
        e.define(op, f"{e.text(a)} && !{e.text(amount)}", ctype)
        return
    if amount.const is not None:
        count = _amount(amount)
        if count >= ctype.bits:
            e.define(op, f"({own})0", ctype)
            return
        operand = e.typed(a, unsigned if ctype.is_native else ctype)
        e.define(op, f"({own})({operand} << {count})", ctype)
        return
    call = e.context.helpers.use("shl")
    text = f"{call}<{wide}, {ctype.bits}>({e.text(a, unsigned)}, {e.text(amount, unsigned)})"
    e.define(op, text, ctype)


def _amount(value: Scalar) -> int:
    return int(value.const or 0) & ((1 << value.ctype.bits) - 1)


def _shift_right(signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, amount = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        if ctype.kind is Kind.INDEX:
            index.shift_right(e, op, a, amount, signed=signed)
            return
        if ctype.is_bool:
            text = e.text(a) if signed else f"{e.text(a)} && !{e.text(amount)}"
            e.define(op, text, ctype)
            return
        if amount.const is not None:
            count = _amount(amount)
            if count >= ctype.bits and not signed:
                e.define(op, f"({e.spell(ctype)})0", ctype)
                return
            e.define(op, f"{e.typed(a, ctype)} >> {min(count, ctype.bits - 1)}", ctype)
            return
        own, wide = e.spell(ctype), e.spell(ctype.with_sign(False))
        call = e.context.helpers.use("shrs" if signed else "shru")
        types = f"{own}, {wide}" if signed else own
        by = e.text(amount, ctype.with_sign(False))
        e.define(op, f"{call}<{types}, {ctype.bits}>({e.text(a, ctype)}, {by})", ctype)

    return emit


def _division(helper: str, symbol: str, signed: bool, *, twin: bool) -> Handler:
    """``symbol`` when plain C++ does it for a positive constant divisor, else a helper."""

    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        if ctype.kind is Kind.INDEX:
            index.division(e, op, helper, symbol, a, b)
            return
        if ctype.is_bool:
            _bool_division(e, op, helper, a, b)
            return
        safe = b.const is not None and 0 < int(b.const) < 1 << 31
        if safe and symbol:
            left, right = _both(e, a, b, ctype)
            e.define(op, f"{left} {symbol} {right}", ctype)
            return
        own, wide = e.spell(ctype), e.spell(ctype.with_sign(False))
        types = f"{own}, {wide}" if twin else own
        call = e.context.helpers.use(helper)
        e.define(op, f"{call}<{types}>({e.text(a, ctype)}, {e.text(b, ctype)})", ctype)

    return emit


def _bool_division(e: FunctionEmitter, op: ir.Operation, helper: str, a: Scalar, b: Scalar) -> None:
    kind = e.vendor.spell_wide(1, not helper.endswith("u"))
    unsigned = e.vendor.spell_wide(1, False)
    call = e.context.helpers.use(helper)
    types = f"{kind}, {unsigned}" if helper in ("divs", "fdivs", "cdivs") else kind
    e.define(op, f"{call}<{types}>({kind}({e.text(a)}), {kind}({e.text(b)}))[0]", BOOL)


_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def _compare(e: FunctionEmitter, op: ir.Operation) -> None:
    predicate = integer(op, "predicate") or 0
    symbol = _PREDICATES[predicate]
    a, b = e.scalars(op)
    signed = joint_sign(a, b) if predicate < 2 else predicate < 6
    kind = a.ctype
    if kind.is_bool:
        e.define(op, _compare_bools(e, symbol, signed, predicate, a, b), BOOL)
        return
    if kind.kind is Kind.INDEX:
        index.comparison(e, op, symbol, a, b, unsigned=predicate >= 6)
        return
    ctype = kind.with_sign(signed)
    left, right = _both(e, a, b, ctype)
    e.define(op, f"{left} {symbol} {right}", BOOL)


def _compare_bools(
    e: FunctionEmitter, symbol: str, signed: bool, predicate: int, a: Scalar, b: Scalar
) -> str:
    left, right = e.text(a), e.text(b)
    if 2 <= predicate < 6 and signed:
        left, right = right, left
    return f"{left} {symbol} {right}"


def _extend(signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        (a,) = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        if a.ctype.is_bool:
            text = f"{e.text(a)} ? {-1 if signed else 1} : 0"
            e.define(op, text, ctype, need=1 if signed else 2)
            return
        source = a.ctype.with_sign(signed)
        need = a.ctype.bits + (not signed)
        if a.const is None and a.ctype.signed == signed:
            need = min(need, need_of(a))
        e.define(op, e.text(a, source), ctype, need=need)

    return emit


def _truncate(e: FunctionEmitter, op: ir.Operation) -> None:
    (a,) = e.scalars(op)
    ctype = e.result_ctype(op, a.ctype.signed)
    if ctype.is_bool:
        lowest = f"{a.text} & 1" if a.ctype.is_native else f"{a.text}[0]"
        e.define(op, lowest if a.const is None else e.text(a, ctype), ctype)
        return
    e.define(
        op,
        e.plain(a) if ctype.is_native else e.text(a),
        ctype,
        need=need_of(a) if a.const is None else 0,
    )


def _index_cast(signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        (a,) = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        if ctype.kind is Kind.INDEX:
            index.from_integer(e, op, a, signed=signed)
        else:
            index.to_integer(e, op, a, ctype, signed=signed)

    return emit


def _extremum(name: str, signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        if ctype.is_bool:
            either = (name == "max") != signed
            e.define(op, f"{e.text(a)} {'|' if either else '&'} {e.text(b)}", ctype)
            return
        need = max(need_of(a), need_of(b)) if signed else 0
        if index.is_index(a) and signed:
            bounds = index.ends_of(name, a, b)
            e.define(op, index.extremum_text(e, name, a, b), index_ctype(bounds), bounds=bounds)
            return
        text = f"{name}({e.typed(a, ctype)}, {e.typed(b, ctype)})"
        e.define(op, text, ctype, need=need)

    return emit


def _constant(e: FunctionEmitter, op: ir.Operation) -> None:
    attribute = op.attributes["value"]
    ctype = e.result_ctype(op)
    value = attribute.value
    if ctype.is_integer:
        value = int(value)
        if ctype.is_bool:
            value &= 1
    e.values[op.results[0]] = Scalar("", ctype, value, ctype.bits)


def _select(e: FunctionEmitter, op: ir.Operation) -> None:
    condition, a, b = e.scalars(op)
    if not a.ctype.is_integer:
        text = f"{e.text(condition)} ? {e.text(a)} : {e.text(b)}"
        e.define(op, text, a.ctype)
        return
    ctype = e.result_ctype(op, joint_sign(a, b))
    bounds = index.hull_of(a, b) if index.is_index(a) else (None, None)
    if ctype.kind is Kind.INDEX:
        ctype = index_ctype(bounds)
    text = f"{e.text(condition)} ? {e.typed(a, ctype)} : {e.typed(b, ctype)}"
    need = max(need_of(a), need_of(b)) if ctype.signed else 0
    e.define(op, text, ctype, need=need, bounds=bounds)


def _bit_count(function: str) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        (a,) = e.scalars(op)
        ctype = e.result_ctype(op, False)
        if ctype.is_bool:
            e.define(op, e.text(a) if function == "ctpop" else f"!{e.text(a)}", ctype)
            return
        call = e.context.helpers.use("count", function)
        text = f"{call}<{e.spell(ctype)}, {ctype.bits}>({e.typed(a, ctype)})"
        e.define(op, text, ctype)

    return emit


def _absolute(e: FunctionEmitter, op: ir.Operation) -> None:
    (a,) = e.scalars(op)
    ctype = e.result_ctype(op, True)
    if ctype.is_bool:
        e.define(op, e.text(a), ctype)
        return
    own, unsigned = e.spell(ctype), e.spell(ctype.with_sign(False))
    x = e.typed(a, ctype)
    e.define(op, f"{x} < 0 ? ({own})({unsigned}(0) - {unsigned}({x})) : {x}", ctype)


def _power(e: FunctionEmitter, op: ir.Operation) -> None:
    a, b = e.scalars(op)
    ctype = e.result_ctype(op, True)
    call = e.context.helpers.use("power", "ipow")
    own, unsigned = e.spell(ctype), e.spell(ctype.with_sign(False))
    e.define(op, f"{call}<{own}, {unsigned}>({e.typed(a, ctype)}, {e.typed(b, ctype)})", ctype)


def _extended_product(signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: ir.Operation) -> None:
        a, b = e.scalars(op)
        ctype = e.result_ctype(op, signed)
        bits = ctype.bits
        wide = e.vendor.spell_wide(2 * bits, signed)
        product = e.names.fresh()
        left, right = e.text(a, ctype), e.text(b, ctype)
        e.out.line(f"{wide} {product} = {wide}({left}) * {wide}({right});")
        for position, expression in enumerate((product, f"{product} >> {bits}")):
            name = e.names.fresh()
            e.out.line(f"{e.spell(ctype)} {name} = {e.spell(ctype)}({expression});")
            e.values[op.results[position]] = Scalar(name, ctype)

    return emit


HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.addi": _sum_handler("+", "^", lambda a, b: max(a, b) + 1),
    "arith.subi": _sum_handler("-", "^", lambda a, b: max(a, b) + 1),
    "arith.muli": _sum_handler("*", "&", lambda a, b: a + b),
    "arith.andi": _bitwise_handler("&"),
    "arith.ori": _bitwise_handler("|"),
    "arith.xori": _bitwise_handler("^"),
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right(_SIGNED),
    "arith.shrui": _shift_right(_UNSIGNED),
    "arith.divsi": _division("divs", "/", _SIGNED, twin=True),
    "arith.divui": _division("divu", "/", _UNSIGNED, twin=False),
    "arith.remsi": _division("rems", "%", _SIGNED, twin=False),
    "arith.remui": _division("remu", "%", _UNSIGNED, twin=False),
    "arith.floordivsi": _division("fdivs", "", _SIGNED, twin=True),
    "arith.ceildivsi": _division("cdivs", "", _SIGNED, twin=True),
    "arith.ceildivui": _division("cdivu", "", _UNSIGNED, twin=False),
    "arith.cmpi": _compare,
    "arith.extsi": _extend(_SIGNED),
    "arith.extui": _extend(_UNSIGNED),
    "arith.trunci": _truncate,
    "arith.index_cast": _index_cast(_SIGNED),
    "arith.index_castui": _index_cast(_UNSIGNED),
    "arith.minsi": _extremum("min", _SIGNED),
    "arith.minui": _extremum("min", _UNSIGNED),
    "arith.maxsi": _extremum("max", _SIGNED),
    "arith.maxui": _extremum("max", _UNSIGNED),
    "arith.select": _select,
    "arith.mulsi_extended": _extended_product(_SIGNED),
    "arith.mului_extended": _extended_product(_UNSIGNED),
    "math.ctpop": _bit_count("ctpop"),
    "math.ctlz": _bit_count("ctlz"),
    "math.cttz": _bit_count("cttz"),
    "math.absi": _absolute,
    "math.ipowi": _power,
}
