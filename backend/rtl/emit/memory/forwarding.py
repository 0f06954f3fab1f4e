"""Loads that take what a store on its way to their element writes."""

from __future__ import annotations

from ...graph.nodes import Access, Body, Node
from ..context import Context


class Forwarding:
    """Passes the words of stores to loads that meet them, in one function."""

    def __init__(self, context: Context) -> None:
        self._c = context
        self._text = context.text

    def word(self, node: Node, body: Body, value: str) -> str:
        """The word of a load, or what a store on its way writes to the element."""
        text, access = self._text, node.access
        assert access is not None
        chosen, word = "", ""
        for store in access.bypass:
            meets, data = self.meeting(node, store, body, node.time)
            if meets:
                held, stored = text.named(f"{node.label}_meets"), text.named(f"{node.label}_stored")
                text.register(held, meets, 1, place=node.place)
                text.register(stored, data, node.width, place=node.place)
                word = text.mux(held, stored, word, node.width) if word else stored
                chosen = text.any_of(chosen, held) if chosen else held
        if not access.late:
            return text.mux(chosen, word, value, node.width) if chosen else value
        for store in access.late_bypass:
            meets, data = self.meeting(node, store, body, node.time + 1)
            if meets:
                word = text.mux(meets, data, word, node.width) if word else data
                chosen = text.any_of(chosen, meets) if chosen else meets
        # The memory's word goes to its register past nothing; the choice is made behind it.
        busy = (self._c.activity.of(body, node.time + 1),)
        names = [text.named(f"{node.label}_{what}") for what in ("read", "chosen", "passed")]
        value = text.register(names[0], value, node.width, busy=busy, place=node.place)
        if chosen:
            text.register(names[1], chosen, 1, busy=busy, place=node.place)
            text.register(names[2], word, node.width, busy=busy, place=node.place)
            value = text.mux(names[1], names[2], value, node.width)
        for store in access.prompt_bypass:
            value = self._prompt(node, store, body, value)
        return value

    def _prompt(self, node: Node, store: Node, body: Body, value: str) -> str:
        """The word of a load, or what a store writes there in the cycle in which it is there.

        Whether they meet is found a cycle sooner, as the schedule allows.
        """
        text = self._text
        meets, data = self.meeting(node, store, body, node.time + 2, sooner=1)
        if not meets:
            return value
        busy = (self._c.activity.of(body, node.time + 1),)
        held = text.named(f"{node.label}_meets")
        text.register(held, meets, 1, busy=busy, place=node.place)
        return text.mux(held, data, value, node.width)

    def scalar(self, node: Node, body: Body, held: str) -> str:
        """The value of a load of a register, or what a store of its cycle writes there.

        Where the register then holds that until the next iteration's load, it is read again and not copied.
        """
        access, value = node.access, held
        assert access is not None
        if access.bank is not None and self._stays(node, body):
            self._c.again[node.number] = held
        for store in access.bypass:
            meets, data = self.meeting(node, store, body, node.time)
            if meets:
                meets, data = self._changed(store, body, held, meets, data)
                value = self._text.mux(meets, data, value, node.width)
        return value

    def _stays(self, load: Node, body: Body) -> bool:
        """Whether only what a load takes on its way is stored, and nothing else while the body runs."""
        # What other bodies read is that of the last iteration, which may store there itself.
        if not body.overlaps or body.runs_on or load.crosses or load.access is None:
            return False
        stores = [
            n
            for n in body.nodes
            if n.kind == "store" and n.access is not None and n.access.array is load.access.array
            if load.access.bank in n.access.banks()
        ]
        taken = load.access.bypass
        return all(
            n in taken and n.number not in self._c.finals and not (n.time - load.time) % body.ii
            for n in stores
        )

    def _changed(
        self, store: Node, body: Body, held: str, meets: str, data: str
    ) -> tuple[str, str]:
        """When a register changes, and to what, if a store chooses between a new value and that it has."""
        made = store.access.data if store.access is not None else None
        if made is None or made.op != "arith.select" or made.avail != store.time or made.latency:
            return meets, data
        chosen, *values = (self._c.value(node, body, store.time) for node in made.operands)
        if held not in values:
            return meets, data
        first, second = values
        chosen = chosen if second == held else self._text.invert(chosen)
        return self._text.all_of(meets, chosen), first if second == held else second

    def meeting(
        self, load: Node, store: Node, body: Body, time: int, *, sooner: int = 0
    ) -> tuple[str, str]:
        """Whether a store in one step of a load writes the load's element, "" for never; its data.

        The first is asked so many cycles ``sooner``.
        """
        text, target, source = self._text, load.access, store.access
        assert target is not None and source is not None and source.data is not None
        time, stored = time - sooner, store.time - sooner
        conditions = [self._c.valid(body, stored)]
        if source.predicate is not None:
            conditions.append(self._c.value(source.predicate, body, stored))
        banks = self._same_bank(load, store, body, time, stored)
        if not banks:
            return "", ""
        conditions.append(banks)
        mine, other = target.word_node, source.word_node
        if mine is not None and other is not None:
            a = self._c.value(mine, body, time)
            b = self._c.value(other, body, stored)
            conditions.append(text.compare("eq", a, b, mine.width))
        return text.all_of(*conditions), self._c.value(source.data, body, store.time)

    def _same_bank(self, load: Node, store: Node, body: Body, time: int, stored: int) -> str:
        """Whether a load and a store touch one bank in these steps, "" where they never do."""
        text, a, b = self._text, load.access, store.access
        assert a is not None and b is not None
        if a.banks() == b.banks() and a.bank_node is not None and b.bank_node is not None:
            mine = self._c.value(a.bank_node, body, time)
            other = self._c.value(b.bank_node, body, stored)
            return text.compare("eq", mine, other, a.bank_node.width)
        places = {bank: position for position, bank in enumerate(b.banks())}
        true = text.const(1, 1)
        meetings = [
            text.all_of(
                bank_condition(self._c, a, position, body, time, true),
                bank_condition(self._c, b, places[bank], body, stored, true),
            )
            for position, bank in enumerate(a.banks())
            if bank in places
        ]
        return text.any_of(*meetings) if meetings else ""


def bank_condition(
    context: Context, access: Access, position: int, body: Body, time: int, condition: str
) -> str:
    """A condition, and that the access is of the bank at a position among those it may touch."""
    if access.bank is not None or access.bank_node is None:
        return condition
    text, node = context.text, access.bank_node
    chosen = context.value(node, body, time)
    here = text.compare("eq", chosen, text.const(position, node.width), node.width)
    return text.all_of(condition, here)
