"""Control of a function: one pulse starts a region, one pulse says it is in its last cycle.

Every region has ``go``, high in its first cycle, and ``last``, high in its last; the next region's
``go`` is ``last`` one cycle later, so nothing is lost between regions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..graph.linear import bits_unsigned
from ..graph.nodes import Block, Body, Call, If, Leaf, Level, Loop, Node, Region, Seq, While
from ..plan.bind import Interface, unit_stem
from ..waiting import Member
from .text import Wiring

if TYPE_CHECKING:
    from .function import Emitter


class Control:
    """Emits the control of one function."""

    def __init__(self, emitter: Emitter) -> None:
        self._e = emitter
        self._calls: dict[str, list[tuple[str, Call]]] = defaultdict(list)
        self._selected: dict[tuple[str, int], str] = {}
        self._callee_done: dict[str, str] = {}
        self._scope: tuple[str, ...] = ()
        self._call_scopes: dict[str, list[tuple[str, ...]]] = defaultdict(list)

    @property
    def _text(self):
        return self._e.text

    def emit(self) -> str:
        """Emit all control; returns the last pulse of the function."""
        go = self._pulse("go", "%start")
        root = self._e.function.root
        if not root.children:
            return go
        with self._running(go) as ends:
            last = self._sequence(root, go)
            ends(last)
        return last

    def _pulse(self, hint: str, following: str) -> str:
        name = self._text.named(hint)
        return self._register(name, following, 1, reset=0)

    def _register(self, name: str, following: str, width: int, **fields: Any) -> str:
        """A register that does not move while a region around it does not run."""
        return self._text.register(name, following, width, busy=self._scope, **fields)

    @contextmanager
    def _running(self, go: str) -> Iterator[Callable[[str], None]]:
        """What is emitted inside moves only from ``go`` to the pulse that the given function is told."""
        saved = self._scope
        busy, ends = self._e.activity.region(go, saved)
        self._scope = (*saved, busy)
        yield ends
        self._scope = saved

    # --- regions ---------------------------------------------------------------

    def _region(self, region: Region, go: str) -> str:
        if not isinstance(region, Leaf | Loop | While | Call):
            return self._emit(region, go)
        with self._running(go) as ends:
            last = self._emit(region, go)
            ends(last)
        return last

    def _emit(self, region: Region, go: str) -> str:
        match region:
            case Seq():
                return self._sequence(region, go)
            case Block():
                return self._block(region.body, go)
            case Leaf():
                if region.condition is not None:
                    return self._while_leaf(region, go)
                return self._leaf(region, go)
            case Loop():
                return self._loop(region, go)
            case If():
                return self._if(region, go)
            case While():
                return self._while(region, go)
            case Call():
                return self._call(region, go)
        raise TypeError(region)

    def _sequence(self, seq: Seq, go: str) -> str:
        last = go
        for position, child in enumerate(seq.children):
            start = go if position == 0 else self._pulse("go", last)
            last = self._region(child, start)
        return last

    def _start(self, body: Body, issue: str, leaf: Leaf | None = None) -> None:
        """Say what issues a body's iterations, and what the body is for the debug map."""
        from .function import Tokens

        first = next((n.place for n in body.nodes if n.place is not None), None)
        what = f"code at {first}"
        if leaf is not None:
            name = "while loop" if leaf.condition is not None else f"loop {leaf.band}"
            what = f"{name} ({leaf.place})"
        self._e.tokens[body.number] = Tokens(body, issue, [issue], what, self._scope)
        if issue.startswith("%") and not issue[1:].isdigit():
            self._e.debug[issue[1:]] = f"step 0 of {what}"

    def _block(self, body: Body, go: str) -> str:
        self._start(body, go)
        return self._e.valid(body, body.depth - 1)

    def _if(self, region: If, go: str) -> str:
        condition = self._e.stable_value(region.condition)
        taken = self._text.all_of(go, condition)
        refused = self._text.all_of(go, self._text.invert(condition))
        ends = []
        for branch, start in ((region.then, taken), (region.other, refused)):
            ends.append(self._sequence(branch, start) if branch.children else start)
        return self._text.any_of(*ends)

    def _while(self, region: While, go: str) -> str:
        again = self._text.named("again")
        self._e.debug[again[1:]] = f"step 0 of while loop ({region.place})"
        start = self._text.any_of(go, again)
        decide = self._pulse("decide", self._sequence(region.test, start))
        condition = self._e.stable_value(region.condition)
        taken = self._text.all_of(decide, condition)
        end = self._sequence(region.child, taken) if region.child.children else taken
        self._register(again, end, 1, reset=0)
        return self._text.all_of(decide, self._text.invert(condition))

    # --- loops --------------------------------------------------------------------

    def _loop(self, region: Loop, go: str) -> str:
        text = self._text
        again = text.named("again")
        end = text.named(f"{region.level.name}_end")
        if region.level.trips is not None:
            start = text.any_of(go, again)
            final = self._counters([region.level], end)
            skipped = ""
        else:
            enter, skipped, final = self._range_loop(region.level, go, end)
            start = text.any_of(enter, again)
        last_of_child = self._sequence(region.child, start)
        self._e.alias(end, last_of_child, 1)
        self._register(again, text.all_of(end, text.invert(final)), 1, reset=0)
        finished = text.all_of(end, final)
        return text.any_of(finished, skipped) if skipped else finished

    def _leaf(self, leaf: Leaf, go: str) -> str:
        text, body, emitter = self._text, leaf.body, self._e
        for level in leaf.levels:
            emitter.homes[level.iv.number] = body
        advance = text.named(f"b{body.number}_advance")
        skipped = ""
        if all(level.trips is not None for level in leaf.levels):
            final = self._counters(leaf.levels, advance)
            enter = go
        else:
            enter, skipped, final = self._range_nest(leaf.levels, go, advance)
        self._issue(leaf, enter, final)
        emitter.alias(advance, emitter.valid(body, body.ii - 1), 1)
        last = self._last_token(body, final)
        return text.any_of(last, skipped) if skipped else last

    def _issue(self, leaf: Leaf, enter: str, final: str) -> None:
        """Start the body in the first cycle of each iteration."""
        text, body = self._text, leaf.body
        more = text.invert(final)
        if any(node.stream is not None for node in body.nodes) and body.overlaps:
            self._gated_issue(leaf, enter, more)
            return
        if all(level.trips == 1 for level in leaf.levels):
            self._start(body, enter, leaf)
            return
        active = text.named(f"b{body.number}_active")
        issue = text.named(f"b{body.number}_issue")
        self._start(body, issue, leaf)
        if body.ii == 1:
            self._e.alias(issue, text.any_of(enter, active), 1)
            self._register(active, more, 1, enable=issue, reset=0, place=leaf.place)
            return
        step = self._e.valid(body, body.ii - 1)
        self._register(active, text.all_of(step, more), 1, reset=0, place=leaf.place)
        self._e.alias(issue, text.any_of(enter, active), 1)

    def _gated_issue(self, leaf: Leaf, enter: str, more: str) -> None:
        """Start iterations that wait for streams."""
        text, body = self._text, leaf.body
        active = text.named(f"b{body.number}_active")
        issue = text.named(f"b{body.number}_issue")
        self._start(body, issue, leaf)
        want = text.any_of(enter, active)
        phase = self._phase_zero(body, issue) if body.ii > 1 else ""
        self._e.alias(issue, text.all_of(want, self._e.streams.front(leaf, want, phase, more)), 1)
        step = self._e.valid(body, body.ii - 1)
        waiting = text.all_of(want, text.invert(issue))
        following = text.any_of(text.all_of(step, more), waiting)
        self._register(active, following, 1, reset=0, place=leaf.place)

    def _phase_zero(self, body: Body, issue: str) -> str:
        """High every ``ii`` cycles after an issue, and when no iteration is under way.

        Ports and units are reserved by phase.
        """
        text, width = self._text, bits_unsigned(body.depth - 1)
        left, phase = text.named(f"b{body.number}_left"), text.named(f"b{body.number}_phase")
        zero, one = text.const(0, width), text.const(1, width)
        idle = text.compare("eq", left, zero, width)
        less = text.mux(idle, zero, text.binary("sub", left, one, width), width)
        following = text.mux(issue, text.const(body.depth - 1, width), less, width)
        self._register(left, following, width, reset=0)
        width = bits_unsigned(body.ii - 1)
        zero, one = text.const(0, width), text.const(1, width)
        following = text.binary("add", phase, one, width)
        if body.ii != 1 << width:
            end = text.compare("eq", phase, text.const(body.ii - 1, width), width)
            following = text.mux(end, zero, following, width)
        following = text.mux(issue, one, text.mux(idle, zero, following, width), width)
        self._register(phase, following, width, reset=0)
        return text.any_of(idle, text.compare("eq", phase, zero, width))

    def _last_token(self, body: Body, final: str) -> str:
        """High in the last cycle of the last iteration."""
        text = self._text
        if body.depth <= body.ii:
            return text.all_of(self._e.valid(body, body.depth - 1), final)
        token = text.all_of(self._e.valid(body, body.ii - 1), final)
        for step in range(body.ii, body.depth):
            token = self._pulse(f"b{body.number}_last{step}", token)
        return token

    def _counters(self, levels: list[Level], advance: str) -> str:
        """Counters of a nest with constant bounds; returns "this is the last iteration"."""
        carry, finals = advance, []
        for level in reversed(levels):
            end = self._counter(level, carry)
            if end:
                carry = self._text.all_of(carry, end)
                finals.append(end)
        return self._text.all_of(*finals)

    def _counter(self, level: Level, carry: str) -> str:
        """A loop of constant trip count; returns "at its last value", or "" for a single trip."""
        text, emitter = self._text, self._e
        width, trips = level.iv.width, level.trips or 1
        if trips == 1:
            emitter.stable[level.iv.number] = text.const(0, width)
            return ""
        name = text.named(level.name)
        emitter.stable[level.iv.number] = name
        emitter.debug[name[1:]] = f"loop {level.name} ({level.place})"
        end = text.compare("eq", name, text.const(trips - 1, width), width)
        following = text.binary("add", name, text.const(1, width), width)
        if trips != 1 << width:
            following = text.mux(end, text.const(0, width), following, width)
        self._register(name, following, width, enable=carry, reset=0, place=level.place)
        return end

    def _range_loop(self, level: Level, go: str, advance: str) -> tuple[str, str, str]:
        """A loop with bounds known at run time: (enter, skipped, "last iteration")."""
        return self._range_nest([level], go, advance)

    def _range_nest(self, levels: list[Level], go: str, advance: str) -> tuple[str, str, str]:
        """A nest with a bound known at run time: (enter, skipped, "last iteration")."""
        text = self._text
        carry, finals, some = advance, [], []
        for level in reversed(levels):
            if level.trips is not None:
                end = self._counter(level, carry)
            else:
                end, runs = self._range_counter(level, go, carry)
                some.append(runs)
            if end:
                carry = text.all_of(carry, end)
                finals.append(end)
        runs = text.all_of(*some)
        return text.all_of(go, runs), text.all_of(go, text.invert(runs)), text.all_of(*finals)

    def _range_counter(self, level: Level, go: str, carry: str) -> tuple[str, str]:
        """A loop of bounds known at run time: ("at its last value", "runs at all")."""
        text, emitter = self._text, self._e
        assert level.lower is not None and level.upper is not None
        lower, upper = emitter.stable_value(level.lower), emitter.stable_value(level.upper)
        width = level.lower.width
        held = text.named(f"{level.name}_held")
        current = text.named(level.name)
        emitter.alias(current, text.mux(go, lower, held, width), width)
        emitter.debug[held[1:]] = f"loop {level.name} ({level.place})"
        wide = text.binary(
            "add",
            text.extend(current, width, width + 1, signed=True),
            text.const(level.step, width + 1),
            width + 1,
            level.place,
        )
        limit = text.extend(upper, width, width + 1, signed=True)
        end = text.compare("sge", wide, limit, width + 1)
        following = text.mux(end, lower, text.slice(wide, 0, width, width + 1), width)
        self._register(
            held,
            text.mux(carry, following, current, width),
            width,
            enable=text.any_of(carry, go),
            place=level.place,
        )
        emitter.stable[level.iv.number] = current
        if level.counts:
            emitter.stable[level.iv.number] = self._iteration(level, go, carry, end)
        return end, text.compare("slt", lower, upper, width)

    def _iteration(self, level: Level, go: str, carry: str, end: str) -> str:
        """The number of the iteration, beside the iterator."""
        text, width = self._text, level.iv.width
        held, current = text.named(f"{level.name}_number"), text.named(f"{level.name}_n")
        zero = text.const(0, width)
        self._e.alias(current, text.mux(go, zero, held, width), width)
        following = text.mux(
            end, zero, text.binary("add", current, text.const(1, width), width), width
        )
        self._register(
            held,
            text.mux(carry, following, current, width),
            width,
            enable=text.any_of(carry, go),
            place=level.place,
        )
        return current

    def _while_leaf(self, leaf: Leaf, go: str) -> str:
        text, body = self._text, leaf.body
        again = text.named("again")
        self._start(body, text.any_of(go, again), leaf)
        end = self._e.valid(body, body.depth - 1)
        assert leaf.condition is not None
        condition = text.fresh()
        self._e.alias(condition, self._e.value(leaf.condition, body, body.depth - 1), 1)
        self._register(again, text.all_of(end, condition), 1, reset=0, place=leaf.place)
        return text.all_of(end, text.invert(condition))

    # --- calls ------------------------------------------------------------------------

    def _call(self, call: Call, go: str) -> str:
        sites = self._calls[call.callee]
        sites.append((go, call))
        self._call_scopes[call.callee].append(self._scope)
        number = len(sites) - 1
        selected = self._text.named(f"{call.callee}_site{number}")
        self._selected[call.callee, number] = selected
        done = self._callee_done.setdefault(call.callee, self._text.fresh())
        last = self._text.all_of(done, selected)
        for position, node in enumerate(call.results):
            name = self._text.named(f"{call.callee}_res{position}_{number}")
            self._e.stable[node.number] = name
        return last

    def finish(self) -> None:
        """Emit the instances of callees, after every call is known."""
        for callee, sites in self._calls.items():
            self._instance(callee, sites)

    def _instance(self, callee: str, sites: list[tuple[str, Call]]) -> None:
        text, emitter = self._text, self._e
        interface = emitter.callees[callee]
        start = text.any_of(*(go for go, _ in sites))
        for number, (go, call) in enumerate(sites):
            text.register(
                self._selected[callee, number], go, 1, enable=start, reset=0, place=call.place
            )
        wiring = Wiring({"start": start, "ce": "%ce"})
        for position, (name, width) in enumerate(interface.scalars_in):
            users = [(go, emitter.stable_value(c.scalars[position])) for go, c in sites]
            wiring.inputs[name] = text.choose(users, width)
        selections = [self._selected[callee, n] for n in range(len(sites))]
        calls = [call for _, call in sites]
        scopes = self._call_scopes[callee]
        emitter.memories.connect(interface, calls, selections, wiring, scopes)
        self._lend_streams(interface, calls, selections, wiring)
        self._lend_units(callee, interface, start, wiring)
        wiring.outputs["done"] = self._callee_done[callee]
        self._results(interface, sites, callee, wiring)
        if interface.bounds:
            emitter.watch.instance(wiring)
        text.instance(callee, interface.module, interface.ports, wiring, calls[0].place)
        self._keep_member(callee, interface, calls, selections)

    def _keep_member(
        self, callee: str, interface: Interface, calls: list[Call], selections: list[str]
    ) -> None:
        """Note the callee and its streams at every call, for who asks why nothing goes on."""
        prefixes = self._e.streams.prefixes
        sites = []
        for call, selected in zip(calls, selections, strict=True):
            joined = zip(interface.streams, call.streams, strict=True)
            ends = {prefix: prefixes[stream.number] for (prefix, _), stream in joined}
            sites.append((selected[1:] if len(calls) > 1 else "", ends))
        self._e.waits.members.append(Member(callee, interface.module, callee, "", tuple(sites)))

    def _lend_units(self, callee: str, interface: Interface, start: str, wiring: Wiring) -> None:
        """Hold the units that a callee asks its caller for."""
        if not interface.units:
            return
        text = self._text
        running = text.named(f"{callee}_running")
        more = text.all_of(running, text.invert(self._callee_done[callee]))
        text.register(running, text.any_of(start, more), 1, reset=0)
        for (module, number), operator in interface.units.items():
            stem = unit_stem(module, number)
            operands = []
            for name, _ in zip("abcd", operator.operand_widths, strict=False):
                operands.append(text.fresh())
                wiring.outputs[f"{stem}_{name}"] = operands[-1]
            result = self._e.use_unit((module, number), running, operands, running)
            wiring.inputs[f"{stem}_r"] = result

    def _lend_streams(
        self,
        interface: Interface,
        calls: list[Call],
        selections: list[str],
        wiring: Wiring,
    ) -> None:
        """Join a callee's stream ports to the caller's."""
        text = self._text
        for position, (prefix, stream) in enumerate(interface.streams):
            local = [text.fresh(), text.fresh()]
            width, seen = stream.width, []
            putting = stream.direction == "put"
            for call, selected in zip(calls, selections, strict=True):
                active = text.all_of(local[0], selected)
                offer = (active, local[1]) if putting else None
                seen.append(
                    self._e.streams.lend(call.streams[position], offer, "" if putting else active)
                )
            if putting:
                wiring.outputs |= {f"{prefix}_valid": local[0], f"{prefix}_data": local[1]}
                users = [(s, r) for s, (_, _, r) in zip(selections, seen, strict=True)]
                wiring.inputs[f"{prefix}_ready"] = text.choose(users, 1)
                continue
            wiring.outputs[f"{prefix}_ready"] = local[0]
            for index, suffix, bits in ((0, "data", width), (1, "valid", 1)):
                users = [(s, view[index]) for s, view in zip(selections, seen, strict=True)]
                wiring.inputs[f"{prefix}_{suffix}"] = text.choose(users, bits)

    def _results(
        self,
        interface: Interface,
        sites: list[tuple[str, Call]],
        callee: str,
        wiring: Wiring,
    ) -> None:
        text = self._text
        for position, (name, width) in enumerate(interface.scalars_out):
            value = wiring.outputs[name] = text.fresh()
            for number, (_, call) in enumerate(sites):
                node: Node = call.results[position]
                enable = text.all_of(self._callee_done[callee], self._selected[callee, number])
                held = self._e.stable[node.number]
                text.register(held, value, width, enable=enable, place=call.place)
