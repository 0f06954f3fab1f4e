"""One scheduled and bound function to the text of its hw.module."""

from __future__ import annotations

from ..graph.nodes import Body, Node
from ..graph.prune import bodies_of, regions_of
from ..graph.regions import Function, Leaf
from ..netlist.locations import Locations
from ..netlist.operations import section_of
from ..plan.bind import Binding, Interface
from ..plan.holds import NOTHING, Holds
from ..plan.timing_model import TimingModel
from .builder import identifier
from .calls import Calls
from .context import Context
from .control import Control
from .memory.memories import Memories
from .stream_ports import StreamPorts


class Emitter:
    """Writes one function.

    Attributes:
        lends: whether its arithmetic units are its caller's.
    """

    def __init__(
        self,
        function: Function,
        static: Body,
        binding: Binding,
        callees: dict[str, Interface],
        locations: Locations,
        timing: TimingModel,
        *,
        frozen: bool = False,
        lends: bool = False,
        holds: Holds = NOTHING,
        told: int = 0,
    ) -> None:
        self.function = function
        self.context = Context(
            function,
            static,
            binding,
            locations,
            timing,
            frozen=frozen,
            lends=lends,
            told=told,
            checked=any(callee.bounds for callee in callees.values()),
        )
        self.text = self.context.text
        self._frozen = frozen
        self.lends = lends and not self.context.waits_inside
        self.memories = Memories(self.context, holds)
        self.streams = StreamPorts(self.context, late_returns=timing.late_returns)
        self.calls = Calls(self.context, callees, self.memories, self.streams)
        self.control = Control(self.context, self.calls, self.streams)

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
        for position, array in enumerate(self.function.parameters):
            interface.separate[position] = self.context.binding.separate_of(array)
        self.streams.declare(interface)
        last = self.control.emit()
        for body in bodies_of(self.function.root):
            self.text.section(section_of(body.number))
            self._emit_body(body)
        self.text.section()
        self._finals()
        self.calls.finish()
        self.context.units.finish(interface)
        self.memories.finish()
        self.streams.finish()
        self._freeze()
        self.text.output("done", "i1", self._done(last))
        self._scalar_outputs(interface)
        interface.bounds = self.context.watch.finish()
        self.context.activity.finish()
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
            self.context.stable[node.number] = held
            interface.scalars_in.append((name, node.width))

    def _freeze(self) -> None:
        """Say when the registers move."""
        gates = ["%ce"] if self._frozen else []
        if self.context.waits_inside:
            waiting = self.text.any_of(*self.streams.stalls)
            self.text.alias(self.context.local, self.text.invert(waiting), 1)
            gates.append(self.context.local)
        if self.text.enable:
            self.text.alias(self.text.enable, self.text.all_of(*gates), 1)

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
        return text.moving(last)

    def _scalar_outputs(self, interface: Interface) -> None:
        results = [v for v in self.function.returned if isinstance(v, Node)]
        taken = {name for name, _ in interface.scalars_in}
        for position, node in enumerate(results):
            name = "res" if len(self.function.returned) == 1 else f"res{position}"
            while name in taken:
                name += "_"
            taken.add(name)
            self.text.output(name, f"i{node.width}", self.context.stable_value(node))
            interface.scalars_out.append((name, node.width))

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
                case "exit":
                    ends = self.context.value(node.operands[0], body, node.time)
                    self.context.name_raw(node, ends)
                case _:
                    operands = [self.context.value(o, body, node.time) for o in node.operands]
                    result = self.context.compute(node, operands, body)
                    self.context.name_raw(node, result)

        if any(node.stream is not None for node in body.nodes):
            if body.overlaps:
                self.streams.pipelined(body)
            else:
                self.streams.sequential(body)

    def _finals(self) -> None:
        """What the last iterations of loops leave in registers."""
        for region in regions_of(self.function.root):
            if isinstance(region, Leaf) and region.exit is not None and region.exit.guessing:
                for guess in region.exit.guesses:
                    self.memories.final(guess, region.body)

    def _check(self, node: Node, body: Body) -> None:
        """A check of subscripts: its value is whether none has failed so far."""
        text = self.text
        inside, predicate, *words = (self.context.value(o, body, node.time) for o in node.operands)
        running = [
            self.context.valid(body, node.time),
            predicate,
            *([text.enable] if text.enable else []),
        ]
        self.context.watch.check(text.all_of(*running, text.invert(inside)), node.data, words)
        holds = text.any_of(inside, text.invert(predicate))
        self.context.name_raw(node, text.all_of(holds, text.invert(self.context.watch.seen)))
