"""Conversions of unsigned integers to floats, kept from an error of LLVM's vectoriser.

LLVM (in this wheel, from ``opt_level=1`` on) takes ``uitofp (x - 1 : i64) to float`` of several neighbouring
elements for one of ``i32`` where ``x`` has few significant bits, and so 2⁶⁴ − 1 for 2³² − 1: it forgets the
width of integers that are wider than the float. It does not do that to ``sitofp i64``.

* An integer of fewer than 64 bits becomes one of 64 bits, which is not negative, and is converted as such.
* One of 64 bits is halved where its highest bit is set. The bit that drops out stays in the lowest one, so
  that the result is rounded once, and then doubled.
* A wider one is converted by a function of its own, into which the vectoriser does not see.
"""

from __future__ import annotations

from allo.dialects._mlir import arith, func, ir
from allo.dialects.affine.loops import walk

_WORD = 64


def convert_as_signed(module: ir.Module) -> None:
    """Rewrite ``arith.uitofp`` of integers wider than the float, in place."""
    with module.context, ir.Location.unknown():
        functions: dict[str, ir.Operation] = {}
        for op in [op for op in walk(module.operation) if _is_ours(op)]:
            value, target = op.operands[0], op.results[0].type
            with ir.InsertionPoint(op), op.location:
                converted = _converted(value, target)
            if converted is None:
                converted = _called(module, op, functions)
            op.results[0].replace_all_uses_with(converted)
            op.erase()


def _is_ours(op: ir.Operation) -> bool:
    if op.name != "arith.uitofp":
        return False
    source, target = op.operands[0].type, op.results[0].type
    return isinstance(source, ir.IntegerType) and source.width > target.width


def _converted(value: ir.Value, target: ir.Type) -> ir.Value | None:
    bits = value.type.width
    if bits > _WORD:
        return None
    if bits == _WORD:
        return _halved_where_large(value, target)
    word = ir.IntegerType.get_signless(_WORD)
    return arith.SIToFPOp(target, arith.ExtUIOp(word, value).result).result


def _halved_where_large(value: ir.Value, target: ir.Type) -> ir.Value:
    word = value.type
    zero, one = (arith.ConstantOp(word, n).result for n in (0, 1))
    large = arith.CmpIOp(arith.CmpIPredicate.slt, value, zero).result
    lowest = arith.AndIOp(value, one).result
    half = arith.OrIOp(arith.ShRUIOp(value, one).result, lowest).result
    small = arith.SIToFPOp(target, arith.SelectOp(large, half, value).result).result
    return arith.SelectOp(large, arith.AddFOp(small, small).result, small).result


def _called(module: ir.Module, op: ir.Operation, functions: dict[str, ir.Operation]) -> ir.Value:
    """A conversion as a call of the function for its two types."""
    source, target = op.operands[0].type, op.results[0].type
    name = f"__allo_{source}_to_{target}"
    if name not in functions:
        with ir.InsertionPoint.at_block_begin(module.body):
            function = func.FuncOp(name, ([source], [target]))
        function.attributes["llvm.no_inline"] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp([arith.UIToFPOp(target, function.arguments[0]).result])
        functions[name] = function.operation
    with ir.InsertionPoint(op), op.location:
        return func.CallOp([target], name, [op.operands[0]]).result
