"""A target of somebody's own (docs/internals/extending.md): scalar integer functions, run by Python."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir
from allo.dialects.core.integers import as_signed
from allo.dialects.core.locations import place_of
from allo.dialects.core.parse import parse_module
from allo.dialects.diagnostics import UnsupportedOpError
from allo.target import BuildRequest

_OPERATIONS: dict[str, Callable[..., int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.muli": lambda a, b: a * b,
    "arith.extsi": lambda a: a,
    "arith.trunci": lambda a: a,
    "math.ctpop": lambda a, bits=32: (a & (1 << bits) - 1).bit_count(),
    "arith.extui": lambda a: a,
}


class ToyModule:
    """What the toy builds: a call computes the function."""

    def __init__(self, request: BuildRequest) -> None:
        self.top_func_name = request.top
        self.colour = request.settings.get("colour", "none")
        self._module = parse_module(request.module_text)
        self._function = ir.SymbolTable(self._module.operation)[request.top].operation
        for op in self._block.operations:
            if op.operation.name not in (*_OPERATIONS, "arith.constant", "func.return"):
                raise UnsupportedOpError(
                    f"The toy does not know {op.operation.name}.", place_of(op.operation)
                )

    @property
    def _block(self) -> ir.Block:
        return self._function.regions[0].blocks[0]

    def __call__(self, *given: int) -> int:
        values = dict(zip(self._block.arguments, given, strict=True))
        for op in self._block.operations:
            if op.operation.name == "func.return":
                return values[op.operation.operands[0]]
            values[op.operation.results[0]] = self._value(op.operation, values)
        raise UnsupportedOpError("The toy runs functions that return a value.")

    def _value(self, op: ir.Operation, values: dict[ir.Value, int]) -> int:
        if op.name == "arith.constant":
            return ir.IntegerAttr(op.attributes["value"]).value
        bits = ir.IntegerType(op.results[0].type).width
        return as_signed(_OPERATIONS[op.name](*(values[o] for o in op.operands)), bits)


def build(request: BuildRequest) -> ToyModule:
    """The toy's builder."""
    return ToyModule(request)
