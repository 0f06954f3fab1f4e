"""The C++ signature of a function of the core IR.

Arguments come first, then one trailing parameter for each result: an array for an
array, a pointer for a scalar.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from allo.dialects._mlir import ir
from allo.dialects.affine.arguments import index_ranges
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import signature_of, symbol
from allo.dialects.diagnostics import DTypeError, UnsupportedOpError
from allo.dialects.types import AlloType, Index, Stream, parse_type

from ..text.ctype import Bounds, CType, ctype_of, ctype_of_declared, index_ctype
from ..text.writer import function_identifier


@dataclass(frozen=True, slots=True)
class Param:
    """One C++ parameter.

    Attributes:
        name: the user's name, "" for an unnamed one.
        role: ``in`` for an argument, ``result`` for a trailing result parameter.
        shape: extents of an array; None for a scalar.
        declared: the declared type (fixed point and struct included).
        memref: the MLIR type of an array, layout included; None for scalars and streams.
        bounds: inclusive range of an index argument, None where unknown.
        flat: whether a function below the top is given a flat array of the top for it.
    """

    name: str
    role: str
    ctype: CType
    shape: tuple[int, ...] | None
    declared: AlloType
    memref: ir.MemRefType | None = None
    bounds: Bounds = (None, None)
    flat: bool = False

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.shape is not None

    @property
    def is_dynamic(self) -> bool:
        """Whether it is one dimension of any length, in C++ a pointer."""
        return self.shape == (ir.ShapedType.get_dynamic_size(),)

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream."""
        return isinstance(self.declared, Stream)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's C++ name and parameters."""

    symbol: str
    name: str
    params: tuple[Param, ...]
    op: ir.Operation
    flat: bool = False

    @property
    def arguments(self) -> tuple[Param, ...]:
        """The parameters that are arguments of the kernel."""
        return tuple(p for p in self.params if p.role == "in")

    @property
    def results(self) -> tuple[Param, ...]:
        """The trailing parameters that are results of the kernel."""
        return tuple(p for p in self.params if p.role == "result")

    @property
    def is_external(self) -> bool:
        """Whether the function is only declared here, and defined in a file of the user."""
        return not self.op.regions[0].blocks


def read_signature(op: ir.Operation, *, flat: bool = False, below: Iterable[int] = ()) -> Signature:
    """The signature of a ``func.func``.

    Args:
        flat: its arrays are pointers with linear subscripts.
        below: the parameters for which that holds where it does not hold for all.
    """
    name, found = symbol(op), signature_of(op)
    inputs, results = found.inputs, found.results
    letters = _letters(op, "itypes", len(inputs)), _letters(op, "otypes", len(results))
    params = [
        _param(op, argument, "in", kind, declared, letter)
        for argument, kind, declared, letter in zip(
            found.names, inputs, found.declared, letters[0], strict=True
        )
    ]
    for position, bounds in index_ranges(op).items():
        if params[position].declared == Index():
            small = index_ctype(bounds)
            params[position] = replace(params[position], ctype=small, bounds=bounds)
    params += [
        _param(op, "", "result", kind, declared, letter)
        for kind, declared, letter in zip(results, found.returned, letters[1], strict=True)
    ]
    for position in below:
        params[position] = replace(params[position], flat=True)
    return Signature(name, function_identifier(name), tuple(params), op, flat)


def read_param(op: ir.Operation, name: str, kind: ir.Type, declared: str, letter: str) -> Param:
    """An argument of ``op`` that passes have put others in the place of."""
    return _param(op, name, "in", kind, declared, letter)


def _param(
    op: ir.Operation, name: str, role: str, kind: ir.Type, declared_name: str, letter: str
) -> Param:
    is_memref = isinstance(kind, ir.MemRefType)
    element = kind.element_type if is_memref else kind
    declared = parse_type(declared_name) if declared_name else _declared(op, element, letter)
    if isinstance(declared, Stream):
        return Param(name, role, ctype_of_declared(declared), None, declared)
    if isinstance(declared, Index) and not isinstance(element, ir.IndexType):
        ctype = ctype_of(element, letter != "u")
    else:
        ctype = ctype_of_declared(declared)
    if not is_memref:
        return Param(name, role, ctype, None, declared)
    return Param(name, role, ctype, tuple(kind.shape), declared, kind)


def _declared(op: ir.Operation, element: ir.Type, letter: str) -> AlloType:
    text = str(element)
    if isinstance(element, ir.IntegerType) and letter == "u":
        text = f"u{text}"
    try:
        return parse_type(text)
    except DTypeError as error:
        raise UnsupportedOpError(
            f"A value of type {element} cannot be a parameter in HLS C++.", place_of(op)
        ) from error


def _letters(op: ir.Operation, name: str, count: int) -> str:
    text = op.attributes[name].value if name in op.attributes else ""
    return text if len(text) == count else "s" * count


__all__ = ["Param", "Signature", "read_param", "read_signature"]
