"""Memories that several members of a region use, where the model does not know who is served when."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..compiled import CompiledModule
from .graph import Member
from .refusal import Unforeseen


def refuse_shared(
    modules: Mapping[str, CompiledModule], module: CompiledModule, deciding: Collection[int]
) -> None:
    """Refuse memories that decide and that some write beside others.

    Args:
        deciding: numbers of the arrays whose words decide.

    Raises:
        Unforeseen: there is one.
    """
    graph = module.graph
    assert graph is not None
    users: dict[int, list[Member]] = {}
    for member in graph.members:
        for number in member.arrays:
            users.setdefault(number, []).append(member)
    for number, members in users.items():
        together = [m for m in members if not m.after]
        if number not in deciding or len(together) < 2 or graph.turns is not None:
            continue
        if _meet(modules, members, number):
            name = module.function.arrays[number].name
            raise Unforeseen(
                f"the words of {name}, which several processes use at once, decide what they do",
                module.function.place,
            )


def _meet(modules: Mapping[str, CompiledModule], members: Collection[Member], array: int) -> bool:
    """Whether one of several members stores to a bank of an array that another one uses."""
    users: dict[int, set[int]] = {}
    written: set[int] = set()
    for place, member in enumerate(members):
        parameters = modules[member.module].interface.arrays
        for number, (_, uses) in zip(member.arrays, parameters, strict=True):
            for (bank, _), use in uses.items() if number == array else ():
                users.setdefault(bank, set()).add(place)
                if use.writes:
                    written.add(bank)
    return any(len(users[bank]) > 1 for bank in written)
