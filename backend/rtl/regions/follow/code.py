"""A function's regions as a Python generator that writes the trace of a run.

What decides the order and the number of stream operations is computed (:mod:`.needs`), and nothing else. The
generator yields a queue when it waits for a word of it, and None where a process that never ends has gone on
for long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from ...compiled import CompiledModule
from ...graph.nodes import Body, Node
from ...graph.prune import bodies_of, regions_of
from ...graph.regions import Block, Call, If, Leaf, Level, Loop, Region, Seq, While
from ...plan.cycles import region_cycles
from ..refusal import Unforeseen
from ..variants import PIPE, STEPS, ordered, shape_of
from . import repeats, stepped
from .behind import asked_behind
from .bodies import BodyCode
from .needs import Needs, places_of
from .values import mask

Run = Callable[..., Iterator[Any]]


class FunctionCode(BodyCode):
    """One function's generator.

    Args:
        cycles_of: cycles of a called function that never waits and decides nothing, None for any other.

    Attributes:
        timed: whether it asks streams without waiting, and what it finds decides what it does.
        pure: whether a run of it depends on nothing outside of it but its scalar arguments.
    """

    def __init__(
        self,
        module: CompiledModule,
        needs: Needs,
        buffers: dict[int, int],
        cycles_of: Callable[[str], int | None],
    ) -> None:
        super().__init__(module, needs, buffers)
        self._cycles_of = cycles_of
        nodes = [node for body in bodies_of(module.function.root) for node in body.nodes]
        self.timed = any(map(self.answers, nodes))
        self.pure = not needs.streams and not needs.arrays and not self.timed
        self.asks = bool(needs.places)

    def compile(self) -> Run:
        """The generator ``run(T, M, Q, X, C)``: tracer, memories by array, queues, scalars, channels."""
        function = self.module.function
        crossing = sorted(
            node.number
            for body in bodies_of(function.root)
            for node in body.nodes
            if node.number in self.needs.nodes
        )
        if crossing:
            self._line(" = ".join(f"v{n}" for n in crossing) + " = 0")
        for position, node in enumerate(function.scalar_args):
            if node.number in self.needs.nodes:
                self._line(f"v{node.number} = X[{position}]")
        for region in regions_of(function.root):
            if isinstance(region, Leaf) and (moving := stepped.deciding(region, self.needs.nodes)):
                self._line(stepped.starts(moving))
        self._sequence(function.root, root=True)
        if function.drain:
            self._wait(str(function.drain))
        if any(isinstance(value, Node) for value in function.returned):
            self._wait("1")
        for stream in function.streams:
            if self.buffers.get(stream.number) and stream.direction == "put":
                self._line(f"T.settle(C[{stream.number}])")
        with self._fresh():
            results = [
                self._value(value)
                if isinstance(value, Node) and position in self.needs.results
                else "0"
                for position, value in enumerate(function.returned)
            ]
            self._line(f"return ({''.join(f'{r}, ' for r in results)})")
        self._line("yield None")
        text = "def run(T, M, Q, X, C):\n" + "\n".join(self._lines) + "\n"
        exec(compile(text, f"<regions of {function.name}>", "exec"), self._space)
        run: Run = self._space["run"]
        return run

    # --- regions ---------------------------------------------------------------------

    def _sequence(self, seq: Seq, *, root: bool = False) -> None:
        """Regions one after the other; an empty one takes a cycle."""
        for position, child in enumerate(seq.children):
            if position and seq.waits.get(position):
                self._wait(str(seq.waits[position]))
            self._region(child)
        if not seq.children:
            self._wait("1")

    def _region(self, region: Region) -> None:
        cycles = region_cycles(region, self._cycles_of) if self._is_quiet(region) else None
        if cycles is not None:
            self._wait(str(cycles))
            return
        match region:
            case Seq():
                self._sequence(region)
            case Block():
                self._straight(region.body)
            case Leaf():
                with self._fresh():
                    self._leaf(region)
            case Loop():
                self._loop(region)
            case If():
                with self._fresh():
                    condition = self._value(region.condition)
                for head, branch in ((f"if {condition}:", region.then), ("else:", region.other)):
                    with self._block(head):
                        self._sequence(branch)
            case While():
                self._while(region)
            case Call():
                with self._fresh():
                    self._call(region)
            case _:
                raise Unforeseen(f"it holds a {type(region).__name__}")

    def _is_quiet(self, region: Region) -> bool:
        """Whether a region passes no words, and changes nothing that decides."""
        for inner in regions_of(region):
            if isinstance(inner, Call) and self._cycles_of(inner.callee) is None:
                return False
            if isinstance(inner, Block | Leaf) and (
                any(map(self._counts, inner.body.nodes)) or self._asks(inner.body)
            ):
                return False
        return True

    def _counts(self, node: Node) -> bool:
        if node.stream is not None:
            return True
        if node.kind == "store":
            assert node.access is not None
            return node.access.array.number in self.needs.arrays
        # Values that cross bodies may decide elsewhere.
        return node.crosses and node.number in self.needs.nodes

    def _straight(self, body: Body) -> None:
        if _tries(body) and self._asks(body):
            raise Unforeseen("a step asks both streams and ports of memories", body.nodes[0].place)
        with self._fresh():
            holds = self._body(body)
        self._filling = None
        self._refuse_overlap(body)
        if any(node.stream is not None for node in body.nodes):
            self._emit(body, STEPS, holds)
        elif self._asks(body):
            self._line(f"T.note({self._shape(body, STEPS)}, {holds}, 0)")
            self._line(f"T.flush({body.stay})")
        else:
            self._wait(str(body.stay))

    def _emit(self, body: Body, kind: int, holds: str, times: str = "1") -> None:
        made = self._part(body, len(ordered(body)), last=True) if self._cut else ""
        self._line(f"T.emit({made or self._shape(body, kind)}, {holds}, C, {times})")

    def _shape(self, body: Body, kind: int) -> str:
        function, requests = self.module.function, self._requests
        made = shape_of(function, body, self.buffers, self._frozen, requests)
        return self._own("S", (made, kind))

    def _loop(self, loop: Loop) -> None:
        level = loop.level
        with self._fresh():
            head, before = self._levels([level])
        with self._guarded([level], before):
            with self._block(head[0]):
                for line in head[1:]:
                    self._line(line)
                self._sequence(loop.child)
                if loop.guard is not None:
                    with self._fresh():
                        self._line(f"if not {self._value(loop.guard)}: break")
                if loop.wait:
                    self._wait(str(loop.wait))
            if loop.wait:
                self._wait(str(-loop.wait))

    def _levels(self, levels: Sequence[Level]) -> tuple[list[str], str]:
        """The head of one loop, the lines that begin its body, and whether it runs at all, "" for always."""
        (level,) = levels
        iv = f"v{level.iv.number}"
        if level.trips is not None:
            return [f"for {iv} in range({max(1, level.trips)}):"], ""
        assert level.lower is not None and level.upper is not None
        lower, upper = self._signed(level.lower), self._signed(level.upper)
        step = str(level.step) if level.stride is None else self._signed(level.stride)
        found = self._own("R", None)
        self._line(f"{found} = range({lower}, {upper}, max(1, {step}))")
        runs = f"len({found})" if level.stride is None else f"({step}) > 0 and len({found})"
        bits = mask(level.iv.width)
        if level.counts:
            return [f"for {iv} in range(len({found})):"], runs
        return [f"for {iv} in {found}:", f"{iv} &= {bits}"], runs

    @contextmanager
    def _guarded(self, levels: Sequence[Level], runs: str) -> Iterator[None]:
        """A loop that takes a cycle where it finds that it does not run."""
        if not runs:
            yield
            return
        with self._block(f"if not ({runs}):"):
            self._wait("1")
        with self._block("else:"):
            yield

    def _while(self, region: While) -> None:
        if region.never_ends:
            with self._block("while True:"):
                self._sequence(region.child)
                self._line("if T.full: yield None")
            return
        with self._block("while True:"):
            self._sequence(region.test)
            with self._fresh():
                condition = self._value(region.condition)
                with self._block(f"if not {condition}:"):
                    self._wait("1")
                    self._line("break")
            self._sequence(region.child)

    # --- loops without loops inside ---------------------------------------------------

    def _leaf(self, leaf: Leaf) -> None:
        body = leaf.body
        waits = any(node.waits for node in body.nodes)
        if waits and leaf.exit is not None and body.overlaps:
            raise Unforeseen("a pipeline that waits for streams is left early", leaf.place)
        if not waits:
            self._line("K = 0")
        if tried := _tries(body):
            self._refuse_tries(leaf, tried, waits)
        self._refuse_overlap(body)
        kind = PIPE if body.overlaps else STEPS
        if not leaf.levels:
            with self._block("while True:"):
                self._iteration(leaf, waits, kind)
                self._line("if T.full: yield None")
            self._end_of_leaf(leaf, waits)
            return
        plain = waits and not self._decides(body) and leaf.exit is None
        if plain and all(level.trips is not None for level in leaf.levels):
            trips = _trips(leaf.levels)
            self._requests = []  # it asks for no port, whatever the body before it has asked for
            self._emit(body, kind, "0", str(trips))
            self._end_of_leaf(leaf, waits)
            return
        self._nest(leaf, waits, kind)

    def _refuse_overlap(self, body: Body) -> None:
        """Refuse what asks for ports while something follows it that may ask streams without waiting."""
        if self.timed and self._asks(body) and body.runs_on:
            raise Unforeseen(
                "what asks streams follows a pipeline that waits for ports", body.nodes[0].place
            )

    def _refuse_tries(self, leaf: Leaf, tried: Node, waits: bool) -> None:
        """Refuse to follow iterations that ask streams without waiting, and do not begin at known cycles."""
        name = "" if tried.stream is None else tried.stream.name
        if waits and leaf.body.overlaps:
            raise Unforeseen(f"a pipeline asks {name} without waiting, and waits", tried.place)
        if leaf.gap or leaf.body.runs_on:
            raise Unforeseen(f"a pipeline that others follow asks {name}", tried.place)
        if self._asks(leaf.body):
            raise Unforeseen(f"a loop asks both {name} and ports of memories", tried.place)

    def _decides(self, body: Body) -> bool:
        """Whether iterations of a body differ in what they pass, or change what decides."""
        return any(
            (node.stream is not None and node.predicate is not None)
            or self.answers(node)
            or bool(places_of(node, self.module, self.needs))
            or (node.stream is not None and node.stream.number in self.needs.streams)
            or (node.stream is None and self._counts(node))
            for node in body.nodes
        )

    def _repeating(self, leaf: Leaf, kind: int) -> None:
        """A nest of a known number of iterations, of which those that come again are copied."""
        before, depth = self._lines, self._depth
        self._lines, self._depth = [], 0
        self._iteration(leaf, True, kind)
        lines, self._lines = self._lines, before
        plain = not stepped.deciding(leaf, self.needs.nodes) and not any(
            node.crosses and node.number in self.needs.nodes for node in leaf.body.nodes
        )
        count = repeats.outer_levels(leaf.levels, lines) if plain else 0
        self._depth = depth
        if count:
            times = _trips(leaf.levels[:count])
            held = "".join(f"{memory}, " for memory in repeats.changed(lines))
            self._line(f"for _ in T.replay({times}, ({held})):")
            self._depth += 1
        for level in leaf.levels[count:]:
            self._line(self._levels([level])[0][0])
            self._depth += 1
        for line in lines:
            self._line(line)
        self._depth = depth

    def _nest(self, leaf: Leaf, waits: bool, kind: int) -> None:
        if waits and leaf.exit is None and all(level.trips is not None for level in leaf.levels):
            self._repeating(leaf, kind)
            self._end_of_leaf(leaf, waits)
            return
        depth, guards = self._depth, []
        checks = []
        for level in leaf.levels:
            if level.trips is None:
                # Bounds may follow from counters of this nest, whose first values are 0.
                self._line(f"v{level.iv.number} = 0")
        for level in leaf.levels:
            if level.trips is None:
                with self._fresh():
                    _, runs = self._levels([level])
                checks.append(runs)
        with self._guarded(leaf.levels, " and ".join(checks)):
            self._line("E = 0")
            for level in leaf.levels:
                with self._fresh():
                    head, _ = self._levels([level])
                self._line(head[0])
                self._depth += 1
                guards.append(level)
                for line in head[1:]:
                    self._line(line)
            self._iteration(leaf, waits, kind)
            if leaf.exit is not None:
                for _ in guards[1:]:
                    self._depth -= 1
                    self._line("if E: break")
            self._depth -= len(guards) if leaf.exit is None else 1
            self._end_of_leaf(leaf, waits)
        self._depth = depth

    def _iteration(self, leaf: Leaf, waits: bool, kind: int) -> None:
        body, found = leaf.body, leaf.exit
        nodes = list(body.nodes)
        if found is not None and found.guessing:
            present = {node.number for node in nodes}
            nodes = [n for n in found.nodes if n.number in present or n.number in self.needs.nodes]
        with self._fresh():
            holds = self._body(body, nodes, timed=not waits)
            if waits:
                self._emit(body, kind, holds)
            else:
                if self._asks(body):
                    begin = f"K * {body.ii}"
                    if leaf.gap:
                        begin += f" + K // {_trips(leaf.levels[leaf.outer :])} * {leaf.gap}"
                    self._line(f"T.note({self._shape(body, kind)}, {holds}, {begin})")
                self._line("K += 1")
                self._line("if not K & 65535: T.check()")
            if found is not None:
                for guess in found.guesses if found.guessing else ():
                    self._final(guess.store, guess.final)
                self._line(f"E = {self._value(found.node)}")
            moving = stepped.deciding(leaf, self.needs.nodes)
            if moving:
                self._line(stepped.step(moving, leaf))
            if found is not None:
                if moving:
                    self._line(f"if E: {stepped.starts(moving)}")
                self._ask_behind(leaf)
                self._line("if E: break")
        self._filling = None

    def _ask_behind(self, leaf: Leaf) -> None:
        """Note what iterations have asked for behind the one that leaves the loop."""
        counts = [level.trips for level in leaf.levels]
        for behind, requests in asked_behind(leaf, self.module, self.needs).items():
            if None in counts:
                raise Unforeseen("a loop of an unknown length that is left early asks for ports")
            more = f" and K + {behind - 1} < {_trips(leaf.levels)}" if counts else ""
            made = shape_of(self.module.function, leaf.body, self.buffers, self._frozen, requests)
            shape = self._own("S", (made, PIPE))
            begin = f"(K + {behind - 1}) * {leaf.body.ii}"
            self._line(f"if E{more}: T.note({shape}, 0, {begin})")

    def _final(self, store: Node, final: Node) -> None:
        """What the last iteration leaves in a register, which every other one leaves, too."""
        access = store.access
        assert access is not None
        if access.array.number in self.needs.arrays:
            array, place = self._address(store)
            self._line(f"{array}[{place}] = {self._value(final)}")

    def _end_of_leaf(self, leaf: Leaf, waits: bool) -> None:
        body = leaf.body
        if waits:
            if body.overlaps:
                self._line(f"T.drain({body.depth})")
            return
        gaps = (_trips(leaf.levels[: leaf.outer]) - 1) * leaf.gap
        cycles = f"(K - 1) * {body.ii} + {gaps + body.stay}"
        if self._asks(body) or _tries(body):
            self._line(f"T.flush({cycles})")
        else:
            self._wait(cycles)

    # --- calls -----------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        cycles = self._cycles_of(call.callee)
        if cycles is not None:
            self._wait(str(cycles + 1))
            return
        arrays = ", ".join(str(array.number) for array in call.arrays)
        scalars = ", ".join(
            self._value(node) if node.number in self.needs.nodes or node.kind == "const" else "0"
            for node in call.scalars
        )
        streams = ", ".join(str(stream.number) for stream in call.streams)
        given = f"M, ({arrays}{',' * bool(arrays)}), Q, C, ({streams}{',' * bool(streams)})"
        text = f"yield from T.call({call.callee!r}, {given}, ({scalars}{',' * bool(scalars)}))"
        self._line(f"Z = {text}")
        for position, node in enumerate(call.results):
            if node.number in self.needs.nodes:
                self._line(f"v{node.number} = Z[{position}]")


def _trips(levels: Sequence[Level]) -> int:
    """Iterations of a nest whose counts are known, each of them one at least."""
    return prod(max(1, level.trips or 1) for level in levels)


def _tries(body: Body) -> Node | None:
    """The first operation of a body that asks a stream without waiting."""
    return next((node for node in body.nodes if node.tries), None)
