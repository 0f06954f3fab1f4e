"""The page of operators: every operator that is lowered, and the test that compares it."""

from __future__ import annotations

import os
from pathlib import Path

from allo.models.operators import FAMILIES, OPERATORS
from tests.torch.cases import CASES
from tests.torch.test_operators import IN_HARDWARE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch_operators.md"
HEAD = """# Operators of PyTorch models

Written by `tests/torch/test_table.py`; run it with `ALLO_UPDATE_GOLDEN=1` after adding an operator.
`tests/torch/test_operators.py` compares each of these {count} ATen operators with PyTorch on the CPU,
with the inputs of `tests/torch/cases.py`. Those of the last column are built as hardware too, and have
the bits of the CPU. What is not in the table, PyTorch decomposes into what is, where it can.
[PyTorch models](torch.md) says how they are lowered.

| operator | family | in hardware |
|---|---|---|
"""


def table() -> str:
    rows = [
        f"| `{target}` | {family.__name__.rpartition('.')[2]} | {'yes' * (target in IN_HARDWARE)} |"
        for family in FAMILIES
        for target in sorted(family.OPERATORS)
    ]
    return HEAD.format(count=len(rows)) + "\n".join(rows) + "\n"


def test_every_operator_has_a_case() -> None:
    assert set(OPERATORS) == set(CASES)


def test_the_page_lists_the_operators() -> None:
    if os.environ.get("ALLO_UPDATE_GOLDEN"):
        PAGE.write_text(table())
    assert PAGE.read_text() == table()
