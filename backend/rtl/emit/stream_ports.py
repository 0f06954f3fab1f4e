"""Stream ports of a function's module, and how its bodies wait for them.

A sequential body waits in the step that puts or gets: its operations pass in program order,
several in one cycle where all are ready, and the function's registers are frozen until the last
has passed. Overlapping iterations never wait once issued: an iteration waits in front of the
pipeline, where its first operations pass in program order (:mod:`..plan.stream_order`), and is issued
when the last of them has passed, every other word it gets is there, and every other word it puts
has a place kept for it.
"""

from __future__ import annotations

from collections import defaultdict

from ..graph.linear import bits_unsigned
from ..graph.nodes import Body, Node, Stream
from ..graph.prune import bodies_of, regions_of
from ..graph.regions import Leaf
from ..plan.bind import Interface
from ..plan.stream_order import buffer_words, direct_of, front_of, operations_of, words_of
from ..waiting import Wait
from .builder import identifier
from .channels import Channel, attempt, passes_by_register, steps_of
from .context import Context
from .counts import given_back, keep_count
from .fifo import fifo_instance, fifo_name


class StreamPorts:
    """Emits the stream ports of one function; ``late_returns``: see :func:`.counts.given_back`."""

    def __init__(self, context: Context, *, late_returns: bool = False) -> None:
        self._c = context
        self._late = late_returns
        self._text = context.text
        self._channels: dict[int, Channel] = {}
        self._stalls: list[str] = []
        self.fifos: set[tuple[int, int]] = set()

    @property
    def stalls(self) -> list[str]:
        """Conditions under which a sequential body waits."""
        return self._stalls

    @property
    def prefixes(self) -> dict[int, str]:
        """The prefix of every stream's port, by number."""
        return {number: channel.prefix for number, channel in self._channels.items()}

    def _probe(self, node: Node, channel: Channel, *when: str, loop: str = "") -> None:
        """Let simulators see when ``node`` waits, or asks in vain."""
        hint = f"waits_for_{channel.prefix}"
        signal = self._text.probe(hint, self._text.all_of(*when), node.place)
        wait = Wait(signal, node.kind == "put", channel.prefix, node.place, loop, node.tries)
        self._c.waits.waits.append(wait)

    def declare(self, interface: Interface) -> None:
        """Make the ports and the local side of every stream parameter."""
        taken = {name for name, _ in interface.scalars_in} | {p for p, _ in interface.arrays}
        words: dict[int, int] = defaultdict(int)
        for region in regions_of(self._c.function.root):
            if isinstance(region, Leaf):
                for number, needed in buffer_words(region.body, late=self._late).items():
                    words[number] = max(words[number], needed)
        for stream in self._c.function.streams:
            prefix = identifier(stream.name)
            while prefix in taken:
                prefix += "_"
            taken.add(prefix)
            channel = Channel(stream, prefix, buffer=words[stream.number])
            self._channels[stream.number] = channel
            interface.streams.append((prefix, stream))
            self._c.waits.ports[prefix] = stream.name
            for suffix in ("data", "valid", "ready"):
                self._text.reserve(f"{prefix}_{suffix}")
            if stream.direction == "get":
                self._declare_get(channel)
            elif stream.direction == "put":
                self._declare_put(channel)

    def _declare_get(self, channel: Channel) -> None:
        text, width = self._text, channel.stream.width
        data = text.input(f"{channel.prefix}_data", f"i{width}")
        valid = text.input(f"{channel.prefix}_valid", "i1")
        if not channel.buffer:
            channel.data, channel.valid = data, valid
            return
        room, channel.data, channel.valid = (text.fresh() for _ in range(3))
        channel.ready, channel.reserved = text.fresh(), text.named(f"{channel.prefix}_promised")
        ready = room
        if self._c.called:
            # Its caller may be the next to read: it takes no word that it does not need.
            channel.allowed = text.fresh()
            valid, ready = (text.all_of(bit, channel.allowed) for bit in (valid, room))
        self._buffer(channel, data, valid, room, channel.data, channel.valid, channel.ready)
        text.output(f"{channel.prefix}_ready", "i1", ready)

    def _declare_put(self, channel: Channel) -> None:
        text = self._text
        ready = text.input(f"{channel.prefix}_ready", "i1")
        channel.ready = ready
        if channel.buffer:
            channel.reserved = text.named(f"{channel.prefix}_reserved")
            empty = text.compare(
                "eq", channel.reserved, text.const(0, self._bits(channel)), self._bits(channel)
            )
            channel.ready = text.all_of(ready, empty)

    def _bits(self, channel: Channel) -> int:
        return bits_unsigned(2 * channel.buffer)

    def _buffer(
        self,
        channel: Channel,
        data: str,
        valid: str,
        ready: str,
        out: str,
        out_valid: str,
        out_ready: str,
    ) -> None:
        """An elastic buffer; one of words to get starts each run of a process empty."""
        text, width, depth = self._text, channel.stream.width, channel.buffer
        getting = channel.stream.direction == "get"
        empty = text.any_of("%rst", "%start") if getting and not self._c.called else "%rst"
        self.fifos.add((width, depth))
        fill = channel.fill = text.named(f"{channel.prefix}_fill")
        label, kind = f"{channel.prefix}_buffer", fifo_name(width, depth, bypass=True)
        given, made = (empty, data, valid, out_ready), (ready, out, out_valid, fill)
        text.add(fifo_instance(label, kind, width, depth, given, made), channel.stream.place)

    # --- sequential bodies -----------------------------------------------------------

    def sequential(self, body: Body) -> None:
        """The stream operations of a body whose iterations do not overlap, step by step."""
        for time, nodes in steps_of(body).items():
            self._step(body, time, nodes)

    def _step(self, body: Body, time: int, nodes: list[Node]) -> None:
        text, run = self._text, self._c.valid(body, time)
        goes = text.moves.get(run, text.enable)
        before, passed_by = "", list[str]()
        for node in nodes:
            assert node.stream is not None
            channel = self._channels[node.stream.number]
            flag = text.named(f"{channel.prefix}_b{body.number}_{time}_passed")
            if node.tries:
                asks = [run, text.invert(flag), *([before] if before else [])]
                self._try_in_step(node, channel, asks, flag)
                passed = text.all_of(run, before) if before else run
                following = text.all_of(passed, text.invert(goes)) if goes else text.const(0, 1)
                text.register(flag, following, 1, reset=0, free=True, place=node.place)
                continue
            ready = channel.valid if node.kind == "get" else channel.ready
            asks = [run, text.invert(flag), *([before] if before else [])]
            passes = [flag, ready]
            if node.predicate is not None:
                predicate = self._c.value(node.predicate, body, time)
                asks.append(predicate)
                passes.append(text.invert(predicate))
            ask = text.all_of(*asks)
            self._probe(node, channel, ask, text.invert(ready))
            if node.kind == "get":
                self._take(node, channel, ask, flag)
            else:
                channel.offers.append((ask, self._c.value(node.operands[0], body, time)))
            # One conjunction, which synthesis balances: that the step runs is asked where it is used.
            passed_by.append(text.any_of(*passes))
            before = text.all_before(passed_by)
            following = text.all_of(run, before, text.invert(goes))
            text.register(flag, following, 1, reset=0, free=True, place=node.place)
        if before and passes_by_register(self._c, self._channels, body, nodes):
            ready = text.named(f"b{body.number}_{time}_ready")
            text.register(ready, text.all_of(before, text.invert(goes)), 1, reset=0, free=True)
            before = ready
        if text.moves.get(run, run) != run:
            text.alias(goes, text.all_of(run, before) if before else run, 1)
        if before:
            self._stalls.append(text.all_of(run, text.invert(before)))

    def _try_in_step(self, node: Node, channel: Channel, asks: list[str], flag: str) -> None:
        """Ask once in a step, in its turn; the answer is held until the step goes on."""
        text, body = self._text, node.body
        assert body is not None
        if node.predicate is not None:
            asks = [*asks, self._c.value(node.predicate, body, node.time)]
        asked = text.all_of(*asks)
        answer = attempt(text, channel, node, asked, self._put_value(node, body))
        self._probe(node, channel, asked, text.invert(self._ready(node, channel)))
        held = text.named(f"{channel.prefix}_{node.number}_held")
        text.register(held, answer, node.width, enable=asked, free=True, place=node.place)
        self._c.name_raw(node, text.mux(flag, held, answer, node.width))

    def _put_value(self, node: Node, body: Body) -> str:
        """What ``try_put`` puts, "" of the others."""
        if node.data != "try_put":
            return ""
        return self._c.value(node.operands[0], body, node.time)

    def _take(self, node: Node, channel: Channel, ask: str, flag: str) -> None:
        text, width = self._text, node.width
        channel.wants.append(ask)
        channel.passing.append(ask)
        held = text.named(f"{channel.prefix}_{node.number}_held")
        # It takes the word of every cycle until one has passed: whether one comes is known late.
        word = text.mux(flag, held, channel.data, width)
        text.register(held, word, width, free=True, place=node.place)
        self._c.name_raw(node, word)

    # --- overlapping iterations -----------------------------------------------------------

    def front(self, leaf: Leaf, want: str, phase: str, more: str) -> str:
        """High when the iteration in front of the pipeline has what it needs to be issued.

        What it does there passes in program order, as early as each is ready; the last passes in the
        cycle of issue.

        Args:
            want: whether there is such an iteration.
            phase: whether one may be issued in this cycle, "" for always.
            more: whether another iteration follows.
        """
        text, body, before = self._text, leaf.body, ""
        passed_by: list[str] = []
        loop = leaf.levels[-1].name if leaf.levels else "while"
        issue, flags = text.fresh(), []
        chain, direct, operations = front_of(body), direct_of(body), operations_of(body)
        for position, node in enumerate(chain):
            channel = self._channel(node)
            if node.number not in direct:
                count = words_of(operations[channel.stream.number])
                channel.claims.append((want, count, more))
                done = self._buffered_gate(channel, count)
                waits = [text.invert(done)]
            elif position == len(chain) - 1:
                done = self._ready(node, channel)
                waits = [text.invert(done)]
                if node.predicate is not None:
                    predicate = self._c.value(node.predicate, body, 0)
                    done = text.any_of(done, text.invert(predicate))
                    waits.append(predicate)
            else:
                done, flag, waits = self._pass_in_front(body, node, channel, [want, before])
                flags.append((flag, text.all_before([*passed_by, done]), node))
            self._probe(node, channel, want, *([before] if before else []), *waits, loop=loop)
            passed_by.append(done)
            before = text.all_before(passed_by)
        places = []
        for number, nodes in operations.items():
            if nodes[0].kind == "put" and nodes[0].number not in direct:
                place = self._buffered_gate(self._channels[number], words_of(nodes))
                full = [text.invert(place), *([before] if before else [])]
                self._probe(nodes[0], self._channels[number], want, *full, loop=loop)
                places.append(place)
        self._text.alias(issue, text.all_of(*(g for g in (before, *places, phase) if g)), 1)
        waiting = text.invert(self._advancing(body, issue))
        scope = self._c.tokens[body.number].scope
        for flag, passed, node in flags:
            following = text.all_of(want, passed, waiting)
            text.register(flag, following, 1, reset=0, free=True, busy=scope, place=node.place)
        return issue

    def _channel(self, node: Node) -> Channel:
        assert node.stream is not None
        return self._channels[node.stream.number]

    def _ready(self, node: Node, channel: Channel) -> str:
        return channel.valid if node.kind == "get" else channel.ready

    def _pass_in_front(
        self, body: Body, node: Node, channel: Channel, when: list[str]
    ) -> tuple[str, str, list[str]]:
        """One before the issue: (passes once those before it have, the register that says so, it waits)."""
        text = self._text
        flag = text.named(f"{channel.prefix}_b{body.number}_passed")
        asks = [*(w for w in when if w), text.invert(flag)]
        passed = [flag, self._ready(node, channel)]
        if node.predicate is not None:
            predicate = self._c.value(node.predicate, body, 0)
            asks.append(predicate)
            passed.append(text.invert(predicate))
        ask = text.all_of(*asks)
        fires = text.all_of(ask, self._ready(node, channel))
        if node.kind == "get":
            self._take(node, channel, ask, flag)
        else:
            channel.offers.append((ask, self._c.value(node.operands[0], body, 0)))
        return text.any_of(*passed), flag, [ask, text.invert(fires)]

    def _buffered_gate(self, channel: Channel, count: int) -> str:
        text, bits = self._text, self._bits(channel)
        if channel.stream.direction == "put":
            if count not in channel.short:
                channel.short[count] = text.named(f"{channel.prefix}_short_of_{count}")
            return text.invert(channel.short[count])
        after = text.binary("add", channel.reserved, text.const(count, bits), bits)
        return text.compare("ule", after, self._filled(channel), bits)

    def _filled(self, channel: Channel) -> str:
        width, bits = bits_unsigned(channel.buffer), self._bits(channel)
        return self._text.extend(channel.fill, width, bits, signed=False)

    def pipelined(self, body: Body) -> None:
        """The stream operations of a body whose iterations overlap, but those that passed in front."""
        text = self._text
        in_front, directs = {node.number for node in front_of(body)[:-1]}, direct_of(body)
        for number, nodes in operations_of(body).items():
            channel = self._channels[number]
            direct = nodes[0].number in directs
            if not direct:
                issue = self._advancing(body, self._c.valid(body, 0))
                channel.taken.append((issue, words_of(nodes)))
                channel.returned += self._not_passed(body, nodes)
            for node in nodes:
                if direct and node.number in in_front:
                    continue
                condition = run = self._advancing(body, self._c.valid(body, node.time))
                if node.predicate is not None:
                    predicate = self._c.value(node.predicate, body, node.time)
                    condition = text.all_of(run, predicate)
                if node.kind == "get":
                    channel.wants.append(condition)
                    self._c.name_raw(node, channel.data)
                    if not direct:
                        channel.returned.append(condition)
                else:
                    data = self._c.value(node.operands[0], body, node.time)
                    (channel.offers if direct else channel.pushes).append((condition, data))

        for node in body.nodes:
            if node.tries:
                condition = self._advancing(body, self._c.valid(body, node.time))
                if node.predicate is not None:
                    predicate = self._c.value(node.predicate, body, node.time)
                    condition = text.all_of(condition, predicate)
                channel, value = self._channel(node), self._put_value(node, body)
                self._c.name_raw(node, attempt(text, channel, node, condition, value))
                self._probe(node, channel, condition, text.invert(self._ready(node, channel)))

    def _not_passed(self, body: Body, nodes: list[Node]) -> list[str]:
        """Conditions under which an iteration does not pass a word that it may pass."""
        text = self._text
        asked: dict[int, list[str]] = {}
        runs: dict[int, str] = {}
        for node in nodes:
            if node.predicate is None:
                continue
            party = node.party if node.party >= 0 else ~node.number
            runs[party] = self._advancing(body, self._c.valid(body, node.time))
            predicate = self._c.value(node.predicate, body, node.time)
            asked.setdefault(party, []).append(predicate)
        return [
            text.all_of(run, text.invert(text.any_of(*asked[party]))) for party, run in runs.items()
        ]

    def _advancing(self, body: Body, condition: str) -> str:
        """A condition of a body in the cycle in which its registers move."""
        text = self._text
        if not text.enable or body.number in self._c.apart:
            return condition
        return text.all_of(condition, text.enable)

    # --- calls ---------------------------------------------------------------------------

    def lend(
        self, stream: Stream, offer: tuple[str, str] | None, want: str
    ) -> tuple[str, str, str]:
        """Let a callee use a stream: (data, valid, ready) it sees."""
        channel = self._channels[stream.number]
        if offer is not None:
            channel.offers.append(offer)
        if want:
            channel.wants.append(want)
            channel.passing.append(want)
        return channel.data, channel.valid, channel.ready

    # --- the end ---------------------------------------------------------------------------

    def finish(self) -> None:
        """Emit what depends on all users of a stream."""
        text = self._text
        for channel in self._channels.values():
            width = channel.stream.width
            if channel.stream.direction == "get":
                wanted = text.any_of(*channel.wants)
                if channel.buffer:
                    self._text.alias(channel.ready, wanted, 1)
                    keep_count(text, channel, channel.returned, self._bits(channel))
                    self._allow(channel)
                else:
                    text.output(f"{channel.prefix}_ready", "i1", wanted)
                continue
            if channel.stream.direction != "put":
                continue
            offered = text.any_of(*(c for c, _ in channel.offers))
            data = text.choose(channel.offers, width) if channel.offers else text.const(0, width)
            if channel.buffer:
                offered, data = self._buffered_put(channel, offered, data)
            text.output(f"{channel.prefix}_valid", "i1", offered)
            text.output(f"{channel.prefix}_data", f"i{width}", data)

    def _buffered_put(self, channel: Channel, offered: str, data: str) -> tuple[str, str]:
        text, width = self._text, channel.stream.width
        pushed = text.any_of(*(c for c, _ in channel.pushes))
        word = text.choose(channel.pushes, width)
        room, out, out_valid = (text.fresh() for _ in range(3))
        ready = f"%{channel.prefix}_ready"
        self._buffer(channel, word, pushed, room, out, out_valid, ready)
        taken = text.all_of(out_valid, ready)
        returned = [given_back(text, channel, taken, late=self._late), *channel.returned]
        keep_count(text, channel, returned, self._bits(channel))
        return text.any_of(out_valid, offered), text.mux(out_valid, out, data, width)

    def _allow(self, channel: Channel) -> None:
        """A called function's buffer takes the words of iterations that wait or surely follow."""
        if not channel.allowed:
            return
        text, bits = self._text, self._bits(channel)
        limit, zero = channel.reserved, text.const(0, bits)
        for want, count, more in channel.claims:
            words = text.mux(more, text.const(2 * count, bits), text.const(count, bits), bits)
            limit = text.binary("add", limit, text.mux(want, words, zero, bits), bits)
        needed = text.compare("ult", self._filled(channel), limit, bits)
        self._text.alias(channel.allowed, text.any_of(needed, *channel.passing), 1)

    def probe_ending(self, ending: str) -> None:
        """Let simulators see which buffered words keep the function from being done."""
        last: dict[int, Node] = {}
        for body in bodies_of(self._c.function.root):
            for node in body.nodes:
                if node.kind == "put" and node.stream is not None:
                    last[node.stream.number] = node
        for number, channel in self._channels.items():
            if channel.buffer and channel.stream.direction == "put":
                bits = self._bits(channel)
                some = self._text.compare("ne", channel.reserved, self._text.const(0, bits), bits)
                self._probe(last[number], channel, ending, some)

    def drained(self) -> str:
        """High when no word waits in a buffer of puts; "" where there is none."""
        text, conditions = self._text, []
        for channel in self._channels.values():
            if channel.buffer and channel.stream.direction == "put":
                bits = self._bits(channel)
                conditions.append(text.compare("eq", channel.reserved, text.const(0, bits), bits))
        return text.all_of(*conditions) if conditions else ""
