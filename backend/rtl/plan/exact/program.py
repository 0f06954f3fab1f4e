"""The schedules of one body as an integer program for CP-SAT.

Every node has the cycle in which it starts, and the picoseconds into it at which its operands are there. Its
operands are ready in this cycle, and then their logic is in front of its own, or before it, and then they
come from registers. Ports and units have so many slots an interval. That is what the pass over a body
(:mod:`..placing.forward`) does step by step, so each solution is a pass whose nodes start no earlier than
the solution says; the pass itself checks it.

As in Oppermann, Reuter-Oppermann, Sommer, Koch and Sinnen, "Exact and practical modulo scheduling for
high-level synthesis", ACM TRETS 12(2), 2019, the program is asked for one interval at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

from ...graph.nodes import Body, Node
from ...graph.prune import EFFECTS
from ...operators.spec import Operator
from ..placing.room import is_unit
from ..timing_model import TimingModel
from .cp_sat import cp_sat
from .proof import area_of_units, cells_of_chain, users_of

PICOSECONDS = 1000


class Limits(NamedTuple):
    """What a solution has to keep to.

    Attributes:
        ii: the initiation interval; None where iterations do not overlap.
        horizon: cycles in which all nodes start.
        capacity: of ports and streams, how many uses fit in a slot.
        units: how many there may be of each shared unit; a missing one has no limit.
    """

    ii: int | None
    horizon: int
    capacity: Mapping[Hashable, int]
    units: Mapping[Hashable, int]


@dataclass(slots=True)
class _Place:
    """Where a node goes: its first cycle, when its operands and its result are there, in picoseconds."""

    cycle: cp_sat.IntVar
    start: cp_sat.IntVar | None
    settle: cp_sat.LinearExpr | cp_sat.IntVar | int


class Program:
    """The integer program of one body.

    Args:
        uses: the ports and units that nodes take for a slot, by node number.
    """

    def __init__(
        self,
        body: Body,
        timing: TimingModel,
        uses: Mapping[int, list[Hashable]],
        limits: Limits,
    ) -> None:
        self.model: cp_sat.CpModel = cp_sat.CpModel()
        self._body, self._timing, self._uses, self._limits = body, timing, uses, limits
        self._budget = floor(timing.budget * PICOSECONDS)
        self._places: dict[int, _Place] = {}
        for node in body.nodes:
            self._places[node.number] = self._placed(node)
        self._orders()
        self._units: dict[Hashable, tuple[Operator, cp_sat.IntVar]] = {}
        self._slots()
        self.depth: cp_sat.IntVar = self._depth()
        self.cycles: list[cp_sat.IntVar] = [self._places[node.number].cycle for node in body.nodes]

    # --- when nodes start -----------------------------------------------------------

    def _placed(self, node: Node) -> _Place:
        """A node behind its operands."""
        model, timing = self.model, self._timing
        cycle = model.new_int_var(0, self._limits.horizon, f"t{node.number}")
        delay = ceil(timing.entry(node) * PICOSECONDS)
        start: cp_sat.IntVar | None = None
        for operand in _distinct(node):
            ready = self._places.get(operand.number)
            if ready is None:
                continue
            model.add(cycle >= ready.cycle + operand.latency)
            if isinstance(ready.settle, int) and ready.settle == 0:
                continue
            same = self._in_cycle(operand, node, cycle)
            if start is None:
                start = self._start(node, delay)
            model.add(start >= ready.settle).only_enforce_if(same)
        place = _Place(cycle, start, 0)
        self._behind_words(node, place, delay)
        place.start = self._behind_streams(node, place, delay)
        if node.latency:
            place.settle = ceil(timing.exit(node) * PICOSECONDS)
        elif place.start is None:
            place.settle = delay
        else:
            place.settle = place.start + delay
        return place

    def _start(self, node: Node, delay: int) -> cp_sat.IntVar:
        """When the logic of a node starts: in time to end in the cycle, or with it."""
        return self.model.new_int_var(0, max(0, self._budget - delay), f"s{node.number}")

    def _in_cycle(self, operand: Node, node: Node, cycle: cp_sat.IntVar) -> cp_sat.IntVar:
        """Whether a node starts in the cycle in which an operand is ready."""
        ready = self._places[operand.number].cycle + operand.latency
        same = self.model.new_bool_var(f"c{operand.number}_{node.number}")
        self.model.add(cycle >= ready + 1).only_enforce_if(~same)
        self.model.add(cycle == ready).only_enforce_if(same)
        return same

    def _behind_words(self, node: Node, place: _Place, delay: int) -> None:
        """Keep a multiplier block one cycle further from the FIFO that gives its word late."""
        operator, far = node.operator, self._timing.device.word_to_dsp_ns
        if operator is None or not operator.resources.dsp or operator.latency or not far:
            return
        if self._limits.ii != 1 or far * PICOSECONDS + delay <= self._budget:
            return
        for operand in node.operands:
            while operand.kind == "wire" and len(operand.operands) == 1:
                operand = operand.operands[0]
            word = self._places.get(operand.number)
            if operand.kind == "get" and word is not None:
                self.model.add(place.cycle != word.cycle + operand.latency + 1)

    def _behind_streams(self, node: Node, place: _Place, delay: int) -> cp_sat.IntVar | None:
        """Operations of streams of one cycle wait for each other, one after the other."""
        more = ceil(self._timing.device.order_ns * PICOSECONDS)
        if node.stream is None or not more:
            return place.start
        start = place.start
        for edge in self._body.edges:
            source = edge.source
            if edge.target is not node or edge.distance or edge.back or edge.latency:
                continue
            if source.stream is None or source.number not in self._places:
                continue
            if start is None:
                start = self._start(node, delay)
            before = self._places[source.number]
            same = self.model.new_bool_var(f"o{source.number}_{node.number}")
            self.model.add(place.cycle == before.cycle).only_enforce_if(same)
            self.model.add(place.cycle >= before.cycle + 1).only_enforce_if(~same)
            behind = more if before.start is None else before.start + more
            self.model.add(start >= behind).only_enforce_if(same)
        return start

    def _orders(self) -> None:
        """The orders of the body, within an iteration and between iterations."""
        ii = self._limits.ii
        for edge in self._body.edges:
            if ii is None and (edge.distance or edge.back):
                continue
            source, target = self._places[edge.source.number], self._places[edge.target.number]
            self.model.add(target.cycle >= source.cycle + edge.latency - edge.distance * (ii or 0))

    # --- ports and units -------------------------------------------------------------

    def _slots(self) -> None:
        """No slot has more uses of a port than it takes, or of a unit than there are."""
        users: dict[Hashable, list[Node]] = defaultdict(list)
        for node in self._body.nodes:
            for use in self._uses.get(node.number, ()):
                users[use].append(node)
        bits: dict[int, list[cp_sat.IntVar]] = {}
        for use, nodes in users.items():
            most: cp_sat.IntVar | int | None = self._limits.capacity.get(use)
            if is_unit(use):
                most = self._unit(use, nodes)
            if most is None or (isinstance(most, int) and len(nodes) <= most):
                continue
            if self._limits.ii is None:
                self._at_once(nodes, most)
                continue
            for slot in range(self._limits.ii):
                self.model.add(sum(self._slot_bits(node, bits)[slot] for node in nodes) <= most)

    def _unit(self, use: Hashable, nodes: list[Node]) -> cp_sat.IntVar:
        operator = nodes[0].operator
        assert operator is not None
        least = 1 if self._limits.ii is None else ceil(len(nodes) / self._limits.ii)
        most = self._limits.units.get(use, len(nodes))
        count = self.model.new_int_var(least, max(least, most), f"u{len(self._units)}")
        self._units[use] = operator, count
        return count

    def _at_once(self, nodes: list[Node], most: cp_sat.IntVar | int) -> None:
        spans = [
            self.model.new_fixed_size_interval_var(
                self._places[node.number].cycle, 1, f"i{node.number}"
            )
            for node in nodes
        ]
        self.model.add_cumulative(spans, [1] * len(spans), most)

    def _slot_bits(self, node: Node, bits: dict[int, list[cp_sat.IntVar]]) -> list[cp_sat.IntVar]:
        """Of each slot of the interval, whether a node starts in it."""
        ii = self._limits.ii or 1
        if node.number not in bits:
            found = [self.model.new_bool_var(f"x{node.number}_{slot}") for slot in range(ii)]
            turns = self.model.new_int_var(0, self._limits.horizon // ii, f"q{node.number}")
            self.model.add_exactly_one(found)
            inside = sum(slot * bit for slot, bit in enumerate(found))
            self.model.add(self._places[node.number].cycle == ii * turns + inside)
            bits[node.number] = found
        return bits[node.number]

    # --- what is asked for ------------------------------------------------------------

    def _depth(self) -> cp_sat.IntVar:
        """Cycles of an iteration."""
        depth = self.model.new_int_var(1, self._limits.horizon + 1, "depth")
        for node in self._body.nodes:
            cycle = self._places[node.number].cycle
            if node.kind in EFFECTS:
                self.model.add(depth >= cycle + 1)
            if node.crosses:
                self.model.add(depth >= cycle + node.latency + 1)
        return depth

    def area(self, *, shift_registers: bool) -> cp_sat.LinearExpr | int:
        """Cells that keep values until their last use, and what the units are made of."""
        ii = self._limits.ii or 1
        terms: list[cp_sat.LinearExpr | int] = []
        for value, users in users_of(self._body).items():
            most = self._limits.horizon // ii + 1
            held = self.model.new_int_var(0, most, f"h{value.number}")
            own = self._places.get(value.number)
            ready = own.cycle + value.latency if own is not None else 0
            for user in users:
                self.model.add(ii * held >= self._places[user.number].cycle - ready)
            cells = held
            if shift_registers and most > 1:
                steps = range(most + 1)
                table = [cells_of_chain(n, shift_registers=True) for n in steps]
                cells = self.model.new_int_var(0, table[-1], f"k{value.number}")
                self.model.add_element(held, table, cells)
            terms.append(value.width * cells)
        for operator, count in self._units.values():
            terms.append(area_of_units(operator) * count)
        return sum(terms)

    def hint(self, times: Sequence[int]) -> None:
        """Tell the solver a schedule to start from."""
        for cycle, time in zip(self.cycles, times, strict=True):
            self.model.add_hint(cycle, time)


def _distinct(node: Node) -> list[Node]:
    return list({operand.number: operand for operand in node.operands}.values())
