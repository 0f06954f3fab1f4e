"""Names for the values that CIRCT calls ``_GEN_7``: the operation and the line, ``add_l12``."""

from __future__ import annotations

import re
from collections import Counter

from .comments import MARK, places_of

_VALUE = re.compile(
    r"^  (?:wire +(?:\[\d+:0\] *)?|assign )(_GEN(?:_\d+)?) =([^;]*);(?:\t// @\[(.*)\])?$", re.M
)
_UNNAMED = re.compile(r"_(?<!\w_)GEN(?:_\d+)?\b")
_OF_INSTANCE = re.compile(r"^  wire +(?:\[\d+:0\] *)?_([a-z]\w*);", re.M)
_LEADING = re.compile(r"_(?<!\w_)[A-Za-z]\w*")
"""A name that begins with an underscore: it stands first in the pattern, so that it is found quickly."""
_DECLARED = re.compile(r"^ +(?:[a-z]\w* +)?(?:\[\d+:0\] *)?([A-Za-z_]\w*)", re.M)
"""What a line may declare: a port, a wire, a register, an instance."""
_COMMENT = re.compile(r"\t// @\[.*$", re.M)
_OPEN, _CLOSE = "([{", ")]}"
_LEVELS = (
    (" ? ", {" ? ": "select"}),
    (" | ", {" | ": "or"}),
    (" ^ ", {" ^ ": "xor"}),
    (" & ", {" & ": "and"}),
    ("=", {" == ": "eq", " != ": "ne"}),
    ("<", {" < ": "lt", " <= ": "le", " > ": "gt", " >= ": "ge"}),
    ("s", {" << ": "shl", " >> ": "shr", " >>> ": "shr"}),
    ("+", {" + ": "add", " - ": "sub"}),
    ("*", {" * ": "mul", " / ": "div", " % ": "mod"}),
)
_UNARY = {"~": "not", "&": "all", "|": "any", "^": "parity"}
_LONGEST = 4000
"""Characters of an expression that are looked at."""


def operation_of(expression: str) -> str:
    """A word for the operation that gives an expression its value."""
    flat = " ".join(_COMMENT.sub("", expression[:_LONGEST]).split())
    outside = _outside(_without_parentheses(flat))
    for _, operators in _LEVELS:
        found = [(outside.find(sign), word) for sign, word in operators.items() if sign in outside]
        if found:
            return min(found)[1]
    return _UNARY.get(outside[:1], "bits")


def _without_parentheses(flat: str) -> str:
    """An expression without parentheses around the whole of it, or behind one unary operator."""
    while flat.startswith("(") and _outside(flat) == "()":
        flat = flat[1:-1]
    return flat


def _outside(flat: str) -> str:
    """What stands outside of all parentheses; these are left as ``()``."""
    depth, kept = 0, []
    for letter in flat:
        if letter in _CLOSE:
            depth -= 1
        if depth == 0:
            kept.append(letter)
        if letter in _OPEN:
            depth += 1
    return "".join(kept)


def name_values(module: str) -> str:
    """A module whose unnamed values are called by operation and line of Python."""
    values = list(_VALUE.finditer(module))
    wires = _OF_INSTANCE.findall(module)
    if not values and not wires:
        return module
    taken = set(_DECLARED.findall(module))
    renamed: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for wire in wires:
        if wire not in taken:
            renamed[f"_{wire}"] = wire
            taken.add(wire)
    for value in values:
        lines = [line for _, line, _ in places_of(_last_comment(value))]
        stem = f"{operation_of(value[2])}_{f'l{lines[-1]}' if lines else 'net'}"
        renamed[value[1]] = _free(stem, taken, numbers)
    pattern = _LEADING if wires else _UNNAMED
    return pattern.sub(lambda found: renamed.get(found[0], found[0]), module)


def _last_comment(value: re.Match[str]) -> str:
    if value[3]:
        return value[3]
    inside = value[2].rpartition(MARK)[2]
    return inside.partition("]")[0] if MARK in value[2] else ""


def _free(stem: str, taken: set[str], numbers: Counter[str]) -> str:
    """A name that nothing has, and which now is taken; ``numbers`` counts the names of each stem."""
    name = stem
    while name in taken:
        numbers[stem] += 1
        name = f"{stem}_{numbers[stem] + 1}"
    taken.add(name)
    return name
