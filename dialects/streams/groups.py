"""Which FIFOs of a process the rest of a design joins, so that a word of one may answer one of another.

A process that puts a word and then gets one may get first where nobody can wait for the word it puts
before giving the one it gets: without the process, the two FIFOs lie in different parts of the network.
Parts are joined by FIFOs, by memory that one of their processes writes, and by the order of starts.
Whatever lies outside of the design is one part.

Marks every function that puts before it gets: ``stream_groups`` has a number for each of its streams, in
order, equal where FIFOs are joined. Of several calls, each joins.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from .._mlir import ir
from ..affine.arguments import callees_first
from ..affine.loops import is_loop, walk
from ..checked import module_pass
from ..core.effects import EffectAnalysis
from ..core.fifos import GETS, PUTS, stream_of_handle
from ..core.signature import callee_of, entry_of, functions_of, has_body
from .task_regions import AFTER, NEEDS

ATTRIBUTE = "stream_groups"
_OUTSIDE = "outside"


class _Parts:
    """Things that are joined, each with what stands for its part."""

    def __init__(self) -> None:
        self._leaders: dict[Hashable, Hashable] = {}

    def of(self, key: Hashable) -> Hashable:
        """What stands for the part of a thing."""
        while (leader := self._leaders.setdefault(key, key)) != key:
            key = leader
        return key

    def join(self, first: Hashable, second: Hashable) -> None:
        """Make the parts of two things one."""
        self._leaders[self.of(second)] = self.of(first)


@module_pass
def group_streams(module: ir.Module, top: str) -> None:
    """Mark the functions that put before they get with the parts of the network at their streams.

    Args:
        top: the function whose streams are the design's.
    """
    functions = {n: f for n, f in functions_of(module).items() if has_body(f)}
    order = callees_first(functions)
    uses: dict[str, _Uses] = {}
    for name in order:
        uses[name] = _uses(functions[name], uses)
    if not any(found.asks for found in uses.values()):
        return
    effects = EffectAnalysis(module.operation)
    groups = {name: _Parts() for name, found in uses.items() if found.asks}
    with module.context:
        for name in reversed(order):
            if name not in groups:
                continue
            function, own = functions[name], groups[name]
            calls = [op for op in walk(function) if op.name == "func.call"]
            if name == top:
                for position, _ in _streams(entry_of(function).arguments):
                    own.join(_OUTSIDE, position)
            for number, call in enumerate(calls):
                if callee_of(call) in groups:
                    around = _around(function, calls, number, own, effects)
                    _join(groups[callee_of(call)], call, around)
            _mark(function, own)


@dataclass(slots=True)
class _Uses:
    """Whether operations put, get, and get after they put, as far as the text shows."""

    puts: bool = False
    gets: bool = False
    asks: bool = False

    def then(self, other: _Uses) -> None:
        """Let others follow."""
        self.asks = self.asks or other.asks or (self.puts and other.gets)
        self.puts, self.gets = self.puts or other.puts, self.gets or other.gets


def _uses(op: ir.Operation, known: dict[str, _Uses]) -> _Uses:
    found = _Uses()
    for inner in (o.operation for r in op.regions for block in r.blocks for o in block.operations):
        found.then(_Uses(inner.name in PUTS, inner.name in GETS))
        if inner.name == "func.call":
            found.then(known.get(callee_of(inner), _Uses()))
        elif len(inner.regions):
            body = _uses(inner, known)
            found.then(body)
            if is_loop(inner) and _is_copied(inner):
                found.then(body)
    return found


def _is_copied(loop: ir.Operation) -> bool:
    """Whether hardware unrolls a loop: it is asked to, or lies in a pipelined one."""
    if "unroll" in loop.attributes:
        return True
    parent = loop.parent
    while parent is not None and parent.operation.name != "func.func":
        if "pipeline_ii" in parent.operation.attributes:
            return True
        parent = parent.operation.parent
    return False


def _streams(values: Sequence[ir.Value]) -> list[tuple[int, ir.Value]]:
    """Positions and handles of the streams among values."""
    return [(n, v) for n, v in enumerate(values) if stream_of_handle(v) is not None]


def _around(
    function: ir.Operation,
    calls: list[ir.Operation],
    number: int,
    own: _Parts,
    effects: EffectAnalysis,
) -> _Parts:
    """The network around one call of a function; ``own``: that around the function."""
    parts = _Parts()
    for position, handle in _streams(entry_of(function).arguments):
        parts.join(("own", own.of(position)), handle)
    if "region" not in function.attributes:
        # It runs one call after the other: what one puts it may get by another.
        for _, handle in (pair for call in calls for pair in _streams(call.operands)):
            if not isinstance(handle, ir.BlockArgument):
                parts.join(_OUTSIDE, handle)
        return parts
    touched = [effects.effects_of(call) for call in calls]
    written = {effect.memory.key for each in touched for effect in each if effect.writes}
    for other, call in enumerate(calls):
        if other == number:
            continue
        for _, handle in _streams(call.operands):
            parts.join(other, handle)
        for key in {effect.memory.key for effect in touched[other]} & written:
            parts.join(other, key)
        for before in _starts_behind(call):
            if before != number:
                parts.join(other, before)
    return parts


def _starts_behind(call: ir.Operation) -> list[int]:
    """The calls that one waits for before it starts, by position."""
    after, needs = (
        list(ir.DenseI32ArrayAttr(call.attributes[name])) if name in call.attributes else []
        for name in (AFTER, NEEDS)
    )
    return [*after, *needs[::2]]


def _join(groups: _Parts, call: ir.Operation, around: _Parts) -> None:
    """Join the streams of a callee that are joined around one of its calls."""
    first: dict[Hashable, int] = {}
    for position, handle in _streams(call.operands):
        groups.join(first.setdefault(around.of(handle), position), position)


def _mark(function: ir.Operation, own: _Parts) -> None:
    parts = [own.of(position) for position, _ in _streams(entry_of(function).arguments)]
    numbers = {part: n for n, part in enumerate(dict.fromkeys(parts))}
    function.attributes[ATTRIBUTE] = ir.DenseI64ArrayAttr.get([numbers[part] for part in parts])
