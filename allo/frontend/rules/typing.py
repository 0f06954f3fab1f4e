"""The typing rules: which type an operation on two types has.

A rule set is a table of formulas, one a pair of type classes. A formula is text, so that the
table prints as its own documentation (:meth:`RuleSet.document`). In a formula ``b1 f1 i1`` are
the bits, fraction bits and integer bits of the left operand, ``b2 f2 i2`` those of the right,
``L`` and ``R`` the operand types themselves and ``F`` the wider float (left on a tie).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from allo.dialects.types import AlloType, Fixed, Float, Index, Int, UFixed, UInt, float32, float64

CLASSES: tuple[type[AlloType], ...] = (Int, UInt, Index, Fixed, UFixed, Float)
Formulas = dict[tuple[str, str], str]

_NAMES = tuple(c.__name__ for c in CLASSES)


def _rows(text: str) -> Formulas:
    """Read a table of formulas: ``left | right | formula`` lines; a side may list several classes."""
    table: Formulas = {}
    for line in text.strip().splitlines():
        lefts, rights, formula = (part.strip() for part in line.split("|"))
        for left in lefts.split():
            for right in rights.split():
                table[left, right] = formula
    return table


_FLOATS = """
Float | Int UInt Index Fixed UFixed Float | F
Int UInt Index Fixed UFixed | Float | F
"""


def _common(growth: str) -> Formulas:
    """The table of addition, with ``growth`` bits added: `` + 1`` for addition, nothing for ``%``."""
    g = growth
    fixed = f"Fixed(max({{}}, {{}}) + max(f1, f2){g}, max(f1, f2))"
    both = fixed.format
    return _rows(
        f"""
Int   | Int          | Int(max(b1, b2){g})
Int   | UInt Index   | Int(max(b1, b2 + 1){g})
UInt Index | Int     | Int(max(b1 + 1, b2){g})
UInt  | UInt Index   | UInt(max(b1, b2){g})
Index | UInt         | UInt(max(b1, b2){g})
Index | Index        | Index()
Int   | Fixed        | {both("i1", "i2")}
Int   | UFixed       | {both("i1", "i2 + 1")}
UInt Index | Fixed   | {both("i1 + 1", "i2")}
UInt Index | UFixed  | U{both("i1", "i2")}
Fixed | Int          | {both("i1", "i2")}
Fixed | UInt Index   | {both("i1", "i2 + 1")}
Fixed | Fixed        | {both("i1", "i2")}
Fixed | UFixed       | {both("i1", "i2 + 1")}
UFixed | Int         | {both("i1 + 1", "i2")}
UFixed | UInt Index  | U{both("i1", "i2")}
UFixed | Fixed       | {both("i1 + 1", "i2")}
UFixed | UFixed      | U{both("i1", "i2")}
{_FLOATS.strip()}
"""
    )


_MUL = _rows(
    f"""
Int | Int UInt Index | Int(b1 + b2)
UInt Index | Int | Int(b1 + b2)
UInt | UInt Index | UInt(b1 + b2)
Index | UInt | UInt(b1 + b2)
Index | Index | Index()
Int UInt Index | Fixed | Fixed(b1 + b2, f2)
Fixed | Int UInt Index | Fixed(b1 + b2, f1)
Int | UFixed | Fixed(b1 + b2, f2)
UFixed | Int | Fixed(b1 + b2, f1)
UInt Index | UFixed | UFixed(b1 + b2, f2)
UFixed | UInt Index | UFixed(b1 + b2, f1)
Fixed | Fixed UFixed | Fixed(b1 + b2, f1 + f2)
UFixed | Fixed | Fixed(b1 + b2, f1 + f2)
UFixed | UFixed | UFixed(b1 + b2, f1 + f2)
{_FLOATS.strip()}
"""
)

_DIV = _rows(
    f"""
Int | Int UInt Index | Int(b1)
UInt | Int | Int(b1)
UInt | UInt Index | UInt(b1)
Index | Int | Int(32)
Index | UInt Index | Index()
Int UInt Index | Fixed | Fixed(b1 + b2, max(b1 - f2, 0))
Int | UFixed | Fixed(b1 + b2 + 1, max(b1 - f2, 0))
UInt Index | UFixed | UFixed(b1 + b2, max(b1 - f2, 0))
Fixed | Int | Fixed(b1 + b2, b2 + f1)
Fixed | UInt Index | Fixed(b1 + b2 + 1, b2 + f1)
Fixed | Fixed | Fixed(b1 + b2, b2 - f2 + f1)
Fixed | UFixed | Fixed(b1 + b2 + 1, b2 - f2 + f1)
UFixed | Int | Fixed(b1 + b2 + 1, b2 + f1)
UFixed | UInt Index | UFixed(b1 + b2, b2 + f1)
UFixed | Fixed | Fixed(b1 + b2, b2 - f2 + f1)
UFixed | UFixed | UFixed(b1 + b2, b2 - f2 + f1)
{_FLOATS.strip()}
"""
)

_SHIFT = _rows("Int UInt Index Fixed UFixed | Int UInt Index | L")

_BITWISE = _rows(
    """
