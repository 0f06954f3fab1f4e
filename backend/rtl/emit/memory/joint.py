"""Accesses of unknown banks that take turns at a port: one address, one bank and one word for all of them.

``A[P[j]]`` for eight ``j`` asks a port of every bank in eight cycles. Each of these accesses may go to any
bank, so each bank would choose among eight addresses, by eight comparisons, and each access among the words
of all banks. Here the address and the number of the bank are chosen once, by the cycle. A bank compares one
number with its own, and one choice among the banks serves all accesses: ``n`` accesses of ``m`` banks take
about ``n + m`` choices and comparisons, and not ``2 · n · m``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace

from ...graph.linear import bits_unsigned
from ...graph.nodes import Access, Array, Body
from ..builder import ModuleBuilder
from .pick import pick
from .ram import RamUse, Scope


@dataclass(frozen=True, slots=True)
class Turn:
    """One access of a group.

    Attributes:
        time: its step in an iteration.
        condition: when it happens.
        address: the word in its bank.
        bank: which of the group's banks, by its position among them.
        scope: bits that are high whenever it happens.
        data: what it writes, "" for a read.
        word: the name that the word it reads was promised, "" for a write.
        later: ``bank`` as the next step sees it, for a read.
        place: in the source.
    """

    time: int
    condition: str
    address: str
    bank: str
    scope: Scope
    data: str = ""
    word: str = ""
    later: str = ""
    place: SourcePlace | None = None


@dataclass(slots=True)
class Group:
    """Accesses of one body to the same banks by the same port.

    Attributes:
        body: in which they are.
        array: what they read or write.
        banks: those that each of them may touch.
        port: of each bank.
        bits: of a bank's position among them.
        turns: the accesses, all reads or all writes.
    """

    body: Body
    array: Array
    banks: tuple[int, ...]
    port: int
    bits: int
    turns: list[Turn] = field(default_factory=list)

    @property
    def alternate(self) -> bool:
        """Whether no two of them happen in one cycle, whatever their banks are."""
        slots = {turn.time % self.body.ii for turn in self.turns}
        return len(slots) == len(self.turns) > 1

    def join(self, text: ModuleBuilder, moving: str) -> None:
        """Make one turn of all.

        Args:
            moving: when one of them happens and the registers move, "" where they always do.
        """
        first, *rest = self.turns
        place = first.place
        bank, data, word, later = self._chosen(text, "bank", self.bits), "", "", ""
        if first.data:
            data = self._chosen(text, "data", self.array.width)
        if first.word:
            word, later = text.named(f"{self.array.name}_word"), text.named(f"{self.array.name}_at")
            text.register(later, bank, self.bits, enable=moving, free=True, place=place)
            for turn in self.turns:
                text.alias(turn.word, word, self.array.width)
        self.turns = [
            Turn(
                first.time,
                text.any_of(*(turn.condition for turn in self.turns)),
                self._chosen(text, "address", bits_unsigned(self.array.depth - 1)),
                bank,
                tuple(b for b in first.scope if all(b in turn.scope for turn in rest)),
                data,
                word,
                later,
                place,
            )
        ]

    def _chosen(self, text: ModuleBuilder, what: str, width: int) -> str:
        return text.choose([(t.condition, getattr(t, what)) for t in self.turns], width)

    def pick(self, text: ModuleBuilder, words: list[str]) -> None:
        """Choose the words that are read, among those of the banks' ports."""
        for turn in self.turns:
            if turn.word:
                position = turn.later, self.bits
                array = self.array
                pick(text, turn.word, words, position, array.width, array.name, turn.place)

    def uses(self, text: ModuleBuilder, position: int) -> list[RamUse]:
        """The uses of the port of the bank at a position among the group's."""
        found = []
        for turn in self.turns:
            here = text.compare("eq", turn.bank, text.const(position, self.bits), self.bits)
            when = text.all_of(turn.condition, here)
            found.append(RamUse(when, turn.address, turn.scope, turn.data))
        return found


class Groups:
    """The groups of a function."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, int, tuple[int, ...], int, bool], Group] = {}

    def add(self, access: Access, body: Body, turn: Turn) -> None:
        """Take an access of :func:`one_port`."""
        assert access.bank_node is not None
        array, banks, port = access.array, access.banks(), access.ports[access.banks()[0]]
        key = (body.number, array.number, banks, port, bool(turn.data))
        if key not in self._groups:
            self._groups[key] = Group(body, array, banks, port, access.bank_node.width)
        self._groups[key].turns.append(turn)

    def all(self) -> list[Group]:
        """Every group."""
        return list(self._groups.values())


def one_port(access: Access) -> bool:
    """Whether an access of a RAM may go to several banks, by the same port of each."""
    if access.bank is not None or access.array.storage == "reg":
        return False
    return len({access.ports[bank] for bank in access.banks()}) == 1
