"""Arrays of which data decide the element that is stored: its number goes out, and the element.

Where nothing loads the array, each store puts a number and an element. Where one nest loads and stores it,
as a histogram does, the nest becomes two processes, as of :mod:`.gathers`: the first puts the number of each
element that is loaded, stored, or loaded and then stored, in the order of the program, with two bits that
tell which. The second gets what was loaded, and puts what it stores. Who answers keeps that order for
accesses of one element.

Assumes core IR in which task regions are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from .._mlir import ir
from ..core.signature import signature_of
from ..passes.checks.maker import Maker
from ..streams.processes import is_pure
from ..streams.rewrite import exchange_access
from .gathers import WANTED, Asked, number_of, put
from .requests import STORES, Requests
from .transfers import DEPTH, Argument, Refusal, Transfer, on_copies

_LOADED, _ASKED, _STORED = range(3)


def find_scatters(
    module: ir.Module, top: str, positions: Iterable[int]
) -> dict[int, int | Refusal | None]:
    """Of array arguments how often each is used by requests, None for unknown; the module stays."""
    return on_copies(module, positions, lambda copy, n: _Scatter(copy, top, n).count())


def make_scatter(module: ir.Module, top: str, position: int, outstanding: int) -> Transfer:
    """Make streams of an argument that :func:`find_scatters` has found, in place.

    Args:
        outstanding: how many requests may be under way.
    """
    with module.context, ir.Location.unknown():
        asking = _Scatter(module, top, position).split(outstanding)
        return _Requested(module, top, position, asking).make()


class _Scatter(Asked):
    """An argument, and the nest that loads and stores it; none where nothing loads it."""

    def __init__(self, module: ir.Module, top: str, position: int) -> None:
        super().__init__(module, top, position)
        self._work: tuple[ir.Operation, Requests] | None = None
        if any(op.name not in STORES for op in self._uses_of(self._function, self._array)):
            self._work = self._asking_nest(
                "it is loaded and stored, by more than one nest of loops"
            )

    def split(self, outstanding: int) -> tuple[list[ir.Operation], list[ir.Operation]]:
        """Make the nest two processes if it loads the array: accesses that ask, and stores of those."""
        return ([], []) if self._work is None else self._split(self._work, outstanding)


class _Requested(Argument):
    """The argument, where the nest was split if it had to be."""

    _tails: Mapping[int, str] = {_ASKED: WANTED, _STORED: "_stored"}

    def __init__(
        self,
        module: ir.Module,
        top: str,
        position: int,
        asking: tuple[list[ir.Operation], list[ir.Operation]],
    ) -> None:
        super().__init__(module, top, position)
        self._asking, storing = asking
        # The hash of an operation changes with its operands.
        self._kinds = [(op, 1 if op in storing else 2) for op in self._asking]
        self._bits = max(1, (prod(self._kind.shape) - 1).bit_length())

    def make(self) -> Transfer:
        """Make the streams; what they are called."""
        name = signature_of(self._top).name(self._position)
        shape = tuple(self._kind.shape)
        loaded = bool(self._asking)
        self._join_updates()
        wanted = name + WANTED if loaded else name
        streams = name if loaded else "", name + self._tails[_STORED], wanted
        made = Transfer(name, self._declared, shape, None, None, *streams)
        self.rewrite(made)
        return made

    def _join_updates(self) -> None:
        """One request for a load and the store of the same element behind it."""
        joined: list[tuple[ir.Operation, int]] = []
        for op, kind in self._kinds:
            before, other = joined[-1] if joined else (op, 0)
            if (kind, other) == (1, 2) and op.block == before.block and _same_element(op, before):
                joined[-1] = (before, 3)
                op.erase()
            else:
                joined.append((op, kind))
        self._kinds = joined
        self._asking = [op for op, _ in joined]

    def _ways_of(self, op: ir.Operation) -> set[int]:
        if op in self._asking:
            return {_ASKED}
        if op.name in STORES:
            return {_STORED} if self._asking else {_ASKED, _STORED}
        return {_LOADED}

    def _stream_type(self, transfer: Transfer, way: int) -> str:
        bits = self._bits + (2 if transfer.load_stream else 0)
        return f"stream<{f'ui{bits}' if way == _ASKED else transfer.dtype}, {DEPTH}>"

    def _exchange_all(
        self, accesses: Sequence[ir.Operation], handles: Mapping[int, ir.Value]
    ) -> None:
        for op in accesses:
            if op in self._asking:
                put(op, handles[_ASKED], self._marked(op))
            elif op.name in STORES:
                if not self._asking:
                    put(op, handles[_ASKED], number_of(op, self._kind, self._bits))
                exchange_access(op, handles[_STORED])
            else:
                exchange_access(op, handles[_LOADED])
            op.erase()

    def _marked(self, op: ir.Operation) -> ir.Value:
        """The number of an element, and below it a bit for loads and one for stores."""
        number, maker = number_of(op, self._kind, self._bits), Maker(op)
        word = ir.IntegerType.get_signless(self._bits + 2)
        kind = next(kind for each, kind in self._kinds if each == op)
        wide = maker.op("arith.extui", word, [number])
        above = maker.op("arith.shli", word, [wide, maker.constant(2, word)])
        return maker.op("arith.ori", word, [above, maker.constant(kind, word)])


def _same_element(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two loads are surely of one element."""
    if one.name != other.name or ("map" in one.attributes) != ("map" in other.attributes):
        return False
    if "map" in one.attributes and one.attributes["map"] != other.attributes["map"]:
        return False
    pairs = zip(list(one.operands)[1:], list(other.operands)[1:], strict=True)
    return all(_same_value(a, b) for a, b in pairs)


def _same_value(one: ir.Value, other: ir.Value) -> bool:
    if one == other:
        return True
    if isinstance(one, ir.BlockArgument) or isinstance(other, ir.BlockArgument):
        return False
    left, right = one.owner.operation, other.owner.operation
    alike = left.name == right.name and is_pure(left) and not left.regions
    if not alike or str(left.attributes) != str(right.attributes):
        return False
    return all(_same_value(a, b) for a, b in zip(left.operands, right.operands, strict=True))


__all__ = ["find_scatters", "make_scatter"]
