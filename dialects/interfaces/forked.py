"""Arrays that several processes read in one order: each gets every element, at its own pace.

The array is read once, and each process has a stream of its own. An engine keeps what has come for the one
and not for the other: all of the array at most, so that no process waits for another one by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from .._mlir import ir
from ..core.signature import callee_of, signature_of
from ..streams.trace import Trace
from .runs import IrregularError, Runs, walks_of
from .streamed import merge_loads
from .transfers import (
    DEPTH,
    MOST_BITS,
    STORES,
    Argument,
    Refusal,
    Transfer,
    groups_of,
    name_of,
    on_copies,
    users_of,
)


def find_transfers(
    module: ir.Module, top: str, positions: Iterable[int]
) -> dict[int, Transfer | Refusal]:
    """What each of some array arguments of a function would be as a transfer; the module stays."""
    return on_copies(module, positions, lambda copy, n: _prepared(copy, top, n)[1])


def make_transfers(module: ir.Module, top: str, positions: Iterable[int]) -> None:
    """Make streams of arguments that :func:`find_transfers` has found, in place."""
    with module.context, ir.Location.unknown():
        for position in positions:
            argument, transfer = _prepared(module, top, position)
            argument.rewrite(transfer)


def _prepared(module: ir.Module, top: str, position: int) -> tuple[Argument, Transfer]:
    argument = Argument(module, top, position)
    try:
        return argument, argument.prepare()
    except IrregularError as error:
        forked = _Forked(module, top, position)
        try:
            return forked, forked.prepare()
        except IrregularError:
            raise error from None


class _Forked(Argument):
    """An argument that several processes of a region load, and none stores; a way for each of them."""

    _tails: Mapping[int, str] = {n: f"_fork{n}" for n in range(1, 16)}

    def prepare(self) -> Transfer:
        """Unroll what is around accesses; what passes then to each process."""
        self._unroll_all()
        if any(op.name in STORES for f, v in self._holders for op in users_of(f, v)):
            raise IrregularError("a process stores it")
        merge_loads(self._functions, self._top, self._position)
        self._calls, value = self._find_calls()
        shape = tuple(self._kind.shape)
        self._runs: list[Runs] = []
        for call in self._calls:
            found = walks_of(Trace(self._functions, [call], {value: 0}), shape)
            if found.loads is None:
                raise IrregularError("a process does not load it")
            self._runs.append(found.loads)
            self._places |= found.places
        first = self._runs[0]
        if any(
            (r.base, r.dims, r.length) != (first.base, first.dims, first.length) for r in self._runs
        ):
            raise IrregularError("processes that run at once use it in different orders")
        if first.elements > prod(shape):
            raise IrregularError("processes that run at once use it several times")
        if max(runs.word for runs in self._runs) * self._kind.element_type.width > MOST_BITS:
            raise IrregularError(f"an iteration uses more than {MOST_BITS} bits of it")
        name = signature_of(self._top).name(self._position)
        forks = tuple((name + self._tails[n], self._runs[n]) for n in range(1, len(self._runs)))
        return Transfer(name, self._declared, shape, first, None, name, "", forks=forks)

    def _find_calls(self) -> tuple[list[ir.Operation], ir.Value]:
        """The processes of the region that uses it, and the array there."""
        for function, value in self._holders:
            users = users_of(function, value)
            if len(users) == 1 and users[0].name == "func.call":
                continue
            several = all(op.name == "func.call" for op in users) and len(users) <= len(self._tails)
            if several and "region" in function.attributes:
                return users, value
            break
        raise IrregularError("no processes that run at once use it")

    def _ways(self) -> dict[str, set[int]]:
        every = set(range(len(self._calls)))
        holders = {name_of(function): (function, value) for function, value in self._holders}
        found = dict.fromkeys(holders, every)
        for way, call in enumerate(self._calls):
            pending = [call]
            while pending:
                callee = callee_of(pending.pop())
                found[callee] = {way}
                pending += [op for op in users_of(*holders[callee]) if op.name == "func.call"]
        return found

    def _stream_type(self, transfer: Transfer, way: int) -> str:
        word = self._runs[way].word
        block = f"{word}x" if word > 1 else ""
        return f"stream<{block}{self._declared}, {DEPTH}>"

    def _exchange_all(
        self, accesses: Sequence[ir.Operation], handles: Mapping[int, ir.Value]
    ) -> None:
        for group in groups_of(accesses):
            (handle,) = handles.values()
            self._exchange(group, handle)


__all__ = ["find_transfers", "make_transfers"]
