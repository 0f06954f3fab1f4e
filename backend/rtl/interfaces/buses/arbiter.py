"""Engines that share an AXI4 master: their bursts go one after the other, and answers find who asked.

Answers of a memory come in the order of the bursts, so a FIFO of numbers tells whose is next. A reader
asks for no more words than it can hold, and a burst of words is written when all of it has come: so no
engine keeps the bus from others while it waits for the core.
"""

from __future__ import annotations

from ...emit.builder import ModuleBuilder
from ...graph.linear import bits_unsigned
from ...netlist.locations import Locations
from ..board import Master
from ..parts import Made, concat, flag, reserve_ports, up_down

ADDRESS = 64
ADDRESSES = 2
"""Bursts of a writer whose address waits for their words."""


def read_arbiter(master: Master, clients: int, made: Made) -> ModuleBuilder:
    """The address channel of reads, in turn to each of so many engines.

    Ports: ``c0_ARADDR``, ``c0_ARLEN``, ``c0_ARVALID``, ``c0_ARREADY``, ``c0_RREADY``, ``c0_RVALID`` and so
    on of the engines; those of the master without the words, which go to every engine.
    """
    name = f"axi_read_arbiter_{clients}x{master.outstanding}"
    text = ModuleBuilder(name, Locations())
    inputs = {"ARREADY": 1, "RLAST": 1, "RVALID": 1}
    for n in range(clients):
        inputs |= {f"c{n}_ARADDR": ADDRESS, f"c{n}_ARLEN": 8, f"c{n}_ARVALID": 1, f"c{n}_RREADY": 1}
    outputs = [f"c{n}_{s}" for n in range(clients) for s in ("ARREADY", "RVALID")]
    reserve_ports(text, inputs, ("ARADDR", "ARLEN", "ARVALID", "RREADY", *outputs))
    valid, room = text.named("address_valid"), text.named("room")
    free = text.all_of(room, text.any_of(text.invert(valid), "%ARREADY"))
    grants, number, some = _in_turn(text, [f"%c{n}_ARVALID" for n in range(clients)], free)
    issue = text.all_of(some, free)
    flag(text, valid, issue, text.all_of(valid, "%ARREADY"))
    for field, width in (("ARADDR", ADDRESS), ("ARLEN", 8)):
        chosen = text.choose([(g, f"%c{n}_{field}") for n, g in enumerate(grants)], width)
        held = text.register(text.named(f"held_{field.lower()}"), chosen, width, enable=issue)
        text.output(field, f"i{width}", held)
    text.output("ARVALID", "i1", valid)
    over = text.named("burst_over")
    bits = bits_unsigned(clients - 1)
    asked = _order(text, made, bits, master.outstanding, (number, issue, over))
    text.alias(room, asked["in_ready"], 1)
    mine = [
        text.all_of(
            asked["out_valid"], text.compare("eq", asked["out_data"], text.const(n, bits), bits)
        )
        for n in range(clients)
    ]
    ready = text.any_of(*(text.all_of(m, f"%c{n}_RREADY") for n, m in enumerate(mine)))
    text.alias(over, text.all_of(ready, "%RVALID", "%RLAST"), 1)
    text.output("RREADY", "i1", ready)
    for n, (grant, m) in enumerate(zip(grants, mine, strict=True)):
        text.output(f"c{n}_ARREADY", "i1", text.all_of(grant, free))
        text.output(f"c{n}_RVALID", "i1", text.all_of(m, "%RVALID"))
    return text


def write_arbiter(master: Master, clients: int, made: Made) -> ModuleBuilder:
    """Bursts of words, in turn of each of so many engines, when all words of one have come.

    Ports: ``c0_AWADDR``, ``c0_AWLEN``, ``c0_AWVALID``, ``c0_AWREADY``, ``c0_WDATA``, ``c0_WSTRB``,
    ``c0_WLAST``, ``c0_WVALID``, ``c0_WREADY``, ``c0_BVALID`` and so on of the engines; those of the master.
    """
    width, strobes = master.width, master.width // 8
    name = f"axi_write_arbiter_{width}x{clients}_{master.burst}_{master.outstanding}"
    text = ModuleBuilder(name, Locations())
    inputs = {"AWREADY": 1, "WREADY": 1, "BVALID": 1}
    for n in range(clients):
        inputs |= {f"c{n}_AWADDR": ADDRESS, f"c{n}_AWLEN": 8, f"c{n}_AWVALID": 1}
        inputs |= {
            f"c{n}_WDATA": width,
            f"c{n}_WSTRB": strobes,
            f"c{n}_WLAST": 1,
            f"c{n}_WVALID": 1,
        }
    outputs = [f"c{n}_{s}" for n in range(clients) for s in ("AWREADY", "WREADY", "BVALID")]
    named = ("AWADDR", "AWLEN", "AWVALID", "WDATA", "WSTRB", "WLAST", "WVALID", "BREADY")
    reserve_ports(text, inputs, (*named, *outputs))
    engines = [_Writer(text, made, n, master) for n in range(clients)]

    active, room = text.named("burst_open"), text.named("room")
    valid, word_valid = text.named("address_valid"), text.named("word_valid")
    free = text.all_of(room, text.invert(active), text.any_of(text.invert(valid), "%AWREADY"))
    grants, number, some = _in_turn(text, [e.whole for e in engines], free)
    begins = text.all_of(some, free)
    bits = bits_unsigned(clients - 1)
    turn = text.register(text.named("turn"), number, bits, enable=begins, reset=0)
    flag(text, valid, begins, text.all_of(valid, "%AWREADY"))
    address = text.choose([(g, e.address) for g, e in zip(grants, engines, strict=True)], 72)
    held = text.register(text.named("held_address"), address, 72, enable=begins)
    text.output("AWADDR", f"i{ADDRESS}", text.slice(held, 0, ADDRESS, 72))
    text.output("AWLEN", "i8", text.slice(held, ADDRESS, 8, 72))
    text.output("AWVALID", "i1", valid)

    mine = [text.compare("eq", turn, text.const(n, bits), bits) for n in range(clients)]
    offered = text.any_of(*(text.all_of(m, e.valid) for m, e in zip(mine, engines, strict=True)))
    word_free = text.any_of(text.invert(word_valid), "%WREADY")
    take = text.all_of(active, offered, word_free)
    size = width + strobes + 1
    word = text.choose([(m, e.word) for m, e in zip(mine, engines, strict=True)], size)
    ends = text.all_of(take, text.slice(word, size - 1, 1, size))
    flag(text, active, begins, ends)
    flag(text, word_valid, take, text.all_of(word_valid, "%WREADY"))
    kept = text.register(text.named("held_word"), word, size, enable=take)
    for field, low, many in (
        ("WDATA", 0, width),
        ("WSTRB", width, strobes),
        ("WLAST", size - 1, 1),
    ):
        text.output(field, f"i{many}", text.slice(kept, low, many, size))
    text.output("WVALID", "i1", word_valid)
    text.output("BREADY", "i1", text.const(1, 1))
    asked = _order(text, made, bits, master.outstanding, (number, begins, "%BVALID"))
    text.alias(room, asked["in_ready"], 1)
    for n, (grant, m, engine) in enumerate(zip(grants, mine, engines, strict=True)):
        engine.close(text.all_of(grant, free), text.all_of(m, take), text.all_of(m, ends))
        answered = text.compare("eq", asked["out_data"], text.const(n, bits), bits)
        text.output(f"c{n}_BVALID", "i1", text.all_of("%BVALID", asked["out_valid"], answered))
    return text