Int | Int UInt Index | Int(max(b1, b2))
UInt Index | Int | Int(max(b1, b2))
UInt | UInt Index | UInt(max(b1, b2))
Index | UInt | UInt(max(b1, b2))
Index | Index | Index()
"""
)

_POW = _rows(
    """
Int UInt Index Fixed UFixed | Int UInt Index Fixed UFixed Float | P
Float | Int UInt Index Fixed UFixed | P
Float | Float | F
"""
)

_LOGIC = _rows(f"{' '.join(_NAMES)} | {' '.join(_NAMES)} | UInt(1)")

_CPP_COMMON = _rows(
    f"""
Int | Int | wider
UInt | UInt | wider
Int UInt | UInt Int | mixed
Int | Index | Int(max(b1, 32))
Index | Int | Int(max(b2, 32))
UInt | Index | Index()
Index | UInt Index | Index()
{_FLOATS.strip()}
"""
) | {("Int", "Int"): "wider", ("UInt", "UInt"): "wider"}


def _wider(left: AlloType, right: AlloType) -> AlloType:
    return right if right.bits > left.bits else left


def _mixed(left: AlloType, right: AlloType) -> AlloType:
    unsigned, signed = (left, right) if isinstance(left, UInt) else (right, left)
    return unsigned if unsigned.bits >= signed.bits else signed


def _wider_float(left: AlloType, right: AlloType) -> AlloType:
    if not isinstance(left, Float):
        return right
    if not isinstance(right, Float):
        return left
    return _wider(left, right)


_SPECIAL: dict[str, Callable[[AlloType, AlloType], AlloType]] = {
    "L": lambda left, right: left,
    "R": lambda left, right: right,
    "F": _wider_float,
    "P": lambda left, right: float32 if left.bits <= 32 else float64,
    "wider": _wider,
    "mixed": _mixed,
}
_GLOBALS: dict[str, Any] = {
    "Int": Int,
    "UInt": UInt,
    "Index": Index,
    "Fixed": Fixed,
    "UFixed": UFixed,
    "max": max,
    "__builtins__": {},
}


@cache
def _compiled(formula: str) -> CodeType:
    return compile(formula, f"{__file__}: a rule", "eval")


def _apply(formula: str, left: AlloType, right: AlloType) -> AlloType:
    special = _SPECIAL.get(formula)
    if special is not None:
        return special(left, right)
    sizes = {
        "b1": left.bits,
        "f1": left.fracs,
        "i1": left.bits - left.fracs,
        "b2": right.bits,
        "f2": right.fracs,
        "i2": right.bits - right.fracs,
    }
    found: AlloType = eval(_compiled(formula), _GLOBALS, sizes)
    return found


@dataclass(frozen=True)
class RuleSet:
    """The typing rules of one dialect of the language.

    Attributes:
        name: ``"default"`` or ``"cpp-style"``.
        tables: operator (``"+"``, ``"min"`` …) to its table.
        logic: the type of ``and``, ``or`` and ``not``.
    """

    name: str
    tables: dict[str, Formulas]
    logic: AlloType

    def result(self, operator: str, left: AlloType, right: AlloType) -> AlloType | None:
        """The type of ``left operator right``, or None where no rule joins the two."""
        table = self.tables.get(operator)
        if table is None:
            return None
        formula = table.get((type(left).__name__, type(right).__name__))
        return None if formula is None else _apply(formula, left, right)

    def unary(self, operand: AlloType) -> AlloType | None:
        """The type of ``-x``, ``+x`` and ``~x``."""
        if isinstance(operand, UInt):
            return Int(operand.bits)
        return operand if isinstance(operand, CLASSES) else None

    def document(self, operator: str) -> str:
        """The operator's table as Markdown, left operand down, right operand across."""
        table = self.tables[operator]
        lines = ["| " + " | ".join(["left \\ right", *_NAMES]) + " |", "|---" * 7 + "|"]
        for left in _NAMES:
            cells = [table.get((left, right), "–") for right in _NAMES]
            lines.append("| " + " | ".join([left, *cells]) + " |")
        return "\n".join(lines)


_COMPARE = _common("")
_ADD = _common(" + 1")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

DEFAULT = RuleSet(
    "default",
    {
        "+": _ADD,
        "-": _ADD,
        "*": _MUL,
        "/": _DIV,
        "//": _DIV,
        "%": _COMPARE,
        "**": _POW,
        "<<": _SHIFT,
        ">>": _SHIFT,
        "&": _BITWISE,
        "|": _BITWISE,
        "^": _BITWISE,
        "and": _LOGIC,
        "or": _LOGIC,
        "select": _COMPARE,
        "min": _COMPARE,
        "max": _COMPARE,
        **dict.fromkeys(_COMPARISONS, _COMPARE),
    },
    UInt(1),
)

CPP_STYLE = RuleSet(
    "cpp-style",
    {
        **dict.fromkeys(("+", "-", "*", "/", "//", "%", *_COMPARISONS), _CPP_COMMON),
        "and": _LOGIC,
        "or": _LOGIC,
    },
    UInt(8),
)

RULE_SETS: dict[str, RuleSet] = {r.name: r for r in (DEFAULT, CPP_STYLE)}
