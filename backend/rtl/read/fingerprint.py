"""Whether two functions are the same hardware: a text of a record without names and places."""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects.diagnostics import SourcePlace

from .records import FunctionRecord, Op, Program

NAMES = frozenset({"name", "from", "to", "loop_name", "op_name", "sym_name", "arg_names"})
IGNORED = NAMES | {"fastmath", "overflowFlags"}


class Fingerprints:
    """Fingerprints of a module's functions, each computed once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Equal for functions whose hardware differs at most in names."""
        if name not in self._known:
            self._known[name] = name
            self._known[name] = self._function(self._program.functions[name])
        return self._known[name]

    def _function(self, record: FunctionRecord) -> str:
        numbers: dict[int, int] = {}
        for value in record.args:
            numbers[value] = len(numbers)
        parts = [repr(record.arg_types), repr(record.result_types)]
        parts += [f"{k}={v!r}" for k, v in sorted(record.attrs.items()) if k not in IGNORED]
        self._ops(record.ops, numbers, parts)
        return "\n".join(parts)

    def _ops(self, ops: list[Op], numbers: dict[int, int], parts: list[str]) -> None:
        for op in ops:
            operands = [numbers.get(o, -1) for o in op.operands]
            for result in op.results:
                numbers[result] = len(numbers)
            attrs = {k: v for k, v in op.attrs.items() if k not in IGNORED}
            if op.name == "func.call":
                attrs["callee"] = self.of(attrs["callee"])
            if op.name == "memref.get_global":
                attrs["name"] = op.attrs["name"]
            parts.append(f"{op.name}{operands}{attrs}{op.result_types}")
            for args, region in zip(op.args, op.regions, strict=True):
                for value in args:
                    numbers[value] = len(numbers)
                parts.append("{")
                self._ops(region, numbers, parts)
                parts.append("}")


STREAM_OPS = frozenset({"allo.put", "allo.get", "allo.get_block"})


def stream_places(program: Program, made: str, named: str) -> dict[SourcePlace, SourcePlace]:
    """Where the stream operations of function ``made`` are in ``named``, which has its fingerprint."""
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