class _Writer:
    """The queues of one engine that writes.

    Attributes:
        whole: whether a burst can go; ``address`` with its length.
        word, valid: the next word, with its strobes and whether it is the last.
    """

    def __init__(self, text: ModuleBuilder, made: Made, number: int, master: Master) -> None:
        self._text, self._number = text, number
        own = f"c{number}"
        strobes = master.width // 8
        self._begun, self._taken = text.named(f"{own}_begun"), text.named(f"{own}_taken")
        parts = [(f"%{own}_AWADDR", ADDRESS), (f"%{own}_AWLEN", 8)]
        given = {"in_data": concat(text, parts), "in_valid": f"%{own}_AWVALID"}
        addresses = made.fifo(
            text, f"{own}_addresses", ADDRESS + 8, ADDRESSES, {**given, "out_ready": self._begun}
        )
        text.output(f"{own}_AWREADY", "i1", addresses["in_ready"])
        parts = [(f"%{own}_WDATA", master.width), (f"%{own}_WSTRB", strobes), (f"%{own}_WLAST", 1)]
        given = {"in_data": concat(text, parts), "in_valid": f"%{own}_WVALID"}
        depth = max(2, 2 * master.burst)
        size = master.width + strobes + 1
        words = made.fifo(text, f"{own}_words", size, depth, {**given, "out_ready": self._taken})
        text.output(f"{own}_WREADY", "i1", words["in_ready"])
        self._came = text.all_of(f"%{own}_WVALID", words["in_ready"], f"%{own}_WLAST")
        self._bits = bits_unsigned(depth)
        self._bursts = text.named(f"{own}_bursts")
        some = text.compare("ne", self._bursts, text.const(0, self._bits), self._bits)
        self.whole = text.all_of(some, addresses["out_valid"])
        self.address, self.word, self.valid = (
            addresses["out_data"], words["out_data"], words["out_valid"],
        )  # fmt: skip

    def close(self, begun: str, taken: str, ended: str) -> None:
        """Let a burst begin, a word be taken, and the last one of a burst."""
        self._text.alias(self._begun, begun, 1)
        self._text.alias(self._taken, taken, 1)
        up_down(self._text, self._bursts, self._bits, self._came, ended)


def _in_turn(text: ModuleBuilder, wanted: list[str], free: str) -> tuple[list[str], str, str]:
    """Which engine goes next, one bit each, and its number; whether there is one.

    The first that wants to behind the one that went last.
    """
    bits = bits_unsigned(len(wanted) - 1)
    last = text.named("last")
    behind = [
        text.all_of(w, text.compare("ugt", text.const(n, bits), last, bits))
        for n, w in enumerate(wanted)
    ]
    some = text.any_of(*wanted)
    later = text.any_of(*behind)
    first = [text.mux(later, b, w, 1) for b, w in zip(behind, wanted, strict=True)]
    grants = []
    for n, each in enumerate(first):
        before = [text.invert(f) for f in first[:n]]
        grants.append(text.all_of(each, *before))
    number = text.choose([(g, text.const(n, bits)) for n, g in enumerate(grants)], bits)
    text.register(last, number, bits, enable=text.all_of(some, free), reset=0)
    return grants, number, some


def _order(
    text: ModuleBuilder, made: Made, bits: int, depth: int, ways: tuple[str, str, str]
) -> dict[str, str]:
    """Who asked, oldest first: given the number, whether it asks, and whether the oldest has its answer."""
    number, asks, answered = ways
    inputs = {"in_data": number, "in_valid": asks, "out_ready": answered}
    found = made.fifo(text, "asked", bits, max(2, depth), inputs)
    if depth == 1:  # the queue has room for two
        found["in_ready"] = text.invert(found["out_valid"])
    return found
