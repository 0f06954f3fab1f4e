"""Ways to run one operator: as a netlist in Python, or as compiled hardware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allo.backend.rtl.operators import Operator, OperatorLibrary
from allo.backend.rtl.operators.netlist import evaluate


def netlist_of(
    library: OperatorLibrary,
    op: str,
    operand_types: tuple[str, ...],
    result_type: str,
    attributes: dict[str, Any] | None = None,
) -> Callable[..., int]:
    """The operator as a Python function on bit vectors, evaluated node by node."""
    operator = library.find(op, operand_types, result_type, attributes)
    return lambda *operands: run_operator(operator, operands)


def run_operator(operator: Operator, operands: tuple[int, ...]) -> int:
    """Result bits for one set of operands."""
    assert operator.netlist is not None
    return evaluate(operator.netlist, dict(zip("abcdefgh", operands, strict=False)))
