"""The numbers behind the elementary functions: polynomial tables and constants of ``tables.json``.

``scripts/make_math_tables.py`` computes the file. It is read when the first function is expanded.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from .polynomial import PolynomialTable


@cache
def _numbers() -> dict[str, dict[str, Any]]:
    text = Path(__file__).with_name("tables.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


@cache
def table(kind: str, name: str) -> PolynomialTable:
    """A polynomial table of a float format, such as ``table("f32", "EXP2")``."""
    found = _numbers()[kind][name]
    return PolynomialTable(found["fraction"], tuple(map(tuple, found["coefficients"])))


def constant(kind: str, name: str) -> int:
    """A constant in fixed point, such as ``constant("f64", "LN_OF_2")`` with 114 fraction bits."""
    return int(_numbers()[kind][name])
