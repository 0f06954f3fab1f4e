"""The largest users of lookup tables in a design, with the lines of Python that they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from os.path import basename

from allo.dialects.reports.figures import LoopReport

from ..compiled import CompiledModule
from ..graph.prune import bodies_of
from ..netlist.instance_counts import instance_counts
from ..plan.explain import short
from ..resources.capacity import USERS
from ..resources.design import ModuleResources

MOST_PLACES = 3
"""Places of one user that a message names."""


def largest_users(
    modules: Mapping[str, CompiledModule], found: Mapping[str, ModuleResources], top: str
) -> str:
    """The three largest users of lookup tables: units by operator, loops and functions without their units.

    Args:
        modules: the functions of a design.
        found: what all its modules take.
    """
    users = sorted(_users(modules, found, top), key=lambda user: (-user[1], user[0]))
    return ", ".join(f"{name}: {tables:,}" for name, tables in users[:USERS] if tables > 0)


def _users(
    modules: Mapping[str, CompiledModule], found: Mapping[str, ModuleResources], top: str
) -> Iterator[tuple[str, int]]:
    """Each user with its lookup tables in the whole design."""
    counts = instance_counts(found, top)
    units, names = _places_of_units(modules)
    for name, times in counts.items():
        if name in modules:
            for label, tables in _parts(modules[name], found[name]):
                yield (f"{times} times {label}" if times > 1 else label), times * tables
        else:
            places = units.get(name)
            label = f"{times} {names.get(name, name)}" + (f" ({_told(places)})" if places else "")
            yield label, times * found[name].own["lut"]


def _places_of_units(
    modules: Mapping[str, CompiledModule],
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Of each unit's module the places of its operations, and the operator's name."""
    places: dict[str, dict[str, None]] = defaultdict(dict)
    names = {}
    for module in modules.values():
        for body in bodies_of(module.function.root):
            for node in body.nodes:
                if node.operator is not None and node.operator.module and node.operator.latency:
                    names[node.operator.module] = node.operator.name
                    if node.place is not None:
                        places[node.operator.module][short(node.place)] = None
    return {name: list(each) for name, each in places.items()}, names


def _told(places: list[str]) -> str:
    """``gemm.py:8:9, 9:9, 9:20 and 4 more``."""
    more = len(places) - MOST_PLACES
    told, file = [], ""
    for place in places[:MOST_PLACES]:
        name, _, where = place.partition(":")
        told.append(where if name == file else place)
        file = name
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _parts(module: CompiledModule, found: ModuleResources) -> Iterator[tuple[str, int]]:
    """The loops of a function, and what is in none of them; each without units and functions inside."""
    rest = found.own["lut"]
    stack: list[LoopReport] = list(module.report.loops)
    while stack:
        loop = stack.pop()
        stack += loop.children
        tables = (
            found.sections[loop.section]["lut"]
            if loop.section and loop.section in found.sections
            else 0
        )
        rest -= tables
        yield f"the logic of loop {loop.name} ({basename(loop.place)})", tables
    function = module.function
    yield f"the logic of {function.name} outside of loops ({short(function.place)})", rest
