"""Memories that several members of a region use at once, and one of them stores to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..compiled import CompiledModule
from .graph import Member


def raced_arrays(
    modules: Mapping[str, CompiledModule], module: CompiledModule, deciding: Collection[int]
) -> set[int]:
    """Of the arrays of a region that decide, those whose words depend on who comes first.

    Args:
        deciding: numbers of the arrays whose words decide.
    """
    graph = module.graph
    assert graph is not None
    users: dict[int, list[Member]] = {}
    for member in graph.members:
        for number in member.arrays:
            users.setdefault(number, []).append(member)
    found = set()
    for number, members in users.items():
        together = [m for m in members if not m.after]
        if number not in deciding or len(together) < 2 or graph.turns is not None:
            continue
        if _meet(modules, members, number):
            found.add(number)
    return found


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
