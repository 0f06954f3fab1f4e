"""Where the registers of a pipelined unit go.

Every node gets a stage: as early as the clock allows, then moved later where that saves
register bits and no path grows past the clock. A value used ``k`` stages after its own passes
``k`` registers; the output passes one more, so that a unit with ``latency`` stages answers
``latency`` enabled edges after its operands.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.devices import OperatorDelays

from .netlist import Netlist
from .timing import live_nodes, node_delay


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A staged netlist.

    Attributes:
        stages: stage (0 first) of every live node.
        latency: number of stages.
        register_bits: flip-flops in all.
        first_ns: longest logic path in the first stage; ``slowest_ns`` in any stage, from its registers.
    """

    stages: dict[int, int]
    latency: int
    register_bits: int
    first_ns: float
    slowest_ns: float


def pipeline(
    net: Netlist,
    device: OperatorDelays,
    clock_mhz: float,
    least: int = 1,
    first_ns: float | None = None,
) -> Pipeline:
    """Stages for ``net`` at a clock, ``least`` or more, with as few stages and registers as found.

    ``first_ns``: the most that the first stage may take, the clock's period as a rule.
    """
    builder = _Stager(net, device, device.budget_ns(clock_mhz), first_ns)
    builder.place_early()
    builder.stage[net.output] = max(builder.stage[net.output], least - 1)
    builder.move_late()
    return builder.result()


def stages(net: Netlist, device: OperatorDelays, clock_mhz: float) -> int:
    """The fewest stages for ``net`` at a clock."""
    builder = _Stager(net, device, device.budget_ns(clock_mhz))
    builder.place_early()
    return builder.stage[net.output] + 1


class _Stager:
    def __init__(
        self, net: Netlist, device: OperatorDelays, budget: float, first_ns: float | None = None
    ) -> None:
        self.net = net
        self.budget = budget
        self.source_ns = min(device.source_ns, 0.5 * budget)
        first = budget if first_ns is None else min(budget, self.source_ns + first_ns)
        self.first_budget = first
        self.live = live_nodes(net)
        self.delay = {i: node_delay(net, net.nodes[i], device) for i in self.live}
        self.users: dict[int, list[int]] = {i: [] for i in self.live}
        for index in self.live:
            for arg in set(net.nodes[index].args):
                self.users[arg].append(index)
        self.stage: dict[int, int] = {}
        self.constant = {i for i in self.live if net.nodes[i].op == "const"}

    def place_early(self) -> None:
        arrival: dict[int, float] = {}
        for index in self.live:
            args = [i for i in self.net.nodes[index].args if i not in self.constant]
            if not args:
                self.stage[index] = 0
                is_input = self.net.nodes[index].op == "input"
                arrival[index] = self.source_ns if is_input else 0.0
                continue
            stage = max(self.stage[i] for i in args)
            start = max((arrival[i] for i in args if self.stage[i] == stage), default=0.0)
            if start + self.delay[index] > self._budget(stage) and start > 0.0:
                stage, start = stage + 1, 0.0
            self.stage[index] = stage
            arrival[index] = start + self.delay[index]

    def move_late(self) -> None:
        for _ in range(4):
            moved = False
            for index in reversed(self.live):
                if index != self.net.output and self.net.nodes[index].op not in ("input", "const"):
                    moved |= self._try_later(index)
            if not moved:
                return

    def _try_later(self, index: int) -> bool:
        users = self.users[index]
        limit = min(self.stage[user] for user in users)
        now = self.stage[index]
        if limit == now:
            return False
        node = self.net.nodes[index]
        last = max(self.stage[user] for user in users)
        # Width of each operand, and the last stage in which another node uses it.
        operands = [
            (
                self.net.nodes[i].width,
                max((self.stage[u] for u in self.users[i] if u != index), default=self.stage[i]),
            )
            for i in set(node.args) - self.constant
        ]

        def bits(stage: int) -> int:
            """Register bits that depend on the node's stage."""
            own = (last - stage) * node.width
            return own + sum(width * max(other, stage) for width, other in operands)

        best, best_bits = now, bits(now)
        for stage in range(now + 1, limit + 1):
            if bits(stage) >= best_bits:
                continue
            self.stage[index] = stage
            if self._fits(index):
                best, best_bits = stage, bits(stage)
        self.stage[index] = best
        return best != now

    def _registers(self, index: int) -> int:
        last = max((self.stage[user] for user in self.users[index]), default=self.stage[index])
        return last - self.stage[index]

    def _fits(self, index: int) -> bool:
        taken = self._before(index, {}) + self._after(index, {})
        return taken <= self._budget(self.stage[index])

    def _budget(self, stage: int) -> float:
        """Logic that fits in a stage."""
        return self.budget if stage else self.first_budget

    def _before(self, index: int, known: dict[int, float]) -> float:
        """Longest path inside the stage up to and including ``index``."""
        if index in known:
            return known[index]
        stage = self.stage[index]
        start = self.source_ns if self.net.nodes[index].op == "input" else 0.0
        for arg in self.net.nodes[index].args:
            if arg not in self.constant and self.stage[arg] == stage:
                start = max(start, self._before(arg, known))
        known[index] = start + self.delay[index]
        return known[index]

    def _after(self, index: int, known: dict[int, float]) -> float:
        """Longest path inside the stage behind ``index``."""
        if index in known:
            return known[index]
        stage = self.stage[index]
        longest = 0.0
        for user in self.users[index]:
            if self.stage[user] == stage:
                longest = max(longest, self.delay[user] + self._after(user, known))
        known[index] = longest
        return longest

    def result(self) -> Pipeline:
        latency = self.stage[self.net.output] + 1
        bits = sum(self._registers(i) * self.net.nodes[i].width for i in self.live)
        bits -= sum(self._registers(i) * self.net.nodes[i].width for i in self.constant)
        known: dict[int, float] = {}
        stage_0 = [i for i in self.live if self.stage[i] == 0 and i not in self.constant]
        first = max((self._before(i, known) - self.source_ns for i in stage_0), default=0.0)
        slowest = max((self._before(i, known) for i in self.live if self.stage[i]), default=0.0)
        bits += self.net.nodes[self.net.output].width
        return Pipeline(self.stage, latency, bits, max(0.0, first), max(first, slowest))
