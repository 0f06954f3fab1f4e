"""Control of a function: one pulse starts a region, one pulse says it is in its last cycle.

Every region has ``go``, high in its first cycle, and ``last``, high in its last; the next region's
``go`` is ``last`` one cycle later, so nothing is lost between regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import bits_unsigned
from ..graph.nodes import Body
from ..graph.regions import Block, Call, If, Leaf, Loop, Region, Seq, While
from ..netlist.operations import section_of
from .activity import Tokens
from .addresses.stepped import SteppedRegisters
from .calls import Calls
from .context import Context
from .counters import Counters
from .memory.ram import Scope
from .stream_ports import StreamPorts


class Control:
    """Emits the control of one function."""

    def __init__(self, context: Context, calls: Calls, streams: StreamPorts) -> None:
        self._c = context
        self._text = context.text
        self._streams = streams
        self._scope: Scope = ()
        self._free = False
        self._counters = Counters(context, self._register)
        self._stepped = SteppedRegisters(context, self._register)
        self._calls = calls

    def emit(self) -> str:
        """Emit all control; returns the last pulse of the function."""
        go = self._pulse("go", "%start")
        root = self._c.function.root
        if not root.children:
            return go
        with self._running(go) as ends:
            last = self._later(self._sequence(root, go), self._c.function.drain)
            ends(last)
        return last

    def _later(self, pulse: str, cycles: int) -> str:
        """A pulse some cycles later."""
        for _ in range(cycles):
            pulse = self._pulse("wait", pulse)
        return pulse

    def _pulse(self, hint: str, following: str, place: SourcePlace | None = None) -> str:
        name = self._text.named(hint)
        return self._register(name, following, 1, reset=0, place=place)

    def _register(self, name: str, following: str, width: int, **fields: Any) -> str:
        """A register that does not move while a region around it does not run."""
        fields.setdefault("free", self._free)
        return self._text.register(name, following, width, busy=self._scope, **fields)

    @contextmanager
    def _running(self, go: str) -> Iterator[Callable[[str], None]]:
        """What is emitted inside moves only from ``go`` to the pulse that the given function is told."""
        saved = self._scope
        busy, ends = self._c.activity.region(go, saved)
        self._scope = (*saved, busy)
        yield ends
        self._scope = saved

    # --- regions ---------------------------------------------------------------

    def _region(self, region: Region, go: str) -> str:
        if not isinstance(region, Leaf | Loop | While | Call):
            return self._emit(region, go)
        with self._running(go) as ends:
            if isinstance(region, Leaf):
                self._text.section(section_of(region.body.number))
                self._free = region.body.number in self._c.apart
            last = self._emit(region, go)
            self._free = False
            ends(last)
        if isinstance(region, Leaf):
            self._text.section()
        return last

    def _emit(self, region: Region, go: str) -> str:
        match region:
            case Seq():
                return self._sequence(region, go)
            case Block():
                return self._block(region.body, go)
            case Leaf():
                return self._leaf(region, go)
            case Loop():
                return self._loop(region, go)
            case If():
                return self._if(region, go)
            case While():
                return self._while(region, go)
            case Call():
                return self._calls.call(region, go, self._scope)
        raise TypeError(region)

    def _sequence(self, seq: Seq, go: str) -> str:
        last = go
        for position, child in enumerate(seq.children):
            if position:
                last = self._later(last, seq.waits.get(position, 0))
            start = go if position == 0 else self._pulse("go", last, _place(child))
            last = self._region(child, start)
        return last

    def _start(self, body: Body, issue: str, leaf: Leaf | None = None, stop: str = "") -> None:
        """Say what issues a body's iterations, and what the body is for the debug map."""
        first = next((n.place for n in body.nodes if n.place is not None), None)
        what = f"code at {first}"
        if leaf is not None:
            name = f"loop {leaf.band}" if leaf.levels else "while loop"
            what = f"{name} ({leaf.place})"
        # What runs on while other regions run is in the scope of none.
        scope = () if body.runs_on else self._scope
        tokens = self._c.tokens[body.number] = Tokens(body, issue, [issue], what, scope)
        self._c.announce(body, 0, issue)
        if leaf is not None and leaf.exit is not None:
            tokens.stop, tokens.decided = stop, leaf.exit.step
        tokens.place = leaf.place if leaf is not None else first
        if issue.startswith("%") and not issue[1:].isdigit():
            self._c.debug[issue[1:]] = f"step 0 of {what}"

    def _block(self, body: Body, go: str) -> str:
        self._start(body, go)
        return self._c.valid(body, body.stay - 1)

    def _if(self, region: If, go: str) -> str:
        condition = self._c.stable_value(region.condition)
        taken = self._text.all_of(go, condition)
        refused = self._text.all_of(go, self._text.invert(condition))
        ends = []
        for branch, start in ((region.then, taken), (region.other, refused)):
            ends.append(self._sequence(branch, start) if branch.children else start)
        return self._text.any_of(*ends)

    def _while(self, region: While, go: str) -> str:
        again = self._text.named("again")
        self._c.debug[again[1:]] = f"step 0 of while loop ({region.place})"
        start = self._text.any_of(go, again)
        if region.never_ends:
            self._register(
                again, self._sequence(region.child, start), 1, reset=0, place=region.place
            )
            return self._text.const(0, 1)
        decide = self._pulse("decide", self._sequence(region.test, start), region.place)
        condition = self._c.stable_value(region.condition)
        taken = self._text.all_of(decide, condition)
        end = self._sequence(region.child, taken) if region.child.children else taken
        self._register(again, end, 1, reset=0, place=region.place)
        return self._text.all_of(decide, self._text.invert(condition))

    # --- loops --------------------------------------------------------------------

    def _loop(self, region: Loop, go: str) -> str:
        text = self._text
        again = text.named("again")
        end = text.named(f"{region.level.name}_end")
        stop = text.fresh() if region.guard is not None else ""
        if region.level.trips is not None:
            start = text.any_of(go, again)
            final = self._counters.nest([region.level], end, stop)
            skipped = ""
        else:
            # what has a second part ends after the cycle in which the first one starts
            later = len(region.child.children) > 1
            enter, skipped, final = self._counters.range_nest([region.level], go, end, later=later)
            start = text.any_of(enter, again)
        last_of_child = self._sequence(region.child, start)
        self._text.alias(end, last_of_child, 1)
        if region.guard is not None:
            over = text.invert(self._c.stable_value(region.guard))
            text.alias(stop, text.all_of(end, over), 1)
            final = text.any_of(final, over)
        following = self._later(text.all_of(end, text.invert(final)), region.wait)
        self._register(again, following, 1, reset=0)
        finished = text.all_of(end, final)
        return text.any_of(finished, skipped) if skipped else finished

    def _leaf(self, leaf: Leaf, go: str) -> str:
        text, body, context = self._text, leaf.body, self._c
        for level in leaf.levels:
            context.homes[level.iv.number] = body
        advance = text.named(f"b{body.number}_advance")
        stop = text.named(f"b{body.number}_stop") if leaf.exit is not None else ""
        skipped = turn = ""
        if not leaf.levels:
            final, enter = text.const(0, 1), go
        elif all(level.trips is not None for level in leaf.levels):
            final, turn = self._counters.nest_of_runs(leaf.levels, leaf.outer, advance, stop)
            enter = go
        else:
            enter, skipped, final = self._counters.range_nest(leaf.levels, go, advance, stop)
        for stepped in leaf.stepped:
            context.homes[stepped.node.number] = body
            self._stepped.emit(stepped, leaf, advance, stop)
        self._issue(leaf, enter, final, turn, stop)
        text.alias(advance, context.valid(body, body.ii - 1), 1)
        if leaf.exit is not None:
            step = leaf.exit.step
            ends = context.value(leaf.exit.node, body, step)
            text.alias(stop, text.all_of(context.valid(body, step), ends), 1)
        last = self._last_token(leaf, final, stop)
        return text.any_of(last, skipped) if skipped else last

    def _issue(self, leaf: Leaf, enter: str, final: str, turn: str, stop: str) -> None:
        """Start the body in the first cycle of each iteration; ``turn`` is high in the last of a run."""
        text, body = self._text, leaf.body
        more = text.invert(final)
        if stop:
            more = text.all_of(more, text.invert(stop))
        if any(node.waits for node in body.nodes) and body.overlaps:
            self._gated_issue(leaf, enter, more)
            return
        if leaf.levels and all(level.trips == 1 for level in leaf.levels):
            self._start(body, enter, leaf, stop)
            return
        active = text.named(f"b{body.number}_active")
        issue = text.named(f"b{body.number}_issue")
        self._start(body, issue, leaf, stop)
        if leaf.gap:
            self._issue_runs(leaf, (active, issue), enter, more, turn)
            return
        if body.ii == 1:
            self._text.alias(issue, text.any_of(enter, active), 1)
            self._register(active, more, 1, enable=issue, reset=0, place=leaf.place)
            return
        step = self._c.valid(body, body.ii - 1)
        self._register(active, text.all_of(step, more), 1, reset=0, place=leaf.place)
        self._text.alias(issue, text.any_of(enter, active), 1)

    def _issue_runs(
        self, leaf: Leaf, names: tuple[str, str], enter: str, more: str, turn: str
    ) -> None:
        """Start iterations with a gap between the runs of the inner levels."""
        text, (active, issue) = self._text, names
        text.alias(issue, text.any_of(enter, active), 1)
        goes_on = text.all_of(self._c.valid(leaf.body, leaf.body.ii - 1), more)
        again = text.all_of(goes_on, turn)
        for _ in range(leaf.gap):
            again = self._pulse("gap", again, leaf.place)
        following = text.any_of(text.all_of(goes_on, text.invert(turn)), again)
        self._register(active, following, 1, reset=0, place=leaf.place)

    def _gated_issue(self, leaf: Leaf, enter: str, more: str) -> None:
        """Start iterations that wait for streams."""
        text, body = self._text, leaf.body
        active = text.named(f"b{body.number}_active")
        issue = text.named(f"b{body.number}_issue")
        self._start(body, issue, leaf)
        want = text.any_of(enter, active)
        phase = self._phase_zero(body, issue) if body.ii > 1 else ""
        self._text.alias(issue, text.all_of(want, self._streams.front(leaf, want, phase, more)), 1)
        step = self._c.valid(body, body.ii - 1)
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

    def _last_token(self, leaf: Leaf, final: str, stop: str) -> str:
        """High in the last cycle of the last iteration, or in which control stays in it."""
        text, body, found = self._text, leaf.body, leaf.exit
        token = text.all_of(self._c.valid(body, body.ii - 1), final) if leaf.levels else ""
        for step in range(body.ii - 1, body.stay):
            if found is not None and step == found.step:
                token = text.any_of(token, stop) if token else stop
            if found is not None and found.guessing:
                self._c.finals |= {g.store.number: token for g in found.guesses if g.step == step}
            if step == body.stay - 1 or not token:
                continue
            if found is not None and step < found.step:
                token = text.all_of(token, text.invert(stop))
            token = self._pulse(f"b{body.number}_last{step + 1}", token, leaf.place)
        return token or text.const(0, 1)


def _place(region: Region) -> SourcePlace | None:
    """The line of a region, where it has one of its own."""
    return region.place if isinstance(region, Leaf | While | Call) else None
