"""One scheduled and bound function to the text of its hw.module."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ..graph.nodes import Body, Function, Node
from ..graph.prune import bodies_of
from ..operators.spec import Operator
from ..plan.bind import Binding, Interface, unit_stem
from ..waiting import ModuleWaits
from .activity import Activity
from .bounds import BoundsWatch
from .control import Control
from .memories import Memories
from .stream_ports import StreamPorts
from .text import Locations, ModuleText, identifier


@dataclass(slots=True)
class Tokens:
    """When a body runs: ``issue`` is high in the first cycle of each iteration.

    ``scope`` are the bits of :class:`.activity.Activity` for the regions around it.
    """

    body: Body
    issue: str
    valid: list[str] = field(default_factory=list)
    what: str = ""
    scope: tuple[str, ...] = ()


class Emitter:
    """Writes one function."""

    def __init__(
        self,
        function: Function,
        static: Body,
        binding: Binding,
        callees: dict[str, Interface],
        locations: Locations,
        *,
        frozen: bool = False,
        lends: bool = False,
        told: int = 0,
    ) -> None:
        self.function = function
        self.static = static
        self.binding = binding
        self.callees = callees
        self.text = ModuleText(function.module, locations, probed=True)
        self.tokens: dict[int, Tokens] = {}
        self.homes: dict[int, Body] = {}
        self.stable: dict[int, str] = {}
        self.raw: dict[int, str] = {}
        self._chains: dict[tuple[int, int], str] = {}
        self._units: dict[tuple[str, int], list[tuple[str, list[str]]]] = defaultdict(list)
        self._unit_users: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._unit_results: dict[tuple[str, int], str] = {}
        self._frozen = frozen
        self._waits = any(
            not body.overlaps and any(n.stream is not None for n in body.nodes)
            for body in bodies_of(function.root)
        )
        self.local = ""
        self.called = lends
        self.lends = lends and not self._waits
        if frozen or self._waits:
            self.text.enable = self.text.named("advance__")
        if self._waits:
            self.local = self.text.named("not_waiting__")
        self.memories = Memories(self)
        self.streams = StreamPorts(self)
        self.control = Control(self)
        self.activity = Activity(self)
        checks = any(n.kind == "check" for b in bodies_of(function.root) for n in b.nodes)
        below = any(callee.bounds for callee in callees.values())
        self.watch = BoundsWatch(self.text, told, active=checks or below)
        self.debug: dict[str, str] = {}
        self.waits = ModuleWaits(function.name, function.place)

    def run(self) -> Interface:
        """Emit everything; the text is then in ``self.text``."""
        interface = Interface(self.function.module, self.function.cycles)
        interface.ports = self.text.ports
        self.text.input("start", "i1")
        for name in ("start", "done"):
            self.text.reserve(name)
        if self._frozen:
            self.text.input("ce", "i1")
            interface.frozen = True
        self._scalar_inputs(interface)
        self.memories.declare(interface)
        self.streams.declare(interface)
        last = self.control.emit()
        for body in bodies_of(self.function.root):
            self._emit_body(body)
        self.control.finish()
        self._emit_units(interface)
        self.memories.finish()
        self.streams.finish()
        self._freeze()
        self.text.output("done", "i1", self._done(last))
        self._scalar_outputs(interface)
        interface.bounds = self.watch.finish()
        self.activity.finish()
        return interface

    # --- interface -----------------------------------------------------------------

    def _scalar_inputs(self, interface: Interface) -> None:
        for node in self.function.scalar_args:
            self.text.reserve(identifier(node.label))
        for node in self.function.scalar_args:
            name = identifier(node.label)
            port = self.text.input(name, f"i{node.width}")
            held = self.text.named(f"{name}_held")
            self.text.register(held, port, node.width, enable="%start", place=self.function.place)
            self.stable[node.number] = held
            interface.scalars_in.append((name, node.width))

    def _freeze(self) -> None:
        """Say when the registers move."""
        gates = ["%ce"] if self._frozen else []
        if self._waits:
            waiting = self.text.any_of(*self.streams.stalls)
            self.alias(self.local, self.text.invert(waiting), 1)
            gates.append(self.local)
        if self.text.enable:
            self.alias(self.text.enable, self.text.all_of(*gates), 1)

    def _done(self, last: str) -> str:
        text = self.text
        if any(isinstance(value, Node) for value in self.function.returned):
            last = text.register(text.named("done_q"), last, 1, reset=0, place=self.function.place)
        drained = self.streams.drained()
        if drained:
            ending = text.named("ending")
            over = text.any_of(last, ending)
            text.register(ending, text.all_of(over, text.invert(drained)), 1, reset=0)
            self.streams.probe_ending(ending)
            last = text.all_of(over, drained)
        return text.all_of(last, text.enable) if text.enable else last

    def _scalar_outputs(self, interface: Interface) -> None:
        results = [v for v in self.function.returned if isinstance(v, Node)]
        taken = {name for name, _ in interface.scalars_in}
        for position, node in enumerate(results):
            name = "res" if len(self.function.returned) == 1 else f"res{position}"
            while name in taken:
                name += "_"
            taken.add(name)
            self.text.output(name, f"i{node.width}", self.stable_value(node))
            interface.scalars_out.append((name, node.width))

    # --- values ----------------------------------------------------------------------

    def valid(self, body: Body, time: int) -> str:
        """High when the step ``time`` of an iteration runs."""
        tokens = self.tokens[body.number]
        while len(tokens.valid) <= time:
            step = len(tokens.valid)
            name = self.text.named(f"b{body.number}_run{step}")
            self.text.register(name, tokens.valid[-1], 1, reset=0, busy=tokens.scope)
            tokens.valid.append(name)
            self.debug[name[1:]] = f"step {step} of {tokens.what}"
        return tokens.valid[time]

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
            return self.stable_value(node)
        if time == node.avail:
            return self.raw_value(node)
        return self._held(node, self.raw_value(node), body, node.avail, time, first=0)

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
            name = self._compute(node, operands)
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
        for copy in range(first + 1, wanted + 1):
            key = (node.number, copy)
            found = self._chains.get(key)
            if found is None:
                step = born + (copy - 1) * ii
                label = node.label or node.kind
                found = self.text.named(f"{label}_b{body.number}_{step + 1}")
                enable = "" if ii == 1 and body.overlaps else self.valid(body, step)
                busy = (self.activity.of(body, step),)
                self.text.register(
                    found, name, node.width, enable=enable, busy=busy, place=node.place
                )
                self._chains[key] = found
                if node.place is not None:
                    what = node.operator.name if node.operator is not None else label
                    self.debug[found[1:]] = f"{what} ({node.place})"
            name = found
        return name

    # --- bodies ------------------------------------------------------------------------

    def _emit_body(self, body: Body) -> None:
        for node in body.nodes:
            match node.kind:
                case "load":
                    self.memories.load(node, body)
                case "store":
                    self.memories.store(node, body)
                case "get" | "put":
                    continue
                case "check":
                    self._check(node, body)
                case _:
                    operands = [self.value(o, body, node.time) for o in node.operands]
                    result = self._compute(node, operands, body)
                    self.name_raw(node, result)

        if any(node.stream is not None for node in body.nodes):
            if body.overlaps:
                self.streams.pipelined(body)
            else:
                self.streams.sequential(body)

    def _check(self, node: Node, body: Body) -> None:
        """A check of subscripts: its value is whether none has failed so far."""
        text = self.text
        inside, predicate, *words = (self.value(o, body, node.time) for o in node.operands)
        running = [self.valid(body, node.time), predicate, *([text.enable] if text.enable else [])]
        self.watch.check(text.all_of(*running, text.invert(inside)), node.data, words)
        holds = text.any_of(inside, text.invert(predicate))
        self.name_raw(node, text.all_of(holds, text.invert(self.watch.seen)))

    def name_raw(self, node: Node, result: str) -> None:
        """Say which value is a node's own."""
        known = self.raw.get(node.number)
        if known is None:
            self.raw[node.number] = result
        elif known != result:
            self.alias(known, result, node.width)

    def alias(self, name: str, value: str, width: int) -> None:
        """Give a value that was promised a name."""
        self.text.line(f"{name} = comb.or {value} : i{width}")

    def _compute(self, node: Node, operands: list[str], body: Body | None = None) -> str:
        match node.kind:
            case "lin":
                return self._linear(node, operands)
            case "wire":
                return self._wire(node, operands)
        operator = node.operator
        assert operator is not None
        if operator.latency == 0:
            assert operator.emit is not None
            lines, result = operator.emit(operands, self.text.fresh)
            for line in lines:
                self.text.line(line, node.place)
            return result
        assert body is not None
        busy = self.activity.of(body, node.time + operator.latency)
        unit = operator.module, node.unit
        return self.use_unit(unit, self.valid(body, node.time), operands, busy)

    def _wire(self, node: Node, operands: list[str]) -> str:
        how, low = node.data
        if how == "concat":
            name = self.text.fresh()
            kinds = ", ".join(f"i{o.width}" for o in reversed(node.operands))
            self.text.line(
                f"{name} = comb.concat {', '.join(operands[::-1])} : {kinds}", node.place
            )
            return name
        operand = operands[0]
        source = node.operands[0].width
        if how == "slice":
            return self.text.slice(operand, low, node.width, source)
        return self.text.extend(operand, source, node.width, signed=how == "sext")

    def _linear(self, node: Node, operands: list[str]) -> str:
        width, text = node.width, self.text
        total = ""
        for (symbol, factor), operand in zip(node.data.terms, operands, strict=True):
            value = text.extend(operand, symbol.width, width, signed=symbol.low < 0)
            if factor % (1 << width) == 0:
                continue
            size = abs(factor)
            if size != 1:
                value = self._scaled(value, size, width, node)
            if factor < 0:
                total = text.binary("sub", total or text.const(0, width), value, width, node.place)
            else:
                total = text.binary("add", total, value, width, node.place) if total else value
        if node.data.const % (1 << width) or not total:
            constant = text.const(node.data.const, width)
            total = text.binary("add", total, constant, width, node.place) if total else constant
        return total

    def _scaled(self, value: str, factor: int, width: int, node: Node) -> str:
        if factor & (factor - 1) == 0:
            shift = text_shift = factor.bit_length() - 1
            kept = width - shift
            low = self.text.slice(value, 0, kept, width)
            zeros = self.text.const(0, text_shift)
            name = self.text.fresh()
            self.text.line(f"{name} = comb.concat {low}, {zeros} : i{kept}, i{shift}")
            return name
        return self.text.binary("mul", value, self.text.const(factor, width), width, node.place)

    # --- units ----------------------------------------------------------------------------

    def use_unit(self, key: tuple[str, int], condition: str, operands: list[str], busy: str) -> str:
        """Give a unit operands while a condition holds; the name of its result.

        ``busy`` is high from then until the result is taken.
        """
        self._units[key].append((condition, operands))
        self._unit_users[key].append(busy)
        if key not in self._unit_results:
            self._unit_results[key] = self.text.fresh()
        return self._unit_results[key]

    def _emit_units(self, interface: Interface) -> None:
        """Instances of the units, or ports to those the caller holds."""
        for (module, number), users in self._units.items():
            operator = self.binding.units[module][0]
            inputs = [
                self.text.choose([(valid, operands[i]) for valid, operands in users], width)
                for i, width in enumerate(operator.operand_widths)
            ]
            result = self._unit_results[module, number]
            if not (self.lends and operator.shareable):
                self._instance(operator, (module, number), inputs, result)
                continue
            interface.units[module, number] = operator
            stem = unit_stem(module, number)
            for name, value, width in zip("abcd", inputs, operator.operand_widths, strict=False):
                self.text.output(f"{stem}_{name}", f"i{width}", value)
            answer = self.text.input(f"{stem}_r", f"i{operator.result_width}")
            self.alias(result, answer, operator.result_width)

    def _instance(
        self, operator: Operator, key: tuple[str, int], inputs: list[str], result: str
    ) -> None:
        ports = [
            f"{name}: {value}: i{width}"
            for name, value, width in zip("abcd", inputs, operator.operand_widths, strict=False)
        ]

        def instance(enable: str) -> str:
            joined = ", ".join(["clk: %clk: !seq.clock", f"ce: {enable}: i1", *ports])
            label = f"{key[0]}_{key[1]}"
            kind = f"(r: i{operator.result_width})"
            return f'{result} = hw.instance "{label}" @{operator.module}({joined}) -> {kind}'

        text = self.text
        busy = text.native_any_of(*self._unit_users[key])
        always = text.enable or text.const(1, 1)
        text.styled(instance(always), instance(text.native_all_of(text.enable, busy)))
