"""The typing tables of docs/language.md, entry by entry, against ``allo.interpret.rules``."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from allo.dialects.types import (
    AlloType,
    Fixed,
    Float,
    Index,
    Int,
    UFixed,
    UInt,
    bfloat16,
    float16,
    float32,
    float64,
    index,
)
from allo.interpret.rules import literal_type, result_type, unary_type

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"
OPERATORS = {
    "Add, subtract": "+-",
    "Multiply": "*",
    "Divide, floor-divide": ("/", "//"),
    "Remainder, comparisons, select, min, max": ("%", "select"),
    "Shifts": ("<<", ">>"),
    "`& | ^`": "&|^",
    "Power": ("**",),
}
SAMPLES: dict[str, list[AlloType]] = {
    "Int": [Int(1), Int(8), Int(32), Int(33), Int(100)],
    "UInt": [UInt(1), UInt(5), UInt(16), UInt(32), UInt(64)],
    "Index": [index],
    "Fixed": [Fixed(8, 3), Fixed(12, 4), Fixed(40, 0), Fixed(6, 6)],
    "UFixed": [UFixed(8, 3), UFixed(10, 2), UFixed(33, 7)],
    "Float": [float16, bfloat16, float32, float64],
}


def read_tables() -> dict[str, dict[tuple[str, str], str]]:
    """The formulas of the document: title, then left and right kind."""
    tables: dict[str, dict[tuple[str, str], str]] = {}
    title, columns = "", []
    for line in PAGE.read_text().splitlines():
        if line.startswith("### "):
            title = line[4:]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| left \\ right"):
            columns = cells[1:]
            tables[title] = {}
        elif title in tables and cells[0] in SAMPLES:
            for column, cell in zip(columns, cells[1:], strict=True):
                tables[title][cells[0], column] = cell
    return tables


TABLES = read_tables()


def expected(formula: str, left: AlloType, right: AlloType) -> AlloType | None:
    """What a formula of the document gives for two types."""
    if formula == "–":
        return None
    if formula == "L":
        return left
    if formula == "P":
        return float64 if left.bits > 32 else float32
    if formula == "F":
        floats = [t for t in (left, right) if isinstance(t, Float)]
        return max(floats, key=lambda t: t.bits)
    names = {"Int": Int, "UInt": UInt, "Index": Index, "Fixed": Fixed, "UFixed": UFixed}
    values = {"b1": left.bits, "b2": right.bits, "f1": left.fracs, "f2": right.fracs}
    values |= {"i1": left.bits - left.fracs, "i2": right.bits - right.fracs}
    if re.search(r"[^\w\s(),+\-]", formula):
        raise ValueError(formula)
    return eval(formula, {**names, **values, "max": max})  # the document's own formulas


def test_the_document_has_every_table() -> None:
    assert set(TABLES) == set(OPERATORS)
    assert all(len(table) == 36 for table in TABLES.values())


@pytest.mark.parametrize("title", OPERATORS)
@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_table(title: str) -> None:
    for (left_kind, right_kind), formula in TABLES[title].items():
        for left, right in product(SAMPLES[left_kind], SAMPLES[right_kind]):
            try:
                wanted = expected(formula, left, right)
            except Exception:  # a fraction width that no type has
                continue
            for operator in OPERATORS[title]:
                assert result_type(operator, left, right) == wanted, (operator, left, right)


def test_a_wrong_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from allo.interpret import rules

    monkeypatch.setattr(rules, "_common", lambda left, right, growth: left)
    with pytest.raises(AssertionError):
        test_table("Add, subtract")


def test_unary_types() -> None:
    assert [unary_type(t).name for t in (Int(7), UInt(7), index, Fixed(8, 3), UFixed(8, 3))] == [
        "i7",
        "i7",
        "index",
        "fixed(8, 3)",
        "ufixed(8, 3)",
    ]


@pytest.mark.parametrize(
    ("value", "name"),
    [(0, "i32"), (2**31 - 1, "i32"), (2**31, "i64"), (-(2**31), "i32"), (-(2**63) - 1, "i128")],
)
def test_literals(value: int, name: str) -> None:
    assert literal_type(value).name == name
