"""Stream arguments at the Python boundary: arrays of elements, or of blocks, in the order in which they pass.

An array that is fed has any number of words. One that is filled says by its length how many may come; they
are its first ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .._mlir import ir
from ..core.fifos import GETS, PUTS
from ..core.signature import callee_of, entry_of, functions_of, has_body
from ..diagnostics import BuildError
from ..types import Stream
from .arguments import Parameter, Signature


def filled_streams(module: ir.Module, signature: Signature) -> dict[int, bool]:
    """By position of each stream argument, whether the design fills it.

    Raises:
        BuildError: the top function has one and is no region, so nothing runs beside it.
    """
    functions, top = functions_of(module), signature.top
    found = {}
    for position, parameter in enumerate(signature.arguments):
        if not isinstance(parameter.dtype, Stream):
            continue
        if "region" not in functions[top].attributes:
            raise BuildError(
                f"Argument {parameter.name} of {top} is a stream, which Python cannot pass to a kernel.",
                parameter.place,
                help="build the region that connects the kernel; streams may be arguments of the region.",
            )
        found[position] = _is_filled(functions, top, position)
    return found


def _is_filled(functions: Mapping[str, ir.Operation], name: str, position: int) -> bool:
    if not has_body(functions[name]):
        return False
    for use in entry_of(functions[name]).arguments[position].uses:
        op = use.owner.operation
        if op.name in PUTS | GETS:
            return op.name in PUTS
        if op.name == "func.call" and _is_filled(functions, callee_of(op), use.operand_number):
            return True
    return False


def with_stream_arrays(signature: Signature, fills: Mapping[int, bool]) -> Signature:
    """``signature`` with streams taken as arrays; ``fills``: by position, whether the design fills it."""
    arguments = tuple(
        _as_array(parameter, parameter.dtype, fills.get(position, False))
        if isinstance(parameter.dtype, Stream)
        else parameter
        for position, parameter in enumerate(signature.arguments)
    )
    return replace(signature, arguments=arguments)


def _as_array(parameter: Parameter, stream: Stream, fills: bool) -> Parameter:
    shape = (None, *stream.shape)
    return replace(parameter, dtype=stream.dtype, shape=shape, written=fills)


def passed_words(fills: bool, passed: int, room: int) -> str:
    """What the outside of a stream has done: ``fed 3 of 8 words``."""
    return f"{'took' if fills else 'fed'} {passed} of {room} words"
