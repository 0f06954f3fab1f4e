"""The ports of a top function: what a caller, a host program or a test bench must supply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import BuildError
from allo.dialects.passes.arg_access import touched_arguments

from ..emit.signature import Param, read_signature
from ..errors import HlsInterfaceError


@dataclass(frozen=True, slots=True)
class Port:
    """One parameter of the top function as the user declared it.

    Attributes:
        param: name, types and shape.
        access: ``in``, ``out`` or ``both``.
        touched: whether the kernel reads or writes it at all.
    """

    param: Param
    access: str
    touched: bool = True

    @property
    def is_output(self) -> bool:
        """Whether the kernel writes to it."""
        return self.access != "in"


def read_ports(module: ir.Module, top: str, access: Sequence[str]) -> tuple[Port, ...]:
    """The ports of function ``top`` before any rewriting.

    Raises:
        BuildError: the module has no such function.
        HlsInterfaceError: the function has no parameter at all.
    """
    table = ir.SymbolTable(module.operation)
    if top not in table:
        raise BuildError(f"The module has no function named {top}.")
    op = table[top].operation
    signature = read_signature(op)
    words = [*access, *["out"] * len(signature.results)]
    touched = touched_arguments(module, top)
    ports = tuple(
        Port(param, word, param.role == "result" or position in touched)
        for position, (param, word) in enumerate(zip(signature.params, words, strict=True))
    )
    if not ports:
        raise HlsInterfaceError(
            f"The top function {top} has neither arguments nor results, so its hardware would "
            "have no ports.",
            place_of(op),
            help="pass an array in which it leaves its result.",
        )
    return ports


def count_outputs(ports: Sequence[Port], given: int | None, strict: bool) -> int:
    """How many trailing ports are outputs.

    Args:
        given: the user's count, which wins.
        strict: refuse an array that is only read behind an output array.

    Raises:
        HlsInterfaceError: an output comes before an input, or the count is out of range.
    """
    results = [p for p in ports if p.param.role == "result"]
    if given is not None:
        if given > len(ports):
            raise HlsInterfaceError(
                f"num_output_args is {given}, but the top function has {len(ports)} parameters."
            )
        return given
    if results:
        return len(results)
    arrays = [p for p in ports if p.param.is_array]
    outputs = sum(p.is_output for p in arrays)
    if strict:
        _check_order(arrays, outputs)
    return outputs


def _check_order(arrays: Sequence[Port], outputs: int) -> None:
    for port in arrays[len(arrays) - outputs :]:
        if port.is_output or not port.touched:
            continue
        first = next(p for p in arrays if p.is_output)
        raise HlsInterfaceError(
            f"Output arguments must appear at the end: {first.param.name} is written, and "
            f"{port.param.name} behind it is only read.",
            help=f"move {first.param.name} behind {port.param.name}, or give "
            "configs={'num_output_args': …}.",
        )
