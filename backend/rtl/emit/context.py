"""What the parts of a function's emitter share: its text, and the values of nodes in the steps of bodies."""

from __future__ import annotations

from ..graph.nodes import Body, Node
from ..graph.prune import bodies_of
from ..graph.regions import Function
from ..netlist.locations import Locations
from ..plan.bind import Binding
from ..plan.timing_model import TimingModel
from ..waiting import ModuleWaits
from .activity import Activity, Tokens
from .addresses.sums import LinearSums
from .bounds import BoundsWatch
from .builder import ModuleBuilder
from .units import Units


class Context:
    """One function as its text is written.

    Attributes:
        static: the body of values that do not change while others run.
        tokens: when each body runs, by number.
        homes: the body whose counter a node is.
        stable, raw: names of nodes' values: where they do not change, and as their logic gives them.
        waits_inside: whether a body freezes the function's registers while it waits for a stream.
        alone: the body that does so, where it is the only one and has one step at a time: whether that
            step waits then says whether the registers stand still.
        apart: numbers of the bodies that have no iteration under way while another one waits: their
            registers need not stand still.
        local: name of the bit that says that no such body waits, "" where there is none.
        called: whether a caller starts it, and holds the units it shares.
        debug: what registers are for, by name.
        again: the registers that hold what loads have taken on its way there, until the next iteration's
            load, by the loads' numbers.
        finals: when a register takes what the last iteration of a loop leaves in it, by the number of
            the store that has guessed until then.
        waits: where it can wait, for who asks why nothing goes on.
    """

    def __init__(
        self,
        function: Function,
        static: Body,
        binding: Binding,
        locations: Locations,
        timing: TimingModel,
        *,
        frozen: bool,
        lends: bool,
        told: int,
        checked: bool,
    ) -> None:
        self.function = function
        self.static = static
        self.binding = binding
        self.text = ModuleBuilder(function.module, locations, probed=True)
        self.tokens: dict[int, Tokens] = {}
        self.homes: dict[int, Body] = {}
        self.stable: dict[int, str] = {}
        self.raw: dict[int, str] = {}
        self._chains: dict[tuple[int, ...], str] = {}
        self._moving: dict[int, bool] = {}
        bodies = list(bodies_of(function.root))
        waiting = [
            b for b in bodies if not b.overlaps and any(n.stream is not None for n in b.nodes)
        ]
        self.waits_inside = bool(waiting)
        alone = len(waiting) == 1 and not waiting[0].runs_on and not frozen
        self.alone = waiting[0] if alone else None
        self._waiting_steps = (
            {n.time for n in waiting[0].nodes if n.stream is not None} if alone else set[int]()
        )
        self.apart = frozenset[int]() if frozen else _apart(bodies, waiting)
        self.local = ""
        self.called = lends
        if frozen or self.waits_inside:
            self.text.enable = self.text.named("advance__")
        if self.waits_inside:
            self.local = self.text.named("not_waiting__")
        self.units = Units(self.text, binding.units, lends=lends and not self.waits_inside)
        self.activity = Activity(self.text, self.tokens)
        self._sums = LinearSums(self.text, timing.sum_ns, self._late)
        checks = any(n.kind == "check" for body in bodies for n in body.nodes)
        self.watch = BoundsWatch(self.text, told, active=checks or checked)
        self.debug: dict[str, str] = {}
        self.again: dict[int, str] = {}
        self.finals: dict[int, str] = {}
        self.waits = ModuleWaits(function.name, function.place)

    def valid(self, body: Body, time: int) -> str:
        """High when the step ``time`` of an iteration runs."""
        tokens, text = self.tokens[body.number], self.text
        while len(tokens.valid) <= time:
            step = len(tokens.valid)
            name = text.named(f"b{body.number}_run{step}")
            self.announce(body, step, name)
            before = text.moves.get(tokens.valid[-1], tokens.valid[-1])
            if tokens.stop and step <= tokens.decided:
                before = text.all_of(before, text.invert(tokens.stop))
            if step in self._waiting_steps and body is self.alone:
                before = text.any_of(before, text.all_of(name, text.invert(text.moves[name])))
            free = body is self.alone or body.number in self.apart
            busy, place = tokens.scope, tokens.place
            text.register(name, before, 1, reset=0, free=free, busy=busy, place=place)
            tokens.valid.append(name)
            self.debug[name[1:]] = f"step {step} of {tokens.what}"
        return tokens.valid[time]

    def announce(self, body: Body, step: int, run: str) -> None:
        """Name what says that a step goes on, where its registers need no more than that.

        This is so in the only body that waits, and in those that are under way while none waits.

        Args:
            run: high while the step runs.
        """
        if body is self.alone:
            self.text.moves[run] = self.text.fresh() if step in self._waiting_steps else run
        elif body.number in self.apart:
            self.text.moves[run] = run

    def settled(self, body: Body, condition: str) -> str:
        """A condition that holds only while a body is under way, which may be so while none waits."""
        if body.number in self.apart:
            self.text.moves.setdefault(condition, condition)
        return condition

    def scope(self, body: Body, step: int) -> tuple[str, ...]:
        """Bits of the simulator's text that are high when ``step`` of an iteration runs."""
        return (*self.tokens[body.number].scope, self.activity.of(body, step))

    def value(self, node: Node, body: Body, time: int) -> str:
        """A node's value as step ``time`` of a body sees it."""
        if node.kind == "const":
            return self.text.const(node.data, node.width)
        if self.homes.get(node.number) is body:
            return self._held(node, self.stable[node.number], body, -1, time, first=1)
        if node.is_free or node.body is not body:
            return self._seen(node, body, time)
        if time == node.avail:
            return self.raw_value(node)
        return self._held(node, self.raw_value(node), body, node.avail, time, first=0)

    def _seen(self, node: Node, body: Body, time: int) -> str:
        """A value of outside as an iteration sees it: that of its issue, though it may have changed."""
        base = self.stable_value(node)
        if not body.runs_on or not self._changes(node):
            return base
        if body.overlaps:
            return self._held(node, base, body, -1, time, first=1)
        if time < body.stay:
            return base
        key = (node.number, 0, body.number)
        found = self._chains.get(key)
        if found is None:
            step = body.stay - 1
            label = node.label or node.kind
            found = self._chains[key] = self.text.named(f"{label}_b{body.number}_kept")
            busy = (self.activity.of(body, step),)
            enable = self.valid(body, step)
            self.text.register(found, base, node.width, enable=enable, busy=busy, place=node.place)
        return found

    def _changes(self, node: Node) -> bool:
        """Whether a value of outside a body may change while the function runs."""
        found = self._moving.get(node.number)
        if found is None:
            if node.body is not self.static or not node.operands:
                found = node.kind not in ("const", "arg")
            else:
                found = any(self._changes(operand) for operand in node.operands)
            self._moving[node.number] = found
        return found

    def constant(self, value: int, width: int) -> Node:
        """A constant node that the graph does not hold."""
        return Node(0, "const", width, data=value)

    def stable_value(self, node: Node) -> str:
        """A node's value where it does not change: constants, held values, logic on them."""
        if node.kind == "const":
            return self.text.const(node.data, node.width)
        found = self.stable.get(node.number)
        if found is not None:
            return found
        if node.body is self.static:
            operands = [self.stable_value(o) for o in node.operands]
            name = self.compute(node, operands)
        else:
            assert node.body is not None
            name = self._held(node, self.raw_value(node), node.body, node.avail, node.avail + 1, 0)
        self.stable[node.number] = name
        return name

    def raw_value(self, node: Node) -> str:
        """The name under which the node's own logic gives its value."""
        name = self.raw.get(node.number)
        if name is None:
            name = self.raw[node.number] = self.text.fresh()
        return name

    def _held(self, node: Node, base: str, body: Body, born: int, time: int, first: int) -> str:
        """The copy of a value that holds in step ``time``; ``born`` is the cycle it appears.

        Copy ``k`` is loaded ``(k - 1) * ii`` cycles after ``born``; ``first`` is the number of
        the copy that ``base`` itself is (1 for a counter, which holds for a whole interval).
        """
        ii = body.ii
        wanted = -(-(time - born) // ii)
        name = base
        if wanted > first and node.number in self.again:
            name, first = self.again[node.number], first + 1
        for copy in range(first + 1, wanted + 1):
            key = (node.number, copy) if node.body is body else (node.number, copy, body.number)
            found = self._chains.get(key)
            if found is None:
                step = born + (copy - 1) * ii
                label = node.label or node.kind
                found = self.text.named(f"{label}_b{body.number}_{step + 1}")
                enable = "" if ii == 1 and body.overlaps else self.valid(body, step)
                busy = (self.activity.of(body, step),)
                self.text.register(
                    found,
                    name,
                    node.width,
                    enable=enable,
                    free=not enable and body.number in self.apart,
                    busy=busy,
                    place=node.place,
                )
                self._chains[key] = found
                if node.place is not None:
                    what = node.operator.name if node.operator is not None else label
                    self.debug[found[1:]] = f"{what} ({node.place})"
            name = found
        return name

    def name_raw(self, node: Node, result: str) -> None:
        """Say which value is a node's own."""
        known = self.raw.get(node.number)
        if known is None:
            self.raw[node.number] = result
        elif known != result:
            self.text.alias(known, result, node.width)

    def compute(self, node: Node, operands: list[str], body: Body | None = None) -> str:
        """The value of a node's own logic; an operator that takes cycles needs its body."""
        match node.kind:
            case "lin":
                return self._sums.emit(node, operands)
            case "wire":
                return self._wire(node, operands)
        operator = node.operator
        assert operator is not None
        if operator.latency == 0:
            assert operator.emit is not None
            made, result = operator.emit(operands, self.text.fresh)
            for op in made:
                self.text.add(op, node.place)
            return result
        assert body is not None
        busy = self.activity.of(body, node.time + operator.latency)
        unit = operator.module, node.unit
        return self.units.use(unit, self.valid(body, node.time), operands, busy, node.place)

    def _wire(self, node: Node, operands: list[str]) -> str:
        how, low = node.data
        if how == "concat":
            widths = [operand.width for operand in node.operands]
            parts = list(zip(operands[::-1], widths[::-1], strict=True))
            return self.text.concat(parts, node.place)
        operand = operands[0]
        source = node.operands[0].width
        if how == "slice":
            return self.text.slice(operand, low, node.width, source)
        return self.text.extend(operand, source, node.width, signed=how == "sext")

    def _late(self, operand: Node, node: Node) -> float:
        """Nanoseconds into the cycle of a node until an operand is stable, 0 where a register holds it."""
        if operand.body is self.static:
            return operand.settle
        here = operand.body is node.body and operand.avail == node.time
        return operand.settle if here and not operand.is_free else 0.0


def _apart(bodies: list[Body], waiting: list[Body]) -> frozenset[int]:
    """Numbers of the bodies that are never under way while one of ``waiting`` is.

    One region runs after the other, and only a body that runs on goes beyond its region.
    """
    if not waiting or any(body.runs_on for body in waiting):
        return frozenset()
    return frozenset(b.number for b in bodies if b not in waiting and not b.runs_on)
