"""The ports of memories that instances ask for: their own, and those of what is in them or what they call."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.prune import bodies_of, regions_of
from ..graph.regions import Call
from .follow.instances import Frame, Nested, Process
from .follow.needs import is_raced, mark_of
from .follow.races import Races
from .native import Engine
from .refusal import Unforeseen
from .variants import Place


class Joining:
    """Gives the instances of a design their clients of ports, outermost first.

    Args:
        timed: whether what is found without waiting decides.
    """

    def __init__(self, engine: Engine, races: Races, *, timed: bool) -> None:
        self._engine = engine
        self._races = races
        self._timed = timed
        self._ports = 0

    def join(self, root: Process | Nested) -> None:
        """Join a whole design.

        Raises:
            Unforeseen: something in it waits in a way that is not known.
        """
        if isinstance(root, Nested):
            self._region(root, {})
        else:
            self._process(root, {})

    def _region(self, nested: Nested, above: Mapping[Place, int]) -> None:
        """``above``: clients of the region, by the ports of its array parameters."""
        if above:
            self._check(nested)
        given: list[dict[Place, int]] = [{} for _ in nested.members]
        for port in nested.graph.ports:
            outer = -1 if port.place is None else above.get(port.place, -1)
            if not port.crowded and outer < 0:
                continue
            number = self._ports if port.crowded else -1
            self._ports += int(port.crowded)
            for rank, user in enumerate(port.users):
                _, node = nested.members[user.member]
                row = number, rank, user.waits, outer
                given[user.member][user.place] = self._engine.add_client(node.entity, *row)
        for (_, node), clients in zip(nested.members, given, strict=True):
            if isinstance(node, Nested):
                self._region(node, clients)
            else:
                self._process(node, clients)

    def _check(self, nested: Nested) -> None:
        """Whether it is known what a region does while it stands still."""
        place = nested.module.function.place
        name = nested.module.function.name
        if any(member.early for member, _ in nested.members):
            raise Unforeseen(f"{name}, a region of many processes, waits for ports", place)
        if self._timed:
            raise Unforeseen(f"{name} waits for ports, and a process asks streams", place)

    def _process(self, process: Process, clients: Mapping[Place, int]) -> None:
        assert process.frame is not None
        numbers = {client: number for number, client in enumerate(clients.values())}
        self._frame(process.frame, clients, numbers)

    def _mark(self, frame: Frame, numbers: dict[int, int]) -> None:
        """Keep the cycles of accesses that decide by them."""
        process, needs = frame.process, frame.code.needs
        nodes = [node for body in bodies_of(frame.module.function.root) for node in body.nodes]
        for node in nodes if needs.raced else ():
            if not is_raced(node, needs):
                continue
            if self._timed:
                what = "an array decides that several processes use at once, and one asks streams"
                raise Unforeseen(what, node.place)
            client = self._engine.add_client(process.entity, -1, 0, False, -1, logged=True)
            numbers[client] = frame.clients.places[mark_of(node)] = len(numbers)
            self._races.clients[client] = process.entity, numbers[client]

    def _frame(self, frame: Frame, clients: Mapping[Place, int], numbers: dict[int, int]) -> None:
        """``numbers``: those of a process's clients in its variants."""
        frame.clients.places = {place: numbers[client] for place, client in clients.items()}
        self._mark(frame, numbers)
        parameters = [array.number for array in frame.module.function.parameters]
        for region in regions_of(frame.module.function.root):
            inner = frame.callees.get(region.callee) if isinstance(region, Call) else None
            if not isinstance(region, Call) or inner is None:
                continue
            given = {
                (position, *place[1:]): client
                for position, array in enumerate(region.arrays)
                for place, client in clients.items()
                if array.number in parameters and parameters[place[0]] == array.number
            }
            key = region.callee, tuple(stream.number for stream in region.streams)
            inner = frame.others.get(key, inner)
            if inner.joined not in (None, given):
                what = f"{region.callee} is called with other arrays elsewhere"
                raise Unforeseen(what, region.place)
            known, inner.joined = inner.joined is not None, given
            if known:
                continue
            if isinstance(inner, Frame):
                self._frame(inner, given, numbers)
            else:
                self._region(inner, given)
