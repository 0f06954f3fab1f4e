"""What XLS[cc] cannot take, found before anything is printed."""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import function_type
from allo.dialects.diagnostics import BuildError, SourcePlace


class XLSValidationError(BuildError, RuntimeError):
    """A construct that XLS[cc] has no hardware for."""


def check_module(module: ir.Module) -> None:
    """Refuse floats, arrays without fixed sizes, and FIFOs between kernels.

    Raises:
        XLSValidationError: the first such operation, with its line.
    """
    for op in walk(module.operation):
        if op.name == "allo.stream":
            raise _refusal("STREAM_TYPE", "FIFOs between kernels are not supported", place_of(op))
        for kind in _types(op):
            _check_type(kind, op)


def _check_type(kind: ir.Type, op: ir.Operation) -> None:
    element = kind
    if isinstance(kind, ir.MemRefType):
        if not kind.has_static_shape:
            raise _refusal("DYNAMIC_SHAPE", f"{kind} has no fixed size", place_of(op))
        element = kind.element_type
    if isinstance(element, ir.FloatType):
        raise _refusal("FLOAT_TYPE", f"{element} is a float, and XLS has none", place_of(op))


def _refusal(code: str, text: str, place: SourcePlace | None) -> XLSValidationError:
    return XLSValidationError(
        f"XLS [CC] validation failed: {code}: {text}.",
        place,
        help="use integers or fixed point of fixed sizes, or build for another target.",
    )


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    if op.name == "func.func":
        yield from function_type(op).inputs
        yield from function_type(op).results
    for value in (*op.operands, *op.results):
        yield value.type
