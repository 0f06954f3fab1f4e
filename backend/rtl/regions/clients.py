"""The ports of memories that a process asks for: its own, and those of what it calls."""

from __future__ import annotations

from dataclasses import replace

from ..graph.prune import regions_of
from ..graph.regions import Call
from .follow.beside import Wanted
from .follow.instances import Frame, Nested, Process
from .graph import RegionGraph
from .native import Engine
from .refusal import Unforeseen
from .variants import Place


def set_clients(
    engine: Engine, process: Process, graph: RegionGraph, member: int, first: int
) -> None:
    """Give a process its ports of memories that others may ask for, and the functions that it calls.

    Args:
        first: the number of the region's first port in the engine.

    Raises:
        Unforeseen: what it calls waits in a way that is not known.
    """
    assert process.frame is not None
    for number, users in enumerate(graph.ports):
        for rank, user in enumerate(users):
            if user.member == member:
                places = process.frame.clients.places
                places[user.place] = len(places)
                engine.add_client(process.entity, first + number, rank, user.waits)
    _pass_clients(process.frame)
    alone = not process.channels and all(child.beside for child in process.children)
    process.tracer.steady = bool(process.frame.clients.places) and alone and not process.endless


def _pass_clients(frame: Frame) -> None:
    places = frame.clients.places
    parameters = [array.number for array in frame.module.function.parameters]
    for region in regions_of(frame.module.function.root) if places else ():
        inner = frame.callees.get(region.callee) if isinstance(region, Call) else None
        if not isinstance(region, Call) or inner is None:
            continue
        given = {
            (position, *place[1:]): number
            for position, array in enumerate(region.arrays)
            for place, number in places.items()
            if array.number in parameters and parameters[place[0]] == array.number
        }
        key = region.callee, tuple(stream.number for stream in region.streams)
        inner = frame.others.get(key, inner)
        if inner.joined not in (None, given):
            raise Unforeseen(f"{region.callee} is called with other arrays elsewhere", region.place)
        known, inner.joined = inner.joined is not None, given
        if known or not given:
            continue
        if isinstance(inner, Frame):
            inner.clients.places = given
            _pass_clients(inner)
        else:
            _pass_beside(inner, given, region)


def _pass_beside(nested: Nested, given: dict[Place, int], call: Call) -> None:
    """Let a region's members ask for ports of the process that calls it.

    Raises:
        Unforeseen: its members do not all begin in one cycle and go on without waiting for each other.
    """
    graph = nested.graph
    waits = any(
        isinstance(node, Nested) or member.after or member.early or node.channels or node.children
        for member, node in nested.members
    )
    if graph.turns is not None or graph.streams or waits:
        raise Unforeseen(f"{call.callee} waits for ports of memories", call.place)
    parameters = [array.number for array in nested.module.function.parameters]
    for number, (member, node) in enumerate(nested.members):
        assert isinstance(node, Process) and node.frame is not None
        wanted = {
            user.place: Wanted(port, rank, user.waits)
            for port, users in enumerate(graph.ports)
            for rank, user in enumerate(users)
            if user.member == number
        }
        for position, array in enumerate(member.arrays):
            for place, outer in given.items():
                if parameters[place[0]] == array:
                    inner = (position, *place[1:])
                    wanted[inner] = replace(wanted.get(inner, Wanted()), outer=outer)
        node.frame.clients.places = {place: n for n, place in enumerate(wanted)}
        nested.wanted.append(list(wanted.values()))
        _pass_clients(node.frame)
