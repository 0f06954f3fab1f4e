"""The MLIR operations of the language: arithmetic, comparisons, casts."""

from __future__ import annotations

from allo.dialects.types import AlloType, Float, Index, Int, UInt
from allo.frontend.rules.integers import is_signed

_FLOAT_OPS = {
    "+": "arith.addf",
    "-": "arith.subf",
    "*": "arith.mulf",
    "/": "arith.divf",
    "%": "arith.remf",
    "min": "arith.minimumf",
    "max": "arith.maximumf",
    "**": "math.powf",
}


_COMMON_OPS = {
    "+": "arith.addi",
    "-": "arith.subi",
    "*": "arith.muli",
    "<<": "arith.shli",
    "&": "arith.andi",
    "|": "arith.ori",
    "^": "arith.xori",
}


_SIGNED_OPS = {
    "/": "arith.divsi",
    "//": "arith.floordivsi",
    "%": "arith.remsi",
    ">>": "arith.shrsi",
    "min": "arith.minsi",
    "max": "arith.maxsi",
}


_UNSIGNED_OPS = {
    "/": "arith.divui",
    "//": "arith.divui",
    "%": "arith.remui",
    ">>": "arith.shrui",
    "min": "arith.minui",
    "max": "arith.maxui",
}


_EQUALITY = {"==": 0, "!=": 1}


_SIGNED_ORDER = {"<": 2, "<=": 3, ">": 4, ">=": 5}


_UNSIGNED_ORDER = {"<": 6, "<=": 7, ">": 8, ">=": 9}


_FLOAT_ORDER = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}

_I64 = Int(64)


def operation_name(op: str, dtype: AlloType) -> str:
    """The ``arith`` or ``math`` operation of an operator on operands of one type."""
    if isinstance(dtype, Float):
        return "arith.negf" if op == "neg" else _FLOAT_OPS[op]
    if op in _COMMON_OPS:
        return _COMMON_OPS[op]
    # A single bit is 0 or 1, whatever its type, as it is where it is compared.
    signed = is_signed(dtype) and not (dtype.bits == 1 and op in ("min", "max"))
    return (_SIGNED_OPS if signed else _UNSIGNED_OPS)[op]


def comparison(op: str, dtype: AlloType) -> tuple[str, int]:
    """(operation, predicate) of a comparison of operands of one type."""
    if isinstance(dtype, Float):
        return "arith.cmpf", _FLOAT_ORDER[op]
    if op in _EQUALITY:
        return "arith.cmpi", _EQUALITY[op]
    order = _SIGNED_ORDER if is_signed(dtype) and dtype.bits > 1 else _UNSIGNED_ORDER
    return "arith.cmpi", order[op]


def cast_steps(source: AlloType, target: AlloType) -> list[tuple[str, AlloType]]:
    """The operations that convert ``source`` to ``target``, each with its result type."""
    if source.mlir_name == target.mlir_name:
        return []
    if isinstance(source, Float) and isinstance(target, Float):
        return _float_to_float(source, target)
    if isinstance(source, Float):
        if isinstance(target, Index):
            return [("arith.fptosi", _I64), ("arith.index_cast", target)]
        return [("arith.fptoui" if isinstance(target, UInt) else "arith.fptosi", target)]
    if isinstance(target, Float):
        if isinstance(source, Index):
            return [("arith.index_cast", _I64), ("arith.sitofp", target)]
        signed = isinstance(source, Int) and source.bits > 1
        return [("arith.sitofp" if signed else "arith.uitofp", target)]
    return _integer_steps(source, target)


def _float_to_float(source: AlloType, target: AlloType) -> list[tuple[str, AlloType]]:
    if source.bits == target.bits:
        wide = Float(32)
        return [("arith.extf", wide), ("arith.truncf", target)]
    return [("arith.extf" if target.bits > source.bits else "arith.truncf", target)]


def _integer_steps(source: AlloType, target: AlloType) -> list[tuple[str, AlloType]]:
    signed = isinstance(source, Int) and source.bits > 1
    if isinstance(target, Index):
        if source.bits > 64:
            return [("arith.trunci", Int(64)), ("arith.index_cast", target)]
        return [("arith.index_cast" if signed else "arith.index_castui", target)]
    if isinstance(source, Index):
        return [("arith.index_cast", target)]
    if target.bits < source.bits:
        return [("arith.trunci", target)]
    return [("arith.extsi" if signed else "arith.extui", target)]
