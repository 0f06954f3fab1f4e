"""Where the stream operations of a function are: equal functions are made once, and keep their places."""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects.core.fifos import STREAM_OPS
from allo.dialects.diagnostics import SourcePlace

from .records import Program


def stream_places(program: Program, made: str, named: str) -> dict[SourcePlace, SourcePlace]:
    """Where the stream operations of function ``made`` are in ``named``, which is equal to it."""
    ours, theirs = (list(_stream_places(program, name, ())) for name in (made, named))
    pairs = zip(ours, theirs, strict=False)
    return {a: b for a, b in pairs if a is not None and b is not None and a != b}


def _stream_places(
    program: Program, name: str, around: tuple[str, ...]
) -> Iterator[SourcePlace | None]:
    """Places of stream operations in program order, called functions included."""
    if name in around:
        return
    stack = [*reversed(program.functions[name].ops)]
    while stack:
        op = stack.pop()
        if op.name in STREAM_OPS:
            yield op.place
        elif op.name == "func.call":
            yield from _stream_places(program, op.attrs["callee"], (*around, name))
        for region in reversed(op.regions):
            stack.extend(reversed(region))
